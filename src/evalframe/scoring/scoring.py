"""One plan that scores every query: all metrics in a single grouping of the judged frame."""

from __future__ import annotations

import functools
from typing import Any, Unpack, overload

import polars as pl
from polars.dataframe.group_by import GroupBy

from evalframe.errors import MetricError
from evalframe.frames import Duplicates
from evalframe.inputs import qrels_frame, run_frame
from evalframe.metrics import judged
from evalframe.ranking.judged import Order, judged_frame, judged_plan
from evalframe.ranking.judged_columns import (
    add_plateaus,
    plan_for,
    prepared_for,
    reads_plateaus,
    reads_subtopics,
)
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import Ties
from evalframe.scoring.asked import (
    DEFAULT_METRICS,
    JUDGED,
    POSITIVE,
    Asked,
    Metrics,
    largest_cutoff,
    listed,
)
from evalframe.scoring.company import with_company
from evalframe.scoring.contract import Contract, Queries, Settings
from evalframe.scoring.refusals import refuse_strangers, refuse_swapped
from evalframe.scoring.scored import Scored, counted

__all__ = ["make_ready", "per_query", "score"]


@overload
def per_query(
    qrels: Any, run: pl.LazyFrame, metrics: Metrics = ..., **settings: Unpack[Settings]
) -> pl.LazyFrame: ...
@overload
def per_query(
    qrels: pl.LazyFrame, run: Any, metrics: Metrics = ..., **settings: Unpack[Settings]
) -> pl.LazyFrame: ...
@overload
def per_query(
    qrels: Any, run: Any, metrics: Metrics = ..., **settings: Unpack[Settings]
) -> pl.DataFrame: ...
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
) -> pl.DataFrame | pl.LazyFrame:
    """Score every query.

    Parameters
    ----------
    qrels, run
        Frames, dicts or paths; qrels first. With a `system` column in the run, every system is
        scored on every query.
    metrics
        Spellings (see `evalframe.metrics.parse`), metrics, or expressions over the judged frame.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        `query_id` (after `system`, where the run has one) and a Float64 column for each metric,
        named as it was asked for; by system and query_id. Lazy where the run or the qrels are: then
        it is one plan, of which nothing has run.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
    >>> run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 3.0}}
    >>> evf.per_query(qrels, run, ["mrr", "R@10"])
    shape: (2, 3)
    ┌──────────┬─────┬──────┐
    │ query_id ┆ mrr ┆ R@10 │
    │ ---      ┆ --- ┆ ---  │
    │ str      ┆ f64 ┆ f64  │
    ╞══════════╪═════╪══════╡
    │ q1       ┆ 0.5 ┆ 1.0  │
    │ q2       ┆ 1.0 ┆ 0.5  │
    └──────────┴─────┴──────┘
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    run = run_frame(run, duplicates=duplicates)
    if isinstance(run, pl.LazyFrame) or isinstance(qrels, pl.LazyFrame):
        given = qrels.with_subtopics if isinstance(qrels, PreparedQrels) else qrels_frame(qrels)
        return _per_query_plan(given.lazy(), run.lazy(), listed(metrics, rel), contract)
    asked = listed(metrics, rel)
    prepared = prepare(qrels, subtopics=any(reads_subtopics(one.reads) for one in asked))
    if prepared is not qrels:
        refuse_swapped(prepared, run)
    return score(prepared, run, asked, contract).per_query


def score(
    prepared: PreparedQrels,
    run: pl.DataFrame | pl.LazyFrame,
    asked: list[Asked],
    contract: Contract,
    progress: bool | None = False,
) -> Scored:
    """Score a checked run, or a plan of one, which is then streamed."""
    reads = {metric.name: metric.reads for metric in asked}
    order = contract.order
    whole = prepared_for(prepared, reads)
    looked_for = _needed(whole, asked, order) if isinstance(run, pl.DataFrame) else whole
    with_plateaus = reads_plateaus(reads)
    only = None if with_plateaus else {name for columns in reads.values() for name in columns}
    seen = judged_frame(looked_for, run, order, progress, only)
    refuse_strangers(prepared, seen)
    rows = seen.judged
    if with_plateaus:
        rows = add_plateaus(rows, run.lazy(), order)
    k, n_units = largest_cutoff(asked), seen.units.height
    is_whole = looked_for is whole
    values = _one_number_each(
        with_company(rows, n_units).group_by("unit", maintain_order=True),
        asked,
        (pl.col("relevance") > 0).any().alias(POSITIVE),
        *([judged(k).alias(JUDGED)] if is_whole else []),
    )
    values = seen.units[:, 1:].hstack(values.head(n_units)[:, 1:])
    later = None if is_whole else functools.partial(_share_judged, whole, run, order, k)
    return Scored(values, seen.groups, asked, contract.queries, later)


def make_ready(prepared: PreparedQrels, asked: list[Asked], contract: Contract) -> PreparedQrels:
    """The qrels, with what `score` needs of them for a run in memory worked out ahead."""
    reads = {metric.name: metric.reads for metric in asked}
    _ = _needed(prepared_for(prepared, reads), asked, contract.order).pairs
    return prepared


def _needed(prepared: PreparedQrels, asked: list[Asked], order: Order) -> PreparedQrels:
    """The judgements that the metrics read: all of them, or those of a grade above 0."""
    positives_only = all(metric.positives_only for metric in asked) and not order.judged_only
    return prepared.positives if positives_only else prepared


def _share_judged(
    prepared: PreparedQrels, run: pl.DataFrame | pl.LazyFrame, order: Order, k: int | None
) -> pl.Series:
    """How much of each list was judged, for which all judgements are looked up in the run."""
    seen = judged_frame(prepared, run, order, only=["rank"])
    rows = with_company(seen.judged, seen.units.height).group_by("unit", maintain_order=True)
    return rows.agg(judged(k).alias(JUDGED))[JUDGED].head(seen.units.height)


def _one_number_each(groups: GroupBy, asked: list[Asked], *more: pl.Expr) -> pl.DataFrame:
    """All metrics of all queries; a metric that is no number for a query is refused."""
    try:
        values = groups.agg(*(metric.expression for metric in asked), *more)
    except pl.exceptions.PolarsError as error:
        what = str(error).partition("\n")[0]
        raise MetricError(f"a metric cannot be worked out on the judged frame: {what}") from error
    schema = values.schema
    for metric in asked:
        dtype = schema[metric.name]
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise MetricError(
                f"metric {metric.name!r} gives {dtype} for a query, not one number; end the "
                "expression in an aggregation such as .sum() or .mean()"
            )
    return values


def _per_query_plan(
    qrels: pl.LazyFrame, run: pl.LazyFrame, asked: list[Asked], contract: Contract
) -> pl.LazyFrame:
    reads = {metric.name: metric.reads for metric in asked}
    judged_rows = judged_plan(plan_for(qrels, reads), run, contract.order)
    if reads_plateaus(reads):
        judged_rows = add_plateaus(judged_rows, run, contract.order)
    keys = [c for c in ("system", "query_id") if c in judged_rows.collect_schema().names()]
    values = judged_rows.group_by(keys, maintain_order=True).agg(
        *(metric.expression for metric in asked),
        (pl.col("relevance") > 0).any().alias(POSITIVE),
    )
    if contract.queries == "both":
        # Not by `n_retrieved`, which is 0 where only judged documents are looked at.
        values = values.join(run.select(keys).unique(), on=keys, how="semi")
    else:
        values = values.filter(counted(contract.queries))
    return values.select(*keys, *(metric.name for metric in asked)).sort(keys)
