"""Tests and intervals for paired values: is a difference more than chance?

Values are paired by place: the first of `a` and the first of `b` belong to the same query. Frames
are paired by their keys in `evalframe.compare`, which calls what is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from evalframe.corrections import CORRECTIONS, FAMILIES, Correction, Family
from evalframe.errors import EmptyError, OptionError, RowError, one_of
from evalframe.resampling import (
    ALTERNATIVES,
    ROUNDING,
    Alternative,
    bootstrap_intervals,
    checked_draws,
    require_stats,
    sign_flip_p,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "INTERVALS",
    "TESTS",
    "Interval",
    "IntervalMethod",
    "PairedResult",
    "Procedure",
    "Test",
    "difference_interval",
    "intervals_of",
    "mean_interval",
    "p_values_of",
    "paired_test",
]

Test = Literal[
    "randomisation",
    "t",
    "wilcoxon",
    "sign",
    "mcnemar",
    "tukey",
    "tukey_unblocked",
    "randomised_tukey",
]
"""How two systems' values are tested.

`randomisation` turns signs of differences; `t` is the paired t-test; `wilcoxon` the signed ranks;
`sign` counts wins and losses; `mcnemar` does so for values of 0 and 1 alone (exact). The three
Tukey tests look at all systems together: with queries as blocks, as if each system had answered
queries of its own (as `scipy.stats.tukey_hsd`), and by shuffling systems within queries.
"""
TESTS = (
    "randomisation",
    "t",
    "wilcoxon",
    "sign",
    "mcnemar",
    "tukey",
    "tukey_unblocked",
    "randomised_tukey",
)
OF_PAIRS = TESTS[:5]

IntervalMethod = Literal["bca", "percentile", "studentised", "t"]
"""How an interval of a mean is made: three bootstrap methods, and Student's t."""
INTERVALS = ("bca", "percentile", "studentised", "t")


