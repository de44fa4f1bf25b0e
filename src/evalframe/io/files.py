"""What a user points at: one file, many, or a URI; found, named and looked into, not yet read."""

from __future__ import annotations

import glob
import io
import itertools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from evalframe.engine import fetch
from evalframe.errors import ReadError
from evalframe.io.layouts import BOM, Compression, Layout, compression_of, layout_of
from evalframe.io.remote import fetching, is_folder, is_remote, objects_of

__all__ = [
    "GIANT",
    "Marks",
    "Source",
    "count_in",
    "decompressed",
    "each",
    "find",
    "has_giant_line",
    "look_through",
    "opened",
    "with_head",
]

LOOKED_AT = 1 << 18
"""Bytes looked through at once: few enough to stay in the processor's cache."""
GIANT = 1 << 24
"""Bytes of a line from which it is not left to an engine that makes copies of it."""
HEAD = 1 << 16
"""Bytes of a file that are looked at before it is read."""
LIKE_ZLIB = (b"x^", b"x\x01")
"""How text may begin that Polars takes for zlib's data, unless a byte order mark stands before."""
ZIPPED = ("gzip", "zstd")
"""What Polars decompresses itself."""
SAMPLE = 300
"""Lines from which the layout of a text file is told."""

REMOTE_LAYOUTS: dict[str, Layout] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".parq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}


@dataclass(frozen=True)
class Marks:
    """What may stand in a text file besides words, line ends and its one separator."""

    strays: bool
    """A NUL, or other white space."""
    comments: bool
    """A `#`, be it at the start of a line or in an id."""


