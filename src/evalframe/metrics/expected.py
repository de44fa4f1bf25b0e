"""Expected values where the order of equal scores is left to chance.

Documents of equal score stand in every order equally often, so that no tie rule helps or hurts a
retriever that cannot tell them apart. These are the means over all those orders, in closed form.
They read `tied_from` and `n_tied` of the judged frame, and no `rank`; with a depth, the last ties
are those that the evaluation's own tie rule keeps.

Source: McSherry and Najork 2008.
"""

from __future__ import annotations

import math

import polars as pl

from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import (
    Gain,
    cutoff,
    divided,
    gain_of,
    n_relevant,
    of_ideal,
    ratio,
    relevant,
)
from evalframe.metrics.series import digamma, partial_sums, summed_upto
from evalframe.ranking.judged_columns import N_TIED, TIED_FROM

__all__ = [
    "expected_dcg",
    "expected_map",
    "expected_mrr",
    "expected_ndcg",
    "expected_precision",
    "expected_recall",
    "expected_success",
]

first, n_tied = pl.col(TIED_FROM), pl.col(N_TIED)
found = first.is_not_null()


@metric(aliases=("expected_P",))
def expected_precision(k: int, rel: float | None = None) -> pl.Expr:
    """Precision at k, expected over all orders of equal scores.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["expected_precision@1"]).metrics
    {'expected_precision@1': 0.5}
    """
    cutoff(k)
    return divided(_expected_hits(rel, k), k)


@metric(aliases=("expected_R",))
def expected_recall(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Recall at k, expected over all orders of equal scores. 0 where no document is relevant.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["expected_recall@1"]).metrics
    {'expected_recall@1': 0.25}
    """
    return ratio(_expected_hits(rel, k), n_relevant(rel))


@metric(aliases=("expected_hit_rate",))
def expected_success(k: int, rel: float | None = None) -> pl.Expr:
    """Chance that a relevant document stands in the first k places.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["expected_success@1"]).metrics
    {'expected_success@1': 0.6666666666666667}
    """
    cutoff(k)
    surely = (relevant(rel) & (first + n_tied - 1 <= k)).any()
    maybe = relevant(rel) & (first <= k) & (first + n_tied - 1 > k)
    shown, n = (k - first + 1).filter(maybe), n_tied.filter(maybe)
    nth = shown.cum_count().cast(pl.Int64) - 1
    # None of them is shown: each in turn falls among the places below k.
    none = ((n - shown - nth).clip(lower_bound=0) / (n - nth)).product()
    return pl.when(surely).then(1.0).otherwise(1 - none)


@metric(bounds=(0, None), unit="gain", graded=True)
def expected_dcg(k: int, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
    """Discounted cumulative gain at k, expected over all orders of equal scores.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["expected_dcg@1"]).metrics
    {'expected_dcg@1': 0.5}
    """
    return _expected_discounted(gain, rel, k)


@metric(graded=True)
def expected_ndcg(k: int, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
    """Normalised discounted cumulative gain at k, expected over all orders of equal scores.

    0 where no document gains anything. Equal to scikit-learn's `ndcg_score`, which averages ties,
    where every document is judged.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["expected_ndcg@1"]).metrics
    {'expected_ndcg@1': 0.5}
    """
    return of_ideal(_expected_discounted(gain, rel, k), gain, rel, k)


@metric(aliases=("expected_AP",))
def expected_map(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Average precision, expected over all orders of equal scores.

    Divided by R, the number of relevant documents; 0 where there are none.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> report = evf.evaluate({"q": {"a": 1}}, run, ["expected_map"])
    >>> round(report.metrics["expected_map"], 12)
    0.75
    """
    hit = relevant(rel) & found
    start = first.filter(hit).sort()
    n = n_tied.filter(hit).sort_by(first.filter(hit))
    row = start.cum_count().cast(pl.Int64)
    begins, ends = start.ne_missing(start.shift(1)), start.ne_missing(start.shift(-1))
    hits_above = pl.when(begins).then(row).forward_fill() - 1
    tied_hits = pl.when(ends).then(row).backward_fill() - hits_above
    shown = n if cutoff(k) is None else (k - start + 1).clip(0, n)
    # Sum of 1 / rank over the places shown, and of (places above within the tie) / rank.
    reciprocal = digamma(start + shown) - digamma(start)
    share_above = shown - start * reciprocal
    others = pl.when(n > 1).then((tied_hits - 1) / (n - 1)).otherwise(0.0)
    precision = ((hits_above + 1) * reciprocal + others * share_above) / n
    return ratio(precision.sum(), n_relevant(rel))


@metric(aliases=("expected_RR",))
def expected_mrr(rel: float | None = None) -> pl.Expr:
    """Reciprocal rank of the first relevant document, expected over all orders of equal scores.

    0 where no relevant document is found.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 1.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["expected_mrr"]).metrics
    {'expected_mrr': 0.75}
    """
    hit = relevant(rel) & found
    start = first.filter(hit).min()
    n = n_tied.filter(hit & (first == start)).first()
    hits = (hit & (first == start)).sum().cast(pl.Int64)
    nth = pl.int_range(0, (n - hits + 1).fill_null(0))
    others_first = ((n - hits - nth) / (n - nth)).cum_prod().shift(1, fill_value=1.0)
    return (others_first * hits / (n - nth) / (start + nth)).sum()


def _expected_hits(rel: float | None, k: int | None) -> pl.Expr:
    if cutoff(k) is None:
        return (relevant(rel) & found).sum().cast(pl.Float64)
    chance = (k - first + 1).clip(0, n_tied) / n_tied
    return chance.filter(relevant(rel) & found).sum()


def _expected_discounted(gain: Gain, rel: float | None, k: int) -> pl.Expr:
    """Each document gains with the mean discount of the places that it could have."""
    sums = partial_sums(lambda i: 1 / math.log2(i + 1), cutoff(k) or 0)
    mean = (summed_upto(first + n_tied - 1, sums) - summed_upto(first - 1, sums)) / n_tied
    return (gain_of(gain, rel) * mean).filter(found).sum()
