"""JSONL: one object per line, each of them a row."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.engine import batches, fetch
from evalframe.errors import ReadError
from evalframe.frames import find_columns
from evalframe.io.files import GIANT, Source, has_giant_line
from evalframe.io.json_values import (
    HALF,
    are_halved,
    as_frame,
    is_halved,
    loads,
    may_repeat,
    text_of,
    what_is_lost,
)
from evalframe.io.lines import FAULTS, SHOWN, OnBadLine, explained, report_texts
from evalframe.io.positions import is_number

__all__ = ["line_records", "read_json_lines", "scan_json_lines"]

LOOKED_AT = 10_000
"""Lines that are looked at together before a plan is made."""


def read_json_lines(
    source: Source, kind: Kind, columns: Mapping[str, str], on_bad_line: OnBadLine
) -> pl.DataFrame:
    """Read JSONL into a frame. Lines without the ids or the number of their kind do not fit."""
    ids = _ids(source, kind, columns)
    if not _has_giant_misfit(source, kind, on_bad_line):
        try:
            frame = fetch(_plan(source, overrides=ids), "in-memory")
            misfit = frame.select(_misfit(frame.schema, kind, columns).any()).item()
            if not misfit and not _any_lost(source, frame):
                return frame
        except OSError as error:
            raise explained(source, error) from error
        except (*FAULTS, pl.exceptions.PolarsError):
            # Bare NaN, columns of mixed types, or damage: the standard library says which.
            pass
    if on_bad_line == "error":
        _report(source, kind, _looked_through(source, kind, columns, ids), "error")
    unfit = _unfit(_needed(source, kind, columns))
    return as_frame(line_records(source, on_bad_line, kind, unfit), ids)


def scan_json_lines(
    source: Source, kind: Kind, columns: Mapping[str, str], on_bad_line: OnBadLine
) -> pl.LazyFrame:
    """Plan the reading of JSONL.

    The lines are looked through for their keys and types, a few at a time, and those that do not
    fit are told now. What Polars cannot read (a bare NaN, types that do not go together) is read by
    the standard library, and held in memory.
    """
    if _has_giant_misfit(source, kind, on_bad_line):
        return read_json_lines(source, kind, columns, on_bad_line).lazy()
    ids = _ids(source, kind, columns)
    look = _looked_through(source, kind, columns, ids)
    _report(source, kind, look, on_bad_line)
    if look.schema is None:
        unfit = _unfit(_needed(source, kind, columns))
        return as_frame(line_records(source, None, kind, unfit), ids).lazy()
    plan = _plan(source, schema=look.schema)
    return plan.filter(~_misfit(look.schema, kind, columns)) if look.total else plan


def line_records(
    source: Source,
    on_bad_line: OnBadLine | None,
    kind: Kind = "samples",
    fault: Callable[[dict[str, Any]], str | None] = lambda record: None,
) -> list[dict[str, Any]]:
    """The objects of all lines, but for those that `fault` tells a fault of (in words, or "").

    Bad lines are left out without a word where `on_bad_line` is None.
    """
    records: list[dict[str, Any]] = []
    bad: list[tuple[str, int, str]] = []
    reasons: list[str] = []
    for path in source.paths:
        for number, line in enumerate(_lines_of(path, source), start=1):
            if not line.strip():
                continue
            record = _record(line)
            reason = "" if record is None else fault(record)
            if record is not None and reason is None:
                records.append(record)
            else:
                bad.append((path, number, line[:GIANT]))
                if len(bad) <= SHOWN:
                    reasons.append(reason or what_is_lost(line))
    if bad and (on_bad_line is not None or not records):
        report_texts(source, bad, _wanted(kind), on_bad_line or "error", reasons=reasons)
    if not records:
        raise ReadError(f"{source.name}: no line of it {'fits' if bad else 'is a JSON object'}")
    return records


def _lines_of(path: str, source: Source) -> Iterator[str]:
    """The lines of a file, one by one where it is here and as it is."""
    if source.remote:
        lines = fetch(pl.scan_lines(source.target, **source.options), "in-memory").to_series()
        yield from lines
    elif source.compression:
        yield from text_of(path, source).split("\n")
    else:
        with open(path, "rb") as file:
            try:
                yield from (line.decode("utf-8-sig").removesuffix("\n") for line in file)
            except UnicodeDecodeError as error:
                raise explained(source, error) from error


def _any_lost(source: Source, rows: pl.DataFrame) -> bool:
    """Whether a line holds half a character or a key twice, of which Polars says nothing."""
    lines = pl.scan_lines(source.target, **source.options)
    line = pl.col("line")
    escaped, repeated = line.str.contains_any(["\\ud", "\\uD"]), may_repeat(line, rows)
    halves, repeats = fetch(lines.select(escaped.any(), repeats=repeated.any())).row(0)
    if halves and fetch(lines.select(are_halved(line).any())).item():
        return True
    suspects = batches(lines.filter(repeated), LOOKED_AT) if repeats else ()
    return any(what_is_lost(text) for some in suspects for text in some["line"])


def _has_giant_misfit(source: Source, kind: Kind, on_bad_line: OnBadLine) -> bool:
    """Whether a giant line is no object, of which the engine would make copies.

    It is refused at once, unless such lines are to be left out.
    """
    path = source.paths[0]
    if source.remote or source.compression or not has_giant_line(path):
        return False
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if len(line) > GIANT and _record(line.decode(errors="replace")) is None:
                if on_bad_line == "error":
                    start = line[:GIANT].decode(errors="replace")
                    report_texts(source, [(path, number, start)], _wanted(kind), "error")
                return True
    return False


def _report(source: Source, kind: Kind, look: _Look, on_bad_line: OnBadLine) -> None:
    """Say which lines do not fit, if any."""
    if look.total:
        texts = [(source.name, at, line) for at, line in look.bad]
        reasons = [what_is_lost(line) for _, line in look.bad]
        report_texts(source, texts, _wanted(kind), on_bad_line, look.total, reasons)


def _record(line: str) -> dict[str, Any] | None:
    if is_halved(line):
        return None
    try:
        record = loads(line.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _unfit(needed: Mapping[str, str]) -> Callable[[dict[str, Any]], str | None]:
    """What tells an object that lacks an id or a number of those `needed`."""
    return lambda record: None if _fits(record, needed) else ""


def _fits(record: Mapping[str, Any], needed: Mapping[str, str]) -> bool:
    """Whether an object has its ids and numbers."""
    for name, role in needed.items():
        value = record.get(name)
        if role == "id" and (value is None or isinstance(value, list | dict)):
            return False
        if role == "number" and not _is_number(value):
            return False
        if role == "optional" and not (value is None or _is_number(value)):
            return False
    return True


def _is_number(value: Any) -> bool:
    return is_number(value) if isinstance(value, str) else isinstance(value, int | float)


def _wanted(kind: Kind) -> str:
    required = [column for column in KINDS[kind].required if column != "text"]
    what = f" with {', '.join(required)}" if required else ""
    return f"each should be one JSON object{what}"


@dataclass
class _Look:
    """What the lines of a file are: their columns, unless Polars cannot read them, and the bad."""

    schema: pl.Schema | None
    total: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)

    def add(self, lines: pl.DataFrame) -> None:
        """Count bad lines, and keep the first."""
        self.total += lines.height
        self.bad += lines.head(SHOWN - len(self.bad)).rows()


def _looked_through(
    source: Source, kind: Kind, columns: Mapping[str, str], ids: Mapping[str, Any]
) -> _Look:
    lines = pl.scan_lines(source.target, row_index_name="at", row_index_offset=1, **source.options)
    if source.marked:
        lines = lines.with_columns(pl.col("line").str.strip_prefix("\ufeff"))
    needed = _needed(source, kind, columns)
    schemas = []
    look = _Look(pl.Schema())
    readable = True
    for some in batches(lines.filter(pl.col("line").str.contains(r"\S")), LOOKED_AT):
        try:
            frame = _parsed(some["line"], ids)
        except pl.exceptions.PolarsError:
            readable = False
            records = [_record(line) for line in some["line"]]
            fit = [record is not None and _fits(record, needed) for record in records]
            look.add(some.filter(~pl.Series(fit, dtype=pl.Boolean)))
        else:
            schemas.append(frame.schema)
            misfit = frame.select(_misfit(frame.schema, kind, columns)).to_series()
            look.add(some.filter(misfit))
    look.schema = _common(schemas) if readable and not source.marked else None
    return look


def _parsed(lines: pl.Series, ids: Mapping[str, Any]) -> pl.DataFrame:
    """Lines as Polars reads them, if it can."""
    if lines.to_frame("line").select(are_halved(pl.col("line")).any()).item():
        raise pl.exceptions.ComputeError(HALF)
    text = lines.str.join("\n").item().encode()
    rows = pl.read_ndjson(io.BytesIO(text), schema_overrides=dict(ids), infer_schema_length=None)
    suspects = lines.to_frame("line").filter(may_repeat(pl.col("line"), rows))["line"]
    if any(map(what_is_lost, suspects)):
        raise pl.exceptions.ComputeError("a key stands twice")
    return rows


def _common(schemas: list[pl.Schema]) -> pl.Schema | None:
    """One schema for all, or nothing where types do not go together."""
    try:
        return pl.concat([s.to_frame() for s in schemas], how="diagonal_relaxed").schema
    except pl.exceptions.PolarsError:
        return None


def _plan(source: Source, *, schema: Any = None, overrides: Any = None) -> pl.LazyFrame:
    return pl.scan_ndjson(
        source.target,
        schema=schema,
        schema_overrides=overrides,
        infer_schema_length=None,
        **source.options,
    )


def _misfit(schema: pl.Schema, kind: Kind, columns: Mapping[str, str]) -> pl.Expr:
    """Whether a row lacks an id or a number, or has a word in place of one."""
    given = {column: name for column, name in columns.items() if name in schema}
    tests = []
    for name, role in _roles(kind, schema.names(), given).items():
        values, dtype = pl.col(name), schema[name]
        if role == "id":
            tests.append(values.is_null())
        elif dtype == pl.String or dtype.is_numeric() or dtype == pl.Boolean:
            unread = values.cast(pl.Float64, strict=False).is_null()
            tests.append(unread if role == "number" else unread & values.is_not_null())
        elif dtype == pl.Null and role == "number":
            tests.append(pl.lit(True))
    return pl.any_horizontal(tests) if tests else pl.lit(False)


def _roles(kind: Kind, names: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """The keys that hold an id, a number, or a number where there is one."""
    shape = KINDS[kind]
    found = find_columns(shape, names, given)
    roles = {}
    for column, name in found.items():
        role = shape.roles[column]
        if role == "id" and (kind != "samples" and column != "system"):
            roles[name] = "id"
        elif role in ("number", "grade"):
            roles[name] = "number"
        elif role == "whole":
            roles[name] = "optional" if "score" in found else "number"
    return roles


def _needed(source: Source, kind: Kind, columns: Mapping[str, str]) -> dict[str, str]:
    keys = _keys(source)
    given = {column: name for column, name in columns.items() if name in keys}
    return _roles(kind, keys, given)


def _ids(source: Source, kind: Kind, columns: Mapping[str, str]) -> dict[str, Any]:
    """The columns of ids, as strings, by the keys of the first records."""
    keys = _keys(source)
    given = {column: name for column, name in columns.items() if name in keys}
    shape = KINDS[kind]
    found = find_columns(shape, keys, given)
    return {name: pl.String for column, name in found.items() if shape.roles[column] == "id"}


def _keys(source: Source) -> list[str]:
    """The keys of the first records."""
    keys: dict[str, None] = {}
    for line in source.lines()[:100]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, Mapping):
            keys.update(dict.fromkeys(record))
    return [*keys]
