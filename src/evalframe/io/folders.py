"""Folders that say something of their files: `system=bm25/…` is a column `system`."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from evalframe.engine import TOLD
from evalframe.errors import ColumnError
from evalframe.frames import Frame, fails_where
from evalframe.io.files import Source

__all__ = [
    "BUCKET",
    "folder_keys",
    "folder_values",
    "is_not",
    "is_read_by_polars",
    "refuse_other_value",
    "said_by_folders",
    "with_folders",
]

BUCKET = "query_bucket"
"""The folder key of a frame written in buckets of its queries; never part of the frame."""
NULL = "__HIVE_DEFAULT_PARTITION__"
"""What stands in place of a value that is null."""


def folder_keys(source: Source) -> tuple[list[str], list[str]]:
    """The `key=` parts of the folders that the files stand in: above what was named, and below."""
    named = Path(source.asked or source.name).parts
    fixed = itertools.takewhile(lambda part: not glob.has_magic(part), named)
    depth = len(Path(*fixed).expanduser().parts)
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    for path in source.paths:
        for at, part in enumerate(Path(path).parent.parts):
            if "=" in part:
                (above if at < depth else below)[unquote(part.split("=", 1)[0])] = None
    return [*above], [*below]


def is_read_by_polars(source: Source) -> bool:
    """Whether Polars makes columns of the folders: of Parquet and Arrow, and not of `hf://`.

    There it sees addresses, in which `=` is `%3D`.
    """
    return source.layout in ("parquet", "ipc") and not source.name.startswith("hf://")


def folder_values(source: Source) -> dict[str, str | None]:
    """What the folders below what was named say of one file, where Polars does not say it."""
    return {} if is_read_by_polars(source) else said_by_folders(source)


def said_by_folders(source: Source) -> dict[str, str | None]:
    """What the folders below what was named say of one file, but for its bucket."""
    _, below = folder_keys(source)
    parts = (part.split("=", 1) for part in Path(source.paths[0]).parent.parts if "=" in part)
    values = {unquote(key): None if value == NULL else unquote(value) for key, value in parts}
    return {key: values[key] for key in below if key != BUCKET}


def with_folders(
    frame: Frame, source: Source, values: Mapping[str, str | None], columns: Mapping[str, str]
) -> Frame:
    """The frame with what the folders say as columns, by the names that `columns` gives them.

    Raises
    ------
    ColumnError
        A column of the file itself says something else; a plan fails when it runs.
    """
    if not values:
        return frame
    names = {name: column for column, name in columns.items()}
    schema: pl.Schema = frame.collect_schema()
    said = {key: pl.lit(value, pl.String) for key, value in values.items()}
    for key in values.keys() & {*schema}:
        differs = is_not(key, schema[key], values[key])
        if isinstance(frame, pl.DataFrame):
            refuse_other_value(frame.filter(differs), key, values[key])
        else:
            message = f"{TOLD}{source.name}: {_contradiction(key, values[key])}"
            said[key] = fails_where(differs, message, key, schema[key]).cast(pl.String)
    return frame.with_columns(value.alias(names.get(key, key)) for key, value in said.items())


def is_not(key: str, dtype: pl.DataType, value: str | None) -> pl.Expr:
    """Whether a file's own column says something else than the folder of that key.

    Texts and numbers (`01` is 1) are compared: dates and the like may be written in other ways.
    """
    said = pl.lit(value, pl.String)
    if dtype.is_numeric():
        return pl.col(key).ne_missing(said.cast(dtype, strict=False))
    texts = dtype in (pl.String, pl.Categorical, pl.Enum)
    return pl.col(key).cast(pl.String).ne_missing(said) if texts else pl.lit(False)


def refuse_other_value(rows: pl.DataFrame, key: str, value: str | None) -> None:
    """Refuse the rows, if there are any, whose own column says something else than the folder."""
    if rows.height:
        raise ColumnError(f"{_contradiction(key, value)}, such as {rows[key][0]!r:.80}")


def _contradiction(key: str, value: str | None) -> str:
    return (
        f"the folder says {key}={NULL if value is None else value}, and the file's own column "
        f"{key!r} says something else; rename or drop one of them"
    )
