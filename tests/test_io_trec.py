"""TREC files: every shape people have, nothing taken wrongly, nothing lost."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.engine import collect
from evalframe.errors import ColumnError, OptionError, ReadError, RowError
from evalframe.inputs import run_or_plan
from evalframe.io import (
    SkippedLinesWarning,
    read_qrels,
    read_run,
    scan_qrels,
    scan_run,
    write_qrels,
    write_run,
)
from evalframe.io.files import find
from evalframe.io.trec import read_trec
from evalframe.report import evaluate

SPACES = "\t\n\x0b\x0c\r \x00"
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=SPACES), min_size=1)
QUERY_IDS = IDS.filter(lambda text: text[0] not in "#\ufeff")
SCORES = st.floats(allow_nan=False)


def put(folder: Path, text: str | bytes, name: str = "file.trec") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


RUN_ROWS = [("q1", "d1", 2.5, 1), ("q1", "007", 1.0, 2), ("q2", "d#1", -1e-3, 1)]
RUN_LINES = ["q1 Q0 d1 1 2.5 t", "q1 Q0 007 2 1 t", "q2 Q0 d#1 1 -1e-3 t"]
RUN_TEXTS = {
    "one space": "\n".join(RUN_LINES) + "\n",
    "tabs": "\n".join(RUN_LINES).replace(" ", "\t"),
    "tabs and stray spaces": "\n".join(RUN_LINES).replace(" ", " \t ") + " \n",
    "many spaces": "\n".join(RUN_LINES).replace(" ", "   "),
    "mixed": "\n".join(RUN_LINES).replace(" Q0 ", "\t Q0 \x0b"),
    "windows": "\r\n".join(RUN_LINES) + "\r\n",
    "byte order mark": "\ufeff" + "\n".join(RUN_LINES),
    "byte order mark, mixed": "\ufeff" + "\n".join(RUN_LINES).replace(" ", "  "),
    "blank lines": "\n\n" + "\n\n \t\n".join(RUN_LINES) + "\n\n",
    "comments": "# head\n" + "\n# a comment of six words here\n".join(RUN_LINES),
    "trailing words": " more words\n".join(RUN_LINES) + " end of file",
    "no tag": "\n".join(line.removesuffix(" t") for line in RUN_LINES),
    "leading spaces": "\n".join("  " + line for line in RUN_LINES),
}


@pytest.mark.parametrize("text", RUN_TEXTS.values(), ids=RUN_TEXTS.keys())
@pytest.mark.parametrize("packed", [False, True])
def test_a_run_is_the_same_however_it_is_separated(tmp_path: Path, text: str, packed: bool) -> None:
    """White space, comments, line ends and compression change nothing, eager or lazy."""
    data = gzip.compress(text.encode()) if packed else text
    path = put(tmp_path, data, "run.gz" if packed else "run.txt")
    assert read_run(path).rows() == RUN_ROWS
    assert scan_run(path).collect().rows() == RUN_ROWS


def test_the_fast_road_gives_way_to_a_later_surprise(tmp_path: Path) -> None:
    """Lines of another separation far below the sample are read rightly, not by position."""
    many = "".join(f"q1 Q0 d{i} {i} {5000 - i}.5 t\n" for i in range(5000))
    for odd in (
        "q2  Q0\td 1 2.0 t",
        "q2 Q0 d 1 2.0 t two more words",
        "q2 Q0 d  1 2.0 t",
        "q2  0 d 1 2.0",
        "# q",
    ):
        frame = read_run(put(tmp_path, many + odd + "\nq3 Q0 e 1 1.5 t\n"))
        last = [("q2", "d", 2.0, 1)] if "#" not in odd else []
        assert frame.rows()[5000:] == [*last, ("q3", "e", 1.5, 1)]


@pytest.mark.parametrize(
    "odd",
    ["q Q0 d 1 high t", "q Q0 d", "q Q0 my doc 1 2.0 t", "q Q0 d\x00 1 2.0 t", "q Q0 d 1 2.0\x00 t",
     "q\u00a0x 1"],
)  # fmt: skip
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, odd: str) -> None:
    """File, line number and text of a bad line stand in the error; the lazy plan fails on it."""
    many = "".join(f"q1 Q0 d{i} {i} {5000 - i}.5 t\n" for i in range(5000))
    path = put(tmp_path, many + odd + "\n" + "q3 Q0 e 1 1.5 t\n")
    with pytest.raises(ReadError, match=r"file\.trec, line 5001: "):
        read_run(path)
    with pytest.raises(pl.exceptions.PolarsError):
        scan_run(path).collect()
    with pytest.warns(SkippedLinesWarning, match="1 line does not fit"):
        assert read_run(path, on_bad_line="skip").height == 5001


def test_ten_bad_lines_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    """An error about many lines stays short and says how many there are."""
    path = put(
        tmp_path, "q 0 d0 1\n" * 1 + "".join(f"q 0 e{i}\n" for i in range(25)) + "q 0 f 1\n" * 40
    )
    with pytest.raises(ReadError, match="25 lines do not fit") as error:
        read_qrels(path)
    assert str(error.value).count(", line ") == 10
    assert "and 15 more" in str(error.value)


def test_qrels_and_runs_do_not_pass_for_each_other(tmp_path: Path) -> None:
    """Six columns are a run, four are qrels, and the error says so."""
    with pytest.raises(ReadError, match="six columns: this is a run; qrels have four"):
        read_qrels(put(tmp_path, "q1 Q0 d1 1 2.5 t\n"))
    with pytest.raises(ReadError, match="four columns: these are qrels; a run has six"):
        read_run(put(tmp_path, "q1 0 d1 1\n"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("q1\td1\t1\nq1\td2\t2\n", [("q1", "d1", -1.0), ("q1", "d2", -2.0)]),
        ("q1\td1\t1\nq2\td1\t1\n", [("q1", "d1", -1.0), ("q2", "d1", -1.0)]),
        ("q1 d1 0.5\nq1 d2 0.25\n", [("q1", "d1", 0.5), ("q1", "d2", 0.25)]),
        ("q1 d1 1 0.5\nq1 d2 2 0.25\n", [("q1", "d1", 0.5), ("q1", "d2", 0.25)]),
        ("q1 d1 1 0.5 t\nq1 d2 2 0.25 t\n", [("q1", "d1", 0.5), ("q1", "d2", 0.25)]),
    ],
)
def test_shorter_runs_are_read_where_they_are_clear(
    tmp_path: Path, text: str, rows: list[tuple[str, str, float]]
) -> None:
    """MS MARCO's `qid pid rank`, scores that are no ranks, ranks that count up."""
    assert read_run(put(tmp_path, text)).select("query_id", "doc_id", "score").rows() == rows


