"""One plan that scores every query: all metrics in a single grouping of the judged frame."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Unpack, overload

import polars as pl
from polars.dataframe.group_by import GroupBy

from evalframe.engine import collect
from evalframe.errors import EmptyError, FrameError, MetricError, OptionError, one_of
from evalframe.frames import Duplicates
from evalframe.inputs import qrels_frame, run_frame
from evalframe.metrics import Metric, judged, parse
from evalframe.metrics.catalogue import Better, Summary
from evalframe.ranking.judged import Judged, Order, OrderSettings, judged_frame, judged_plan
from evalframe.ranking.judged_columns import add_plateaus, plan_for, prepared_for, reads_plateaus
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import Ties

__all__ = ["DEFAULT_METRICS", "Contract", "MetricLike", "Scored", "per_query", "score"]

MetricLike = str | Metric | pl.Expr
Queries = Literal["judged", "positive", "both"]

DEFAULT_METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@100")


@dataclass(frozen=True)
class Contract:
    """What counts, and how: recorded in every report.

    Attributes
    ----------
    rel
        The lowest grade that counts as relevant, None for any grade above 0. Metrics that state
        their own level keep it; metrics on grades (ndcg, dcg, err, rbp, …) have none.
    queries
        Whose values are averaged: every query of the qrels (`judged`; what the run lacks counts 0),
        those with a relevant document (`positive`), or those that the run has too (`both`).
    ties, score_dtype, judged_only, depth
        See `evalframe.ranking.Order`.
    duplicates
        See `evalframe.frames.Duplicates`.
    """

    rel: float | None = None
    queries: Queries = "judged"
    ties: Ties = "trec"
    score_dtype: Any = pl.Float64
    judged_only: bool = False
    depth: int | None = None
    duplicates: Duplicates = "error"

    def __post_init__(self) -> None:
        """Refuse what is not offered."""
        one_of("queries", self.queries, ("judged", "positive", "both"))
        is_number = isinstance(self.rel, int | float) and not isinstance(self.rel, bool)
        if self.rel is not None and not (is_number and math.isfinite(self.rel)):
            raise OptionError(f"rel must be a number or None, not {self.rel!r}")
        _ = self.order

    @property
    def order(self) -> Order:
        """How the run is put in order."""
        return Order(self.ties, self.score_dtype, self.judged_only, self.depth)

    def settings(self) -> dict[str, Any]:
        """The contract as the arguments of `evaluate` and `per_query`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_dict(self) -> dict[str, Any]:
        """The contract in plain values, as it is written beside results."""
        return self.settings() | {"score_dtype": str(self.score_dtype)}


@dataclass(frozen=True)
class Asked:
    """A metric as it was asked for: its name, its expression, and how its values become one.

    `reads` are the columns of the judged frame that the expression reads.
    """

    name: str
    expression: pl.Expr
    reads: list[str]
    how: Summary = "mean"
    better: Better = "higher"
    k: int | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """The values of every query, and how many queries there were."""

    values: pl.DataFrame
    groups: pl.DataFrame
    asked: list[Asked]
    queries: Queries

    @functools.cached_property
    def per_query(self) -> pl.DataFrame:
        """The queries that count: `system` (if any), `query_id`, and a column for each metric."""
        names = [metric.name for metric in self.asked]
        return self.values.filter(_counted(self.queries)).select(*self._keys, *names)

    @functools.cached_property
    def counts(self) -> pl.DataFrame:
        """How many queries there were of each sort, one row for each system.

        `queries_in_qrels`, `queries_in_run`, `scored`, `missing` (in the qrels, not in the run),
        `extra` (in the run, not in the qrels), `without_positive`, and the mean of `judged@k` over
        the scored queries, for the largest cut-off asked for.
        """
        system = self._keys[:-1]
        by = system or ["all"]
        one = [] if system else [pl.lit(0).alias("all")]
        values, groups = self.values.with_columns(one), self.groups.with_columns(one)
        k = largest_cutoff(self.asked)
        of_qrels = values.group_by(by, maintain_order=True).agg(
            queries_in_qrels=pl.len(),
            missing=(pl.col("n_retrieved") == 0).sum(),
            without_positive=(~pl.col(POSITIVE)).sum(),
        )
        of_run = groups.group_by(by).agg(queries_in_run=pl.len())
        of_scored = (
            values.filter(_counted(self.queries))
            .group_by(by, maintain_order=True)
            .agg(pl.len().alias("scored"), pl.col(JUDGED).mean())
        )
        found = pl.col("queries_in_qrels") - pl.col("missing")
        return (
            of_qrels.join(of_run, on=by, how="left", maintain_order="left")
            .join(of_scored, on=by, how="left", maintain_order="left")
            .select(
                *system,
                "queries_in_qrels",
                "queries_in_run",
                pl.col("scored").fill_null(0),
                "missing",
                (pl.col("queries_in_run") - found).alias("extra"),
                "without_positive",
                pl.col(JUDGED).alias("judged" if k is None else f"judged@{k}"),
            )
        )

    @property
    def _keys(self) -> list[str]:
        return [key for key in ("system", "query_id") if key in self.values.columns]


