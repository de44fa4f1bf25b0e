"""What a user points at: one file, many, or a URI; found, named and looked into, not yet read."""

from __future__ import annotations

import glob
import io
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from evalframe.engine import collect
from evalframe.errors import ReadError

__all__ = [
    "Compression",
    "Layout",
    "Marks",
    "Source",
    "decompressed",
    "find",
    "is_remote",
    "look_through",
    "with_head",
]

Compression = Literal["gzip", "zstd", "lz4", "bz2"]
Layout = Literal["parquet", "ipc", "ipc_stream", "json", "cbor", "text"]

BOM = b"\xef\xbb\xbf"
LOOKED_AT = 1 << 18
"""Bytes looked through at once: few enough to stay in the processor's cache."""
HEAD = 1 << 16
"""Bytes of a file that are looked at before it is read."""

REMOTE = ("hf://", "s3://", "s3a://", "gs://", "gcs://", "az://", "abfs://", "abfss://", "adl://",
          "http://", "https://", "file://")  # fmt: skip

COMPRESSED: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh": "bz2",
}
FOREIGN = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\xfd7zXZ": "xz-compressed: decompress it first (gz, zst, lz4 and bz2 are read as they are)",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\x80\x04": "a Python pickle, which is never loaded",
    b"\x80\x05": "a Python pickle, which is never loaded",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
}
JSON = re.compile(rb'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})|\[\s*[\]{]')
"""How JSON begins; an id in a TREC file may begin with a brace or bracket too."""

UTF_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
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
    """One or more files of one layout, and the first bytes of the first of them."""

    name: str
    paths: tuple[str, ...]
    layout: Layout
    head: bytes = b""
    compression: Compression | None = None
    remote: bool = False
    storage_options: dict[str, Any] | None = field(default=None, compare=False)

    @property
    def target(self) -> Any:
        """What a Polars scan takes: the paths, or the bytes where Polars cannot decompress."""
        if self.compression in ("lz4", "bz2"):
            return [decompressed(path, self.compression) for path in self.paths]
        return list(self.paths)

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments that every scan of this source takes."""
        return {"storage_options": self.storage_options} if self.storage_options else {}

    @property
    def marked(self) -> bool:
        """Whether a file begins with a byte order mark."""
        if self.remote or self.compression:
            return self.head.startswith(BOM)
        return any(_starts(path).startswith(BOM) for path in self.paths)

    def lines(self) -> list[str]:
        """The whole lines among the first bytes, without line ends, blank and comment lines."""
        text = self.head.decode("utf-8", errors="replace").removeprefix("\ufeff")
        lines = text.split("\n")
        if len(self.head) >= HEAD and len(lines) > 1:
            lines.pop()
        lines = [line.rstrip("\r") for line in lines]
        return [line for line in lines if line.strip() and not line.startswith("#")]

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
    name = os.fspath(path)
    if not isinstance(name, str):
        raise ReadError(f"{name!r}: a path is a str or a path-like of str")
    if is_remote(name):
        return _remote(name, storage_options)
    paths = _local_paths(name)
    start = _starts(paths[0])
    compression = next((c for magic, c in COMPRESSED.items() if start.startswith(magic)), None)
    head = _head(paths[0], compression)
    layout = _layout(paths[0], head)
    return Source(name, tuple(paths), layout, head, compression, storage_options=storage_options)


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


def with_head(source: Source) -> Source:
    """The source with its first lines, fetched through Polars if it is remote."""
    if source.head or not source.remote:
        return source
    plan = pl.scan_lines(list(source.paths), n_rows=200, **source.options)
    try:
        lines = collect(plan, "in-memory").to_series()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{source.name}: there is no such object") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ReadError(f"{source.name}: it cannot be fetched: {error}") from error
    head = "\n".join(lines) + "\n"
    return replace(source, head=head.encode())


def is_remote(name: str) -> bool:
    """Whether a name is a URI, which Polars fetches."""
    return name.startswith(REMOTE)


def decompressed(path: str, compression: Compression, *, twice: bool = False) -> bytes:
    """All bytes of a compressed file, or of one that was compressed twice over."""
    try:
        data = _unpacked(path, compression)
        return _unpacked(io.BytesIO(data), compression) if twice else data
    except (OSError, ValueError) as error:
        raise _broken(path, compression, error) from error


def _remote(uri: str, storage_options: dict[str, Any] | None) -> Source:
    stem = uri.split("?")[0].removesuffix(".gz").removesuffix(".zst")
    suffix = Path(stem).suffix.lower()
    folder = uri.endswith("/") or "." not in uri.rsplit("/", 1)[-1]
    layout = "parquet" if folder else REMOTE_LAYOUTS.get(suffix, "text")
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


def _unpacked(file: str | io.BytesIO, compression: Compression, size: int = -1) -> bytes:
    """The first bytes of a compressed file, or all; damage raises OSError or ValueError."""
    import pyarrow as pa

    with pa.input_stream(file, compression=compression) as stream:
        return bytes(stream.read(size) if size >= 0 else stream.read())


def _head(path: str, compression: Compression | None) -> bytes:
    try:
        if compression:
            return _unpacked(path, compression, HEAD)
        with open(path, "rb") as file:
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


def _layout(path: str, head: bytes) -> Layout:
    if not head:
        raise ReadError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        _refuse_cut_parquet(path)
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "ipc"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "ipc_stream"
    if head.startswith(b"\x04\x22\x4d\x18"):
        return "cbor"
    for magic, what in FOREIGN.items():
        if head.startswith(magic):
            raise ReadError(f"{path}: this is {what}")
    _refuse_other_text(path, head)
    text = head.removeprefix(BOM).lstrip()
    if not text:
        raise ReadError(f"{path}: the file holds only white space")
    named = Path(path).name.lower().split(".")
    if text[:1] in (b"{", b"[") and (JSON.match(text) or {"json", "jsonl", "ndjson"} & {*named}):
        return "json"
    return "text"


def _refuse_cut_parquet(path: str) -> None:
    with open(path, "rb") as file:
        file.seek(-4, os.SEEK_END)
        if file.read() != b"PAR1" or file.tell() < 12:
            raise ReadError(
                f"{path}: this Parquet file is cut short (its footer is missing); "
                "fetch or write it again"
            )


def _refuse_other_text(path: str, head: bytes) -> None:
    for mark, encoding in UTF_MARKS.items():
        if head.startswith(mark):
            raise ReadError(f"{path}: the text is {encoding}; save it as UTF-8")
    if b"\r" in head.rstrip() and b"\n" not in head:
        raise ReadError(f"{path}: lines end in a lone carriage return; save it with line feeds")
    nul = head.find(b"\x00")
    if nul >= 0:
        line = head.count(b"\n", 0, nul) + 1
        what = "UTF-16 text" if nul < 4 and head[1:2] == b"\x00" else "binary data or damage"
        raise ReadError(
            f"{path}, line {line}: a NUL byte, which no text format holds: {what}; save it as UTF-8"
        )
