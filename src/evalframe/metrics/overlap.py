"""Metrics that compare the list with the best one by the overlap of their tops."""

from __future__ import annotations

import math

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import fraction, ideal_rank, n_retrieved, rank, ratio, relevance
from evalframe.metrics.series import partial_sums, summed_upto

__all__ = ["compat"]

NOTHING_LEFT = 1e-18
"""Weight below which deeper ranks change no bit of the sum."""


@metric(graded=True, variants={"compatibility": {}})
def compat(p: float = 0.95, normalize: bool = True) -> pl.Expr:
    """Rank-biased overlap of the list with the ideal one that is nearest to it.

    The ideal list has the documents with a grade above 0 by falling grade; those of equal grade as
    the run has them, then those that it lacks. Σ p^(i-1) · |common to the first i| / i, divided by
    what the ideal list itself has (`normalize=true`), or by Σ p^(i-1) (`normalize=false`), down to
    the end of the longer list. 0 where the query has no relevant document.
    Source: Clarke et al. 2021; ir_measures `Compat`.

    >>> import evalframe as evf
    >>> run = {"q": {"b": 2.0, "a": 1.0}}
    >>> evf.evaluate({"q": {"a": 2, "b": 1}}, run, ["compat(p=0.5)"]).metrics
    {'compat(p=0.5)': 0.3333333333333333}
    """
    if not 0 < fraction("p", p) < 1:
        raise MetricError(f"p must lie between 0 and 1, not at {p!r}")
    if not isinstance(normalize, bool | str) or str(normalize).lower() not in ("true", "false"):
        raise MetricError(f"normalize is true or false, not {normalize!r}")
    wanted = relevance > 0
    n_wanted = wanted.sum()
    missed = pl.max_horizontal(rank.max(), n_retrieved) + ideal_rank
    as_run = pl.coalesce(rank, missed).filter(wanted)
    # The ideal list: by grade, and within a grade as the run has them.
    best_first = [-relevance.filter(wanted).cast(pl.Float64), as_run]
    rank_in_run = rank.filter(wanted).sort_by(*best_first)
    common_from = pl.max_horizontal(rank_in_run, rank_in_run.is_null().cum_count()).filter(
        rank_in_run.is_not_null()
    )
    end = pl.max_horizontal(n_retrieved, n_wanted)
    deep = max(math.ceil(math.log(NOTHING_LEFT) / math.log(p)), 1)
    sums = partial_sums(lambda i: p ** (i - 1) / i, deep)
    weights = partial_sums(lambda i: p ** (i - 1), deep)
    upto_end = summed_upto(end, sums).first()
    overlap = (upto_end - summed_upto(common_from - 1, sums)).sum()
    of_ideal = summed_upto(n_wanted, weights).first() + n_wanted * (
        upto_end - summed_upto(n_wanted, sums).first()
    )
    is_normalised = str(normalize).lower() == "true"
    return ratio(overlap, of_ideal if is_normalised else summed_upto(end, weights).first())