Metrics = MetricLike | Iterable[MetricLike]


class Settings(OrderSettings, total=False):
    """The keywords of `per_query` and `evaluate`: those of `Contract`."""

    rel: float | None
    queries: Queries


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
    prepared = prepare(qrels)
    if prepared is not qrels:
        refuse_swapped(prepared, run)
    return score(prepared, run, listed(metrics, rel), contract).per_query


def score(
    prepared: PreparedQrels,
    run: pl.DataFrame | pl.LazyFrame,
    asked: list[Asked],
    contract: Contract,
    progress: bool | None = False,
) -> Scored:
    """Score a checked run, or a plan of one, which is then streamed."""
    reads = {metric.name: metric.reads for metric in asked}
    prepared = prepared_for(prepared, reads)
    with_plateaus = reads_plateaus(reads)
    only = None if with_plateaus else {name for columns in reads.values() for name in columns}
    seen = judged_frame(prepared, run, contract.order, progress, only)
    _refuse_strangers(prepared, seen)
    rows = seen.judged
    if with_plateaus:
        rows = add_plateaus(rows, run.lazy(), contract.order)
    values = _one_number_each(
        rows.group_by("unit", maintain_order=True),
        asked,
        (pl.col("relevance") > 0).any().alias(POSITIVE),
        judged(largest_cutoff(asked)).alias(JUDGED),
    )
    values = seen.units.drop("unit").hstack(values.drop("unit"))
    return Scored(values, seen.groups, asked, contract.queries)


POSITIVE, JUDGED = "has a positive judgement", "share judged"
TAKEN = {"system", "query_id", "unit", "n_retrieved", POSITIVE, JUDGED}
"""Names that a metric cannot have."""
LIKELY = 10
"""The highest grade that is not surprising."""


def _one_number_each(groups: GroupBy, asked: list[Asked], *more: pl.Expr) -> pl.DataFrame:
    """All metrics of all queries; a metric that is no number for a query is refused."""
    try:
        values = groups.agg(*(metric.expression for metric in asked), *more)
    except pl.exceptions.PolarsError as error:
        what = str(error).partition("\n")[0]
        raise MetricError(f"a metric cannot be worked out on the judged frame: {what}") from error
    for metric in asked:
        dtype = values.schema[metric.name]
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
    return (
        judged_rows.group_by(keys, maintain_order=True)
        .agg(
            *(metric.expression for metric in asked),
            pl.col("n_retrieved").first(),
            (pl.col("relevance") > 0).any().alias(POSITIVE),
        )
        .filter(_counted(contract.queries))
        .select(*keys, *(metric.name for metric in asked))
        .sort(keys)
    )


def _counted(queries: Queries) -> pl.Expr:
    """Whether a query is one of those whose values are averaged."""
    offered = {
        "judged": pl.lit(True),
        "positive": pl.col(POSITIVE),
        "both": pl.col("n_retrieved") > 0,
    }
    return offered[queries]


def listed(metrics: MetricLike | Iterable[MetricLike], rel: float | None) -> list[Asked]:
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


def _refuse_strangers(prepared: PreparedQrels, seen: Judged) -> None:
    """A run without any query of the qrels is a mistake; say which one it seems to be."""
    if (seen.units["n_retrieved"] > 0).any():
        return
    ours, theirs = prepared.query_ids.head(3).to_list(), seen.groups["query_id"].head(3).to_list()
    raise EmptyError(
        f"the run has no query of the qrels: the qrels ask {ours} and so on, the run answers "
        f"{theirs} and so on. Do the ids differ by a prefix, by case or by leading zeros?"
    )


def refuse_swapped(prepared: PreparedQrels, run: pl.DataFrame | pl.LazyFrame) -> None:
    """Refuse what looks like scores where grades should be, and like grades for scores."""
    grade = prepared.pairs["relevance"]
    is_score = (grade != grade.round()).any() or (grade > LIKELY).any()
    if not is_score:
        return
    scores = collect(run.lazy().select("query_id", "score").head(1000))
    score = pl.col("score")
    is_grade = (score == score.round()) & score.is_between(0, LIKELY)
    repeats = (score == 0) | pl.struct("query_id", "score").is_duplicated()
    if scores.select(is_grade.all() & repeats.any()).item():
        raise FrameError(
            "the qrels hold numbers like scores and the run holds small whole numbers like grades: "
            "the qrels come first, then the run. Were the two arguments swapped? If not, say that "
            "these are the qrels: evf.prepare(qrels)"
        )
