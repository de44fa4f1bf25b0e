"""One law for samples in any shape: the same value means the same, and a wrong one is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest

from evalframe import io
from evalframe.errors import ColumnError, EmptyError, MetricError, RowError
from evalframe.inputs import samples_frame
from evalframe.io.autorag import write_autorag
from evalframe.rag.metrics import RetrievedChunk
from evalframe.ragas import to_ragas_dicts
from evalframe.samples.scoring import evaluate_rag, per_sample

WRONG = [
    [{"retrieved_contexts": ["b", "d"]}, {"retrieved_contexts": "d"}],
    [{"references": ["b"]}, {"references": "b"}],
    [{"response": "x"}, {"response": 5}],
    [{"response": "x"}, {"response": ["5", "6"]}],
    [{"retrieved_contexts": ["b"]}, {"retrieved_contexts": ["d", 7]}],
    [{"reference_context_ids": ["b"]}, {"reference_context_ids": [0.5]}],
    [{"retrieved_contexts": ["b"]}, {"retrieved_contexts": [{"id": "d"}]}],
    [{"query_id": "a", "response": "x"}, {"query_id": "b", "response": True}],
]
DOORS = [evaluate_rag, samples_frame, to_ragas_dicts]


@pytest.mark.parametrize("rows", WRONG)
@pytest.mark.parametrize("shape", ["rows", "lines", "json", "bare_nan", "columns"])
def test_a_wrong_value_is_named_in_every_shape(
    rows: list[dict[str, Any]], shape: str, tmp_path: Path
) -> None:
    """A list of dicts, a dict of columns, and JSON in all its layouts: row 1, and its column."""
    path = tmp_path / "samples.jsonl"
    given: Any = path
    if shape == "rows":
        given = rows
    elif shape == "columns":
        given = {name: [row[name] for row in rows] for name in rows[0]}
    elif shape == "json":
        path.write_text(json.dumps(rows))
    else:
        odd = {"extra": float("nan")} if shape == "bare_nan" else {}
        path.write_text("\n".join(json.dumps(row | odd) for row in rows))
    name = [*rows[0]][-1]
    for door in (*DOORS, *([io.read_samples] if given is path else [])):
        with pytest.raises(RowError, match=f"row 1, '{name}'"):
            door(given)


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    """Wrong values and repeated ids together; `best` keeps the first of an id."""
    path = tmp_path / "samples.jsonl"
    rows = [{"id": "a", "answer": "x"}, {"id": "a", "answer": 3}, {"id": None, "contexts": "y"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(RowError) as caught:
        evaluate_rag(path)
    for part in (
        "samples.jsonl",
        "row 1, 'answer': 3 is int",
        "row 2, 'contexts': 'y' is a string where a list is wanted",
        "row 1: query_id 'a' stands in row 0 too",
        "row 2: no query_id",
    ):
        assert part in str(caught.value)
    path.write_text("\n".join(json.dumps({"id": "a", "answer": one}) for one in "xy"))
    assert io.read_samples(path, duplicates="best").rows() == [("a", "x")]


def test_a_string_is_no_list_in_tables_either(tmp_path: Path) -> None:
    """A CSV's list written as text, a Parquet column of strings, a plan: refused, all columns."""
    table = pl.DataFrame({"id": ["a"], "contexts": ["['paris is', 'x']"], "references": ["y"]})
    table.write_csv(tmp_path / "s.csv")
    table.write_parquet(tmp_path / "s.parquet")
    for given in (tmp_path / "s.csv", tmp_path / "s.parquet", table, table.lazy()):
        with pytest.raises(ValueError, match=r"'references' is String(.|\n)*'contexts' is String"):
            evaluate_rag(given)
    with pytest.raises(ColumnError, match="'contexts' is String"):
        io.scan_samples(tmp_path / "s.parquet")


@dataclass
class Row:
    response: str
    retrieved_contexts: list[Any] = field(default_factory=list)


CHUNKS: list[list[Any]] = [
    [{"id": "z", "text": "Paris"}, {"page_content": "Rome", "metadata": {}}],
    ["Paris", {"content": "Rome"}],
    [RetrievedChunk("c1", "Paris"), SimpleNamespace(page_content="Rome")],
    [{"node": {"text": "Paris"}}, ({"text": "Rome"}, 0.5)],
    ["Paris", {"text": None, "content": "Rome"}],
]


@pytest.mark.parametrize("as_row", [dict, lambda row: Row(**row)])
def test_contexts_may_be_chunks_of_any_kind_side_by_side(as_row: Any) -> None:
    """Each chunk gives its text, whatever stands beside it and in the other rows."""
    rows = [as_row({"response": "x", "retrieved_contexts": chunks}) for chunks in CHUNKS]
    scored = per_sample(rows, "non_empty_rate")
    assert scored["retrieved_contexts"].to_list() == [["Paris", "Rome"]] * len(CHUNKS)
    assert samples_frame(rows)["retrieved_contexts"].to_list() == [["Paris", "Rome"]] * len(CHUNKS)


def test_objects_in_tables_give_the_texts_they_have() -> None:
    """Of several text fields in a frame the first that is there counts, row by row."""
    frame = pl.DataFrame(
        {"contexts": [[{"text": "a", "content": None}, {"text": "b", "content": "c"}], None]}
    )
    for given in (frame, frame.to_pandas(), frame.to_arrow()):
        assert samples_frame(given)["retrieved_contexts"].to_list() == [["a", "c"], None]
    named = frame.rename({"contexts": "mine"})
    for given in (named, named.lazy()):
        found = samples_frame(given, columns={"retrieved_contexts": "mine"}).lazy().collect()
        assert found["retrieved_contexts"].to_list() == [["a", "c"], None]
    with pytest.raises(RowError, match="'contexts' is List"):
        evaluate_rag(pl.DataFrame({"contexts": [[{"id": "a"}]]}))
    mixed = pd.DataFrame({"contexts": [["a"], [{"text": "b"}]]})
    assert samples_frame(mixed)["retrieved_contexts"].to_list() == [["a"], ["b"]]


