"""Parquet, the format of the house: types, row order and bits are kept, and what the frame is.

A file carries one JSON object under the key `evalframe`: the frame's kind, the version that wrote
it, and whatever the writer adds (a report adds its contract). Other tools pass over it.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polars as pl

from evalframe.columns import KINDS, QRELS, RUN, Kind
from evalframe.engine import fetch, told
from evalframe.errors import ColumnError, EmptyError, OptionError, ReadError, one_of, whole_number
from evalframe.frames import find_columns
from evalframe.io.files import Source, find
from evalframe.io.folders import (
    BUCKET,
    folder_keys,
    is_not,
    is_read_by_polars,
    refuse_other_value,
    said_by_folders,
)
from evalframe.io.lines import first_line, kept_in_mind
from evalframe.io.remote import (
    fetching,
    hub_address,
    is_absence,
    is_folder,
    is_of_transport,
    objects_of,
    options_told,
    unfetched,
)
from evalframe.io.saving import beside, folder_beside

__all__ = [
    "BUCKET",
    "KEY",
    "alike",
    "read_metadata",
    "refuse_other_kind",
    "scan_arrow",
    "scan_parquet",
    "write_parquet",
]

KEY = "evalframe"
OTHER_KINDS = ("frame", "report", "rag_report", "comparison", "values", "values of a bucket")
"""What a file may hold besides the kinds that have readers of their own."""


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
    OptionError
        A `kind` that is not known, or `buckets` that are no whole number from 1.
    ColumnError
        The columns are not those of the `kind`, or of the cut.
    EmptyError
        A frame without rows is to be cut.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> run = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "score": [0.5]})
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.parquet"
    >>> write_parquet(run, file, kind="run", metadata={"made_by": "bm25"})
    >>> read_metadata(file)["made_by"]
    'bm25'
    """
    _refuse_kind(frame, kind)
    facts = {"kind": kind, "version": _version(), **(metadata or {})}
    try:
        stamp = {KEY: json.dumps(facts, ensure_ascii=False)}
    except (TypeError, ValueError) as error:
        raise OptionError(f"metadata cannot be written as JSON: {first_line(error)}") from error
    plan = _without_empty_objects(frame.lazy())
    if not by_system and buckets is None:
        with beside(path, overwrite=overwrite) as part, told(plan):
            plan.sink_parquet(part, metadata=stamp)
        return
    keys = _cut_keys(plan.collect_schema().names(), by_system, buckets)
    if buckets is not None:
        plan = plan.with_columns((pl.col("query_id").hash(0) % buckets).alias(BUCKET))
    with folder_beside(path, overwrite=overwrite) as folder:
        with told(plan):
            plan.sink_parquet(pl.PartitionBy(folder, key=keys), metadata=stamp, mkdir=True)
        if not any(folder.rglob("*.parquet")):
            raise EmptyError(
                f"{os.fspath(path)}: the frame to cut has no rows, so there is no file to write"
            )


@options_told()
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
    first = alike(source)[0] if source.remote else source
    try:
        stamp = _stamp(first)
        facts = json.loads(stamp) if stamp else {}
    except (pl.exceptions.PolarsError, OSError, json.JSONDecodeError) as error:
        if source.remote and is_of_transport(error):
            raise unfetched(source.name, error) from error
        raise ReadError(f"{source.name}: its metadata is damaged: {first_line(error)}") from error
    if not isinstance(facts, dict):
        raise ReadError(f"{source.name}: its metadata is damaged: no object, but {facts!r:.80}")
    return facts


def alike(source: Source) -> list[Source]:
    """Parquet or Arrow files in their order, those that follow each other with one schema together.

    Of a remote folder or pattern, the names of the objects are asked for first.
    """
    if source.remote:
        source = replace(source, paths=_objects(source))
    if len(source.paths) == 1:
        return [source]
    if not is_read_by_polars(source) and folder_keys(source)[1]:
        asked = source.asked or source.name
        return [replace(source, name=path, paths=(path,), asked=asked) for path in source.paths]
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
    with _readable(source, "Parquet"):
        return _by_folder(pl.scan_parquet, source)


def scan_arrow(source: Source) -> pl.LazyFrame:
    """Plan the reading of Arrow IPC files like Parquet; the stream form is read at once."""
    with _readable(source, "Arrow file"):
        if source.layout == "ipc_stream":
            return pl.concat([pl.read_ipc_stream(path) for path in source.paths]).lazy()
        return _by_folder(pl.scan_ipc, source)