def test_shorter_runs_are_refused_where_they_are_not_clear(tmp_path: Path) -> None:
    """Whole numbers that do not count up may be scores or ranks; `columns` settles it."""
    path = put(tmp_path, "q1\td1\t5\nq1\td2\t7\n")
    with pytest.raises(ReadError, match="three columns, and it is not clear"):
        read_run(path)
    names = {"query_id": "column_0", "doc_id": "column_1", "score": "column_2"}
    assert read_run(path, columns=names).rows() == [("q1", "d1", 5.0), ("q1", "d2", 7.0)]


def test_msmarco_qrels(tmp_path: Path) -> None:
    """`qid 0 pid rel` and `qid pid rel`, with tabs."""
    assert read_qrels(put(tmp_path, "12\t0\t0034\t1\n")).rows() == [("12", "0034", 1)]
    assert read_qrels(put(tmp_path, "12\t0034\t1\n")).rows() == [("12", "0034", 1)]


def test_grades_are_whole_only_if_all_are(tmp_path: Path) -> None:
    """A grade of 0.5 anywhere in the file is kept."""
    text = "".join(f"q 0 d{i} 1\n" for i in range(9000))
    assert read_qrels(put(tmp_path, text)).schema["relevance"] == pl.Int64
    mixed = read_qrels(put(tmp_path, text + "q 0 e 0.5\n"))
    assert mixed["relevance"].to_list() == [1.0] * 9000 + [0.5]
    assert scan_qrels(put(tmp_path, text + "q 0 e 0.5\n")).collect().equals(mixed)


def test_ranks_are_kept_only_if_they_are_clean(tmp_path: Path) -> None:
    """A rank column of other words is left out, wherever the first such word stands."""
    assert read_run(put(tmp_path, "q Q0 d x 1.5 t\n")).columns == ["query_id", "doc_id", "score"]
    text = "".join(f"q Q0 d{i} {i} {9000.5 - i} t\n" for i in range(9000))
    assert "rank" in read_run(put(tmp_path, text)).columns
    assert "rank" not in read_run(put(tmp_path, text + "q Q0 e - 0.5 t\n")).columns


