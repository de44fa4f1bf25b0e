"""Weights of systems: by name or in the order of the runs, checked against the names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import polars as pl

from evalframe.errors import OptionError

__all__ = ["LACKING", "Weights", "named_weights", "weight_of"]

Weights = Mapping[Any, float] | Iterable[float]

LACKING = "weights lack the system "


def named_weights(names: list[str], weights: Weights, where: str = "weights") -> dict[str, float]:
    """Each system's weight, by name; a name that is a number stands for its digits.

    `names` are the systems in order, or none where they are a column that has not been read; then
    weights come by name, and what they lack is found when the plan runs.
    """
    if isinstance(weights, Mapping):
        named = {str(name): weight for name, weight in weights.items()}
        if len(named) < len(weights):
            raise OptionError(f"{where} name a system twice: {list(weights)}")
    else:
        named = _in_order(names, weights, where)
    lacking = [name for name in names if name not in named]
    strange = [name for name in named if names and name not in names]
    if lacking or strange:
        faults = [f"lack {lacking}"] if lacking else []
        faults += [f"name {strange}, which are no runs"] if strange else []
        raise OptionError(f"{where} {' and '.join(faults)}; the runs are {names}")
    return {name: _number(weight, name, where) for name, weight in named.items()}


def weight_of(names: list[str], weights: Weights | None) -> pl.Expr:
    """The weight of a row's system; a system without one fails the plan."""
    if weights is None:
        return pl.lit(1.0)
    named = named_weights(names, weights)
    known = pl.col("system").replace_strict(
        [*named], [*named.values()], default=None, return_dtype=pl.Float64
    )
    lacking = pl.concat_str(pl.lit(LACKING), pl.col("system"))
    return pl.when(known.is_null()).then(lacking.cast(pl.Int64).cast(pl.Float64)).otherwise(known)


def _in_order(names: list[str], weights: Any, where: str) -> dict[str, float]:
    if isinstance(weights, str | bytes) or not isinstance(weights, Iterable):
        raise OptionError(
            f"{where} must be a number for each system, by name or in order, not {weights!r}"
        )
    listed = list(weights)
    if len(listed) != len(names):
        raise OptionError(
            f"there are {len(listed)} {where} for "
            + (f"{len(names)} runs" if names else "a column of systems: name each system's")
        )
    return dict(zip(names, listed, strict=True))


def _number(weight: object, name: str, where: str) -> float:
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not is_number or not math.isfinite(weight):  # type: ignore[arg-type]
        raise OptionError(f"{where} must be finite numbers: {name!r} has {weight!r}")
    return float(weight)  # type: ignore[arg-type]
