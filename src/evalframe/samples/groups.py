"""The summary of scored samples for each value of some of their columns."""

from __future__ import annotations

import polars as pl

from evalframe.metrics.rag_reasons import OK, is_undelivered

__all__ = ["SUMMARY_SCHEMA", "summary_by"]

SUMMARY_SCHEMA = {
    "metric": pl.String,
    "mean": pl.Float64,
    "mean_with_rest_as_0": pl.Float64,
    "mean_delivered": pl.Float64,
    "n_scored": pl.Int64,
    "n_delivered": pl.Int64,
    "n_total": pl.Int64,
    "reasons": pl.String,
}


def summary_by(scored: pl.DataFrame, columns: list[str], metrics: list[str]) -> pl.DataFrame:
    """A row of the summary for each group and metric, by group, metrics as they were asked for.

    Parameters
    ----------
    scored
        What `per_sample` gave.
    columns
        Columns of it, none of which is called as one of the summary's.
    metrics
        Metrics that it has.
    """
    # By place, since the samples' columns may have any name.
    groups = [pl.col(column).alias(f"{place}") for place, column in enumerate(columns)]
    keys = [f"{place}" for place in range(len(columns))]
    long = pl.concat(
        scored.select(
            *groups,
            metric=pl.lit(place),
            value=metric,
            status=pl.col("status").struct.field(metric),
        )
        for place, metric in enumerate(metrics)
    )
    undelivered = [word for word in long["status"].unique() if is_undelivered(word)]
    value, delivered = pl.col("value"), ~pl.col("status").is_in(undelivered)
    # Sums over sorted values do not depend on the order of the samples, to the last bit.
    means = (
        long.sort(*keys, "metric", "value")
        .group_by(*keys, "metric", maintain_order=True)
        .agg(
            mean=value.sum() / value.count(),
            mean_with_rest_as_0=value.sum() / pl.len(),
            mean_delivered=value.filter(delivered).sum() / value.filter(delivered).count(),
            n_scored=value.count().cast(pl.Int64),
            n_delivered=value.filter(delivered).count().cast(pl.Int64),
            n_total=pl.len().cast(pl.Int64),
        )
    )
    return (
        means.join(
            _reasons(long, [*keys, "metric"]), on=[*keys, "metric"], how="left", nulls_equal=True
        )
        .sort(*keys, "metric")
        .select(
            *(pl.col(key).alias(column) for key, column in zip(keys, columns, strict=True)),
            pl.col("metric").replace_strict(dict(enumerate(metrics)), return_dtype=pl.String),
            *(pl.col(name).fill_nan(None) for name in SUMMARY_SCHEMA if name.startswith("mean")),
            *(name for name in SUMMARY_SCHEMA if name.startswith("n_")),
            pl.col("reasons").fill_null(""),
        )
    )


def _reasons(long: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """How often each reason was given, as text: the most frequent first."""
    return (
        long.filter(pl.col("status") != OK)
        .group_by(*keys, "status")
        .agg(n=pl.len())
        .sort("n", "status", descending=[True, False])
        .group_by(*keys, maintain_order=True)
        .agg(reasons=pl.format("{} {}", "status", "n").str.join(", "))
    )
