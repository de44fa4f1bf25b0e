"""Pieces of a page: each takes plain text and frames, and gives HTML in which all is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from evalframe.tables import CONTROL_SIGNS, cells_of, counted, in_one_line, more_rows, rows_kept

__all__ = [
    "UNHELD_SIGNS",
    "details",
    "escaped",
    "facts",
    "left_out",
    "listed",
    "paragraph",
    "subheading",
    "table",
    "text_block",
]

LONG = 40
"""Characters from which a column's cells are given room to break into lines."""
VERDICTS = ("relevant", "not relevant", "unjudged", "missed")
UNHELD_SIGNS = {
    sign: name for sign, name in CONTROL_SIGNS.items() if sign not in map(ord, "\t\n\r")
}
"""Signs that no page may hold, spelt out."""


def escaped(text: str) -> str:
    r"""Text as HTML; signs that no page may hold are spelt out, and lines stay lines.

    >>> escaped("a\x00<b>\n")
    'a\\x00&lt;b&gt;\n'
    """
    return html.escape(text.translate(UNHELD_SIGNS))


def paragraph(text: str, *, kind: str = "") -> str:
    """A paragraph.

    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p{_class(kind)}>{escaped(text)}</p>"


def left_out(n: int, one: str, where: str = "") -> str:
    """A line that counts what is not shown; nothing where all is.

    >>> left_out(1, "pair"), left_out(0, "pair")
    ('<p class="more">… and 1 more pair</p>', '')
    """
    return paragraph(f"… and {counted(n, f'more {one}')}{where}", kind="more") if n > 0 else ""


def subheading(text: str) -> str:
    """A heading within a section.

    >>> subheading("bm25")
    '<h3>bm25</h3>'
    """
    return f"<h3>{escaped(text)}</h3>"


def text_block(label: str, text: str | None) -> str:
    """A labelled text that keeps its line breaks; `none` in words where there is none."""
    body = "<em>none</em>" if text is None else escaped(text)
    return f'<div class="block"><h4>{escaped(label)}</h4><p class="kept">{body}</p></div>'


def listed(label: str, texts: Iterable[str]) -> str:
    """A labelled, numbered list of texts."""
    items = "".join(f'<li class="kept">{escaped(text)}</li>' for text in texts)
    body = f"<ol>{items}</ol>" if items else '<p class="kept"><em>none</em></p>'
    return f'<div class="block"><h4>{escaped(label)}</h4>{body}</div>'


def facts(values: Mapping[str, object]) -> str:
    """Names and values, one line each.

    >>> facts({"depth": None})
    '<dl><div><dt>depth</dt><dd>None</dd></div></dl>'
    """
    lines = (
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(str(value))}</dd></div>"
        for name, value in values.items()
    )
    return f"<dl>{''.join(lines)}</dl>"


def details(summary: str, *parts: str, marked: str = "") -> str:
    """Parts that open on a click; what is `marked` stands before the summary, in bold."""
    mark = f"<strong>{escaped(in_one_line(marked))}</strong> " if marked else ""
    inside = "".join(parts)
    return (
        f"<details><summary>{mark}{escaped(summary)}</summary>"
        f'<div class="inside">{inside}</div></details>'
    )


def table(
    frame: pl.DataFrame, caption: str, rows: int | None = None, *, below: Collection[str] = ()
) -> str:
    """A frame as a table that scrolls within its own box; rows that are cut are counted.

    The first column heads its row. A column `verdict` is coloured, besides saying it. The texts of
    the columns `below` stand in a line of their own below each row.
    """
    texts = [name for name in below if name in frame.columns]
    under = frame.head(rows_kept(frame, rows)).select(texts).rows()
    frame = frame.drop(texts)
    cells = cells_of(frame, rows)
    kinds = _kinds(frame, cells)
    head = "".join(
        f'<th scope="col"{_class(kind)}>{escaped(in_one_line(name))}</th>'
        for name, kind in zip(frame.columns, kinds, strict=True)
    )
    body = "".join(
        _row(row, frame.columns, kinds) + _texts(text, frame.width)
        for row, text in zip(cells, under or [()] * len(cells), strict=False)
    )
    name = escaped(caption)
    more = "".join(paragraph(line, kind="more") for line in more_rows(frame, rows))
    if not frame.height:
        more = paragraph("no rows", kind="more")
    box = "scroll with-texts" if texts else "scroll"
    return (
        f'<div class="{box}" role="region" aria-label="{name}" tabindex="0"><table>'
        f"<caption>{name}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"</div>{more}"
    )


def _row(row: list[str], columns: list[str], kinds: list[str]) -> str:
    shown = []
    for place, (cell, column, kind) in enumerate(zip(row, columns, kinds, strict=True)):
        tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
        text = escaped(cell)
        if column == "verdict" and cell in VERDICTS:
            text = f'<span class="verdict {_word(cell)}">{text}</span>'
        shown.append(f"<{tag}{scope}{_class(kind)}>{text}</{tag}>")
    return f"<tr>{''.join(shown)}</tr>"


def _texts(texts: Sequence[str | None], width: int) -> str:
    """A row of texts: the first in bold where several follow each other."""
    given = [escaped(text) for text in texts if text]
    if not given:
        return ""
    if len(texts) > 1 and texts[0]:
        given[0] = f"<strong>{given[0]}</strong>"
    return f'<tr class="below"><td colspan="{width}"><div>{" ".join(given)}</div></td></tr>'


def _kinds(frame: pl.DataFrame, cells: list[list[str]]) -> list[str]:
    """What a column's cells are: numbers, long texts, or neither."""
    if not cells:
        return [""] * frame.width
    longest = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "number" if dtype.is_numeric() else "long" if length > LONG else ""
        for dtype, length in zip(frame.dtypes, longest, strict=True)
    ]


def _word(text: str) -> str:
    return re.sub(r"\W+", "-", text)


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
