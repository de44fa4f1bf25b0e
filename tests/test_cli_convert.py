"""Runs fused and files converted on the command line; what a file holds is guessed or asked."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import evalframe as evf
from evalframe.cli import app
from evalframe.io import read_corpus

RUNS = ["bm25", "minilm", "tfidf"]


def call(*words: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.fixture
def runs(handbook: Path) -> list[Path]:
    return [handbook / "runs" / f"{name}.trec" for name in RUNS]


def test_runs_are_fused_to_trec_on_standard_output(runs: list[Path], tmp_path: Path) -> None:
    result = call("fuse", *runs, "-p", "k=10", "--depth", 5)
    assert result.exit_code == 0
    assert result.stderr == ""
    out = tmp_path / "fused.trec"
    out.write_bytes(result.stdout_bytes)
    expected = evf.fuse(dict(zip(RUNS, runs, strict=True)), "rrf", k=10, depth=5)
    read = evf.read_run(out).select("query_id", "doc_id", "score")
    assert read.sort(pl.all()).rows() == expected.sort(pl.all()).rows()
    assert result.stdout.splitlines()[0].endswith(" rrf")


def test_a_fusion_takes_weights_norms_and_training(runs: list[Path], tmp_path: Path) -> None:
    weights = ("--weight", "bm25=0.2", "--weight", "minilm=0.7", "--weight", "tfidf=0.1")
    out = tmp_path / "fused.parquet"
    words = ("fuse", *runs, "--method", "wsum", *weights, "--norm", "zmuv", "-o", out)
    assert call(*words).exit_code == 0
    named = dict(zip(RUNS, runs, strict=True))
    by_name = {"bm25": 0.2, "minilm": 0.7, "tfidf": 0.1}
    assert evf.read_run(out).equals(evf.fuse(named, "wsum", norm="zmuv", weights=by_name))
    assert call(*words).exit_code == 2
    assert call(*words, "--overwrite").exit_code == 0
    untrained = call("fuse", *runs, "--method", "mapfuse")
    assert untrained.exit_code == 2
    assert "train" in untrained.stderr
    qrels = runs[0].parents[1] / "qrels" / "test.trec"
    learnt = call("fuse", *runs, "--method", "mapfuse", "--train-qrels", qrels)
    assert learnt.exit_code == 0
    assert len(learnt.stdout.splitlines()) == evf.fuse(named, "mapfuse", train_qrels=qrels).height


def test_one_run_of_several_systems_is_fused(runs: list[Path], tmp_path: Path) -> None:
    frames = [
        evf.read_run(path).with_columns(system=pl.lit(name))
        for name, path in zip(RUNS, runs, strict=True)
    ]
    evf.write_run(pl.concat(frames), tmp_path / "all.parquet")
    assert call("fuse", tmp_path / "all.parquet").stdout == call("fuse", *runs).stdout


def test_a_fused_run_is_evaluated_from_standard_input(runs: list[Path]) -> None:
    qrels = runs[0].parents[1] / "qrels" / "test.trec"
    fused = call("fuse", *runs).stdout_bytes
    found = json.loads(
        call("evaluate", qrels, "-", "-m", "ndcg@10", "-f", "json", stdin=fused).stdout
    )
    expected = evf.evaluate(qrels, evf.fuse(dict(zip(RUNS, runs, strict=True))), ["ndcg@10"])
    assert found["summary"][0]["value"] == expected.metrics["ndcg@10"]


@pytest.mark.parametrize("suffix", ["trec", "trec.gz", "tsv", "csv.zst", "json", "jsonl", "arrow"])
def test_a_run_goes_to_any_format_and_back(runs: list[Path], tmp_path: Path, suffix: str) -> None:
    there, back = tmp_path / f"run.{suffix}", tmp_path / "back.parquet"
    first = call("convert", runs[0], there)
    assert first.exit_code == 0, first.stderr
    assert call("convert", there, back).exit_code == 0
    columns = ["query_id", "doc_id", "score"]
    again, original = (evf.read_run(path).select(columns) for path in (back, runs[0]))
    assert again.sort(columns).equals(original.sort(columns))


@pytest.mark.parametrize("form", ["trec", "tsv", "csv", "json", "jsonl", "parquet", "arrow"])
def test_standard_input_goes_to_standard_output(handbook: Path, form: str, tmp_path: Path) -> None:
    stdin = (handbook / "qrels" / "test.trec").read_bytes()
    result = call("convert", "-", "-", "--to", form, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    file = tmp_path / f"qrels.{form}"
    file.write_bytes(result.stdout_bytes)
    expected = evf.read_qrels(handbook / "qrels" / "test.trec")
    assert evf.read_qrels(file).sort(pl.all()).equals(expected.sort(pl.all()))


def test_to_goes_before_the_suffix(handbook: Path, tmp_path: Path) -> None:
    out = tmp_path / "corpus.data"
    assert call("convert", handbook / "corpus.parquet", out, "--to", "jsonl").exit_code == 0
    assert json.loads(out.read_text().splitlines()[0])["doc_id"]
    assert call("convert", handbook / "corpus.parquet", out, "--to", "jsonl").exit_code == 2
    assert read_corpus(out).equals(read_corpus(handbook / "corpus.parquet"))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x", "q 0 a 1\n", "qrels"),
        ("x", "q Q0 a 1 2.5 tag\n", "run"),
        ("x", "query_id\tdoc_id\trelevance\nq\ta\t1\n", "qrels"),
        ("x", "query-id\tcorpus-id\tscore\nq\ta\t1\n", "qrels"),
        ("x", "qid,docno,score\nq,a,1\n", "run"),
        ("x", '{"query_id": "q", "doc_id": "a", "score": 1.5}\n', "run"),
        ("x", '{"query_id": "q", "doc_id": "a", "label": 1}\n', "qrels"),
        ("x", '[{"query_id": "q", "doc_id": "a", "rank": 1}]', "run"),
        ("x", '{"q": {"a": 1.5}}', "run"),
        ("qrels", '{"q": {"a": 1}}', "qrels"),
        ("run", '{"q": {"a": 1}}', "run"),
        ("x", '{"q": ["a", "b"]}', "run"),
        ("x", '{"a": {"title": "t", "text": "x"}}', "corpus"),
        ("corpus", '{"a": "text"}', "corpus"),
        ("queries", '{"a": "text"}', "queries"),
        ("x", '{"_id": "a", "title": "t", "text": "x"}\n', "corpus"),
        ("queries", '{"_id": "a", "text": "x"}\n', "queries"),
        ("corpus", '{"_id": "a", "text": "x"}\n', "corpus"),
        ("x", '{"query_id": "a", "text": "x"}\n', "queries"),
        ("x", '{"doc_id": "a", "text": "x"}\n', "corpus"),
        ("x", '{"question": "a", "answer": "x", "contexts": ["y"]}\n', "samples"),
        ("x", '{"user_input": "a", "response": "x", "reference": null}\n', "samples"),
    ],
)
def test_what_a_file_holds_is_guessed(tmp_path: Path, name: str, content: str, kind: str) -> None:
    """As the same file would be read with its kind named."""
    file = tmp_path / name
    file.write_text(content)
    guessed = call("convert", file, "-", "--to", "jsonl")
    named = call("convert", file, "-", "--to", "jsonl", "--kind", kind)
    assert guessed.exit_code == 0, guessed.stderr
    assert guessed.stdout == named.stdout
    assert pl.read_ndjson(io.StringIO(guessed.stdout)).height >= 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q": {"a": 1}}', "it may be qrels or run; say --kind qrels|run"),
        ('{"_id": "a", "text": "x"}\n', "(columns: _id, text): it may be corpus or queries"),
        ("a\tb\nc\td\n", "say --kind qrels|run|queries|corpus|samples"),
        ('{"q": 5}', "say --kind qrels|run|queries|corpus|samples"),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "x"
    file.write_text(content)
    result = call("convert", file, "-", "--to", "jsonl")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_columns_are_named_where_they_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("q,url,points\n1,a,3\n")
    columns = ("--column", "query_id=q", "--column", "doc_id=url", "--column", "score=points")
    result = call("convert", file, "-", "--kind", "run", "--to", "trec", "--tag", "me", *columns)
    assert result.stdout == "1 Q0 a 1 3.0 me\n"
    assert call("convert", file, "-", "--kind", "run", "--to", "trec").exit_code == 2


def test_tags_become_systems_and_duplicates_are_settled(tmp_path: Path) -> None:
    file = tmp_path / "run.trec"
    file.write_text("1 Q0 a 1 3.0 me\n1 Q0 a 2 2.0 me\n")
    refused = call("convert", file, "-", "--to", "csv")
    assert refused.exit_code == 2
    assert "--duplicates best" in refused.stderr
    words = ("--to", "csv", "--system", "--duplicates", "best")
    table = pl.read_csv(call("convert", file, "-", *words).stdout.encode())
    assert table.select("system", "score").rows() == [("me", 3.0)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{run}", "-"], "say --to trec|tsv"),
        (["{run}", "-", "--to", "xml"], "--to 'xml' is not offered"),
        (["{run}", "-", "--to", "csv", "--kind", "runs"], "--kind 'runs' is not offered"),
        (["{run}", "-", "--to", "csv", "--column", "score"], "write it like query_id=qid"),
        (["{run}", "{out}.docx"], "the suffix does not say"),
        (["{samples}", "-", "--to", "csv"], "standard output: a cell of this format holds no list"),
        (["{samples}", "{out}.trec"], "the suffix does not say"),
        (["-", "{out}.csv"], "standard input: "),
    ],
)
def test_a_conversion_that_cannot_be_is_refused_in_one_line(
    runs: list[Path], handbook: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    named = {"run": runs[0], "samples": handbook / "samples.jsonl", "out": tmp_path / "out"}
    result = call("convert", *(word.format(**named) for word in words), stdin=b"")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "evalframe-" not in result.stderr
    assert [*tmp_path.iterdir()] == []
