"""Samples in whatever shape a user has them, as one checked frame."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalframe.columns import SAMPLES
from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, RowError
from evalframe.frames import Duplicates, conform, find_columns, is_tabular, to_polars
from evalframe.io.any_tables import as_table
from evalframe.io.json_values import would_round
from evalframe.io.reading import read_kind
from evalframe.io.sample_records import known_columns, records_of_columns, refuse, wrong_keys
from evalframe.io.samples import flat_samples, wrong_types

__all__ = ["records_of_table", "samples_from_any", "wrong_keys_of"]

AnyFrame = pl.DataFrame | pl.LazyFrame
Columns = Mapping[str, str] | None


def samples_from_any(
    data: Any,
    columns: Columns = None,
    duplicates: Duplicates = "check",
    *,
    check_plans: bool = True,
) -> AnyFrame:
    """Samples as a frame with the house's columns and whatever else there is.

    Parameters
    ----------
    data
        A path, a frame of any library, a dict of columns, or rows: mappings, dataclasses, named
        tuples or pydantic objects.
    columns
        The house's name → the data's own name, where it is not a known one.
    duplicates
        What ids that stand more than once do: see `evalframe.frames.Duplicates`.
    check_plans
        Make a lazy frame fail on missing ids when it runs; without it, its rows are the caller's.

    Raises
    ------
    RowError, ColumnError
        Values of a wrong type, missing or repeated ids: all of them in one message. Lone strings
        are refused where a list is wanted: their characters would be taken for passages.
    EmptyError
        No samples.

    Examples
    --------
    >>> samples_from_any([{"question": "2 + 2?", "contexts": [{"text": "four"}]}]).rows()
    [('2 + 2?', ['four'])]
    """
    if isinstance(data, str | os.PathLike):
        return read_kind(data, "samples", columns=columns, duplicates=duplicates)
    if isinstance(data, pl.LazyFrame):
        plan = flat_samples(data, columns)
        kept: Duplicates = "error" if duplicates == "check" else duplicates
        return conform(plan, "samples", columns=columns, duplicates=kept, check_plans=check_plans)
    if is_tabular(data) or type(data).__module__.partition(".")[0] == "pandas":
        table = _table(data, columns, duplicates)
    elif isinstance(data, Iterable) and not isinstance(data, bytes | bytearray):
        rows = records_of_columns(data) if isinstance(data, Mapping) else data
        table = _from_records(rows, columns, duplicates)
    else:
        raise ColumnError(
            f"samples cannot be made of {type(data).__name__} ({data!r:.80}): give a frame, a "
            "path, a dict of columns, or a list with one mapping for each sample"
        )
    return conform(table, "samples", columns=columns, duplicates=duplicates)


def records_of_table(data: Any) -> list[dict[str, Any]]:
    """The rows of a pandas frame whose cells hold what no Polars frame can, such as chunks."""
    missing_as_none = data.astype(object).where(data.notna(), None)
    records: list[dict[str, Any]] = missing_as_none.to_dict("records")
    return records


def wrong_keys_of(table: pl.DataFrame, columns: Columns = None) -> list[str]:
    """Missing and repeated ids of a table, in words; see `wrong_keys`.

    Examples
    --------
    >>> wrong_keys_of(pl.DataFrame({"query_id": ["a", "a"]}))
    ["row 1: query_id 'a' stands in row 0 too"]
    """
    found = find_columns(SAMPLES, table.columns, columns or {})
    keys = table.select(found[column] for column in SAMPLES.key if column in found)
    if "query_id" not in found:
        return []
    if not keys[found["query_id"]].null_count() and not keys.is_duplicated().any():
        return []
    return wrong_keys(keys.to_dict(), found)


def _table(data: Any, columns: Columns, duplicates: Duplicates) -> pl.DataFrame:
    """A table with its objects flattened; one whose columns mix types is read row by row."""
    try:
        found = to_polars(as_table(data))
    except (TypeError, ValueError) as error:
        if not hasattr(data, "to_dict"):
            raise ColumnError(
                f"a column of the samples holds values of several types: {error}"
            ) from error
        return _from_records(records_of_table(data), columns, duplicates)
    table = collect(found, "in-memory") if isinstance(found, pl.LazyFrame) else found
    if table.height == 0:
        raise EmptyError("there are no samples: the frame has no rows")
    table = _without_all_nan(table, columns)
    problems = wrong_types(table.schema, columns)
    problems += wrong_keys_of(table, columns) if duplicates != "best" else []
    refuse(problems, RowError)
    return flat_samples(table, columns)


def _without_all_nan(table: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Nulls in place of a known column of nothing but NaN, which is how pandas has nulls."""
    known = find_columns(SAMPLES, table.columns, columns or {}).values()
    empty = [
        name
        for name in known
        if table.schema[name].is_float() and table[name].fill_nan(None).null_count() == table.height
    ]
    return table.with_columns(pl.lit(None).alias(name) for name in empty)


def _from_records(rows: Iterable[Any], columns: Columns, duplicates: Duplicates) -> pl.DataFrame:
    known, rest = known_columns(rows, columns, repeats=duplicates == "best")
    extra = [_extra(name, rest) for name in dict.fromkeys(name for row in rest for name in row)]
    return known.hstack(extra)


def _extra(name: str, rows: list[dict[str, Any]]) -> pl.Series:
    values = [_without_nan(row.get(name)) for row in rows]
    try:
        column = pl.from_dicts([{name: v} for v in values], infer_schema_length=None).to_series()
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ColumnError(
            f"column {name!r} of the samples holds what no frame can: {error}"
        ) from error
    if column.dtype.is_float() and would_round(values):
        raise ColumnError(
            f"column {name!r} of the samples holds whole numbers that would be rounded beside its "
            "fractions. Give it one type, or leave it out"
        )
    other = [v for v in values if column.dtype == pl.String and not isinstance(v, str | None)]
    if other:
        raise ColumnError(
            f"column {name!r} of the samples holds values of several types: strings, and "
            f"{other[0]!r:.60}. Give it one type, or leave it out"
        )
    return column


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