def test_the_tag_becomes_the_system_on_request(tmp_path: Path) -> None:
    """By default a TREC run has no `system`, with `system=True` it is the tag."""
    path = put(tmp_path, "q Q0 d 1 1.5 bm25\nq Q0 d 1 2.5 ance\n")
    assert read_run(path, system=True)["system"].to_list() == ["bm25", "ance"]
    assert scan_run(path, system=True).collect()["system"].to_list() == ["bm25", "ance"]
    write_run(read_run(path, system=True), tmp_path / "again.trec")
    assert (tmp_path / "again.trec").read_text() == path.read_text()


def test_ids_that_look_like_json(tmp_path: Path) -> None:
    """A brace or a bracket at the start of a file does not make it JSON."""
    for query in ("{", "[", "[{", "[1]", '{"a"', '["b"'):
        assert read_qrels(put(tmp_path, f"{query} 0 d 1\n")).rows() == [(query, "d", 1)]


def test_many_files_are_one_frame(tmp_path: Path) -> None:
    """A pattern reads all its files in the order of their names."""
    put(tmp_path, "q1 Q0 d 1 1.5 t\n", "a.trec")
    put(tmp_path, "q2  Q0 d 1 1.5 t\n", "b.trec")
    assert read_run(tmp_path / "*.trec")["query_id"].to_list() == ["q1", "q2"]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.tuples(QUERY_IDS, IDS), SCORES, min_size=1, max_size=8))
def test_a_run_round_trips(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float]
) -> None:
    """Any ids without ASCII white space and any scores come back to the last bit."""
    frame = pl.DataFrame(
        [(q, d, s) for (q, d), s in rows.items()],
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
        orient="row",
    )
    folder = tmp_path_factory.mktemp("trips")
    for name in ("run.trec", "run.trec.gz", "run.trec.zst"):
        write_run(frame, folder / name)
        again = read_run(folder / name)
        assert again.drop("rank").equals(frame)
        assert scan_run(folder / name).collect().equals(again)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.tuples(QUERY_IDS, IDS),
        st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False),
        min_size=1,
        max_size=8,
    )
)
def test_qrels_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float]
) -> None:
    """Whole grades stay whole, fractions stay fractions."""
    whole = all(isinstance(grade, int) for grade in rows.values())
    frame = pl.DataFrame(
        [(q, d, g if whole else float(g)) for (q, d), g in rows.items()],
        schema={
            "query_id": pl.String,
            "doc_id": pl.String,
            "relevance": pl.Int64 if whole else pl.Float64,
        },
        orient="row",
    )
    path = tmp_path_factory.mktemp("trips") / "qrels.trec"
    write_qrels(frame, path)
    assert read_qrels(path).equals(frame)


@pytest.mark.parametrize("bad", ["", " ", "a b", "a\tb", "a\nb", "a\r", "a\x00b"])
def test_ids_the_format_cannot_hold_are_refused(tmp_path: Path, bad: str) -> None:
    """White space and emptiness would be read back as something else: nothing is written."""
    for row in ((bad, "d", 1), ("q", bad, 1)):
        frame = pl.DataFrame([row], schema=["query_id", "doc_id", "relevance"], orient="row")
        with pytest.raises(RowError, match="cannot hold"):
            write_qrels(frame, tmp_path / "qrels.trec")
    assert list(tmp_path.iterdir()) == []


