"""The door for samples: whatever is wrong with them is said at once, with row numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import polars as pl

from evalframe import inputs
from evalframe.columns import SAMPLES, Role
from evalframe.errors import ColumnError, EmptyError, EvalframeError, RowError
from evalframe.frames import ACCEPTED, find_columns, is_tabular, to_polars

__all__ = ["checked_samples"]

SHOWN_PROBLEMS = 20
NO_SYSTEM = "\x00"

Columns = Mapping[str, str] | None


def checked_samples(data: Any, columns: Columns = None) -> pl.DataFrame | pl.LazyFrame:
    """Samples in any accepted shape as a checked frame with a `query_id`.

    Where the data has no `query_id`, each sample gets the number of its row, from `"0"`.

    Raises
    ------
    RowError, ColumnError
        Values of a wrong type, missing or repeated ids: all of them in one message. Lone strings
        are refused where a list is wanted: their characters would be taken for passages.
    EmptyError
        No samples.
    """
    if isinstance(data, str | os.PathLike):
        frame = inputs.samples_frame(data, columns=columns, duplicates="check")
    elif isinstance(data, pl.LazyFrame):
        _refuse(_wrong_types(data.collect_schema(), columns), ColumnError)
        frame = _conformed(data, columns)
    elif is_tabular(data) or not isinstance(data, Iterable):
        frame = _from_table(data, columns)
    else:
        frame = _from_rows(_rows_of(data) if isinstance(data, Mapping) else data, columns)
    return frame if "query_id" in frame.lazy().collect_schema() else _numbered(frame)


def _numbered(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    return frame.with_row_index("query_id").with_columns(pl.col("query_id").cast(pl.String))


def _conformed(data: Any, columns: Columns) -> pl.DataFrame | pl.LazyFrame:
    """Through the door, where a sample may have no system: nothing may have been delivered."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        names = data.lazy().collect_schema().names()
        system = find_columns(SAMPLES, names, columns or {}).get("system")
        if system is not None:
            data = data.with_columns(pl.col(system).cast(pl.String).fill_null(NO_SYSTEM))
    frame = inputs.samples_frame(data, columns=columns, duplicates="check")
    if "system" not in frame.lazy().collect_schema():
        return frame
    return frame.with_columns(system=pl.when(pl.col("system") != NO_SYSTEM).then(pl.col("system")))


def _from_table(data: Any, columns: Columns) -> pl.DataFrame | pl.LazyFrame:
    try:
        table = to_polars(data) if is_tabular(data) else data
    except (TypeError, ValueError) as error:
        if not hasattr(data, "to_dict"):
            raise ColumnError(
                f"a column of the samples holds values of several types: {error}"
            ) from error
        return _from_rows(data.to_dict("records"), columns)
    if isinstance(table, pl.DataFrame):
        found = find_columns(SAMPLES, table.columns, columns or {})
        problems = _wrong_types(table.schema, columns)
        keys = table.select(found[column] for column in SAMPLES.key if column in found)
        if "query_id" in found and (
            keys.null_count().row(0) != (0,) * keys.width or keys.is_duplicated().any()
        ):
            problems += _wrong_keys(keys.rows(named=True), found)
        _refuse(problems, RowError)
    return _conformed(table, columns)


