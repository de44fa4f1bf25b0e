"""Numbers that say how far they can be trusted: under ties, and under missing judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.comparing.summaries import metrics_once, note_of_arithmetic_means
from evalframe.comparing.tie_orders import (
    by_grade,
    expected_of,
    graded_run,
    tied_queries,
    values_in_random_orders,
    with_extremes,
)
from evalframe.errors import MetricError, OptionError, whole_number
from evalframe.frames import Duplicates, collected
from evalframe.inputs import run_frame
from evalframe.metrics import parse
from evalframe.ranking.judged import rank_in_list
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.subtopics import SUBTOPICS, Novelty
from evalframe.ranking.ties import TieRule, Ties
from evalframe.report import Report, evaluate
from evalframe.scoring import DEFAULT_METRICS, Contract, MetricLike, Queries
from evalframe.statistics.resampling import checked_draws
from evalframe.tables import notebook_table, text_table

__all__ = ["Sensitivity", "tie_sensitivity", "unjudged_bounds"]

SAME = 1e-12
"""Values that lie closer together came out of the same list."""


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity:
    """Values under several readings of the same run.

    Attributes
    ----------
    summary
        A row for each metric (of each system), with the means over queries.
    per_query
        A row for each query and metric, with the same columns of values.
    notes
        How the readings were made.
    """

    summary: pl.DataFrame
    per_query: pl.DataFrame
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """The summary as a small table."""
        return "\n".join([text_table(self.summary), *self.notes])

    def _repr_html_(self) -> str:
        return notebook_table(self.summary, self.notes)


def tie_sensitivity(
    qrels: Any,
    run: Any,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    orders: int = 100,
    seed: int = 0,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> Sensitivity:
    """How much a value depends on the order of documents with equal scores.

    Parameters
    ----------
    qrels, run, metrics, rel, queries, ties, score_dtype, judged_only, depth, duplicates
        See `evalframe.evaluate`; `ties` is the rule of the `value` column alone.
    orders, seed
        How many random orders of the tied documents stand behind `expected`. The same seed gives
        the same orders under the same version of Polars.

    Returns
    -------
    Sensitivity
        `summary`: `metric` (after `system`), `value` (by the rule), `worst`, `best` (tied documents
        by rising or falling grade; those without a judgement count as lowest), `expected` (mean
        over the random orders), `expected_error` (its standard error), `queries`, and
        `depend_on_ties` (queries whose worst and best differ). Means are arithmetic, whatever a
        metric's own summary is.

    Notes
    -----
    `worst` and `best` are bounds for every metric that never falls when a document of a higher
    grade moves up, as those of the catalogue do, infAP apart; for a metric of which less is better,
    `best` is the lower value. No grade says which order is best for a metric that counts subtopics:
    there they are the lowest and the highest value of the random orders.

    Examples
    --------
    >>> from evalframe.comparing.honest import tie_sensitivity
    >>> found = tie_sensitivity({"q": {"a": 1}}, {"q": {"a": 1.0, "x": 1.0}}, ["mrr"])
    >>> found.summary.select("value", "worst", "best", "depend_on_ties").row(0)
    (0.5, 0.5, 1.0, 1)
    """
    orders = whole_number("orders", orders, least=2)
    _, seed = checked_draws(orders, seed)
    metrics = metrics_once(metrics)
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    prepared, checked = _checked(qrels, run, duplicates)
    settings = contract.settings()
    by_rule = evaluate(prepared, checked, metrics, **settings)
    keys: list[str] = [c for c in ("system", "query_id") if c in checked.columns]
    graded = graded_run(prepared, checked, score_dtype)
    as_given = settings | {"ties": "given"}
    readings = {"value": by_rule.per_query}
    for name, best_first in (("worst", False), ("best", True)):
        ordered = by_grade(graded, keys, best_first=best_first)
        readings[name] = evaluate(prepared, ordered, metrics, **as_given).per_query
    values = _side_by_side(readings, keys, list(by_rule.how))
    depends = (pl.col("worst") - pl.col("best")).abs() > SAME
    novel = _by_subtopic(metrics)
    dependent = tied_queries(graded, keys) if novel else values.filter(depends).select(keys)
    drawn = values_in_random_orders(
        prepared, graded, dependent.unique(), metrics, as_given, orders, seed
    )
    values = with_extremes(values, drawn, keys, novel)
    means, expected = expected_of(values, drawn, [*keys[:-1], "metric"], keys, orders)
    summary = (
        _means(values, keys, ("value", "worst", "best"))
        .join(means, on=[*keys[:-1], "metric"], how="left", maintain_order="left")
        .join(
            values.group_by([*keys[:-1], "metric"]).agg(
                queries=pl.len(), depend_on_ties=depends.sum()
            ),
            on=[*keys[:-1], "metric"],
            how="left",
            maintain_order="left",
        )
    )
    note = f"expected: mean of {orders} random orders, seed {seed}"
    means_are = note_of_arithmetic_means(by_rule.how)
    return Sensitivity(summary, expected, (note, *means_are, _written(contract)))


def unjudged_bounds(
    qrels: Any,
    run: Any,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    grade: float | None = None,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> Sensitivity:
    """How much a value depends on retrieved documents that nobody judged.

    Parameters
    ----------
    qrels, run, metrics, rel, queries, ties, score_dtype, depth, duplicates
        See `evalframe.evaluate`.
    grade
        What unjudged documents are taken for where all are relevant; the highest grade of the
        qrels without it.

    Returns
    -------
    Sensitivity
        `summary`: `metric` (after `system`), `none_relevant` (unjudged documents are not relevant:
        the usual value), `all_relevant` (every retrieved document without a judgement is relevant;
        for a metric with a cut-off k, every one in the first k places), `residual`
        (all - none), `condensed` (they are taken out of the list before ranking, as in trec_eval's
        -J), `judged` (the judged share of the first k places, or of the whole list) and `queries`.
        Means are arithmetic, whatever a metric's own summary is.

    Notes
    -----
    `none_relevant` and `all_relevant` bound what full judgements could give for metrics that are
    not relative to all relevant documents (precision, success, mrr, dcg, err, and rbp where no
    grade is above 1). For others (recall, map, ndcg, bpref) the denominator grows too, so that
    `all_relevant` is one possible value and no bound. A negative grade counts as no judgement.
    Metrics that count subtopics are refused: an unjudged document has none.

    Source: Moffat and Zobel 2008 for the residual; Sakai 2007 for condensed lists.

    Examples
    --------
    >>> from evalframe.comparing.honest import unjudged_bounds
    >>> found = unjudged_bounds({"q": {"a": 1}}, {"q": ["x", "a", "y"]}, ["precision@2"])
    >>> found.summary.select("none_relevant", "all_relevant", "condensed", "judged").row(0)
    (0.5, 1.0, 0.5, 0.5)
    """
    contract = Contract(rel, queries, ties, score_dtype, False, depth, duplicates)
    prepared, checked = _checked(qrels, run, duplicates)
    settings = contract.settings()
    keys: list[str] = [c for c in ("system", "query_id") if c in checked.columns]
    highest = _grade_of_unjudged(prepared, grade, rel)
    metrics = metrics_once(metrics)
    _refuse_by_subtopic(metrics)
    none = evaluate(prepared, checked, metrics, **settings)
    everyone = settings | {"queries": "judged"}
    condensed = evaluate(prepared, checked, metrics, **(everyone | {"judged_only": True}))
    ranked = _ranked(checked, contract, keys)
    by_cutoff: dict[int | None, list[MetricLike]] = {}
    for metric in metrics:
        by_cutoff.setdefault(_cutoff(metric), []).append(metric)
    completed, shares = [], []
    for k, group in by_cutoff.items():
        seen = ranked if k is None else ranked.filter(pl.col("rank") <= k)
        completed.append(
            _all_relevant(prepared, checked, seen.drop("rank"), group, everyone, highest)
        )
        share = "judged" if k is None else f"judged@{k}"
        report = evaluate(prepared, checked, [share], **everyone)
        names = [_name(metric) for metric in group]
        shares.append(report.per_query.select(*keys, *(pl.col(share).alias(n) for n in names)))
    readings = {
        "none_relevant": none.per_query,
        "all_relevant": _beside(completed, keys),
        "condensed": condensed.per_query,
        "judged": _beside(shares, keys),
    }
    values = _side_by_side(readings, keys, list(none.how))
    residual = (pl.col("all_relevant") - pl.col("none_relevant")).alias("residual")
    columns = ("none_relevant", "all_relevant", "residual", "condensed", "judged")
    values = values.with_columns(residual).select(*keys, "metric", *columns)
    by = [*keys[:-1], "metric"]
    counted = values.group_by(by).agg(queries=pl.len())
    summary = _means(values, keys, columns).join(counted, on=by, how="left", maintain_order="left")
    note = f"all_relevant: unjudged documents have grade {highest}"
    means_are = note_of_arithmetic_means(none.how)
    return Sensitivity(summary, values, (note, *means_are, _written(contract)))


def _checked(qrels: Any, run: Any, duplicates: Duplicates) -> tuple[PreparedQrels, pl.DataFrame]:
    return prepare(qrels), collected(run_frame(run, duplicates=duplicates), "run", duplicates)


def _side_by_side(
    readings: Mapping[str, pl.DataFrame], keys: list[str], metrics: list[str]
) -> pl.DataFrame:
    """Keys, `metric`, and each reading's value, for the queries of the first reading."""
    long = [
        frame.unpivot(metrics, index=keys, variable_name="metric", value_name=name)
        for name, frame in readings.items()
    ]
    first, *others = long
    for other in others:
        first = first.join(other, on=[*keys, "metric"], how="left", maintain_order="left")
    return first


