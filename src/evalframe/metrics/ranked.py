"""Metrics that read the list from the top: gains by rank, precision at the hits, patience."""

from __future__ import annotations

import functools
import operator

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import (
    Gain,
    discounted,
    divided,
    fraction,
    gain_of,
    hits,
    ideal_rank,
    log2,
    n_relevant,
    n_retrieved,
    of_ideal,
    rank,
    ratio,
    relevance,
    relevant,
    relevant_ranks,
    within,
)

__all__ = [
    "G",
    "binG",
    "dcg",
    "err",
    "gm_map",
    "iprec",
    "iprec_mean",
    "map",
    "mrr",
    "ndcg",
    "ndcg_rel",
    "rbp",
    "rndcg",
]

LEAST = 1e-5
"""What a geometric mean takes a value of 0 for, as trec_eval does."""


@metric(
    bounds=(0, None),
    unit="gain",
    graded=True,
    positives_only=True,
    variants={"dcg_burges": {"gain": "exp"}},
)
def dcg(k: int | None = None, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
    """Discounted cumulative gain of the first k places.

    Sum of gain / log2(rank + 1). The gain is the grade (`gain=linear`), 2^grade - 1 (`gain=exp`)
    or what `gain={1:3,2:9}` says of a grade; with `rel`, lower grades gain nothing.
    Source: Järvelin and Kekäläinen 2002; Burges et al. 2005 for `exp`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 3, "b": 1}}, run, ["dcg"]).metrics
    {'dcg': 3.5}
    """
    return _discounted(gain_of(gain, rel), k)


@metric(
    graded=True,
    positives_only=True,
    aliases=("ndcg_cut", "ndcg_cut_{k}", "ndcg_{gain}"),
    variants={"ndcg_burges": {"gain": "exp"}},
)
def ndcg(k: int | None = None, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
    """Normalised discounted cumulative gain: DCG relative to the best possible list.

    dcg@k of the run / dcg@k of all judged documents by falling grade. The evaluation's relevance
    level does not touch it; its own `rel=` makes lower grades gain nothing. 0 where no document
    gains anything. Source: Järvelin and Kekäläinen 2002; trec_eval `ndcg`, `ndcg_cut`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 4.0, "y": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["ndcg@10", "ndcg(gain=exp)@1"]).metrics
    {'ndcg@10': 0.5, 'ndcg(gain=exp)@1': 0.0}
    """
    return of_ideal(_discounted(gain_of(gain, rel), k), gain, rel, k)


@metric(graded=True)
def ndcg_rel(gain: Gain = "linear") -> pl.Expr:
    """NDCG averaged over the ranks of all relevant documents.

    At each retrieved relevant document, the DCG so far over the ideal DCG so far; documents that
    were not retrieved count with the DCG of the whole list over the ideal DCG. 0 where no document
    gains anything. Source: trec_eval `ndcg_rel`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 4.0, "y": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["ndcg_rel"]).metrics
    {'ndcg_rel': 0.5}
    """
    gains = gain_of(gain, None)
    found = (gains > 0) & within(None)
    n_gaining = (gains > 0).sum()
    so_far = (gains / log2(rank + 1)).filter(found).sort_by(rank.filter(found)).cum_sum()
    ideal_so_far = (gains / log2(ideal_rank + 1)).sort_by(ideal_rank).cum_sum()
    place = pl.min_horizontal(rank.filter(found).sort(), n_gaining) - 1
    at_hits = (so_far / ideal_so_far.gather(place)).sum()
    whole = of_ideal(_discounted(gains, None), gain, None, None)
    missed = n_gaining - found.sum()
    return ratio(at_hits + missed * whole, n_gaining)


@metric()
def rndcg(rel: float | None = None) -> pl.Expr:
    """NDCG averaged over the ranks at which the ideal list changes its grade.

    With R_g documents of grade g or higher, the mean of ndcg@R_g over all grades above 0, and of
    the whole list's NDCG where more than R_1 + 1 documents were retrieved. 0 where no document is
    relevant. Source: trec_eval `Rndcg`.

    >>> import evalframe as evf
    >>> run = {"q": {"b": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 2}}, run, ["rndcg"]).metrics
    {'rndcg': 1.0}
    """
    gains = gain_of("linear", None)
    gaining = gains > 0
    n_gaining = gaining.sum()
    best_first = gains.filter(gaining).sort_by(ideal_rank.filter(gaining))
    ideal_so_far = (
        (gains / log2(ideal_rank + 1)).filter(gaining).sort_by(ideal_rank.filter(gaining)).cum_sum()
    )
    is_border = best_first.ne_missing(best_first.shift(-1))
    weight_from = (is_border / ideal_so_far).cum_sum(reverse=True)
    counted = gaining & (rank <= n_gaining)
    at_borders = (
        (gains / log2(rank + 1)).filter(counted) * weight_from.gather(rank.filter(counted) - 1)
    ).sum()
    reaches_end = n_retrieved > n_gaining + 1
    whole = of_ideal(_discounted(gains, None), "linear", None, None)
    return (
        pl.when(n_relevant(rel) > 0)
        .then((at_borders + reaches_end * whole) / (is_border.sum() + reaches_end))
        .otherwise(0.0)
    )


@metric(positives_only=True, aliases=("AP", "average_precision", "map_cut", "map_cut_{k}"))
def map(k: int | None = None, norm: str = "R", rel: float | None = None) -> pl.Expr:
    """Average precision: the mean of precision at the rank of each relevant document.

    Sum of hits(rank)/rank over the relevant documents in the first k places, divided by R, the
    number of relevant documents (`norm=R`), or by min(k, R) (`norm=min`). Documents that were not
    found add 0. 0 where the query has no relevant document. Source: trec_eval `map`, `map_cut`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["map", "map@1", "map(norm=min)@1"]).metrics
    {'map': 0.8333333333333333, 'map@1': 0.5, 'map(norm=min)@1': 1.0}
    """
    if norm not in ("R", "min"):
        raise MetricError(f"norm of map is 'R' or 'min', not {norm!r}")
    n = n_relevant(rel)
    divisor = pl.min_horizontal(n, pl.lit(k)) if norm == "min" and k is not None else n
    return ratio(_precision_at_hits(k, rel), divisor)


@metric(positives_only=True, summary="geometric_mean")
def gm_map(rel: float | None = None) -> pl.Expr:
    """Average precision, averaged over queries by the geometric mean.

    A query's value is max(AP, 0.00001), so that one failed query does not make the mean 0.
    Source: trec_eval `gm_map` (whose per-query value is the logarithm).

    >>> import evalframe as evf
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> run = {"q1": {"a": 1.0}, "q2": {"x": 2.0, "y": 1.5, "z": 1.2, "b": 1.0}}
    >>> evf.evaluate(qrels, run, ["gm_map"]).metrics
    {'gm_map': 0.5}
    """
    return pl.max_horizontal(ratio(_precision_at_hits(None, rel), n_relevant(rel)), pl.lit(LEAST))


@metric(positives_only=True, aliases=("RR", "recip_rank", "reciprocal_rank"))
def mrr(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Reciprocal rank of the first relevant document, if it stands in the first k places.

    0 where no relevant document is found. Source: trec_eval `recip_rank` (which has no k).

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["mrr", "mrr@1"]).metrics
    {'mrr': 0.5, 'mrr@1': 0.0}
    """
    return (1 / rank.filter(relevant(rel) & within(k)).min()).fill_null(0.0)


@metric(graded=True, positives_only=True, aliases=("rbp{p}",))
def rbp(k: int | None = None, p: float = 0.9, rel: float | None = None) -> pl.Expr:
    """Rank-biased precision: expected gain of a reader who goes on with probability p.

    (1 - p) times the sum of gain · p^(rank - 1). The gain is the grade, divided by the query's
    highest grade where that is above 1; with `rel`, it is 1 for relevant documents and 0 for
    others. 0 where nothing relevant is found. Source: Moffat and Zobel 2008; trec_eval 10 `rbp`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["rbp(p=0.5)"]).metrics
    {'rbp(p=0.5)': 0.25}
    """
    _check_patience(p)
    if rel is None:
        grade = relevance.clip(lower_bound=0)
        gains = grade / pl.max_horizontal(grade.max(), pl.lit(1))
    else:
        gains = relevant(rel).cast(pl.Float64)
    return (1 - p) * (gains * pl.lit(float(p)).pow(rank - 1)).filter(within(k) & (gains > 0)).sum()


@metric(graded=True, positives_only=True)
def err(k: int | None = None, max_grade: int = 4) -> pl.Expr:
    """Expected reciprocal rank at which a reader is satisfied.

    A document of grade g satisfies with probability (2^g - 1) / 2^max_grade; the sum over ranks
    of that, times the probability that nothing above satisfied, divided by the rank. Grades above
    `max_grade` count as `max_grade`. 0 where nothing relevant is found.
    Source: Chapelle et al. 2009; gdeval, whose `max_grade` is always 4.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["err(max_grade=1)@10"]).metrics
    {'err(max_grade=1)@10': 0.25}
    """
    fraction("max_grade", max_grade, None)
    seen = within(k) & (relevance > 0)
    share = (pl.lit(2.0).pow(relevance.clip(0, max_grade)) - 1) / 2**max_grade
    satisfies: pl.Expr = share.filter(seen).sort_by(rank.filter(seen))
    reaches = (1 - satisfies).cum_prod().shift(1, fill_value=1.0)
    return (satisfies * reaches / rank.filter(seen).sort()).sum()


@metric(positives_only=True)
def binG(rel: float | None = None) -> pl.Expr:
    """Gain that shrinks with the number of documents that are not relevant above a hit.

    Mean over the relevant documents of 1 / log2(2 + documents above that are not relevant). 0 where
    the query has no relevant document. Source: trec_eval `binG`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 5.0, "x": 4.0, "y": 3.0, "b": 2.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["binG"]).metrics
    {'binG': 0.75}
    """
    ranks = relevant_ranks(rel)
    return ratio((1 / log2(2 + ranks - ranks.cum_count())).sum(), n_relevant(rel))


@metric(graded=True)
def G() -> pl.Expr:
    """Gain that shrinks with what a better list would have gained by that rank.

    Sum of gain / log2(2 + cost - gained), over the sum of all gains; `gained` is the gain down to
    this document, `cost` the gain an ideal list would have had, at least 1 for each place.
    0 where no document gains anything. Source: trec_eval `G`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"a": 5.0, "b": 4.0}}, ["G"]).metrics
    {'G': 1.0}
    """
    gains = gain_of("linear", None).cast(pl.Float64)
    found = (gains > 0) & within(None)
    ranks = rank.filter(found).sort()
    gained_here = gains.filter(found).sort_by(rank.filter(found))
    above_one = (gains - 1).clip(lower_bound=0).sort_by(ideal_rank).cum_sum()
    cost = ranks + above_one.gather(pl.min_horizontal(ranks, pl.len()) - 1)
    return ratio((gained_here / log2(2 + cost - gained_here.cum_sum())).sum(), gains.sum())


@metric(
    at="recall",
    positives_only=True,
    aliases=("iprec_at_recall_{recall}", "iprec_at_recall", "IPrec"),
)
def iprec(recall: float, rounding: str = "nearest", rel: float | None = None) -> pl.Expr:
    """Highest precision at the given recall or beyond it.

    The highest precision at any rank from the c-th relevant document on, with c = `recall` times
    R, rounded to the nearest (`rounding=nearest`, trec_eval 10) or as ⌊recall · R + 0.9⌋
    (`rounding=up`, trec_eval 9, in its floating point: c is 2 at 0.7 of 3 documents). 0 where fewer
    than c relevant documents are found.
    Source: trec_eval `iprec_at_recall`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["iprec@0.5"]).metrics
    {'iprec@0.5': 0.6666666666666666}
    """
    return _interpolated(fraction("recall", recall), rounding, rel)


@metric(positives_only=True, aliases=("11pt_avg", "11pt"))
def iprec_mean(rounding: str = "nearest", rel: float | None = None) -> pl.Expr:
    """Mean of the interpolated precision at the eleven recalls 0, 0.1, … 1.

    0 where nothing relevant is found. Source: trec_eval `11pt_avg`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["11pt_avg"]).metrics
    {'11pt_avg': 0.5}
    """
    # A horizontal sum adds in no fixed order.
    levels = [_interpolated(tenth / 10, rounding, rel) for tenth in range(11)]
    return divided(functools.reduce(operator.add, levels), 11)


def _interpolated(recall: float, rounding: str, rel: float | None) -> pl.Expr:
    offsets = {"nearest": 0.5, "up": 0.9}
    if rounding not in offsets:
        raise MetricError(f"rounding is 'nearest' or 'up', not {rounding!r}")
    wanted = (n_relevant(rel) * recall + offsets[rounding]).floor()
    ranks = relevant_ranks(rel)
    precisions = ranks.cum_count() / ranks
    return precisions.filter(ranks.cum_count() >= wanted).max().fill_null(0.0)


def _check_patience(p: float) -> None:
    if not 0 < fraction("p", p) < 1:
        raise MetricError(f"p must lie between 0 and 1, not at {p!r}")


def _discounted(gains: pl.Expr, k: int | None) -> pl.Expr:
    return discounted(gains, rank, within(k))


def _precision_at_hits(k: int | None, rel: float | None) -> pl.Expr:
    # As lists: a grouping would count from row to row for one query after the other.
    nth = pl.int_ranges(1, hits(rel, k) + 1)
    precisions = nth / relevant_ranks(rel, k).implode()
    # The sum of an empty list is -0.0.
    return precisions.list.sum().abs()
