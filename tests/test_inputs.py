"""Whatever a user hands over becomes the same checked frame, or an error that says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest
import ranx

from evalframe.errors import ColumnError, EmptyError, EvalframeError, FrameError
from evalframe.inputs import corpus_frame, qrels_frame, queries_frame, run_frame, samples_frame
from evalframe.io.libraries import (
    to_arrow,
    to_duckdb,
    to_ir_measures,
    to_pandas,
    to_pyterrier,
    to_pytrec_eval,
    to_ranx,
)

QRELS = pl.DataFrame(
    {"query_id": ["1", "1", "q2"], "doc_id": ["a", "07", "a"], "relevance": [2, 0, 1]}
)
RUN = pl.DataFrame(
    {"query_id": ["1", "1", "q2"], "doc_id": ["07", "a", "b"], "score": [2.5, 0.1, -1e-300]}
)


@pytest.mark.parametrize("frame", [QRELS, RUN], ids=["qrels", "run"])
@pytest.mark.parametrize(
    "convert",
    [to_pandas, to_arrow, to_duckdb, to_ranx, to_ir_measures, to_pyterrier, to_pytrec_eval],
)
def test_other_libraries_round_trip(frame: pl.DataFrame, convert: Callable[[Any], Any]) -> None:
    """To pandas, Arrow, DuckDB, ranx, ir_measures, PyTerrier, pytrec_eval, and back."""
    door = qrels_frame if "relevance" in frame.columns else run_frame
    columns = frame.columns
    back = door(convert(frame))
    assert back.select(columns).sort("query_id", "doc_id").equals(frame.sort("query_id", "doc_id"))


def test_several_systems_go_to_dicts_and_frames_but_not_to_single_run_libraries() -> None:
    """A run of two systems keeps them in pandas and Arrow, and ranx is told apart."""
    both = pl.concat([RUN.with_columns(system=pl.lit(name)) for name in ("x", "y")])
    both = both.select("system", "query_id", "doc_id", "score")
    assert run_frame(to_pandas(both)).equals(both)
    assert run_frame(to_arrow(both)).equals(both)
    with pytest.raises(ColumnError, match="one system at a time"):
        to_ranx(both)


def test_grades_with_fractions_do_not_go_where_grades_are_whole() -> None:
    """pytrec_eval and ranx would truncate them."""
    with pytest.raises(ColumnError, match="whole grades only"):
        to_pytrec_eval(QRELS.with_columns(pl.col("relevance") / 4))


@pytest.mark.parametrize(
    "data",
    [
        QRELS.to_dicts(),
        QRELS.to_dict(as_series=False),
        {name: np.array(QRELS[name].to_list()) for name in QRELS.columns},
        QRELS.to_pandas().set_index(["query_id", "doc_id"]),
        duckdb.from_arrow(QRELS.to_arrow(compat_level=pl.CompatLevel.oldest())),
        {"1": {"a": 2, "07": 0}, "q2": {"a": 1}},
        {1: {"a": 2, "07": np.int64(0)}, "q2": {"a": True}},
        [ir_measures.Qrel(*row, "0") for row in QRELS.iter_rows()],
        ranx.Qrels({"1": {"a": 2, "07": 0}, "q2": {"a": 1}}),
        QRELS.lazy(),
    ],
    ids=lambda data: type(data).__module__ + "." + type(data).__name__,
)
def test_one_set_of_qrels_in_many_shapes(data: Any) -> None:
    """Dicts, lists, arrays, frames and objects of other libraries give the same rows."""
    frame = qrels_frame(data)
    assert isinstance(frame, pl.LazyFrame) == isinstance(data, pl.LazyFrame)
    assert (
        frame.lazy().collect().sort("query_id", "doc_id").equals(QRELS.sort("query_id", "doc_id"))
    )


def test_runs_as_dicts() -> None:
    """Scores, pairs, bare lists (best first), and several systems by name."""
    assert run_frame({"q": {"a": 1, "b": 0.5}}).rows() == [("q", "a", 1.0), ("q", "b", 0.5)]
    assert run_frame({"q": [("a", 1), ("b", 0.5)]}).rows() == [("q", "a", 1.0), ("q", "b", 0.5)]
    assert run_frame({"q": ["b", "a"]}).rows() == [("q", "b", -1.0, 1), ("q", "a", -2.0, 2)]
    systems = run_frame({"x": {"q": {"a": 1.0}}, "y": {"q": {"a": 2.0}}})
    assert systems.rows() == [("x", "q", "a", 1.0), ("y", "q", "a", 2.0)]


def test_texts_as_dicts() -> None:
    """`{id: text}`, and documents with a title and more."""
    assert queries_frame({1: "a?"}).rows() == [("1", "a?")]
    assert corpus_frame({"d": "t"}).rows() == [("d", "t")]
    documents = {"d": {"title": "T", "text": "t", "year": 1999}, "e": {"text": "u"}}
    assert corpus_frame(documents).rows() == [("d", "T", "t", 1999), ("e", None, "u", None)]


@dataclass
class Sample:
    user_input: str
    response: str
    retrieved_contexts: list[str] = field(default_factory=list)


def test_samples_in_many_shapes() -> None:
    """Lists of dicts or dataclass objects, dicts of columns, frames; further columns are kept."""
    rows = [("a?", "b", ["c"])]
    columns = ["user_input", "response", "retrieved_contexts"]
    assert samples_frame([Sample("a?", "b", ["c"])]).select(columns).rows() == rows
    row = {"question": "a?", "answer": "b", "contexts": ["c"], "extra": 1}
    assert samples_frame([row]).select(columns).rows() == rows
    assert samples_frame({k: [v] for k, v in row.items()})["extra"].to_list() == [1]
    assert samples_frame(pd.DataFrame([row])).select(columns).rows() == rows


def test_paths(tmp_path: Path) -> None:
    """A str or a Path is read; `lazy=True` gives a plan; `columns` goes along."""
    path = tmp_path / "qrels.csv"
    path.write_text("a,b,c\n1,a,2\n")
    names = {"query_id": "a", "doc_id": "b", "relevance": "c"}
    assert qrels_frame(path, columns=names).rows() == [("1", "a", 2)]
    plan = qrels_frame(str(path), columns=names, lazy=True)
    assert isinstance(plan, pl.LazyFrame)
    assert plan.collect().rows() == [("1", "a", 2)]


@pytest.mark.parametrize(
    ("door", "data", "error", "message"),
    [
        (qrels_frame, None, FrameError, "cannot be made of NoneType"),
        (qrels_frame, 7, FrameError, "cannot be made of int"),
        (run_frame, [1, 2], FrameError, "a list that holds 1"),
        (run_frame, b"run.trec", FrameError, "cannot be made of bytes"),
        (qrels_frame, [], EmptyError, "empty list"),
        (qrels_frame, {}, EmptyError, "empty dict"),
        (qrels_frame, {"q": ["d1"]}, ColumnError, "{doc_id: number}"),
        (qrels_frame, {"q": {"d": "high"}}, ColumnError, "numbers are wanted"),
        (qrels_frame, {"q": {None: 1}}, ColumnError, "None in the qrels is no id"),
        (qrels_frame, {1.5: {"d": 1}}, ColumnError, "1.5 in the qrels is no id"),
        (qrels_frame, {"q": 3}, ColumnError, "qrels of query 'q': 3 stands"),
        (run_frame, {"q": [("a", 1, 2)]}, ColumnError, "run of query 'q': "),
        (run_frame, {"q": "abc"}, ColumnError, "run of query 'q': 'abc' stands"),
        (run_frame, {"q": {}}, EvalframeError, "no rows"),
        (queries_frame, {"q": 1}, ColumnError, "where a text is wanted"),
        (samples_frame, {"q": {"d": 1}}, FrameError, "one sample by itself goes into a list"),
        (corpus_frame, [{"a": 1}, {"a": [1]}], FrameError, "do not go together|lacks"),
    ],
)
def test_anything_else_is_refused_with_a_reason(
    door: Callable[[Any], Any], data: Any, error: type[Exception], message: str
) -> None:
    """The error says what came, and what is taken."""
    with pytest.raises(error, match=message):
        door(data)


def test_the_input_is_never_changed() -> None:
    """A dict, a list and a frame are as they were."""
    nested = {"q": {"d": 1}}
    qrels_frame(nested)
    assert nested == {"q": {"d": 1}}
    frame = pd.DataFrame({"qid": [1], "docno": ["a"], "label": [1]})
    before = frame.copy()
    qrels_frame(frame)
    assert frame.equals(before)


def test_dicts_keep_the_order_of_the_rows() -> None:
    """Queries come in the order in which they first stand in the frame."""
    names = [f"q{i * 7919 % 1000}" for i in range(1000)]
    frame = pl.DataFrame({"query_id": names, "doc_id": names, "relevance": [1] * 1000})
    assert list(to_pytrec_eval(frame)) == names


@pytest.mark.parametrize(
    "run", [{"1": {"a": 1.0}, "2": ["x"]}, {"2": ["x"], "1": [("a", 1.0)]}, {"2": ["x"], "1": "y"}]
)
def test_scores_and_ranked_lists_do_not_mix(run: Any) -> None:
    """Both queries are named; queries without results go with either."""
    with pytest.raises(ColumnError, match=r"query '1'.*query '2'"):
        run_frame(run)
    assert run_frame({"1": [], "2": ["x"], "3": {}}).height == 1
    assert run_frame({"1": [], "2": {"x": 1.0}}).height == 1


@pytest.mark.parametrize(
    ("door", "data"),
    [
        (corpus_frame, {"d": "a\ud83d"}),
        (corpus_frame, {"d": {"text": "a\ud83d"}}),
        (queries_frame, {"q\ud83d": "a"}),
        (run_frame, {"q": ["d\ud83d"]}),
        (qrels_frame, {"q": {"d\ud83d": 1}}),
    ],
)
def test_half_a_character_is_named(door: Callable[[Any], Any], data: Any) -> None:
    """No frame can hold it."""
    with pytest.raises(ColumnError, match="half a character"):
        door(data)
