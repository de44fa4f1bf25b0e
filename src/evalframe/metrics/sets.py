"""Metrics that count: how many relevant documents stand in a set or above a cut-off."""

from __future__ import annotations

import math

import polars as pl

from evalframe.errors import MetricError
from evalframe.metrics.catalogue import metric
from evalframe.metrics.quantities import (
    cutoff,
    divided,
    fraction,
    hits,
    n_relevant,
    n_retrieved,
    rank,
    ratio,
    relevant,
)

__all__ = [
    "f",
    "num_q",
    "num_rel",
    "num_rel_ret",
    "num_ret",
    "precision",
    "recall",
    "relative_precision",
    "rprec",
    "rprec_mult",
    "set_f",
    "set_map",
    "set_precision",
    "set_recall",
    "set_relative_precision",
    "success",
    "utility",
]


@metric(positives_only=True, aliases=("P", "prec", "P_{k}", "precision_{k}"))
def precision(k: int, rel: float | None = None) -> pl.Expr:
    """Share of the first k places that hold a relevant document.

    hits(k) / k, divided by k however short the list is. 0 where nothing relevant is found.
    Source: trec_eval `P`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["precision@5"]).metrics
    {'precision@5': 0.2}
    """
    return divided(hits(rel, k), k)


@metric(positives_only=True, aliases=("R", "recall_{k}"))
def recall(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Share of the relevant documents that stand in the first k places.

    hits(k) / R, where R counts all documents judged relevant; without k, over the whole list.
    0 where the query has no relevant document. Source: trec_eval `recall`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["recall@5"]).metrics
    {'recall@5': 0.5}
    """
    return ratio(hits(rel, k), n_relevant(rel))


@metric(
    positives_only=True,
    aliases=("relative_P", "rel_P", "relative_P_{k}", "recall_cap", "R_cap", "capped_recall"),
)
def relative_precision(k: int, rel: float | None = None) -> pl.Expr:
    """Hits in the first k places, relative to the most there could be.

    hits(k) / min(k, R): precision where there are enough relevant documents, recall where there
    are not, which is why BEIR calls it capped recall. 0 where the query has no relevant document.
    Source: trec_eval `relative_P`; BEIR `R_cap`.

    >>> import evalframe as evf
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> evf.evaluate(qrels, run, ["relative_precision@3", "recall_cap@1"]).metrics
    {'relative_precision@3': 0.5, 'recall_cap@1': 1.0}
    """
    cutoff(k)
    return ratio(hits(rel, k), pl.min_horizontal(n_relevant(rel), pl.lit(k)))


@metric(positives_only=True, aliases=("hit_rate", "hit", "hitrate", "success_{k}"))
def success(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Whether a relevant document stands in the first k places: 1 or 0.

    Source: trec_eval `success`.

    >>> import evalframe as evf
    >>> run = {"q": {"x": 3.0, "a": 2.0}}
    >>> evf.evaluate({"q": {"a": 1}}, run, ["success@1", "success@2"]).metrics
    {'success@1': 0.0, 'success@2': 1.0}
    """
    return hits(rel, k) > 0


@metric(positives_only=True, variants={"f1": {"beta": 1.0}})
def f(k: int, beta: float = 1.0, rel: float | None = None) -> pl.Expr:
    """F-measure of precision and recall at k.

    (1 + β²) P R / (β² P + R). 0 where nothing relevant is found. Source: van Rijsbergen 1979;
    ranx `f1`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["f@2"]).metrics
    {'f@2': 0.5}
    """
    cutoff(k)
    return _f_measure(hits(rel, k), pl.lit(k), n_relevant(rel), beta)


@metric(positives_only=True, aliases=("R-prec", "r_precision", "r-precision"))
def rprec(rel: float | None = None) -> pl.Expr:
    """Precision at R, the number of relevant documents.

    hits(R) / R. 0 where the query has no relevant document. Source: trec_eval `Rprec`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["rprec"]).metrics
    {'rprec': 0.5}
    """
    n = n_relevant(rel)
    return ratio((relevant(rel) & (rank <= n)).sum(), n)


@metric(positives_only=True, at="x", aliases=("Rprec_mult_{x}",))
def rprec_mult(x: float, rel: float | None = None) -> pl.Expr:
    """Precision at x times the number of relevant documents.

    hits(c) / c with c = ⌊x R + 0.9⌋. 0 where c is 0. Source: trec_eval `Rprec_mult`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["rprec_mult@0.5", "Rprec_mult_1"]).metrics
    {'rprec_mult@0.5': 1.0, 'Rprec_mult_1': 0.5}
    """
    depth = (n_relevant(rel) * fraction("x", x, None) + 0.9).floor()
    return ratio((relevant(rel) & (rank <= depth)).sum(), depth)


@metric(positives_only=True, aliases=("set_P", "SetP"))
def set_precision(rel: float | None = None) -> pl.Expr:
    """Share of the retrieved documents that are relevant, whatever their number.

    hits / n. 0 where nothing is retrieved. Source: trec_eval `set_P`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["set_P"]).metrics
    {'set_P': 0.5}
    """
    return ratio(hits(rel, None), n_retrieved)