def test_written_ranks_follow_score_then_doc_id(tmp_path: Path) -> None:
    """Rows keep their place; ranks count by score, ties by descending doc_id."""
    frame = pl.DataFrame(
        {"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "score": [1.0, 1.0, 2.0]}
    )
    write_run(frame, tmp_path / "run.trec", tag="mine")
    assert (tmp_path / "run.trec").read_text() == (
        "q Q0 a 3 1.0 mine\nq Q0 b 2 1.0 mine\nq Q0 c 1 2.0 mine\n"
    )


GAPS = st.text("\t \x0b\x0c\r", min_size=1, max_size=3)
WORDS = st.text("aé\u00a0\u2003\"'#,7{", min_size=1, max_size=3)
WHOLE = st.integers(-99, 99).map(str)


@st.composite
def ragged_lines(draw: st.DrawFn) -> str:
    """A run line with any white space between, before and after, and words to spare."""
    words = [draw(WORDS.filter(lambda w: w[0] != "#")), "Q0", draw(WORDS), draw(WHOLE)]
    words += [draw(st.floats(allow_nan=False).map(repr)), *draw(st.lists(WORDS, min_size=1))]
    line = words[0] + "".join(draw(GAPS) + word for word in words[1:])
    return draw(st.sampled_from(["", " ", "\t"])) + line + draw(st.sampled_from(["", " ", "\r"]))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ragged_lines() | st.sampled_from(["", " \t", "# c o m m e n t s"]), min_size=1).filter(
        lambda lines: any(line.strip() and line[0] != "#" for line in lines)
    )
)
def test_lines_are_cut_as_c_cuts_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    """The words of a line are those between C's white space, whichever road reads the file."""
    wanted = []
    for line in lines:
        words = re.split("[\t \x0b\x0c\r]+", line.strip("\t \x0b\x0c\r"))
        if words != [""] and not line.startswith("#"):
            wanted.append((words[0], words[2], float(words[4]), int(words[3])))
    path = put(tmp_path_factory.mktemp("lines"), "\n".join(lines) + "\n")
    assert read_trec(find(path), "run").rows() == wanted
    assert scan_run(path).collect().rows() == wanted


BY_SUBTOPIC = "1 2 d1 1\n1 1 d1 0\n2 1 d#2 3\n"
SUBTOPIC_ROWS = [("1", "d1", 1, "2"), ("1", "d1", 0, "1"), ("2", "d#2", 3, "1")]


@pytest.mark.parametrize("gap", [" ", "\t", " \t ", "   "])
def test_the_second_column_of_diversity_qrels_is_the_subtopic(tmp_path: Path, gap: str) -> None:
    """Whichever road reads the file, whole or as a plan, and only where it is asked for."""
    path = put(tmp_path, BY_SUBTOPIC.replace(" ", gap))
    frame = read_qrels(path, subtopics=True)
    assert frame.columns == ["query_id", "doc_id", "relevance", "subtopic"]
    assert frame.rows() == SUBTOPIC_ROWS
    assert scan_qrels(path, subtopics=True).collect().rows() == SUBTOPIC_ROWS
    with pytest.raises(RowError, match=r"subtopics=True"):
        read_qrels(path)


@pytest.mark.parametrize("suffix", ["trec", "trec.gz", "tsv", "csv", "jsonl", "parquet"])
def test_subtopics_are_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    schema = ["query_id", "doc_id", "relevance", "subtopic"]
    frame = pl.DataFrame(SUBTOPIC_ROWS, schema=schema, orient="row")
    path = tmp_path / f"qrels.{suffix}"
    write_qrels(frame, path)
    assert read_qrels(path, subtopics=True).equals(frame)
    if suffix == "trec":
        assert path.read_text() == BY_SUBTOPIC


def test_subtopics_that_would_be_lost_are_refused(tmp_path: Path) -> None:
    schema = ["query_id", "doc_id", "relevance", "subtopic"]
    frame = pl.DataFrame(SUBTOPIC_ROWS, schema=schema, orient="row")
    with pytest.raises(OptionError, match="no place for 'subtopic'"):
        write_qrels(frame, tmp_path / "qrels.json")
    with pytest.raises(RowError, match="cannot hold"):
        write_qrels(frame.with_columns(subtopic="a " + pl.col("subtopic")), tmp_path / "qrels.trec")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ReadError, match="none of them is the subtopic"):
        read_qrels(put(tmp_path, "1 d1 1\n"), subtopics=True)
    with pytest.raises(ColumnError, match="no column 'subtopic'"):
        read_qrels(put(tmp_path, "query_id,doc_id,relevance\n1,d,1\n", "a.csv"), subtopics=True)


TABBED = [
    ("run", ["q 1\tQ0\tmy doc\t1\t2.5\tt", "q 2\tQ0\td\t1\t1.5\tt"]),
    ("run", ["q 1\tQ0\tmy doc\t1\t2.5", "q 2\tQ0\td\t1\t1.5"]),
    ("run", ["q 1 \t my doc\t1\t2.5\t t", "q 2\td\t1\t1.5 \tt"]),
    ("run", ["q 1\tmy doc\t1\t2.5", "q 2\td\t1\t1.5"]),
    ("qrels", ["q 1\t0\tmy doc\t1", "q 2\t0\td\t1"]),
    ("qrels", ["q 1\tmy doc\t1", "q 2\td\t1"]),
]


