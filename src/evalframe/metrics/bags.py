"""Bags of tokens for many texts at once: each token becomes one 64-bit key.

A key holds the text's sample in its upper bits and the token's hash in the others, so that one
semi-join on keys compares every sample with its own gold only. At most 8,192 samples are keyed
together; two different tokens of one sample fall together with a chance of one in 2^51.
"""

from __future__ import annotations

import polars as pl

from evalframe.engine import collect
from evalframe.text import IGNORED, Profile, split_ready

__all__ = ["KEYED_TOGETHER", "bag", "counted", "token_keys", "with_counts"]

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
    return collect(plan, "in-memory")


def bag(keys: pl.DataFrame, unit: str, name: str) -> pl.DataFrame:
    """How often each unit has each key: unit, `key`, and the count as `name`."""
    return keys.group_by([unit, "key"]).agg(pl.len().alias(name))


def counted(texts: pl.DataFrame, profile: Profile) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The bags of some gold texts, and the texts with their sizes.

    Parameters
    ----------
    texts
        `unit` (0, 1, …), `row`, `text`, in the order of `unit`.
    profile
        What counts as a token.

    Returns
    -------
    tuple of polars.DataFrame
        The texts with `n_tokens` and `n_distinct` (tokens with and without repeats), in their
        order; and their bags: `unit`, `key`, `n_gold`.
    """
    bags = bag(token_keys(texts, "unit", profile), "unit", "n_gold")
    sizes = bags.group_by("unit").agg(n_tokens=pl.col("n_gold").sum(), n_distinct=pl.len())
    return with_counts(texts, sizes), bags


def with_counts(units: pl.DataFrame, *counts: pl.DataFrame, on: str = "unit") -> pl.DataFrame:
    """The units in their order with counts (`n_…`) beside them, 0 where there is none."""
    for each in counts:
        units = units.join(each, on=on, how="left", maintain_order="left")
    filled = units.with_columns(pl.col("^n_.*$").fill_null(0))
    # A join with one row leaves a constant column, which Polars divides by with other last bits.
    return pl.DataFrame(filled.get_columns())
