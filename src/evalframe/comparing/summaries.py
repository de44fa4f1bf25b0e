"""How values by query become one: each metric in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics import Metric, parse
from evalframe.scoring import MetricLike

__all__ = ["metrics_once", "note_of_arithmetic_means", "summaries_of", "summarised"]


def summaries_of(named: Mapping[str, str]) -> dict[str, str]:
    """Label → `mean`, `sum` or `geometric_mean`, for label → a metric's name."""
    return {label: _summary_of(name) for label, name in named.items()}


def summarised(column: str, how: Mapping[str, str]) -> pl.Expr:
    """One value of a group that has one `metric`; null where the group has no value."""
    value, metric = pl.col(column), pl.col("metric").first()

    def named(wanted: str) -> list[str]:
        return [label for label, own in how.items() if own == wanted]

    chosen = (
        pl.when(metric.is_in(named("geometric_mean")))
        .then(value.log().mean().exp())
        .when(metric.is_in(named("sum")))
        .then(value.sum())
        .otherwise(value.mean())
    )
    return pl.when(value.count() > 0).then(chosen)


def metrics_once(metrics: MetricLike | Iterable[MetricLike]) -> Sequence[MetricLike]:
    """The metrics as a sequence, so that a generator can be gone through again.

    >>> metrics_once("map"), metrics_once(name for name in ("map", "mrr"))
    (('map',), ('map', 'mrr'))
    """
    return (metrics,) if isinstance(metrics, str | Metric | pl.Expr) else tuple(metrics)


def note_of_arithmetic_means(metrics: Iterable[str]) -> list[str]:
    """A line for the metrics whose own summary is another than the means that are shown."""
    others = {name: how for name in metrics if (how := _summary_of(name)) != "mean"}
    if not others:
        return []
    listed = ", ".join(f"{name} ({how.replace('_', ' ')})" for name, how in others.items())
    return [f"means are arithmetic, also of what evaluate sums up otherwise: {listed}"]


def _summary_of(name: str) -> str:
    """What the catalogue says; the mean for names that it does not know."""
    try:
        return parse(name).definition.summary
    except MetricError:
        return "mean"
