"""JSON: one object per line (JSONL), a list of objects, or nested dicts (ranx, BEIR results)."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.engine import collect
from evalframe.errors import ReadError
from evalframe.frames import find_columns
from evalframe.io import cbor
from evalframe.io.dicts import corpus_from_dict, qrels_from_dict, queries_from_dict, run_from_dict
from evalframe.io.files import Source, decompressed
from evalframe.io.lines import FAULTS, OnBadLine, cut, explained, report_texts
from evalframe.io.sample_records import known_columns, records_of_columns
from evalframe.io.saving import beside

__all__ = ["read_cbor", "read_json", "scan_json", "write_json", "write_jsonl"]

NESTED: dict[Kind, Callable[[Any], pl.DataFrame]] = {
    "qrels": qrels_from_dict,
    "run": run_from_dict,
    "queries": queries_from_dict,
    "corpus": corpus_from_dict,
}
FIRST_KEY = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*[\[{]')
PEEKED = 10_000
"""Lines from which a lazy plan learns the types of the columns."""


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
    if kind == "samples" and not source.remote:
        return _samples(_sample_records(source, on_bad_line), columns, repeats)
    if not _is_lines(source, kind):
        return pl.concat([_whole(path, source, kind) for path in source.paths], how="diagonal")
    try:
        plan = _scan(source, kind, columns, None)
        return collect(plan, "in-memory")
    except OSError as error:
        raise explained(source, error) from error
    except (*FAULTS, pl.exceptions.PolarsError):
        # Bare NaN, columns of mixed types, or damage: the standard library says which.
        return _by_line(source, kind, columns, on_bad_line)


def scan_json(source: Source, kind: Kind, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Plan the reading of JSONL; JSON that is one value is read at once, and given as a plan."""
    if _is_lines(source, kind):
        return _scan(source, kind, columns, PEEKED)
    return read_json(source, kind, columns).lazy()


def write_jsonl(frame: pl.DataFrame, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write one object per row, `.gz` and `.zst` by the file's suffix."""
    packed: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}
    suffix = os.path.splitext(os.fspath(path))[1]
    with beside(path, overwrite=overwrite) as part:
        frame.lazy().sink_ndjson(
            part, compression=packed.get(suffix, "uncompressed"), check_extension=False
        )


