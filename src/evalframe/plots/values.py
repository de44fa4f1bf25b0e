"""The values that a chart shows, out of whatever holds them: a report, a comparison, a frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import polars as pl

from evalframe.engine import collect
from evalframe.errors import (
    ColumnError,
    EmptyError,
    FrameError,
    MetricError,
    OptionError,
    did_you_mean,
)
from evalframe.metrics import Metric, parse
from evalframe.plots.theme import MOST_SYSTEMS, labels_of

__all__ = [
    "PerQuery",
    "PerSample",
    "Source",
    "Values",
    "lower_is_better",
    "most_of",
    "parsed",
    "rows_and_metrics",
    "values_of",
]


class PerQuery(Protocol):
    """A report or a comparison: values of each query."""

    @property
    def per_query(self) -> pl.DataFrame:
        """A row for each query, of each system where there are several."""


class PerSample(Protocol):
    """A RAG report: values of each sample."""

    @property
    def per_sample(self) -> pl.DataFrame:
        """A row for each sample."""


Source = PerQuery | PerSample | pl.DataFrame | pl.LazyFrame
"""A report, a comparison, or a frame: `query_id`, perhaps `system`, and a column for each metric;
or `system`, `query_id`, `metric` and `value`."""

KEYS = ("system", "query_id")
LARGEST = 1e300
"""Beyond it, differences of values would be infinite."""


@dataclass(frozen=True, eq=False)
class Values:
    """One metric's values of every query.

    Attributes
    ----------
    frame
        `system`, `query` and `value` (finite), by system and query.
    systems
        All systems, in their order; `[""]` where the source has no systems.
    metric
        The metric's name.
    lower
        Whether less is better.
    unit
        What is counted: queries or samples.
    left_out
        How many values are missing or not finite.
    """

    frame: pl.DataFrame
    systems: list[str]
    metric: str
    lower: bool
    unit: Literal["queries", "samples"]
    left_out: int

    @property
    def one(self) -> str:
        """The unit's singular."""
        return "query" if self.unit == "queries" else "sample"

    def of(self, systems: Sequence[str]) -> pl.DataFrame:
        """The rows of some systems, with the label of each as `system` and its name as `name`."""
        labels = labels_of(systems)
        return self.frame.filter(pl.col("system").is_in(systems)).with_columns(
            name="system", system=pl.col("system").replace_strict(labels, return_dtype=pl.String)
        )

    def chosen(
        self, wanted: Sequence[str] | None, most: int = MOST_SYSTEMS
    ) -> tuple[list[str], str]:
        """The systems to show, in their order, and a sentence on those that are not shown.

        Those that are asked for; without that, as many of the best as a chart can tell apart.
        """
        if wanted is not None:
            return _known(wanted, self.systems, most), ""
        if len(self.systems) <= most:
            return self.systems, ""
        means = self.frame.group_by("system").agg(pl.mean("value")).sort("value", "system")
        best = means.sort("value", descending=not self.lower, maintain_order=True)
        kept = set(best["system"].head(most))
        return (
            [name for name in self.systems if name in kept],
            f"the {most} best of {len(self.systems)} systems; systems= chooses others",
        )

    def counted(self, systems: Sequence[str]) -> str:
        """How many queries stand behind the chart, and how many values are missing."""
        rows = self.frame.filter(pl.col("system").is_in(systems))
        sizes = rows.group_by("system").len()["len"].unique().sort().to_list()
        unit = self.one if sizes == [1] else self.unit
        each = " of each system" if len(systems) > 1 else ""
        n = f"n = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
        return f"{n} {unit}{each}{self.missing()}"

    def missing(self) -> str:
        """A clause on the values that are missing, or nothing."""
        if not self.left_out:
            return ""
        return f"; {self.left_out:,} missing or not finite and left out"


