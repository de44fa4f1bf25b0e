"""Where judged documents stand in a run: the run is matched with the qrels, then ranked.

Three roads give the same ranks. A run in order (verified, never assumed) is not sorted: a rank is
the distance from the start of the query's block, and ties are settled only where a judged document
is tied. A run in any order is counted through where few documents of a query are judged, and its
rows are put in order as numbers where many are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.engine import Engine, collect, collect_all
from evalframe.errors import RowError, first_rows
from evalframe.hashes import all_differ, pair_hash
from evalframe.ranking.packing import ranked_by_steps
from evalframe.ranking.prepared import Lookup, PreparedQrels
from evalframe.ranking.ties import TieRule, Ties, levels_of, settle_ties

__all__ = [
    "Found",
    "Placed",
    "count_above",
    "counting_pays",
    "keys_of",
    "looks_unordered",
    "match",
    "number",
    "place",
    "place_in_memory",
    "place_ordered",
    "refuse_repeats",
]

SMALL = 100_000
"""Rows below which the in-memory engine is quicker."""
SMALL_IN_ORDER = 500_000
"""The same of a run in order, which is neither grouped nor sorted."""
PROBE = 4_096
"""Rows looked at to guess whether a run is in order, and whether the hash filter pays."""
MANY_RISES = 0.4
"""Share of rising scores in the probe from which a run is taken to be in no order."""
FEW_PASS = 0.3
"""Share of the probe's rows passing the hash filter up to which it pays."""
ROWS_PER_JUDGEMENT = 20
"""Rows of the run for each judgement from which the hash filter is tried at all."""
SHALLOW = 4
"""Judged documents found per query up to which counting is quicker than sorting."""
PLACES_PER_MATCH = 8
"""Places of the list in which rows that stand below every match are told by their query's hash."""


@dataclass(frozen=True)
class Found:
    """What was found in a run, or in a part of it.

    Attributes
    ----------
    groups
        `system` (where the run has one), `query_id` and `n_retrieved`, for every query of the run,
        judged or not.
    matched
        `pair` (the judgement's row in the prepared qrels), `block` (the row in `groups`), `rank`
        (1 is first) and `score`.
    """

    groups: pl.DataFrame
    matched: pl.DataFrame


@dataclass(frozen=True)
class Placed:
    """The judged documents of a run and their places.

    Attributes
    ----------
    matches
        `slot` (the system's number times the number of judgements, plus the judgement's row in the
        prepared qrels), `rank` (1 is first) and `score`.
    groups
        As in `Found`.
    systems
        The names of the systems by number, None where the run has no `system` column.
    """

    matches: pl.DataFrame
    groups: pl.DataFrame
    systems: pl.Series | None


def place(prepared: PreparedQrels, run: pl.DataFrame, ties: Ties, score_dtype: Any) -> Placed:
    """Find the judged documents of a run in memory, and rank them."""
    keys, rule = keys_of(run.columns), TieRule.of(ties, run.columns)
    rule.refuse_unranked(run)
    if score_dtype != pl.Float64:
        run = run.with_columns(pl.col("score").cast(score_dtype))
    return number(prepared, place_in_memory(prepared.lookup, run, keys, rule), keys)


def place_in_memory(lookup: Lookup, run: pl.DataFrame, keys: list[str], rule: TieRule) -> Found:
    """Choose the road by looking at the run."""
    found = None if looks_unordered(run) else place_ordered(lookup, run, keys, rule)
    return found or _place_unordered(lookup, run, keys, rule)


def keys_of(columns: list[str]) -> list[str]:
    """What names one ranked list: the query, and the system where there are several."""
    return ["system", "query_id"] if "system" in columns else ["query_id"]


def looks_unordered(run: pl.DataFrame) -> bool:
    """Whether so many scores rise at the head of a large run that it cannot be in order."""
    if run.height < SMALL:
        return False
    head = run["score"].head(PROBE)
    return bool((head.slice(1) > head.head(-1)).sum() > MANY_RISES * head.len())


def _engine(run: pl.DataFrame) -> Engine:
    return "in-memory" if run.height < SMALL else "streaming"


