"""Tables with one separator between columns (TSV, CSV and the like), with a header or without."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind, Shape
from evalframe.engine import collect
from evalframe.errors import ColumnError, ReadError, RowError, first_rows
from evalframe.frames import find_columns
from evalframe.io.files import Source
from evalframe.io.lines import FAULTS, OnBadLine, cut, explained, report_bad_lines
from evalframe.io.positions import is_number, is_whole, positions
from evalframe.io.saving import beside

__all__ = ["Table", "read_table", "scan_table", "sniff_table", "write_table"]

TEXTS = ("title", "text", "response")
MARKS = ("\t", ",", ";", " ")


@dataclass(frozen=True)
class Table:
    """How a table is separated, what its columns are called, and which of them are which."""

    mark: str
    names: tuple[str, ...]
    skip: int
    """Lines before the first row: the header, and comments above it."""
    ids: tuple[str, ...]
    """Columns around whose cells blanks mean nothing."""
    numbers: Mapping[str, Any]
    """Columns of numbers, and the type of each."""
    grade: str
    """The column of grades, or ''."""
    texts: tuple[str, ...]
    """Columns in which an empty cell is an empty text."""

    @property
    def quote(self) -> str | None:
        """The quote character; tabs and spaces are never quoted."""
        return '"' if self.mark in ",;" else None


def sniff_table(source: Source, kind: Kind, columns: Mapping[str, str]) -> Table | None:
    """The table a text file is, or nothing if it is not separated by one mark (then it is TREC)."""
    lines = source.lines()
    if not lines:
        raise ReadError(f"{source.name}: no line of data, only comments or blank lines")
    shape = KINDS[kind]
    for mark in MARKS:
        cells = [cell.strip() for cell in _cut(lines[0], mark)]
        if len(cells) > 1 and _names_columns(shape, cells, columns):
            return _table(source, shape, mark, cells, columns, header=True)
    mark = next((m for m in MARKS[:3] if len(_cut(lines[0], m)) > 1), "\t")
    width = len(_cut(lines[0], mark))
    if columns and set(columns.values()) <= {f"column_{i}" for i in range(width)}:
        names = [f"column_{i}" for i in range(width)]
        return _table(source, shape, mark, names, columns, header=False)
    if kind in ("qrels", "run"):
        return _ranked_table(source, lines, shape, mark, columns)
    if width == 2 and kind in ("corpus", "queries") and not columns:
        return _table(source, shape, mark, [*shape.required], columns, header=False)
    return _table(source, shape, mark, _cut(lines[0], mark), columns, header=True)


def _cut(line: str, mark: str) -> list[str]:
    """The cells of a line: quotes count in CSV alone."""
    if mark in ",;" and "\r" not in line and "\n" not in line:
        return next(csv.reader([line], delimiter=mark), [])
    return line.split(mark)


def read_table(source: Source, table: Table, on_bad_line: OnBadLine) -> pl.DataFrame:
    """Read a table into memory: ids and texts as strings, scores, grades and ranks as numbers."""
    try:
        frame = collect(_scan(source, table), "in-memory")
    except (*FAULTS, OSError) as error:
        raise _open_quote(source, table) or explained(source, error) from error
    table = _with_grades_as_they_are(frame, table)
    frame = frame.with_columns(_misfit(table).alias("bad"))
    if frame["bad"].any():
        wanted = f"{len(table.names)} columns ({', '.join(table.names)})"
        report_bad_lines(source, lambda lines: _bad_lines(lines, table), wanted, on_bad_line)
        frame = frame.filter(~pl.col("bad"))
    if frame.height == 0:
        raise ReadError(f"{source.name}: a header ({', '.join(table.names)}) and no rows")
    return frame.drop("further", "bad").with_columns(_numbers(table))


def _with_grades_as_they_are(frame: pl.DataFrame, table: Table) -> Table:
    """Grades are whole numbers only if all are, below the sample too."""
    name = table.grade
    if not name or table.numbers[name] == pl.Float64:
        return table
    fractions = (
        frame[name].cast(pl.Int64, strict=False).is_null()
        & frame[name].cast(pl.Float64, strict=False).is_not_null()
    )
    return replace(table, numbers={**table.numbers, name: pl.Float64}) if fractions.any() else table


def scan_table(source: Source, table: Table) -> pl.LazyFrame:
    """Plan the reading of a table; a line with cells too many or too few fails the plan."""
    message = pl.lit(f"{source.name}: a line does not have {len(table.names)} fitting cells")
    guard = pl.when(_misfit(table)).then(message).cast(pl.Int64)
    return (
        _scan(source, table).filter(guard.is_null()).drop("further").with_columns(_numbers(table))
    )


def _names_columns(shape: Shape, cells: list[str], columns: Mapping[str, str]) -> bool:
    """Whether the cells of a line are column names."""
    if columns:
        return set(columns.values()) <= set(cells)
    found = find_columns(shape, cells, {})
    if shape.kind == "run" and "rank" in found:
        found.setdefault("score", "")
    return bool(found) and all(column in found for column in shape.required)


def _table(
    source: Source,
    shape: Shape,
    mark: str,
    names: Sequence[str],
    columns: Mapping[str, str],
    *,
    header: bool,
    whole: bool | None = None,
) -> Table:
    names = [name.strip().strip('"') for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ReadError(f"{source.name}: column names that stand twice in the header: {twice}")
    found = find_columns(shape, names, {} if not set(columns.values()) <= set(names) else columns)
    roles = {name: shape.roles[column] for column, name in found.items()}
    grades = [name for name, role in roles.items() if role == "grade"]
    if grades and whole is None:
        rows = [_cut(line, mark) for line in source.lines()[int(header) :]]
        at = names.index(grades[0])
        whole = all(is_whole(row[at].strip().strip('"')) for row in rows if len(row) > at)
    types = {"number": pl.Float64, "whole": pl.Int64, "grade": pl.Int64 if whole else pl.Float64}
    return Table(
        mark=mark,
        names=tuple(names),
        skip=source.lines_above() + 1 if header else 0,
        ids=tuple(name for name, role in roles.items() if role == "id"),
        grade=grades[0] if grades else "",
        texts=tuple(found[column] for column in TEXTS if column in found),
        numbers={name: types[role] for name, role in roles.items() if role in types},
    )


def _ranked_table(
    source: Source, lines: list[str], shape: Shape, mark: str, columns: Mapping[str, str]
) -> Table | None:
    """Qrels or a run whose first line names no known column: CSV by position, TREC, or unknown."""
    spaced = min(len(line.split()) for line in lines) > 1
    rows = [line.split() if spaced else _cut(line, mark) for line in lines]
    if len(rows[0]) > 1 and _is_header(rows[0], rows[1:]):
        return _table(source, shape, mark, _cut(lines[0], mark), columns, header=True)
    if spaced or mark == "\t" or len(rows[0]) == 1:
        return None
    found = positions(rows, shape.kind, source.name)
    names = [name or f"column_{i}" for i, name in enumerate(found.names)]
    return _table(source, shape, mark, names, {}, header=False, whole=found.whole)


def _is_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether a first row is words alone, one of them where all rows below it have numbers."""
    if not rest or any(is_number(cell.strip()) for cell in first):
        return False
    as_wide = [row for row in rest if len(row) == len(first)]
    if not as_wide:
        return False
    return any(all(is_number(row[i]) for row in as_wide) for i in range(len(first)))


