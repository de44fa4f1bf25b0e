"""Tukey's honestly significant differences: all pairs of systems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalframe.errors import one_of
from evalframe.statistics.contrasts import ROUNDING
from evalframe.statistics.resampling import DRAWN_TOGETHER, checked_draws, require_stats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TUKEY_NAMES", "randomised_tukey_p", "tukey_p"]

TUKEY_NAMES = {
    "tukey": "Tukey HSD, queries as blocks",
    "tukey_unblocked": "Tukey HSD, one-way",
    "randomised_tukey": "randomised Tukey HSD, Monte Carlo",
}


def tukey_p(
    values: NDArray[np.float64], test: str = "tukey", *, resamples: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """p of every pair of systems, allowing for all pairs of a metric being looked at.

    Parameters
    ----------
    values
        queries × systems × metrics; every system has a value on every query.
    test
        `tukey` takes the spread that queries explain out (a two-way layout, as suits systems that
        answered the same queries); `tukey_unblocked` does not, and is `scipy.stats.tukey_hsd`;
        `randomised_tukey` shuffles systems within queries.
    resamples, seed
        For `randomised_tukey`.

    Returns
    -------
    p
        systems × systems × metrics; 1 with a single query, or where nothing differs.

    Notes
    -----
    With two systems, `tukey` is the paired t-test and `randomised_tukey` the randomisation test.
    Sources: Tukey 1953; Carterette 2012.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.1, 0.3, 0.9], [0.2, 0.2, 0.8], [0.4, 0.5, 0.9]])[:, :, None]
    >>> tukey_p(values)[0, 1:, 0].round(4).tolist()
    [0.4274, 0.002]
    """
    require_stats()
    import numpy as np

    one_of("test", test, TUKEY_NAMES)
    n, n_systems, _ = values.shape
    if test == "randomised_tukey":
        return randomised_tukey_p(values, resamples=resamples, seed=seed)
    means = values.mean(axis=0)
    apart = np.abs(means[:, None] - means[None, :])
    if n < 2 or n_systems < 2:
        return np.ones(apart.shape)
    rest = values - means
    degrees = n_systems * (n - 1)
    if test == "tukey":
        rest = rest - rest.mean(axis=1, keepdims=True)
        degrees = (n_systems - 1) * (n - 1)
    error: NDArray[np.float64] = np.sqrt((rest**2).sum(axis=(0, 1)) / degrees / n)
    slack = ROUNDING * np.abs(values).max(axis=(0, 1))
    return _beyond(apart, error, slack, n_systems, degrees)


def randomised_tukey_p(
    values: NDArray[np.float64], *, resamples: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """p of every pair of systems under Tukey's randomised HSD.

    In each resample the systems' values are shuffled within every row; a pair's p is the share of
    resamples in which the greatest and the smallest mean lie as far apart as the pair's means do:
    (as far + 1) / (resamples + 1). It allows for all pairs of systems being looked at.

    Parameters
    ----------
    values
        rows × systems × metrics.
    resamples, seed
        How many shuffles are drawn, and from which random stream.

    Returns
    -------
    p
        systems × systems × metrics.

    Notes
    -----
    Source: Carterette 2012, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> same = np.full((5, 3, 1), 0.5)
    >>> randomised_tukey_p(same, resamples=100)[0, 1]
    array([1.])
    """
    import numpy as np

    require_stats()
    resamples, seed = checked_draws(resamples, seed)
    n, n_systems = values.shape[:2]
    means = values.mean(axis=0)
    apart = np.abs(means[:, None] - means[None, :])
    slack = ROUNDING * np.abs(values).sum(axis=(0, 1)) / n
    rng = np.random.default_rng(seed)
    size = max(1, DRAWN_TOGETHER // values.size)
    as_far = np.zeros(apart.shape)
    systems = np.arange(n_systems, dtype=np.int8 if n_systems < 128 else np.int32)
    rows = np.arange(n)[None, :, None]
    for start in range(0, resamples, size):
        k = min(size, resamples - start)
        order = rng.permuted(np.broadcast_to(systems, (k * n, n_systems)), axis=1)
        shuffled = values[rows, order.reshape(k, n, n_systems)].mean(axis=1)
        spread = shuffled.max(axis=1) - shuffled.min(axis=1)
        for s in range(n_systems):
            as_far[s] += (spread[:, None, :] >= apart[s] - slack).sum(axis=0)
    p: NDArray[np.float64] = (as_far + 1) / (resamples + 1)
    return p


def _beyond(
    apart: NDArray[np.float64],
    error: NDArray[np.float64],
    slack: NDArray[np.float64],
    n_systems: int,
    degrees: int,
) -> NDArray[np.float64]:
    """How often the range of so many means is as many standard errors wide."""
    import numpy as np
    from scipy import stats  # type: ignore[import-untyped]

    known = error > slack
    wide = apart / np.where(known, error, 1.0)
    p = np.where(apart > slack, 0.0, 1.0)
    first, second = np.triu_indices(n_systems, 1)
    asked = wide[first, second][:, known]
    found = np.clip(stats.studentized_range.sf(asked, n_systems, degrees), 0.0, 1.0)
    upper = p[first, second]
    upper[:, known] = found
    p[first, second] = upper
    p[second, first] = upper
    return p