def match(lookup: Lookup, rows: pl.LazyFrame, *, by_hash: bool) -> pl.LazyFrame:
    """Rows of a run that are judged, with their `pair`; a hash lets few others reach the join."""
    if by_hash:
        rows = rows.filter(lookup.may_hold(pl.col("doc_id")))
    return rows.join(lookup.pairs.lazy(), on=["query_id", "doc_id"])


def _filter_pays(lookup: Lookup, run: pl.DataFrame) -> bool:
    if run.height < max(SMALL, ROWS_PER_JUDGEMENT * lookup.pairs.height):
        return False
    passing = run.head(PROBE).select(lookup.may_hold(pl.col("doc_id")).mean()).item()
    return bool(passing < FEW_PASS)


def place_ordered(
    lookup: Lookup, run: pl.DataFrame, keys: list[str], rule: TieRule
) -> Found | None:
    """Rank by position; None where the run turns out not to be in order."""
    border = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys)
    rows = run.lazy()
    by_doc = _filter_pays(lookup, run)
    matched, starts, not_falling, *levels = collect_all(
        [
            _match_by_doc(lookup, run) if by_doc else _match_by_pair(lookup, run),
            rows.select(pl.arg_where(border)),
            *levels_of(run),
        ],
        "in-memory" if run.height < SMALL_IN_ORDER else "streaming",
    )
    start = starts.to_series()
    groups, score = run[keys][start], run["score"]
    inside = _without(not_falling.to_series(), start, run.height)
    if (score[inside] > score[inside - 1]).any() or not all_differ(groups, keys):
        return None
    end = start.slice(1).extend(pl.Series([run.height], dtype=start.dtype))
    groups = groups.hstack([(end - start).cast(pl.UInt32).alias("n_retrieved")])
    true = matched.lazy() if by_doc else _verified(lookup, run, matched.lazy())
    placed = _places(run, true, start, end)
    ranked = settle_ties(run, placed, inside, levels, rule)
    return Found(groups, ranked[["pair", "block", "rank", "score"]])


def _match_by_doc(lookup: Lookup, run: pl.DataFrame) -> pl.LazyFrame:
    """`row` and `pair`, where few documents of the run are judged for any query."""
    rows = run.lazy().select("query_id", "doc_id").with_row_index("row")
    return match(lookup, rows, by_hash=True).select("row", "pair")


def _match_by_pair(lookup: Lookup, run: pl.DataFrame) -> pl.LazyFrame:
    """`row` and `pair` of rows with the hash of a judgement's ids: nearly all are right."""
    hashed = run.lazy().select(hash=pair_hash(["query_id", "doc_id"])).with_row_index("row")
    return hashed.join(lookup.hashed.lazy(), on="hash").select("row", "pair")


def _verified(lookup: Lookup, run: pl.DataFrame, matched: pl.LazyFrame) -> pl.LazyFrame:
    """The matches whose ids are equal, not only their hashes."""
    row, pair = pl.col("row"), pl.col("pair")
    return matched.filter(
        pl.lit(run[name]).gather(row) == pl.lit(lookup.judgements[name]).gather(pair)
        for name in ("query_id", "doc_id")
    )


def _without(rows: pl.Series, start: pl.Series, n_rows: int) -> pl.Series:
    """The rows, of so many, at which no block starts."""
    starts_here = pl.Series([False]).new_from_index(0, n_rows).scatter(start, True)
    return rows.filter(~starts_here[rows])


def _places(
    run: pl.DataFrame, matched: pl.LazyFrame, start: pl.Series, end: pl.Series
) -> pl.DataFrame:
    """Matched rows of an ordered run by `row`, with their block's number, `start` and `end`.

    `rank` is the place in the block, and `score` the row's.
    """
    in_block = pl.lit(start).search_sorted(pl.col("row"), side="right") - 1
    by_row = collect(matched.sort("row").with_columns(block=in_block), "in-memory")
    row, first, last = by_row["row"], start[by_row["block"]], end[by_row["block"]]
    rank = (row - first + 1).cast(pl.UInt32)
    of_row = {"start": first, "end": last, "rank": rank, "score": run["score"][row]}
    return by_row.hstack([values.alias(name) for name, values in of_row.items()])


