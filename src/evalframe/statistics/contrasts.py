"""Differences of paired columns, free of rounding, and sums that no order of adding changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ROUNDING", "by_column", "differences_of", "on_a_grid"]

ROUNDING = 1e-12
"""Share of the values' size by which equal values, or equal sums of them, may come out apart."""


def differences_of(
    values: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The rows of each contrast: left minus right, or left alone where right is -1.

    Values that are the same but for rounding have the difference 0, so that no query is won by it.
    """
    import numpy as np

    alone = right < 0
    ours = values[:, left]
    theirs = np.where(alone, 0.0, values[:, np.where(alone, 0, right)])
    found = ours - theirs
    found[np.abs(found) <= ROUNDING * np.maximum(np.abs(ours), np.abs(theirs))] = 0.0
    return by_column(found)


def by_column(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same values, laid out so that a column's sum is the same whatever stands beside it."""
    import numpy as np

    return np.asfortranarray(values)


def on_a_grid(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column rounded so far that sums of as many of its values as it has rows are exact.

    A matrix product of counts and such columns gives the same bits in any order of adding: with
    one thread or several, and whatever columns stand beside.
    """
    import numpy as np

    largest = np.abs(columns).max(axis=0, initial=0.0) * len(columns)
    _, exponent = np.frexp(largest)
    step = np.ldexp(1.0, np.maximum(exponent - 52, -1000))
    found: NDArray[np.float64] = np.rint(columns / step) * step
    return found
