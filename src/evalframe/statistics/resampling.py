"""Resampled intervals and tests of many paired columns at once.

Rows are queries, columns are what was measured on them (a metric of a system). A *contrast* is a
pair of columns, `left` minus `right`; where `right` is -1 it is the left column alone. All columns
of a call share their resamples, so that a resample is drawn once, as counts or signs, and a matrix
product gives the sums of every column.

The same seed gives the same resamples whatever the columns are, and the same bits of an interval:
sums over resamples are exact (see `evalframe.statistics.contrasts.on_a_grid`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from evalframe.errors import MissingExtraError, OptionError, one_of, whole_number
from evalframe.statistics.contrasts import ROUNDING, by_column, differences_of, on_a_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ALTERNATIVES",
    "DRAWN_TOGETHER",
    "Alternative",
    "bootstrap_intervals",
    "checked_draws",
    "replicated_means",
    "require_stats",
    "sign_flip_p",
]

Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES = ("two-sided", "greater", "less")

EXACT_UP_TO = 16
"""Differences other than 0 up to which every assignment of signs is gone through."""
DRAWN_TOGETHER = 400_000
"""Rows drawn in one piece, over all its resamples."""
HELD_TOGETHER = 2**23
"""Numbers of one array of replicates that are held at once."""
LARGEST_SEED = 2**63 - 1
"""What a column of whole numbers can hold."""


def require_stats() -> None:
    """Refuse to go on without numpy and scipy."""
    for package in ("numpy", "scipy"):
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtraError(package, "stats") from error


def checked_draws(resamples: int, seed: int) -> tuple[int, int]:
    """Refuse a number of resamples or a seed that is none; both as plain ints."""
    checked = whole_number("resamples", resamples, 1), whole_number("seed", seed, 0)
    for name, value in zip(("resamples", "seed"), checked, strict=True):
        if value > LARGEST_SEED:
            raise OptionError(f"{name}={value} is too large: {LARGEST_SEED} at most")
    return checked


def bootstrap_intervals(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    method: str = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bootstrap intervals of the mean of every contrast.

    Parameters
    ----------
    values
        rows × columns, finite.
    left, right
        The columns of each contrast; `right` -1 stands for 0.
    method
        `percentile`; `bca` (bias-corrected and accelerated); `studentised` (each resample's mean is
        divided by the resample's own standard error).
    confidence
        Share of intervals that shall hold the true mean.
    resamples, seed
        How many resamples of the rows are drawn, and from which random stream.

    Returns
    -------
    low, high
        One number for each contrast. With a single row, or rows that all show the same difference,
        both are the mean itself.

    Notes
    -----
    Source: Efron and Tibshirani 1993, chapters 12 to 14; `bca` and `percentile` are what
    `scipy.stats.bootstrap` makes of the same replicates.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [0.5], [1.0], [0.5]])
    >>> low, high = bootstrap_intervals(x, np.array([0]), np.array([-1]), method="percentile")
    >>> low.tolist(), high.tolist()
    ([0.125], [0.875])
    """
    import numpy as np

    require_stats()
    one_of("method", method, ("percentile", "bca", "studentised"))
    resamples, seed = checked_draws(resamples, seed)
    values = np.column_stack([values, np.zeros(len(values))])
    low, high = np.empty(len(left)), np.empty(len(left))
    for part in _parts(len(left), resamples):
        low[part], high[part] = _intervals(
            values,
            left[part],
            right[part],
            method=method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return low, high


def replicated_means(
    values: NDArray[np.float64], *, resamples: int, seed: int
) -> NDArray[np.float64]:
    """The means of every column in every bootstrap resample of the rows: resamples × columns."""
    centre = by_column(values).mean(axis=0)
    means = _sums(values - centre, resamples, seed) / len(values)
    means += centre
    return means


def sign_flip_p(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """p of the paired randomisation test of every contrast: each row's sign is turned or not.

    Parameters
    ----------
    values, left, right, resamples, seed
        See `bootstrap_intervals`.
    alternative
        `two-sided`, or that left is `greater` or `less` than right.

    Returns
    -------
    p
        The share of sign assignments whose sum is as far from 0 as the observed one. All of them
        are gone through where at most 16 differences are not 0; else `resamples` are drawn, and the
        observed one counts as one of them: (as far + 1) / (resamples + 1).
    exact
        Whether all were gone through.

    Notes
    -----
    Values, and sums, that differ by rounding alone count as equal. Source: Fisher 1935;
    Smucker, Allan and Carterette 2007 for its use in retrieval.

    Examples
    --------
    >>> import numpy as np
    >>> ab = np.array([[0.9, 0.5], [0.7, 0.6], [0.8, 0.5]])
    >>> p, exact = sign_flip_p(ab, np.array([0]), np.array([1]))
    >>> p.tolist(), exact.tolist()
    ([0.25], [True])
    """
    import numpy as np

    require_stats()
    one_of("alternative", alternative, ALTERNATIVES)
    resamples, seed = checked_draws(resamples, seed)
    values = np.column_stack([values, np.zeros(len(values))])
    p = np.ones(len(left))
    exact = np.zeros(len(left), dtype=bool)
    for part in _parts(len(left), 2**EXACT_UP_TO):
        differences = differences_of(values, left[part], right[part])
        few = (differences != 0).sum(axis=0) <= EXACT_UP_TO
        exact[part] = few
        if few.any():
            p[part][few] = _exact_sign_flip_p(differences[:, few], alternative)
    many = np.flatnonzero(~exact)
    if len(many):
        p[many] = _drawn_sign_flip_p(values, left[many], right[many], alternative, resamples, seed)
    return p, exact


def _parts(n_contrasts: int, numbers_each: int) -> Iterator[slice]:
    """Contrasts that are worked on together, so that no array grows with their number."""
    size = max(1, HELD_TOGETHER // numbers_each)
    for start in range(0, n_contrasts, size):
        yield slice(start, min(start + size, n_contrasts))


def _drawn(n: int, resamples: int, seed: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """How often each row was drawn, some resamples at a time."""
    import numpy as np

    rng = np.random.default_rng(seed)
    size = max(1, min(256, DRAWN_TOGETHER // n))
    width = np.uint16 if n <= 2**16 else np.uint32
    for start in range(0, resamples, size):
        k = min(size, resamples - start)
        rows = rng.integers(0, n, (k, n), dtype=width).astype(np.intp)
        rows += (np.arange(k) * n)[:, None]
        counts = np.bincount(rows.ravel(), minlength=k * n).reshape(k, n)
        yield slice(start, start + k), counts.astype(np.float64)


def _sums(columns: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """The sum of every column over the rows of every resample: resamples × columns."""
    import numpy as np

    sums = np.empty((resamples, columns.shape[1]))
    columns = on_a_grid(columns)
    for rows, counts in _drawn(len(columns), resamples, seed):
        sums[rows] = counts @ columns
    return sums


def _intervals(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    *,
    method: str,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np

    n, n_contrasts = len(values), len(left)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    differences = differences_of(values, left, right)
    mean = differences.mean(axis=0)
    flat = np.ptp(differences, axis=0) <= ROUNDING * np.abs(differences).max(axis=0)
    around = np.where(flat, 0.0, differences - mean)
    if method == "studentised":
        both = _sums(np.hstack([around, around**2]), resamples, seed)
        low, high = _studentised(around, both[:, :n_contrasts], both[:, n_contrasts:], tails)
        return mean + low, mean + high
    used, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    columns = by_column(values[:, used])
    centred = columns - columns.mean(axis=0)
    first, second = places[:n_contrasts], places[n_contrasts:]
    # Always from the columns' sums, so that a contrast beside others has the same bits as alone.
    of_columns = _sums(centred, resamples, seed)
    sums = of_columns[:, first] - of_columns[:, second]
    sums[:, flat] = 0.0
    size = np.abs(centred).sum(axis=0)
    slack = ROUNDING * (size[first] + size[second])
    shares = _bca_shares(around, sums, slack, tails) if method == "bca" else tails[:, None]
    low, high = _quantiles(sums, np.broadcast_to(shares, (2, n_contrasts))) / n
    return mean + low, mean + high


def _bca_shares(
    around: NDArray[np.float64],
    sums: NDArray[np.float64],
    slack: NDArray[np.float64],
    tails: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Which quantiles of the replicates bound the interval, corrected for bias and skew."""
    import numpy as np
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

    below = ((sums < -slack).mean(axis=0) + (sums <= slack).mean(axis=0)) / 2
    bias = ndtri(np.clip(below, 0.5 / len(sums), 1 - 0.5 / len(sums)))
    spread = (around**2).sum(axis=0)
    skew = (around**3).sum(axis=0) / np.where(spread > 0, spread, 1.0) ** 1.5 / 6
    moved = bias + ndtri(tails)[:, None]
    shares: NDArray[np.float64] = ndtr(bias + moved / (1 - skew * moved))
    return shares


def _studentised(
    around: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    tails: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends, as distances from the mean."""
    import numpy as np

    n = len(around)
    error = np.sqrt((around**2).sum(axis=0)) / n
    own_error = np.sqrt(np.maximum(squares - sums**2 / n, 0.0)) / n
    # A resample of one value over and over has no spread of its own: it takes the data's.
    own_error = np.where(own_error > 1e-9 * error, own_error, np.where(error > 0, error, 1.0))
    low, high = _quantiles(
        sums / n / own_error, np.broadcast_to(tails[:, None], (2, sums.shape[1]))
    )
    return -high * error, -low * error


def _quantiles(replicates: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column's own quantiles, with linear interpolation: shares × columns."""
    import numpy as np

    ordered = np.ascontiguousarray(replicates.T)
    ordered.sort(axis=1)
    at = np.clip(shares, 0.0, 1.0) * (len(replicates) - 1)
    below = np.floor(at).astype(np.intp)
    above = np.minimum(below + 1, len(replicates) - 1)
    column = np.arange(ordered.shape[0])[None, :]
    lower, upper = ordered[column, below], ordered[column, above]
    result: NDArray[np.float64] = lower + (upper - lower) * (at - below)
    return result


def _exact_sign_flip_p(
    differences: NDArray[np.float64], alternative: Alternative
) -> NDArray[np.float64]:
    """Every assignment of signs to the differences that are not 0; zeros fill short columns up."""
    import numpy as np

    n_signs = int((differences != 0).sum(axis=0).max(initial=0))
    first = np.argsort(differences == 0, axis=0, kind="stable")[:n_signs]
    packed = np.take_along_axis(differences, first, axis=0)
    numbers = np.arange(2**n_signs)[:, None]
    signs = 1.0 - 2.0 * ((numbers >> np.arange(n_signs)) & 1)
    far = _as_far(signs @ packed, packed.sum(axis=0), np.abs(packed).sum(axis=0), alternative)
    shares: NDArray[np.float64] = far.mean(axis=0)
    return shares


def _drawn_sign_flip_p(
    values: NDArray[np.float64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    alternative: Alternative,
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Signs drawn as single bits; a contrast's sum is the difference of its columns' sums."""
    import numpy as np

    n = len(values)
    rng = np.random.default_rng(seed)
    size = max(1, min(256, DRAWN_TOGETHER // n))
    n_bytes = -(-n // 8)
    total, sizes = values.sum(axis=0), np.abs(values).sum(axis=0)
    observed, slack = total[left] - total[right], sizes[left] + sizes[right]
    as_far = np.zeros(len(left))
    for start in range(0, resamples, size):
        k = min(size, resamples - start)
        drawn = np.frombuffer(rng.bytes(k * n_bytes), np.uint8).reshape(k, n_bytes)
        bits = np.unpackbits(drawn, axis=1, count=n).astype(np.float64)
        sums = 2 * (bits @ values) - total
        as_far += _as_far(sums[:, left] - sums[:, right], observed, slack, alternative).sum(axis=0)
    p: NDArray[np.float64] = (as_far + 1) / (resamples + 1)
    return p


def _as_far(
    sums: NDArray[np.float64],
    observed: NDArray[np.float64],
    sizes: NDArray[np.float64],
    alternative: Alternative,
) -> NDArray[np.bool_]:
    """Which sums are at least as far from 0 as the observed one, but for rounding."""
    import numpy as np

    slack = ROUNDING * sizes
    if alternative == "greater":
        return sums >= observed - slack
    if alternative == "less":
        return sums <= observed + slack
    far: NDArray[np.bool_] = np.abs(sums) >= np.abs(observed) - slack
    return far
