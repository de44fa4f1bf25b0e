"""What the lists of a run, the grades and the texts hold that makes values mean less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from evalframe.auditing.findings import SHOWN, Finding, Severity, examples_of, named
from evalframe.auditing.loose import BLANK, Loose
from evalframe.engine import collect
from evalframe.scoring import per_query

__all__ = ["grades", "judged_shares", "ranked_lists", "texts"]

FEW = 0.05
"""Share of the lists up to which ties across a cut-off are no warning."""
SPARSE = 0.5
"""Share of judged documents below which values are those of the judging."""


def ranked_lists(run: Loose, cutoffs: Sequence[int], score_dtype: Any) -> list[Finding]:
    """Self-hits, ties across the cut-offs, odd ranks, infinite scores, lists of one score."""
    keys = _keys(run.frame)
    score = pl.col("score").cast(score_dtype)
    ranked = "rank" in run.frame.columns
    lists = run.frame.group_by(keys).agg(
        length=pl.len(),
        constant=score.min() == score.max(),
        best=score.top_k(max(cutoffs) + 1).sort(descending=True),
        contradicted=_falls_against_rank() if ranked else pl.lit(False),
        repeated=pl.col("rank").drop_nulls().is_duplicated().any() if ranked else pl.lit(False),
    )
    return [
        *_self_hits(run.frame, keys),
        *(finding for k in cutoffs for finding in _tied_across(lists, keys, k)),
        *_contradicted(lists.filter("contradicted"), keys),
        *_repeated(lists.filter("repeated"), keys),
        *_infinite(run.frame.filter(pl.col("score").is_infinite()), keys),
        *_constant(lists.filter(pl.col("constant") & (pl.col("length") > 1)), lists.height, keys),
    ]


def judged_shares(
    qrels: Loose, run: Loose, cutoffs: Sequence[int], score_dtype: Any
) -> list[Finding]:
    """How many of the first documents are judged."""
    scored = run.frame.join(qrels.frame, on="query_id", how="semi")
    if scored.height == 0:
        return []
    names = {k: f"judged@{k}" for k in cutoffs}
    pairs = qrels.frame.group_by("query_id", "doc_id").agg(pl.col("relevance").max())
    metrics = [*names.values()]
    values = collect(
        per_query(pairs, scored, metrics, queries="both", score_dtype=score_dtype).lazy()
    )
    return [finding for k, name in names.items() for finding in _unjudged(values, k, name)]


def _unjudged(values: pl.DataFrame, k: int, name: str) -> list[Finding]:
    keys = _keys(values)
    lacking = values.filter(pl.col(name) < 1).sort(name, *keys)
    if lacking.height == 0:
        return []
    mean = float(values[name].sum()) / values.height
    what = (
        f"{lacking.height} of {values.height} lists have documents without a judgement among the "
        f"first {k}; {name} is {mean:.3f} on average"
    )
    if "system" in keys:
        of = values.group_by("system").agg(pl.col(name).mean()).sort(name, "system")
        what += f", and {of[name][0]:.3f} for {of['system'][0]}"
    shown = lacking.head(SHOWN).select(*keys, pl.col(name).round(3))
    return [
        Finding(
            "warning" if mean < SPARSE else "info",
            "unjudged",
            f"run, first {k}",
            lacking.height,
            what,
            [named(row) for row in shown.iter_rows(named=True)],
            "Say so beside the values: a document without a judgement counts as not relevant; "
            "judged_only=True leaves it out",
        )
    ]


def grades(qrels: Loose) -> list[Finding]:
    """Queries without a relevant document, and grades that no scale of 0 to 4 has."""
    relevance = pl.col("relevance")
    best = qrels.frame.group_by("query_id").agg(best=relevance.max())
    below, above = (qrels.frame.filter(test) for test in (relevance < 0, relevance > 4))
    rows = ["query_id", "doc_id", "relevance"]
    return [
        *_found(
            "warning",
            "queries_without_positives",
            "qrels",
            best.filter(pl.col("best") <= 0),
            ["query_id"],
            "{n} queries have no relevant document; whatever the run does, they count 0",
            'Leave them out of the mean with queries="positive"',
        ),
        *_found(
            "info",
            "grades_below_0",
            "qrels, relevance",
            below,
            rows,
            "{n} grades are below 0; they count as not judged",
            "Nothing, if they mean that",
        ),
        *_found(
            "warning",
            "grades_above_4",
            "qrels, relevance",
            above,
            rows,
            "{n} grades are above 4; gains, and exponential ones above all, hang on them",
            "Check that these are grades, and not scores or ids",
        ),
    ]


def texts(loose: Loose, kind: str, key: str) -> list[Finding]:
    """Queries or documents without a text."""
    blank = loose.frame.filter(BLANK)
    what = f"{{n}} of {loose.frame.height} have no text"
    to_do = "Find out whether the text was lost; nothing can be found by it"
    return _found("warning", "empty_texts", kind, blank, [key], what, to_do)


def _falls_against_rank() -> pl.Expr:
    """Whether a list read by its ranks ever goes up in score."""
    has_rank = pl.col("rank").is_not_null()
    by_rank = (
        pl.col("score")
        .filter(has_rank)
        .sort_by(pl.col("rank").filter(has_rank), -pl.col("score").filter(has_rank))
    )
    return (by_rank.diff() > 0).any()


def _self_hits(run: pl.DataFrame, keys: list[str]) -> list[Finding]:
    hits = run.filter(pl.col("doc_id") == pl.col("query_id"))
    numbers = hits.height and bool(hits["query_id"].str.contains(r"^[0-9]+$").all())
    return _found(
        "info" if numbers else "warning",
        "self_hits",
        "run",
        hits,
        keys,
        "{n} queries retrieve a document that has their own id"
        + (", which may be chance: the ids are numbers" if numbers else ""),
        "Where queries are documents of the corpus too, take them out of their own lists",
    )


def _tied_across(lists: pl.DataFrame, keys: list[str], k: int) -> list[Finding]:
    best = pl.col("best")
    last, next_one = (best.list.get(i, null_on_oob=True) for i in (k - 1, k))
    tied = lists.filter(last == next_one)
    return _found(
        "warning" if tied.height > FEW * lists.height else "info",
        "ties_at_cutoff",
        f"run, first {k}",
        tied,
        keys,
        f"{{n}} of {lists.height} lists have equal scores on both sides of place {k}",
        "Their order is the tie rule's doing (ties=): see tie_sensitivity and expected_ndcg",
    )


def _contradicted(lists: pl.DataFrame, keys: list[str]) -> list[Finding]:
    return _found(
        "warning",
        "rank_against_score",
        "run, rank",
        lists,
        keys,
        "{n} lists have a higher score below a lower one by their ranks; scores are what counts",
        "Find out which is right. Distances want their sign turned; ranks alone count once the "
        "score column is dropped",
    )


def _repeated(lists: pl.DataFrame, keys: list[str]) -> list[Finding]:
    return _found(
        "warning",
        "repeated_ranks",
        "run, rank",
        lists,
        keys,
        "{n} lists have a rank that stands more than once",
        'Find out whether lists were run together; under ties="given" their order is not known',
    )


def _infinite(rows: pl.DataFrame, keys: list[str]) -> list[Finding]:
    return _found(
        "warning",
        "infinite",
        "run, score",
        rows,
        [*keys, "doc_id", "score"],
        "{n} rows of the run have an infinite score: they are ranked, first or last of their list",
        "Find out where they come from; no sum or mean of scores, as in a fusion, can use them",
    )


def _constant(lists: pl.DataFrame, total: int, keys: list[str]) -> list[Finding]:
    return _found(
        "warning",
        "constant_scores",
        "run, score",
        lists,
        keys,
        f"{{n}} of {total} lists have one score for all their documents: the tie rule orders them",
        'Write scores, or ranks; ties="given" takes the rank column, or the order of the rows',
    )


def _found(
    severity: Severity,
    kind: str,
    where: str,
    rows: pl.DataFrame,
    columns: list[str],
    what: str,
    to_do: str,
) -> list[Finding]:
    if rows.height == 0:
        return []
    n = rows.height
    said = what.format(n=n)
    return [Finding(severity, kind, where, n, said, examples_of(rows, columns), to_do)]


def _keys(run: pl.DataFrame) -> list[str]:
    return [name for name in ("system", "query_id") if name in run.columns]
