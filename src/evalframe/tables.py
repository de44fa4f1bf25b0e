"""Small frames as plain text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

import polars as pl

__all__ = ["html_table", "latex_table", "latex_text", "markdown_table", "text_table"]


def text_table(frame: pl.DataFrame) -> str:
    """The frame in aligned columns; numbers to four decimals."""
    cells = _cells(frame)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def markdown_table(frame: pl.DataFrame) -> str:
    """The frame as a Markdown table; numbers to four decimals."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in _cells(frame)]
    rule = ["--:" if dtype.is_numeric() else "---" for dtype in frame.dtypes]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def html_table(frame: pl.DataFrame, footnotes: Sequence[str] = ()) -> str:
    """The frame as an HTML table with footnotes below it; numbers to four decimals."""
    head, *rows = [[html.escape(cell) for cell in row] for row in _cells(frame)]
    align = ["right" if dtype.is_numeric() else "left" for dtype in frame.dtypes]

    def line(tag: str, row: list[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{cell}</{tag}>'
            for cell, side in zip(row, align, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    notes = "".join(f"<div><small>{html.escape(note)}</small></div>" for note in footnotes)
    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>{notes}"


def _cells(frame: pl.DataFrame) -> list[list[str]]:
    shown = [[_shown(value) for value in row] for row in frame.rows()]
    return [list(frame.columns), *shown]


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    **{sign: rf"\{sign}" for sign in "&%$#_"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex_text(text: str) -> str:
    """Text in which LaTeX's own signs stand for themselves."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def latex_table(frame: pl.DataFrame, footnotes: Sequence[str] = ()) -> str:
    """The frame as a LaTeX tabular with booktabs rules; footnotes follow as comments.

    Names (the header and the first column) are escaped; other cells are LaTeX already.
    """
    head, *rows = _cells(frame)
    body = [[latex_text(row[0]), *row[1:]] for row in rows]
    lines = [" & ".join(row) + r" \\" for row in ([latex_text(c) for c in head], *body)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (frame.width - 1)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in footnotes),
        ]
    )