def test_nothing_at_all_is_empty_and_all_missing_is_null() -> None:
    """As pandas has them: no rows of any type, columns of nothing but NaN."""
    for empty in (
        pd.DataFrame({"response": pd.Series([], dtype=float), "contexts": []}),
        pd.DataFrame({"response": pd.Series([], dtype=object)}),
        pl.DataFrame({"response": []}),
        [],
        {"response": []},
    ):
        with pytest.raises(EmptyError, match="no samples"):
            evaluate_rag(empty)
    nothing = [float("nan")] * 2
    frame = pd.DataFrame({"response": nothing, "reference": ["x", "y"], "contexts": nothing})
    for given in (frame, frame.to_dict("records"), frame.to_dict("list")):
        report = evaluate_rag(given, metrics=["token_f1", "context_recall"])
        assert report.reasons["token_f1"] == {"missing_response": 2}
        assert report.reasons["context_recall"] == {"missing_contexts": 2}
    assert samples_frame([{"response": None}]).schema["response"] == pl.String


def test_further_columns_have_one_type_each() -> None:
    """Whole and broken numbers go together, strings and numbers do not."""
    rows = [{"response": "x", "n": 1}, {"response": "y", "n": 2.5}, {"response": "z", "n": None}]
    assert samples_frame(rows)["n"].to_list() == [1.0, 2.5, None]
    with pytest.raises(ColumnError, match="'n' of the samples holds values of several types"):
        samples_frame([*rows, {"response": "x", "n": "1"}])


def test_pandas_objects_beside_missing_strings_are_taken_row_by_row() -> None:
    """Whatever pandas has for a missing value is null."""
    frame = pd.DataFrame(
        {
            "response": pd.Series(["x", None], dtype="string"),
            "contexts": [[RetrievedChunk("c", "x")], None],
        }
    )
    found = samples_frame(frame)
    assert found.rows() == [("x", ["x"]), (None, None)]


def test_a_plan_without_ids_is_named_by_its_rows() -> None:
    """Missing and repeated ids of a lazy frame: one RowError with the rows."""
    plan = pl.LazyFrame({"query_id": ["a", None, "a"], "response": ["x", "y", "z"]})
    with pytest.raises(RowError, match=r"row 1: no query_id(.|\n)*row 2: query_id 'a' stands in"):
        evaluate_rag(plan)


def test_a_sample_may_have_no_system(tmp_path: Path) -> None:
    """Nothing may have been delivered: in rows, frames, plans and files alike."""
    rows = [
        {"system": "s", "query_id": "a", "response": "x"},
        {"system": None, "query_id": "b", "response": None},
    ]
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "s.parquet")
    for given in (rows, frame, frame.lazy(), tmp_path / "s.parquet"):
        report = evaluate_rag([*given] if given is rows else given, metrics="non_empty_rate")
        assert report.per_sample["system"].to_list() == ["s", None]


def test_no_metrics_is_told() -> None:
    """None is no list of names."""
    with pytest.raises(MetricError, match="metrics is None"):
        evaluate_rag([{"response": "x"}], metrics=None)  # type: ignore[arg-type]


def test_groups_show_their_coverage_under_any_name() -> None:
    """`by` says of each group what the summary says of all, and refuses its own names."""
    rows = [
        {"value": "a", "status_of": 1, "response": "x", "reference": "x"},
        {"value": "a", "status_of": 1, "response": None, "reference": "x"},
        {"value": "b", "status_of": 1, "response": "x"},
        {"value": None, "status_of": 1, "response": "y", "reference": "x"},
    ]
    report = evaluate_rag(rows, metrics=["token_f1", "exact_match"])
    groups = report.by("value", "status_of")
    assert groups.columns == ["value", "status_of", *report.summary.columns]
    assert groups.filter(metric="token_f1").drop("status_of", "metric").rows() == [
        (None, 0.0, 0.0, 0.0, 1, 1, 1, ""),
        ("a", 0.5, 0.5, 1.0, 2, 1, 2, "missing_response 1"),
        ("b", None, 0.0, None, 0, 0, 1, "missing_reference 1"),
    ]
    everything = evaluate_rag([row | {"one": 1} for row in rows])
    assert everything.by("one").drop("one").equals(everything.summary)
    for name in ("metric", "mean", "reasons"):
        taken = evaluate_rag([{name: "a", "response": "x"}], metrics="non_empty_rate")
        with pytest.raises(ColumnError, match="rename"):
            taken.by(name)


def test_a_sample_alone_has_the_bits_it_has_among_others() -> None:
    """One row or many: three of five is 0.6."""
    row = {"response": "x x 0 1 2", "references": ["", "0 1 2"]}
    names = ["token_precision", "token_f1"]
    alone, among = per_sample([row], names), per_sample([row] * 3, names)
    assert alone.select(names).row(0) == among.select(names).row(0) == (0.6, 0.7499999999999999)


def test_autorag_takes_samples_in_any_shape(tmp_path: Path) -> None:
    """Rows, plans and pandas frames give the file that a frame gives."""
    rows = [{"qid": "q1", "question": "?", "ground_truths": ["yes"], "contexts": [{"text": "c"}]}]
    for number, given in enumerate((rows, pl.LazyFrame(rows), pd.DataFrame(rows))):
        path = tmp_path / f"{number}.parquet"
        write_autorag(given, path)
        written = pl.read_parquet(path).select("qid", "query", "generation_gt").rows()
        assert written == [("q1", "?", ["yes"])]