def _means(values: pl.DataFrame, keys: list[str], columns: Iterable[str]) -> pl.DataFrame:
    return values.group_by([*keys[:-1], "metric"], maintain_order=True).agg(pl.col(*columns).mean())


def _ranked(run: pl.DataFrame, contract: Contract, keys: list[str]) -> pl.DataFrame:
    """Keys, `doc_id` and `rank` of everything that is looked at."""
    rule = TieRule.of(contract.ties, run.columns)
    ranked = (
        run.with_columns(pl.col("score").cast(contract.score_dtype))
        .with_row_index("row")
        .select(*keys, "doc_id", rank=rank_in_list(rule, keys))
    )
    return ranked if contract.depth is None else ranked.filter(pl.col("rank") <= contract.depth)


def _all_relevant(
    prepared: PreparedQrels,
    run: pl.DataFrame,
    seen: pl.DataFrame,
    metrics: list[MetricLike],
    settings: dict[str, Any],
    grade: float,
) -> pl.DataFrame:
    """Values under qrels in which whatever is seen is judged, system by system."""
    pair = ["query_id", "doc_id"]
    judged = prepared.qrels.filter(pl.col("relevance") >= 0)
    unjudged = seen.join(prepared.queries.select("query_id"), on="query_id", how="semi").join(
        judged, on=pair, how="anti"
    )
    grade_type = pl.Float64 if grade != int(grade) else prepared.qrels.schema["relevance"]
    systems = run["system"].unique().sort().to_list() if "system" in run.columns else [None]
    found = []
    for system in systems:
        of_system = pl.lit(True) if system is None else pl.col("system") == system
        added = unjudged.filter(of_system).select(
            *pair, pl.lit(grade).cast(grade_type).alias("relevance")
        )
        kept = prepared.qrels.join(added, on=pair, how="anti").with_columns(
            pl.col("relevance").cast(grade_type)
        )
        completed = prepare(pl.concat([kept, added]))
        report: Report = evaluate(completed, run.filter(of_system), metrics, **settings)
        found.append(report.per_query)
    return pl.concat(found)


