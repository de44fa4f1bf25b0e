"""Comparison of systems whose runs are in Spark: scored there, and tested here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from evalframe.comparing import Comparison
from evalframe.comparing.compare import compare_values
from evalframe.comparing.summaries import metrics_once
from evalframe.errors import EmptyError
from evalframe.frames import Duplicates
from evalframe.ranking.ties import Ties
from evalframe.scoring import DEFAULT_METRICS, Contract, Queries
from evalframe.scoring.asked import Metrics
from evalframe.spark.retrieval import evaluate
from evalframe.spark.systems import named_runs, united
from evalframe.statistics import IntervalMethod, Procedure, Test
from evalframe.statistics.corrections import Correction, Family
from evalframe.statistics.resampling import require_stats

__all__ = ["compare"]


def compare(
    qrels: Any,
    runs: Any,
    metrics: Metrics = DEFAULT_METRICS,
    baseline: str | Sequence[str] | None = None,
    *,
    test: Test = "randomisation",
    correction: Correction = "holm",
    family: Family = "all",
    alpha: float = 0.05,
    interval: IntervalMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
    buckets: int | None = None,
) -> Comparison:
    """Compare runs: all are scored in Spark at once, and their values are tested here.

    Parameters
    ----------
    qrels
        As `evalframe.spark.per_query` takes them.
    runs
        A mapping name → Spark frame, or one Spark frame with a `system` column.
    metrics, baseline, test, correction, family, alpha, interval, confidence, resamples, seed
        See `evalframe.compare`.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`.
    buckets
        See `evalframe.spark.per_query`.

    Returns
    -------
    Comparison
        What `evalframe.compare` gives.

    Raises
    ------
    EvalframeError
        What `evalframe.compare` and `evalframe.spark.evaluate` raise.

    Examples
    --------
    >>> compare(qrels, {"bm25": bm25, "dense": dense}, ["ndcg@10"])  # doctest: +SKIP
    """
    require_stats()
    procedure = Procedure(test, correction, family, alpha, interval, confidence, resamples, seed)
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    named = named_runs(runs)
    report = evaluate(
        qrels,
        united(runs, ties),
        metrics_once(metrics),
        buckets=buckets,
        **contract.settings(),
    )
    names = report.counts["system"].to_list() if named is None else [*named]
    _refuse_strangers(report.counts, names)
    by_name = report.per_query.partition_by("system", as_dict=True, maintain_order=True)
    frames = {name: by_name[(name,)].drop("system") for name in names}
    order = pl.DataFrame({"system": names})
    counts = order.join(report.counts, on="system", how="left", maintain_order="left")
    return compare_values(frames, [*report.how], baseline, procedure, counts, contract)


def _refuse_strangers(counts: pl.DataFrame, names: list[str]) -> None:
    """Refuse runs without rows, and runs without a query of the qrels."""
    answered = counts.filter(pl.col("missing") < pl.col("queries_in_qrels"))["system"].to_list()
    others = [name for name in names if name not in answered]
    if others:
        raise EmptyError(f"the run {others[0]!r} has no rows, or no query of the qrels")
