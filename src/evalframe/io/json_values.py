"""JSON values as Python has them: what Polars refuses (bare NaN, mixed types) is read by these."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalframe.errors import ReadError
from evalframe.io.files import Source, decompressed

__all__ = [
    "HALF",
    "are_halved",
    "as_frame",
    "is_halved",
    "loads",
    "may_repeat",
    "text_of",
    "what_is_lost",
    "would_round",
]

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


def what_is_lost(text: str) -> str:
    """What of the text of one JSON value no frame can hold, in words, or ''."""
    if is_halved(text):
        return f"a text holds {HALF}"
    try:
        loads(text.removeprefix("\ufeff"))
    except ReadError as error:
        return str(error)
    except (ValueError, RecursionError):
        pass
    return ""


def may_repeat(lines: pl.Expr, rows: pl.DataFrame) -> pl.Expr:
    """Whether a line may hold a key of the rows that were read of it more than once.

    A key that objects within the rows have too is not looked for. Where no row lacks one, all are
    counted together, which is quicker.
    """
    within = set().union(*map(_names_within, rows.dtypes))
    keys = [json.dumps(name, ensure_ascii=False) for name in rows.columns if name not in within]
    if any(rows.null_count().row(0)):
        return pl.any_horizontal(
            pl.lit(False), *(lines.str.count_matches(key, literal=True) > 1 for key in keys)
        )
    return lines.str.count_matches("|".join(map(pl.escape_regex, keys)) or "$.") > len(keys)


def _names_within(dtype: pl.DataType) -> set[str]:
    """The names of the fields of all objects within a column."""
    if isinstance(dtype, pl.List | pl.Array):
        return _names_within(dtype.inner)  # type: ignore[arg-type]
    if not isinstance(dtype, pl.Struct):
        return set()
    inner = (_names_within(field.dtype) for field in dtype.fields)  # type: ignore[arg-type]
    return {field.name for field in dtype.fields}.union(*inner)


def loads(text: str) -> Any:
    """One JSON value, in which a bare NaN, as pandas writes for a missing value, is null."""
    return DECODER.decode(text)


def as_frame(records: list[dict[str, Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a frame; a column whose values are of several types becomes JSON text.

    So does one whose whole numbers would be rounded beside its others.
    """
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
    series = pl.Series(name, values, strict=True)
    if series.dtype.is_float() and would_round(values):
        raise TypeError(f"{name} holds whole numbers that a float cannot")
    return series


def _of_several_types(name: str, values: list[Any]) -> pl.Series:
    numbers = all(value is None or type(value) in (int, float) for value in values)
    if numbers and not would_round(values):
        return pl.Series(name, values, pl.Float64, strict=False)
    return pl.Series(name, [_as_text(value) for value in values], pl.String)


def would_round(values: Iterable[Any]) -> bool:
    """Whether there is a whole number that a Float64 cannot hold as it is."""
    return any(type(value) is int and _rounded(value) != value for value in values)


def _rounded(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


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
