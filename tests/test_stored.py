"""Reports as files: what is read back has the same values, columns and bits."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe.comparing.compare import compare_frames
from evalframe.comparing.comparison_report import Comparison
from evalframe.errors import OptionError, ReadError
from evalframe.io import read_metadata
from evalframe.stored import StoredReport

METRICS = ["ndcg@10", "gm_map", "recall(rel=2)@50", "num_q", "unjudged@10"]
NAMES = ["bm25", "tfidf", "minilm"]


@pytest.fixture(scope="module")
def qrels(handbook: Path) -> pl.DataFrame:
    return evf.read_qrels(handbook / "qrels" / "test.trec")


@pytest.fixture(scope="module")
def runs(handbook: Path) -> pl.DataFrame:
    frames = {name: evf.read_run(handbook / "runs" / f"{name}.parquet") for name in NAMES}
    return pl.concat(
        frame.select(pl.lit(name).alias("system"), "query_id", "doc_id", "score")
        for name, frame in frames.items()
    )


@pytest.mark.parametrize("several", [False, True])
def test_a_report_comes_back(
    qrels: pl.DataFrame, runs: pl.DataFrame, tmp_path: Path, several: bool
) -> None:
    run = runs if several else runs.filter(system="bm25").drop("system")
    report = evf.evaluate(
        qrels, run, METRICS, rel=1, queries="both", depth=30, score_dtype=pl.Float32
    )
    evf.write_parquet(report, tmp_path / "r.parquet")
    again = evf.read_report(tmp_path / "r.parquet")
    assert isinstance(again, evf.Report)
    for name in ("per_query", "summary", "counts"):
        assert_frame_equal(getattr(again, name), getattr(report, name), check_exact=True)
    assert again.contract == report.contract
    assert again.how == report.how
    assert repr(again) == repr(report)
    assert_frame_equal(again.worst("unjudged@10"), report.worst("unjudged@10"))
    if several:
        with pytest.raises(OptionError, match="several systems"):
            _ = again.metrics
    else:
        assert again.metrics == report.metrics
    facts = read_metadata(tmp_path / "r.parquet")
    assert facts["kind"] == "report"
    assert facts["version"] == evf.__version__
    assert facts["contract"]["depth"] == 30
    evf.write_report(again, tmp_path / "copy.parquet")
    assert (tmp_path / "copy.parquet").read_bytes() == (tmp_path / "r.parquet").read_bytes()


def test_a_stored_report_says_what_it_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "r.parquet"
    evf.write_report(evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"]), file)
    report = evf.read_report(file)
    assert isinstance(report, StoredReport)
    with pytest.raises(OptionError, match="a stored report has no documents"):
        report.documents("q")
    with pytest.raises(OptionError, match="a stored report has no run"):
        _ = report.run
    with pytest.raises(OptionError, match="a stored report has no qrels"):
        _ = report.qrels


def test_a_stored_report_is_a_baseline(
    qrels: pl.DataFrame, runs: pl.DataFrame, tmp_path: Path
) -> None:
    bm25, tfidf = (
        evf.evaluate(qrels, runs.filter(system=name).drop("system"), ["ndcg@10"])
        for name in ("bm25", "tfidf")
    )
    evf.write_report(bm25, tmp_path / "old.parquet")
    old = evf.read_report(tmp_path / "old.parquet")
    found = evf.assert_no_regression(tfidf, old, max_drop=0.01)
    assert_frame_equal(found.pairs, evf.assert_no_regression(tfidf, bm25, max_drop=0.01).pairs)


def test_a_rag_report_comes_back(tmp_path: Path) -> None:
    samples = [
        {"response": "It is Paris.", "references": ["Lyon", "Paris"], "query_bucket": 3},
        {"response": None, "references": ["four"], "query_bucket": 1},
        {"response": "five", "references": None, "query_bucket": None},
    ]
    report = evf.evaluate_rag(samples, metrics=["token_f1", "exact_match"], profile="unicode")
    evf.write_parquet(report, tmp_path / "r.parquet")
    again = evf.read_report(tmp_path / "r.parquet")
    assert isinstance(again, evf.RagReport)
    assert again == report
    assert list(again.metrics) == ["token_f1", "exact_match"]
    assert_frame_equal(again.per_sample, report.per_sample, check_exact=True)
    assert repr(again) == repr(report)
    assert read_metadata(tmp_path / "r.parquet")["values"]["coverage"] == {
        "token_f1": 2,
        "exact_match": 2,
    }


def test_a_comparison_comes_back(qrels: pl.DataFrame, runs: pl.DataFrame, tmp_path: Path) -> None:
    metrics = ["unjudged@10", "ndcg@10"]
    kept = runs.filter(~((pl.col("system") == "minilm") & (pl.col("query_id") < "q05")))
    found = evf.compare(qrels, kept, metrics, "tfidf", queries="both", resamples=200, seed=3)
    evf.write_parquet(found, tmp_path / "c.parquet")
    again = evf.read_report(tmp_path / "c.parquet")
    assert isinstance(again, Comparison)
    for name in ("per_query", "per_query_wide", "summary", "pairs", "counts", "best"):
        assert_frame_equal(getattr(again, name), getattr(found, name), check_exact=True)
    assert again.procedure == found.procedure
    assert again.contract == found.contract
    assert (again.systems, again.metrics) == (found.systems, metrics)
    assert repr(again) == repr(found)
    assert again.to_latex() == found.to_latex()


def test_a_comparison_of_values_comes_back(tmp_path: Path) -> None:
    a = pl.DataFrame({"lang": ["en", "de"], "id": ["1", "2"], "f1": [0.1, None]})
    b = pl.DataFrame({"lang": ["de", "en"], "id": ["2", "1"], "f1": [0.3, 0.2]})
    found = compare_frames(a, b, ["lang", "id"], names=("b", "a"))
    evf.write_report(found, tmp_path / "c.parquet")
    again = evf.read_report(tmp_path / "c.parquet")
    assert_frame_equal(again.pairs, found.pairs)
    assert_frame_equal(again.per_query, found.per_query)
    assert (again.counts, again.contract) == (None, None)


def test_values_that_json_cannot_hold(tmp_path: Path) -> None:
    values = pl.col("relevance").sum() / pl.col("rank").count()
    report = evf.evaluate({"q": {"a": 1}, "p": {"a": 0}}, {"q": {"x": 1.0}}, [values.alias("v")])
    assert report.per_query["v"].to_list()[1] == float("inf")
    evf.write_report(report, tmp_path / "r.parquet")
    again = evf.read_report(tmp_path / "r.parquet")
    assert_frame_equal(again.summary, report.summary)
    assert str(again.metrics) == str(report.metrics)


def test_nothing_is_lost_and_other_files_are_told_apart(tmp_path: Path) -> None:
    report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"])
    file = tmp_path / "r.parquet"
    evf.write_parquet(report, file, metadata={"made_by": "bm25"})
    assert read_metadata(file)["made_by"] == "bm25"
    with pytest.raises(FileExistsError):
        evf.write_report(report, file)
    evf.write_report(report, file, overwrite=True)
    with pytest.raises(OptionError, match=r"metadata\['contract'\]"):
        evf.write_report(report, tmp_path / "x.parquet", metadata={"contract": 1})
    with pytest.raises(OptionError, match="one file of its own kind"):
        evf.write_parquet(report, tmp_path / "x.parquet", buckets=2)
    with pytest.raises(OptionError, match="dict is no report"):
        evf.write_report({}, tmp_path / "x.parquet")  # type: ignore[arg-type]
    evf.write_parquet(report.per_query, tmp_path / "frame.parquet", kind="values")
    with pytest.raises(ReadError, match="no report in one file: it holds 'values'"):
        evf.read_report(tmp_path / "frame.parquet")
    evf.write_parquet(report.per_query, tmp_path / "bad.parquet", kind="report")
    with pytest.raises(ReadError, match="cannot be understood"):
        evf.read_report(tmp_path / "bad.parquet")
    with pytest.raises(FileNotFoundError):
        evf.read_report(tmp_path / "nowhere.parquet")


def test_a_report_without_some_of_its_rows_is_noticed(tmp_path: Path) -> None:
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
    file = tmp_path / "r.parquet"
    evf.write_report(evf.evaluate(qrels, run, ["mrr"]), file)
    stamp = {"evalframe": pl.read_parquet_metadata(file)["evalframe"]}
    pl.read_parquet(file).head(1).write_parquet(file, metadata=stamp)
    with pytest.raises(ReadError, match="2 rows were written, and 1 are there"):
        evf.read_report(file)