@pytest.mark.parametrize(("kind", "lines"), TABBED)
@pytest.mark.parametrize("far", [False, True])
def test_spaces_between_tabs_belong_to_the_ids(
    tmp_path: Path, kind: str, lines: list[str], far: bool
) -> None:
    """In the first lines or far below them, eager or lazy."""
    plain = [lines[1].replace("q 2", f"p{i}") for i in range(4000 if far else 1)]
    path = put(tmp_path, "\n".join([*plain, *lines]) + "\n")
    read, scan = (read_run, scan_run) if kind == "run" else (read_qrels, scan_qrels)
    ids = [("q 1", "my doc"), ("q 2", "d")]
    assert read(path).select("query_id", "doc_id").rows()[-2:] == ids
    assert scan(path).collect().select("query_id", "doc_id").rows()[-2:] == ids


def test_a_tab_among_spaces_is_white_space(tmp_path: Path) -> None:
    """The column that nobody reads tells a query_id and a space from an id with a space in it."""
    assert read_qrels(put(tmp_path, "q1 0\td\t1\n")).rows() == [("q1", "d", 1)]
    assert read_run(put(tmp_path, "q1 Q0\td\t1\t2.5\tt\n")).rows() == [("q1", "d", 2.5, 1)]
    mixed = "q1\tQ0\td e\t1\t2.5\tt\n" * 3 + "q1 Q0 f 2 1.5 t\n"
    assert read_run(put(tmp_path, mixed), duplicates="best").rows()[-1] == ("q1", "f", 1.5, 2)


NAMES = st.text("ab é0'", min_size=1, max_size=4).filter(lambda text: text == text.strip())


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9), st.floats(-9, 9)), min_size=1, max_size=9)
)
def test_tab_separated_runs_hold_ids_with_spaces(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, float]]
) -> None:
    text = "".join(f"{q}\tQ0\t{d}\t{rank}\t{score!r}\ta tag\n" for q, d, rank, score in rows)
    path = put(tmp_path_factory.mktemp("tabs"), text)
    wanted = [(q, d, score, rank) for q, d, rank, score in rows]
    assert read_trec(find(path), "run").rows() == wanted
    assert scan_run(path).collect().rows() == wanted


@pytest.mark.parametrize("gap", [" ", "\t", "  "])
@pytest.mark.parametrize("odd", ["q Q0 d 1 high t", "q Q0 d", "q Q0 d 1 2.0\x00 t"])
def test_a_plan_names_file_line_and_text(tmp_path: Path, gap: str, odd: str) -> None:
    """By Polars' own error, and, where the house runs the plan, by the house's."""
    good = "".join(f"q1 Q0 d{i} {i} {5000 - i}.5 t\n" for i in range(5000))
    path = put(tmp_path, (good + "\n" + odd + "\n").replace(" ", gap))
    told = rf"{path}, line 5002: not what or how the first lines are: {odd.replace(' ', gap)}"
    with pytest.raises(pl.exceptions.InvalidOperationError, match=re.escape(told)):
        scan_run(path).collect()
    with pytest.raises(ReadError) as error:
        collect(scan_run(path))
    assert str(error.value) == told


@pytest.mark.parametrize("gap", [" ", "\t", "  "])
def test_a_plan_leaves_bad_lines_out_and_says_how_many(tmp_path: Path, gap: str) -> None:
    """What the eager reader keeps, and no more is said of the lines than there."""
    lines = ["# head", "q Q0 d 1 2.5 t", "q Q0 e", "", "q Q0 f 2 1.5 t and more", "q Q0 g 3 x t"]
    path = put(tmp_path, "\n".join(lines).replace(" ", gap))
    with pytest.warns(SkippedLinesWarning, match="2 lines do not fit") as eager:
        frame = read_run(path, on_bad_line="skip")
    with pytest.warns(SkippedLinesWarning) as lazy:
        plan = scan_run(path, on_bad_line="skip")
    assert str(lazy[0].message) == str(eager[0].message)
    assert ", line 3: " in str(lazy[0].message)
    assert plan.collect().equals(frame)
    assert frame["doc_id"].to_list() == ["d", "f"]


