"""The whole page: its head, its sections, and the file that it is written to."""

from __future__ import annotations

import os
from collections.abc import Iterable

import polars as pl

from evalframe.errors import OptionError
from evalframe.io.saving import beside
from evalframe.page.parts import escaped, paragraph, table
from evalframe.page.style import STYLE
from evalframe.tables import counted

__all__ = ["document", "section", "write_document", "write_table"]

NOTHING_FROM_OUTSIDE = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
"""What the page may load: its own style, and nothing else. Scripts do not run."""


def document(title: str, lede: str, sections: Iterable[str]) -> str:
    """A page of HTML that asks no network, loads nothing and runs nothing.

    Parameters
    ----------
    title, lede
        Plain text: what it is about, and one sentence on it.
    sections
        What `section` gave; empty ones are passed over.

    Raises
    ------
    OptionError
        The title is no text.

    Examples
    --------
    >>> page = document("A & B", "two systems", [section("Means", paragraph("none"))])
    >>> "<title>A &amp; B</title>" in page, "<h2>Means</h2><p>none</p>" in page
    (True, True)
    """
    if not isinstance(title, str):
        raise OptionError(f"title={title!r:.80}: a text is wanted")
    name = escaped(title)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{NOTHING_FROM_OUTSIDE}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="generator" content="evalframe">',
            f"<title>{name}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{name}</h1>{paragraph(lede, kind='lede')}</header>",
            "<main>",
            *(part for part in sections if part),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def section(title: str, *parts: str) -> str:
    """A headed part of the page; nothing where it has no content."""
    inside = "".join(parts)
    return f"<section><h2>{escaped(title)}</h2>{inside}</section>" if inside else ""


def write_document(page: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a page beside its target and rename it.

    Raises
    ------
    FileExistsError
        Something is there and `overwrite` is not set.
    """
    with beside(path, overwrite=overwrite) as part:
        # Ids may hold half a surrogate pair, which no encoding has.
        part.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    title: str = "Table",
    lede: str = "",
    rows: int | None = 1000,
    overwrite: bool = False,
) -> None:
    """Write any frame as a page, for example what `audit` or `Report.slices` gave.

    Parameters
    ----------
    frame
        Nested values are written in one line.
    path
        The file.
    title, lede
        What the page is called, and a sentence below it.
    rows
        How many rows are written; the others are counted. None: all.
    overwrite
        Replace what is there.

    Raises
    ------
    FileExistsError
        Something is there and `overwrite` is not set.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import evalframe as evf
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "audit.html"
    >>> findings = evf.audit({"q": {"a": 1}}, {"q": {"b": 1.0}})
    >>> write_table(findings, file, title="What is wrong")
    >>> "<title>What is wrong</title>" in file.read_text()
    True
    """
    lede = lede or counted(frame.height, "row")
    page = document(title, lede, [section("Rows", table(frame, title, rows))])
    write_document(page, path, overwrite=overwrite)