def _by_folder(scan: Callable[..., pl.LazyFrame], source: Source) -> pl.LazyFrame:
    """A scan of which the folders below what was named are columns."""
    above, below = folder_keys(source) if is_read_by_polars(source) else ([], [])
    plan = scan(
        kept_in_mind(source).target,
        hive_partitioning=bool(below),
        hive_schema=dict.fromkeys((*above, *below), pl.String) if below else None,
        **source.options,
    )
    plan.collect_schema()
    _refuse_contradiction(scan, source, {*below} - {BUCKET})
    return plan.drop({*above} - {*below} | ({*below} & {BUCKET})) if below else plan


def _refuse_contradiction(
    scan: Callable[..., pl.LazyFrame], source: Source, keys: set[str]
) -> None:
    """Refuse files whose own columns say something else than their folders, which would win."""
    for path in source.paths if keys else ():
        asked = source.asked or source.name
        file = replace(source, name=path, paths=(path,), asked=asked)
        plan = scan(file.target, hive_partitioning=False, **source.options)
        own = plan.collect_schema()
        for key, value in said_by_folders(file).items():
            if key in own:
                others = fetch(plan.filter(is_not(key, own[key], value)).select(key).head(1))
                refuse_other_value(others, key, value)


def refuse_other_kind(source: Source, kind: Kind) -> None:
    """Refuse a run where qrels are wanted, or the other way round, by what the file itself says."""
    try:
        stamp = _stamp(source)
        held = json.loads(stamp).get("kind") if stamp else None
    except (pl.exceptions.PolarsError, OSError, ValueError, AttributeError):
        return
    if {kind, held} == {"qrels", "run"}:
        what = "a run" if held == "run" else "qrels"
        raise ColumnError(
            f"this file says that it holds {what}: read it with read_{held}, or name the columns "
            "with columns={…} if it is meant"
        )


def _stamp(source: Source) -> str | None:
    """What the first file holds under the house's key; of this, Polars takes no `hf://`."""
    address = hub_address(source.paths[0])
    if address:
        return pl.read_parquet_metadata(address).get(KEY)
    return pl.read_parquet_metadata(source.paths[0], **source.options).get(KEY)


@contextmanager
def _readable(source: Source, what: str) -> Iterator[None]:
    """Say of files that Polars cannot open what they are."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if source.remote and (is_absence(error) or is_of_transport(error)):
            raise unfetched(source.name, error) from error
        raise ReadError(
            f"{source.name}: this {what} cannot be read: {first_line(error)}"
        ) from error


def _together(paths: list[str]) -> str:
    more = f" (and {len(paths) - 1} like it)" if len(paths) > 1 else ""
    return f"{paths[0]}{more}"


def _schema(source: Source) -> pl.Schema:
    """The columns of one file, without those of its folders."""
    scan: Callable[..., pl.LazyFrame]
    scan, what = (
        (pl.scan_parquet, "Parquet") if source.layout == "parquet" else (pl.scan_ipc, "Arrow file")
    )
    with _readable(source, what):
        return scan(source.target, hive_partitioning=False, **source.options).collect_schema()


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
        found = objects_of(plan)
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


def _refuse_kind(frame: pl.DataFrame | pl.LazyFrame, kind: str) -> None:
    """Refuse a kind that nobody reads, and qrels or a run with the columns of the other."""
    one_of("kind", kind, (*KINDS, *OTHER_KINDS))
    if kind != "qrels" and kind != "run":
        return
    shape = QRELS if kind == "qrels" else RUN
    names = frame.collect_schema().names()
    found = find_columns(shape, names, {})
    is_run = kind == "qrels" and found.get("relevance") == "score" and "query_id" in names
    if kind == "run" and "rank" in found:
        found.setdefault("score", "")
    missing = [column for column in shape.required if column not in found]
    if is_run or missing:
        lacking = "relevance" if is_run else missing[0]
        raise ColumnError(f"kind={kind!r}: there is no column {lacking!r}; the frame has {names}")


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
    if buckets is not None:
        whole_number("buckets", buckets)
    return [*keys, *([BUCKET] if buckets is not None else [])]
