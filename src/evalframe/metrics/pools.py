"""Metrics about judgements: what was judged, what was not, and values that allow for it."""

from __future__ import annotations

import polars as pl

from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import (
    cutoff,
    divided,
    fraction,
    is_judged,
    n_relevant,
    n_retrieved,
    n_within,
    rank,
    ratio,
    relevant,
    within,
)
from evalframe.metrics.ranked import LEAST

__all__ = [
    "bpref",
    "gm_bpref",
    "infap",
    "judged",
    "num_nonrel_judged_ret",
    "rbp_resid",
    "unjudged",
]

SMOOTHING = 1e-5
"""infAP's allowance for having seen no judged document above, as trec_eval has it."""


@metric()
def bpref(rel: float | None = None) -> pl.Expr:
    """Share of judged documents that are rightly ordered: relevant above not relevant.

    Mean over the relevant documents of 1 - min(N above, R) / min(N, R), where N counts documents
    judged not relevant; documents without a judgement are passed over. 0 where the query has no
    relevant document. Source: Buckley and Voorhees 2004; trec_eval `bpref`.

    >>> import evalframe as evf
    >>> run = {"q": {"n": 3.0, "a": 2.0, "x": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1, "n": 0, "m": 0}}, run, ["bpref"]).metrics
    {'bpref': 0.25}
    """
    return _bpref(rel)


@metric(summary="geometric_mean")
def gm_bpref(rel: float | None = None) -> pl.Expr:
    """Bpref, averaged over queries by the geometric mean.

    A query's value is max(bpref, 0.00001). Source: trec_eval `gm_bpref` (whose per-query value is
    the logarithm).

    >>> import evalframe as evf
    >>> evf.per_query({"q": {"a": 1}}, {"q": {"x": 2.0, "y": 1.0}}, ["gm_bpref"]).row(0)
    ('q', 1e-05)
    """
    return pl.max_horizontal(_bpref(rel), pl.lit(LEAST))


@metric()
def infap(rel: float | None = None) -> pl.Expr:
    """Average precision estimated from a pool of which only a sample was judged.

    A negative grade says that the document was pooled but not judged. Equal to average precision
    where the whole pool was judged and everything retrieved was pooled, but for the smoothing.
    0 where the query has no relevant document.
    Source: Yilmaz and Aslam 2006; trec_eval `infAP`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, ["infap"]).metrics
    {'infap': 1.0}
    """
    pooled = within(None)
    ranks = rank.filter(pooled).sort().cast(pl.Float64)
    in_order = rank.filter(pooled)
    is_hit = relevant(rel).filter(pooled).sort_by(in_order)
    was_judged = is_judged.filter(pooled).sort_by(in_order)
    hits_above = is_hit.cast(pl.Float64).cum_sum() - 1
    judged_above = was_judged.cast(pl.Float64).cum_sum() - 1
    pooled_above = ranks.cum_count() - 1
    share_relevant = (hits_above + SMOOTHING) / (judged_above + 2 * SMOOTHING)
    above = pl.when(ranks > 1).then(pooled_above / ranks * share_relevant).otherwise(0.0)
    return ratio((1 / ranks + above).filter(is_hit).sum(), n_relevant(rel))


@metric(bounds=(0, None), unit="documents", summary="sum", better="lower")
def num_nonrel_judged_ret(rel: float | None = None) -> pl.Expr:
    """How many retrieved documents are judged not relevant.

    Source: trec_eval `num_nonrel_judged_ret`.

    >>> import evalframe as evf
    >>> run = {"q": {"n": 3.0, "x": 2.0}}
    >>> evf.evaluate({"q": {"a": 1, "n": 0}}, run, ["num_nonrel_judged_ret"]).metrics
    {'num_nonrel_judged_ret': 1.0}
    """
    return (is_judged & ~relevant(rel) & within(None)).sum()


@metric(aliases=("judged_{k}",))
def judged(k: int | None = None) -> pl.Expr:
    """Share of the first k documents that have a judgement.

    Divided by the number of documents there are in the first k places; negative grades count as
    not judged. 0 where nothing is retrieved. Source: ir_measures `Judged` (which counts negative
    grades as judgements); 1 - trec_eval's `unj` where the list has k documents.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["judged@10"]).metrics
    {'judged@10': 0.5}
    """
    return ratio((is_judged & within(k)).sum(), n_within(k))


@metric(better="lower", aliases=("unj", "unj_{k}"))
def unjudged(k: int) -> pl.Expr:
    """Share of the first k places that hold a document without a judgement.

    Divided by k however short the list is; negative grades count as not judged.
    Source: trec_eval 10 `unj`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["unjudged@4"]).metrics
    {'unjudged@4': 0.25}
    """
    cutoff(k)
    known = (is_judged & within(k)).sum()
    return divided(n_within(k).cast(pl.Int64) - known.cast(pl.Int64), k)


@metric(better="lower")
def rbp_resid(p: float = 0.9) -> pl.Expr:
    """What rank-biased precision could still gain if all that is not judged were relevant.

    p^n + (1 - p) times the sum of p^(rank - 1) over the documents without a judgement. 0 where
    every retrieved document is judged. Source: Moffat and Zobel 2008; trec_eval 10 `rbp_resid`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["rbp_resid(p=0.5)"]).metrics
    {'rbp_resid(p=0.5)': 0.5}
    """
    fraction("p", p)
    known = is_judged & within(None)
    weight_known = (1 - p) * pl.lit(float(p)).pow(rank - 1).filter(known).sum()
    return pl.when(known.sum() < n_retrieved).then(1 - weight_known).otherwise(0.0)


def _bpref(rel: float | None) -> pl.Expr:
    seen = is_judged & within(None)
    is_hit = relevant(rel).filter(seen).sort_by(rank.filter(seen))
    others_above = (~is_hit).cast(pl.Int64).cum_sum().filter(is_hit)
    n = n_relevant(rel).cast(pl.Int64)
    n_others = (is_judged & ~relevant(rel)).sum().cast(pl.Int64)
    penalty = pl.min_horizontal(others_above, n) / pl.min_horizontal(n_others, n)
    return ratio((1 - pl.when(others_above > 0).then(penalty).otherwise(0.0)).sum(), n)
