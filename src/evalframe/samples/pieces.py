"""Samples in pieces, so that tokens of a few are in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from evalframe.columns import SAMPLES

__all__ = ["pieces"]


def pieces(samples: pl.DataFrame, rows: int, size: int) -> Iterator[pl.DataFrame]:
    """The samples cut where their rows, or the bytes of their text, become many.

    Parameters
    ----------
    samples
        At least one; with the house's columns, as far as there are any.
    rows, size
        How many rows, and about how many bytes of text, a piece has at most.
    """
    sizes = [
        pl.col(column).str.len_bytes()
        if role == "text"
        else pl.col(column).list.eval(pl.element().str.len_bytes()).list.sum()
        for column, role in SAMPLES.roles.items()
        if column in samples.columns and role in ("text", "texts")
    ]
    row = pl.int_range(pl.len())
    total = pl.sum_horizontal(pl.lit(0, pl.Int64), *sizes).cum_sum()
    of_rows, of_bytes = row // rows, total // size
    begins = samples.select(
        pl.arg_where((of_rows != of_rows.shift()) | (of_bytes != of_bytes.shift()))
    )
    starts = [0, *begins.to_series()]
    for start, end in zip(starts, [*starts[1:], samples.height], strict=True):
        yield samples.slice(start, end - start)
