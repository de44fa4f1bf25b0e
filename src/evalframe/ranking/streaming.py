"""Runs that are never held whole: placed batch by batch, or by counting in any order.

An ordered run is read in batches, cut where a query ends, and each batch is placed like a run in
memory. Where the order turns out otherwise, the judged documents are looked up in one pass and the
rows above them counted in another; where many documents of a query are judged, the queries are
taken in turns, each turn in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from evalframe.columns import RUN
from evalframe.engine import batches, collect
from evalframe.errors import EmptyError, ReadError, RowError, first_rows
from evalframe.frames import check_rows, not_numbers
from evalframe.progress import ticking
from evalframe.ranking.matching import (
    Found,
    Placed,
    count_above,
    counting_pays,
    keys_of,
    looks_unordered,
    match,
    number,
    place_in_memory,
    place_ordered,
    refuse_repeats,
)
from evalframe.ranking.prepared import SEED, PreparedQrels
from evalframe.ranking.ties import TieRule, Ties

__all__ = ["place_plan"]

TAIL = 1 << 14
"""Rows at the end of a batch that are looked at first for where the last query begins."""
BATCH = 2_000_000
"""Rows of a batch, and about as many of a turn."""


def place_plan(
    prepared: PreparedQrels,
    run: pl.LazyFrame,
    ties: Ties,
    score_dtype: Any,
    progress: bool | None = None,
) -> Placed:
    """Find the judged documents of a lazy run and rank them, without holding the run.

    Parameters
    ----------
    run
        A lazy run with the house's columns, whose rows have not been checked.
    progress
        Whether a bar counts the rows; None: where somebody waits for it.
    """
    columns = run.collect_schema().names()
    keys, rule = keys_of(columns), TieRule.of(ties, columns)
    tie = [rule.column] if rule.column == "rank" else []
    rows = run.select(*keys, "doc_id", pl.col("score").cast(score_dtype), *tie)
    try:
        found = _in_batches(prepared, rows, keys, rule, progress)
        found = found or _in_any_order(prepared, rows, keys, rule)
    except pl.exceptions.InvalidOperationError as error:
        raise not_numbers(RUN, columns, error) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        what = str(error).partition("\n")[0]
        raise ReadError(f"the run could not be read to its end: {what}") from error
    return number(prepared, found, keys)


def _in_batches(
    prepared: PreparedQrels,
    rows: pl.LazyFrame,
    keys: list[str],
    rule: TieRule,
    progress: bool | None,
) -> Found | None:
    """Place whole queries batch by batch; None where the run turns out not to be in order."""
    parts: list[Found] = []
    for batch in _whole_queries(ticking(batches(rows, BATCH), "row", progress), keys):
        check_rows(batch, RUN)
        rule.refuse_unranked(batch)
        if not parts and looks_unordered(batch):
            return None
        begins = pl.col("query_id").ne_missing(pl.col("query_id").shift(1))
        queries = collect(batch.lazy().select("query_id").filter(begins).unique())
        lookup = prepared.lookup.of(queries)
        found = place_ordered(lookup, batch, keys, rule)
        if found is None:
            return None
        parts.append(found)
    if not parts:
        raise EmptyError("the run frame has no rows")
    groups = pl.concat(part.groups for part in parts)
    if groups.select(keys).is_duplicated().any():
        return None
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + part.groups.height)
    matched = pl.concat(
        part.matched.with_columns(pl.col("block") + offset)
        for part, offset in zip(parts, offsets, strict=False)
    )
    return Found(groups, matched)


def _whole_queries(parts: Iterator[pl.DataFrame], keys: list[str]) -> Iterator[pl.DataFrame]:
    """The same rows, cut where a query ends."""
    rest: pl.DataFrame | None = None
    for part in parts:
        rows = part if rest is None else pl.concat([rest, part])
        if rows.height == 0:
            continue
        cut = _start_of_last(rows, keys)
        if cut:
            yield rows.head(cut)
        rest = rows.slice(cut)
    if rest is not None and rest.height:
        yield rest


def _start_of_last(rows: pl.DataFrame, keys: list[str]) -> int:
    """Where the rows begin that have the keys of the last one, and nothing else among them."""
    last = rows.tail(1).select(keys).row(0)
    differs = pl.any_horizontal(
        pl.col(key).ne_missing(pl.lit(value)) for key, value in zip(keys, last, strict=True)
    )
    looked_at = TAIL
    while True:
        tail = rows.tail(looked_at)
        at = tail.select(pl.arg_where(differs).last()).item()
        if at is not None or tail.height == rows.height:
            return 0 if at is None else int(rows.height - tail.height + at + 1)
        looked_at *= 16


def _in_any_order(
    prepared: PreparedQrels, rows: pl.LazyFrame, keys: list[str], rule: TieRule
) -> Found:
    rows = rows.with_row_index("row") if rule.column == "row" else rows
    tie = [rule.column] if rule.column != "doc_id" else []
    unusable = pl.col("score").is_null() | pl.col("score").is_nan() | pl.col("doc_id").is_null()
    # One after the other: a scan that is shared keeps what the slower reader has not taken yet.
    wanted = rows.select(*keys, "doc_id", "score", *tie)
    matched = collect(match(prepared.lookup, wanted, by_hash=True))
    lengths = {"n_retrieved": pl.len().cast(pl.UInt32), "unusable": unusable.sum()}
    groups = collect(rows.group_by(keys).agg(**lengths))
    groups = groups.sort(keys)
    _refuse_unusable(rows, groups, keys)
    groups = groups.drop("unusable")
    matched = matched.join(groups.select(keys).with_row_index("block"), on=keys)
    refuse_repeats(prepared.pairs, matched, ["pair", "block"])
    if counting_pays(matched, groups):
        return Found(groups, collect(count_above(rows, matched, keys, rule)))
    return _in_turns(prepared, rows, groups, keys, rule)


def _in_turns(
    prepared: PreparedQrels,
    rows: pl.LazyFrame,
    groups: pl.DataFrame,
    keys: list[str],
    rule: TieRule,
) -> Found:
    """Read the run once for each turn, and place that turn's queries in memory."""
    judged = groups.join(prepared.queries, on="query_id", how="semi")
    n_turns = 1 + int(judged["n_retrieved"].sum()) // BATCH
    turn_of = pl.col("query_id").hash(SEED) % n_turns
    blocks = groups.select(keys).with_row_index("block")
    parts = []
    for turn in range(n_turns):
        queries = judged.select("query_id").unique().filter(turn_of == turn)
        part = collect(rows.join(queries.lazy(), on="query_id", how="semi"))
        if rule.column == "row":
            part = part.sort("row").drop("row")
        found = place_in_memory(prepared.lookup.of(queries), part, keys, rule)
        own = found.groups.select(keys).join(blocks, on=keys, how="left", maintain_order="left")
        block = pl.lit(own["block"]).gather(pl.col("block"))
        parts.append(
            found.matched.with_columns(block=block).select("pair", "block", "rank", "score")
        )
    return Found(groups, pl.concat(parts))


def _refuse_unusable(rows: pl.LazyFrame, groups: pl.DataFrame, keys: list[str]) -> None:
    bad = (
        groups["unusable"].sum()
        + groups.select(pl.any_horizontal(pl.col(keys).is_null()).sum()).item()
    )
    if not bad:
        return
    checked = pl.any_horizontal(
        pl.col(*keys, "doc_id", "score").is_null(), pl.col("score").is_nan()
    )
    shown = collect(rows.filter(checked).head(10))
    raise RowError(
        f"the run frame holds null or NaN values in {bad} rows. Drop or fill them first. "
        f"First rows:\n{first_rows(shown, bad)}"
    )
