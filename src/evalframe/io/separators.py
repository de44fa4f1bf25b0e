"""How the words of a TREC file are separated, and which of them is which.

White space separates them, but where a line's columns are set apart by tabs, a space within a
column belongs to it: ids with spaces in them are kept whole. The first lines of a file decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalframe.errors import ColumnError, ReadError
from evalframe.io.files import Source
from evalframe.io.lines import cut
from evalframe.io.positions import ITERATION, Positions, is_number, is_whole, positions

__all__ = ["Separation", "are_trec", "separation"]

BLANKS = " \t\r\x0b\x0c"
BY_POSITION = re.compile("column_([0-9]+)")


@dataclass(frozen=True)
class Separation:
    """The columns of a TREC file and what stands between them."""

    positions: Positions
    tabbed: bool
    """Whether lines are split at tabs, so that spaces may stand within a column."""
    mark: str
    """The one character between the columns of every sampled line, or '' if there is none."""
    padded: bool
    """Whether spaces stand around the marks, or within a column."""


def separation(
    source: Source, kind: str, columns: Mapping[str, str], subtopics: bool = False
) -> Separation:
    """Find out how the first lines of a file are cut into columns.

    Raises
    ------
    ReadError
        The number of columns fits the other kind, fits none, or leaves open which is which.
    ColumnError
        `columns` names what a file without a header does not have.
    """
    lines = source.lines()
    words = [_words(line) for line in lines]
    cells = [_cells(line) for line in lines]
    tabbed = _is_tabbed(kind, words, cells, source.name)
    rows = cells if tabbed else words
    if columns:
        found = _named(rows, kind, columns, source.name)
    else:
        found = positions(rows, kind, source.name, subtopics)  # type: ignore[arg-type]
    width = len(found.names)
    parts = {mark: [line.split(mark) for line in lines] for mark in (" ", "\t")}
    if tabbed:
        fitting = all(len(row) == width for row in parts["\t"])
        return Separation(found, True, "\t" if fitting else "", parts["\t"] != rows)
    fits = (m for m, cut in parts.items() if cut == rows and all(len(row) == width for row in cut))
    return Separation(found, False, next(fits, ""), False)


def are_trec(kind: str, lines: Sequence[str], mark: str) -> bool:
    """Whether most lines are TREC's by their white space, whatever else (`mark`) may cut them."""
    rows = [_words(line) for line in lines]
    fitting = sum(_is_trec(kind, row) or _is_plain(kind, row, mark) for row in rows)
    return 2 * fitting > len(rows)


def _is_plain(kind: str, words: Sequence[str], mark: str) -> bool:
    """Whether words are four or six columns with numbers in their places, and none ends a cell."""
    if any(word.endswith(mark) for word in words[:-1]):
        return False
    if kind == "qrels":
        return len(words) == 4 and is_number(words[3])
    return len(words) == 6 and is_number(words[3]) and is_number(words[4])


def _words(line: str) -> list[str]:
    """The words of a line, by C's idea of white space (str.split knows more of it)."""
    for mark in "\t\r\x0b\x0c":
        line = line.replace(mark, " ")
    return [word for word in line.split(" ") if word]


def _cells(line: str) -> list[str]:
    """What stands between the tabs of a line."""
    return [cell.strip(BLANKS) for cell in line.strip(BLANKS).split("\t")]


def _is_tabbed(
    kind: str, words: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], name: str
) -> bool:
    """Whether tabs alone separate the columns, by most of the lines."""
    if not cells:
        return False
    width = Counter(min(len(row), 7) for row in cells).most_common(1)[0][0]
    usual = [at for at, row in enumerate(cells) if min(len(row), 7) == width and _are_plain(row)]
    if width < 3 or 2 * len(usual) <= len(cells):
        return False
    try:
        found = positions([cells[at] for at in usual], kind, name)  # type: ignore[arg-type]
    except ReadError:
        return False
    return "" in found.names or not all(_is_trec(kind, words[at]) for at in usual)


def _are_plain(cells: Sequence[str]) -> bool:
    """Whether every cell holds something, and no white space but spaces."""
    return all(cells) and not any(mark in cell for cell in cells for mark in "\r\x0b\x0c")


def _is_trec(kind: str, words: Sequence[str]) -> bool:
    """Whether words are a whole line of TREC's, with the column that nobody reads."""
    number_at = 3 if kind == "qrels" else 4
    return (
        len(words) > number_at
        and bool(re.fullmatch(ITERATION, words[1]))
        and is_number(words[number_at])
    )


def _named(
    rows: Sequence[Sequence[str]], kind: str, columns: Mapping[str, str], name: str
) -> Positions:
    """The columns as the caller names them, by position."""
    if not rows:
        raise ReadError(f"{name}: no line of data, only comments or blank lines")
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    usual = [row for row in rows if len(row) == width]
    names = [""] * width
    for column, given in columns.items():
        match = BY_POSITION.fullmatch(given)
        if match is None or int(match.group(1)) >= width:
            raise ColumnError(
                f"columns={{{column!r}: {given!r}}}: there is no column {given!r}; the file has no "
                f"header that is known, and its columns are called column_0 to column_{width - 1}. "
                f"First line: {cut(' '.join(rows[0]))!r}"
            )
        names[int(match.group(1))] = column
    found = {column: [row[at] for row in usual] for at, column in enumerate(names) if column}
    ranked = any(map(is_whole, found.get("rank", [""])))
    return Positions(
        names=tuple(names),
        whole=all(map(is_whole, found.get("relevance", [""]))),
        ranked=ranked,
        trailing=ranked and width >= 6,
    )
