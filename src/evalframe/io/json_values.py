"""JSON values as Python has them: what Polars refuses (bare NaN, mixed types) is read by these."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.errors import ReadError
from evalframe.io.files import Source, decompressed

__all__ = ["HALF", "are_halved", "as_frame", "is_halved", "loads", "text_of"]

HALF = "half a character (a lone surrogate), which no frame and no file can hold"
HALVES = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
"""Escapes that are half a character each: two of them make one."""
PAIRS = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"


def text_of(path: str, source: Source) -> str:
    """The whole text of a file."""
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


def is_halved(text: str) -> bool:
    """Whether JSON text holds an escape for half a character, without the other half."""
    if not re.search(HALVES, text):
        return False
    return bool(re.search(HALVES, re.sub(PAIRS, "", text.replace("\\\\", ""))))


def are_halved(lines: pl.Expr) -> pl.Expr:
    """`is_halved` for a column of lines."""
    bare = lines.str.replace_all("\\\\", "", literal=True).str.replace_all(PAIRS, "")
    return lines.str.contains(HALVES) & bare.str.contains(HALVES)


def loads(text: str) -> Any:
    """One JSON value, in which a bare NaN, as pandas writes for a missing value, is null."""
    return DECODER.decode(text)


def as_frame(records: list[dict[str, Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a frame; a column whose values are of several types becomes JSON text."""
    names = dict.fromkeys(key for record in records for key in record)
    columns = []
    for name in names:
        values = [record.get(name) for record in records]
        if types.get(name) == pl.String:
            values = [v if v is None or isinstance(v, str) else str(v) for v in values]
        try:
            columns.append(_of_one_type(name, values))
        except (TypeError, pl.exceptions.PolarsError):
            columns.append(_of_several_types(name, values))
    return pl.DataFrame(columns)


def _of_one_type(name: str, values: list[Any]) -> pl.Series:
    if any(isinstance(value, dict | list) for value in values):
        # A series of its own would have the fields of its first object alone.
        rows = [{name: value} for value in values]
        return pl.from_dicts(rows, infer_schema_length=None, strict=True)[name]
    return pl.Series(name, values, strict=True)


def _of_several_types(name: str, values: list[Any]) -> pl.Series:
    if all(value is None or type(value) in (int, float) for value in values):
        return pl.Series(name, values, pl.Float64, strict=False)
    return pl.Series(name, [_as_text(value) for value in values], pl.String)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key, count in times.items() if count > 1)
        raise ReadError(f"the key {twice!r} stands twice in one object; JSON keeps only the last")
    return found


DECODER = json.JSONDecoder(
    parse_constant=lambda name: None if name == "NaN" else float(name),
    object_pairs_hook=_without_repeats,
)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
