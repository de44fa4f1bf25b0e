"""Parquet, the format of the house: types, row order and bits are kept, and what the frame is.

A file carries one JSON object under the key `evalframe`: the frame's kind, the version that wrote
it, and whatever the writer adds (a report adds its contract). Other tools pass over it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from evalframe.errors import ColumnError, OptionError, ReadError
from evalframe.io.files import Source, find
from evalframe.io.lines import first_line
from evalframe.io.saving import beside, folder_beside

__all__ = [
    "BUCKET",
    "read_metadata",
    "scan_arrow",
    "scan_parquet",
    "write_parquet",
]

BUCKET = "query_bucket"
"""The folder key of a frame written in buckets of its queries; never part of the frame."""

KEY = "evalframe"


def write_parquet(
    frame: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    kind: str = "frame",
    metadata: Mapping[str, Any] | None = None,
    by_system: bool = False,
    buckets: int | None = None,
    overwrite: bool = False,
) -> None:
    """Write a frame as Parquet: one file, or a folder of them cut by system or by query.

    Parameters
    ----------
    frame
        Any Polars frame. A lazy one is written as it runs, without being held in memory.
    path
        The file; the folder if it is cut.
    kind
        What the frame is (`qrels`, `run`, …, `report`), kept in the file.
    metadata
        Further facts to keep in the file; anything JSON can hold.
    by_system
        Cut by the `system` column: `system=bm25/…`.
    buckets
        Cut into so many buckets of queries: `query_bucket=0/…`. A query is in one bucket.
    overwrite
        Replace what is there.

    Raises
    ------
    FileExistsError
        Something is there and `overwrite` is not set.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> run = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "score": [0.5]})
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.parquet"
    >>> write_parquet(run, file, kind="run", metadata={"made_by": "bm25"})
    >>> read_metadata(file)["made_by"]
    'bm25'
    """
    facts = {"kind": kind, "version": _version(), **(metadata or {})}
    stamp = {KEY: json.dumps(facts, ensure_ascii=False)}
    plan = frame.lazy()
    if not by_system and buckets is None:
        with beside(path, overwrite=overwrite) as part:
            plan.sink_parquet(part, metadata=stamp)
        return
    keys = _cut_keys(plan.collect_schema().names(), by_system, buckets)
    if buckets is not None:
        plan = plan.with_columns((pl.col("query_id").hash(0) % buckets).alias(BUCKET))
    with folder_beside(path, overwrite=overwrite) as folder:
        plan.sink_parquet(pl.PartitionBy(folder, key=keys), metadata=stamp, mkdir=True)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write_parquet` kept beside the frame; empty for a Parquet file from elsewhere."""
    source = find(path)
    if source.layout != "parquet":
        raise ReadError(f"{source.name}: this is no Parquet file")
    try:
        stamp = pl.read_parquet_metadata(source.paths[0]).get(KEY)
        facts = json.loads(stamp) if stamp else {}
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise ReadError(f"{source.name}: its metadata is damaged: {first_line(error)}") from error
    return dict(facts)


def scan_parquet(source: Source) -> pl.LazyFrame:
    """Plan the reading of Parquet files; folder names such as `system=bm25` become a column."""
    keys = _folder_keys(source)
    try:
        plan = pl.scan_parquet(
            list(source.paths),
            hive_partitioning=bool(keys) or None,
            hive_schema=dict.fromkeys(keys, pl.String) or None,
            **source.options,
        )
        names = plan.collect_schema().names()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source.name}: there is no such object") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(
            f"{source.name}: this Parquet cannot be read: {first_line(error)}"
        ) from error
    return plan.drop(BUCKET) if BUCKET in names else plan


def scan_arrow(source: Source) -> pl.LazyFrame:
    """Plan the reading of Arrow IPC files; the stream form is read at once."""
    try:
        if source.layout == "ipc_stream":
            return pl.concat([pl.read_ipc_stream(path) for path in source.paths]).lazy()
        plan = pl.scan_ipc(list(source.paths), **source.options)
        plan.collect_schema()
        return plan
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(
            f"{source.name}: this Arrow file cannot be read: {first_line(error)}"
        ) from error


def _version() -> str:
    try:
        return version("evalframe")
    except PackageNotFoundError:
        return "unknown"


def _cut_keys(names: list[str], by_system: bool, buckets: int | None) -> list[str]:
    keys = ["system"] if by_system else []
    wanted = [*keys, *(["query_id"] if buckets is not None else [])]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ColumnError(f"to cut the frame, {missing[0]!r} is needed; it has {names}")
    if buckets is not None and buckets < 1:
        raise OptionError(f"buckets={buckets} is not offered: 1 or more")
    return [*keys, *([BUCKET] if buckets is not None else [])]


def _folder_keys(source: Source) -> list[str]:
    """The `key=` parts of the folders that the files stand in, below the folder that was named."""
    if source.remote:
        return []
    root = Path(source.name).expanduser()
    depth = len(root.parts) if root.is_dir() else len(Path(source.paths[0]).parent.parts)
    keys: dict[str, None] = {}
    for path in source.paths:
        for part in Path(path).parent.parts[depth:]:
            if "=" in part:
                keys[unquote(part.split("=", 1)[0])] = None
    return list(keys)
