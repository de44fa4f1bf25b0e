"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import evalframe as evf
from evalframe.cli import app
from evalframe.metrics import CATALOGUE
from evalframe.samples import RAG_METRICS

RUNS = ["bm25", "minilm", "tfidf"]


def call(*words: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.fixture
def qrels(handbook: Path) -> Path:
    return handbook / "qrels" / "test.trec"


@pytest.fixture
def run(handbook: Path) -> Path:
    return handbook / "runs" / "bm25.trec"


@pytest.fixture
def samples(handbook: Path) -> Path:
    return handbook / "samples.jsonl"


def test_one_run_is_printed_as_a_table_with_its_counts(qrels: Path, run: Path) -> None:
    result = call("evaluate", qrels, run, "-m", "ndcg@10", "--metric", "map,P_5")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[2] == "ndcg@10  0.6504"
    assert lines[3].startswith("map")
    assert lines[4].startswith("P_5")
    assert "queries in qrels 64" in lines[5]
    assert result.stderr == ""


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
    assert "--overwrite replaces it" in again.stderr
    assert out.read_bytes() == written
    assert call(*words, "--overwrite").exit_code == 0
    read = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "jsonl": pl.read_ndjson,
    }[suffix](out)
    expected = evf.evaluate(qrels, run, ["ndcg@10"]).per_query
    assert read.rows() == expected.rows()


def test_a_report_is_written_in_the_format_of_its_suffix(
    qrels: Path, run: Path, tmp_path: Path
) -> None:
    words = ("evaluate", qrels, run, "-m", "ndcg@10")
    for suffix in ("parquet", "json", "jsonl", "csv", "tsv", "md", "txt", "tex", "html"):
        result = call(*words, "-o", tmp_path / f"report.{suffix}")
        assert result.exit_code == 0, result.stderr
        assert "0.6504" in result.stdout
    read = evf.read_report(tmp_path / "report.parquet")
    assert isinstance(read, evf.Report)
    assert read.metrics == evf.evaluate(qrels, run, ["ndcg@10"]).metrics
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["summary"][0]["value"] == read.metrics["ndcg@10"]
    assert pl.read_csv(tmp_path / "report.csv")["value"][0] == read.metrics["ndcg@10"]
    assert pl.read_ndjson(tmp_path / "report.jsonl")["value"][0] == read.metrics["ndcg@10"]
    assert (tmp_path / "report.md").read_text().startswith("| metric")
    assert (tmp_path / "report.txt").read_text() == call(*words).stdout
    assert r"\begin{tabular}" in (tmp_path / "report.tex").read_text()
    assert (tmp_path / "report.html").read_text().lower().startswith("<!doctype html>")


