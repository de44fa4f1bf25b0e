"""How small a difference a number of queries can show, and how many queries a difference needs."""

from __future__ import annotations

from collections.abc import Callable

from evalframe.errors import OptionError, whole_number
from evalframe.statistics import between_0_and_1
from evalframe.statistics.resampling import require_stats

__all__ = ["minimum_detectable_difference", "power_of", "queries_needed"]

MOST_QUERIES = 10_000_000


def power_of(difference: float, sd: float, n: int, *, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test on n queries finds a true difference.

    Parameters
    ----------
    difference
        The true mean difference.
    sd
        Standard deviation of the differences between queries' values.
    n
        Queries, at least 2.
    alpha
        The level of the test.

    Examples
    --------
    >>> round(power_of(0.05, 0.1, 34), 3)
    0.808
    """
    require_stats()
    from scipy import special  # type: ignore[import-untyped]

    _check(difference, sd, alpha)
    _check_n(n)
    if difference == 0:
        return alpha
    shift = abs(difference) / sd * n**0.5
    critical = float(special.stdtrit(n - 1, 1 - alpha / 2))
    missed = float(special.nctdtr(n - 1, shift, critical))
    wrong_side = float(special.nctdtr(n - 1, shift, -critical))
    # The non-central distribution is not computed far out, where the power is 1 or its rest is 0.
    if not 0 <= missed <= 1:
        return 1.0 if shift > critical else alpha
    return min(1.0, 1 - missed + (wrong_side if 0 <= wrong_side <= 1 else 0.0))


def minimum_detectable_difference(
    sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The smallest true difference that a paired t-test on n queries finds with this power.

    Parameters
    ----------
    sd
        Standard deviation of the differences between queries' values (`pairs["sd"]` of a
        comparison).
    n
        Queries, at least 2.
    alpha, power
        Level of the two-sided test, and the chance of finding the difference.

    Returns
    -------
    float
        0 where `sd` is 0.

    Examples
    --------
    >>> round(minimum_detectable_difference(0.2, 50), 4)
    0.0808
    """
    require_stats()
    _check(1.0, sd or 1.0, alpha)
    between_0_and_1("power", power)
    _check_n(n)
    if sd == 0 or power <= alpha:
        return 0.0
    high = sd
    while power_of(high, sd, n, alpha=alpha) < power:
        high *= 2
    return _bisected(lambda d: power_of(d, sd, n, alpha=alpha) >= power, 0.0, high)


def queries_needed(
    difference: float, sd: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """How many queries a paired t-test needs to find a true difference with this power.

    Parameters
    ----------
    difference, sd
        The true mean difference, and the standard deviation of differences between queries.
    alpha, power
        Level of the two-sided test, and the chance of finding the difference.

    Returns
    -------
    int or None
        At least 2; None where ten million would not do, as for a difference of 0.

    Examples
    --------
    >>> queries_needed(0.05, 0.1), queries_needed(0.02, 0.1)
    (34, 199)
    """
    require_stats()
    _check(difference, sd or 1.0, alpha)
    between_0_and_1("power", power)
    if sd == 0:
        return 2 if difference else None
    if not difference or power_of(difference, sd, MOST_QUERIES, alpha=alpha) < power:
        return None
    low, high = 1, 2
    while power_of(difference, sd, high, alpha=alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_of(difference, sd, middle, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _bisected(enough: Callable[[float], bool], low: float, high: float) -> float:
    """The least number that is enough, between one that is not and one that is."""
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-12 * high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check(difference: float, sd: float, alpha: float) -> None:
    between_0_and_1("alpha", alpha)
    if not abs(difference) < float("inf") or not 0 < sd < float("inf"):
        raise OptionError(
            f"the difference must be finite and sd above 0, not {difference!r} and {sd!r}"
        )


def _check_n(n: int) -> None:
    whole_number("n", n, least=2)
