"""What the formulas are made of: expressions over the judged rows of one query.

The judged rows are all documents that the qrels name for the query. `rank` is null where the run
did not retrieve the document. No expression here relies on the order of rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.errors import MetricError

__all__ = [
    "Gain",
    "cutoff",
    "discounted",
    "divided",
    "fraction",
    "gain_of",
    "hits",
    "ideal_dcg",
    "ideal_rank",
    "is_judged",
    "log2",
    "n_relevant",
    "n_retrieved",
    "n_within",
    "of_ideal",
    "rank",
    "ratio",
    "relevance",
    "relevant",
    "relevant_ranks",
    "within",
]

Gain = str | Mapping[float, float] | tuple[tuple[float, float], ...]
"""`linear` (the grade), `exp` (2^grade - 1), or grade → gain (other grades keep theirs)."""

LEAST = 5e-324
"""The least number above 0: as a divisor it leaves 0 at 0."""

relevance = pl.col("relevance")
rank = pl.col("rank")
ideal_rank = pl.col("ideal_rank")
n_retrieved = pl.col("n_retrieved").first()
is_judged = relevance >= 0
"""A negative grade says that the document was pooled but not judged."""


def relevant(rel: float | None) -> pl.Expr:
    """Whether a document is relevant: grade > 0, or grade ≥ `rel` where a level is given."""
    if rel is None:
        return relevance > 0
    fraction("rel", rel, None)
    return relevance >= max(rel, 0)


def within(k: int | None) -> pl.Expr:
    """Whether a document was retrieved at rank `k` or better (anywhere without `k`)."""
    return rank.is_not_null() if cutoff(k) is None else rank <= k


def n_relevant(rel: float | None) -> pl.Expr:
    """R: how many relevant documents the qrels name."""
    return relevant(rel).sum()


def hits(rel: float | None, k: int | None) -> pl.Expr:
    """How many relevant documents stand at rank `k` or better."""
    return (relevant(rel) & within(k)).sum()


def n_within(k: int | None) -> pl.Expr:
    """How many documents were looked at: `k`, or fewer where the list is shorter."""
    return n_retrieved if cutoff(k) is None else pl.min_horizontal(n_retrieved, pl.lit(k))


def relevant_ranks(rel: float | None, k: int | None = None) -> pl.Expr:
    """The ranks of the relevant documents, ascending; the i-th is where the i-th hit stands."""
    return rank.filter(relevant(rel) & within(k)).sort()


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """A quotient that is 0 where both parts are 0.

    Every part stands once in the expression: what stands twice in a grouping is worked out twice.
    """
    return numerator / pl.max_horizontal(denominator, pl.lit(LEAST))


def divided(numerator: pl.Expr, n: int) -> pl.Expr:
    """A quotient by a number that is the same for all queries, rounded once: 3 / 10 is 0.3.

    By a plain number, Polars multiplies with its reciprocal, which gives 0.30000000000000004; so
    the number is made one for each query.
    """
    return numerator / n_retrieved.cast(pl.Float64).clip(n, n)


def log2(value: pl.Expr) -> pl.Expr:
    """The binary logarithm."""
    return value.log(2.0)


def gain_of(gain: Gain, rel: float | None) -> pl.Expr:
    """What a document is worth by its grade; 0 where it is not judged or below `rel`."""
    grade = relevance.clip(lower_bound=0)
    if gain == "linear":
        worth = grade
    elif gain == "exp":
        worth = pl.lit(2.0).pow(grade) - 1
    else:
        worth = _custom_gain(gain)
    return worth if rel is None else pl.when(relevant(rel)).then(worth).otherwise(0)


def discounted(gains: pl.Expr, at: pl.Expr, counted: pl.Expr) -> pl.Expr:
    """Gains, each divided by log2(place + 1), in the sum of those that count.

    What gains nothing stays out of the sum, whose last bit hangs on how many terms it has.
    """
    return (gains / log2(at + 1)).filter(counted & (gains != 0)).sum()


def ideal_dcg(gain: Gain, rel: float | None, k: int | None) -> pl.Expr:
    """DCG of the best possible list: all judged documents by falling gain, cut at `k`."""
    worth = gain_of(gain, rel)
    if isinstance(gain, str):
        return discounted(worth, ideal_rank, pl.lit(True) if k is None else ideal_rank <= k)
    best = worth.filter(worth > 0).sort(descending=True)
    terms = best / log2(best.cum_count() + 1)
    return (terms if k is None else terms.head(k)).sum()


def of_ideal(dcg: pl.Expr, gain: Gain, rel: float | None, k: int | None) -> pl.Expr:
    """A DCG relative to that of the best possible list; 0 where no document gains anything."""
    ideal = ideal_dcg(gain, rel, k)
    if isinstance(gain, str):
        return ratio(dcg, ideal)
    # Gains of one's own may be negative, and so may be a DCG beside an ideal one of 0.
    return pl.when(ideal > 0).then(dcg / ideal).otherwise(0.0)


def cutoff(k: Any) -> int | None:
    """The cut-off as it is; anything but a whole number of at least 1 is refused."""
    if k is None:
        return None
    try:
        whole = None if isinstance(k, bool) else operator.index(k)
    except TypeError:
        whole = None
    if whole is None or not 1 <= whole < 2**31:
        raise MetricError(f"a cut-off must be a whole number of at least 1, not {k!r}")
    return whole


def fraction(name: str, value: Any, upper: float | None = 1.0) -> float:
    """The number as it is; refused where it is no number, negative, or above `upper`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        not is_number
        or not math.isfinite(value)
        or value < 0
        or (upper is not None and value > upper)
    ):
        limits = "at least 0" if upper is None else f"between 0 and {upper:g}"
        raise MetricError(f"{name} must be a number {limits}, not {value!r}")
    return float(value)


def _custom_gain(gain: Gain) -> pl.Expr:
    pairs = tuple(gain.items()) if isinstance(gain, Mapping) else gain
    if not isinstance(pairs, tuple) or not pairs:
        raise MetricError(
            f"gain must be 'linear', 'exp' or grade:gain pairs like {{1:3,2:9}}, not {gain!r}"
        )
    worth = relevance.cast(pl.Float64)
    for grade, value in pairs:
        if not math.isfinite(value):
            raise MetricError(f"the gain of grade {grade:g} must be a finite number, not {value!r}")
        worth = pl.when(relevance == grade).then(pl.lit(float(value))).otherwise(worth)
    return pl.when(is_judged).then(worth).otherwise(0.0)
