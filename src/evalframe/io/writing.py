"""Frames to files: the suffix decides the format, and nothing is lost on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import ColumnError, FrameError, OptionError
from evalframe.frames import conform
from evalframe.io import dicts
from evalframe.io.any_samples import samples_from_any
from evalframe.io.any_tables import table_of
from evalframe.io.json_writing import write_json, write_jsonl
from evalframe.io.lines import first_line
from evalframe.io.parquet import write_parquet
from evalframe.io.saving import beside
from evalframe.io.table_writing import write_table
from evalframe.io.trec_writing import write_trec

__all__ = ["checked_frame", "write_kind"]

TREC = (".trec", ".txt", ".qrels", ".qrel", ".run", ".res", ".results", ".test")
NESTED: dict[str, Any] = {
    "qrels": dicts.qrels_to_dict,
    "run": dicts.run_to_dict,
    "queries": dicts.queries_to_dict,
    "corpus": dicts.corpus_to_dict,
    "samples": dicts.samples_to_dicts,
}
HELD: dict[Kind, tuple[str, tuple[str, ...]]] = {
    "qrels": ("{query_id: {doc_id: grade}}", ("query_id", "doc_id", "relevance")),
    "run": ("{query_id: {doc_id: score}}", ("system", "query_id", "doc_id", "score")),
    "queries": ("{query_id: text}", ("query_id", "text")),
}
"""The nested dicts that lose columns, and the columns that they hold."""


def write_kind(
    data: Any,
    path: str | os.PathLike[str],
    kind: Kind,
    *,
    overwrite: bool = False,
    tag: str = "evalframe",
) -> None:
    """Check a frame, or what can be made one, and write it in the format of the path's suffix.

    A lazy frame goes to Parquet and TREC as it runs; for other formats it is held in memory.
    """
    with _numbers_told(path):
        _write(_frame_of(data, kind), path, kind, overwrite, tag)


def checked_frame(data: Any, kind: Kind) -> pl.DataFrame:
    """Anything but a path as a checked frame in memory."""
    frame = _frame_of(data, kind)
    return conform(collect(frame) if isinstance(frame, pl.LazyFrame) else frame, kind)


def _write(
    frame: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    kind: Kind,
    overwrite: bool,
    tag: str,
) -> None:
    suffixes = [s.lower() for s in Path(path).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".parquet", ".pq", ".parq") and not packed:
        if isinstance(frame, pl.LazyFrame):
            write_parquet(conform(frame, kind), path, kind=kind, overwrite=overwrite)
        else:
            write_parquet(conform(frame, kind), path, kind=kind, overwrite=overwrite)
        return
    if suffix in TREC and (kind == "qrels" or kind == "run"):
        write_trec(frame, path, kind, overwrite=overwrite, tag=tag)
        return
    table = checked_frame(frame, kind)
    if suffix in (".arrow", ".feather", ".ipc") and not packed:
        with beside(path, overwrite=overwrite) as part:
            table.write_ipc(part)
    elif suffix in (".jsonl", ".ndjson"):
        write_jsonl(table, path, overwrite=overwrite)
    elif suffix == ".json":
        _refuse_lost(table, kind, path)
        write_json(NESTED[kind](table), path, overwrite=overwrite)
    elif suffix in (".tsv", ".csv"):
        mark = "\t" if suffix == ".tsv" else ","
        write_table(table, path, mark=mark, overwrite=overwrite)
    else:
        trec = ", .trec" if kind in ("qrels", "run") else ""
        raise OptionError(
            f"{os.fspath(path)}: the suffix does not say in which format to write {kind}; "
            f"offered are .parquet, .arrow, .jsonl, .json, .tsv, .csv{trec}, "
            "with .gz or .zst after the text formats"
        )


@contextmanager
def _numbers_told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of a plan that comes upon words in the place of numbers what they are."""
    try:
        yield
    except pl.exceptions.InvalidOperationError as error:
        raise ColumnError(f"{os.fspath(path)} was not written: {first_line(error)}") from error


def _frame_of(data: Any, kind: Kind) -> pl.DataFrame | pl.LazyFrame:
    """Anything but a path as a frame of its kind."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data
    if isinstance(data, str | os.PathLike):
        raise FrameError(
            f"to write {kind}, give a frame, dicts or lists: {os.fspath(data)!r:.80} is a path; "
            f"read it with read_{kind}, and name the path to write to second"
        )
    return samples_from_any(data) if kind == "samples" else table_of(data, kind, {})


def _refuse_lost(table: pl.DataFrame, kind: Kind, path: str | os.PathLike[str]) -> None:
    """Refuse what nested dicts would lose: subtopics, ranks, all but the texts of queries."""
    if kind not in HELD:
        return
    form, held = HELD[kind]
    lost = [name for name in table.columns if name not in held]
    if lost == ["rank"] and _are_rows(table):
        return
    if lost:
        trec = "" if kind == "queries" else " or .trec"
        raise OptionError(
            f"{os.fspath(path)}: JSON of the form {form} has no place for "
            f"{', '.join(map(repr, lost))}; write .jsonl, .parquet, .tsv{trec} instead, or drop "
            "what need not be kept"
        )


def _are_rows(run: pl.DataFrame) -> bool:
    """Whether the ranks of each list are 1, 2, 3 … as its rows stand, which JSON keeps."""
    groups = [name for name in ("system", "query_id") if name in run.columns]
    rows = pl.int_range(1, pl.len() + 1).over(groups)
    return bool(run.select((pl.col("rank").eq_missing(rows)).all()).item())
