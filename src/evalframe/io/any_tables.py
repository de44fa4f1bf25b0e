"""Qrels, runs, queries and corpora in whatever shape a user has them, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.errors import ColumnError, EmptyError, FrameError
from evalframe.frames import find_columns, is_tabular, to_polars
from evalframe.io import dicts
from evalframe.io.libraries import from_ranx

__all__ = ["as_table", "table_of"]

NESTED: dict[Kind, Any] = {
    "qrels": dicts.qrels_from_dict,
    "run": dicts.run_from_dict,
    "queries": dicts.queries_from_dict,
    "corpus": dicts.corpus_from_dict,
}
WANTED: dict[Kind, str] = {
    "qrels": "{query_id: {doc_id: grade}}",
    "run": "{query_id: {doc_id: score}} or {query_id: [doc_id, …]}",
    "queries": "{query_id: text}",
    "corpus": "{doc_id: text}",
    "samples": "a list of dicts, one per sample",
}


def table_of(data: Any, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame | pl.LazyFrame:
    """Frames of any library, dicts and lists as a table whose names and rows are not checked yet.

    Raises
    ------
    FrameError
        The data is no table of its kind.
    """
    if is_tabular(data) or type(data).__module__.partition(".")[0] == "pandas":
        return to_polars(as_table(data))
    if type(data).__module__.partition(".")[0] == "ranx":
        return from_ranx(data)
    if isinstance(data, Mapping):
        return _from_mapping(data, kind, columns)
    if isinstance(data, Iterable) and not isinstance(data, bytes | bytearray):
        return _from_records(data, kind)
    raise _refused(data, kind)


def as_table(data: Any) -> Any:
    """A pandas series as a pandas frame, whose index may name queries and documents."""
    is_series = type(data).__module__.startswith("pandas") and hasattr(data, "to_frame")
    return data.to_frame() if is_series else data


def _from_mapping(data: Mapping[Any, Any], kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    if not data:
        raise EmptyError(f"an empty dict holds no {kind}")
    if _is_columns(data, kind, columns):
        return pl.DataFrame(dict(data), strict=False)
    if kind in NESTED:
        table: pl.DataFrame = NESTED[kind](data)
        return table
    raise _refused(data, kind)


def _is_columns(data: Mapping[Any, Any], kind: Kind, columns: Mapping[str, str]) -> bool:
    """Whether a dict holds columns: lists or arrays under names that the kind knows."""
    if not all(isinstance(key, str) for key in data):
        return False
    if any(
        isinstance(value, Mapping | str) or not hasattr(value, "__len__") for value in data.values()
    ):
        return False
    given = {column: name for column, name in columns.items() if name in data}
    shape = KINDS[kind]
    found = find_columns(shape, [*data], given)
    needed = [column for column in shape.required if column != "score" or "rank" not in found]
    return bool(found) and all(column in found for column in needed)


def _from_records(data: Iterable[Any], kind: Kind) -> pl.DataFrame:
    rows = [_record(row) for row in data]
    if not rows:
        raise EmptyError(f"an empty list holds no {kind}")
    other = next((row for row in rows if not isinstance(row, Mapping)), None)
    if other is not None:
        raise FrameError(
            f"the {kind} are a list that holds {other!r}; of lists, only those of dicts are taken: "
            "one dict per row"
        )
    try:
        return dicts.samples_from_dicts(rows)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ColumnError(
            f"the {kind} are dicts whose values do not go together: {error}"
        ) from error


def _record(row: Any) -> Any:
    """A dataclass object or a named tuple (ir_measures, ir_datasets) as a dict."""
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    return row._asdict() if hasattr(row, "_asdict") else row


def _refused(data: Any, kind: Kind) -> FrameError:
    return FrameError(
        f"{kind} cannot be made of {type(data).__name__} ({str(data)[:80]}); taken are a path, "
        "a Polars or pandas frame, anything with an Arrow stream, a dict of columns, a list of "
        f"dicts, and {WANTED[kind]}"
    )
