"""AP correlation of two rankings that may both have ties, and of which neither is the truth."""

from __future__ import annotations

from collections.abc import Sequence

from evalframe.errors import OptionError

__all__ = ["tau_ap_b"]


def tau_ap_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """AP correlation as agreement: symmetric, and 1 for a list with ties beside itself.

    Going down one ranking from its second group of ties, the mean share of what stands above a
    group that the other ranking has above too, scaled to -1 … 1; then the mean of both ways.

    Parameters
    ----------
    x, y
        Values of the same things, paired by place; greater is better.

    Returns
    -------
    float or None
        1 for the same order with the same ties. What one list ties and the other does not is not
        agreed on. None where one of the lists has a single value throughout.

    Raises
    ------
    OptionError
        The lists are not of the same length.

    Notes
    -----
    Source: Urbano and Marrero 2017, tau_AP,b. Where one list is the truth, `tau_ap` says how near
    the other comes to it; their tau_AP,a is `tau_ap` of a truth without ties.

    Examples
    --------
    >>> tau_ap_b([3, 2, 2, 1], [3, 2, 2, 1]), tau_ap_b([3, 2, 2, 1], [1, 2, 2, 3])
    (1.0, -1.0)
    >>> tau_ap_b([4, 3, 2, 1], [3, 4, 2, 1])
    0.33333333333333326
    """
    if len(x) != len(y):
        raise OptionError(f"the lists are paired by place, and have {len(x)} and {len(y)} values")
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return (_one_way(x, y) + _one_way(y, x)) / 2


def _one_way(other: Sequence[float], ranking: Sequence[float]) -> float:
    """Going down the ranking, whose ties share the place of the first of them."""
    shares = []
    for own_other, own in zip(other, ranking, strict=True):
        above = [value for value, place in zip(other, ranking, strict=True) if place > own]
        if above:
            shares.append(sum(value > own_other for value in above) / len(above))
    return 2 * sum(shares) / len(shares) - 1