def test_a_bad_line_is_named_in_a_small_file_too(tmp_path: Path) -> None:
    """It does not make the whole sample unclear, nor grades fractions."""
    path = put(tmp_path, "q 0 d 1\nq 0 e x\n")
    with pytest.raises(ReadError, match=r"line 2: 'q 0 e x'"):
        read_qrels(path)
    with pytest.warns(SkippedLinesWarning):
        assert read_qrels(path, on_bad_line="skip").rows() == [("q", "d", 1)]


@pytest.mark.parametrize("gap", [" ", "\t", "  ", ","])
def test_columns_by_position_are_taken_whatever_separates_them(tmp_path: Path, gap: str) -> None:
    path = put(tmp_path, "d1 q1 5\nd2 q1 7\n".replace(" ", gap))
    names = {"query_id": "column_1", "doc_id": "column_0", "score": "column_2"}
    assert read_run(path, columns=names).rows() == [("q1", "d1", 5.0), ("q1", "d2", 7.0)]
    assert scan_run(path, columns=names).collect().rows()[1] == ("q1", "d2", 7.0)
    for wrong in ("my_q", "column_9"):
        with pytest.raises(ColumnError, match=f"there is no column '{wrong}'"):
            read_run(path, columns=names | {"query_id": wrong})
        with pytest.raises(ColumnError, match=f"there is no column '{wrong}'"):
            scan_run(path, columns=names | {"query_id": wrong})


MANY = "".join(f"q1 Q0 d{i} {i} {5000 - i}.5 t\n" for i in range(3000))
MOVED = [
    ("q1 Q0 d1 1 9.0 t\nq1 Q0 my doc 2 8.0 t\nq1 Q0 d3 3 7.0 t\n", [2]),
    ("q1 Q0 New York 1 5.0 bm25\nq1 Q0 Los Angeles 2 4.0 bm25\n", [1, 2]),
    ("q1 Q0 New York 1 5.0\nq1 Q0 Los Angeles 2 4.0\n", [1, 2]),
    ("what is Q0 d1 1 5.0 t\n", [1]),
    ("q1 Q0 d1 1 5.0 t\nq1 Q0 my doc 2 4.0\nq1 Q0 d3 3 3.0 t\n", [2]),
    ("q1 Q0 d1 - 5.0 t\nq1 Q0 d2 - 4.0 t\nq1 Q0 my doc 2 3.0 t\n", [3]),
    ("q1 Q0 d1 - 5.0 7\nq1 Q0 my doc 1.5 4.0\n", [2]),
    (MANY + "q1 Q0 my doc 2 0.5 t\n", [3001]),
    (MANY + "q1 Q0 my doc 2 0.5\n", [3001]),
    (MANY + "q2 Q0 d 1 0.5 t more\nq2 Q0 e 2.5 0.5\n", [3002]),
]


@pytest.mark.parametrize(("text", "lines"), MOVED)
def test_a_word_that_has_moved_is_refused_by_whoever_reads(
    tmp_path: Path, text: str, lines: list[int]
) -> None:
    """An id in two words makes neither its half an id nor a rank a score, be ranks read or not."""
    path = put(tmp_path, text)
    with pytest.raises(ReadError, match=f"{len(lines)} lines? do(es)? not fit") as read:
        read_run(path)
    assert re.findall(r", line (\d+): ", str(read.value)) == [str(line) for line in lines]
    with pytest.raises(ReadError) as evaluated:
        evaluate({"q1": {"d1": 1}}, path, ["mrr"])
    assert str(evaluated.value) == str(read.value)
    with pytest.raises(ReadError, match=f", line {lines[0]}: "):
        collect(scan_run(path))


@pytest.mark.parametrize("rank", ["0.5", "-", "x", "nan"])
@pytest.mark.parametrize("tag", ["t", "-1x"])
@pytest.mark.parametrize("gap", [" ", "\t", "  "])
def test_ranks_that_are_none_are_left_out(tmp_path: Path, rank: str, tag: str, gap: str) -> None:
    path = put(tmp_path, f"q Q0 d {rank} 2 {tag}\nq Q0 e {rank} 1 {tag}\n".replace(" ", gap))
    rows = [("q", "d", 2.0), ("q", "e", 1.0)]
    assert read_run(path).rows() == rows
    assert scan_run(path).collect().rows() == rows
    assert run_or_plan(path).rows() == rows


