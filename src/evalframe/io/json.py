"""JSON: one object per line (JSONL), a list of objects, or nested dicts (ranx, BEIR results)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.engine import fetch
from evalframe.errors import ReadError, RowError
from evalframe.frames import find_columns
from evalframe.io import cbor
from evalframe.io.dicts import corpus_from_dict, qrels_from_dict, queries_from_dict, run_from_dict
from evalframe.io.files import Source, decompressed, with_head
from evalframe.io.json_lines import line_records, read_json_lines, scan_json_lines
from evalframe.io.json_values import HALF, as_frame, is_halved, loads, text_of
from evalframe.io.lines import OnBadLine, cut
from evalframe.io.remote import fetching
from evalframe.io.sample_records import faults_among, known_columns, records_of_columns

__all__ = ["read_cbor", "read_json", "scan_json"]

NESTED: dict[Kind, Callable[[Any], pl.DataFrame]] = {
    "qrels": qrels_from_dict,
    "run": run_from_dict,
    "queries": queries_from_dict,
    "corpus": corpus_from_dict,
}
FIRST_KEY = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*[\[{]')


def read_json(
    source: Source,
    kind: Kind,
    columns: Mapping[str, str],
    on_bad_line: OnBadLine = "error",
    repeats: bool = False,
) -> pl.DataFrame:
    """Read JSON or JSONL into a frame. A bare `NaN` is null; `Infinity` is a number.

    Samples are read record by record, since Polars would turn numbers and lists into text where
    other records have text; with `repeats`, their ids may stand more than once.
    """
    source = with_head(source)
    if kind == "samples":
        return _samples(source, columns, on_bad_line, repeats)
    if _is_lines(source, kind):
        return read_json_lines(source, kind, columns, on_bad_line)
    frames = [_whole(path, source, kind, columns) for path in source.paths]
    return pl.concat(frames, how="diagonal")


def scan_json(
    source: Source, kind: Kind, columns: Mapping[str, str], on_bad_line: OnBadLine = "error"
) -> pl.LazyFrame:
    """Plan the reading of JSONL; JSON that is one value is read at once, and given as a plan."""
    source = with_head(source)
    if _is_lines(source, kind):
        return scan_json_lines(source, kind, columns, on_bad_line)
    return read_json(source, kind, columns).lazy()


def read_cbor(source: Source, kind: Kind) -> pl.DataFrame:
    """Read ranx's LZ4 files: nested dicts as CBOR, compressed twice."""
    frames = []
    for path in source.paths:
        value = cbor.decode(decompressed(path, "lz4", twice=True), path)
        if not isinstance(value, Mapping):
            raise ReadError(f"{path}: no nested dicts in this LZ4 file")
        frames.append(_from_value(value, path, kind, {}))
    return pl.concat(frames, how="diagonal")


def _is_lines(source: Source, kind: Kind) -> bool:
    """Whether each line is a record, and not the whole file one value."""
    head = source.head.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip()
    if head.startswith("["):
        return False
    named = {"jsonl", "ndjson"} & {*Path(source.paths[0].lower()).name.split(".")}
    try:
        _, end = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return (bool(named) and "\n" not in head) or _is_long_record(head, kind)
    return bool(head[end:].strip()) or (bool(named) and "\n" not in head[:end])


def _is_long_record(head: str, kind: Kind) -> bool:
    """Whether an object that does not end within the head, or is damaged, is the first of lines."""
    first, newline, rest = head.partition("\n")
    if newline:
        return any(line.startswith("{") for line in rest.splitlines())
    nested = FIRST_KEY.match(first)
    known = {n for column in KINDS[kind].roles for n in KINDS[kind].names_for(column)}
    return not nested or nested.group(1) in known


def _is_record(value: Mapping[str, Any], kind: Kind, columns: Mapping[str, str]) -> bool:
    """Whether an object's keys are those of a row (or of columns), not ids."""
    if columns and {*columns.values()} <= value.keys():
        return True
    shape = KINDS[kind]
    found = find_columns(shape, [*value], {})
    needed = [column for column in shape.required if column != "score" or "rank" not in found]
    return bool(found) and all(column in found for column in needed)


