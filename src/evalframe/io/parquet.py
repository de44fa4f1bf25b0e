"""Parquet, the format of the house: types, row order and bits are kept, and what the frame is.

A file carries one JSON object under the key `evalframe`: the frame's kind, the version that wrote
it, and whatever the writer adds (a report adds its contract). Other tools pass over it.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from evalframe.engine import collect
from evalframe.errors import ColumnError, OptionError, ReadError
from evalframe.io.files import Source, fetching, find, is_folder
from evalframe.io.lines import first_line
from evalframe.io.saving import beside, folder_beside

__all__ = [
    "BUCKET",
    "alike",
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
        Any Polars frame. A lazy one is written as it runs, without being held in memory. Objects
        without a field (`{}`), which Parquet cannot hold, are written as nulls.
    path
        The file; the folder if it is cut.
    kind
        What the frame is (`qrels`, `run`, …, `report`), kept in the file.
    metadata
        Further facts to keep in the file; anything JSON can hold.
    by_system
        Cut by the `system` column: `system=bm25/…`.
    buckets
        Cut into so many buckets of queries: `query_bucket=0/…`. A query is in one bucket. Within a
        part rows keep their order; read back, the parts follow each other by their names.
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
    plan = _without_empty_objects(frame.lazy())
    if not by_system and buckets is None:
        with beside(path, overwrite=overwrite) as part:
            plan.sink_parquet(part, metadata=stamp)
        return
    keys = _cut_keys(plan.collect_schema().names(), by_system, buckets)
    if buckets is not None:
        plan = plan.with_columns((pl.col("query_id").hash(0) % buckets).alias(BUCKET))
    with folder_beside(path, overwrite=overwrite) as folder:
        plan.sink_parquet(pl.PartitionBy(folder, key=keys), metadata=stamp, mkdir=True)


def read_metadata(
    path: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What `write_parquet` kept beside the frame; empty for a Parquet file from elsewhere.

    Of a folder or a pattern, what its first file holds.

    Raises
    ------
    FileNotFoundError
        Nothing is there.
    ReadError
        No Parquet file, or a damaged one.
    """
    source = find(path, storage_options=storage_options)
    if source.layout != "parquet":
        raise ReadError(f"{source.name}: this is no Parquet file")
    try:
        first = alike(source)[0].paths[0] if source.remote else source.paths[0]
        stamp = pl.read_parquet_metadata(first, **source.options).get(KEY)
        facts = json.loads(stamp) if stamp else {}
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise ReadError(f"{source.name}: its metadata is damaged: {first_line(error)}") from error
    return dict(facts)


def alike(source: Source) -> list[Source]:
    """Parquet or Arrow files in their order, those that follow each other with one schema together.

    Of a remote folder or pattern, the names of the objects are asked for first.
    """
    if source.remote:
        source = replace(source, paths=_objects(source))
    if len(source.paths) == 1:
        return [source]
    groups: list[tuple[list[tuple[str, pl.DataType]], list[str]]] = []
    for path in source.paths:
        schema = sorted(_schema(replace(source, name=path, paths=(path,))).items())
        if groups and groups[-1][0] == schema:
            groups[-1][1].append(path)
        else:
            groups.append((schema, [path]))
    if len(groups) == 1:
        return [source]
    return [
        replace(source, name=_together(paths), asked=source.asked or source.name, paths=(*paths,))
        for _, paths in groups
    ]


def scan_parquet(source: Source) -> pl.LazyFrame:
    """Plan the reading of Parquet files; folder names such as `system=bm25` become a column."""
    above, below = _folder_keys(source)
    with _readable(source, "Parquet"):
        plan = pl.scan_parquet(
            source.target,
            hive_partitioning=bool(below),
            hive_schema=dict.fromkeys((*above, *below), pl.String) if below else None,
            **source.options,
        )
        plan.collect_schema()
    return plan.drop({*above} - {*below} | ({*below} & {BUCKET})) if below else plan