def write_json(value: Any, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write one JSON value (nested dicts, a list of dicts)."""
    with beside(path, overwrite=overwrite) as part:
        part.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def read_cbor(source: Source, kind: Kind) -> pl.DataFrame:
    """Read ranx's LZ4 files: nested dicts as CBOR, compressed twice."""
    frames = []
    for path in source.paths:
        value = cbor.decode(decompressed(path, "lz4", twice=True), path)
        if not isinstance(value, Mapping):
            raise ReadError(f"{path}: no nested dicts in this LZ4 file")
        frames.append(_from_value(value, path, kind))
    return pl.concat(frames, how="diagonal")


def _is_lines(source: Source, kind: Kind) -> bool:
    """Whether each line is a record, and not the whole file one value."""
    if source.remote:
        return not source.name.removesuffix(".gz").removesuffix(".zst").endswith(".json")
    head = source.head.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip()
    if head.startswith("["):
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return _is_long_record(head, kind)
    return bool(head[end:].strip())


def _is_long_record(head: str, kind: Kind) -> bool:
    """Whether an object that does not end within the head, or is damaged, is the first of lines."""
    first, newline, rest = head.partition("\n")
    if newline:
        return any(line.startswith("{") for line in rest.splitlines())
    nested = FIRST_KEY.match(first)
    known = {n for column in KINDS[kind].roles for n in KINDS[kind].names_for(column)}
    return not nested or nested.group(1) in known


def _is_record(value: Mapping[str, Any], kind: Kind) -> bool:
    """Whether an object's keys are those of a row (or of columns), not ids."""
    shape = KINDS[kind]
    found = find_columns(shape, [*value], {})
    needed = [column for column in shape.required if column != "score" or "rank" not in found]
    return bool(found) and all(column in found for column in needed)


def _sample_records(source: Source, on_bad_line: OnBadLine) -> list[Any]:
    if _is_lines(source, "samples"):
        return _line_records(source, on_bad_line)
    return [row for path in source.paths for row in _sample_rows(_value_in(path, source), path)]


def _sample_rows(value: Any, path: str) -> list[Any]:
    """The records in a JSON value: itself, its columns, or the list of them that it holds."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ReadError(f"{path}: an object or a list of objects is wanted, not {cut(repr(value))}")
    if _is_record(value, "samples"):
        columns = all(isinstance(held, list) for held in value.values())
        return records_of_columns(value) if columns else [value]
    lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], Mapping)]
    return lists[0] if lists else [value]


def _samples(rows: list[Any], columns: Mapping[str, str], repeats: bool) -> pl.DataFrame:
    """Samples with every known column checked; further columns as in any other JSON."""
    known, rest = known_columns(rows, columns, repeats=repeats)
    return known.hstack(_as_frame(rest, {}).get_columns()) if any(rest) else known


def _scan(
    source: Source, kind: Kind, columns: Mapping[str, str], peeked: int | None
) -> pl.LazyFrame:
    return pl.scan_ndjson(
        source.target,
        schema_overrides=_ids(source, kind, columns),
        infer_schema_length=peeked,
        **source.options,
    )


def _ids(source: Source, kind: Kind, columns: Mapping[str, str]) -> dict[str, Any]:
    """The columns of ids, as strings, by the keys of the first records."""
    keys: dict[str, None] = {}
    for line in source.lines()[:100]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, Mapping):
            keys.update(dict.fromkeys(record))
    shape = KINDS[kind]
    given = {column: name for column, name in columns.items() if name in keys}
    found = find_columns(shape, [*keys], given)
    return {name: pl.String for column, name in found.items() if shape.roles[column] == "id"}


def _text(path: str, source: Source) -> str:
    if source.compression:
        raw = decompressed(path, source.compression)
    else:
        with open(path, "rb") as file:
            raw = file.read()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ReadError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error


def _loads(text: str) -> Any:
    """One JSON value, in which a bare NaN, as pandas writes for a missing value, is null."""
    return json.loads(
        text,
        parse_constant=lambda name: None if name == "NaN" else float(name),
        object_pairs_hook=_without_repeats,
    )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key, count in times.items() if count > 1)
        raise ReadError(f"the key {twice!r} stands twice in one object; JSON keeps only the last")
    return found


def _whole(path: str, source: Source, kind: Kind) -> pl.DataFrame:
    """A file that is one JSON value."""
    return _from_value(_value_in(path, source), path, kind)


def _value_in(path: str, source: Source) -> Any:
    try:
        return _loads(_text(path, source))
    except ValueError as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(f"{path}: this JSON is damaged or cut short: {error}") from error
    except RecursionError as error:
        raise ReadError(f"{path}: this JSON is nested too deeply") from error


def _from_value(value: Any, path: str, kind: Kind) -> pl.DataFrame:
    """A list of records, one record, a dict of columns, `{"data": [records]}`, or nested dicts."""
    if isinstance(value, list):
        return _from_records(value, path)
    if not value:
        raise ReadError(f"{path}: an empty JSON object")
    if _is_record(value, kind):
        if all(isinstance(v, list) for v in value.values()):
            return pl.DataFrame(value, strict=False)
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
    return _as_frame(records, {})


def _as_frame(records: list[dict[str, Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a frame; a column whose values are of several types becomes JSON text."""
    names = dict.fromkeys(key for record in records for key in record)
    columns = []
    for name in names:
        values = [record.get(name) for record in records]
        if types.get(name) == pl.String:
            values = [v if v is None or isinstance(v, str) else str(v) for v in values]
        try:
            columns.append(pl.Series(name, values, strict=True))
        except (TypeError, pl.exceptions.PolarsError):
            columns.append(pl.Series(name, [_as_text(v) for v in values], pl.String))
    return pl.DataFrame(columns)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _by_line(
    source: Source, kind: Kind, columns: Mapping[str, str], on_bad_line: OnBadLine
) -> pl.DataFrame:
    return _as_frame(_line_records(source, on_bad_line), _ids(source, kind, columns))


def _line_records(source: Source, on_bad_line: OnBadLine) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    bad: list[tuple[str, int, str]] = []
    for path in source.paths:
        for number, line in enumerate(_text(path, source).split("\n"), start=1):
            if not line.strip():
                continue
            try:
                record = _loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                records.append(record)
            else:
                bad.append((path, number, line))
    if bad:
        report_texts(source, bad, "each should be one JSON object", on_bad_line)
    if not records:
        raise ReadError(f"{source.name}: no line of it is a JSON object")
    return records
