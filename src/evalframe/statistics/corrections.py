"""Corrections of p-values for being many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from evalframe.errors import OptionError, one_of

__all__ = ["CORRECTIONS", "FAMILIES", "Correction", "Family", "correct", "correction_of"]

Correction = Literal["holm", "bonferroni", "benjamini-hochberg", "none", "bh", "fdr_bh"]
CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg", "none")
SHORT_NAMES: dict[str, Correction] = {"bh": "benjamini-hochberg", "fdr_bh": "benjamini-hochberg"}
"""What scipy and statsmodels call a correction → its name here."""

Family = Literal["all", "metric", "pair"]
"""Which p-values are corrected together.

`all` of a comparison's; those of each `metric`, where one metric was named beforehand and others
are by the way; or those of each `pair` of systems.
"""
FAMILIES = ("all", "metric", "pair")


def correction_of(name: str) -> Correction:
    """The correction that a name stands for; what is none is refused.

    >>> correction_of("bh")
    'benjamini-hochberg'
    """
    one_of("correction", name, (*CORRECTIONS, *SHORT_NAMES))
    return SHORT_NAMES.get(name, cast(Correction, name))


def correct(p_values: Sequence[float | None], method: Correction = "holm") -> list[float | None]:
    """Correct a family of p-values.

    Parameters
    ----------
    p_values
        The family, in any order. None where there was nothing to test: it stays None and does not
        count.
    method
        `holm` and `bonferroni` bound the chance of any false discovery, and `holm` is never the
        weaker; `benjamini-hochberg` (or `bh`, scipy's name, or `fdr_bh`, that of statsmodels)
        bounds the expected share of false ones among discoveries; `none` gives them back.

    Returns
    -------
    list
        In the order given; compared with alpha as they are.

    Raises
    ------
    OptionError
        A p-value is not between 0 and 1, or the method is not offered.

    Notes
    -----
    Sources: Holm 1979; Benjamini and Hochberg 1995 (`scipy.stats.false_discovery_control`).

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    >>> correct([0.01, None, 0.25], "bonferroni")
    [0.02, None, 0.5]
    """
    method = correction_of(method)
    family = [(p, place) for place, p in enumerate(p_values) if p is not None]
    wrong = [p for p, _ in family if not 0 <= p <= 1]
    if wrong:
        raise OptionError(f"a p-value lies between 0 and 1, but there is {wrong[0]!r}")
    corrected: list[float | None] = [None] * len(p_values)
    family.sort()
    n = len(family)
    if method == "benjamini-hochberg":
        family.reverse()
    running = 1.0 if method == "benjamini-hochberg" else 0.0
    for i, (p, place) in enumerate(family):
        if method == "holm":
            running = max(running, min(1.0, (n - i) * p))
        elif method == "benjamini-hochberg":
            running = min(running, p * (n / (n - i)))
        else:
            running = min(1.0, n * p) if method == "bonferroni" else p
        corrected[place] = running
    return corrected
