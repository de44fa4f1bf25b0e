"""Rows by the hash of their keys: equal keys have equal hashes, and others nearly never."""

from __future__ import annotations

import polars as pl

__all__ = ["all_differ", "pair_hash"]

SCATTERED = range(1 << 17, 1 << 19)
"""Numbers of rows for which writing in places is quicker than sorting: the places fit a cache."""


def pair_hash(keys: list[str]) -> pl.Expr:
    """A 64-bit hash of the key columns; equal keys have equal hashes within one process."""
    hashed = pl.col(keys[0]).hash(1)
    for seed, key in enumerate(keys[1:], start=2):
        hashed = hashed ^ pl.col(key).hash(seed)
    return hashed


def all_differ(frame: pl.DataFrame, keys: list[str]) -> bool:
    """Whether no two rows have keys of one hash; where two do, their keys may still differ.

    >>> frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
    >>> all_differ(frame, ["query_id", "doc_id"]), all_differ(frame, ["query_id"])
    (True, False)
    """
    hashes = frame.select(pair_hash(keys)).to_series()
    if hashes.len() in SCATTERED:
        return _differ_by_place(hashes)
    return hashes.n_unique() == hashes.len()


def _differ_by_place(hashes: pl.Series) -> bool:
    """Each row writes its number in a place named by its hash; equal hashes share a place.

    A row whose place another has taken is compared with that one, and with those like itself.
    """
    n_places = 1 << (2 * hashes.len()).bit_length()
    place = (hashes & (n_places - 1)).cast(pl.UInt32)
    rows = pl.int_range(hashes.len(), dtype=pl.UInt32, eager=True)
    last = pl.int_range(n_places, dtype=pl.UInt32, eager=True).scatter(place, rows)[place]
    is_lost = last != rows
    lost = hashes.filter(is_lost)
    return lost.n_unique() == lost.len() and not (hashes[last.filter(is_lost)] == lost).any()
