"""Metrics of a reader who goes on or stops: the C/W/L family.

A metric of this family says how likely a reader is to go on from each rank (C), from which follows
the share of attention that each rank gets (W); its value is the gain per document looked at. The
gain of a document is its grade, cut off at `max_rel` and divided by it, so that it lies between 0
and 1; with the default of 1 every relevant document gains 1. The list goes on with documents
without a gain down to `depth`, as in cwl-eval.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import cutoff, fraction, log2, rank, relevance
from evalframe.metrics.series import digamma, trigamma

__all__ = ["bpm", "insq", "inst", "nerr", "sdcg"]

DEPTH = 1000
"""How many places cwl-eval looks at."""


@metric(graded=True)
def insq(T: float = 1.0, max_rel: float = 1, depth: int = DEPTH) -> pl.Expr:
    """Gain per document for a reader who wants T documents, and goes on the surer the deeper.

    The weight of rank i is proportional to 1 / (i + 2T - 1)². 0 where nothing relevant is found.
    Source: Moffat et al. 2012; cwl-eval `INSQ`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["insq(depth=2)"]).metrics
    {'insq(depth=2)': 0.6923076923076923}
    """
    _wanted(T)
    weight = 1 / (rank + (2 * T - 1)) ** 2
    whole = math.fsum(1 / (i + 2 * T - 1) ** 2 for i in range(1, _depth(depth) + 1))
    return (_gain(max_rel) * weight).filter(rank <= depth).sum() / whole


@metric(graded=True)
def sdcg(k: int, max_rel: float = 1) -> pl.Expr:
    """Discounted cumulative gain as a share of what k documents of full gain would have.

    The weight of rank i is proportional to 1 / log2(i + 1) down to k. 0 where nothing relevant is
    found. Source: Järvelin and Kekäläinen 2002, scaled; cwl-eval `SDCG`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["sdcg@1"]).metrics
    {'sdcg@1': 1.0}
    """
    whole = math.fsum(1 / math.log2(i + 1) for i in range(1, (cutoff(k) or 0) + 1))
    return (_gain(max_rel) / log2(rank + 1)).filter(rank <= k).sum() / whole


@metric(graded=True)
def bpm(k: int, T: float = 1.0, max_rel: float = 1) -> pl.Expr:
    """Gain per document for a reader who stops at a gain of T, or after k documents.

    0 where nothing relevant is found. Source: Zhang et al. 2017, static form; cwl-eval `BPM`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["bpm@10", "bpm(T=2)@10"]).metrics
    {'bpm@10': 0.5, 'bpm(T=2)@10': 0.6666666666666666}
    """
    _wanted(T)
    cutoff(k)
    ranks, gains = _hits(max_rel, k)
    enough = ranks.filter(gains.cum_sum() >= T).min()
    end = pl.min_horizontal(enough, pl.lit(k))
    return gains.filter(ranks <= end).sum() / end


@metric(graded=True)
def inst(T: float = 1.0, max_rel: float = 1, depth: int = DEPTH) -> pl.Expr:
    """As `insq`, for a reader who is the sooner content the more has been gained.

    The reader goes on from rank i with probability ((i + 2T - g - 1) / (i + 2T - g))², where g is
    what has been gained down to i. 0 where nothing relevant is found.
    Source: Moffat et al. 2015; cwl-eval `INST`.

    >>> import evalframe as evf
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["inst(depth=2)"])
    >>> round(report.metrics["inst(depth=2)"], 12)
    0.8
    """
    _wanted(T, least=0.5)
    ranks, gains = _hits(max_rel, _depth(depth))
    ranks = ranks.cast(pl.Float64)
    # From hit to hit nothing is gained, so the probabilities telescope.
    still_wanted = 2 * T - gains.cum_sum()
    next_rank = ranks.shift(-1)
    down_to_next = ((ranks + still_wanted - 1) / (next_rank - 1 + still_wanted)) ** 2
    first = (2 * T / (ranks.min() - 1 + 2 * T)) ** 2
    reached = first * down_to_next.cum_prod().shift(1, fill_value=1.0)
    ends = next_rank.fill_null(float(depth))
    between = trigamma(ranks + still_wanted) - trigamma(ends + still_wanted)
    looked_at = (reached * (ranks + still_wanted - 1) ** 2 * between).sum()
    before = (2 * T) ** 2 * (trigamma(pl.lit(2.0 * T)) - trigamma(ranks.min() + 2 * T))
    return ((reached * gains).sum() / (before + looked_at)).fill_null(0.0)


@metric(graded=True, variants={f"nerr{number}": {"equation": number} for number in (8, 9, 10, 11)})
def nerr(
    k: int | None = None, equation: int = 8, p: float = 0.9, T: float = 1.0, max_rel: float = 1
) -> pl.Expr:
    """Gain per document for a reader who stops at a document with the probability of its gain.

    Where a document gains nothing the reader goes on: surely (`equation=8`), with probability
    i / (i + 1) from rank i (9), with probability `p` (10), or as in `insq` with `T` (11); and
    after k documents never (1000 without k). 0 where nothing relevant is found.
    Source: Azzopardi et al. 2021, by its equations; cwl-eval `NERR8`, `NERR9`, `NERR10`, `NERR11`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 2.0, "a": 1.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["nerr@10", "nerr(equation=10,p=0.5)"]).metrics
    {'nerr@10': 0.5, 'nerr(equation=10,p=0.5)': 0.3333333333333333}
    """
    depth = cutoff(k) or DEPTH
    if equation == 8:
        return _nearly_err(max_rel, depth, lambda at: 0 * at + 1, lambda upto: upto)
    if equation == 9:
        start = digamma(pl.lit(1.0))
        return _nearly_err(
            max_rel, depth, lambda at: 1 / at, lambda upto: digamma(upto + 1) - start
        )
    if equation == 10:
        if not 0 < fraction("p", p) < 1:
            raise MetricError(f"p must lie between 0 and 1, not at {p!r}")
        power = pl.lit(float(p)).pow
        return _nearly_err(
            max_rel, depth, lambda at: power(at - 1), lambda upto: (1 - power(upto)) / (1 - p)
        )
    if equation == 11:
        wanted = 2 * _wanted(T)
        start = trigamma(pl.lit(wanted))
        return _nearly_err(
            max_rel,
            depth,
            lambda at: 1 / (at - 1 + wanted) ** 2,
            lambda upto: start - trigamma(upto + wanted),
        )
    raise MetricError(f"equation of nerr is 8, 9, 10 or 11, not {equation!r}")


def _nearly_err(
    max_rel: float,
    depth: int,
    weight: Callable[[pl.Expr], pl.Expr],
    summed: Callable[[pl.Expr], pl.Expr],
) -> pl.Expr:
    """Gain per document where a document of gain g is left behind with probability 1 - g.

    `weight` is the attention that a rank gets where nothing is gained above it, and `summed` the
    sum of that down to a rank.
    """
    ranks, gains = _hits(max_rel, depth)
    ranks = ranks.cast(pl.Float64)
    reached = (1 - gains).cum_prod().shift(1, fill_value=1.0)
    ends = ranks.shift(-1, fill_value=float(depth))
    beyond = ((1 - gains).cum_prod() * (summed(ends) - summed(ranks))).sum()
    looked_at = summed(ranks.min()) + beyond
    return ((weight(ranks) * reached * gains).sum() / looked_at).fill_null(0.0)


def _gain(max_rel: float) -> pl.Expr:
    if fraction("max_rel", max_rel, None) == 0:
        raise MetricError("max_rel must be above 0")
    return relevance.clip(0, max_rel) / max_rel


def _hits(max_rel: float, depth: int) -> tuple[pl.Expr, pl.Expr]:
    """The ranks of documents with a gain down to a depth, ascending, and their gains."""
    gains = _gain(max_rel)
    found = (gains > 0) & (rank <= depth)
    return rank.filter(found).sort(), gains.filter(found).sort_by(rank.filter(found))


def _wanted(T: float, least: float = 0.0) -> float:
    if fraction("T", T, None) <= 0 or least > T:
        limit = f"at least {least:g}" if least else "above 0"
        raise MetricError(f"T must be {limit}, not {T!r}")
    return float(T)


def _depth(depth: int) -> int:
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise MetricError(f"depth must be a whole number of at least 1, not {depth!r}")
    return depth
