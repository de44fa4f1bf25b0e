"""Bags of tokens for many texts at once: each token becomes one 64-bit key.

A key holds the text's sample in its upper bits and the token's hash in the others, so that one
semi-join on keys compares every sample with its own gold only. At most 8,192 samples are keyed
together; two different tokens of one sample fall together with a chance of one in 2^51.
"""

from __future__ import annotations

import polars as pl

from evalframe import engine
from evalframe.text import IGNORED, SMALL, Profile, split_ready

__all__ = ["KEYED_TOGETHER", "bag", "sample_of", "token_keys"]

ROW_BITS = 13
KEYED_TOGETHER = 2**ROW_BITS
"""How many samples one set of keys can hold."""

SEED = 1


def token_keys(
    texts: pl.DataFrame, unit: str, profile: Profile, among: pl.Series | None = None
) -> pl.DataFrame:
    """One row for each token of each text.

    Parameters
    ----------
    texts
        `row` (the text's sample, below `KEYED_TOGETHER`), `text`, and the unit that tokens are
        told apart by.
    unit
        Name of that column; `row` itself where each sample has one text.
    profile
        What counts as a token.
    among
        Keys outside this series are left out.

    Returns
    -------
    polars.DataFrame
        The unit and `key` (UInt64), repeats included, in no promised order.
    """
    upper = pl.col("row").cast(pl.UInt64) * pl.lit(2 ** (64 - ROW_BITS), dtype=pl.UInt64)
    ready = texts.select(unit, upper=upper, piece=split_ready(texts["text"], profile))
    plan = (
        ready.lazy()
        .with_columns(pl.col("piece").str.split(" "))
        .explode("piece", empty_as_null=False, keep_nulls=False)
        .select(unit, "upper", hash=pl.col("piece").hash(SEED))
    )
    if among is None:
        ignored = pl.Series(IGNORED[profile]).hash(SEED)
        plan = plan.filter(~pl.col("hash").is_in(ignored.implode()))
    lower = pl.col("hash") // pl.lit(2**ROW_BITS, dtype=pl.UInt64)
    plan = plan.select(unit, key=pl.col("upper") + lower)
    if among is not None:
        plan = plan.filter(pl.col("key").is_in(among.implode()))
    return engine.collect(plan, "in-memory" if texts.height <= SMALL else "streaming")


def bag(keys: pl.DataFrame, unit: str, name: str) -> pl.DataFrame:
    """How often each unit has each key: unit, `key`, and the count as `name`."""
    return keys.group_by([unit, "key"]).agg(pl.len().alias(name))


def sample_of(key: pl.Expr) -> pl.Expr:
    """The `row` that a key belongs to."""
    return (key // pl.lit(2 ** (64 - ROW_BITS), dtype=pl.UInt64)).cast(pl.UInt32)
