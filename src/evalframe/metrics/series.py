"""Sums over ranks that no document stands at, in closed form or from a table."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

__all__ = ["digamma", "partial_sums", "summed_upto", "trigamma"]

SHIFT = 10
"""How far the argument is moved up before the asymptotic series, which is then exact to 1e-16."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def digamma(x: pl.Expr) -> pl.Expr:
    """ψ(x) for x > 0: ψ(b + 1) - ψ(a) is the sum of 1/i for i from a to b."""
    far = x.cast(pl.Float64) + SHIFT
    series = far.log() - 1 / (2 * far)
    for n, b in enumerate(BERNOULLI, 1):
        series = series - b / (2 * n) / far ** (2 * n)
    return series - sum((1 / (x + step) for step in range(SHIFT)), start=pl.lit(0.0))


def trigamma(x: pl.Expr) -> pl.Expr:
    """ψ'(x) for x > 0: ψ'(a) - ψ'(b + 1) is the sum of 1/i² for i from a to b."""
    far = x.cast(pl.Float64) + SHIFT
    series = 1 / far + 1 / (2 * far**2)
    for n, b in enumerate(BERNOULLI, 1):
        series = series + b / far ** (2 * n + 1)
    return series + sum((1 / (x + step) ** 2 for step in range(SHIFT)), start=pl.lit(0.0))


def partial_sums(term: Callable[[int], float], n: int) -> list[float]:
    """The sums of the first 0, 1, … n terms; terms are numbered from 1."""
    sums = [0.0]
    terms: list[float] = []
    for i in range(1, n + 1):
        terms.append(term(i))
        sums.append(sums[-1] + terms[-1])
    if sums:
        sums[-1] = math.fsum(terms)
    return sums


def summed_upto(place: pl.Expr, sums: list[float]) -> pl.Expr:
    """The sum of the terms down to each place, from a table of partial sums; flat beyond it."""
    return pl.lit(pl.Series(sums)).gather(place.clip(0, len(sums) - 1).cast(pl.UInt32))
