"""Ids that stand on one side only, and whether their spelling explains it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from evalframe.auditing.findings import SHOWN, Finding, Severity, examples_of
from evalframe.auditing.loose import Loose
from evalframe.auditing.respelling import Respelling, respellings

__all__ = ["Sides", "documents", "queries"]

WHOLE = r"^[+-]?[0-9]+$"
UNSEEN = "unjudged documents do not count, and what is judged counts as missed"


@dataclass(frozen=True)
class Sides:
    """The frames of an audit by name; queries and corpus may be absent."""

    qrels: Loose
    run: Loose
    queries: Loose | None = None
    corpus: Loose | None = None


def queries(sides: Sides) -> list[Finding]:
    """What is to be said about the query_ids."""
    judged, answered = sides.qrels.ids("query_id"), sides.run.ids("query_id")
    missing, extra = _without(judged, answered), _without(answered, judged)
    apart = len(missing) == len(judged)
    findings = _kinds_of_ids("query_id", ("qrels", sides.qrels), ("run", sides.run))
    findings += _respelt(respellings(extra, judged), "query_id", "run", "qrels")
    lacking = _lacking(sides)
    if lacking.height:
        what = (
            "the run has no query of the qrels at all"
            if apart
            else f"{lacking.height} queries of the qrels are not in the run; each counts as 0"
        )
        findings.append(
            Finding(
                "error" if apart else "warning",
                "queries_missing_from_run",
                "run",
                lacking.height,
                what,
                examples_of(lacking, lacking.columns),
                'Run them, or say queries="both" to leave them out of the mean',
            )
        )
    what = f"{len(extra)} queries of the run have no judgement, and are not scored"
    findings += _listed("info", "queries_missing_from_qrels", "run", extra, what, "Nothing, if "
                        "the run answers more queries than were judged")  # fmt: skip
    if sides.queries is not None:
        findings += _known_queries(sides.queries, judged, answered)
    return findings


def documents(sides: Sides) -> list[Finding]:
    """What is to be said about the doc_ids."""
    judged, retrieved = sides.qrels.ids("doc_id"), sides.run.ids("doc_id")
    alone = _without(judged, retrieved)
    apart = len(alone) == len(judged)
    findings = _kinds_of_ids("doc_id", ("qrels", sides.qrels), ("run", sides.run))
    respelt = respellings(alone, retrieved, apart=apart)
    findings += _respelt(respelt, "doc_id", "qrels", "run")
    if apart:
        what = f"no judged document was retrieved by anybody: {UNSEEN}"
        findings += _listed("error", "no_common_doc_ids", "qrels and run", judged, what,
                            "Check that both name the same documents the same way")  # fmt: skip
    else:
        what = f"{len(alone)} of {len(judged)} doc_ids of the qrels are in no list of the run"
        findings += _listed("info", "doc_ids_missing_from_run", "run", alone, what, "Nothing, if "
                            "they were not found; the relevant ones count as missed")  # fmt: skip
    if sides.corpus is None:
        return findings
    known = sides.corpus.ids("doc_id")
    for where, loose, ids in (("qrels", sides.qrels, judged), ("run", sides.run, retrieved)):
        dangling = _without(ids, known)
        findings += _kinds_of_ids("doc_id", (where, loose), ("corpus", sides.corpus))
        findings += _respelt(respellings(dangling, known), "doc_id", where, "corpus")
        what = f"{len(dangling)} of {len(ids)} doc_ids of the {where} are not in the corpus"
        findings += _listed(
            "error" if len(dangling) == len(ids) else "warning",
            "dangling_doc_ids",
            where,
            dangling,
            what,
            "Check that this is the corpus that was searched and judged",
        )
    return findings


def _known_queries(texts: Loose, judged: pl.Series, answered: pl.Series) -> list[Finding]:
    known = texts.ids("query_id")
    findings = []
    for where, ids in (("qrels", judged), ("run", answered)):
        unknown = _without(ids, known)
        findings += _respelt(respellings(unknown, known), "query_id", where, "queries")
        findings += _listed(
            "warning",
            "queries_without_text",
            where,
            unknown,
            f"{len(unknown)} of {len(ids)} query_ids of the {where} are not among the queries",
            "Check that these are the queries that were searched and judged",
        )
    used = pl.concat([judged, answered]).unique()
    return findings + _listed(
        "info",
        "queries_unused",
        "queries",
        _without(known, used),
        "some queries are neither judged nor answered",
        "Nothing, if the file holds more than one split",
    )


def _lacking(sides: Sides) -> pl.DataFrame:
    """The queries of the qrels that each system lacks."""
    judged = sides.qrels.frame.select("query_id").unique()
    run = sides.run.frame
    if "system" not in run.columns:
        return judged.join(run, on="query_id", how="anti")
    asked = run.select("system").unique().join(judged, how="cross")
    return asked.join(run, on=["system", "query_id"], how="anti")


def _without(ids: pl.Series, others: pl.Series) -> pl.Series:
    """The ids that are not among the others, in no order."""
    name = ids.name
    found = ids.to_frame().join(others.rename(name).to_frame(), on=name, how="anti")
    return found.to_series()


def _listed(
    severity: Severity, kind: str, where: str, ids: pl.Series, what: str, to_do: str
) -> list[Finding]:
    if not len(ids):
        return []
    shown = ids.bottom_k(SHOWN).sort().to_list()
    return [Finding(severity, kind, where, len(ids), what, shown, to_do)]


def _respelt(found: list[Respelling], column: str, ours: str, theirs: str) -> list[Finding]:
    return [
        Finding(
            "error",
            f"ids_differ_by_{one.reason}",
            f"{column}, {ours} and {theirs}",
            one.pairs.height,
            f"{one.pairs.height} {column} of the {ours} are in the {theirs} but for {one.words}",
            one.examples,
            f"Spell {column} in both alike, as in the examples",
        )
        for one in found
    ]


def _kinds_of_ids(column: str, *pair: tuple[str, Loose]) -> list[Finding]:
    """Ids that are, or look like, whole numbers on one side and strings on the other."""
    ids = [loose.ids(column) for _, loose in pair]
    if any(len(one) == 0 for one in ids):
        return []
    names = [name for name, _ in pair]
    where = f"{column}, {' and '.join(names)}"
    first = [f"{name}: {one.min()!r}" for name, one in zip(names, ids, strict=True)]
    shares = [one.str.contains(WHOLE).mean() for one in ids]
    if sorted(share or 0.0 for share in shares) == [0.0, 1.0]:
        whole, other = (names[shares.index(share)] for share in (1.0, 0.0))
        what = f"every {column} of the {whole} looks like a whole number, none of the {other} does"
        to_do = "Map one side's ids to the other's: as they are, none is found"
        return [Finding("error", "int_against_string_ids", where, 1, what, first, to_do)]
    numbers = [loose.given[column].is_numeric() for _, loose in pair]
    if numbers[0] == numbers[1]:
        return []
    types = ", ".join(f"{loose.given[column]} in the {name}" for name, loose in pair)
    what = f"{column} is {types}; both are compared as strings"
    to_do = "Nothing, if the ids of both are found; a zero in front was lost in the numbers"
    return [Finding("info", "int_against_string_ids", where, 1, what, first, to_do)]
