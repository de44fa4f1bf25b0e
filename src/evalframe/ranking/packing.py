"""Ranks in a run of any order, where many documents of a query are judged.

Every row becomes one whole number: its list above, and below it its score as a 32-bit float, turned
round so that the best is the least. Whole numbers are sorted by themselves, without the rows, and
a place among them is a rank. Scores that a 32-bit float cannot tell apart share a step, and only
within the steps of judged documents are scores and documents compared.
"""

from __future__ import annotations

import polars as pl

from evalframe.engine import Engine, collect
from evalframe.ranking.ties import COMPARISONS_PER_ROW, TieRule

__all__ = ["ranked_by_steps"]

SIGN, BELOW_SIGN = 0x80000000, 0x7FFFFFFF
BLOCK = 1 << 32
"""What a block's number is multiplied with to stand above any score."""


def ranked_by_steps(
    rows: pl.LazyFrame, matched: pl.DataFrame, blocks: pl.DataFrame, rule: TieRule, engine: Engine
) -> pl.DataFrame:
    """`pair`, `block`, `rank` and `score` of each match.

    Parameters
    ----------
    rows
        The run, with `row`, the number of each row.
    matched
        `row`, `pair`, `block`, `score` and the column of the rule.
    blocks
        The keys of each list that has a match, and its number, `block`.
    """
    keys = [name for name in blocks.columns if name != "block"]
    inside = rows.join(blocks.lazy(), on=keys).with_columns(step=_step())
    steps = collect(inside.select("step"), engine).to_series().sort()
    own = matched.with_columns(step=_step()).sort("step")
    start = steps.search_sorted(own["block"].cast(pl.UInt64) * BLOCK, side="left")
    own = own.with_columns(
        first=steps.search_sorted(own["step"], side="left") - start + 1,
        among=steps.search_sorted(own["step"], side="right")
        - steps.search_sorted(own["step"], side="left"),
    )
    tied = own.filter(pl.col("among") > 1)
    by_comparing = tied["among"].sum() <= COMPARISONS_PER_ROW * steps.len()
    above = (_by_comparing if by_comparing else _by_sorting)(inside, tied, rule)
    return own.join(collect(above, engine), on="row", how="left").select(
        "pair",
        "block",
        rank=(pl.col("first") + pl.col("above").fill_null(0)).cast(pl.UInt32),
        score="score",
    )


def _step() -> pl.Expr:
    """Whole numbers in the order of block and falling score; both zeros are one."""
    bits = pl.col("score").cast(pl.Float32).reinterpret(dtype=pl.UInt32)
    falling = pl.when(bits > SIGN).then(bits).otherwise(pl.lit(BELOW_SIGN) - (bits & BELOW_SIGN))
    return pl.col("block").cast(pl.UInt64) * BLOCK + falling.cast(pl.UInt64)


def _by_comparing(inside: pl.LazyFrame, tied: pl.DataFrame, rule: TieRule) -> pl.LazyFrame:
    """`row`, and how many rows of its step stand above it."""
    tie = rule.column
    own = tied.lazy().select("step", own_row="row", own_score="score", own_tie=tie)
    score, own_score = pl.col("score"), pl.col("own_score")
    above = (score > own_score) | (
        (score == own_score) & rule.above(pl.col(tie), pl.col("own_tie"))
    )
    return (
        inside.select("step", "score", tie)
        .join(own, on="step")
        .filter(above)
        .group_by(row="own_row")
        .agg(above=pl.len())
    )


def _by_sorting(inside: pl.LazyFrame, tied: pl.DataFrame, rule: TieRule) -> pl.LazyFrame:
    """The same, sorting each step once, however many of its rows are judged."""
    order = ["step", "score", *(name for name in (rule.column,) if name != "row"), "row"]
    falls = {"score": True, rule.column: rule.greatest_first}
    place = pl.int_range(pl.len(), dtype=pl.UInt32)
    return (
        inside.select(order)
        .join(tied.lazy().select("step").unique(), on="step", how="semi")
        .sort(order, descending=[falls.get(name, False) for name in order])
        .with_columns(place=place)
        .with_columns(above=pl.col("place") - pl.col("place").first().over("step"))
        .join(tied.lazy().select("row"), on="row", how="semi")
        .select("row", "above")
    )