@dataclass(frozen=True)
class Procedure:
    """How systems are compared: everything that p-values and intervals depend on.

    Attributes
    ----------
    test, interval
        See `Test` and `IntervalMethod`.
    correction, family
        How p-values allow for being many, and which of them are taken together; see
        `evalframe.corrections.correct` and `evalframe.corrections.Family`.
    alpha
        Corrected p-values below it are called significant.
    confidence
        Share of intervals that shall hold the true value.
    resamples, seed
        How many resamples are drawn where any are, and from which random stream.
    """

    test: Test = "randomisation"
    correction: Correction = "holm"
    family: Family = "all"
    alpha: float = 0.05
    interval: IntervalMethod = "bca"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is not offered."""
        one_of("test", self.test, TESTS)
        one_of("correction", self.correction, CORRECTIONS)
        one_of("family", self.family, FAMILIES)
        one_of("interval", self.interval, INTERVALS)
        checked_draws(self.resamples, self.seed)
        for name in ("alpha", "confidence"):
            between_0_and_1(name, getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """The procedure in plain values, as it is printed and written beside results."""
        return asdict(self)


@dataclass(frozen=True)
class PairedResult:
    """What a paired test found.

    Attributes
    ----------
    p
        How often chance alone would do as much, were the systems alike.
    difference
        Mean of a minus mean of b.
    n
        Pairs.
    method
        The test, and whether it is exact.
    resamples, seed
        Draws of a Monte Carlo test; None where nothing was drawn.
    """

    p: float
    difference: float
    n: int
    method: str
    resamples: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Interval:
    """An interval of a mean, and how it was made (`resamples` and `seed`: None for Student's t)."""

    low: float
    high: float
    mean: float
    n: int
    confidence: float
    method: str
    resamples: int | None = None
    seed: int | None = None


def paired_test(
    a: Sequence[float] | Any,
    b: Sequence[float] | Any,
    test: Test = "randomisation",
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedResult:
    """Test whether a and b differ, query by query.

    Parameters
    ----------
    a, b
        Values in the same order of queries; lists, arrays or Series.
    test
        One of `randomisation`, `t`, `wilcoxon`, `sign`, `mcnemar`; see `Test`.
    alternative
        `two-sided`, or that a is `greater` or `less` than b.
    resamples, seed
        For the randomisation test, where more than 16 differences are not 0.

    Returns
    -------
    PairedResult
        p is 1 where no value differs, and where there is a single pair and the test says nothing.

    Raises
    ------
    RowError
        Nulls, NaN or infinite values.
    OptionError
        Lengths differ, an option is not offered, or `mcnemar` is given values other than 0 and 1.

    Notes
    -----
    `t`, `wilcoxon` and `sign` are `scipy.stats.ttest_rel`, `wilcoxon` and `binomtest` (of wins
    against losses, ties left out). Differences that are equal but for rounding count as different
    to `wilcoxon`: round the values first where that matters.

    Examples
    --------
    >>> paired_test([0.9, 0.7, 0.8], [0.5, 0.6, 0.5]).p
    0.25
    >>> paired_test([0.5, 0.5], [0.5, 0.5], "t").p
    1.0
    """
    require_stats()
    import numpy as np

    one_of("test", test, OF_PAIRS)
    one_of("alternative", alternative, ALTERNATIVES)
    values = _paired(a, b)
    p, methods, drawn = p_values_of(
        values,
        np.array([0]),
        np.array([1]),
        test=test,
        alternative=alternative,
        resamples=resamples,
        seed=seed,
    )
    difference = float((values[:, 0] - values[:, 1]).mean())
    was_drawn = drawn[0] is not None
    return PairedResult(
        float(p[0]), difference, len(values), methods[0], drawn[0], seed if was_drawn else None
    )


def mean_interval(
    values: Sequence[float] | Any,
    method: IntervalMethod = "bca",
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """An interval of the mean over queries.

    Parameters
    ----------
    values
        One value for each query.
    method
        See `IntervalMethod`.
    confidence, resamples, seed
        See `Procedure`.

    Returns
    -------
    Interval
        Of width 0 where all values are the same, and for a single value.

    Examples
    --------
    >>> interval = mean_interval([0.0, 0.5, 1.0, 0.5], "t")
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.1496, 1.1496)
    """
    require_stats()
    import numpy as np

    column = _column(values, "values")[:, None]
    return _interval(column, np.array([-1]), method, confidence, resamples, seed)


def difference_interval(
    a: Sequence[float] | Any,
    b: Sequence[float] | Any,
    method: IntervalMethod = "bca",
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """An interval of the mean difference a - b, paired by place; see `mean_interval`.

    >>> difference_interval([1.0, 0.5, 0.75], [0.5, 0.0, 0.25])
    Interval(low=0.5, high=0.5, mean=0.5, n=3, confidence=0.95, method='bca', resamples=10000,
    seed=0)
    """
    require_stats()
    import numpy as np

    return _interval(_paired(a, b), np.array([1]), method, confidence, resamples, seed)


def intervals_of(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    method: IntervalMethod,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of many contrasts; see `evalframe.resampling.bootstrap_intervals`."""
    import numpy as np

    if method != "t":
        return bootstrap_intervals(
            values,
            left,
            right,
            method=method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    mean, error = _mean_and_error(_differences(values, left, right))
    degrees = max(len(values) - 1, 1)
    reach = np.float64(stdtrit(degrees, (1 + confidence) / 2)) * error
    return mean - reach, mean + reach


def p_values_of(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    test: Test,
    alternative: Alternative = "two-sided",
    resamples: int,
    seed: int,
) -> tuple[NDArray[np.float64], list[str], list[int | None]]:
    """The p of many contrasts, how each came about, and how many resamples were drawn for it."""
    if test == "randomisation":
        p, exact = sign_flip_p(
            values, left, right, alternative=alternative, resamples=resamples, seed=seed
        )
        methods = ["randomisation, " + ("exact" if e else "Monte Carlo") for e in exact]
        return p, methods, [None if e else resamples for e in exact]
    differences = _differences(values, left, right)
    if test == "mcnemar":
        _refuse_other_than_0_and_1(values)
    p = CLOSED[test](differences, alternative)
    return p, [NAMES[test]] * len(left), [None] * len(left)


def between_0_and_1(name: str, value: object) -> None:
    """Refuse what is no number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise OptionError(f"{name} must be a number between 0 and 1, not {value!r}")


def _t_p(differences: NDArray[np.float64], alternative: Alternative) -> NDArray[np.float64]:
    import numpy as np
    from scipy.special import stdtr

    mean, error = _mean_and_error(differences)
    degrees = len(differences) - 1
    if degrees < 1:
        return np.ones(len(mean))
    known = error > 0
    beyond_all = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    t = np.where(known, mean / np.where(known, error, 1.0), beyond_all)
    if alternative == "two-sided":
        p = 2 * stdtr(degrees, -np.abs(t))
    else:
        p = stdtr(degrees, -t if alternative == "greater" else t)
    return np.where((differences == 0).all(axis=0), 1.0, p)


def _sign_p(differences: NDArray[np.float64], alternative: Alternative) -> NDArray[np.float64]:
    import numpy as np
    from scipy import stats  # type: ignore[import-untyped]

    wins, losses = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    n = wins + losses
    if alternative != "two-sided":
        unlikely = losses if alternative == "greater" else wins
        return np.asarray(stats.binom.cdf(unlikely, n, 0.5), dtype=np.float64)
    fewer = np.minimum(wins, losses)
    twice = 2 * np.asarray(stats.binom.cdf(fewer, n, 0.5), dtype=np.float64)
    return np.clip(twice, 0.0, 1.0)


def _wilcoxon_p(differences: NDArray[np.float64], alternative: Alternative) -> NDArray[np.float64]:
    """Many queries at once; few of them one by one, for each chooses its own exact method."""
    import numpy as np
    from scipy import stats

    p = np.ones(differences.shape[1])
    some = np.flatnonzero((differences != 0).any(axis=0))
    if len(differences) < 2 or not len(some):
        return p
    at_once = [some] if len(differences) > 50 else [some[i : i + 1] for i in range(len(some))]
    for columns in at_once:
        found = stats.wilcoxon(differences[:, columns], alternative=alternative, axis=0)
        p[columns] = found.pvalue
    return p


CLOSED: Mapping[str, Callable[[NDArray[np.float64], Alternative], NDArray[np.float64]]] = {
    "t": _t_p,
    "wilcoxon": _wilcoxon_p,
    "sign": _sign_p,
    "mcnemar": _sign_p,
}
NAMES = {
    "t": "paired t",
    "wilcoxon": "Wilcoxon signed rank",
    "sign": "sign, exact",
    "mcnemar": "McNemar, exact",
}


def _differences(
    values: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.float64]:
    import numpy as np

    alone = right < 0
    return values[:, left] - np.where(alone, 0.0, values[:, np.where(alone, 0, right)])


def _mean_and_error(
    differences: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of each column and its standard error, which is 0 where all rows say the same."""
    import numpy as np

    n = len(differences)
    flat = np.ptp(differences, axis=0) <= ROUNDING * np.abs(differences).max(axis=0)
    if n < 2:
        return differences.mean(axis=0), np.zeros(differences.shape[1])
    error = differences.std(axis=0, ddof=1) / np.sqrt(n)
    return differences.mean(axis=0), np.where(flat, 0.0, error)


def _interval(
    values: NDArray[np.float64],
    right: NDArray[np.intp],
    method: IntervalMethod,
    confidence: float,
    resamples: int,
    seed: int,
) -> Interval:
    import numpy as np

    one_of("method", method, INTERVALS)
    between_0_and_1("confidence", confidence)
    left = np.array([0])
    low, high = intervals_of(
        values,
        left,
        right,
        method=method,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    mean = float(_differences(values, left, right).mean())
    drawn = (None, None) if method == "t" else (resamples, seed)
    return Interval(float(low[0]), float(high[0]), mean, len(values), confidence, method, *drawn)


def _paired(a: Any, b: Any) -> NDArray[np.float64]:
    import numpy as np

    first, second = _column(a, "a"), _column(b, "b")
    if len(first) != len(second):
        raise OptionError(
            f"a has {len(first)} values and b has {len(second)}: pair them by query first "
            "(evalframe.compare_frames does)"
        )
    return np.column_stack([first, second])


def _column(values: Any, name: str) -> NDArray[np.float64]:
    import numpy as np

    series = pl.Series(values, strict=False).cast(pl.Float64)
    if series.len() == 0:
        raise EmptyError(f"{name} holds no value")
    if series.null_count() or not series.is_finite().all():
        raise RowError(f"{name} holds nulls, NaN or infinite values; drop or fill them first")
    return np.asarray(series.to_numpy(), dtype=np.float64)


def _refuse_other_than_0_and_1(values: NDArray[np.float64]) -> None:
    others = values[(values != 0) & (values != 1)]
    if len(others):
        raise OptionError(
            f"mcnemar compares values of 0 and 1, but there is {others[0]!r}; take another test, "
            "or a metric such as success@10"
        )
