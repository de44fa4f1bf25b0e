"""Frames to files: the suffix decides the format, and nothing is lost on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import FrameError, OptionError
from evalframe.frames import conform
from evalframe.io import dicts
from evalframe.io.json_writing import write_json, write_jsonl
from evalframe.io.parquet import write_parquet
from evalframe.io.saving import beside
from evalframe.io.table_writing import write_table
from evalframe.io.trec import write_trec

__all__ = ["write_kind"]

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
    frame: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    kind: Kind,
    *,
    overwrite: bool = False,
    tag: str = "evalframe",
) -> None:
    """Check a frame and write it in the format of the path's suffix.

    A lazy frame goes to Parquet as it runs; for other formats it is held in memory.
    """
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        raise FrameError(
            f"{kind} to write are a Polars frame, and this is {type(frame).__name__}; "
            "make it one with pl.from_pandas, pl.DataFrame or evalframe's own readers"
        )
    suffixes = [s.lower() for s in Path(path).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".parquet", ".pq", ".parq") and not packed:
        if isinstance(frame, pl.LazyFrame):
            write_parquet(conform(frame, kind), path, kind=kind, overwrite=overwrite)
        else:
            write_parquet(conform(frame, kind), path, kind=kind, overwrite=overwrite)
        return
    table = conform(collect(frame) if isinstance(frame, pl.LazyFrame) else frame, kind)
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
    elif suffix in TREC and (kind == "qrels" or kind == "run"):
        write_trec(table, path, kind, overwrite=overwrite, tag=tag)
    else:
        trec = ", .trec" if kind in ("qrels", "run") else ""
        raise OptionError(
            f"{os.fspath(path)}: the suffix does not say in which format to write {kind}; "
            f"offered are .parquet, .arrow, .jsonl, .json, .tsv, .csv{trec}, "
            "with .gz or .zst after the text formats"
        )


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
