"""Metrics of novelty and diversity, from qrels that judge by subtopic.

A document may be relevant for several subtopics of its query. Subtopics without a relevant document
do not count. They read the judged frame's `subtopics`, and normalisation by the best list reads
its `novelty_rank` (see `evalframe.ranking.subtopics`). 0 where no document is relevant.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import cutoff, fraction, log2, rank, ratio
from evalframe.ranking.subtopics import SUBTOPICS, Novelty

__all__ = [
    "alpha_dcg",
    "alpha_ndcg",
    "ap_ia",
    "err_ia",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "p_ia",
    "st_recall",
]

NOTHING_LEFT = 1e-18
"""Weight of a rank below which nothing changes any more."""
DEEPEST = 1000
"""How far the best list is built at most, where no cut-off ends it."""

each = pl.col(SUBTOPICS)
"""A document's judgements."""


@metric(aliases=("alpha-dcg", "aDCG"))
def alpha_dcg(k: int, alpha: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Discounted gain of what is new in the first k places.

    A document gains (1 - alpha)^n for each of its subtopics that n documents above had; the sum of
    gain / log2(rank + 1), divided by that of a list in which every document has every subtopic.
    Source: Clarke et al. 2008; ndeval `alpha-DCG`, which does not divide at k = 1.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["alpha_dcg@1"]).metrics
    {'alpha_dcg@1': 0.5}
    """
    most = math.fsum(
        (1 - _alpha(alpha)) ** (i - 1) / math.log2(i + 1) for i in range(1, (cutoff(k) or 0) + 1)
    )
    return ratio(_new(rank, alpha, rel, k, _log_discount), _n_subtopics(rel) * most)


@metric(bounds=(0, None), aliases=("alpha-ndcg", "aNDCG"))
def alpha_ndcg(k: int, alpha: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Discounted gain of what is new, relative to the best list.

    As `alpha_dcg`, divided by that of the greedy best list of the judged documents, which in rare
    cases another list exceeds: then the value is above 1.
    Source: Clarke et al. 2008; ndeval `alpha-nDCG`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["alpha_ndcg@10"]).metrics
    {'alpha_ndcg@10': 1.0}
    """
    return _relative(alpha, rel, k, k, _log_discount)


@metric(aliases=("err-ia",))
def err_ia(k: int, alpha: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Intent-aware expected reciprocal rank.

    As `alpha_dcg`, with gain / rank in place of gain / log2(rank + 1).
    Source: Chapelle et al. 2009; ndeval `ERR-IA`, which does not divide at k = 1.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"x": 2.0, "a": 1.0}}, ["err_ia(alpha=0)@2"]).metrics
    {'err_ia(alpha=0)@2': 0.16666666666666666}
    """
    most = math.fsum((1 - _alpha(alpha)) ** (i - 1) / i for i in range(1, (cutoff(k) or 0) + 1))
    return ratio(_new(rank, alpha, rel, k, _reciprocal), _n_subtopics(rel) * most)


@metric(bounds=(0, None), aliases=("nerr-ia",))
def nerr_ia(k: int, alpha: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Intent-aware expected reciprocal rank, relative to the best list.

    As `err_ia`, divided by that of the greedy best list. Source: ndeval `nERR-IA`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"x": 2.0, "a": 1.0}}, ["nerr_ia@1"]).metrics
    {'nerr_ia@1': 0.0}
    """
    return _relative(alpha, rel, k, k, _reciprocal)