def values_of(source: Source, metric: str) -> Values:
    """The values of one metric.

    Raises
    ------
    MetricError
        The source has no such metric.
    EmptyError
        No query has a value.
    """
    rows, metrics, unit = rows_and_metrics(source)
    if metric not in metrics:
        raise MetricError(
            f"no metric {metric!r} here{did_you_mean(str(metric), metrics)}; "
            f"there is {', '.join(metrics) or 'none'}"
        )
    long = {"metric", "value"} <= set(rows.columns)
    if long:
        rows = rows.filter(pl.col("metric") == metric)
    found = rows.select(
        system=_text("system") if "system" in rows.columns else pl.lit(""),
        query=_query(rows, long),
        value=pl.col("value" if long else metric).cast(pl.Float64),
    ).sort("system", "query", "value")
    finite = found.filter(pl.col("value").abs() <= LARGEST)
    if finite.height == 0:
        raise EmptyError(f"no value of {metric!r} is a finite number: there is nothing to draw")
    systems = found["system"].unique().sort().to_list()
    ordered = [name for name in getattr(source, "systems", []) if name in systems]
    return Values(
        finite,
        ordered if set(ordered) == set(systems) else systems,
        metric,
        lower_is_better(source, metric),
        unit,
        found.height - finite.height,
    )


def rows_and_metrics(
    source: Source,
) -> tuple[pl.DataFrame, list[str], Literal["queries", "samples"]]:
    """The frame of values, the metrics it has, and what its rows are."""
    unit: Literal["queries", "samples"] = "queries"
    frame: Any = source
    named: Any = None
    for attribute, metrics in (("per_query", "how"), ("per_sample", "metrics")):
        held = getattr(source, attribute, None)
        if isinstance(held, pl.DataFrame):
            frame, named = held, getattr(source, metrics, None)
            unit = "samples" if attribute == "per_sample" else "queries"
            break
    if isinstance(frame, pl.LazyFrame):
        frame = collect(frame)
    if not isinstance(frame, pl.DataFrame):
        raise FrameError(
            f"a chart is made of a report, a comparison or a Polars frame, not of "
            f"{type(source).__name__}"
        )
    if {"metric", "value"} <= set(frame.columns):
        return frame, frame["metric"].unique(maintain_order=True).to_list(), unit
    numbers = [
        name
        for name, dtype in frame.schema.items()
        if name not in KEYS and (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null))
    ]
    own = set(named) if isinstance(named, Mapping) else set(numbers)
    return frame, [name for name in numbers if name in own], unit


def lower_is_better(source: object, metric: str) -> bool:
    """Whether less of a metric is better, by what the source or the catalogue says."""
    named: Collection[str] = getattr(source, "lower_is_better", ())
    read = parsed(metric)
    return metric in named or (read is not None and read.definition.better == "lower")


def most_of(metric: str) -> float | None:
    """The greatest value that a metric of the catalogue can have, where it has such."""
    read = parsed(metric)
    return None if read is None else read.definition.bounds[1]


def parsed(metric: str) -> Metric | None:
    """The metric of that spelling; None where it is none of the catalogue."""
    try:
        return parse(metric)
    except MetricError:
        return None


def _query(rows: pl.DataFrame, long: bool) -> pl.Expr:
    """What names a row's query: of a comparison, whatever was its key."""
    others = [name for name in rows.columns if name not in ("system", "metric", "value")]
    keys = others if long else [name for name in ("query_id",) if name in rows.columns]
    nested = [name for name in keys if rows.schema[name].is_nested()]
    if nested:
        raise ColumnError(f"column {nested[0]!r} is {rows.schema[nested[0]]}, no id of a query")
    if not keys:
        return pl.int_range(pl.len()).cast(pl.String)
    return pl.concat_str([_text(key) for key in keys], separator=", ")


def _text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("")


def _known(wanted: Sequence[str], systems: Sequence[str], most: int) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else list(dict.fromkeys(wanted))
    for name in names:
        if name not in systems:
            raise OptionError(
                f"no system {name!r}{did_you_mean(str(name), systems)}; "
                f"there is {', '.join(map(repr, systems[:10]))}"
            )
    if not 0 < len(names) <= most:
        raise OptionError(f"systems= names {len(names)} systems; a chart shows 1 to {most}")
    return names