def _place_unordered(lookup: Lookup, run: pl.DataFrame, keys: list[str], rule: TieRule) -> Found:
    """Count the rows above each judged document, or sort where many of a query are judged."""
    engine = _engine(run)
    rows = run.lazy().with_row_index("row")
    tie = [rule.column] if rule.column == "rank" else []
    wanted = rows.select("row", *keys, "doc_id", "score", *tie)
    matched, groups = collect_all(
        [
            match(lookup, wanted, by_hash=_filter_pays(lookup, run)),
            rows.group_by(keys).agg(n_retrieved=pl.len().cast(pl.UInt32)).sort(keys),
        ],
        engine,
    )
    blocks = groups.select(keys).with_row_index("block")
    matched = matched.join(blocks, on=keys)
    refuse_repeats(lookup.judgements, matched, ["pair", "block"])
    if counting_pays(matched, groups):
        return Found(groups, collect(count_above(rows, matched, keys, rule), engine))
    needed = blocks.join(matched, on="block", how="semi")
    return Found(groups, ranked_by_steps(rows, matched, needed, rule, engine))


def counting_pays(matched: pl.DataFrame, groups: pl.DataFrame) -> bool:
    """Whether it is less work to compare each match with all rows of its list than to sort them."""
    length, block = groups["n_retrieved"].cast(pl.UInt64), matched["block"]
    return bool(length[block].sum() <= SHALLOW * length[block.unique()].sum())


def count_above(
    rows: pl.LazyFrame, matched: pl.DataFrame, keys: list[str], rule: TieRule
) -> pl.LazyFrame:
    """`pair`, `block`, `rank` and `score` of each match, by counting the rows above it."""
    tie = rule.column
    own = matched.lazy().select(*keys, "pair", "block", own_score="score", own_tie=tie)
    score, own_score = pl.col("score"), pl.col("own_score")
    above = (score > own_score) | rule.above(pl.col(tie), pl.col("own_tie"))
    return (
        rows.filter(_may_stand_above(matched, keys))
        .select(*keys, "score", tie)
        .join(own, on=keys)
        .filter(score >= own_score)
        .group_by("pair", "block", score="own_score")
        .agg(rank=(above.sum() + 1).cast(pl.UInt32))
        .select("pair", "block", "rank", "score")
    )


def _may_stand_above(matched: pl.DataFrame, keys: list[str]) -> pl.Expr:
    """Whether a row reaches the score of a match of its list, or of one whose hash ends alike."""
    size = 1 << (PLACES_PER_MATCH * matched.height).bit_length()
    place = pair_hash(keys) & (size - 1)
    least = matched.group_by(place=place).agg(pl.col("score").min())
    nothing = pl.repeat(float("inf"), size, dtype=matched["score"].dtype, eager=True)
    bar = nothing.scatter(least["place"], least["score"])
    return pl.col("score") >= pl.lit(bar).gather(place)


def refuse_repeats(judgements: pl.DataFrame, matched: pl.DataFrame, keys: list[str]) -> None:
    """Refuse matches that have the same keys, of which the first numbers the judgement."""
    if matched.select(keys).n_unique() == matched.height:
        return
    twice = matched.filter(pl.struct(keys).is_duplicated()).sort(*keys, "score")
    of_match = pl.col(keys[0])
    rows = twice.select(
        pl.lit(judgements["query_id"]).gather(of_match).alias("query_id"),
        pl.lit(judgements["doc_id"]).gather(of_match).alias("doc_id"),
        "score",
    )
    raise RowError(
        f"{rows.height} rows of the run hold judged documents that stand more than once for their "
        'query. Keep the best-scored row of each with duplicates="best". First rows:\n'
        + first_rows(rows)
    )


def number(prepared: PreparedQrels, found: Found, keys: list[str]) -> Placed:
    """Number the systems, and give each match its slot among all judgements of all systems."""
    groups, matched = found.groups, found.matched
    systems, slot = None, matched["pair"]
    if len(keys) > 1:
        systems = groups["system"].unique().sort()
        numbers = pl.DataFrame([systems]).with_row_index("number")
        of_block = groups.join(numbers, on="system", how="left", maintain_order="left")["number"]
        slot = slot + of_block[matched["block"]] * prepared.pairs.height
    matches = pl.DataFrame([slot.alias("slot"), matched["rank"], matched["score"]])
    return Placed(matches, groups, systems)
