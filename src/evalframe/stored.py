"""Reports as files: one Parquet file that another notebook opens, rows and all.

The rows are the values of each query (or sample); everything else stands in the file's metadata
as JSON, where `evalframe.io.read_metadata` shows it and other tools pass over it. Summaries and the
tests of a comparison are kept as they were found, and are not worked out again: a report that is
read back has the same bits.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import polars as pl

from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.pairing import Aligned, align
from evalframe.errors import ColumnError, OptionError, ReadError
from evalframe.io.files import find
from evalframe.io.lines import first_line
from evalframe.io.parquet import read_metadata
from evalframe.io.parquet import write_parquet as write_frame
from evalframe.ranking.prepared import PreparedQrels
from evalframe.report import Report
from evalframe.samples.report import RagReport
from evalframe.scoring import Asked, Contract, Scored
from evalframe.statistics import Procedure
from evalframe.statistics.resampling import require_stats

__all__ = [
    "AnyReport",
    "ReportOfValues",
    "StoredReport",
    "read_report",
    "write_parquet",
    "write_report",
]

AnyReport = Report | RagReport | Comparison

KINDS = {"report": Report, "rag_report": RagReport, "comparison": Comparison}
HELD = "values"
"""The metadata's key under which a report keeps what is not in its rows."""
ROWS = "rows"
"""The key below it that says how many rows there are."""
NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
           pl.Float32, pl.Float64)  # fmt: skip
DTYPES = {str(t): t for t in (pl.String, pl.Boolean, pl.Null, *NUMBERS)}