def scan_arrow(source: Source) -> pl.LazyFrame:
    """Plan the reading of Arrow IPC files; the stream form is read at once."""
    with _readable(source, "Arrow file"):
        if source.layout == "ipc_stream":
            return pl.concat([pl.read_ipc_stream(path) for path in source.paths]).lazy()
        plan = pl.scan_ipc(source.target, **source.options)
        plan.collect_schema()
        return plan


@contextmanager
def _readable(source: Source, what: str) -> Iterator[None]:
    """Say of files that Polars cannot open what they are."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source.name}: there is no such object") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        if source.remote and isinstance(error, OSError):
            raise ReadError(f"{source.name}: it cannot be fetched: {error}") from error
        raise ReadError(
            f"{source.name}: this {what} cannot be read: {first_line(error)}"
        ) from error


def _together(paths: list[str]) -> str:
    more = f" (and {len(paths) - 1} like it)" if len(paths) > 1 else ""
    return f"{paths[0]}{more}"


def _schema(source: Source) -> pl.Schema:
    """The columns of one file, without those of its folders."""
    if source.layout != "parquet":
        return scan_arrow(source).collect_schema()
    with _readable(source, "Parquet"):
        plan = pl.scan_parquet(source.target, hive_partitioning=False, **source.options)
        return plan.collect_schema()


def _objects(source: Source) -> tuple[str, ...]:
    """The Parquet files that a URI stands for: of each, no more than its end is fetched."""
    name = source.name.split("?")[0]
    if source.layout != "parquet" or not (glob.has_magic(name) or is_folder(name)):
        return source.paths
    pattern = name if glob.has_magic(name) else f"{name.rstrip('/')}/**/*.parquet"
    plan = pl.scan_parquet(
        pattern,
        schema={"nothing": pl.Null},
        missing_columns="insert",
        extra_columns="ignore",
        hive_partitioning=False,
        include_file_paths="path",
        **source.options,
    )
    with fetching(source.name):
        found = collect(plan.select(pl.col("path").unique())).to_series().sort().to_list()
    if not found:
        raise FileNotFoundError(f"{source.name}: no Parquet file is there")
    return tuple(found)


def _version() -> str:
    try:
        return version("evalframe")
    except PackageNotFoundError:
        return "unknown"


def _without_empty_objects(plan: pl.LazyFrame) -> pl.LazyFrame:
    """Nulls in place of objects without a field, such as BEIR's `{}`, which Parquet cannot hold."""
    schema = plan.collect_schema()
    changed = {name: _with_a_field(pl.col(name), dtype) for name, dtype in schema.items()}
    return plan.with_columns(e.alias(name) for name, e in changed.items() if e is not None)


def _with_a_field(values: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """The values without empty objects, or nothing where there are none."""
    if isinstance(dtype, pl.List | pl.Array):
        inner = _with_a_field(pl.element(), dtype.inner)  # type: ignore[arg-type]
        return None if inner is None else values.list.eval(inner)
    if not isinstance(dtype, pl.Struct):
        return None
    if not dtype.fields:
        return pl.lit(None)
    fields = {f.name: _with_a_field(pl.field(f.name), f.dtype) for f in dtype.fields}  # type: ignore[arg-type]
    changed = [e.alias(name) for name, e in fields.items() if e is not None]
    return values.struct.with_fields(changed) if changed else None


def _cut_keys(names: list[str], by_system: bool, buckets: int | None) -> list[str]:
    keys = ["system"] if by_system else []
    wanted = [*keys, *(["query_id"] if buckets is not None else [])]
    missing = [name for name in wanted if name not in names]
    if buckets is not None and BUCKET in names:
        raise ColumnError(
            f"the frame has a column {BUCKET!r}, as the folders are called; rename it"
        )
    if missing:
        raise ColumnError(f"to cut the frame, {missing[0]!r} is needed; it has {names}")
    if buckets is not None and buckets < 1:
        raise OptionError(f"buckets={buckets} is not offered: 1 or more")
    return [*keys, *([BUCKET] if buckets is not None else [])]


def _folder_keys(source: Source) -> tuple[list[str], list[str]]:
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