def _beside(frames: list[pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    first, *others = frames
    for other in others:
        first = first.join(other, on=keys, how="left", maintain_order="left")
    return first


def _grade_of_unjudged(prepared: PreparedQrels, grade: float | None, rel: float | None) -> float:
    least = 1 if rel is None else rel
    if grade is None:
        highest: float = max(prepared.pairs["relevance"].max(), least)  # type: ignore[type-var, assignment]
        return highest
    if (
        isinstance(grade, bool)
        or not isinstance(grade, int | float)
        or not (least <= grade < float("inf"))
    ):
        raise OptionError(f"grade must be that of a relevant document, at least {least}")
    return grade


def _refuse_by_subtopic(metrics: Iterable[MetricLike]) -> None:
    """An unjudged document has no subtopic, so that it cannot be taken for relevant to one."""
    for name in _by_subtopic(metrics):
        raise MetricError(
            f"{name} counts subtopics, and which of them an unjudged document belongs to is not "
            "known: it has no bound; leave the metric out"
        )


def _by_subtopic(metrics: Iterable[MetricLike]) -> list[str]:
    """The names of the metrics that read which subtopics a document was judged for."""
    found = []
    for metric in metrics:
        expression = metric if isinstance(metric, pl.Expr) else parse(metric).expression()
        read = expression.meta.root_names()
        if any(column == SUBTOPICS or Novelty.of(column) is not None for column in read):
            found.append(_name(metric))
    return found


def _cutoff(metric: MetricLike) -> int | None:
    if isinstance(metric, pl.Expr):
        return None
    k: int | None = dict(parse(metric).parameters).get("k")
    return k


def _name(metric: MetricLike) -> str:
    return metric.meta.output_name() if isinstance(metric, pl.Expr) else str(metric)


def _written(contract: Contract) -> str:
    return ", ".join(f"{name}={value}" for name, value in contract.to_dict().items())
