"""Who stands first among documents of equal score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from evalframe.errors import one_of

__all__ = ["TieRule", "Ties", "settle_ties"]

Ties = Literal["trec", "doc_asc", "given"]

COMPARISONS_PER_ROW = 4
"""Comparisons per row of the run up to which ties are settled pair by pair; above, by sorting."""


@dataclass(frozen=True)
class TieRule:
    """The column that decides between equal scores, and which end of it comes first.

    The column is `doc_id`, the run's `rank`, or `row`, the place of the row in the run.
    """

    column: Literal["doc_id", "rank", "row"] = "doc_id"
    greatest_first: bool = True

    @classmethod
    def of(cls, ties: Ties, columns: list[str]) -> TieRule:
        """The rule by name, for a run with these columns."""
        one_of("ties", ties, ("trec", "doc_asc", "given"))
        if ties == "given":
            return cls("rank" if "rank" in columns else "row", greatest_first=False)
        return cls("doc_id", greatest_first=ties == "trec")

    def above(self, other: pl.Expr, own: pl.Expr) -> pl.Expr:
        """Whether the other row stands above this one."""
        return other > own if self.greatest_first else other < own


def settle_ties(run: pl.DataFrame, matched: pl.DataFrame, rule: TieRule) -> pl.Series:
    """The rank of each matched row of a run whose queries stand in blocks of falling score.

    Parameters
    ----------
    run
        `score` and the rule's column.
    matched
        `row` in the run, and `start` and `end` of the row's block.

    Returns
    -------
    pl.Series
        Ranks in the order of `matched`. A row that shares its score with no neighbour has the rank
        of its place; only the others are compared.
    """
    row, start, end = matched["row"], matched["start"], matched["end"]
    rank = (row - start + 1).alias("rank")
    if rule.column == "row" or row.len() == 0:
        return rank
    score = run["score"]
    own = score.gather(row)
    as_before = (row > start) & (score.gather(row.clip(lower_bound=1) - 1) == own)
    as_after = (row + 1 < end) & (score.gather((row + 1).clip(upper_bound=score.len() - 1)) == own)
    tied = as_before | as_after
    if not tied.any():
        return rank
    plateaus = _plateaus(run, matched.filter(tied))
    in_plateau = _ranks_in_plateau(run, plateaus, rule)
    return rank.scatter(tied.arg_true(), plateaus["lo"] - plateaus["start"] + in_plateau)


def _plateaus(run: pl.DataFrame, tied: pl.DataFrame) -> pl.DataFrame:
    """`lo` and `hi`: the rows from `lo` up to `hi` have this row's score, in this row's block."""
    changes = run.select(pl.arg_where(pl.col("score") != pl.col("score").shift(1))).to_series()
    bounds = pl.concat([pl.Series([0], dtype=changes.dtype), changes])
    bounds = bounds.extend(pl.Series([run.height], dtype=changes.dtype))
    at = bounds.head(bounds.len() - 1).search_sorted(tied["row"], side="right")
    return tied.select(
        "row",
        "start",
        lo=pl.max_horizontal(bounds.gather(at - 1), "start"),
        hi=pl.min_horizontal(bounds.gather(at), "end"),
    )


def _ranks_in_plateau(run: pl.DataFrame, plateaus: pl.DataFrame, rule: TieRule) -> pl.Series:
    width = (plateaus["hi"] - plateaus["lo"]).cast(pl.UInt64).sum()
    if width <= COMPARISONS_PER_ROW * run.height:
        return _by_comparing(run, plateaus, rule)
    return _by_sorting(run, plateaus, rule)


def _by_comparing(run: pl.DataFrame, plateaus: pl.DataFrame, rule: TieRule) -> pl.Series:
    key = run[rule.column]
    pairs = (
        plateaus.with_row_index("number")
        .select("number", "row", other=pl.int_ranges("lo", "hi", dtype=pl.UInt32))
        .explode("other")
    )
    above = rule.above(pl.lit(key.gather(pairs["other"])), pl.lit(key.gather(pairs["row"])))
    counted = pairs.select("number", above=above).group_by("number").agg(pl.col("above").sum())
    return counted.sort("number")["above"] + 1


def _by_sorting(run: pl.DataFrame, plateaus: pl.DataFrame, rule: TieRule) -> pl.Series:
    """Each plateau is sorted once, however many of its rows are judged."""
    members = (
        plateaus.select("lo", "hi")
        .unique()
        .select("lo", row=pl.int_ranges("lo", "hi", dtype=pl.UInt32))
        .explode("row")
    )
    key = run[rule.column].gather(members["row"])
    placed = (
        members.with_columns(key.alias("key"))
        .sort("lo", "key", descending=[False, rule.greatest_first])
        .with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32))
        .with_columns(in_plateau=pl.col("place") - pl.col("place").min().over("lo") + 1)
    )
    return plateaus.join(
        placed.select("row", "in_plateau"), on="row", how="left", maintain_order="left"
    )["in_plateau"]
