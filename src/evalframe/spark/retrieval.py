"""Per query and evaluate, of Spark frames: the qrels and the run meet in buckets of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.frames import Duplicates
from evalframe.ranking.judged import Judged
from evalframe.ranking.judged_columns import reads_subtopics
from evalframe.ranking.matching import keys_of
from evalframe.ranking.prepared import prepare
from evalframe.ranking.ties import TieRule, Ties
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
from evalframe.scoring.refusals import refuse_strangers
from evalframe.spark.frames import (
    bucketed,
    checked,
    ddl,
    head_of,
    is_spark,
    literal,
    local_frame,
    n_buckets,
    places,
    to_spark,
)
from evalframe.spark.report import SparkReport
from evalframe.spark.systems import checked_run
from evalframe.spark.workers import SYSTEMS, local_errors, scoring, values_schema

__all__ = ["evaluate", "per_query"]

COUNTED: dict[Queries, str] = {
    "judged": "{positive} is not null",
    "positive": "{positive}",
    "both": "{positive} is not null and {n_retrieved} > 0",
}
"""Which rows of the values are queries that count."""


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
        (`spark.sql.shuffle.partitions`) without it. A bucket is held in a worker's memory, at about
        100 bytes a row; about five million rows are a good size.

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
    """Qrels and run with the house's columns, and the values that they give, all in Spark.

    The values have the columns `names`, called by their places.
    """

    qrels: Any
    run: Any
    values: Any
    names: list[str]
    asked: list[Asked]
    contract: Contract

    @property
    def per_query(self) -> Any:
        """The queries that count."""
        at = dict(zip(self.names, places(len(self.names)), strict=True))
        counts = COUNTED[self.contract.queries].format(
            positive=at[POSITIVE], n_retrieved=at["n_retrieved"]
        )
        keys = [name for name in self.names if name in ("system", "query_id")]
        shown = [*keys, *(one.name for one in self.asked)]
        return self.values.where(counts).select(*(at[name] for name in shown)).toDF(*shown)

    def scored(self) -> Scored:
        """Do the work, and take the values into memory."""
        with local_errors():
            values = local_frame(self.values)
        values.columns = self.names
        values = values.with_columns(pl.col("n_retrieved").cast(pl.UInt32))
        return put_together(values, self.asked, self.contract.queries)


def _bring_together(
    qrels: Any, run: Any, asked: list[Asked], contract: Contract, buckets: int | None
) -> Met:
    listed_rows = checked_run(run, contract.ties)
    session = listed_rows.sparkSession
    n = n_buckets(buckets, session)
    with local_errors():
        first_rows = head_of(listed_rows, "run", contract.duplicates)
        TieRule.of(contract.ties, first_rows.columns).refuse_unranked(first_rows)
        judged_rows, first_judged = _judgements(qrels, asked, first_rows, session)
        _try_out(asked, contract, first_judged.columns)
        if not _share_a_query(judged_rows, listed_rows, first_judged, first_rows):
            _refuse_strangers(first_judged, first_rows)
    has_systems = "system" in listed_rows.columns
    sides = judged_rows
    if has_systems:
        sides = judged_rows.crossJoin(listed_rows.selectExpr(f"collect_set(system) as {SYSTEMS}"))
    both = bucketed(sides, n).cogroup(bucketed(listed_rows, n))
    schema = values_schema(asked, has_systems)
    dtypes = dict(zip(places(len(schema)), schema.values(), strict=True))
    values = both.applyInArrow(scoring(asked, contract, has_systems), ddl(dtypes))
    return Met(judged_rows, listed_rows, values, [*schema], asked, contract)


def _judgements(
    qrels: Any, asked: list[Asked], first_rows: pl.DataFrame, session: Any
) -> tuple[Any, pl.DataFrame]:
    """The judgements in Spark, and the first of them here."""
    if is_spark(qrels):
        judged_rows = checked(qrels, "qrels")
        first_judged = head_of(judged_rows, "qrels")
        refuse_swapped(prepare(first_judged), first_rows)
        return judged_rows, first_judged
    prepared = prepare(qrels, subtopics=any(reads_subtopics(one.reads) for one in asked))
    if prepared is not qrels:
        refuse_swapped(prepared, first_rows)
    judgements = judgements_of(prepared)
    return to_spark(judgements, session), judgements


def _share_a_query(
    judged_rows: Any, listed_rows: Any, first_judged: pl.DataFrame, first_rows: pl.DataFrame
) -> bool:
    """Whether a query of the run is judged; more than the first rows are read only if need be."""
    queries = first_rows["query_id"].unique().to_list()
    if first_judged["query_id"].is_in(queries).any():
        return True
    first = judged_rows.where(f"query_id in ({', '.join(map(literal, queries))})")
    every = listed_rows.join(judged_rows.select("query_id").distinct(), "query_id", "left_semi")
    return any(local_frame(shared.select("query_id").limit(1)).height for shared in (first, every))


def _refuse_strangers(judged: pl.DataFrame, rows: pl.DataFrame) -> None:
    """Say of a run that it has no query of the qrels."""
    groups = rows.select(keys_of(rows.columns)).unique(maintain_order=True)
    nothing = pl.DataFrame({"n_retrieved": [0]})
    refuse_strangers(prepare(judged), Judged(nothing, nothing, groups))


def _try_out(asked: list[Asked], contract: Contract, columns: list[str]) -> None:
    """Refuse a metric that gives no number, or needs more of the qrels, before a worker does."""
    one = {"query_id": ["q"], "doc_id": ["a"]}
    qrels = pl.DataFrame({**one, "subtopic": ["1"], "relevance": [1]}).select(columns)
    score(prepare(qrels), pl.DataFrame({**one, "score": [1.0], "rank": [1]}), asked, contract)
