"""Per query and evaluate, of Spark frames: the qrels and the run meet in buckets of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.errors import OptionError
from evalframe.frames import Duplicates
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import Ties
from evalframe.scoring import (
    DEFAULT_METRICS,
    Asked,
    Contract,
    Queries,
    Scored,
    listed,
    refuse_swapped,
    score,
)
from evalframe.scoring.asked import POSITIVE, Metrics
from evalframe.scoring.buckets import judgements_of, put_together
from evalframe.spark.frames import (
    bucketed,
    checked,
    ddl,
    head_of,
    is_spark,
    local_frame,
    n_buckets,
    quoted,
    to_spark,
)
from evalframe.spark.report import SparkReport
from evalframe.spark.systems import RANK_NEEDED
from evalframe.spark.workers import SYSTEMS, local_errors, scoring, values_schema

__all__ = ["evaluate", "per_query"]

COUNTED: dict[Queries, str] = {
    "judged": f"{quoted(POSITIVE)} is not null",
    "positive": quoted(POSITIVE),
    "both": f"{quoted(POSITIVE)} is not null and n_retrieved > 0",
}


def per_query(
    qrels: Any,
    run: Any,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
    buckets: int | None = None,
) -> Any:
    """Score every query: the values of `evalframe.per_query`, to the last bit.

    Parameters
    ----------
    qrels
        A Spark frame; or qrels of any shape that is taken locally, which are sent to Spark.
    run
        A Spark frame. With a `system` column, every system is scored on every query.
    metrics
        Spellings (see `evalframe.metrics.parse`), metrics, or expressions over the judged frame.
        Workers get expressions, so that metrics of your own need not be registered there.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`. `ties="given"` goes by the `rank` column:
        rows have no order in Spark. A bucket below a million rows is looked through for duplicates.
    buckets
        How many parts the queries are cut into; as many as a shuffle has partitions
        (`spark.sql.shuffle.partitions`) without it. A bucket is held in a worker's memory; about
        five million rows are a good size.

    Returns
    -------
    pyspark.sql.DataFrame
        `query_id` (after `system`, where the run has one) and a column of doubles for each metric,
        in no order. Some rows of both frames are looked at right away; all else waits for an
        action. Frames that are dear to compute are best persisted first.

    Raises
    ------
    EvalframeError
        What `evalframe.per_query` raises, where columns, types or the first rows tell. What only a
        worker sees is raised by Spark, when the frame is used: the message names the first query
        of the bucket.

    Examples
    --------
    >>> values = per_query(qrels, run, ["ndcg@10"])  # doctest: +SKIP
    >>> values.write.parquet("values")  # doctest: +SKIP
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    return _bring_together(qrels, run, listed(metrics, rel), contract, buckets).per_query


def evaluate(
    qrels: Any,
    run: Any,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
    buckets: int | None = None,
) -> SparkReport:
    """Evaluate a run, or several systems at once: the numbers of `evalframe.evaluate`.

    Parameters
    ----------
    qrels, run, metrics, buckets
        As `per_query` takes them.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`.

    Returns
    -------
    SparkReport
        A report like any other, whose values by query, one row for each, are in memory here; its
        `to_spark()` gives them back to Spark, and `documents` fetches one query's rows.

    Raises
    ------
    EvalframeError
        What `evalframe.evaluate` raises. What a worker finds is raised as the same class, and the
        message names the first query of the bucket.

    Examples
    --------
    >>> report = evaluate(qrels, run, ["ndcg@10", "map"])  # doctest: +SKIP
    >>> report.metrics  # doctest: +SKIP
    {'ndcg@10': 0.6504, 'map': 0.5611}
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    met = _bring_together(qrels, run, listed(metrics, rel), contract, buckets)
    return SparkReport(met.scored(), contract, met.qrels, met.run)


@dataclass(frozen=True)
class Met:
    """Qrels and run with the house's columns, and the values that they give, all in Spark."""

    qrels: Any
    run: Any
    values: Any
    asked: list[Asked]
    contract: Contract

    @property
    def per_query(self) -> Any:
        """The queries that count."""
        keys = [name for name in self.values.columns if name in ("system", "query_id")]
        names = (*keys, *(one.name for one in self.asked))
        return self.values.where(COUNTED[self.contract.queries]).select(*map(quoted, names))

    def scored(self) -> Scored:
        """Do the work, and take the values into memory."""
        with local_errors():
            values = local_frame(self.values)
        values = values.with_columns(pl.col("n_retrieved").cast(pl.UInt32))
        return put_together(values, self.asked, self.contract.queries)


def _bring_together(
    qrels: Any, run: Any, asked: list[Asked], contract: Contract, buckets: int | None
) -> Met:
    listed_rows = checked(run, "run", ranks=contract.ties == "given")
    if contract.ties == "given" and "rank" not in listed_rows.columns:
        raise OptionError(RANK_NEEDED)
    _try_out(asked, contract)
    session = listed_rows.sparkSession
    n = n_buckets(buckets, session)
    with local_errors():
        first_rows = head_of(listed_rows, "run", contract.duplicates)
        if is_spark(qrels):
            judged_rows = checked(qrels, "qrels")
            refuse_swapped(prepare(head_of(judged_rows, "qrels")), first_rows)
        else:
            judgements = judgements_of(qrels)
            if not isinstance(qrels, PreparedQrels):
                refuse_swapped(prepare(judgements), first_rows)
            judged_rows = to_spark(judgements, session)
    has_systems = "system" in listed_rows.columns
    sides = judged_rows
    if has_systems:
        sides = judged_rows.crossJoin(listed_rows.selectExpr(f"collect_set(system) as {SYSTEMS}"))
    both = bucketed(sides, n).cogroup(bucketed(listed_rows, n))
    schema = ddl(values_schema(asked, has_systems))
    values = both.applyInArrow(scoring(asked, contract, has_systems), schema)
    return Met(judged_rows, listed_rows, values, asked, contract)


def _try_out(asked: list[Asked], contract: Contract) -> None:
    """Refuse a metric that gives no number, here and not first in a worker."""
    one = {"query_id": ["q"], "doc_id": ["a"]}
    qrels = pl.DataFrame({**one, "subtopic": ["1"], "relevance": [1]})
    score(prepare(qrels), pl.DataFrame({**one, "score": [1.0], "rank": [1]}), asked, contract)
