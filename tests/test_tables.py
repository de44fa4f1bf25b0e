"""Tables as text, Markdown, LaTeX and HTML: nothing breaks them, and nothing is cut in silence."""

from __future__ import annotations

import html
import re
import sys
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from evalframe.errors import OptionError
from evalframe.tables import (
    cells_of,
    html_table,
    in_one_line,
    latex_table,
    markdown_notes,
    markdown_table,
    notebook_table,
    text_table,
)

HOSTILE = st.text(alphabet="ab<>&\"'|\\`*_[]{}$%#~^-\n\r\t\x1b\x00\u202e é漢 ", max_size=12)


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(HOSTILE, min_size=1, max_size=3, unique=True))
    n = draw(st.integers(0, 5))
    columns = [
        pl.Series(name, draw(st.lists(HOSTILE | st.none(), min_size=n, max_size=n)), pl.String)
        for name in names
    ]
    numbers = draw(st.lists(st.floats() | st.none(), min_size=n, max_size=n))
    return pl.DataFrame([*columns, pl.Series("a number", numbers, pl.Float64)])


class Cells(HTMLParser):
    """The rows of every table of a page, and the texts outside them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.rows and self.rows[-1] and not data.isspace():
            self.rows[-1][-1] += data


@settings(deadline=None)
@given(frames())
def test_text_has_a_line_for_each_row_and_no_sign_that_steers(frame: pl.DataFrame) -> None:
    lines = text_table(frame).split("\n")
    assert len(lines) == frame.height + 2
    assert not re.search("[\x00-\x1f\x7f\u202e]", "".join(lines))


@settings(deadline=None)
@given(frames())
def test_markdown_has_a_line_for_each_row_and_a_bar_for_each_column(frame: pl.DataFrame) -> None:
    lines = markdown_table(frame).split("\n")
    assert len(lines) == frame.height + 2
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == frame.width + 1
        assert "<" not in line


@settings(deadline=None)
@given(frames())
@example(pl.DataFrame({"_id_": ["~~b~~", "(_a_)", "$c$", "d_e _f_", "1_**2**_"]}))
def test_markdown_reads_back_as_what_the_frame_says(frame: pl.DataFrame) -> None:
    """But for backticks, which mark code in the titles of metrics too."""
    names = [name.replace("`", "") for name in frame.columns]
    assume(len({*names}) == len(names))
    frame.columns = names
    frame = frame.with_columns(pl.col(pl.String).str.replace_all("`", ""))
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    page = Cells(reader.render(markdown_table(frame)))
    assert {*page.tags} <= {"table", "thead", "tbody", "tr", "th", "td"}
    wanted = [list(map(in_one_line, frame.columns)), *cells_of(frame)]
    squeezed = [["".join(cell.split()) for cell in row] for row in wanted]
    assert [["".join(cell.split()) for cell in row] for row in page.rows] == squeezed
    assert not re.search(r"(?<!\\)(?:\\\\)*\$", markdown_table(frame))


@settings(deadline=None)
@given(st.lists(st.text("#-+=*>12.) _~$[]|\\ab", min_size=1).filter(str.strip), min_size=1))
@example(["# head", "- list", "1. one", "---", "a `b", "c `d"])
def test_notes_in_markdown_are_lines_of_one_paragraph(notes: list[str]) -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    page = reader.render("\n".join(markdown_notes(notes)))
    assert {*re.findall(r"<(\w+)", page)} <= {"p", "br"}
    lines = html.unescape(re.sub("</?p>|\n", "", page)).split("<br />")
    assert [line.split() for line in lines] == [in_one_line(note).split() for note in notes]


@settings(deadline=None)
@given(frames())
@example(pl.DataFrame({"id": ["[1]", "*"]}))
def test_latex_has_every_sign_of_its_own_escaped(frame: pl.DataFrame) -> None:
    body = latex_table(frame).split("\\midrule\n")[1].split("\\bottomrule")[0]
    rows = body.splitlines()
    assert len(rows) == frame.height
    for row in rows:
        assert not row.startswith(("[", "*"))
        plain = re.sub(r"\\text\w+\{\}|\\[{}&%$#_]|\{[*\[]\}", "", row.removesuffix(" \\\\"))
        assert plain.count("&") == frame.width - 1
        assert not re.search(r"[\\{}%$#_~^<>|]", plain)


@settings(deadline=None, max_examples=40)
@given(frames())
@example(pl.DataFrame({"<script>": ["<script>"], "n": ["<b onload='x'>"]}))
@example(pl.DataFrame({"{{a": ["{{b}}"], "a {{m^2}} {b}": ["**c**"], "": [""]}))
def test_html_says_what_the_frame_says_and_has_no_tag_of_the_datas(frame: pl.DataFrame) -> None:
    wanted = [list(map(in_one_line, frame.columns)), *cells_of(frame)]
    own = {"table", "thead", "tbody", "tr", "th", "td", "div", "small"}
    plain = Cells(html_table(frame))
    assert {*plain.tags} <= own
    squeezed = [["".join(cell.split()) for cell in row] for row in wanted]
    assert [["".join(cell.split()) for cell in row] for row in plain.rows] == squeezed
    great = Cells(notebook_table(frame))
    assert {*great.tags} <= own | {"style", "tfoot", "span"}
    assert [["".join(cell.split()) for cell in row] for row in great.rows] == squeezed


@pytest.mark.parametrize(
    "table", [text_table, markdown_table, latex_table, html_table, notebook_table]
)
@pytest.mark.parametrize("rows", [1, 10, 998])
def test_rows_that_are_cut_are_counted(table: object, rows: int) -> None:
    frame = pl.DataFrame({"id": [f"row{n}" for n in range(1000)]})
    shown = table(frame, rows=rows)  # type: ignore[operator]
    assert len(set(re.findall(r"row\d+", shown))) == rows
    assert f"… and {1000 - rows:,} more rows" in shown


@pytest.mark.parametrize("rows", [None, 3, 2])
def test_nothing_is_cut_that_fits_nor_a_single_row(rows: int | None) -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c"]})
    assert text_table(frame, rows).splitlines()[2:] == ["a", "b", "c"]


def test_numbers_are_shown_as_what_they_are() -> None:
    frame = pl.DataFrame({"x": [0.5, -0.0, 0.00004, -0.00004, 0.00005, None, float("nan")]})
    assert [row[0] for row in cells_of(frame)] == [
        "0.5000", "0.0000", "4.0e-05", "-4.0e-05", "0.0001", "-", "nan",
    ]  # fmt: skip
    nested = pl.DataFrame({"x": [[0.5, None], []], "y": [True, None]})
    assert cells_of(nested) == [["0.5000, -", "True"], ["", "-"]]


def test_a_notebook_has_the_plain_table_without_great_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = pl.DataFrame({"metric": ["mrr"], "value": [0.5]})
    great = notebook_table(frame, ["a note"])
    assert "gt_table" in great
    assert great == notebook_table(frame, ["a note"])
    monkeypatch.setitem(sys.modules, "great_tables", None)
    plain = notebook_table(frame, ["a note"])
    assert plain == html_table(frame, ["a note"])
    assert "a note" in great


def test_latex_signs_that_the_oldest_encoding_prints_as_others() -> None:
    table = latex_table(pl.DataFrame({"id": ["a<b>|"]}))
    assert r"a\textless{}b\textgreater{}\textbar{} \\" in table


@pytest.mark.parametrize("rows", [-1, 2.5, "x", True])
@pytest.mark.parametrize(
    "table", [text_table, markdown_table, latex_table, html_table, notebook_table]
)
def test_rows_that_cannot_be_counted_are_refused(table: object, rows: object) -> None:
    with pytest.raises(OptionError, match=r"rows=.* must be a whole number, 0 or more"):
        table(pl.DataFrame({"id": ["a"] * 9}), rows=rows)  # type: ignore[operator]