def test_ranks_without_scores_are_read_by_those_who_want_no_ranks(tmp_path: Path) -> None:
    path = put(tmp_path, "q d1 1\nq d2 2\n")
    assert evaluate({"q": {"d2": 1}}, path, ["mrr"]).metrics == {"mrr": 0.5}


@pytest.mark.parametrize("second", ["Q0", "0", "1", "Q1", "STANDARD"])
def test_runs_without_a_tag_have_numbers_for_ids(tmp_path: Path, second: str) -> None:
    """What stands in the second column of every line is no id, and ranks count up."""
    lines = [f"{i // 2} {second} {101 + i} {i % 2 + 1} {9.5 - i}\n" for i in range(4)]
    rows = [("0", "101", 9.5, 1), ("0", "102", 8.5, 2), ("1", "103", 7.5, 1), ("1", "104", 6.5, 2)]
    path = put(tmp_path, "".join(lines))
    assert read_run(path).rows() == rows
    assert scan_run(path).collect().rows() == rows
    assert run_or_plan(path).rows() == [row[:3] for row in rows]


@pytest.mark.parametrize(
    "text",
    ["1 Q0 1\n", "1 Q0 0.5\n", "1 Q0 1 0.5\n", "1 Q0 101 1 t\n", "1 1 1 1 1\n"],
)
def test_q0_is_no_document(tmp_path: Path, text: str) -> None:
    path = put(tmp_path, text)
    for read in (read_run, scan_run, run_or_plan):
        with pytest.raises(ReadError, match="it is not clear which is which"):
            read(path)


def test_a_run_without_q0_may_have_a_number_for_a_tag(tmp_path: Path) -> None:
    path = put(tmp_path, "q d1 1 3 7\nq d2 2 2 7\n")
    assert read_run(path, system=True).rows() == [
        ("7", "q", "d1", 3.0, 1),
        ("7", "q", "d2", 2.0, 2),
    ]


@pytest.mark.parametrize("gap", [" ", "\t"])
@pytest.mark.parametrize(
    "odd",
    ["q2  Q0 d 1 2.0 t", " q2 Q0 d 1 2.0 t", "q2 Q0 d 1 2.0 t ", "q2 Q0 d 1 2.0", "q2 Q0 d 1.5 2 t",
     "q2 Q0 d - 2.0 t", "q2 Q0 d 1 2.0 t more words"],
)  # fmt: skip
def test_a_plan_reads_what_the_reader_reads(tmp_path: Path, odd: str, gap: str) -> None:
    """Also a line far below the first ones that is not as they are."""
    path = put(tmp_path, (MANY + odd + "\n").replace(" ", gap))
    frame = read_run(path)
    assert frame.rows()[-1][:3] == ("q2", "d", 2.0)
    assert scan_run(path).collect().equals(frame)
    assert scan_run(path, on_bad_line="skip").collect().equals(frame)


def test_a_plan_of_a_compressed_file_says_who_may_read_it(tmp_path: Path) -> None:
    path = put(tmp_path, gzip.compress((MANY + "q2 Q0 d 1.5 2.0 t\n").encode()), "run.gz")
    assert read_run(path).height == 3001
    with pytest.raises(ReadError, match=r"line 3001 \(which read_run may take\): .*: q2 Q0 d 1\.5"):
        collect(scan_run(path))


@pytest.mark.parametrize("tag", ["t", "7"])
@pytest.mark.parametrize("gap", ["\t", "\t ", " \t "])
@pytest.mark.parametrize(
    ("kind", "column"), [("run", 0), ("run", 2), ("qrels", 0), ("qrels", 1), ("qrels", 2)]
)
def test_an_empty_cell_is_no_id(tmp_path: Path, kind: str, column: int, gap: str, tag: str) -> None:
    """Nor do the columns behind it move into its place, however the tabs are padded."""
    read, scan = (read_run, scan_run) if kind == "run" else (read_qrels, scan_qrels)
    words = ["q", "Q0", "d", "3", "4", tag] if kind == "run" else ["q", "0", "d", "1"]
    good = [gap.join([*words[:2], f"d{i}", *words[3:]]) for i in range(3)]
    bad = gap.join("" if at == column else word for at, word in enumerate(words))
    path = put(tmp_path, "\n".join([*good, bad]) + "\n")
    with pytest.raises(ReadError, match=r"1 line does not fit(.|\n)*, line 4: "):
        read(path)
    with pytest.raises(ReadError, match=", line 4: "):
        collect(scan(path))


