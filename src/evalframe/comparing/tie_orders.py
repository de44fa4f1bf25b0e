"""A run in several orders of its tied documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from evalframe.ranking.prepared import PreparedQrels
from evalframe.report import evaluate
from evalframe.scoring import MetricLike

__all__ = [
    "by_grade",
    "expected_of",
    "graded_run",
    "tied_queries",
    "values_in_random_orders",
    "with_extremes",
]

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


def tied_queries(graded: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The keys of the lists in which a judged document shares its score with another."""
    by = [*keys, "score"]
    judged = pl.col("relevance").is_not_null().any().over(by)
    return graded.filter(pl.len().over(by) > 1, judged).select(keys).unique()


def with_extremes(
    values: pl.DataFrame, drawn: pl.DataFrame, keys: list[str], metrics: list[str]
) -> pl.DataFrame:
    """For some metrics, `worst` and `best` from the value and those of the random orders."""
    if not metrics:
        return values
    by = [*keys, "metric"]
    of_orders = drawn.filter(pl.col("metric").is_in(metrics)).group_by(by)
    seen = of_orders.agg(low=pl.col("value").min(), high=pl.col("value").max())
    chosen = pl.when(pl.col("metric").is_in(metrics))
    return (
        values.join(seen, on=by, how="left", maintain_order="left")
        .with_columns(
            worst=chosen.then(pl.min_horizontal("value", "low")).otherwise("worst"),
            best=chosen.then(pl.max_horizontal("value", "high")).otherwise("best"),
        )
        .drop("low", "high")
    )


def values_in_random_orders(
    prepared: PreparedQrels,
    graded: pl.DataFrame,
    dependent: pl.DataFrame,
    metrics: MetricLike | Iterable[MetricLike],
    settings: dict[str, Any],
    orders: int,
    seed: int,
) -> pl.DataFrame:
    """Values of the queries that depend on ties, in each random order: keys, `metric`, `value`."""
    keys = dependent.columns
    wanted = graded.join(dependent, on=keys, how="semi").sort(
        *keys, "score", "doc_id", descending=[*[False] * len(keys), True, False]
    )
    if wanted.height == 0:
        return dependent.with_columns(metric=pl.lit(""), value=pl.lit(0.0)).clear()
    asked = _of_queries(prepared, dependent["query_id"].unique())
    own = wanted["system"] if "system" in keys else pl.lit("")
    rows = wanted.select(*keys, "doc_id", "score")
    moving = _moving(wanted, keys)
    size = max(1, ROWS_TOGETHER // wanted.height)
    found = []
    for start in range(0, orders, size):
        reordered = pl.concat(
            rows.with_columns(
                rows["doc_id"].gather(_shuffled(moving, rows.height, number, seed)),
                pl.concat_str(pl.lit(f"{number} "), own).alias("system"),
            )
            for number in range(start, min(start + size, orders))
        )
        report = evaluate(asked, reordered, metrics, **(settings | {"queries": "judged"}))
        of_system = pl.col("system").str.splitn(" ", 2).struct.field("field_1")
        values = report.per_query.with_columns(of_system.alias("system"))
        found.append(
            values.join(dependent, on=keys, how="semi").unpivot(
                list(report.how), index=keys, variable_name="metric"
            )
        )
    return pl.concat(found)


def _of_queries(prepared: PreparedQrels, query_ids: pl.Series) -> PreparedQrels:
    """The same qrels, subtopics and all, of some queries only."""
    kept = prepared.checked.filter(pl.col("query_id").is_in(query_ids.implode()))
    return PreparedQrels(kept)


def _moving(wanted: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The rows that share their score with others of which one is judged: `row`, `plateau`."""
    plateau = pl.struct(*keys, "score").rle_id().cast(pl.UInt64).alias("plateau")
    return (
        wanted.select(plateau, "relevance")
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
        .filter(
            pl.len().over("plateau") > 1, pl.col("relevance").is_not_null().any().over("plateau")
        )
        .select("row", "plateau")
    )


def _shuffled(moving: pl.DataFrame, n_rows: int, number: int, seed: int) -> pl.Series:
    """The rows of one random order: what moves is put in order of a hash within its plateau."""
    drawn = moving.select(
        pl.col("plateau") * 2**32
        + (pl.col("row").cast(pl.UInt64) + number * n_rows).hash(seed % 2**64) % 2**32
    ).to_series()
    row = moving["row"]
    return pl.int_range(n_rows, dtype=pl.UInt32, eager=True).scatter(
        row, row.gather(drawn.arg_sort())
    )


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