def write_report(
    report: AnyReport,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a report as one Parquet file, which `read_report` gives back.

    Parameters
    ----------
    report
        What `evaluate`, `evaluate_rag` or `compare` gave. The rows of the file are its `per_query`
        or `per_sample`; of a comparison, `system`, the key, `metric` and `value`.
    path
        The file.
    metadata
        Further facts to keep in the file; anything JSON can hold.
    overwrite
        Replace what is there.

    Raises
    ------
    FileExistsError
        Something is there and `overwrite` is not set.
    OptionError
        No report, or `metadata` under a name that the report needs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import evalframe as evf
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "bm25.parquet"
    >>> write_report(evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"]), file)
    >>> read_report(file).metrics
    {'mrr': 1.0}
    """
    kind = next((name for name, cls in KINDS.items() if isinstance(report, cls)), None)
    if kind is None:
        raise OptionError(
            f"{type(report).__name__} is no report: evaluate, evaluate_rag and compare give one"
        )
    facts = dict(metadata or {})
    taken = sorted({"kind", "version", HELD, "contract"} & facts.keys())
    if taken:
        raise OptionError(f"metadata[{taken[0]!r}]: the report itself keeps something there")
    rows, held = _taken_apart(report)
    contract = getattr(report, "contract", None)
    facts |= {
        HELD: held | {ROWS: rows.height},
        "contract": contract.to_dict() if contract is not None else None,
    }
    write_frame(rows, path, kind=kind, metadata=facts, overwrite=overwrite)


def write_parquet(
    frame: pl.DataFrame | pl.LazyFrame | AnyReport,
    path: str | os.PathLike[str],
    *,
    kind: str = "frame",
    metadata: Mapping[str, Any] | None = None,
    by_system: bool = False,
    buckets: int | None = None,
    overwrite: bool = False,
) -> None:
    """Write a frame or a report as Parquet.

    Parameters
    ----------
    frame
        A Polars frame (see `evalframe.io.write_parquet`) or a report (see `write_report`).
    path, kind, metadata, by_system, buckets, overwrite
        As there; a report says itself what kind it is, and is one file.
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        write_frame(
            frame,
            path,
            kind=kind,
            metadata=metadata,
            by_system=by_system,
            buckets=buckets,
            overwrite=overwrite,
        )
        return
    if kind != "frame" or by_system or buckets is not None:
        raise OptionError("a report is one file of its own kind: no kind=, by_system=, buckets=")
    write_report(frame, path, metadata=metadata, overwrite=overwrite)


def read_report(
    path: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None
) -> AnyReport:
    """Read back what `write_report` wrote.

    Parameters
    ----------
    path
        The file, or a URI.
    storage_options
        Handed on to Polars for URIs.

    Returns
    -------
    Report, RagReport or Comparison
        With the values, columns and bits that were written. The qrels and the run are not in the
        file, so a stored `Report` has no `documents`; evaluate again to look at them.

    Raises
    ------
    FileNotFoundError
        Nothing is there.
    ReadError
        The file holds no report, or one that cannot be understood.
    """
    source = find(path, storage_options=storage_options)
    facts = read_metadata(path, storage_options=storage_options)
    kind = facts.get("kind")
    if kind not in KINDS or len(source.paths) > 1:
        what = f"it holds {kind!r}" if kind else "evalframe did not write it"
        raise ReadError(f"{source.name}: this is no report in one file: {what}")
    try:
        one = source.target[0]
        rows = pl.read_parquet(one, hive_partitioning=False, **source.options).rechunk()
        return _put_together(str(kind), rows, facts, source.name)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        if isinstance(error, ImportError):
            raise
        raise ReadError(
            f"{source.name}: this report (written by evalframe {facts.get('version')}) cannot be "
            f"understood: {first_line(error)}"
        ) from error


class _StoredScores(Scored):
    """The values of every query that counted, and the counts, as they were stored."""

    def __init__(self, rows: pl.DataFrame, counts: pl.DataFrame, asked: list[Asked]) -> None:
        super().__init__(rows, rows.select(_keys(rows)), asked, "judged")
        self.__dict__ |= {"per_query": rows, "counts": counts}


class ReportOfValues(Report):
    """A report that has the values, while its qrels and its run are elsewhere."""

    @property
    def qrels(self) -> PreparedQrels:  # type: ignore[override]
        """Not here.

        Raises
        ------
        OptionError
            Always.
        """
        self._refuse("qrels")

    @property
    def run(self) -> pl.DataFrame | pl.LazyFrame:  # type: ignore[override]
        """Not here.

        Raises
        ------
        OptionError
            Always.
        """
        self._refuse("run")

    def _refuse(self, what: str) -> NoReturn:
        raise OptionError(self._where(what))

    def _where(self, what: str) -> str:
        """What is said to those who ask for what is not here."""
        return f"the {what} of this report are elsewhere"


class StoredReport(ReportOfValues):
    """A report from a file. It has everything but the qrels and the run."""

    def __init__(
        self,
        scored: Scored,
        contract: Contract,
        summary: pl.DataFrame,
        means: dict[str, float] | None,
        name: str,
    ) -> None:
        """Take what was stored as it is."""
        self.__dict__ |= {"scored": scored, "contract": contract, "summary": summary, "name": name}
        if means is not None:
            self.__dict__["metrics"] = means

    def documents(
        self, query_id: str, *, system: str | None = None, corpus: Any = None
    ) -> pl.DataFrame:
        """Not to be had from a stored report.

        Raises
        ------
        OptionError
            Always.
        """
        self._refuse("documents")

    def _where(self, what: str) -> str:
        return (
            f"a stored report has no {what}: {self.__dict__['name']} holds the values, but neither "
            "the qrels nor the run. Evaluate again to look at them"
        )


def _taken_apart(report: AnyReport) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A report's rows, and everything else as JSON can hold it."""
    if isinstance(report, Report):
        asked = [
            {"name": one.name, "how": one.how, "better": one.better, "k": one.k}
            for one in report.scored.asked
        ]
        several = "system" in report.per_query.columns
        held = {
            "asked": asked,
            "counts": _as_json(report.counts),
            "summary": _as_json(report.summary),
            "means": None if several else [_number(v) for v in report.metrics.values()],
        }
        return report.per_query, held
    if isinstance(report, RagReport):
        names = [f.name for f in dataclasses.fields(report) if f.name != "per_sample"]
        return report.per_sample, {name: getattr(report, name) for name in names}
    keys = report.aligned.keys.columns
    clash = {"system", "metric", "value"} & {*keys}
    if clash:
        raise ColumnError(
            f"the key column {clash.pop()!r} has the name of a column of the stored comparison; "
            "rename it before comparing"
        )
    held = {
        "summary": _as_json(report.summary),
        "pairs": _as_json(report.pairs),
        "procedure": report.procedure.to_dict(),
        "baselines": [*report.baselines],
        "lower_is_better": sorted(report.lower_is_better),
        "counts": None if report.counts is None else _as_json(report.counts),
        "systems": report.systems,
        "metrics": report.metrics,
    }
    return report.per_query, held


def _put_together(kind: str, rows: pl.DataFrame, facts: dict[str, Any], name: str) -> AnyReport:
    held = dict(facts[HELD])
    written = held.pop(ROWS, rows.height)
    if rows.height != written:
        raise ReadError(f"{written} rows were written, and {rows.height} are there")
    if kind == "rag_report":
        return RagReport(**held, per_sample=rows)
    contract = None if facts["contract"] is None else _contract(facts["contract"])
    if kind == "report" and contract is not None:
        asked = [Asked(expression=pl.col(a["name"]), reads=[a["name"]], **a) for a in held["asked"]]
        names = [one.name for one in asked]
        means = held["means"]
        return StoredReport(
            _StoredScores(rows, _as_frame(held["counts"]), asked),
            contract,
            _as_frame(held["summary"]),
            None if means is None else dict(zip(names, map(_float, means), strict=True)),
            name,
        )
    require_stats()
    return Comparison(
        _as_frame(held["summary"]),
        _as_frame(held["pairs"]),
        Procedure(**held["procedure"]),
        tuple(held["baselines"]),
        frozenset(held["lower_is_better"]),
        None if held["counts"] is None else _as_frame(held["counts"]),
        contract,
        aligned=_aligned(rows, held["systems"], held["metrics"]),
    )


def _aligned(rows: pl.DataFrame, systems: list[str], metrics: list[str]) -> Aligned:
    """The values of each system side by side, from one row for each value."""
    keys = [name for name in rows.columns if name not in ("system", "metric", "value")]
    parts = rows.partition_by("system", "metric", as_dict=True, maintain_order=True)
    frames = {
        system: parts[(system, metrics[0])]
        .select(keys)
        .with_columns(parts[(system, metric)]["value"].alias(metric) for metric in metrics)
        for system in systems
    }
    return align(frames, keys, metrics)


def _contract(settings: dict[str, Any]) -> Contract:
    return Contract(**(settings | {"score_dtype": DTYPES[settings["score_dtype"]]}))


def _keys(rows: pl.DataFrame) -> list[str]:
    return [name for name in ("system", "query_id") if name in rows.columns]


def _as_json(frame: pl.DataFrame) -> dict[str, Any]:
    """A small frame as JSON can hold it: each column's type and values."""
    return {
        name: [str(frame.schema[name]), [_number(value) for value in frame[name].to_list()]]
        for name in frame.columns
    }


def _as_frame(held: dict[str, Any]) -> pl.DataFrame:
    columns = []
    for name, (kind, values) in held.items():
        inner = kind.removeprefix("List(").removesuffix(")")
        dtype = DTYPES[kind] if kind in DTYPES else pl.List(DTYPES[inner])
        is_float = kind in ("Float32", "Float64")
        columns.append(pl.Series(name, [*map(_float, values)] if is_float else values, dtype))
    return pl.DataFrame(columns)


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinities: they are written as words."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value
