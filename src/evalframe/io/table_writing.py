"""Frames as tables with one separator between columns: TSV and CSV."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.errors import ColumnError, RowError, first_rows
from evalframe.io.delimited import TEXTS
from evalframe.io.saving import beside

__all__ = ["write_table"]


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    mark: str,
    overwrite: bool,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write a frame with a header, TSV or CSV; `names` gives other column names to the file.

    Raises
    ------
    ColumnError
        A column of lists or objects.
    RowError
        A cell the format would not give back: line breaks or tabs in a TSV, blanks around an id, no
        text where an empty one would be read back.
    """
    _refuse_nested(frame, path)
    _refuse_cells(frame, mark)
    packed: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}
    suffix = os.path.splitext(os.fspath(path))[1]
    with beside(path, overwrite=overwrite) as part:
        frame.rename(dict(names or {})).write_csv(
            part,
            separator=mark,
            quote_style="necessary",
            compression=packed.get(suffix, "uncompressed"),
            check_extension=False,
        )


def _refuse_nested(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise ColumnError(
            f"{os.fspath(path)}: a cell of this format holds no list and no object, as "
            f"{', '.join(map(repr, nested))} do; write .jsonl, .json or .parquet instead"
        )


def _refuse_cells(frame: pl.DataFrame, mark: str) -> None:
    ids = [name for name in ("system", "query_id", "doc_id") if name in frame.columns]
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    outer = [pl.col(name).str.contains(r"^[ \t\r]|[ \t\r]$|^$|\n") for name in ids]
    inner = [pl.col(name).str.contains("[\t\n\r]") for name in texts if mark == "\t"]
    nul = [pl.col(name).str.contains("\x00", literal=True) for name in texts]
    lost = [pl.col(name).is_null() for name in TEXTS if name in frame.columns]
    bad = frame.with_row_index("row").filter(pl.any_horizontal(*outer, *inner, *nul, *lost))
    if bad.height:
        raise RowError(
            f"{bad.height} rows hold what this text format would not give back: an id that is "
            "empty or has blanks around it, a line break or tab in a TSV, a NUL, a null text (an "
            "empty one would come back). "
            f"Write Parquet or JSONL instead. First rows:\n{first_rows(bad)}"
        )
