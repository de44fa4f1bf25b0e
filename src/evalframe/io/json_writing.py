"""Frames as JSON and JSONL."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.io.saving import beside

__all__ = ["write_json", "write_jsonl"]

PACKED: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}


def write_jsonl(frame: pl.DataFrame, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write one object per row, `.gz` and `.zst` by the file's suffix; NaN is written as null.

    Infinite numbers are written as Python writes them (`Infinity`), and read back as they were.
    """
    packed = PACKED.get(os.path.splitext(os.fspath(path))[1], "uncompressed")
    with beside(path, overwrite=overwrite) as part:
        if _is_infinite(frame):
            lines = (json.dumps(row, ensure_ascii=False, default=str) for row in frame.to_dicts())
            _write_text("".join(f"{line}\n" for line in lines), part, packed)
        else:
            frame.lazy().sink_ndjson(part, compression=packed, check_extension=False)


def write_json(value: Any, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write one JSON value (nested dicts, a list of dicts), `.gz` and `.zst` by the suffix."""
    packed = PACKED.get(os.path.splitext(os.fspath(path))[1], "uncompressed")
    with beside(path, overwrite=overwrite) as part:
        _write_text(json.dumps(value, ensure_ascii=False, default=str), part, packed)


def _is_infinite(frame: pl.DataFrame) -> bool:
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return any(frame[name].is_infinite().any() for name in numbers)


def _write_text(text: str, path: Path, packed: str) -> None:
    if packed == "uncompressed":
        path.write_text(text, encoding="utf-8", newline="")
        return
    import pyarrow as pa

    with pa.output_stream(str(path), compression=packed) as stream:
        stream.write(text.encode())
