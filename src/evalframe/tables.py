"""Small frames as plain text, Markdown, LaTeX and HTML; what is cut is counted."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from evalframe.errors import whole_number

__all__ = [
    "CONTROL_SIGNS",
    "ROWS_SHOWN",
    "apart",
    "cells_of",
    "counted",
    "html_table",
    "in_one_line",
    "latex_table",
    "latex_text",
    "markdown_notes",
    "markdown_table",
    "markdown_text",
    "more_rows",
    "notebook_table",
    "rows_kept",
    "shortened",
    "shown",
    "text_table",
]

ROWS_SHOWN = 60
"""Rows of a report's table that are printed; the rest is counted."""

CONTROL_SIGNS = {sign: repr(chr(sign))[1:-1] for sign in (*range(0x20), *range(0x7F, 0xA0))}
"""Signs that break a line or steer a terminal, spelt out."""
TURNING = (*range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Signs that turn the direction of what follows, and some that break a line."""
NAMED_SIGNS = CONTROL_SIGNS | {sign: repr(chr(sign))[1:-1] for sign in TURNING}


def text_table(frame: pl.DataFrame, rows: int | None = None) -> str:
    """The frame in aligned columns; numbers to four decimals, and no more than so many rows."""
    cells = [list(map(in_one_line, frame.columns)), *cells_of(frame, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = _is_number(frame)
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], *more_rows(frame, rows)])


def markdown_table(frame: pl.DataFrame, rows: int | None = None) -> str:
    """The frame as a Markdown table; numbers to four decimals, and no more than so many rows."""
    head = [markdown_text(name) for name in frame.columns]
    body = [[markdown_text(cell) for cell in row] for row in cells_of(frame, rows)]
    rule = ["--:" if right else "---" for right in _is_number(frame)]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
    return "\n".join([*lines, *(f"\n{more}" for more in more_rows(frame, rows))])


def html_table(frame: pl.DataFrame, footnotes: Sequence[str] = (), rows: int | None = None) -> str:
    """The frame as an HTML table with footnotes below it; numbers to four decimals."""
    align = ["right" if right else "left" for right in _is_number(frame)]

    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{html.escape(cell)}</{tag}>'
            for cell, side in zip(row, align, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    below = [*more_rows(frame, rows), *footnotes]
    notes = "".join(f"<div><small>{html.escape(in_one_line(note))}</small></div>" for note in below)
    body = "".join(line("td", row) for row in cells_of(frame, rows))
    head = line("th", list(map(in_one_line, frame.columns)))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{notes}"


def notebook_table(
    frame: pl.DataFrame, footnotes: Sequence[str] = (), rows: int | None = ROWS_SHOWN
) -> str:
    """The frame for a notebook: by great_tables where it is installed, else `html_table`."""
    try:
        from great_tables import GT, style
        from great_tables import html as ready
        from great_tables.loc import body
    except ImportError:
        return html_table(frame, footnotes, rows)
    cells = cells_of(frame, rows)
    # By place, since great_tables looks columns up by patterns.
    names = [f"c{place}" for place in range(frame.width)]
    texts = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
    right = [name for name, number in zip(names, _is_number(frame), strict=True) if number]
    mark = hashlib.blake2s(repr((frame.columns, cells)).encode(), digest_size=6).hexdigest()
    # Double braces in a label would be read as a unit.
    labels: dict[str, Any] = {
        name: ready(html.escape(in_one_line(column)).replace("{", "&#123;"))
        for name, column in zip(names, frame.columns, strict=True)
    }
    table = GT(texts, id=f"e{mark}").cols_label(labels)
    table = table.tab_options(
        table_margin_left="0px", table_font_size="14px", data_row_padding="4px"
    )
    if right:
        table = table.cols_align("right", columns=right).tab_style(
            style.css("font-variant-numeric: tabular-nums;"), body(columns=right)
        )
    for note in (*more_rows(frame, rows), *footnotes):
        table = table.tab_source_note(note)
    return str(table.as_raw_html())


def latex_table(
    frame: pl.DataFrame,
    footnotes: Sequence[str] = (),
    rows: int | None = None,
    *,
    ready: bool = False,
) -> str:
    """The frame as a LaTeX tabular with booktabs rules; footnotes follow as comments.

    Where the cells are `ready`, those after the first column are LaTeX already, and numbers.
    """
    head = [latex_text(name) for name in frame.columns]
    body = [
        [latex_text(row[0]), *(row[1:] if ready else map(latex_text, row[1:]))]
        for row in cells_of(frame, rows)
    ]
    numeric = [False, *[True] * (frame.width - 1)] if ready else _is_number(frame)
    more = [
        rf"\multicolumn{{{frame.width}}}{{l}}{{{latex_text(note)}}} \\"
        for note in more_rows(frame, rows)
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in body),
            *more,
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {in_one_line(note)}" for note in footnotes),
        ]
    )


def cells_of(frame: pl.DataFrame, rows: int | None = None) -> list[list[str]]:
    """The first rows as they are shown, each in one line: `-` for null, floats to four decimals.

    >>> cells_of(pl.DataFrame({"id": ["q1", None], "value": [0.5, 2e-6], "n": [3, 4]}))
    [['q1', '0.5000', '3'], ['-', '2.0e-06', '4']]
    """
    return [[shown(value) for value in row] for row in frame.head(rows_kept(frame, rows)).rows()]


def more_rows(frame: pl.DataFrame, rows: int | None) -> list[str]:
    """The line that counts the rows that were cut, if any were.

    >>> more_rows(pl.DataFrame({"a": range(1010)}), 10)
    ['… and 1,000 more rows']
    """
    cut = frame.height - rows_kept(frame, rows)
    return [f"… and {cut:,} more rows"] if cut else []


def rows_kept(frame: pl.DataFrame, rows: int | None) -> int:
    """How many rows are shown; a single row is never cut, since its count would take its place."""
    if rows is None:
        return frame.height
    rows = whole_number("rows", rows, 0)
    return frame.height if frame.height <= rows + 1 else rows


def counted(n: int, one: str, many: str = "") -> str:
    """A number and its word, in the singular where it is 1; the plural ends in s without `many`.

    >>> counted(1, "query", "queries"), counted(0, "query", "queries"), counted(1200, "metric")
    ('1 query', '0 queries', '1,200 metrics')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def in_one_line(text: str) -> str:
    r"""Text whose signs that break lines, steer terminals or turn directions are spelt out.

    >>> in_one_line("two\nlines")
    'two\\nlines'
    """
    return text.translate(NAMED_SIGNS)


def shortened(text: str, length: int, *, counted: bool = False) -> str:
    """Text of that length at most; what is left out is marked, and counted where it is asked for.

    >>> shortened("What is the difference between them?", 13)
    'What is the…'
    >>> shortened("What is the difference between them? " * 2, 36, counted=True)
    'What is the difference between them? … (38 more characters)'
    """
    left_out = len(text) - length
    if counted and left_out > len(" … (1 more characters)"):
        return f"{text[:length].rstrip()} … ({left_out:,} more characters)"
    return f"{text[: length - 1].rstrip()}…" if left_out > 0 and not counted else text


def _is_number(frame: pl.DataFrame) -> list[bool]:
    return [dtype.is_numeric() for dtype in frame.dtypes]


def shown(value: object) -> str:
    """A value as every table shows it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        # A value that is not 0 shall not look as if it were, nor 0 as if it had a sign.
        return f"{value:.1e}" if 0 < abs(value) < 0.00005 else f"{value or 0.0:.4f}"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return in_one_line(str(value))


def apart(*numbers: float) -> list[str]:
    """Numbers to four decimals, or to as many as tell different ones apart.

    >>> apart(0.75, 0.5), apart(0.01004, 0.01)
    (['0.7500', '0.5000'], ['0.01004', '0.01000'])
    """
    for decimals in range(4, 18):
        texts = [f"{number + 0.0:.{decimals}f}" for number in numbers]
        if len(set(map(float, texts))) == len(set(numbers)):
            return texts
    return list(map(repr, numbers))


MARKDOWN: dict[str, str | int | None] = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": r"\|",
    **{sign: rf"\{sign}" for sign in "\\*[]~$"},
}  # fmt: skip
LOOSE_UNDERSCORE = re.compile(r"(?<![^\W_])_")
"""One that follows no letter or number: behind them, Markdown takes it as it is."""
LINE_START = re.compile(r"^(\s*\d*)([#+=.)-])")
"""What may begin a heading or a list."""
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    **{sign: rf"\{sign}" for sign in "&%$#_"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the oldest font encoding, which is the default, these are other signs.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # At the beginning of a row, the end of the line above would take them for its own.
    "[": "{[}",
    "*": "{*}",
}


def markdown_text(text: str) -> str:
    """Text in which the signs of Markdown, of its tables and of HTML stand for themselves.

    Pairs of backticks alone go on to mark code, as they do in the titles of metrics.
    """
    plain = LOOSE_UNDERSCORE.sub(r"\\_", in_one_line(text).translate(str.maketrans(MARKDOWN)))
    return plain if plain.count("`") % 2 == 0 else plain.replace("`", r"\`")


def markdown_notes(notes: Iterable[str]) -> list[str]:
    """A line for each note, none of which begins a heading or a list."""
    return [f"{LINE_START.sub(_escaped, markdown_text(note.strip()))}  " for note in notes]


def _escaped(start: re.Match[str]) -> str:
    return f"{start[1]}\\{start[2]}"


def latex_text(text: str) -> str:
    """Text in which LaTeX's own signs stand for themselves."""
    return "".join(LATEX.get(sign, sign) for sign in in_one_line(text))
