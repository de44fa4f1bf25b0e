"""Frames of several files as one: by the house's names, not by position."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.errors import ColumnError
from evalframe.frames import Frame, find_columns
from evalframe.io.files import Source

__all__ = ["by_house_names", "united"]


def united(frames: Sequence[Frame], parts: Sequence[Source], kind: Kind) -> Frame:
    """The rows of all frames, in the order of the files.

    Whole and broken numbers become broken numbers. A run has ranks where all its files have them;
    further columns that a file lacks are null there.

    Raises
    ------
    ColumnError
        A file lacks the system or subtopic that another has, or a column's types do not go
        together; the files are named.
    """
    schemas = [frame.collect_schema() for frame in frames]
    if not KINDS[kind].keeps_extra:
        for column in ("system", "subtopic"):
            _refuse_some(column, schemas, parts)
        if not all("rank" in schema for schema in schemas):
            frames = [frame.drop("rank", strict=False) for frame in frames]
    _refuse_types(schemas, parts)
    return pl.concat(frames, how="diagonal_relaxed")


def by_house_names(frame: Frame, kind: Kind) -> Frame:
    """The frame with its known columns under the house's names; all others stay."""
    names = frame.collect_schema().names()
    found = find_columns(KINDS[kind], names, {})
    return frame.rename({name: column for column, name in found.items() if column not in names})


def _refuse_some(column: str, schemas: Sequence[pl.Schema], parts: Sequence[Source]) -> None:
    """Refuse a column that only some of the files have, where a null means nothing."""
    has = [column in schema for schema in schemas]
    if any(has) and not all(has):
        raise ColumnError(
            f"{parts[has.index(True)].name} has a column {column!r}, and "
            f"{parts[has.index(False)].name} has none: read them apart"
        )


def _refuse_types(schemas: Sequence[pl.Schema], parts: Sequence[Source]) -> None:
    """Refuse columns of one name whose types have nothing in common."""
    first: dict[str, tuple[pl.DataType, Source]] = {}
    for schema, part in zip(schemas, parts, strict=True):
        for column, dtype in schema.items():
            known, where = first.setdefault(column, (dtype, part))
            if dtype != known and not _go_together(known, dtype):
                raise ColumnError(
                    f"column {column!r} is {known} in {where.name}, and {dtype} in {part.name}: "
                    "give them one type, or read them apart"
                )


def _go_together(one: pl.DataType, other: pl.DataType) -> bool:
    if one.is_nested() != other.is_nested() and pl.Null not in (one, other):
        return False
    empty = [pl.DataFrame(schema={"column": dtype}) for dtype in (one, other)]
    try:
        pl.concat(empty, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return False
    return True
