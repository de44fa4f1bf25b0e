"""Where judged documents stand in a run: the run is matched with the qrels, then ranked.

Three roads give the same ranks. A run in order (verified, never assumed) is not sorted: a rank is
the distance from the start of the query's block, and ties are settled only where a judged document
is tied. A run in any order is counted through where few documents of a query are judged, and put in
order where many are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.engine import Engine, collect, collect_all
from evalframe.errors import RowError, first_rows
from evalframe.prepared import SEED, PreparedQrels
from evalframe.ties import TieRule, Ties, settle_ties

__all__ = ["Placed", "place"]

SMALL = 100_000
"""Rows below which the in-memory engine is quicker."""
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


@dataclass(frozen=True)
class Placed:
    """The judged documents of a run and their places.

    Attributes
    ----------
    matches
        `slot` (the system's number times the number of judgements, plus the judgement's row in the
        prepared qrels), `rank` (1 is first) and `score`.
    groups
        `system` (where the run has one), `query_id` and `n_retrieved`, for every query of the run,
        judged or not.
    systems
        The names of the systems by number, None where the run has no `system` column.
    """

    matches: pl.DataFrame
    groups: pl.DataFrame
    systems: pl.Series | None


def place(prepared: PreparedQrels, run: pl.DataFrame, ties: Ties, score_dtype: Any) -> Placed:
    """Find the judged documents in a run and rank them."""
    keys = ["system", "query_id"] if "system" in run.columns else ["query_id"]
    rule = TieRule.of(ties, run.columns)
    if score_dtype != pl.Float64:
        run = run.with_columns(pl.col("score").cast(score_dtype))
    placed = None if _looks_unordered(run) else _place_ordered(prepared, run, keys, rule)
    groups, matched = placed or _place_unordered(prepared, run, keys, rule)
    return _numbered(prepared, groups, matched, keys)


def _looks_unordered(run: pl.DataFrame) -> bool:
    if run.height < SMALL:
        return False
    head = run["score"].head(PROBE)
    return bool((head > head.shift(1)).sum() > MANY_RISES * head.len())


def _engine(run: pl.DataFrame) -> Engine:
    return "in-memory" if run.height < SMALL else "streaming"


def _match(prepared: PreparedQrels, run: pl.DataFrame, keep: list[str]) -> pl.LazyFrame:
    """Rows of the run that the qrels judge: `row` in the run, `pair` in the qrels."""
    rows = run.lazy().with_row_index("row").select("row", "query_id", "doc_id", *keep)
    judged = prepared.pairs.lazy().select("query_id", "doc_id").with_row_index("pair")
    if _filter_pays(prepared, run):
        rows = rows.filter(pl.col("doc_id").hash(SEED).is_in(prepared.doc_hashes))
    return rows.join(judged, on=["query_id", "doc_id"])


def _filter_pays(prepared: PreparedQrels, run: pl.DataFrame) -> bool:
    if run.height < max(SMALL, ROWS_PER_JUDGEMENT * prepared.pairs.height):
        return False
    passing = run["doc_id"].head(PROBE).hash(SEED).is_in(prepared.doc_hashes)
    return bool(passing.sum() < FEW_PASS * passing.len())


def _place_ordered(
    prepared: PreparedQrels, run: pl.DataFrame, keys: list[str], rule: TieRule
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Rank by position; None where the run turns out not to be in order."""
    score = pl.col("score")
    border = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys)
    rows = run.lazy()
    matched, starts, rises, repeats = collect_all(
        [
            _match(prepared, run, []).select("row", "pair"),
            rows.select(pl.arg_where(border)),
            rows.select(pl.arg_where(score > score.shift(1))),
            rows.select(pl.arg_where(score == score.shift(1))),
        ],
        _engine(run),
    )
    start = starts.to_series()
    groups = run.select(pl.col(keys).gather(start))
    if not _all_in(rises.to_series(), start) or groups.is_duplicated().any():
        return None
    end = start.slice(1).extend(pl.Series([run.height], dtype=start.dtype))
    groups = groups.with_columns(n_retrieved=end - start)
    return groups, _ranked_in_order(run, matched, start, end, repeats.to_series(), rule)


def _all_in(rises: pl.Series, start: pl.Series) -> bool:
    """Whether scores rise only where a query's block starts."""
    return rises.len() <= start.len() and bool(rises.is_in(start.implode()).all())


