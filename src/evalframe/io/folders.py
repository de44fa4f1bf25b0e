"""Folders that say something of their files: `system=bm25/…` is a column `system`."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from evalframe.frames import Frame
from evalframe.io.files import Source

__all__ = ["BUCKET", "folder_keys", "folder_values", "is_read_by_polars", "with_folders"]

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
    if is_read_by_polars(source):
        return {}
    _, below = folder_keys(source)
    parts = (part.split("=", 1) for part in Path(source.paths[0]).parent.parts if "=" in part)
    values = {unquote(key): None if value == NULL else unquote(value) for key, value in parts}
    return {key: values[key] for key in below if key != BUCKET}


def with_folders(
    frame: Frame, values: Mapping[str, str | None], columns: Mapping[str, str]
) -> Frame:
    """The frame with what the folders say as columns, by the names that `columns` gives them."""
    names = {name: column for column, name in columns.items()}
    return frame.with_columns(
        pl.lit(value, pl.String).alias(names.get(key, key)) for key, value in values.items()
    )
