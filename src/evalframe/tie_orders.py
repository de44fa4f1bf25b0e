"""A run in several orders of its tied documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from evalframe.prepared import PreparedQrels, prepare
from evalframe.report import evaluate
from evalframe.scoring import MetricLike

__all__ = ["by_grade", "expected_of", "graded_run", "values_in_random_orders"]

ROWS_TOGETHER = 2_000_000
"""Rows of reordered runs that are evaluated in one piece."""


def by_grade(graded: pl.DataFrame, keys: list[str], *, best_first: bool) -> pl.DataFrame:
    """The run with tied documents by falling or rising grade; row order is the order."""
    return graded.sort(
        *keys,
        "score",
        "relevance",
        "doc_id",
        descending=[*[False] * len(keys), True, best_first, False],
        nulls_last=best_first,
    ).drop("relevance")


def graded_run(prepared: PreparedQrels, run: pl.DataFrame, score_dtype: Any) -> pl.DataFrame:
    """The rows of judged queries with their grade, null where there is no judgement."""
    judged = prepared.qrels.filter(pl.col("relevance") >= 0)
    return (
        run.drop("rank", strict=False)
        .with_columns(pl.col("score").cast(score_dtype))
        .join(prepared.queries.select("query_id"), on="query_id", how="semi")
        .join(judged, on=["query_id", "doc_id"], how="left")
    )


def values_in_random_orders(
    prepared: PreparedQrels,
    run: pl.DataFrame,
    dependent: pl.DataFrame,
    metrics: MetricLike | Iterable[MetricLike],
    settings: dict[str, Any],
    orders: int,
    seed: int,
) -> pl.DataFrame:
    """Values of the queries that depend on ties, in each random order: keys, `order`, metrics."""
    keys = dependent.columns
    wanted = (
        run.join(dependent, on=keys, how="semi")
        .sort(*keys, "doc_id")
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt64))
    )
    if wanted.height == 0:
        return dependent.with_columns(order=pl.lit(0), value=pl.lit(0.0), metric=pl.lit("")).clear()
    asked = prepare(
        prepared.qrels.join(dependent.select("query_id").unique(), on="query_id", how="semi")
    )
    size = max(1, ROWS_TOGETHER // wanted.height)
    own = pl.col("system") if "system" in keys else pl.lit("")
    found = []
    for start in range(0, orders, size):
        numbers = range(start, min(start + size, orders))
        reordered = pl.concat(
            wanted.with_columns(
                pl.concat_str(pl.lit(f"{number} "), own).alias("system"),
                drawn=(pl.col("row") + number * wanted.height).hash(seed),
            )
            for number in numbers
        ).sort("system", "query_id", "score", "drawn", descending=[False, False, True, False])
        report = evaluate(
            asked,
            reordered.drop("row", "drawn"),
            metrics,
            **(settings | {"queries": "judged"}),
        )
        parts = pl.col("system").str.splitn(" ", 2)
        names = list(report.how)
        values = report.per_query.with_columns(
            order=parts.struct.field("field_0").cast(pl.Int64),
            system=parts.struct.field("field_1"),
        ).join(dependent, on=keys, how="semi")
        found.append(values.unpivot(names, index=["order", *keys], variable_name="metric"))
    return pl.concat(found)


def expected_of(
    values: pl.DataFrame, drawn: pl.DataFrame, group: list[str], keys: list[str], orders: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Means over random orders, with their standard error, and the same for each query."""
    by_query = drawn.group_by([*keys, "metric"], maintain_order=True).agg(
        expected=pl.col("value").mean(), spread=pl.col("value").var()
    )
    per_query = values.join(
        by_query.drop("spread"), on=[*keys, "metric"], how="left", maintain_order="left"
    ).with_columns(pl.col("expected").fill_null(pl.col("value")))
    mean = per_query.group_by(group, maintain_order=True).agg(
        pl.col("expected").mean(), queries=pl.len()
    )
    # Orders of different queries are independent, so that their variances add up.
    spread = by_query.group_by(group, maintain_order=True).agg(pl.col("spread").sum())
    error = (pl.col("spread").fill_null(0.0) / orders).sqrt() / pl.col("queries")
    means = (
        mean.join(spread, on=group, how="left", maintain_order="left")
        .with_columns(expected_error=error)
        .drop("spread", "queries")
    )
    return means, per_query
