"""Tables with one separator between columns (TSV, CSV and the like), with a header or without."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind, Shape
from evalframe.engine import fetch
from evalframe.errors import ReadError
from evalframe.frames import find_columns
from evalframe.io.files import HEAD, Source, count_in
from evalframe.io.lines import (
    FAULTS,
    SHOWN,
    OnBadLine,
    cut,
    explained,
    guarded,
    report_texts,
)
from evalframe.io.positions import is_number, is_whole, positions
from evalframe.io.separators import are_trec

__all__ = ["Table", "read_table", "scan_table", "sniff_table"]

TEXTS = ("title", "text", "response")
QUOTED = re.compile(r'"(?:[^"]|"")*"')
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

    quoted: bool
    """Whether cells of a TSV may stand in quotes, as Python's csv writer puts them."""

    @property
    def quote(self) -> str | None:
        """The quote character that the parser is told of; of tabs and spaces, none."""
        return '"' if self.mark in ",;" else None


def sniff_table(source: Source, kind: Kind, columns: Mapping[str, str]) -> Table | None:
    """The table a text file is, or nothing if it is not separated by one mark (then it is TREC)."""
    lines = source.lines()
    if not lines:
        raise ReadError(f"{source.name}: no line of data, only comments or blank lines")
    shape = KINDS[kind]
    _refuse_endless(source, kind)
    for mark in MARKS:
        cells = [cell.strip() for cell in _cells(lines[0], mark)]
        if len(cells) > 1 and _names_columns(shape, cells, columns):
            return _table(source, shape, mark, cells, columns, header=True)
    mark = next((m for m in MARKS[:3] if len(_cut(lines[0], m)) > 1), "\t")
    if kind in ("qrels", "run") and mark in ",;" and are_trec(kind, lines, mark):
        return None
    width = len(_cut(lines[0], mark))
    if columns and set(columns.values()) <= {f"column_{i}" for i in range(width)}:
        names = [f"column_{i}" for i in range(width)]
        return _table(source, shape, mark, names, columns, header=False)
    if kind in ("qrels", "run"):
        return _ranked_table(source, lines, shape, mark, columns)
    if width == 2 and kind in ("corpus", "queries") and not columns:
        return _table(source, shape, mark, [*shape.required], columns, header=False)
    return _table(source, shape, mark, _cut(lines[0], mark), columns, header=True)


def _refuse_endless(source: Source, kind: Kind) -> None:
    """Refuse a file that has neither lines nor cells, as far as it was looked into."""
    if len(source.head) < HEAD or b"\n" in source.head:
        return
    if kind in ("qrels", "run") or not any(mark in source.head for mark in (b"\t", b",")):
        raise ReadError(
            f"{source.name}: no line ends in the first {len(source.head):,} bytes; "
            f"this is no table of {kind}"
        )


def _cut(line: str, mark: str) -> list[str]:
    """The cells of a line: quotes count in CSV alone."""
    if mark in ",;":
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter=mark), [])
    return line.split(mark)


def _cells(line: str, mark: str) -> list[str]:
    """The cells of a line, of a TSV without the quotes around all of them."""
    cells = _cut(line, mark)
    if mark == "\t" and _is_quoted(line):
        return [cell.strip()[1:-1].replace('""', '"') for cell in cells]
    return cells


def _is_quoted(line: str) -> bool:
    """Whether quotes stand around every cell of a line of a TSV."""
    return all(QUOTED.fullmatch(cell.strip()) for cell in line.split("\t"))


def read_table(source: Source, table: Table, on_bad_line: OnBadLine) -> pl.DataFrame:
    """Read a table into memory: ids and texts as strings, scores, grades and ranks as numbers."""
    _refuse_open_quote(source, table)
    with _faults(source, table):
        frame = fetch(_scan(source, table), "in-memory")
    table = _with_grades_as_they_are(frame, table)
    frame = frame.with_columns(_misfit(table).alias("bad"))
    if frame["bad"].any():
        _report(source, table, frame.lazy().filter("bad").select("at"), on_bad_line)
        frame = frame.filter(~pl.col("bad"))
    if frame.height == 0:
        raise ReadError(f"{source.name}: a header ({', '.join(table.names)}) and no rows")
    return frame.drop("further", "bad", "at").with_columns(_numbers(table))


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


