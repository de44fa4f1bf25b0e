"""The metrics of an evaluation: what was asked for, by what name, and what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics import Metric, parse
from evalframe.metrics.catalogue import Better, Summary

__all__ = [
    "DEFAULT_METRICS",
    "JUDGED",
    "POSITIVE",
    "Asked",
    "MetricLike",
    "Metrics",
    "largest_cutoff",
    "listed",
]

MetricLike = str | Metric | pl.Expr
Metrics = MetricLike | Iterable[MetricLike]

DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@100")

POSITIVE, JUDGED = "has a positive judgement", "share judged"
TAKEN = {"system", "query_id", "unit", "n_retrieved", POSITIVE, JUDGED}
"""Names that a metric cannot have."""


@dataclass(frozen=True)
class Asked:
    """A metric as it was asked for: its name, its expression, and how its values become one.

    `reads` are the columns of the judged frame that the expression reads; with `positives_only`,
    it needs none of the rows of grade 0 or below.
    """

    name: str
    expression: pl.Expr
    reads: list[str]
    how: Summary = "mean"
    better: Better = "higher"
    k: int | None = None
    positives_only: bool = False


def listed(metrics: Metrics, rel: float | None) -> list[Asked]:
    """The metrics that were asked for, each once, by the name it was asked for."""
    if metrics is None:
        raise MetricError("metrics=None: name at least one, for example 'ndcg@10'")
    wanted = [metrics] if isinstance(metrics, str | Metric | pl.Expr) else list(metrics)
    if not wanted:
        raise MetricError("no metric was asked for; name one, for example 'ndcg@10'")
    asked: dict[str, Asked] = {}
    for metric in (_asked(one, rel) for one in wanted):
        other = asked.setdefault(metric.name, metric)
        if not other.expression.meta.eq(metric.expression):
            raise MetricError(f"two different metrics are named {metric.name!r}; use .alias()")
    taken = TAKEN & asked.keys()
    if taken:
        raise MetricError(f"a metric cannot be named {taken.pop()!r}, which is a column's name")
    return list(asked.values())


def _asked(wanted: MetricLike, rel: float | None) -> Asked:
    metric = _metric_of(wanted) if isinstance(wanted, pl.Expr) else parse(wanted)
    if isinstance(metric, pl.Expr):
        return Asked(metric.meta.output_name(), metric, metric.meta.root_names())
    name = wanted if isinstance(wanted, str) else str(metric)
    return Asked(
        name,
        metric.expression(rel).alias(name),
        metric.reads(),
        metric.definition.summary,
        metric.definition.better,
        dict(metric.parameters).get("k"),
        metric.positives_only(rel),
    )


def _metric_of(expression: pl.Expr) -> Metric | pl.Expr:
    """The metric that an expression came from, or the expression where it is the user's own."""
    try:
        metric = parse(expression.meta.output_name())
    except (MetricError, pl.exceptions.PolarsError):
        return expression
    return metric if metric.expression().meta.eq(expression) else expression


def largest_cutoff(asked: list[Asked]) -> int | None:
    """The deepest k asked for, None where no metric has one."""
    return max((metric.k for metric in asked if metric.k is not None), default=None)
