"""Paired tests and intervals of many contrasts at once, in closed form or resampled.

Contrasts are as in `evalframe.statistics.resampling`. p-values of closed forms are scipy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from evalframe.errors import OptionError
from evalframe.statistics.contrasts import ROUNDING, differences_of
from evalframe.statistics.resampling import Alternative, bootstrap_intervals, sign_flip_p

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OF_PAIRS", "intervals_of", "p_values_of"]

OF_PAIRS = ("randomisation", "t", "wilcoxon", "sign", "mcnemar")
"""Tests that look at two systems and nothing else."""


def intervals_of(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    method: str,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of many contrasts; see `evalframe.statistics.resampling.bootstrap_intervals`.

    A single row says nothing about how values are spread: both ends are NaN.
    """
    import numpy as np

    if len(values) < 2:
        return np.full(len(left), np.nan), np.full(len(left), np.nan)
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

    mean, error = _mean_and_error(differences_of(values, left, right))
    degrees = max(len(values) - 1, 1)
    reach = np.float64(stdtrit(degrees, (1 + confidence) / 2)) * error
    return mean - reach, mean + reach


def p_values_of(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    test: str,
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
    differences = differences_of(values, left, right)
    if test == "mcnemar":
        _refuse_other_than_0_and_1(values)
    p = CLOSED[test](differences, alternative)
    return p, [NAMES[test]] * len(left), [None] * len(left)


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


def _refuse_other_than_0_and_1(values: NDArray[np.float64]) -> None:
    others = values[(values != 0) & (values != 1)]
    if len(others):
        raise OptionError(
            f"mcnemar compares values of 0 and 1, but there is {float(others[0])!r}; take "
            "another test, or a metric such as success@10"
        )
