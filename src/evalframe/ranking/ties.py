"""Who stands first among documents of equal score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

import polars as pl

from evalframe.errors import RowError, first_rows, one_of

__all__ = ["TieRule", "Ties", "levels_of", "settle_ties"]

Ties = Literal["trec", "doc_asc", "given"]
"""What stands first among equal scores.

`trec` the greater doc_id by bytes, as in trec_eval; `doc_asc` the lesser one; `given` as the rank
column or the order of rows says.
"""

Values = TypeVar("Values", pl.Expr, pl.Series)

PROBE = 4_096
"""Rows looked at to guess how many ties there are."""
MANY_TIES = 0.2
"""Share of tied rows in the probe from which every row's level is numbered."""
WORTH_ONE_CHUNK = 20
"""Rows of the run for each comparison up to which strings are moved into one chunk to be read."""
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

    def refuse_unranked(self, run: pl.DataFrame) -> None:
        """Refuse rows without a rank where ranks decide."""
        if self.column == "rank" and run["rank"].null_count():
            rows = run.with_row_index("row").filter(pl.col("rank").is_null())
            raise RowError(
                f"{rows.height} rows of the run have no rank, by which ties='given' would order "
                f"them. First rows:\n{first_rows(rows)}"
            )

    def above(self, other: Values, own: Values) -> Values:
        """Whether the other row stands above this one."""
        return other > own if self.greatest_first else other < own


def levels_of(run: pl.DataFrame) -> list[pl.LazyFrame]:
    """Plans of what tells how far the ties of a row reach, for `settle_ties`.

    The first gives the rows whose score does not fall: it is that of the row before, or above it.
    Where there are many, two more give the number of each row's level of equal scores, and the
    first row of each level.
    """
    rows, score = run.lazy(), pl.col("score")
    head = run["score"].head(PROBE)
    if (head.slice(1) == head.head(-1)).sum() < MANY_TIES * head.len():
        return [rows.select(pl.arg_where(score >= score.shift(1)))]
    return [
        rows.select(pl.arg_where(score > score.shift(1))),
        rows.select(level=score.rle_id()),
        rows.select(first=pl.arg_where(score.ne_missing(score.shift(1)))),
    ]


def settle_ties(
    run: pl.DataFrame,
    matched: pl.DataFrame,
    repeats: pl.Series,
    levels: list[pl.DataFrame],
    rule: TieRule,
) -> pl.DataFrame:
    """Correct the ranks of matched rows that share their score with a neighbour.

    Parameters
    ----------
    run
        A run whose queries stand in blocks of falling score.
    matched
        `row` in the run, ascending, `start` and `end` of the row's block, and `rank`, the place in
        the block.
    repeats, levels
        What the first plan of `levels_of` gives within blocks, and what the others give.

    Returns
    -------
    pl.DataFrame
        `matched` in its order, with `rank` corrected.
    """
    no_ties = not levels and repeats.len() == 0
    if no_ties or rule.column == "row" or matched.height == 0:
        return matched
    rows = matched.with_row_index("at")
    reach = _by_levels(rows, run, *levels) if levels else _by_repeats(rows, repeats)
    tied = reach.filter(pl.col("hi") - pl.col("lo") > 1)
    if tied.height == 0:
        return matched
    width = (tied["hi"] - tied["lo"]).cast(pl.UInt64)
    by_comparing = width.sum() <= COMPARISONS_PER_ROW * run.height
    above = (_by_comparing if by_comparing else _by_sorting)(run[rule.column], tied, rule)
    rank = tied["lo"] - tied["start"] + 1 + above
    return matched.with_columns(matched["rank"].scatter(tied["at"], rank))


def _by_levels(
    rows: pl.DataFrame, run: pl.DataFrame, level: pl.DataFrame, first: pl.DataFrame
) -> pl.DataFrame:
    """`lo` and `hi`: the rows from `lo` up to `hi` have this row's score, in this row's block."""
    firsts = first.to_series()
    firsts = firsts.extend(pl.Series([run.height], dtype=firsts.dtype))
    own = pl.lit(level.to_series()).gather(pl.col("row"))
    return rows.select(
        "at",
        "row",
        "start",
        lo=pl.max_horizontal(pl.lit(firsts).gather(own), "start"),
        hi=pl.min_horizontal(pl.lit(firsts).gather(own + 1), "end"),
    )


def _by_repeats(rows: pl.DataFrame, repeats: pl.Series) -> pl.DataFrame:
    """The same of the rows that are tied, from the rows whose score is that of the row before."""
    row = pl.col("row")
    nearest = pl.lit(repeats).search_sorted(row, side="left").clip(upper_bound=repeats.len() - 1)
    near = rows.with_columns(near=nearest).filter(
        (pl.lit(repeats).gather(pl.col("near")) - row).is_between(0, 1)
    )
    if near.height == 0:
        return near.with_columns(lo="row", hi="row")
    runs = pl.DataFrame({"repeat": repeats}).with_columns(
        starts=pl.col("repeat").diff().ne_missing(1)
    )
    plateau = pl.lit(runs.select(pl.col("starts").cum_sum() - 1).to_series()).gather(pl.col("near"))
    bounds = runs.select(
        first=pl.col("repeat").filter("starts"),
        last=pl.col("repeat").filter(pl.col("starts").shift(-1, fill_value=True)),
    )
    return near.select(
        "at",
        "row",
        "start",
        lo=pl.max_horizontal(pl.lit(bounds["first"]).gather(plateau) - 1, "start"),
        hi=pl.min_horizontal(pl.lit(bounds["last"]).gather(plateau) + 1, "end"),
    )


def _by_comparing(key: pl.Series, tied: pl.DataFrame, rule: TieRule) -> pl.Series:
    """How many rows of its plateau stand above each tied row."""
    end = (tied["hi"] - tied["lo"]).cum_sum()
    if end[-1] * WORTH_ONE_CHUNK > key.len():
        key = key.rechunk()
    others = pl.int_ranges("lo", "hi", dtype=pl.UInt32)
    pairs = tied.select("row", other=others).explode("other")
    above = rule.above(key[pairs["other"]], key[pairs["row"]])
    so_far = above.cast(pl.UInt32).cum_sum()[end - 1]
    return so_far - pl.concat([pl.Series([0], dtype=so_far.dtype), so_far.head(-1)])


def _by_sorting(key: pl.Series, tied: pl.DataFrame, rule: TieRule) -> pl.Series:
    """The same, sorting each plateau once, however many of its rows are judged."""
    members = (
        tied.select("lo", "hi")
        .unique()
        .select("lo", row=pl.int_ranges("lo", "hi", dtype=pl.UInt32))
        .explode("row")
    )
    placed = (
        members.with_columns(key.gather(members["row"]).alias("key"))
        .sort("lo", "key", descending=[False, rule.greatest_first])
        .with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32))
        .with_columns(above=pl.col("place") - pl.col("place").min().over("lo"))
    )
    above = tied.join(placed.select("row", "above"), on="row", how="left", maintain_order="left")
    return above["above"]
