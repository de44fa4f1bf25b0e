"""Runs that are read as a stream score as they do in memory, bit for bit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import ColumnError, EmptyError, ReadError, RowError
from evalframe.ranking import matching, streaming

from .cases import collection, qrels_table, run_table

METRICS = ["ndcg@10", "map", "bpref", "num_ret", "rbp", "err@5"]


@pytest.fixture(params=["in order", "by counting", "in turns"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small batches, so that small runs take the roads of large ones."""
    monkeypatch.setattr(streaming, "BATCH", 37)
    monkeypatch.setattr(matching, "SHALLOW", 0 if request.param == "in turns" else 1000)
    return request.param


def run_on(road: str, run: pl.DataFrame) -> pl.DataFrame:
    if road == "in order":
        return run.sort("query_id", "score", descending=[False, True])
    return run.sample(fraction=1, shuffle=True, seed=1)


@pytest.mark.parametrize("ties", ["trec", "doc_asc", "given"])
def test_a_stream_scores_as_a_frame_does(road: str, ties: str) -> None:
    for seed in range(8):
        made = collection(seed)
        qrels, run = qrels_table(made[0]), run_on(road, run_table(made[1]))
        whole = evf.evaluate(qrels, run, METRICS, ties=ties)
        stream = evf.evaluate(qrels, run.lazy(), METRICS, ties=ties)
        assert stream.per_query.equals(whole.per_query)
        assert stream.counts.equals(whole.counts)
        assert stream.documents(qrels["query_id"][0]).equals(whole.documents(qrels["query_id"][0]))


def test_several_systems_are_streamed_together(road: str) -> None:
    qrels, run = collection(3)
    table = run_on(road, run_table(run))
    systems = pl.concat(table.with_columns(system=pl.lit(name)) for name in "ab")
    whole = evf.evaluate(qrels_table(qrels), systems, METRICS)
    stream = evf.evaluate(qrels_table(qrels), systems.lazy(), METRICS)
    assert stream.per_query.equals(whole.per_query)


def test_a_query_longer_than_a_batch_is_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH", 10)
    run = pl.DataFrame(
        {"query_id": "q", "doc_id": [f"d{i}" for i in range(500)], "score": range(500, 0, -1)}
    )
    report = evf.evaluate({"q": {"d399": 1}}, run.lazy(), ["mrr", "num_ret"])
    assert report.metrics == {"mrr": 1 / 400, "num_ret": 500.0}


def test_an_ordered_stream_is_neither_sorted_nor_read_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no(*_: object) -> None:
        raise AssertionError("an ordered run took the road of unordered ones")

    monkeypatch.setattr(streaming, "_in_any_order", no)
    monkeypatch.setattr(matching, "_place_unordered", no)
    made = collection(5)
    run = run_on("in order", run_table(made[1]))
    assert evf.evaluate(qrels_table(made[0]), run.lazy(), "map").metrics["map"] > 0


def test_large_files_and_folders_are_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalframe.inputs.LARGE", 0)
    made = collection(7)
    qrels, run = qrels_table(made[0]), run_on("in order", run_table(made[1]))
    expected = evf.evaluate(qrels, run, METRICS)
    run.write_parquet(tmp_path / "run.parquet")
    evf.write_run(run, tmp_path / "run.tsv")
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, part in enumerate(run.iter_slices(100)):
        part.write_parquet(parts / f"{number:03}.parquet")
    for path in (tmp_path / "run.parquet", tmp_path / "run.tsv", parts):
        report = evf.evaluate(qrels, path, METRICS)
        assert isinstance(report.run, pl.LazyFrame)
        assert report.per_query.equals(expected.per_query)


@pytest.mark.parametrize("bad", [None, float("nan")])
def test_a_score_that_is_no_number_stops_a_stream(road: str, bad: float | None) -> None:
    run = run_on(road, run_table(collection(2)[1])).with_row_index("row")
    broken = pl.when(pl.col("row") == 50).then(bad).otherwise("score")
    run = run.with_columns(score=broken).drop("row")
    with pytest.raises(RowError, match="null or NaN"):
        evf.evaluate(qrels_table(collection(2)[0]), run.lazy(), "map")


def test_a_stream_without_rows_is_refused() -> None:
    run = pl.LazyFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
    with pytest.raises(EmptyError, match="the run frame has no rows"):
        evf.evaluate({"q": {"a": 1}}, run, "map")


def test_a_file_that_breaks_off_is_named_as_such(tmp_path: Path) -> None:
    run = run_on("in order", run_table(collection(4)[1]))
    evf.write_run(run, tmp_path / "run.trec.gz")
    whole = (tmp_path / "run.trec.gz").read_bytes()
    (tmp_path / "cut.trec.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match=r"could not be read to its end|cut short"):
        evf.evaluate(qrels_table(collection(4)[0]), evf.scan_run(tmp_path / "cut.trec.gz"), "map")


def test_a_word_for_a_score_is_told_like_in_memory() -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": ["1", "high"]})
    told = []
    for given in (run, run.lazy()):
        with pytest.raises(ColumnError, match=r'cannot be read as numbers .*"high"') as error:
            evf.evaluate({"q": {"a": 1}}, given, "map")
        told.append(str(error.value))
    assert told[0].partition(" for ")[0] == told[1].partition(" for ")[0]