def scan_table(source: Source, table: Table, on_bad_line: OnBadLine = "error") -> pl.LazyFrame:
    """Plan the reading of a table; a line with cells too many or too few fails the plan.

    With `on_bad_line="skip"` it is read through, to say which lines will be left out.
    """
    _refuse_open_quote(source, table)
    plan = _scan(source, table).with_columns(_misfit(table).alias("bad"))
    if on_bad_line == "skip":
        with _faults(source, table):
            _report(source, table, plan.filter("bad").select("at"), "skip")
        good = plan.filter(~pl.col("bad"))
    else:
        cells = pl.concat_str((*table.names, "further"), separator=table.mark, ignore_nulls=True)
        at = pl.col("at") + table.skip + 1
        good = guarded(source, plan, at, cells, "row" if table.quote else "line")
    return good.drop("further", "bad", "at").with_columns(_numbers(table))


@contextmanager
def _faults(source: Source, table: Table) -> Iterator[None]:
    """Say of a file that Polars cannot read what is wrong with it."""
    try:
        yield
    except (*FAULTS, OSError) as error:
        raise _open_quote(source, table) or explained(source, error) from error


def _report(source: Source, table: Table, bad: pl.LazyFrame, on_bad_line: OnBadLine) -> None:
    """Say which rows do not fit, with the lines that they stand on."""
    at = pl.col("at")
    found = fetch(bad.select(pl.len(), at.bottom_k(SHOWN).sort().implode()))
    total, rows = found.row(0)
    if total:
        wanted = f"{len(table.names)} columns ({', '.join(table.names)})"
        report_texts(source, _texts_of(source, table, rows), wanted, on_bad_line, total)


def _texts_of(source: Source, table: Table, rows: list[int]) -> list[tuple[str, int, str]]:
    """File, line number and text of rows. A row goes on while a quote is open, as in the parser."""
    lines = pl.scan_lines(source.target, row_index_name="line_at", **source.options)
    lines = lines.filter(pl.col("line_at") >= table.skip)
    if table.quote:
        odd = pl.col("line").str.count_matches(table.quote, literal=True) % 2
        opens = odd.cum_sum().shift(1, fill_value=0) % 2 == 0
        lines = lines.with_columns((opens.cum_sum() - 1).alias("at"))
    else:
        lines = lines.with_columns((pl.col("line_at") - table.skip).alias("at"))
    wanted = (
        lines.filter(pl.col("at").is_in(rows))
        .group_by("at")
        .agg(
            (pl.col("line_at").min() + 1).alias("number"),
            pl.col("line").sort_by("line_at").first(),
        )
    )
    found = fetch(wanted, "in-memory").sort("number")
    return [(source.name, number, line) for _, number, line in found.iter_rows()]


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
        lines = source.lines_below(source.lines_above() + 1) if header else source.lines()
        rows = [_cut(line, mark) for line in lines]
        at = names.index(grades[0])
        given = [row[at].strip().strip('"') for row in rows if len(row) > at]
        whole = all(is_whole(grade) for grade in given if is_number(grade))
    types = {"number": pl.Float64, "whole": pl.Int64, "grade": pl.Int64 if whole else pl.Float64}
    return Table(
        mark=mark,
        names=tuple(names),
        skip=source.lines_above() + 1 if header else 0,
        ids=tuple(name for name, role in roles.items() if role == "id"),
        grade=grades[0] if grades else "",
        texts=tuple(found[column] for column in TEXTS if column in found),
        quoted=mark == "\t" and (header or all(map(_is_quoted, source.lines()))),
        numbers={name: types[role] for name, role in roles.items() if role in types},
    )


def _ranked_table(
    source: Source, lines: list[str], shape: Shape, mark: str, columns: Mapping[str, str]
) -> Table | None:
    """Qrels or a run whose first line names no known column: CSV by position, TREC, or unknown."""
    quoted = mark == "\t" and all(_is_quoted(line) for line in lines)
    spaced = not quoted and min(len(line.split()) for line in lines) > 1
    spaced = spaced and not _is_cut_by(mark, lines, shape, source.name)
    rows = [line.split() if spaced else _cells(line, mark) for line in lines]
    if len(rows[0]) > 1 and _is_header(rows[0], rows[1:]):
        return _table(source, shape, mark, _cut(lines[0], mark), columns, header=True)
    if spaced or (mark == "\t" and not quoted) or len(rows[0]) == 1:
        return None
    if columns:
        names = [f"column_{i}" for i in range(len(rows[0]))]
        return _table(source, shape, mark, names, {}, header=False)
    found = positions(rows, shape.kind, source.name)
    names = [name or f"column_{i}" for i, name in enumerate(found.names)]
    return _table(source, shape, mark, names, {}, header=False, whole=found.whole)


