"""Values by what is known of the queries: joined to their columns, and averaged over slices."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from evalframe.columns import QUERIES
from evalframe.engine import collect
from evalframe.errors import ColumnError, OptionError, did_you_mean
from evalframe.frames import conform, find_columns
from evalframe.inputs import queries_frame, unchecked_frame
from evalframe.report.spread import means_with_intervals

__all__ = ["By", "joined", "sliced"]

By = str | pl.Expr | Iterable[str | pl.Expr]

MOST_NUMBERS = 20
"""Different numbers up to which each of them is a slice."""
OWN = ("metric", "n", "mean", "low", "high", "difference", "interval", "confidence")
"""The columns of the result beside the slices."""


def joined(per_query: pl.DataFrame, queries: Any, level: int = 3) -> pl.DataFrame:
    """Values with the columns of their queries; see `Report.join`.

    Queries without a row are counted in a warning, which points so many calls up.
    """
    frame = _collected(queries)
    clash = [name for name in frame.columns if name in per_query.columns and name != "query_id"]
    if clash:
        raise ColumnError(
            f"the queries have a column {clash[0]!r}, and so have the values; rename it first"
        )
    ids = per_query.select(pl.col("query_id").unique(maintain_order=True))
    without = ids.join(frame, on="query_id", how="anti", maintain_order="left")["query_id"]
    if without.len():
        shown = ", ".join(map(repr, without.head(5)))
        warnings.warn(
            f"{without.len()} of {ids.height} queries have no row in the queries, and nulls in "
            f"their columns: {shown}" + (", …" if without.len() > 5 else ""),
            stacklevel=level,
        )
    return per_query.join(frame, on="query_id", how="left", maintain_order="left")


def sliced(per_query: pl.DataFrame, metrics: list[str], by: By, queries: Any) -> pl.DataFrame:
    """The mean of each metric over each slice of the queries; see `Report.slices`."""
    system = [name for name in ("system",) if name in per_query.columns]
    ids = per_query.select(pl.col("query_id").unique(maintain_order=True))
    slices = _slices_of(ids if queries is None else joined(ids, queries, level=4), by)
    # By place, since the slices' columns may be named like a metric.
    names = [f"slice {place}" for place in range(slices.width)]
    keys = [*system, *names, "metric"]
    placed = ids.hstack(slices.rename(dict(zip(slices.columns, names, strict=True))))
    rows = per_query.join(placed, on="query_id", how="left", maintain_order="left")
    long = pl.concat(
        rows.select(*system, *names, metric=pl.lit(place), value=pl.col(metric).cast(pl.Float64))
        for place, metric in enumerate(metrics)
    )
    overall = long.group_by(*system, "metric").agg(overall=pl.col("value").fill_nan(None).mean())
    return (
        means_with_intervals(long, keys)
        .join(overall, on=[*system, "metric"], how="left")
        .sort(keys, nulls_last=True)
        .with_columns(difference=pl.col("mean") - pl.col("overall"))
        .with_columns(
            pl.col("metric").replace_strict(dict(enumerate(metrics)), return_dtype=pl.String)
        )
        .select(*keys, *OWN[1:])
        .rename(dict(zip(names, slices.columns, strict=True)))
    )


def _slices_of(queries: pl.DataFrame, by: By) -> pl.DataFrame:
    """The columns whose values make the slices, a row for each query."""
    wanted = [by] if isinstance(by, str | pl.Expr) else list(by)
    if not wanted or not all(isinstance(one, str | pl.Expr) for one in wanted):
        raise OptionError(f"by={by!r}: name a column of the queries, several, or an expression")
    for name in (one for one in wanted if isinstance(one, str)):
        if name not in queries.columns:
            hint = "" if queries.width > 1 else "; hand over their frame or path as queries="
            raise ColumnError(
                f"the queries have no column {name!r}{did_you_mean(name, queries.columns)}; they "
                f"have {', '.join(queries.columns)}{hint}"
            )
    try:
        slices = queries.select(wanted)
    except pl.exceptions.PolarsError as error:
        what = str(error).partition("\n")[0]
        raise ColumnError(
            f"by cannot be worked out on the queries, which have {', '.join(queries.columns)}: "
            + what
        ) from error
    if slices.height != queries.height:
        raise OptionError(
            f"by gives {slices.height} values for {queries.height} queries; one for each is needed"
        )
    for column in slices:
        _refuse_unsliceable(column)
    return slices


def _refuse_unsliceable(column: pl.Series) -> None:
    name, dtype = column.name, column.dtype
    if name in (*OWN, "system"):
        raise ColumnError(
            f"by={name!r}: the result has a column of its own of that name; give the slices "
            f"another: pl.col({name!r}).alias('slice')"
        )
    if dtype.is_nested():
        raise ColumnError(
            f"by={name!r} holds {dtype}, of which no slices are made; take one value of it, for "
            f"example pl.col({name!r}).list.first()"
        )
    if dtype.is_numeric() and column.n_unique() > MOST_NUMBERS:
        low, middle, high = (float(column.quantile(share) or 0.0) for share in (0.0, 0.5, 1.0))
        raise OptionError(
            f"by={name!r} has {column.n_unique()} different numbers from {low:g} to {high:g}, and "
            f"{MOST_NUMBERS} at most make slices; put them into bins, by=pl.col({name!r}) // "
            f"{(high - low) / 5:.1g}, or ask a question, by=pl.col({name!r}) > {middle:g}"
        )


def _collected(queries: Any) -> pl.DataFrame:
    """The queries as a checked frame, with or without texts."""
    if isinstance(queries, Mapping) and _is_columns(queries):
        queries = pl.DataFrame(dict(queries), strict=False)
    elif isinstance(queries, Iterator):
        queries = list(queries)
    try:
        return _whole(queries_frame(queries))
    except ColumnError:
        found = _without_text(queries)
        if found is None:
            raise
        return found


def _whole(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    return collect(frame) if isinstance(frame, pl.LazyFrame) else frame


def _is_columns(queries: Mapping[Any, Any]) -> bool:
    """Whether a dict holds columns, ids among them, and not a text for each id."""
    lists = all(
        hasattr(v, "__len__") and not isinstance(v, str | Mapping) for v in queries.values()
    )
    return lists and "query_id" in find_columns(QUERIES, [*map(str, queries)], {})


def _without_text(queries: Any) -> pl.DataFrame | None:
    """Queries whose texts are nowhere, checked as others are; None where that is not the matter."""
    frame = _whole(unchecked_frame(queries, "queries"))
    found = find_columns(QUERIES, frame.columns, {})
    if "query_id" not in found or "text" in found:
        return None
    return conform(frame.with_columns(text=pl.lit(None, pl.String)), "queries").drop("text")
