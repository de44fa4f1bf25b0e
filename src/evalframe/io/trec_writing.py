"""House frames as TREC's qrels and runs: whole queries at a time, so that plans need no memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from evalframe.columns import KINDS
from evalframe.engine import batches, collect
from evalframe.errors import FrameError, OptionError, ReadError, RowError, first_rows
from evalframe.frames import conform
from evalframe.io.delimited import sniff_table
from evalframe.io.files import find
from evalframe.io.saving import beside
from evalframe.io.trec import NOT_IN_IDS

__all__ = ["write_trec"]

Ranked = Literal["qrels", "run"]

ROWS = 1_000_000
"""Rows of a plan that are held at once, and those of the query that goes on behind them."""
PACKED: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}


class _Scattered(Exception):
    """The rows of a query stand apart, so that they cannot be ranked as they come."""


def write_trec(
    frame: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    kind: Ranked,
    *,
    overwrite: bool,
    tag: str,
) -> None:
    """Write qrels or a run as TREC, `.gz` and `.zst` by the file's suffix.

    A plan is written as it runs where the rows of each query stand together; otherwise, and where
    something is wrong with a row, it is held in memory.

    Raises
    ------
    RowError
        An id or a subtopic that the format cannot hold: empty, with white space or NUL, a query
        id that begins with `#`, or ids that make the file begin like one of another format.
    """
    with beside(path, overwrite=overwrite) as part:
        if isinstance(frame, pl.LazyFrame):
            try:
                _write(_whole_queries(frame, kind), part, kind, tag)
                return
            except (FrameError, _Scattered):
                frame = collect(frame)
        _write(iter([conform(frame, kind)]), part, kind, tag)


def _write(pieces: Iterator[pl.DataFrame], path: Path, kind: Ranked, tag: str) -> None:
    """Write pieces one behind the other; compressed, each is data of its own, as gzip allows."""
    first = None
    with open(path, "wb") as file:
        for piece in pieces:
            _refuse_ids(piece)
            _lines(piece, kind, tag).write_csv(
                file,
                include_header=False,
                separator=" ",
                quote_style="never",
                compression=PACKED.get(path.suffix, "uncompressed"),
                check_extension=False,
            )
            first = piece if first is None else first
    if first is not None:
        _refuse_beginning(path, kind, first)


def _lines(piece: pl.DataFrame, kind: Ranked, tag: str) -> pl.DataFrame:
    """The columns of TREC's lines, in their order."""
    if kind == "qrels":
        second = pl.col("subtopic") if "subtopic" in piece.columns else pl.lit("0")
        return piece.select("query_id", second.alias("second"), "doc_id", "relevance")
    if "system" not in piece.columns:
        _refuse_tag(tag)
    system = pl.col("system") if "system" in piece.columns else pl.lit(tag)
    ranked = piece if "rank" in piece.columns else _ranked(piece)
    return ranked.select(
        "query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", system.alias("tag")
    )


def _whole_queries(plan: pl.LazyFrame, kind: Ranked) -> Iterator[pl.DataFrame]:
    """Checked pieces of a plan, none of which ends within the rows of a query."""
    plan = conform(plan, kind, check_plans=False)
    keys = [name for name in KINDS[kind].key if name in ("system", "query_id")]
    keys = [name for name in keys if name in plan.collect_schema().names()]
    seen: list[pl.DataFrame] = []
    held: pl.DataFrame | None = None
    for batch in batches(plan, ROWS):
        held = batch if held is None else held.vstack(batch)
        others = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).last()) for key in keys)
        before_last = held.select(others.arg_true()).to_series()
        if before_last.is_empty():
            continue
        stop = before_last[-1] + 1
        yield _checked(held[:stop], kind, keys, seen)
        held = held[stop:]
    yield _checked(plan.clear() if held is None else held, kind, keys, seen)
    if pl.concat(seen).is_duplicated().any():
        raise _Scattered


def _checked(
    piece: pl.DataFrame | pl.LazyFrame, kind: Ranked, keys: list[str], seen: list[pl.DataFrame]
) -> pl.DataFrame:
    """A piece whose rows are fine; its queries are written down."""
    frame = conform(collect(piece) if isinstance(piece, pl.LazyFrame) else piece, kind)
    seen.append(frame.select(keys).unique())
    return frame


def _refuse_tag(tag: str) -> None:
    if not tag or any(mark in tag for mark in (*NOT_IN_IDS, "\n")):
        raise OptionError(
            f"tag={tag!r:.80} cannot stand in TREC's format, which wants one word without white "
            "space or NUL"
        )


def _refuse_ids(frame: pl.DataFrame) -> None:
    known = ("system", "query_id", "doc_id", "subtopic")
    ids = [name for name in known if name in frame.columns]
    tests = [
        (pl.col(name) == "") | pl.col(name).str.contains_any([*NOT_IN_IDS, "\n"]) for name in ids
    ]
    tests.append(pl.col("query_id").str.contains(r"^[#\x{feff}]"))
    bad = frame.select(ids).with_row_index("row").filter(pl.any_horizontal(tests))
    if bad.height:
        raise RowError(
            f"{bad.height} rows have an id that TREC's format cannot hold: empty, with white space "
            "or NUL, or a query_id that begins with '#'. Write Parquet or JSON instead. "
            f"First rows:\n{first_rows(bad)}"
        )


def _refuse_beginning(path: Path, kind: Ranked, frame: pl.DataFrame) -> None:
    """Refuse a file that readers would take for something else by how it begins."""
    try:
        source = find(path)
        if source.layout == "text" and sniff_table(source, kind, {}) is None:
            return
    except ReadError:
        pass
    raise RowError(
        "in TREC's format these rows would be read as something else (a web page, JSON, CSV, …) by "
        f"the ids that stand first. Write Parquet or JSON instead. First rows:\n"
        f"{first_rows(frame)}"
    )


def _ranked(run: pl.DataFrame) -> pl.DataFrame:
    """A run with a rank column: score descending, then doc_id descending; rows stay in place."""
    groups = [name for name in ("system", "query_id") if name in run.columns]
    ordered = run.with_row_index("row").sort(
        *groups, "score", "doc_id", descending=[False] * len(groups) + [True, True]
    )
    ranks = ordered.with_columns(pl.int_range(1, pl.len() + 1).over(groups).alias("rank"))
    return ranks.sort("row").drop("row")
