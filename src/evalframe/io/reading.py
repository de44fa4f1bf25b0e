"""Files to frames: what a file is decides how it is read, and the door checks what comes out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import fetch
from evalframe.errors import ColumnError, FrameError, OptionError, ReadError, RowError, one_of
from evalframe.frames import Duplicates, Frame, conform
from evalframe.io.delimited import read_table, scan_table, sniff_table
from evalframe.io.files import Source, each, find, with_head
from evalframe.io.folders import folder_values, with_folders
from evalframe.io.json import read_cbor, read_json, scan_json
from evalframe.io.lines import OnBadLine, damaged
from evalframe.io.parquet import alike, refuse_other_kind, scan_arrow, scan_parquet
from evalframe.io.remote import options_told
from evalframe.io.samples import flat_samples
from evalframe.io.shards import refuse_missing_shards
from evalframe.io.trec import read_trec, scan_trec
from evalframe.io.uniting import by_house_names, united

__all__ = ["read_kind", "read_unchecked", "scan_kind"]

PathLike = str | os.PathLike[str]

BINARY = ("parquet", "ipc")
"""Layouts whose files say themselves what their columns are."""


@dataclass(frozen=True)
class _Asked:
    """What is to be read, and how."""

    kind: Kind
    columns: Mapping[str, str]
    duplicates: Duplicates = "error"
    system: bool = False
    ranks: bool = True
    subtopics: bool = False
    on_bad_line: OnBadLine = "error"


@options_told()
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

    Each file of a pattern is read as what it is, by its own header, and they are put together by
    the house's names. Without `ranks`, the rank column of a TREC run is left where it is; with
    `subtopics`, the second column of TREC qrels is their subtopic.
    """
    one_of("on_bad_line", on_bad_line, ("error", "skip"))
    _refuse_names(columns)
    source = find(path, storage_options=storage_options)
    asked = _Asked(kind, columns or {}, duplicates, system, ranks, subtopics, on_bad_line)
    parts = _parts(source)
    frames = [_checked(part, asked, alone=len(parts) == 1) for part in parts]
    if len(parts) == 1:
        return frames[0]
    with _naming(source):
        return conform(united(frames, parts, kind), kind, duplicates=duplicates)


