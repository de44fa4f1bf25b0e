"""What a file is, by its first bytes: a layout that is read, or a name for what is not."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from evalframe.errors import ReadError

__all__ = ["BOM", "Compression", "Layout", "compression_of", "layout_of"]

Compression = Literal["gzip", "zstd", "lz4", "bz2"]
Layout = Literal["parquet", "ipc", "ipc_stream", "json", "cbor", "text"]

BOM = b"\xef\xbb\xbf"

COMPRESSED: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh": "bz2",
}
BZ2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
"""How bz2 data begins: other words may begin with its first three letters."""
FOREIGN = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\xfd7zXZ": "xz-compressed: decompress it first (gz, zst, lz4 and bz2 are read as they are)",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF-": "a PDF",
    b"\x80\x04": "a Python pickle, which is never loaded",
    b"\x80\x05": "a Python pickle, which is never loaded",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"version https://git-lfs.github.com/spec/": "a Git LFS pointer, and not the file that it "
    "stands for: fetch that with 'git lfs pull'",
}
PAGES = re.compile(rb"(?i)<(?:!doctype|html|\?xml)\b")
"""How web pages begin, which servers send in place of a file that they do not give."""
JSON = re.compile(rb'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})|\[\s*(?:\]|\{\s*["}])')
"""How JSON begins; an id in a TREC file may begin with a brace or bracket too."""

UTF_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def compression_of(start: bytes) -> Compression | None:
    """How a file that begins so is compressed, if it is."""
    found = next((name for magic, name in COMPRESSED.items() if start.startswith(magic)), None)
    return None if found == "bz2" and not BZ2.match(start) else found


def layout_of(path: str, head: bytes) -> Layout:
    """The layout of a file that begins so.

    Raises
    ------
    ReadError
        It is empty, cut short, or something that is not read here.
    """
    if not head:
        raise ReadError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        _refuse_cut_parquet(path)
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "ipc"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "ipc_stream"
    inner = compression_of(head)
    if inner == "lz4":
        return "cbor"
    if inner:
        raise ReadError(f"{path}: {inner} data within compressed data: decompress it once")
    for magic, what in FOREIGN.items():
        if head.startswith(magic) and (magic != b"ORC" or b"\x00" in head):
            raise ReadError(f"{path}: this is {what}")
    _refuse_other_text(path, head)
    text = head.removeprefix(BOM).lstrip()
    if not text:
        raise ReadError(f"{path}: the file holds only white space")
    if PAGES.match(text):
        raise ReadError(
            f"{path}: this is a web page or XML, perhaps sent in place of the file: "
            f"{text[:80].decode('utf-8', errors='replace')!r}"
        )
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
