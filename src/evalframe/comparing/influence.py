"""What a single query does to a mean, and to the order of two systems."""

from __future__ import annotations

from typing import Any

import polars as pl

from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.pairing import difference_of
from evalframe.errors import OptionError
from evalframe.report import Report

__all__ = ["leave_one_out"]


def leave_one_out(data: Any) -> pl.DataFrame:
    """Means, or differences of means, without each query in turn.

    Parameters
    ----------
    data
        A `Report`: what each query does to the mean. A `Comparison`: what it does to the difference
        of each pair.

    Returns
    -------
    pl.DataFrame
        For a report: `metric` (after `system`, where there are several), `query_id`, `value`,
        `mean`, `without` (the mean of the others) and `influence` (mean - without). For a
        comparison: `a`, `b`, `metric`, `query_id`, `difference`, `without`, `influence` and `flips`
        (without the query the other system is ahead, or neither is). The greatest influence first
        within each metric; `without` and `influence` are null where there is one query. Means are
        arithmetic, whatever a metric's own summary is (`Report.how`).

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = {q: {"a": 1} for q in "123"}
    >>> run = {"1": ["a"], "2": ["x", "a"], "3": ["x", "a"]}
    >>> leave_one_out(evf.evaluate(qrels, run, ["mrr"])).select("query_id", "influence").row(0)
    ('1', 0.16666666666666669)
    """
    if isinstance(data, Comparison):
        return _of_pairs(data)
    if not isinstance(data, Report):
        raise OptionError(f"a Report or a Comparison is needed, not {type(data).__name__}")
    system = [name for name in ("system",) if name in data.per_query.columns]
    keys = [*system, "query_id"]
    long = data.per_query.unpivot(
        list(data.how), index=keys, variable_name="metric", value_name="value"
    )
    group = [*system, "metric"]
    found = long.with_columns(mean=pl.col("value").mean().over(group), **_without("value", group))
    return _by_influence(found, group, ["query_id"]).select(
        *group, "query_id", "value", "mean", "without", "influence"
    )


def _of_pairs(compared: Comparison) -> pl.DataFrame:
    key = compared.aligned.keys.columns
    group = ["a", "b", "metric"]
    wide = compared.per_query_wide
    pairs = compared.pairs.select("a", "b").unique(maintain_order=True).rows()
    if not pairs:
        raise OptionError("the comparison has a single system and no pair")
    found = pl.concat(
        wide.select(
            pl.lit(a).alias("a"),
            pl.lit(b).alias("b"),
            "metric",
            *key,
            value=difference_of(a, b),
        ).drop_nulls("value")
        for a, b in pairs
    )
    found = found.with_columns(
        difference=pl.col("value").mean().over(group), **_without("value", group)
    )
    order, rest = pl.col("difference").sign(), pl.col("without").sign()
    return _by_influence(found, group, key).select(
        *group, *key, "difference", "without", "influence", flips=(order != rest) & (order != 0)
    )


def _without(column: str, group: list[str]) -> dict[str, pl.Expr]:
    """The mean of the other queries, and how much this one moves it."""
    value = pl.col(column)
    n = pl.len().over(group)
    mean = value.mean().over(group)
    # The mean moves by the query's distance from it, spread over the others.
    influence = pl.when(n > 1).then((value - mean) / (n.cast(pl.Int64) - 1))
    return {"influence": influence, "without": mean - influence}


def _by_influence(frame: pl.DataFrame, group: list[str], key: list[str]) -> pl.DataFrame:
    place = pl.struct(group).rle_id().alias("place")
    return (
        frame.with_columns(place, size=pl.col("influence").abs())
        .sort("place", "size", *key, descending=[False, True, *[False] * len(key)])
        .drop("place", "size")
    )