@pytest.mark.parametrize("gap", ["\t", "\t ", " \t "])
def test_a_file_of_empty_doc_ids_is_not_clear(tmp_path: Path, gap: str) -> None:
    with pytest.raises(ReadError, match="five columns, and it is not clear"):
        read_run(put(tmp_path, "q_Q0__2_4.0_t\n".replace("_", gap)))
    with pytest.raises(ReadError, match="three columns, and it is not clear"):
        read_qrels(put(tmp_path, "q_0__1\n".replace("_", gap)))


@pytest.mark.parametrize("gap", [" ", "\t", "  "])
@pytest.mark.parametrize("packed", [False, True])
def test_files_put_one_behind_the_other_keep_no_byte_order_mark(
    tmp_path: Path, gap: str, packed: bool
) -> None:
    text = "".join(f"\ufeffq{i} Q0 d 1 2.5 t\n" for i in range(3)).replace(" ", gap).encode()
    path = put(tmp_path, gzip.compress(text) if packed else text)
    rows = [(f"q{i}", "d", 2.5, 1) for i in range(3)]
    assert read_run(path).rows() == rows
    assert scan_run(path).collect().rows() == rows
    assert run_or_plan(path).rows() == [row[:3] for row in rows]


def odd_line(at: int, way: str, tag: str) -> tuple[str, tuple[str, str, float]]:
    """A line of a run as people write them, and what is meant by it."""
    doc = {"two": f"my {at}d", "two, no tag": f"my {at}d", "three": f"my own {at}d"}.get(
        way, f"d{at}"
    )
    rank = {"float": "1.5", "dash": "-"}.get(way, "1")
    score = "high" if way == "word" else f"{at}" if at % 2 else f"{at}.5"
    words = [f"q{at}", "Q0", doc, rank, score, tag]
    words = words[: {"no tag": 5, "two, no tag": 5, "short": 3}.get(way, 6)]
    words += ["more", "words"] if way == "spare" else []
    line = "  ".join(words) if way == "double" else " ".join(words)
    return line.join([" ", " "]) if way == "edges" else line, (f"q{at}", doc, at + (at + 1) % 2 / 2)


FINE = ["clean", "double", "edges", "spare", "no tag"]
UNRANKED = ["clean", "float", "dash"]
WRONG = ["two", "two, no tag", "three", "word", "short"]


@settings(max_examples=60, deadline=None)
@given(
    ways=st.lists(st.sampled_from([*FINE, *UNRANKED, *WRONG]), min_size=1, max_size=6)
    | st.lists(st.sampled_from(FINE), min_size=1, max_size=6)
    | st.lists(st.sampled_from(UNRANKED), min_size=1, max_size=6),
    far=st.booleans(),
    tag=st.sampled_from(["t", "7"]),
    gap=st.sampled_from([" ", "\t"]),
)
def test_a_run_is_read_as_it_is_meant_or_refused(
    tmp_path_factory: pytest.TempPathFactory, ways: list[str], far: bool, tag: str, gap: str
) -> None:
    """By every road alike: whole, without ranks, as a plan; in small files and far down."""
    above = ["clean"] * (400 if far else len(ways) + 1)
    made = [odd_line(at, way, tag) for at, way in enumerate([*above, *ways])]
    text = "".join(line + "\n" for line, _ in made).replace(" ", gap)
    path = put(tmp_path_factory.mktemp("odd"), text)
    meant = sorted(row for _, row in made)

    def rows(read: Callable[[Path], pl.DataFrame]) -> list[tuple[str, str, float]] | None:
        try:
            return sorted(read(path).select("query_id", "doc_id", "score").rows())
        except ReadError:
            return None

    found = rows(read_run)
    assert found in (None, meant)
    assert rows(lambda path: collect(scan_run(path))) == found
    assert rows(run_or_plan) in (found, meant)
    if set(ways) <= {*FINE} or set(ways) <= {*UNRANKED}:
        assert found == meant
