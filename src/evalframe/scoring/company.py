"""One more query beside those that are scored, so that none is ever scored alone."""

from __future__ import annotations

import functools

import polars as pl

__all__ = ["with_company"]

RANKS = [1, None, 2, 3, None]
RELEVANCES = [1, 1, 0, -1, -1]


def with_company(rows: pl.DataFrame, n_units: int) -> pl.DataFrame:
    """The judged rows of so many units, and those of one more, which no one asks for.

    Polars adds up and divides in other ways where there is one group only, or where a filter lets
    every row of the frame pass: the last bit of a query's value would hang on which others stand
    beside it. The unit added has documents that pass and documents that do not, of every sort.
    """
    added = _one_more(tuple(rows.schema.items()), n_units)
    together = pl.concat([rows, added])
    return together.replace_column(together.get_column_index("unit"), together["unit"].set_sorted())


@functools.lru_cache(maxsize=64)
def _one_more(schema: tuple[tuple[str, pl.DataType], ...], unit: int) -> pl.DataFrame:
    """The rows of the unit that is added, of whatever columns the judged rows have."""
    n = len(RANKS)
    values: dict[str, list[int | None]] = {
        "unit": [unit] * n,
        "relevance": [*RELEVANCES],
        "rank": RANKS,
        "ideal_rank": [*range(1, n + 1)],
        "n_retrieved": [3] * n,
    }
    return pl.DataFrame(
        [pl.Series(name, values.get(name, [None] * n), dtype) for name, dtype in schema]
    )