@options_told()
def scan_kind(
    path: PathLike,
    kind: Kind,
    *,
    columns: Mapping[str, str] | None = None,
    system: bool = False,
    subtopics: bool = False,
    check_plans: bool = True,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of a path, glob, folder or URI into a frame of a kind; see `read_kind`."""
    one_of("on_bad_line", on_bad_line, ("error", "skip"))
    _refuse_names(columns)
    source = find(path, storage_options=storage_options)
    asked = _Asked(kind, columns or {}, system=system, subtopics=subtopics, on_bad_line=on_bad_line)
    parts = _parts(source)
    plans = []
    for part in parts:
        with _naming(part):
            plan, given = _scan(part, asked)
            plan = flat_samples(plan, given) if kind == "samples" else plan
            plan = conform(plan, kind, columns=given, check_plans=check_plans and len(parts) == 1)
            plans.append(_by_subtopic(plan) if subtopics else plan)
    if len(parts) == 1:
        return plans[0]
    with _naming(source):
        return conform(united(plans, parts, kind), kind, check_plans=check_plans)


def read_unchecked(path: PathLike, kind: Kind) -> pl.DataFrame | pl.LazyFrame:
    """Read a path as it is: columns by their own names and types, rows whatever they hold.

    Lines of text that do not fit are left out with a warning (`SkippedLinesWarning`).
    """
    asked = _Asked(kind, {}, duplicates="best", on_bad_line="skip")
    parts = _parts(find(path))
    if len(parts) == 1:
        part = parts[0]
        return _scan(part, asked)[0] if part.layout in BINARY else _read(part, asked)[0]
    frames = [_read(part, asked)[0] for part in parts]
    return united([by_house_names(frame, kind) for frame in frames], parts, kind)


def _refuse_names(columns: object) -> None:
    if columns is not None and not isinstance(columns, Mapping):
        raise OptionError(
            f"columns={columns!r:.80}: a mapping is wanted, such as {{'query_id': 'your name'}}"
        )


def _parts(source: Source) -> list[Source]:
    """What is read at once: a file of text, or Parquet files of one schema."""
    parts = alike(source) if source.remote and source.layout in BINARY else each(source)
    refuse_missing_shards(source, [path for part in parts for path in part.paths])
    one_layout = {part.layout for part in parts} == {source.layout}
    if source.remote or not one_layout or source.layout not in BINARY:
        return parts
    return alike(source)


def _checked(part: Source, asked: _Asked, *, alone: bool) -> pl.DataFrame:
    """One part as a frame of its kind. Among others, a Parquet file may have no rows."""
    kind = asked.kind
    with _naming(part):
        frame, given = _read(part, asked)
        try:
            frame = flat_samples(frame, given) if kind == "samples" else frame
            if frame.height == 0 and not alone:
                plan = conform(frame.lazy(), kind, columns=given, check_plans=False)
                return fetch(plan, "in-memory")
            checked = conform(frame, kind, columns=given, duplicates=asked.duplicates)
        except RowError as error:
            hint = "" if asked.subtopics or kind != "qrels" else _second_column(frame)
            raise RowError(f"{error}{hint}") from error
        return _by_subtopic(checked) if asked.subtopics else checked


@contextmanager
def _naming(source: Source) -> Iterator[None]:
    """Put the file's name before what is wrong with its frame."""
    try:
        yield
    except FrameError as error:
        named = str(error).startswith(f"{source.name}: ")
        raise type(error)(str(error) if named else f"{source.name}: {error}") from error


def _by_subtopic(qrels: Frame) -> Frame:
    """Qrels that were asked for their subtopics, if they have them."""
    if "subtopic" not in qrels.collect_schema().names():
        raise ColumnError(
            "subtopics=True, and there is no column 'subtopic'; name yours with "
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


def _read(source: Source, asked: _Asked) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """The rows of one part with its folders' columns, and what of `columns` is not yet settled."""
    folders, own = _folders(source, asked)
    frame, settled = _read_file(source, own)
    return with_folders(frame, source, folders, asked.columns), {} if settled else own.columns


def _scan(source: Source, asked: _Asked) -> tuple[pl.LazyFrame, Mapping[str, str]]:
    """`_read` as a plan."""
    folders, own = _folders(source, asked)
    plan, settled = _scan_file(source, own)
    return with_folders(plan, source, folders, asked.columns), {} if settled else own.columns


def _folders(source: Source, asked: _Asked) -> tuple[dict[str, str | None], _Asked]:
    """What the folders say of a file, and what is asked of the file itself."""
    folders = folder_values(source)
    if asked.system and source.layout == "text":
        folders.pop("system", None)
    own = {column: name for column, name in asked.columns.items() if name not in folders}
    return folders, replace(asked, columns=own)


def _read_file(source: Source, asked: _Asked) -> tuple[pl.DataFrame, bool]:
    """The rows of one part, and whether `columns` have been settled in reading them."""
    kind = asked.kind
    if source.layout == "json":
        repeats = asked.duplicates == "best"
        return read_json(source, kind, asked.columns, asked.on_bad_line, repeats), False
    if source.layout == "cbor":
        return read_cbor(source, kind), False
    if source.layout == "text":
        source = with_head(source)
        table = sniff_table(source, kind, asked.columns)
        if table is not None:
            return read_table(source, table, asked.on_bad_line), False
        if kind == "qrels" or kind == "run":
            frame = read_trec(
                source,
                kind,
                columns=asked.columns,
                system=asked.system,
                ranks=asked.ranks,
                subtopics=asked.subtopics,
                on_bad_line=asked.on_bad_line,
            )
            return frame, True
    try:
        plan, settled = _scan_file(source, asked)
        if kind == "qrels" or kind == "run":
            plan = conform(plan, kind, columns=asked.columns, check_plans=False)
            settled = True
        return fetch(plan, "in-memory"), settled
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, OSError) as error:
        raise damaged(source, error) from error


def _scan_file(source: Source, asked: _Asked) -> tuple[pl.LazyFrame, bool]:
    """The plan of one part, and whether `columns` have been settled in it."""
    kind = asked.kind
    if source.layout == "parquet":
        plan = scan_parquet(source)
        if not asked.columns:
            refuse_other_kind(source, kind)
        return plan, False
    if source.layout in ("ipc", "ipc_stream"):
        return scan_arrow(source), False
    if source.layout == "json":
        return scan_json(source, kind, asked.columns, asked.on_bad_line), False
    if source.layout == "cbor":
        return read_cbor(source, kind).lazy(), False
    source = with_head(source)
    table = sniff_table(source, kind, asked.columns)
    if table is not None:
        return scan_table(source, table, asked.on_bad_line), False
    if kind == "qrels" or kind == "run":
        plan = scan_trec(
            source,
            kind,
            columns=asked.columns,
            system=asked.system,
            subtopics=asked.subtopics,
            on_bad_line=asked.on_bad_line,
        )
        return plan, True
    raise ReadError(f"{source.name}: no table of {kind}")