def _scan(source: Source, table: Table) -> pl.LazyFrame:
    """All cells as strings, with one column more than there should be: longer lines show."""
    plan = pl.scan_csv(
        source.target,
        separator=table.mark,
        has_header=False,
        skip_lines=table.skip,
        quote_char=table.quote,
        schema=dict.fromkeys((*table.names, "further"), pl.String),
        missing_columns="insert",
        truncate_ragged_lines=True,
        **source.options,
    )
    trimmed = [pl.col(name).str.strip_chars(" \t\r") for name in (*table.ids, *table.numbers)]
    blank = pl.all_horizontal(pl.col(name).is_null() for name in table.names)
    filled = [pl.col(name).fill_null("") for name in table.texts]
    plan = plan.filter(~blank).with_columns(*trimmed, *filled)
    if table.mark == "\t" and table.skip:
        plan = plan.with_columns(_unquoted(name) for name in table.names)
    return plan


def _unquoted(name: str) -> pl.Expr:
    """A cell of a TSV with a header, without the quotes that Python's csv writer puts around it."""
    cell = pl.col(name)
    inner = cell.str.slice(1, cell.str.len_chars() - 2).str.replace_all('""', '"', literal=True)
    return pl.when(cell.str.contains(r'^"(?:[^"]|"")*"$')).then(inner).otherwise(cell)


def _numbers(table: Table) -> list[pl.Expr]:
    return [pl.col(name).cast(dtype) for name, dtype in table.numbers.items()]


def _misfit(table: Table) -> pl.Expr:
    """Cells too many, no id, or a number that is none."""
    tests = [pl.col("further").is_not_null(), *(pl.col(name).is_null() for name in table.ids)]
    tests += [
        pl.col(name).cast(dtype, strict=False).is_null() for name, dtype in table.numbers.items()
    ]
    tests += [pl.col(name).str.contains("\x00", literal=True) for name in table.names]
    return pl.any_horizontal(tests).fill_null(False)


def _open_quote(source: Source, table: Table) -> ReadError | None:
    """The error for a quote in a CSV that opens and does not close, or stands inside a cell."""
    if not table.quote:
        return None
    try:
        lines = pl.scan_lines(
            source.target, row_index_name="at", row_index_offset=1, **source.options
        )
        odd = pl.col("line").str.count_matches('"', literal=True) % 2 == 1
        found = collect(lines.filter(odd).head(1), "in-memory").rows()
    except (*FAULTS, OSError):
        return None
    if not found:
        return None
    at, line = found[0]
    return ReadError(
        f"{source.name}, line {at}: a quote opens here and does not close, or stands inside a cell "
        f"without being doubled: {cut(line)!r}"
    )


def _bad_lines(lines: pl.LazyFrame, table: Table) -> pl.LazyFrame:
    """The misfits among numbered lines; lines with quotes are left to the parser."""
    cells = [
        pl.col("line").str.split(table.mark).list.get(i, null_on_oob=True).str.strip_chars(' "\r')
        .replace("", None).alias(name)
        for i, name in enumerate((*table.names, "further"))
    ]  # fmt: skip
    rows = lines.filter(pl.col("at") > table.skip, pl.col("line").str.strip_chars() != "")
    if table.quote:
        rows = rows.filter(~pl.col("line").str.contains(table.quote, literal=True))
    return rows.with_columns(cells).filter(_misfit(table))


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
        A cell the format would not give back: line breaks or tabs in a TSV, blanks around an id.
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
    bad = frame.with_row_index("row").filter(pl.any_horizontal(*outer, *inner, *nul))
    if bad.height:
        raise RowError(
            f"{bad.height} rows hold what this text format would not give back: an id that is "
            "empty or has blanks around it, a line break or tab in a TSV, a NUL. "
            f"Write Parquet or JSONL instead. First rows:\n{first_rows(bad)}"
        )
