"""Tests and intervals for paired values: is a difference more than chance?

Values are paired by place: the first of `a` and the first of `b` belong to the same query. Frames
are paired by their keys in `evalframe.comparing.compare`, which calls what is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from evalframe.errors import EmptyError, OptionError, RowError, one_of
from evalframe.statistics.closed_tests import OF_PAIRS, intervals_of, p_values_of
from evalframe.statistics.contrasts import differences_of
from evalframe.statistics.corrections import FAMILIES, Correction, Family, correction_of
from evalframe.statistics.resampling import ALTERNATIVES, Alternative, checked_draws, require_stats

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
    "between_0_and_1",
    "difference_interval",
    "mean_interval",
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
"""The names of all tests."""

IntervalMethod = Literal["bca", "percentile", "studentised", "t"]
"""How an interval of a mean is made: three bootstrap methods, and Student's t.

`t` and `studentised` may reach beyond what the metric can be.
"""
INTERVALS = ("bca", "percentile", "studentised", "t")
"""The names of all intervals of a mean."""


@dataclass(frozen=True)
class Procedure:
    """How systems are compared: everything that p-values and intervals depend on.

    Attributes
    ----------
    test, interval
        See `Test` and `IntervalMethod`.
    correction, family
        How p-values allow for being many, and which of them are taken together; see
        `evalframe.statistics.corrections.correct` and `evalframe.statistics.corrections.Family`.
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
        one_of("family", self.family, FAMILIES)
        one_of("interval", self.interval, INTERVALS)
        object.__setattr__(self, "correction", correction_of(self.correction))
        draws = checked_draws(self.resamples, self.seed)
        for name, value in zip(("resamples", "seed"), draws, strict=True):
            object.__setattr__(self, name, value)
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
    alternative
        `two-sided`, or that a is `greater` or `less` than b.
    """

    p: float
    difference: float
    n: int
    method: str
    resamples: int | None = None
    seed: int | None = None
    alternative: Alternative = "two-sided"


@dataclass(frozen=True)
class Interval:
    """An interval of a mean, and how it was made.

    `low` and `high` are None for a single value; `resamples` and `seed` for Student's t.
    """

    low: float | None
    high: float | None
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
    against losses, ties left out). Values that are the same but for rounding (a share of 1e-12)
    differ by 0. Differences that are equal but for rounding count as different to `wilcoxon`:
    round the values first where that matters.

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
    resamples, seed = checked_draws(resamples, seed)
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
    difference = float(differences_of(values, np.array([0]), np.array([1])).mean())
    was_drawn = drawn[0] is not None
    return PairedResult(
        float(p[0]),
        difference,
        len(values),
        methods[0],
        drawn[0],
        seed if was_drawn else None,
        alternative,
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
        Of width 0 where all values are the same; without ends for a single value.

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


def between_0_and_1(name: str, value: object) -> None:
    """Refuse what is no number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise OptionError(f"{name} must be a number between 0 and 1, not {value!r}")


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
    resamples, seed = checked_draws(resamples, seed)
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
    mean = float(differences_of(values, left, right).mean())
    drawn = (None, None) if method == "t" else (resamples, seed)
    alone = len(values) < 2
    ends = [None if alone else float(end[0]) for end in (low, high)]
    return Interval(ends[0], ends[1], mean, len(values), confidence, method, *drawn)


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

    if isinstance(values, Mapping | str) or not hasattr(values, "__len__"):
        raise RowError(f"{name} must be a list of numbers, not {type(values).__name__}")
    try:
        series = pl.Series(values, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise RowError(f"{name} must be numbers, one for each query: {error}") from error
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise RowError(
            f"{name} must be numbers, one for each query, not {series.dtype} "
            f"(first: {series.head(1).to_list()})"
        )
    series = series.cast(pl.Float64)
    if series.len() == 0:
        raise EmptyError(f"{name} holds no value")
    if series.null_count() or not series.is_finite().all():
        raise RowError(f"{name} holds nulls, NaN or infinite values; drop or fill them first")
    return np.asarray(series.to_numpy(), dtype=np.float64)