@metric()
def nrbp(alpha: float = 0.5, beta: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Novelty- and rank-biased precision: what is new to a reader of patience beta.

    The reader goes on from each rank with probability beta: (1 - (1 - alpha) beta) / subtopics
    times the sum of gain · beta^(rank - 1), with the gain of `alpha_dcg`.
    Source: Clarke et al. 2009; ndeval `NRBP`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["nrbp"]).metrics
    {'nrbp': 0.5625}
    """
    whole = 1 - (1 - _alpha(alpha)) * _beta(beta)
    return ratio(_new(rank, alpha, rel, None, _fading(beta)) * whole, _n_subtopics(rel))


@metric(bounds=(0, None))
def nnrbp(alpha: float = 0.5, beta: float = 0.5, rel: float | None = None) -> pl.Expr:
    """Novelty- and rank-biased precision, relative to the best list.

    As `nrbp`, divided by that of the greedy best list. Source: ndeval `nNRBP`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["nnrbp"]).metrics
    {'nnrbp': 1.0}
    """
    beta = _beta(beta)
    deep = min(math.ceil(math.log(NOTHING_LEFT) / math.log(beta)), DEEPEST)
    return _relative(alpha, rel, None, deep, _fading(beta))


@metric(aliases=("map_ia", "map-ia", "ap-ia"))
def ap_ia(rel: float | None = None) -> pl.Expr:
    """Intent-aware average precision: the mean over the subtopics of their average precision.

    Source: Agrawal et al. 2009; ndeval `MAP-IA`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["ap_ia"]).metrics
    {'ap_ia': 0.75}
    """
    found = _is_relevant(rel)
    subtopic, place = _subtopic().filter(found), _for_each(rank).filter(found)
    ordered = {"nulls_last": True}
    place = place.sort_by(subtopic, place, **ordered)
    subtopic = subtopic.sort()
    number = _number_in_block(subtopic) + 1
    ends_block = subtopic.ne_missing(subtopic.shift(-1))
    n_of_subtopic = pl.when(ends_block).then(number).backward_fill()
    return ratio((number / place / n_of_subtopic).sum(), _n_subtopics(rel))


@metric(aliases=("p-ia", "precision_ia"))
def p_ia(k: int, rel: float | None = None) -> pl.Expr:
    """Intent-aware precision: the mean over the subtopics of their precision at k.

    Source: Agrawal et al. 2009; ndeval `P-IA`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["p_ia@2"]).metrics
    {'p_ia@2': 0.5}
    """
    cutoff(k)
    return ratio((_is_relevant(rel) & (_for_each(rank) <= k)).sum(), _n_subtopics(rel) * k)


@metric(aliases=("StRecall", "strec", "subtopic_recall", "s_recall"))
def st_recall(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Share of the subtopics that a document in the first k places is relevant for.

    Source: Zhai et al. 2003; ndeval `strec`.

    >>> import evalframe as evf
    >>> qrels = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 1],
    ...          "subtopic": ["1", "2"]}
    >>> evf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["st_recall@1"]).metrics
    {'st_recall@1': 0.5}
    """
    place = _for_each(rank)
    seen = place.is_not_null() if cutoff(k) is None else place <= k
    covered = _subtopic().filter(_is_relevant(rel) & seen).n_unique()
    return ratio(covered, _n_subtopics(rel))


Discount = Callable[[pl.Expr], pl.Expr]


def _log_discount(place: pl.Expr) -> pl.Expr:
    return 1 / log2(place + 1)


def _reciprocal(place: pl.Expr) -> pl.Expr:
    return 1 / place


def _fading(beta: float) -> Discount:
    return lambda place: pl.lit(float(beta)).pow(place - 1)


def _relative(
    alpha: float, rel: float | None, k: int | None, deep: int, discount: Discount
) -> pl.Expr:
    """What is new in the run, relative to what is new in the greedy best list."""
    cutoff(deep)
    best = pl.col(Novelty(_alpha(alpha), rel, deep).column)
    return ratio(_new(rank, alpha, rel, k, discount), _new(best, alpha, rel, deep, discount))


def _new(
    place: pl.Expr, alpha: float, rel: float | None, k: int | None, discount: Discount
) -> pl.Expr:
    """Discounted sum of the gains of what is new, where documents stand at these places."""
    place = _for_each(place)
    found = _is_relevant(rel) & (place.is_not_null() if cutoff(k) is None else place <= k)
    subtopic, place = _subtopic().filter(found), place.filter(found)
    place = place.sort_by(subtopic, place)
    gain = pl.lit(1 - _alpha(alpha)).pow(_number_in_block(subtopic.sort()))
    return (gain * discount(place)).sum()


def _number_in_block(ordered: pl.Expr) -> pl.Expr:
    """How many equal values stand before each value of a sorted column."""
    row = ordered.cum_count().cast(pl.Int64)
    starts_block = ordered.ne_missing(ordered.shift(1))
    return row - pl.when(starts_block).then(row).forward_fill()


def _flat(lists: pl.Expr) -> pl.Expr:
    return lists.explode(empty_as_null=False, keep_nulls=False)


def _for_each(of_document: pl.Expr) -> pl.Expr:
    """A document's value, once for each of its judgements."""
    return _flat(of_document.repeat_by(each.list.len()))


def _subtopic() -> pl.Expr:
    return _flat(each).struct.field("subtopic")


def _is_relevant(rel: float | None) -> pl.Expr:
    grade = _flat(each).struct.field("relevance")
    if rel is None:
        return grade > 0
    fraction("rel", rel, None)
    return grade >= max(rel, 0)


def _n_subtopics(rel: float | None) -> pl.Expr:
    return _subtopic().filter(_is_relevant(rel)).n_unique()


def _alpha(alpha: float) -> float:
    return fraction("alpha", alpha)


def _beta(beta: float) -> float:
    if not 0 < fraction("beta", beta) < 1:
        raise MetricError(f"beta must lie between 0 and 1, not at {beta!r}")
    return float(beta)