def _is_cut_by(mark: str, lines: list[str], shape: Shape, name: str) -> bool:
    """Whether commas or semicolons cut all lines into columns that are known by position."""
    rows = [_cut(line, mark) for line in lines]
    if mark not in ",;" or len(rows[0]) < 3 or len({len(row) for row in rows}) > 1:
        return False
    try:
        positions(rows, shape.kind, name)
    except ReadError:
        return False
    return True


def _is_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether a first row is words alone, one of them where all rows below it have numbers."""
    if not rest or any(is_number(cell.strip()) for cell in first):
        return False
    as_wide = [row for row in rest if len(row) == len(first)]
    if not as_wide:
        return False
    return any(all(is_number(row[i]) for row in as_wide) for i in range(len(first)))


def _scan(source: Source, table: Table) -> pl.LazyFrame:
    """All cells as strings, with one column more than there should be: longer lines show.

    The header is read as a row and left out: a byte order mark is taken off what is read first,
    and the first id may begin with that character. `at` counts the rows.
    """
    header = min(table.skip, 1)
    plan = pl.scan_csv(
        source.target,
        separator=table.mark,
        has_header=False,
        skip_lines=table.skip - header,
        quote_char=table.quote,
        schema=dict.fromkeys((*table.names, "further"), pl.String),
        missing_columns="insert",
        truncate_ragged_lines=True,
        row_index_name="at",
        **source.options,
    )
    if header:
        plan = plan.filter(pl.col("at") > 0).with_columns(pl.col("at") - 1)
    trimmed = [pl.col(name).str.strip_chars(" \t\r") for name in (*table.ids, *table.numbers)]
    blank = pl.all_horizontal(pl.col(name).is_null() for name in table.names)
    filled = [pl.col(name).fill_null("") for name in table.texts]
    plan = plan.filter(~blank).with_columns(*trimmed, *filled)
    if table.quoted:
        plan = plan.with_columns(_unquoted(name) for name in table.names)
    return plan


def _unquoted(name: str) -> pl.Expr:
    """A cell of a TSV, without the quotes that Python's csv writer puts around it."""
    cell = pl.col(name)
    inner = cell.str.slice(1, cell.str.len_chars() - 2).str.replace_all('""', '"', literal=True)
    return pl.when(cell.str.contains(r'^"(?:[^"]|"")*"$')).then(inner).otherwise(cell)


def _numbers(table: Table) -> list[pl.Expr]:
    return [pl.col(name).cast(dtype) for name, dtype in table.numbers.items()]


def _misfit(table: Table) -> pl.Expr:
    """Cells too many, no id, or a number that is none."""
    absent = (~(pl.col(name).str.len_bytes() > 0).fill_null(False) for name in table.ids)
    tests = [pl.col("further").is_not_null(), *absent]
    tests += [
        pl.col(name).cast(dtype, strict=False).is_null() for name, dtype in table.numbers.items()
    ]
    tests += [pl.col(name).str.contains("\x00", literal=True) for name in table.names]
    return pl.any_horizontal(tests).fill_null(False)


def _refuse_open_quote(source: Source, table: Table) -> None:
    """Refuse an odd number of quotes, before the engine takes the rest of the file for one cell."""
    if not table.quote or source.remote or source.compression:
        return
    quote = table.quote.encode()
    above = b"\n".join(source.head.split(b"\n")[: source.lines_above()])
    if (count_in(source.paths[0], quote) - above.count(quote)) % 2:
        raise _open_quote(source, table) or ReadError(f"{source.name}: a quote does not close")


def _open_quote(source: Source, table: Table) -> ReadError | None:
    """The error for a quote in a CSV that opens and does not close, or stands inside a cell."""
    if not table.quote:
        return None
    try:
        lines = pl.scan_lines(
            source.target, row_index_name="at", row_index_offset=1, **source.options
        )
        odd = pl.col("line").str.count_matches('"', literal=True) % 2 == 1
        below = pl.col("at") > source.lines_above()
        found = fetch(lines.filter(odd & below).head(1), "in-memory").rows()
    except (*FAULTS, OSError):
        return None
    if not found:
        return None
    at, line = found[0]
    return ReadError(
        f"{source.name}, line {at}: a quote opens here and does not close, or stands inside a cell "
        f"without being doubled: {cut(line)!r}"
    )
