"""A run as a folder of buckets: Parquet files of which none shares a query with another."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.engine import collect
from evalframe.errors import EmptyError, OptionError, ReadError, whole_number
from evalframe.frames import Duplicates
from evalframe.inputs import run_or_plan
from evalframe.io.parquet import BUCKET, write_parquet
from evalframe.io.reading import scan_kind

__all__ = ["Bucket", "bucket", "buckets_of", "remove_left", "writing_to"]

FOOTER = 8
"""Bytes at the end of a Parquet file that say how long its description is."""
A_WEEK = 7 * 24 * 60 * 60
"""Seconds without a change after which a temporary folder is nobody's any more."""
OWN = "[a-z0-9_]" * 8
"""The end of a temporary folder's name, as a pattern."""


def bucket(
    run: Any,
    path: str | os.PathLike[str],
    n: int,
    *,
    duplicates: Duplicates = "error",
    overwrite: bool = False,
) -> None:
    """Write a run as a folder of buckets, by queries.

    Parameters
    ----------
    run
        A frame, a dict or a path. Lazy frames and files from 256 MB on are written as a stream.
    path
        The folder, on a disk that the workers see too. It is written beside, then renamed.
    n
        How many buckets: so many that one fits a worker's memory, and several for each worker.
        About five million rows each are a good size.
    duplicates
        See `evalframe.frames.Duplicates`.
    overwrite
        Replace a folder that is there.

    Raises
    ------
    OptionError
        The folder's name holds `=`, so that it would be read as a column.
    FileExistsError
        Something is there and `overwrite` is not set, or it is no folder of Parquet files.
    EvalframeError
        The run cannot be used. The rows of a stream are checked when they are scored.

    Examples
    --------
    >>> import tempfile
    >>> folder = f"{tempfile.mkdtemp()}/run"
    >>> bucket({"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}}, folder, 2)
    >>> len(buckets_of(folder))
    2
    """
    n = whole_number("n", n)
    folder = Path(path)
    if "=" in folder.name:
        raise OptionError(f"{folder}: a name with '=' would be read as a column; choose another")
    frame = run_or_plan(run, duplicates=duplicates, ranks=True)
    write_parquet(frame, path, kind="run", buckets=n, overwrite=overwrite)
    if not any(folder.expanduser().iterdir()):
        folder.expanduser().rmdir()
        raise EmptyError("the run frame has no rows")


@dataclass(frozen=True)
class Bucket:
    """One part of a run.

    Attributes
    ----------
    name
        The name of its file or folder.
    path
        Where it is.
    size
        Bytes.
    fingerprint
        What tells it from other contents: sizes, times of writing and descriptions of its files.
    """

    name: str
    path: Path
    size: int
    fingerprint: str

    @classmethod
    def at(cls, path: Path) -> Bucket:
        """The bucket that is this file, or this folder of files."""
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        digest = hashlib.blake2b(digest_size=16)
        for file in files:
            stat = file.stat()
            digest.update(f"{file.name}/{stat.st_size}/{stat.st_mtime_ns}/".encode())
            digest.update(_description(file, stat.st_size))
        size = sum(file.stat().st_size for file in files)
        return cls(path.name.removesuffix(".parquet"), path, size, digest.hexdigest())

    @property
    def title(self) -> str:
        """The bucket and its first query, as errors name it."""
        try:
            rows = scan_kind(self.path, "run", check_plans=False)
            first = collect(rows.select("query_id").head(1)).item()
        except Exception:
            return f"bucket {self.name}"
        return f"bucket {self.name} (first query {first!r})"


def buckets_of(path: str | os.PathLike[str]) -> list[Bucket]:
    """The buckets of a folder, the largest first, so that none of them ends long after the others.

    Raises
    ------
    ReadError
        There is no folder, or nothing in it that could be a bucket.
    OptionError
        The folder is cut by system too.
    """
    if not isinstance(path, str | os.PathLike):
        raise OptionError(
            f"the run is {type(path).__name__}, not the path of a folder of buckets; "
            "evalframe.executor.bucket writes one"
        )
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise ReadError(
            f"{folder}: this is no folder of buckets; evalframe.executor.bucket writes one"
        )
    if any(folder.glob("*=*/*=*")) or any(folder.glob("system=*")):
        raise OptionError(
            f"{folder}: it is cut by more than the query; write it with evalframe.executor.bucket, "
            "which keeps the system as a column"
        )
    places = sorted(folder.glob(f"{BUCKET}=*")) or sorted(folder.glob("*.parquet"))
    if not places:
        raise ReadError(f"{folder}: there is neither {BUCKET}=… nor a Parquet file in it")
    return sorted(map(Bucket.at, places), key=lambda one: (-one.size, one.name))


def remove_left(folder: Path, *patterns: str) -> None:
    """Remove temporary folders that calls left here when they were killed, a week ago or earlier.

    The patterns are of their names, but for the end that makes each its own.
    """
    for pattern in patterns:
        for left in folder.glob(f"{pattern}{OWN}"):
            # Another call may remove it too.
            with suppress(OSError):
                if time.time() - left.lstat().st_mtime > A_WEEK:
                    shutil.rmtree(left)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Say of a folder of results that takes nothing which it is, and how to name another."""
    try:
        yield
    except OSError as error:
        why = f"{error.strerror or error} (results=… can name another folder)"
        raise OSError(error.errno, why, str(folder)) from error


def _description(file: Path, size: int) -> bytes:
    """The end of a Parquet file, with the counts and bounds of its columns."""
    with file.open("rb") as opened:
        opened.seek(max(size - FOOTER, 0))
        length = int.from_bytes(opened.read(4), "little")
        opened.seek(max(size - FOOTER - length, 0))
        return opened.read(length)
