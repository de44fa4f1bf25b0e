"""The audit: every kind of finding, on data that holds it and on data that does not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import evalframe as evf
from evalframe.auditing import FINDINGS, audit
from evalframe.auditing.respelling import respellings
from evalframe.cli import app
from evalframe.errors import ColumnError, OptionError

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}
RUN = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}


def kinds(found: pl.DataFrame) -> dict[str, tuple[str, int]]:
    return {row["kind"]: (row["severity"], row["count"]) for row in found.to_dicts()}


def only(found: pl.DataFrame, kind: str) -> dict[str, Any]:
    (row,) = found.filter(pl.col("kind") == kind).to_dicts()
    return row


def table(*rows: tuple[Any, ...], names: str = "query_id doc_id score") -> pl.DataFrame:
    return pl.DataFrame(rows, names.split(), orient="row", strict=False)


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found = audit(QRELS, RUN, {"q1": "one", "q2": "two"}, {"d1": "a", "d2": "b"})
    assert found.height == 0
    assert found.schema == FINDINGS


@pytest.mark.parametrize(
    ("run", "kind", "count", "example"),
    [
        (table(("q1", "d1", 1.0), (None, "d2", 2.0), names="query_id doc_id score"), "null", 1,
         "query_id=None, doc_id='d2', score=2.0"),
        (table(("q1", "d1", 1.0), ("q2", "d2", float("nan"))), "nan", 1,
         "query_id='q2', doc_id='d2', score=nan"),
        (table(("q1", "d1", "1.0"), ("q2", "d2", "high")), "not_a_number", 1,
         "query_id='q2', doc_id='d2', as_written='high'"),
        (table(("q1", "d1", 1.0), ("q2", "d2", 1.0), ("q2", "d2", 0.5), ("q2", "d2", 0.5)),
         "duplicates", 2, "query_id='q2', doc_id='d2'"),
    ],
)  # fmt: skip
def test_rows_that_a_reader_refuses_are_reported(
    run: pl.DataFrame, kind: str, count: int, example: str
) -> None:
    with pytest.raises(evf.EvalframeError):
        evf.evaluate(QRELS, run, ["mrr"])
    row = only(audit(QRELS, run), kind)
    assert (row["severity"], row["count"], row["examples"]) == ("error", count, [example])


def test_duplicates_say_whether_their_values_differ() -> None:
    qrels = table(*[("q1", "d1", 1)] * 2, ("q2", "d2", 1), names="query_id doc_id relevance")
    assert (
        "0 of them with different values of relevance"
        in only(audit(qrels, RUN), "duplicates")["what"]
    )
    corpus = table(("d1", "x"), ("d1", "y"), ("d2", "z"), names="doc_id text")
    assert only(audit(QRELS, RUN, corpus=corpus), "duplicates")["where"] == "corpus"


def test_grades_that_are_no_numbers_of_use() -> None:
    qrels = table(("q1", "d1", 1.0), ("q2", "d2", float("inf")), names="query_id doc_id relevance")
    assert only(audit(qrels, RUN), "infinite")["examples"] == [
        "query_id='q2', doc_id='d2', relevance=inf"
    ]


def test_ids_that_became_floats() -> None:
    run = table((1.0, "d1", 1.0), (2.0, "d2", 1.0))
    found = audit({"1": {"d1": 1}, "2": {"d2": 1}}, run)
    assert only(found, "id_type")["where"] == "run, query_id"
    assert "queries_missing_from_run" not in kinds(found)


def test_empty_frames_and_dicts_are_findings() -> None:
    assert kinds(audit(QRELS, {}))["empty"] == ("error", 0)
    assert kinds(audit(QRELS, table(("q", "d", 1.0)).clear()))["empty"] == ("error", 0)


def test_lines_that_do_not_fit_are_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "run.trec"
    file.write_text("q1 Q0 d1 1 1.0 t\nq1 Q0 broken\nq2 Q0 d2 1 1.0 t\n")
    row = only(audit(QRELS, file), "bad_lines")
    assert (row["severity"], row["count"]) == ("error", 1)
    assert row["examples"] == [f"{file}, line 2: 'q1 Q0 broken'"]


def test_only_a_missing_column_is_an_error() -> None:
    with pytest.raises(ColumnError, match="'score', which may also be called"):
        audit(QRELS, table(("q1", "d1"), names="query_id doc_id"))
    with pytest.raises(OptionError, match="cutoffs"):
        audit(QRELS, RUN, cutoffs=[])


@pytest.mark.parametrize(
    ("asked", "kind", "example"),
    [
        ("q1 ", "white_space", "'q1 ' → 'q1'"),
        ("Q1", "case", "'Q1' → 'q1'"),
        ("q01", "leading_zeros", "'q01' → 'q1'"),
        ("q1.0", "decimals", "'q1.0' → 'q1'"),
        ("Q01 ", "several", "'Q01 ' → 'q1'"),
        ("trec-q1", "prefix", "'trec-q1' → 'q1'"),
    ],
)
def test_ids_that_differ_by_their_spelling(asked: str, kind: str, example: str) -> None:
    """Query_ids of the run, doc_ids of the qrels, and both against queries and corpus."""
    found = audit({"q1": {"d1": 1}}, {asked: {"d1": 1.0}})
    row = only(found, f"ids_differ_by_{kind}")
    assert (row["severity"], row["count"], row["examples"]) == ("error", 1, [example])
    assert kinds(found)["queries_missing_from_run"] == ("error", 1)
    documents = audit({"q": {asked: 1}}, {"q": {"q1": 1.0}})
    assert only(documents, f"ids_differ_by_{kind}")["where"] == "doc_id, qrels and run"
    assert kinds(documents)["no_common_doc_ids"] == ("error", 1)
    texts = audit({"q": {asked: 1}}, {"q": {asked: 1.0}}, {"q": "text"}, {"q1": "text"})
    respelt = texts.filter(pl.col("kind") == f"ids_differ_by_{kind}")
    assert respelt["where"].to_list() == ["doc_id, qrels and corpus", "doc_id, run and corpus"]


def test_prefixes_are_found_on_either_side_and_never_within_a_number() -> None:
    ids = pl.Series([str(n) for n in range(100, 160)])
    for ours, theirs in (("msmarco_", ""), ("", "D"), ("doc-", "D")):
        (found,) = respellings(ours + ids, theirs + ids)
        assert (found.reason, found.pairs.height) == ("prefix", 60)
        assert found.pairs.filter(pl.col("id") == f"{ours}123")["other"].to_list() == [
            f"{theirs}123"
        ]
    assert respellings(pl.Series(["11", "12", "13"]), pl.Series(["1", "2", "3"])) == []
    assert respellings(pl.Series(["ranking"]), pl.Series(["king"])) == []


def test_a_prefix_is_found_where_other_ids_agree_as_they_are() -> None:
    """Unless it explains only a few of those that are nowhere."""
    docs = {f"d{i}": 1.0 for i in range(100, 120)}
    qrels = {"q": {**dict.fromkeys(docs, 1), **{f"trec-e{i}": 1 for i in range(100, 110)}}}
    run = {"q": docs | {f"e{i}": 0.5 for i in range(100, 110)}}
    row = only(audit(qrels, run), "ids_differ_by_prefix")
    assert (row["count"], row["examples"][0]) == (10, "'trec-e100' → 'e100'")
    assert kinds(audit(qrels, run))["doc_ids_missing_from_run"] == ("info", 10)
    lost = {"q": {**dict.fromkeys(docs, 1), **{f"z-e{i}": 1 for i in range(100, 200)}}}
    few = {"q": docs | {f"e{i}": 0.5 for i in range(100, 104)}}
    assert "ids_differ_by_prefix" not in kinds(audit(lost, few))


def test_columns_are_known_in_any_case() -> None:
    run = table(("q1", "d1", 1.0), ("q2", "d2", 1.0), names="QID DocID Score")
    assert audit(QRELS, run).height == 0


def test_what_stands_on_one_side_only() -> None:
    run = {"q1": {"d1": 1.0, "d9": 0.5}, "q8": {"d2": 1.0}}
    found = audit(QRELS, run, {"q1": "x", "q5": "y"}, {"d1": "a"}, cutoffs=1)
    assert {k: v for k, v in kinds(found).items() if k != "dangling_doc_ids"} == {
        "queries_missing_from_run": ("warning", 1),
        "queries_missing_from_qrels": ("info", 1),
        "queries_without_text": ("warning", 1),
        "queries_unused": ("info", 1),
    }
    dangling = found.filter(pl.col("kind") == "dangling_doc_ids")
    assert dangling.select("where", "count", "examples").rows() == [
        ("qrels", 1, ["d2"]),
        ("run", 2, ["d2", "d9"]),
    ]


def test_whole_numbers_against_strings() -> None:
    found = audit({"1": {"a": 1}, "2": {"b": 1}}, {"one": {"a": 1.0}, "two": {"b": 1.0}})
    row = only(found, "int_against_string_ids")
    assert row["severity"] == "error"
    assert row["examples"] == ["qrels: '1'", "run: 'one'"]
    typed = audit({"1": {"a": 1}}, table((1, "a", 1.0)))
    assert kinds(typed) == {"int_against_string_ids": ("info", 1)}


def test_each_system_of_a_run_is_looked_at() -> None:
    run = {"good": RUN, "bad": {"q1": {"d1": 1.0}}}
    row = only(audit(QRELS, run), "queries_missing_from_run")
    assert row["examples"] == ["system='bad', query_id='q2'"]


def test_grades_and_queries_without_positives() -> None:
    qrels = {"q1": {"d1": 7, "d3": -1}, "q2": {"d2": 0}}
    found = audit(qrels, RUN)
    assert kinds(found) == {
        "queries_without_positives": ("warning", 1),
        "grades_above_4": ("warning", 1),
        "grades_below_0": ("info", 1),
        "doc_ids_missing_from_run": ("info", 1),
    }
    assert only(found, "doc_ids_missing_from_run")["examples"] == ["d3"]
    assert only(found, "grades_above_4")["examples"] == [
        "query_id='q1', doc_id='d1', relevance=7.0"
    ]
    assert only(found, "queries_without_positives")["examples"] == ["q2"]


def test_empty_texts() -> None:
    corpus = table(("d1", "", " \n"), ("d2", "Title", None), names="doc_id title text")
    found = audit(QRELS, RUN, {"q1": " ", "q2": "x"}, corpus)
    empty = found.filter(pl.col("kind") == "empty_texts")
    assert empty.select("where", "count", "examples").rows() == [
        ("queries", 1, ["q1"]),
        ("corpus", 1, ["d1"]),
    ]


def test_self_hits_may_be_chance_where_ids_are_numbers() -> None:
    found = audit({"a": {"b": 1, "a": 0}}, {"a": {"a": 2.0, "b": 1.0}})
    assert kinds(found) == {"self_hits": ("warning", 1)}
    found = audit({"1": {"2": 1, "1": 0}}, {"1": {"1": 2.0, "2": 1.0}})
    assert kinds(found) == {"self_hits": ("info", 1)}


def test_ties_across_a_cutoff_are_counted_by_list() -> None:
    qrels = {q: dict.fromkeys("abc", 1) for q in ("q1", "q2")}
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 2.0}, "q2": {"a": 3.0, "b": 3.0, "c": 1.0}}
    found = audit(qrels, run, cutoffs=[1, 2, 3])
    assert found.select("kind", "severity", "where", "count", "examples").rows() == [
        ("ties_at_cutoff", "warning", "run, first 1", 1, ["q2"]),
        ("ties_at_cutoff", "warning", "run, first 2", 1, ["q1"]),
    ]
    near = {"q1": {"a": 1.0, "b": 1.0 - 1e-9}}
    one = {"q1": {"a": 1, "b": 1}}
    assert audit(one, near, cutoffs=1).height == 0
    assert "ties_at_cutoff" in kinds(audit(one, near, cutoffs=1, score_dtype=pl.Float32))


def test_scores_against_ranks_and_constant_scores() -> None:
    names = "query_id doc_id rank score"
    qrels = {"q": {"a": 1, "b": 0}}
    distances = table(("q", "a", 1, 0.1), ("q", "b", 2, 0.4), names=names)
    assert kinds(audit(qrels, distances)) == {"rank_against_score": ("warning", 1)}
    tied = table(("q", "a", 1, 0.4), ("q", "b", 1, 0.5), names=names)
    assert kinds(audit(qrels, tied)) == {"repeated_ranks": ("warning", 1)}
    constant = table(("q", "a", 1, 1.0), ("q", "b", 2, 1.0), names=names)
    assert kinds(audit(qrels, constant, cutoffs=5)) == {"constant_scores": ("warning", 1)}


def test_the_share_of_judged_documents() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"a": 3.0, "y": 2.0, "z": 1.0, "w": 0.5}}
    found = audit(qrels, run, cutoffs=[1, 2, 4])
    assert found.select("kind", "severity", "where", "count").rows() == [
        ("unjudged", "warning", "run, first 4", 2),
        ("unjudged", "info", "run, first 2", 2),
    ]
    assert "judged@4 is 0.375 on average" in found["what"][0]
    assert found["examples"][0][0] == "query_id='q2', judged@4=0.25"


def test_everything_a_reader_takes_is_taken(handbook: Path) -> None:
    paths = [handbook / "qrels" / "test.trec", handbook / "runs" / "bm25.parquet"]
    texts = [handbook / "queries.parquet", handbook / "corpus.jsonl"]
    found = audit(*paths, *texts)
    frames = (evf.read_qrels(paths[0]), evf.read_run(paths[1]))
    assert audit(frames[0].to_pandas(), frames[1].lazy(), *texts).equals(found)
    assert audit(evf.prepare(frames[0]), frames[1].to_arrow(), *texts).equals(found)
    shuffled = frames[1].sample(fraction=1.0, shuffle=True, seed=1)
    assert audit(frames[0].reverse(), shuffled, *texts).equals(found)
    assert kinds(found)["queries_without_positives"] == ("warning", 2)


def test_a_pandas_column_of_mixed_types_is_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"query_id": [1, "q2"], "doc_id": ["d1", "d2"], "score": [1.0, 1.0]})
    assert kinds(audit(QRELS, mixed))["queries_missing_from_run"] == ("warning", 1)


def test_a_million_rows_take_a_moment() -> None:
    n = pl.int_range(1_000_000, eager=True)
    run = pl.DataFrame(
        {"query_id": n // 1000, "doc_id": n * 7919 % 5_000_011, "score": -(n % 1000).cast(float)}
    )
    qrels = run.gather_every(50).select("query_id", "doc_id", relevance=1)
    began = time.perf_counter()
    assert kinds(audit(qrels, run, cutoffs=10))["unjudged"][1] == 1000
    assert time.perf_counter() - began < 8


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("q1 Q0 d1 1 1.0 t", 0),
        ("q1 Q0 d1 2 1.0 t\nq1 Q0 d2 1 0.5 t", 1),
        ("q1 Q0 d1 1 1.0 t\nq1 Q0 d1 2 0.5 t", 3),
        ("nonsense", 2),
    ],
)
def test_the_exit_code_is_that_of_the_worst_finding(tmp_path: Path, lines: str, code: int) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n" if code == 0 else "q1 0 d1 1\nq1 0 d2 0\n")
    (tmp_path / "run").write_text(lines + "\n")
    words = ["audit", str(tmp_path / "qrels"), str(tmp_path / "run"), "-k", "1"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, result.output
    if code == 0:
        assert result.stdout == "nothing was found\n"
    if code == 3:
        assert result.stdout.startswith("error: 1 (query_id, doc_id) of the run stand more than")
        listed = json.loads(CliRunner().invoke(app, [*words, "-f", "json"]).stdout)
        assert listed[0]["examples"] == ["query_id='q1', doc_id='d1'"]
        csv = CliRunner().invoke(app, [*words, "-f", "csv"]).stdout
        assert csv.splitlines()[0] == ",".join(FINDINGS)


def test_infinite_scores_are_told_and_ranked() -> None:
    run = table(("q1", "d1", float("inf")), ("q1", "d3", 1.0), ("q2", "d2", -float("inf")))
    finding = only(audit(QRELS, run), "infinite")
    assert (finding["severity"], finding["where"], finding["count"]) == ("warning", "run, score", 2)
    assert finding["examples"] == [
        "query_id='q1', doc_id='d1', score=inf",
        "query_id='q2', doc_id='d2', score=-inf",
    ]
    assert "queries_missing_from_run" not in kinds(audit(QRELS, run))
    assert (
        only(
            audit(
                table(
                    ("q1", "d1", float("inf")),
                ),
                RUN,
            ),
            "infinite",
        )["severity"]
        == "error"
    )
