"""Comparison of systems whose runs are in Spark: scored there, and tested here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evalframe.comparing import Comparison
from evalframe.comparing import compare as compare_locally
from evalframe.comparing.compare import compare_values
from evalframe.comparing.summaries import metrics_once
from evalframe.errors import OptionError
from evalframe.frames import Duplicates
from evalframe.ranking.judged import Judged
from evalframe.ranking.prepared import prepare
from evalframe.ranking.ties import Ties
from evalframe.scoring import DEFAULT_METRICS, Contract, Queries, Scored
from evalframe.scoring.asked import Metrics
from evalframe.scoring.refusals import refuse_strangers
from evalframe.spark.frames import is_spark
from evalframe.spark.retrieval import evaluate
from evalframe.spark.systems import STAND_IN, checked_runs, stand_ins, united
from evalframe.statistics import IntervalMethod, Procedure, Test
from evalframe.statistics.corrections import Correction, Family
from evalframe.statistics.resampling import require_stats

__all__ = ["compare"]

NEEDED = "compare needs runs by name, {name: run}, or one run with a system column"

JUDGED = STAND_IN.select("query_id", "doc_id", subtopic=pl.lit("1"), relevance=pl.lit(1))
"""Qrels of the runs that stand in for those in Spark."""


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
    if not (isinstance(runs, Mapping) or is_spark(runs)):
        raise OptionError(NEEDED)
    found = checked_runs(runs, ties, duplicates, prefixed=False)
    metrics = metrics_once(metrics)
    if isinstance(runs, Mapping):
        asked = {**vars(procedure), **contract.settings(), "baseline": baseline}
        compare_locally(JUDGED, stand_ins(runs, found), metrics, **asked)
    elif "system" not in found[None].columns:
        raise OptionError(NEEDED)
    report = evaluate(qrels, united(found), metrics, buckets=buckets, **contract.settings())
    names = [name for name in found if name is not None] or report.systems
    for name in names:
        _refuse_strangers(report.scored, name)
    by_name = report.per_query.partition_by("system", as_dict=True, maintain_order=True)
    frames = {name: by_name[(name,)].drop("system") for name in names}
    order = pl.DataFrame({"system": names})
    counts = order.join(report.counts, on="system", how="left", maintain_order="left")
    return compare_values(frames, [*report.how], baseline, procedure, counts, contract)


def _refuse_strangers(scored: Scored, name: str) -> None:
    """Refuse a run without a query of the qrels."""
    units, groups = (
        frame.filter(pl.col("system") == name) for frame in (scored.values, scored.groups)
    )
    judged = units.select("query_id", doc_id=pl.lit(""), relevance=pl.lit(1))
    refuse_strangers(prepare(judged), Judged(units, units, groups))