@dataclass(frozen=True)
class Source:
    """One or more files of one layout, and the first bytes of the first of them.

    Text and JSON are one file each where they are read (see `each`).
    """

    name: str
    """What errors call it."""
    paths: tuple[str, ...]
    layout: Layout
    head: bytes = b""
    compression: Compression | None = None
    remote: bool = False
    storage_options: dict[str, Any] | None = field(default=None, compare=False)
    asked: str = ""
    """What the user pointed at, where that is not its name."""

    @property
    def target(self) -> Any:
        """What a Polars scan takes: the paths, or the bytes of what Polars cannot decompress or
        would take for compressed.
        """
        is_like_zlib = self.head.startswith(LIKE_ZLIB)
        if self.compression in ("lz4", "bz2"):
            texts = [decompressed(path, self.compression) for path in self.paths]
        elif is_like_zlib and not self.compression:
            texts = [Path(path).read_bytes() for path in self.paths]
        else:
            return [*self.paths] if self.remote else [glob.escape(path) for path in self.paths]
        return [BOM + text for text in texts] if is_like_zlib else texts

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments that every scan of this source takes."""
        return {"storage_options": self.storage_options} if self.storage_options else {}

    @property
    def marked(self) -> bool:
        """Whether what Polars is given begins with a byte order mark."""
        return self.head.startswith(BOM if self.compression in ZIPPED else (BOM, *LIKE_ZLIB))

    def lines(self) -> list[str]:
        """The first whole lines, without line ends, blank and comment lines."""
        told = (line for line in self.lines_below(0) if not line.startswith("#"))
        return list(itertools.islice(told, SAMPLE))

    def lines_below(self, skip: int) -> list[str]:
        """The first whole lines below so many, without line ends and blank lines."""
        text = self.head.decode("utf-8", errors="replace").removeprefix("\ufeff")
        lines = text.split("\n")
        if len(self.head) >= HEAD and len(lines) > 1:
            lines.pop()
        return [line.rstrip("\r") for line in lines[skip:] if line.strip()]

    def lines_above(self) -> int:
        """How many comment or blank lines stand above the first line of data."""
        above = 0
        for line in self.head.decode("utf-8", errors="replace").removeprefix("\ufeff").split("\n"):
            if line.strip() and not line.startswith("#"):
                break
            above += 1
        return above


def find(path: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None) -> Source:
    """Find what a path, a glob, a folder of Parquet files or a URI stands for.

    Raises
    ------
    FileNotFoundError
        No file is there.
    ReadError
        A folder that is not one table, an empty file, or bytes that are no table or text.
    """
    name = _name_of(path)
    if is_remote(name):
        return _remote(name, storage_options)
    paths = _local_paths(name)
    first = _looked_into(paths[0], storage_options)
    return replace(first, name=name, paths=tuple(paths))


def each(source: Source) -> list[Source]:
    """A source for each file, by its own name and looked into by itself.

    The files of a pattern may have other headers, compressions and layouts than the first of them.
    Of a URI with a pattern, the names are asked for first.
    """
    asked = source.asked or source.name
    if source.remote:
        paths = _matching(source) if glob.has_magic(source.name) else source.paths
        return [replace(source, name=path, paths=(path,), asked=asked) for path in paths]
    if len(source.paths) == 1:
        return [replace(source, name=source.paths[0], asked=asked)]
    found = [_looked_into(path, source.storage_options) for path in source.paths]
    return [replace(part, asked=asked) for part in found]


def look_through(path: str, separator: bytes) -> Marks:
    """Look through all bytes of a local file for single characters: some 6 GB/s."""
    strays = [mark for mark in (b"\x00", b" ", b"\t", b"\x0b", b"\x0c") if mark != separator]
    comments = False
    last = b""
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(LOOKED_AT):
            if b"\r" in chunk or last == b"\r":
                chunk = (last + chunk).replace(b"\r\n", b"\n")
            if b"\r" in chunk[:-1] or any(mark in chunk for mark in strays):
                return Marks(strays=True, comments=True)
            comments = comments or b"#" in chunk
            last = chunk[-1:]
    return Marks(strays=False, comments=comments)


def count_in(path: str, mark: bytes) -> int:
    """How often a character stands in a local file."""
    with open(path, "rb", buffering=0) as file:
        return sum(chunk.count(mark) for chunk in iter(lambda: file.read(LOOKED_AT), b""))


def has_giant_line(path: str) -> bool:
    """Whether a line of a local file is as long as whole files are."""
    with open(path, "rb", buffering=0) as file:
        return any(
            len(chunk) == GIANT and b"\n" not in chunk
            for chunk in iter(lambda: file.read(GIANT), b"")
        )


def with_head(source: Source) -> Source:
    """The source with its first lines, fetched through Polars if it is remote."""
    if source.head or not source.remote:
        return source
    plan = pl.scan_lines(list(source.paths), n_rows=200, **source.options)
    with fetching(source.name):
        lines = fetch(plan, "in-memory").to_series()
    head = "\n".join(lines) + "\n"
    return replace(source, head=head.encode())


def opened(path: str, compression: Compression | None) -> IO[bytes]:
    """A local file for reading, decompressed on the way."""
    if not compression:
        return open(path, "rb")
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(path, compression=compression))


def decompressed(path: str, compression: Compression, *, twice: bool = False) -> bytes:
    """All bytes of a compressed file, or of one that was compressed twice over."""
    try:
        data = _unpacked(path, compression)
        return _unpacked(io.BytesIO(data), compression) if twice else data
    except (OSError, ValueError) as error:
        raise _broken(path, compression, error) from error


def _name_of(path: object) -> str:
    """A path as a string, behind `~`."""
    try:
        name = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        name = None
    if not isinstance(name, str):
        raise ReadError(f"{path!r:.80} is no path: a str or a path-like object is wanted")
    return name


def _looked_into(path: str, storage_options: dict[str, Any] | None) -> Source:
    """A local file by what it begins with."""
    start = _starts(path)
    compression = compression_of(start)
    head = _head(path, compression)
    layout = layout_of(path, head)
    return Source(path, (path,), layout, head, compression, storage_options=storage_options)


def _matching(source: Source) -> list[str]:
    """The objects that a pattern stands for."""
    plan = pl.scan_lines(list(source.paths), include_file_paths="path", **source.options)
    with fetching(source.name):
        paths = objects_of(plan)
    if not paths:
        raise FileNotFoundError(f"{source.name}: no object matches this pattern")
    return paths


def _remote(uri: str, storage_options: dict[str, Any] | None) -> Source:
    stem = uri.split("?")[0].removesuffix(".gz").removesuffix(".zst")
    suffix = Path(stem).suffix.lower()
    layout = "parquet" if is_folder(uri) else REMOTE_LAYOUTS.get(suffix, "text")
    return Source(uri, (uri,), layout, remote=True, storage_options=storage_options)


def _local_paths(name: str) -> list[str]:
    plain = os.path.expanduser(name)
    if os.path.isdir(plain):
        return _parquet_folder(plain)
    if os.path.isfile(plain):
        return [plain]
    if os.path.exists(plain):
        raise ReadError(f"{name}: this is neither a file nor a folder")
    if glob.has_magic(plain):
        paths = sorted(p for p in glob.glob(plain, recursive=True) if os.path.isfile(p))
        if paths:
            return paths
        raise FileNotFoundError(f"{name}: no file matches this pattern")
    raise FileNotFoundError(f"{name}: there is no such file or folder{_nearby(plain)}")


def _nearby(path: str) -> str:
    """The files that stand where a missing one was looked for."""
    parent = os.path.dirname(path) or "."
    if not os.path.isdir(parent):
        return f"; nor is there a folder {parent!r}"
    names = sorted(os.listdir(parent))
    return f"; {parent!r} holds {_some(names)}"


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:10]) or "nothing"
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _parquet_folder(folder: str) -> list[str]:
    found = [
        os.path.join(where, name)
        for where, folders, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "_"))
        and not any(part.startswith((".", "_")) for part in Path(where).relative_to(folder).parts)
    ]
    if found and all(name.endswith((".parquet", ".pq", ".parq")) for name in found):
        return sorted(found)
    inside = _some(sorted(os.listdir(folder)))
    if os.path.exists(os.path.join(folder, "corpus.jsonl")) or os.path.isdir(
        os.path.join(folder, "qrels")
    ):
        raise ReadError(
            f"{folder}: this is a folder in BEIR's layout ({inside}); "
            "read it whole with read_beir, or name one of its files"
        )
    raise ReadError(
        f"{folder}: this is a folder, and not of Parquet files only: it holds {inside}. "
        "Name one file, or a pattern such as 'folder/*.trec'"
    )


def _starts(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(16)


def _unpacked(file: str | io.BytesIO, compression: Compression) -> bytes:
    """All bytes of a compressed file; damage raises OSError or ValueError."""
    import pyarrow as pa

    with pa.input_stream(file, compression=compression) as stream:
        return bytes(stream.read())


def _head(path: str, compression: Compression | None) -> bytes:
    try:
        with opened(path, compression) as file:
            return file.read(HEAD)
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise
        raise _broken(path, compression, error) from error


def _broken(path: str, compression: Compression | None, error: Exception) -> ReadError:
    return ReadError(
        f"{path}: the {compression or 'file'} data is damaged or cut short ({error}); "
        "fetch or write the file again"
    )
