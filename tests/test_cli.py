"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from evalframe.cli import app

RUNS = ["bm25", "minilm", "tfidf"]


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def qrels(handbook: Path) -> Path:
    return handbook / "qrels" / "test.trec"


@pytest.fixture
def run(handbook: Path) -> Path:
    return handbook / "runs" / "bm25.trec"


def test_one_run_is_printed_as_a_table_with_its_counts(qrels: Path, run: Path) -> None:
    result = call("evaluate", qrels, run, "-m", "ndcg@10", "--metric", "map,P_5")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[2] == "ndcg@10  0.6504"
    assert lines[3].startswith("map")
    assert lines[4].startswith("P_5")
    assert "queries in qrels 64" in lines[5]


def test_several_runs_are_named_by_their_files(qrels: Path, handbook: Path) -> None:
    runs = [handbook / "runs" / f"{name}.parquet" for name in RUNS]
    result = call("evaluate", qrels, *runs, "-m", "ndcg@10", "-f", "csv")
    table = pl.read_csv(result.stdout.encode())
    assert table["system"].to_list() == RUNS
    assert table["value"].round(4).to_list() == [0.6504, 0.7365, 0.6498]


def test_formats(qrels: Path, run: Path) -> None:
    found = json.loads(call("evaluate", qrels, run, "-m", "mrr", "-f", "json").stdout)
    assert found["summary"][0]["metric"] == "mrr"
    assert found["counts"][0]["scored"] == 64
    assert found["contract"]["ties"] == "trec"
    markdown = call("evaluate", qrels, run, "-m", "mrr", "-f", "markdown").stdout
    assert markdown.splitlines()[:2] == ["| metric | value |", "| --- | --: |"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_values_of_each_query_are_written_and_never_over_a_file(
    qrels: Path, run: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"values.{suffix}"
    words = ("evaluate", qrels, run, "-m", "ndcg@10", "--per-query", out)
    assert call(*words).exit_code == 0
    written = out.read_bytes()
    again = call(*words)
    assert again.exit_code == 2
    assert out.read_bytes() == written
    assert call(*words, "--overwrite").exit_code == 0
    if suffix == "parquet":
        assert pl.read_parquet(out).columns == ["query_id", "ndcg@10"]


def test_options_reach_the_evaluation(qrels: Path, run: Path) -> None:
    words = ("--rel", 2, "--queries", "positive", "--ties", "doc_asc", "--float32")
    more = ("--judged-only", "--depth", 20)
    contract = json.loads(call("evaluate", qrels, run, *words, *more, "-f", "json").stdout)
    assert contract["contract"] == {
        "rel": 2.0,
        "queries": "positive",
        "ties": "doc_asc",
        "score_dtype": "Float32",
        "judged_only": True,
        "depth": 20,
        "duplicates": "error",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "{qrels}", "{run}", "-m", "ndgc@10"], "did you mean 'ndcg@10'?"),
        (["evaluate", "{qrels}", "nowhere.trec"], "nowhere.trec"),
        (["evaluate", "{run}", "{qrels}"], "these are qrels"),
        (["evaluate", "{qrels}", "{run}", "{run}"], "named twice"),
        (["evaluate", "{qrels}", "{run}", "--rel", "nan"], "rel must be a number"),
        (["evaluate", "{qrels}", "{run}", "--per-query", "x.docx"], "x.docx"),
        (["evaluate", "{qrels}", "{run}", "--ties", "random"], "--ties"),
        (["metrics", "nope"], "unknown metric 'nope'"),
    ],
)
def test_a_mistake_is_one_message_on_standard_error_and_exit_code_2(
    qrels: Path, run: Path, words: list[str], message: str
) -> None:
    result = call(*(word.format(qrels=qrels, run=run) for word in words))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1 or "Usage" in result.stderr


def test_metrics_are_listed_and_explained() -> None:
    listed = call("metrics", "-f", "json")
    assert {"ndcg@10", "bpref", "iprec@0.5"} <= {row["metric"] for row in json.loads(listed.stdout)}
    explained = call("metrics", "precision").stdout
    assert "hits(k) / k" in explained
    assert "Other names: P, prec" in explained


def test_the_version_is_told() -> None:
    assert call("--version").stdout.startswith("evalframe 0.")


def test_a_comma_inside_brackets_separates_no_metrics(qrels: Path, run: Path) -> None:
    words = ("-m", "recall(rel=2)@10,map", "-m", "ndcg(gain={1:3,2:9})@5", "-f", "json")
    found = json.loads(call("evaluate", qrels, run, *words).stdout)
    asked = [row["metric"] for row in found["summary"]]
    assert asked == ["recall(rel=2)@10", "map", "ndcg(gain={1:3,2:9})@5"]


def test_ranks_are_kept_however_many_runs_there_are(tmp_path: Path) -> None:
    lines = ["q Q0 a 3 1.0 t", "q Q0 b 1 1.0 t", "q Q0 c 2 1.0 t"]
    for name in ("one.trec", "two.trec"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "q.qrels").write_text("q 0 a 1\n")
    words = ("-m", "mrr", "--ties", "given", "-f", "csv")
    one = call("evaluate", tmp_path / "q.qrels", tmp_path / "one.trec", *words)
    both = call(
        "evaluate", tmp_path / "q.qrels", tmp_path / "one.trec", tmp_path / "two.trec", *words
    )
    assert pl.read_csv(one.stdout.encode())["value"].to_list() == [pytest.approx(1 / 3)]
    assert pl.read_csv(both.stdout.encode())["value"].to_list() == [pytest.approx(1 / 3)] * 2


def test_runs_are_compared_and_a_drop_stops_the_gate(qrels: Path, handbook: Path) -> None:
    weak, strong = (handbook / "runs" / f"{name}.parquet" for name in ("tfidf", "minilm"))
    found = json.loads(call("compare", qrels, weak, strong, "-m", "ndcg@10", "-f", "json").stdout)
    assert (found[0]["a"], found[0]["b"], found[0]["n"]) == ("minilm", "tfidf", 64)
    assert round(found[0]["mean_a"], 4) == 0.7365
    printed = call("compare", qrels, weak, strong, "-m", "ndcg@10").stdout
    assert "holm correction" in printed
    words = ("-m", "ndcg@10", "--max-drop", 0.05)
    assert call("compare", qrels, weak, strong, *words).exit_code == 0
    worse = call("compare", qrels, strong, weak, *words)
    assert worse.exit_code == 1
    assert "ndcg@10" in worse.stderr
    assert call("compare", qrels, weak).exit_code == 2