@metric(positives_only=True, aliases=("SetR",))
def set_recall(rel: float | None = None) -> pl.Expr:
    """Share of the relevant documents that are retrieved at all.

    hits / R. 0 where the query has no relevant document. Source: trec_eval `set_recall`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["set_recall"]).metrics
    {'set_recall': 0.5}
    """
    return ratio(hits(rel, None), n_relevant(rel))


@metric(positives_only=True, aliases=("SetF",))
def set_f(beta: float = 1.0, rel: float | None = None) -> pl.Expr:
    """F-measure of all that is retrieved.

    (1 + β²) P R / (β² P + R). 0 where nothing relevant is found. trec_eval's parameter is not
    squared: its `set_F.x` is this metric with β = √x. Source: trec_eval `set_F`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["set_f"]).metrics
    {'set_f': 0.5}
    """
    return _f_measure(hits(rel, None), n_retrieved, n_relevant(rel), beta)


@metric(positives_only=True, aliases=("SetAP",))
def set_map(rel: float | None = None) -> pl.Expr:
    """Precision times recall of all that is retrieved.

    hits² / (n R). 0 where nothing is retrieved or relevant. Source: trec_eval `set_map`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["set_map"]).metrics
    {'set_map': 0.25}
    """
    found = hits(rel, None).cast(pl.Float64)
    return ratio(found * found, n_retrieved.cast(pl.Float64) * n_relevant(rel))


@metric(positives_only=True, aliases=("set_relative_P", "SetRelP"))
def set_relative_precision(rel: float | None = None) -> pl.Expr:
    """Hits in all that is retrieved, relative to the most there could be.

    hits / min(n, R). 0 where nothing is retrieved or relevant. Source: trec_eval `set_relative_P`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["set_relative_precision"]).metrics
    {'set_relative_precision': 0.5}
    """
    return ratio(hits(rel, None), pl.min_horizontal(n_relevant(rel), n_retrieved))


@metric(positives_only=True, bounds=(None, None), unit="gain", aliases=("utility_{weights}",))
def utility(weights: str = "1,-1,0,0", rel: float | None = None) -> pl.Expr:
    """Weighted sum of the contingency table of all that is retrieved.

    a · hits + b · (n - hits) + c · (R - hits), with weights "a,b,c,0". The fourth weight, of what
    is neither relevant nor retrieved, must be 0: it would need the size of the collection.
    Source: trec_eval `utility`.

    >>> import evalframe as evf
    >>> run = {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["utility"]).metrics
    {'utility': -1.0}
    """
    a, b, c = _weights(weights)
    found = hits(rel, None).cast(pl.Float64)
    return a * found + b * (n_retrieved - found) + c * (n_relevant(rel) - found)


@metric(positives_only=True, bounds=(0, None), unit="queries", summary="sum", aliases=("NumQ",))
def num_q() -> pl.Expr:
    """How many queries were scored: 1 for each. Source: trec_eval `num_q`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0}}, ["num_q"]).metrics
    {'num_q': 1.0}
    """
    return pl.lit(1.0)


@metric(positives_only=True, bounds=(0, None), unit="documents", summary="sum", aliases=("NumRet",))
def num_ret() -> pl.Expr:
    """How many documents were retrieved. Source: trec_eval `num_ret`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["num_ret"]).metrics
    {'num_ret': 2.0}
    """
    return n_retrieved


@metric(positives_only=True, bounds=(0, None), unit="documents", summary="sum", aliases=("NumRel",))
def num_rel(rel: float | None = None) -> pl.Expr:
    """How many documents are judged relevant. Source: trec_eval `num_rel`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0}}, ["num_rel"]).metrics
    {'num_rel': 1.0}
    """
    return n_relevant(rel)


@metric(
    positives_only=True,
    bounds=(0, None),
    unit="documents",
    summary="sum",
    aliases=("NumRelRet", "hits", "hits_{k}"),
)
def num_rel_ret(k: int | None = None, rel: float | None = None) -> pl.Expr:
    """How many relevant documents were retrieved, in the first k places where k is given.

    Source: trec_eval `num_rel_ret`; ranx `hits`.

    >>> import evalframe as evf
    >>> evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0}}, ["num_rel_ret"]).metrics
    {'num_rel_ret': 1.0}
    """
    return hits(rel, k)


def _f_measure(found: pl.Expr, looked_at: pl.Expr, relevant_ones: pl.Expr, beta: float) -> pl.Expr:
    """(1 + β²) hits / (β² R + n), which is F without the intermediate quotients."""
    weight = fraction("beta", beta, None) ** 2
    return ratio((1 + weight) * found, weight * relevant_ones + looked_at)


def _weights(weights: object) -> tuple[float, float, float]:
    try:
        numbers = [float(part) for part in str(weights).split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 4 or numbers[3] != 0 or not all(map(math.isfinite, numbers)):
        raise MetricError(f"utility takes four weights, the last of them 0, not {weights!r}")
    return numbers[0], numbers[1], numbers[2]