def _ranked_in_order(
    run: pl.DataFrame,
    matched: pl.DataFrame,
    start: pl.Series,
    end: pl.Series,
    repeats: pl.Series,
    rule: TieRule,
) -> pl.DataFrame:
    """Give matched rows of an ordered run their `block`, `rank` and `score`."""
    matched = matched.sort("row")
    row = matched["row"]
    block = start.search_sorted(row, side="right") - 1
    matched = matched.with_columns(
        block=block,
        start=pl.lit(start).gather(block),
        end=pl.lit(end).gather(block),
        rank=row - pl.lit(start).gather(block) + 1,
        score=pl.lit(run["score"]).gather(row),
    )
    return settle_ties(run, matched, repeats, rule)


def _place_unordered(
    prepared: PreparedQrels, run: pl.DataFrame, keys: list[str], rule: TieRule
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count the rows above each judged document, or sort where many of a query are judged."""
    engine = _engine(run)
    tie = [rule.column] if rule.column == "rank" else []
    matched, groups = collect_all(
        [
            _match(prepared, run, [*keys[:-1], "score", *tie]),
            run.lazy().group_by(keys).agg(n_retrieved=pl.len()).sort(keys),
        ],
        engine,
    )
    blocks = groups.select(keys).with_row_index("block")
    matched = matched.join(blocks, on=keys)
    if matched.height <= SHALLOW * matched["block"].n_unique():
        ranks = _count_above(run, matched, keys, rule, engine)
        return groups, matched.join(ranks, on="row")
    needed = blocks.join(matched, on="block", how="semi")
    ordered = collect(
        run.lazy()
        .with_row_index("row")
        .join(needed.lazy(), on=keys)
        .select("block", "score", "row", *(c for c in (rule.column,) if c != "row"))
        .sort("block", "score", "row", descending=[False, True, False]),
        engine,
    )
    block, score = pl.col("block"), pl.col("score")
    start = ordered.select(pl.arg_where(block.ne_missing(block.shift(1)))).to_series()
    repeats = ordered.select(pl.arg_where(score == score.shift(1))).to_series()
    end = start.slice(1).extend(pl.Series([ordered.height], dtype=start.dtype))
    moved = ordered.select(at=pl.int_range(pl.len(), dtype=pl.UInt32), row="row").join(
        matched.select("row", "pair", "block"), on="row"
    )
    in_order = moved.select("pair", row="at")
    ranked = _ranked_in_order(ordered, in_order, start, end, repeats, rule)
    return groups, ranked.with_columns(moved["block"])


def _count_above(
    run: pl.DataFrame, matched: pl.DataFrame, keys: list[str], rule: TieRule, engine: Engine
) -> pl.DataFrame:
    """`row` and `rank` of each match: one more than the rows of its query that stand above it."""
    tie = rule.column
    own = matched.lazy().select(*keys, own_row="row", own_score="score", own_tie=tie)
    score, own_score = pl.col("score"), pl.col("own_score")
    above = (score > own_score) | rule.above(pl.col(tie), pl.col("own_tie"))
    plan = (
        run.lazy()
        .with_row_index("row")
        .select(*keys, "score", tie)
        .join(own, on=keys)
        .filter(score >= own_score)
        .group_by(row="own_row")
        .agg(rank=above.sum() + 1)
    )
    return collect(plan, engine)


def _numbered(
    prepared: PreparedQrels, groups: pl.DataFrame, matched: pl.DataFrame, keys: list[str]
) -> Placed:
    """Number the systems, and give each match its slot among all judgements of all systems."""
    systems = None
    slot = pl.col("pair")
    if len(keys) > 1:
        systems = groups["system"].unique().sort()
        number = pl.DataFrame([systems]).with_row_index("number")
        of_block = groups.join(number, on="system", how="left", maintain_order="left")["number"]
        slot = slot + pl.lit(of_block.gather(matched["block"])) * prepared.pairs.height
    matches = matched.select(slot=slot, rank=pl.col("rank").cast(pl.UInt32), score="score")
    _refuse_found_twice(prepared, matches)
    return Placed(matches, groups, systems)


def _refuse_found_twice(prepared: PreparedQrels, matches: pl.DataFrame) -> None:
    if matches["slot"].n_unique() == matches.height:
        return
    pair = pl.col("slot") % prepared.pairs.height
    rows = matches.filter(pl.col("slot").is_duplicated()).sort("slot", "rank")
    named = rows.select(
        pl.lit(prepared.pairs["query_id"]).gather(pair).alias("query_id"),
        pl.lit(prepared.pairs["doc_id"]).gather(pair).alias("doc_id"),
        "score",
    )
    raise RowError(
        f"{named.height} rows of the run hold judged documents that stand more than once for their "
        'query. Keep the best-scored row of each with duplicates="best". First rows:\n'
        + first_rows(named)
    )
