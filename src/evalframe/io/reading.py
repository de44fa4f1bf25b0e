"""Files to frames: what a file is decides how it is read, and the door checks what comes out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import ColumnError, FrameError, ReadError, RowError, one_of
from evalframe.frames import Duplicates, Frame, conform
from evalframe.io.delimited import read_table, scan_table, sniff_table
from evalframe.io.files import Source, find, with_head
from evalframe.io.json import read_cbor, read_json, scan_json
from evalframe.io.lines import OnBadLine, first_line
from evalframe.io.parquet import scan_arrow, scan_parquet
from evalframe.io.samples import flat_samples
from evalframe.io.trec import read_trec, scan_trec

__all__ = ["read_kind", "read_unchecked", "scan_kind"]

PathLike = str | os.PathLike[str]


def read_kind(
    path: PathLike,
    kind: Kind,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    system: bool = False,
    ranks: bool = True,
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read a path, glob, folder or URI into a checked frame of a kind.

    Without `ranks`, the rank column of a TREC run is left where it is; with `subtopics`, the second
    column of TREC qrels is their subtopic.
    """
    one_of("on_bad_line", on_bad_line, ("error", "skip"))
    source = find(path, storage_options=storage_options)
    given = columns or {}
    try:
        repeats = duplicates == "best"
        frame = _read(source, kind, given, system, ranks, on_bad_line, repeats, subtopics)
        left = {column: name for column, name in given.items() if name in frame.columns}
        if kind == "samples":
            frame = flat_samples(frame, left)
        checked = conform(frame, kind, columns=left, duplicates=duplicates)
        return _by_subtopic(checked, source) if subtopics else checked
    except RowError as error:
        hint = "" if subtopics or kind != "qrels" else _second_column(frame)
        raise RowError(f"{source.name}: {error}{hint}") from error
    except FrameError as error:
        raise type(error)(f"{source.name}: {error}") from error


def scan_kind(
    path: PathLike,
    kind: Kind,
    *,
    columns: Mapping[str, str] | None = None,
    system: bool = False,
    subtopics: bool = False,
    check_plans: bool = True,
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of a path, glob, folder or URI into a frame of a kind."""
    source = find(path, storage_options=storage_options)
    given = columns or {}
    try:
        plan = _scan(source, kind, given, system, subtopics)
        if kind == "samples":
            plan = flat_samples(plan, given)
        checked = conform(plan, kind, columns=given, check_plans=check_plans)
        return _by_subtopic(checked, source) if subtopics else checked
    except FrameError as error:
        raise type(error)(f"{source.name}: {error}") from error


def _by_subtopic(qrels: Frame, source: Source) -> Frame:
    """Qrels that were asked for their subtopics, if they have them."""
    if "subtopic" not in qrels.collect_schema().names():
        raise ColumnError(
            f"{source.name}: subtopics=True, and there is no column 'subtopic'; name yours with "
            "columns={'subtopic': 'your name'}"
        )
    return qrels


def _second_column(qrels: pl.DataFrame) -> str:
    """What to do about repeated pairs of a table that may be by subtopic."""
    names = ["query_id", "doc_id"]
    has_both = all(name in qrels.columns for name in names) and "subtopic" not in qrels.columns
    if not has_both or not qrels.select(pl.struct(names).is_duplicated().any()).item():
        return ""
    return "\nTREC qrels that name the subtopic in the second column: read_qrels(…, subtopics=True)"


def read_unchecked(path: PathLike, kind: Kind) -> pl.DataFrame | pl.LazyFrame:
    """Read a path as it is: columns by their own names and types, rows whatever they hold.

    Lines of text that do not fit are left out with a warning (`SkippedLinesWarning`).
    """
    source = find(path)
    if source.layout in ("parquet", "ipc", "ipc_stream"):
        return _scan(source, kind, {}, False)
    return _read(source, kind, {}, False, True, "skip", True)


def _read(
    source: Source,
    kind: Kind,
    columns: Mapping[str, str],
    system: bool,
    ranks: bool,
    on_bad_line: OnBadLine,
    repeats: bool,
    subtopics: bool = False,
) -> pl.DataFrame:
    if source.layout == "json":
        return read_json(source, kind, columns, on_bad_line, repeats)
    if source.layout == "cbor":
        return read_cbor(source, kind)
    if source.layout == "text":
        source = with_head(source)
        table = sniff_table(source, kind, columns)
        if table is not None:
            return read_table(source, table, on_bad_line)
        if kind == "qrels" or kind == "run":
            return read_trec(
                source,
                kind,
                system=system,
                ranks=ranks,
                subtopics=subtopics,
                on_bad_line=on_bad_line,
            )
    try:
        plan = _scan(source, kind, columns, system)
        if kind == "qrels" or kind == "run":
            plan = conform(plan, kind, columns=columns, check_plans=False)
        return collect(plan, "in-memory")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(f"{source.name}: the file is damaged: {first_line(error)}") from error


def _scan(
    source: Source,
    kind: Kind,
    columns: Mapping[str, str],
    system: bool,
    subtopics: bool = False,
) -> pl.LazyFrame:
    if source.layout == "parquet":
        return scan_parquet(source)
    if source.layout in ("ipc", "ipc_stream"):
        return scan_arrow(source)
    if source.layout == "json":
        return scan_json(source, kind, columns)
    if source.layout == "cbor":
        return read_cbor(source, kind).lazy()
    source = with_head(source)
    table = sniff_table(source, kind, columns)
    if table is not None:
        return scan_table(source, table)
    if kind == "qrels" or kind == "run":
        return scan_trec(source, kind, system=system, subtopics=subtopics)
    raise ReadError(f"{source.name}: no table of {kind}")