def _sample_rows(value: Any, path: str, columns: Mapping[str, str]) -> list[Any]:
    """The records in a JSON value: itself, its columns, or the list of them that it holds."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ReadError(f"{path}: an object or a list of objects is wanted, not {cut(repr(value))}")
    if _is_record(value, "samples", columns):
        by_column = all(isinstance(held, list) for held in value.values())
        return records_of_columns(value) if by_column else [value]
    lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], Mapping)]
    return lists[0] if lists else [value]


def _samples(
    source: Source, columns: Mapping[str, str], on_bad_line: OnBadLine, repeats: bool
) -> pl.DataFrame:
    if not _is_lines(source, "samples"):
        values = [(_value_in(path, source), path) for path in source.paths]
        rows = [row for value, path in values for row in _sample_rows(value, path, columns)]
        return _sample_frame(rows, columns, repeats)
    try:
        return _sample_frame(line_records(source, "error"), columns, repeats)
    except (ReadError, RowError) as error:
        problems = error
    # The lines are told apart by what they hold, once all names are known.
    fault = faults_among(line_records(source, None), columns)
    try:
        rows = line_records(source, on_bad_line, "samples", fault)
    except ReadError as lines:
        if isinstance(problems, RowError):
            raise RowError(f"{problems}\n{lines}") from lines
        raise
    return _sample_frame(rows, columns, repeats)


def _sample_frame(rows: list[Any], columns: Mapping[str, str], repeats: bool) -> pl.DataFrame:
    """Samples with every known column checked; further columns as in any other JSON."""
    known, rest = known_columns(rows, columns, repeats=repeats)
    return known.hstack(as_frame(rest, {}).get_columns()) if any(rest) else known


def _whole(path: str, source: Source, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    """A file that is one JSON value."""
    return _from_value(_value_in(path, source), path, kind, columns)


def _whole_text(path: str, source: Source) -> str:
    if not source.remote:
        return text_of(path, source)
    lines = pl.scan_lines(source.target, **source.options)
    with fetching(path):
        return "\n".join(fetch(lines, "in-memory").to_series())


def _value_in(path: str, source: Source) -> Any:
    text = _whole_text(path, source)
    if is_halved(text):
        raise ReadError(f"{path}: a text in this JSON holds {HALF}")
    try:
        return loads(text)
    except ValueError as error:
        if isinstance(error, ReadError):
            raise ReadError(f"{path}: {error}") from error
        raise ReadError(f"{path}: this JSON is damaged or cut short: {error}") from error
    except RecursionError as error:
        raise ReadError(f"{path}: this JSON is nested too deeply") from error


def _from_value(value: Any, path: str, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    """A list of records, one record, a dict of columns, `{"data": [records]}`, or nested dicts."""
    if isinstance(value, list):
        return _from_records(value, path)
    if not value:
        raise ReadError(f"{path}: an empty JSON object")
    if _is_record(value, kind, columns):
        if all(isinstance(v, list) for v in value.values()):
            return as_frame(records_of_columns(value), {})
        return _from_records([value], path)
    lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], Mapping)]
    if len(lists) == 1 and not all(isinstance(v, Mapping | list) for v in value.values()):
        return _from_records(lists[0], path)
    return (
        NESTED[kind](value)
        if kind in NESTED
        else _from_records(lists[0] if lists else [value], path)
    )


def _from_records(records: list[Any], path: str) -> pl.DataFrame:
    if not records:
        raise ReadError(f"{path}: an empty JSON list")
    other = next((r for r in records if not isinstance(r, Mapping)), None)
    if other is not None:
        raise ReadError(
            f"{path}: a list of objects is wanted, and it holds {cut(json.dumps(other))}"
        )
    return as_frame(records, {})
