"""Frames to files and to standard output: the suffix or `--to` says the format."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import polars as pl

from evalframe.cli.streams import say_bytes
from evalframe.columns import Kind
from evalframe.errors import EvalframeError, OptionError
from evalframe.io.saving import beside
from evalframe.io.writing import write_kind

__all__ = ["FORMATS", "write_to"]

FORMATS = ("trec", "tsv", "csv", "json", "jsonl", "parquet", "arrow")


def write_to(
    frame: pl.DataFrame | pl.LazyFrame,
    out: Path,
    kind: Kind,
    to: str | None,
    *,
    overwrite: bool,
    tag: str,
) -> None:
    """Write a frame of a kind to a file, or to standard output where `out` is `-`."""
    if to is not None and to not in FORMATS:
        raise OptionError(f"--to {to!r} is not offered; choose one of {', '.join(FORMATS)}")
    to_standard_output = str(out) == "-"
    if to is None and to_standard_output:
        raise OptionError(f"standard output has no suffix: say --to {'|'.join(FORMATS)}")
    if to is None:
        write_kind(frame, out, kind, overwrite=overwrite, tag=tag)
        return
    packed = out.suffix if out.suffix in (".gz", ".zst") else ""
    with tempfile.TemporaryDirectory(prefix="evalframe-output-") as folder:
        made = Path(folder) / f"table.{to}{packed}"
        try:
            write_kind(frame, made, kind, tag=tag)
        except EvalframeError as error:
            where = "standard output" if to_standard_output else str(out)
            error.args = (str(error).replace(str(made), where),)
            raise
        if to_standard_output:
            say_bytes(made)
            return
        with beside(out, overwrite=overwrite) as part:
            shutil.copyfile(made, part)
