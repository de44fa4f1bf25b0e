"""How values are spread over queries: intervals of a mean, and histograms."""

from __future__ import annotations

import functools
import math

import polars as pl

from evalframe.errors import whole_number

__all__ = [
    "CONFIDENCE",
    "histogram",
    "means_with_intervals",
    "moments",
    "t_quantile",
    "with_t_intervals",
]

CONFIDENCE = 0.95
EXACT_UP_TO = 200
"""Degrees of freedom up to which the t distribution is inverted; an expansion serves above."""


def means_with_intervals(long: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The mean of `value` in each group, and its t interval.

    Parameters
    ----------
    long
        The keys and `value`.
    keys
        Columns that make a group.

    Returns
    -------
    pl.DataFrame
        The keys, `n` (values that are there), `mean`, `low`, `high` (null below two values),
        `interval` (`t`: mean ± quantile of Student's t with n - 1 degrees of freedom × standard
        error) and `confidence`, by order of appearance.

    Examples
    --------
    >>> frame = pl.DataFrame({"metric": ["mrr"] * 4, "value": [0.0, 0.5, 1.0, 0.5]})
    >>> means_with_intervals(frame, ["metric"]).select("n", "mean", "low", "high").row(0)
    (4, 0.5, -0.1496141318125549, 1.1496141318125548)
    """
    return with_t_intervals(long.group_by(keys, maintain_order=True).agg(moments("value")), keys)


def moments(column: str) -> list[pl.Expr]:
    """What an interval is made of: `n` (values that are there), `mean` and its standard `error`."""
    value = pl.col(column).cast(pl.Float64).fill_nan(None)
    n = value.count()
    return [
        n.alias("n"),
        value.mean().alias("mean"),
        (value.std() / n.sqrt()).alias("error"),
    ]


def with_t_intervals(found: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The keys, what `moments` gave, and the interval of each mean; see `means_with_intervals`."""
    sizes = [n for n in found["n"].unique().sort().to_list() if n > 1]
    quantile = pl.col("n").replace_strict(
        sizes, [t_quantile(n - 1) for n in sizes], default=None, return_dtype=pl.Float64
    )
    reach = quantile * pl.col("error")
    return found.select(
        *keys,
        "n",
        "mean",
        low=pl.col("mean") - reach,
        high=pl.col("mean") + reach,
        interval=pl.lit("t"),
        confidence=pl.lit(CONFIDENCE),
    )


@functools.lru_cache(maxsize=4096)
def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The number that Student's t does not exceed in size, with that probability.

    Needs no package beside Python's own. Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4
    (finite sums, inverted by halving) up to 200 degrees of freedom, 26.7.5 (expansion) above.

    >>> round(t_quantile(9), 6)
    2.262157
    """
    if degrees > EXACT_UP_TO:
        from statistics import NormalDist  # it takes a while to import

        return _expanded(degrees, NormalDist().inv_cdf((1 + confidence) / 2))
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        is_below = _within(middle, degrees) < confidence
        low, high = (middle, high) if is_below else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def _within(angle: float, degrees: int) -> float:
    """The probability that t is no larger in size than √degrees · tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = total = cosine if odd else 1.0
    for k in range(2 + odd, degrees, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + (sine * total if degrees > 1 else 0.0))


def _expanded(n: int, x: float) -> float:
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / float(n) ** power for power, term in enumerate(terms, 1))


def histogram(per_query: pl.DataFrame, metric: str, bins: int) -> pl.DataFrame:
    """How many queries have a value in each bin: `low`, `high`, `count`, after `system`, if any.

    A bin holds its lower end; the last holds both. The bins go from 0 to 1 where all values do,
    else from the least value to the greatest. What is no finite number is not counted.
    """
    bins = whole_number("bins", bins)
    system = [name for name in ("system",) if name in per_query.columns]
    value = pl.col(metric).cast(pl.Float64)
    values = per_query.select(*system, value=value).filter(pl.col("value").is_finite())
    ends = _edges(values["value"], bins)
    edges = pl.DataFrame({"bin": range(bins), "low": ends[:-1], "high": ends[1:]})
    bin_of = (
        pl.lit(pl.Series(ends[:-1])).search_sorted(pl.col("value"), side="right").cast(pl.Int64) - 1
    )
    counts = values.group_by(*system, bin=bin_of).agg(count=pl.len().cast(pl.Int64))
    every = per_query.select(system).unique().sort(system).join(edges, how="cross")
    return (
        (every if system else edges)
        .join(counts, on=[*system, "bin"], how="left")
        .sort(*system, "bin")
        .select(*system, "low", "high", pl.col("count").fill_null(0))
    )


def _edges(values: pl.Series, bins: int) -> list[float]:
    """The ends of the bins; a single value has a bin of width 1 about it."""
    low, high = (values.min(), values.max()) if values.len() else (0.0, 1.0)
    low, high = float(low), float(high)  # type: ignore[arg-type]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - 0.5, high + 0.5
    return [*(low + (high - low) * i / bins for i in range(bins)), high]