def test_the_page_shows_texts_where_they_are_given(
    qrels: Path, run: Path, handbook: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    texts = ("--queries", handbook / "queries.jsonl", "--corpus", handbook / "corpus.jsonl")
    result = call("evaluate", qrels, run, "-m", "ndcg@10", "--html", page, *texts)
    assert result.exit_code == 0, result.stderr
    written = page.read_text()
    report = evf.evaluate(qrels, run, ["ndcg@10"])
    worst = report.worst("ndcg@10", n=1)["query_id"][0]
    queries = evf.read_queries(handbook / "queries.jsonl")
    assert queries.filter(query_id=worst)["text"][0] in written
    again = call("evaluate", qrels, run, "-m", "ndcg@10", "--html", page)
    assert again.exit_code == 2
    assert page.read_text() == written


def test_options_reach_the_evaluation(qrels: Path, run: Path) -> None:
    words = ("--rel", 2, "--counted", "positive", "--ties", "doc_asc", "--float32")
    more = ("--judged-only", "--depth", 20, "--duplicates", "best")
    contract = json.loads(call("evaluate", qrels, run, *words, *more, "-f", "json").stdout)
    assert contract["contract"] == {
        "rel": 2.0,
        "queries": "positive",
        "ties": "doc_asc",
        "score_dtype": "Float32",
        "judged_only": True,
        "depth": 20,
        "duplicates": "best",
    }


def test_subtopics_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "q.trec").write_text("q 1 a 1\nq 2 b 1\nq 1 b 1\n")
    (tmp_path / "r.trec").write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    words = ("evaluate", tmp_path / "q.trec", tmp_path / "r.trec", "-m", "st_recall@1")
    assert "0.5000" in call(*words).stdout
    assert "0.5000" in call(*words, "--subtopics").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "{qrels}", "{run}", "-m", "ndgc@10"], "did you mean 'ndcg@10'?"),
        (["evaluate", "{qrels}", "nowhere.trec"], "nowhere.trec"),
        (["evaluate", "{run}", "{qrels}"], "this is a run"),
        (["evaluate", "{qrels}", "{run}", "{run}"], "named twice"),
        (["evaluate", "{qrels}", "{run}", "--rel", "nan"], "rel must be a number"),
        (["evaluate", "{qrels}", "{run}", "--per-query", "x.docx"], "x.docx"),
        (["evaluate", "{qrels}", "{run}", "-o", "x.docx"], "name it .parquet"),
        (["evaluate", "{qrels}", "{run}", "--ties", "random"], "--ties"),
        (["evaluate", "{qrels}", "{run}", "--min", "ndcg@10"], "write a metric and a number"),
        (["evaluate", "{qrels}", "{run}", "--min", "ndcg@10=high"], "write a metric and a number"),
        (["evaluate", "{qrels}", "{run}", "--min", "ndgc@10=0.4"], "did you mean 'ndcg@10'?"),
        (["evaluate", "-", "-"], "only one of the files can be standard input"),
        (["rag", "{samples}", "-m", "token_f2"], "did you mean 'token_f1'?"),
        (["rag", "{samples}", "--profile", "squad"], "profile='squad' is not offered"),
        (["rag", "{samples}", "--by", "nothing"], "name columns of the samples"),
        (["compare", "{qrels}", "{run}"], "two runs or more"),
        (["fuse", "{run}", "{qrels}"], "these are qrels"),
        (["fuse", "{run}", "nowhere.trec", "--method", "rff"], "did you mean 'rrf'?"),
        (["metrics", "nope"], "unknown metric 'nope'"),
        (["metrics", "ndgc"], "did you mean 'ndcg'?"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_a_mistake_is_one_message_on_standard_error_and_exit_code_2(
    qrels: Path, run: Path, samples: Path, words: list[str], message: str
) -> None:
    result = call(*(word.format(qrels=qrels, run=run, samples=samples) for word in words))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1 or "Usage" in result.stderr


def test_metrics_are_listed_with_what_they_are_of() -> None:
    listed = {row["metric"]: row for row in json.loads(call("metrics", "-f", "json").stdout)}
    assert len(listed) == len(CATALOGUE) + len(RAG_METRICS)
    assert listed["ndcg@10"]["of"] == "runs"
    assert listed["bpref"]["values"] == "0…1"
    assert listed["token_f1"]["of"] == "response, references"
    assert listed["context_coverage@0.8"]["of"] == "retrieved_contexts, reference_contexts"


@pytest.mark.parametrize("name", ["precision", "P_5", "P@10", "precision(rel=2)@3", "Prec"])
def test_a_metric_is_explained_by_any_of_its_names(name: str) -> None:
    explained = call("metrics", name).stdout
    assert explained.startswith("precision@10\n")
    assert "hits(k) / k" in explained
    assert "k  default needed, written behind the @: precision@10" in explained
    assert "Source: trec_eval `P`." in explained
    assert "Other names: P, prec" in explained
    assert 'evalframe evaluate qrels.trec run.trec -m "precision@10"' in explained
    assert "{'precision@5': 0.2}" in explained


@pytest.mark.parametrize("name", [*CATALOGUE, *RAG_METRICS])
def test_every_metric_has_an_explanation_with_values_and_an_example_that_is_true(
    name: str,
) -> None:
    facts = json.loads(call("metrics", name, "-f", "json").stdout)
    assert facts["metric"] == name
    assert facts["definition"].endswith(".")
    assert "…" in facts["values"]
    import doctest

    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    test = parser.get_doctest(facts["example"] + "\n", {}, name, None, None)
    assert len(test.examples) >= 2
    runner.run(test, out=lambda text: None)
    assert runner.failures == 0


def test_a_metric_of_samples_is_explained() -> None:
    text = call("metrics", "context_coverage").stdout
    assert "threshold  default 0.8, written behind the @: context_coverage@0.8" in text
    assert "Undefined: null where no gold passage has a token" in text
    assert 'evalframe rag samples.jsonl -m "context_coverage@0.8"' in text
    row = pl.read_csv(call("metrics", "answer_recall", "-f", "csv").stdout.encode())
    assert row["metric"].to_list() == ["token_recall"]


def test_the_version_is_told() -> None:
    assert call("--version").stdout == f"evalframe {evf.__version__}\n"


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
    assert "tfidf against minilm: ndcg@10 fell from 0.7365 to 0.6498" in worse.stderr
    assert worse.stderr.count("\n") == 1


def test_a_comparison_takes_its_options_and_is_written(
    qrels: Path, handbook: Path, tmp_path: Path
) -> None:
    runs = [handbook / "runs" / f"{name}.trec" for name in RUNS]
    files = ("-o", tmp_path / "c.parquet", "--html", tmp_path / "c.html")
    options = ("--baseline", "bm25", "--test", "t", "--correction", "none", "--seed", 7)
    result = call("compare", qrels, *runs, "-m", "ndcg@10,map", *options, *files, "-f", "csv")
    assert result.exit_code == 0, result.stderr
    table = pl.read_csv(result.stdout.encode())
    assert set(table["b"]) == {"bm25"}
    assert set(table["correction"]) == {"none"}
    assert set(table["test"]) == {"paired t"}
    assert set(table["seed"]) == {7}
    read = evf.read_report(tmp_path / "c.parquet")
    assert isinstance(read, evf.Comparison)
    assert read.systems == RUNS
    assert (tmp_path / "c.html").read_text().lower().startswith("<!doctype html>")
    markdown = call("compare", qrels, *runs, "-m", "map", "-f", "markdown").stdout
    assert markdown.startswith("| system |")


def test_samples_are_scored_in_every_format(samples: Path, tmp_path: Path) -> None:
    words = ("rag", samples, "-m", "token_f1,answer_recall", "-m", "context_coverage@0.5")
    expected = evf.evaluate_rag(samples, metrics=["token_f1"]).metrics["token_f1"]
    table = call(*words).stdout
    assert table.startswith("RagReport: 60 samples, profile squad_v1\n")
    assert "token_f1              0.5126" in table
    found = json.loads(call(*words, "-f", "json").stdout)
    assert found["metrics"]["token_f1"] == expected
    assert list(found["metrics"]) == ["token_f1", "answer_recall", "context_coverage@0.5"]
    rows = pl.read_csv(call(*words, "-f", "csv").stdout.encode())
    assert rows["mean"][0] == expected
    assert call(*words, "-f", "markdown").stdout.startswith("| metric |")
    assert "profile unicode" in call(*words, "--profile", "unicode").stdout
    assert call(*words, "--html", tmp_path / "rag.html").exit_code == 0
    assert (tmp_path / "rag.html").read_text().lower().startswith("<!doctype html>")


def test_samples_are_scored_by_a_column_and_one_by_one(samples: Path, tmp_path: Path) -> None:
    report = evf.evaluate_rag(samples, metrics=["token_f1"])
    words = ("rag", samples, "-m", "token_f1")
    by = pl.read_csv(call(*words, "--by", "level", "-f", "csv").stdout.encode())
    assert by.select("level", "mean").rows() == report.by("level").select("level", "mean").rows()
    found = json.loads(call(*words, "--by", "level", "-f", "json").stdout)
    assert [row["level"] for row in found["by"]] == ["easy", "hard", "medium"]
    for suffix in ("parquet", "jsonl", "csv"):
        out = tmp_path / f"values.{suffix}"
        assert call(*words, "--per-sample", out).exit_code == 0
    values = report.per_sample["token_f1"].to_list()
    assert pl.read_parquet(tmp_path / "values.parquet")["token_f1"].to_list() == values
    assert pl.read_ndjson(tmp_path / "values.jsonl")["token_f1"].to_list() == values
    table = pl.read_csv(tmp_path / "values.csv")
    assert table["token_f1"].to_list() == values
    assert table["status_token_f1"].to_list() == report.per_sample["status"].struct[0].to_list()


def test_a_message_is_one_line_that_can_be_read_however_long_the_texts_are(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    row = json.dumps({"query_id": "1", "response": "x " * 5_000, "reference": "x"})
    file.write_text(f"{row}\n{row}\n")
    result = call("rag", file, "-m", "token_f1")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert 0 < len(result.stderr) < 2_100


@pytest.mark.parametrize("page", ["-", "x.pdf", "x"])
@pytest.mark.parametrize("command", ["evaluate", "compare", "audit", "rag"])
def test_a_page_is_named_html(
    qrels: Path, run: Path, samples: Path, command: str, page: str, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    files = {"compare": [qrels, run, run.with_name("tfidf.trec")], "rag": [samples]}
    result = call(command, *files.get(command, [qrels, run]), "--html", page)
    assert result.exit_code == 2
    assert result.stderr == f"evalframe: cannot write {page}: name it .html, .htm\n"
    assert [*tmp_path.iterdir()] == []


def test_texts_without_a_page_are_refused(qrels: Path, run: Path, handbook: Path) -> None:
    for option in ("queries", "corpus"):
        result = call("evaluate", qrels, run, f"--{option}", handbook / f"{option}.parquet")
        assert result.exit_code == 2
        assert f"--{option} gives the texts of a page: add --html" in result.stderr
    two = [run, run.with_name("tfidf.trec")]
    result = call("compare", qrels, *two, "--queries", handbook / "queries.parquet")
    assert result.exit_code == 2
    assert "--queries gives the texts of a page: add --html" in result.stderr