def _rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A dict of columns as rows."""
    lengths = {
        name: len(values)
        for name, values in columns.items()
        if hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
    }
    if not lengths or len(lengths) < len(columns) or len({*lengths.values()}) > 1:
        raise ColumnError(
            "samples as a dict are columns, lists of one length under their names; one sample by "
            f"itself goes into a list. Found: {columns!r:.200}"
        )
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _from_rows(data: Iterable[Any], columns: Columns) -> pl.DataFrame | pl.LazyFrame:
    given = [_mapping(row) for row in data]
    if not given:
        raise EmptyError("there are no samples")
    problems = [
        f"row {at}: {row!r:.80} is no mapping of column to value"
        for at, row in enumerate(given)
        if not isinstance(row, dict)
    ]
    rows = [row if isinstance(row, dict) else {} for row in given]
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = find_columns(SAMPLES, names, columns or {})
    for column, name in found.items():
        role = SAMPLES.roles[column]
        for at, row in enumerate(rows):
            row[name], problem = _value(row.get(name), role)
            if problem:
                problems.append(f"row {at}, {name!r}: {problem}")
    if "query_id" in found:
        problems += _wrong_keys(rows, found)
    _refuse(problems, RowError)
    if "system" in found:
        for row in rows:
            row[found["system"]] = row[found["system"]] or NO_SYSTEM
    return _conformed(rows, columns)


def _mapping(row: Any) -> Any:
    """A sample as a dict of its own: from a mapping, a dataclass or a pydantic object."""
    if isinstance(row, Mapping):
        return dict(row)
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    return row.model_dump() if hasattr(row, "model_dump") else row


def _value(value: Any, role: Role) -> tuple[Any, str]:
    """The value as it will stand in the frame, and what is wrong with it, if anything is."""
    if value is None or (isinstance(value, float) and value != value):
        return None, ""
    if role in ("texts", "ids"):
        return _list(value, "text" if role == "texts" else "id")
    if isinstance(value, str):
        return value, "" if _is_encodable(value) else f"{value!r:.60} holds half a character"
    if role == "id" and hasattr(value, "__index__") and not isinstance(value, bool):
        return str(value.__index__()), ""
    if role == "text" and _is_conversation(value):
        return value, ""
    wanted = "a string or a whole number" if role == "id" else "a string"
    return value, f"{value!r:.60} is {type(value).__name__}; {wanted} is wanted"


def _list(value: Any, role: Role) -> tuple[Any, str]:
    if isinstance(value, str):
        return value, f"{value!r:.60} is a string where a list is wanted; put it into a list"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return value, f"{value!r:.60} is {type(value).__name__}; a list is wanted"
    if value and all(isinstance(one, Mapping) for one in value):
        return list(value), ""
    checked = [_value(one, role) for one in value]
    problem = next((f"at {at}: {wrong}" for at, (_, wrong) in enumerate(checked) if wrong), "")
    return [one for one, _ in checked], problem


def _is_encodable(text: str) -> bool:
    """Whether a text is free of lone surrogates, which no frame or file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(turn, Mapping) for turn in value)


def _wrong_types(schema: pl.Schema, columns: Columns) -> list[str]:
    problems = []
    for column, name in find_columns(SAMPLES, schema.names(), columns or {}).items():
        role, dtype = SAMPLES.roles[column], schema[name]
        accepts, wanted = ACCEPTED[role]
        nested = role != "id" and "Struct" in str(dtype)
        if dtype == pl.Null or nested or accepts(dtype):
            continue
        hint = f", such as pl.concat_list({name!r})" if dtype == pl.String else ""
        problems.append(f"column {name!r} is {dtype}; {column} needs {wanted}{hint}")
    return problems


def _wrong_keys(rows: list[dict[str, Any]], found: dict[str, str]) -> list[str]:
    """Rows without an id where others have one, and ids that stand more than once."""
    first: dict[tuple[str, ...], int] = {}
    problems = []
    columns = [found[column] for column in SAMPLES.key if column in found]
    for at, row in enumerate(rows):
        key = tuple(str(row.get(column)) for column in columns)
        if row.get(columns[-1]) is None:
            problems.append(f"row {at}: no query_id")
        elif first.setdefault(key, at) != at:
            of = f" of system {key[0]!r}" if len(key) > 1 else ""
            problems.append(f"row {at}: query_id {key[-1]!r}{of} stands in row {first[key]} too")
    return problems


def _refuse(problems: list[str], kind: type[EvalframeError]) -> None:
    if not problems:
        return
    more = len(problems) - SHOWN_PROBLEMS
    lines = [f"  {problem}" for problem in problems[:SHOWN_PROBLEMS]]
    lines += [f"  … and {more} more"] if more > 0 else []
    raise kind("the samples cannot be used as they are:\n" + "\n".join(lines))
