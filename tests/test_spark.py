"""Spark frames have the values of local ones: with a JVM, and through Spark Connect."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe import spark as evs
from evalframe.errors import ColumnError, FrameError, MetricError, OptionError, RowError
from evalframe.spark.workers import local_errors
from tests.cases import Qrels, Run, collection, qrels_and_runs, qrels_table, run_table
from tests.test_executor import (
    BY_SUBTOPIC,
    CONTRACTS,
    FEW,
    GRADES,
    LISTS,
    PLAIN,
    SYSTEMS,
    UNUSABLE,
    by_subtopic,
    handbook_systems,
    said,
    with_values,
)

pytestmark = [
    pytest.mark.slow,
    # PySpark 4 says so of pandas 3, which nothing here uses.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("there is no Java here")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def here(frame: Any, *by: str) -> pl.DataFrame:
    """A Spark frame's rows, in an order."""
    return pl.DataFrame(frame.toArrow()).sort(*by)


def same(found: Any, local: pl.DataFrame) -> None:
    """To the last bit."""
    keys = [name for name in ("system", "query_id") if name in local.columns]
    rows = found if isinstance(found, pl.DataFrame) else here(found, *keys)
    assert_frame_equal(rows, local, check_exact=True)


def there(spark: Any, frame: pl.DataFrame) -> Any:
    return spark.createDataFrame(frame.to_arrow())


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_every_metric_of_the_handbook_is_the_local_one(
    spark: Any, handbook: Path, contract: dict[str, Any]
) -> None:
    """Several systems, of which one lacks a query and one has a query of its own."""
    qrels, run = evf.read_qrels(handbook / "qrels" / "test.tsv"), handbook_systems(handbook)
    found = evs.per_query(there(spark, qrels), there(spark, run), PLAIN, buckets=3, **contract)
    same(found, evf.per_query(qrels, run, PLAIN, **contract))


def test_a_bucket_may_lack_a_system(spark: Any, handbook: Path) -> None:
    """So many buckets that one has the query that a system lacks, and nothing else."""
    qrels, run = evf.read_qrels(handbook / "qrels" / "test.tsv"), handbook_systems(handbook)
    found = evs.per_query(there(spark, qrels), there(spark, run), FEW, buckets=200)
    same(found, evf.per_query(qrels, run, FEW))


def test_every_metric_of_cast_is_the_local_one(spark: Any, retrieval_data: Path) -> None:
    folder = retrieval_data / "treccast2021"
    qrels = evf.read_qrels(next(folder.glob("*.qrel*")))
    runs = {path.name: evf.read_run(path) for path in sorted(folder.glob("*.run*"))}
    run = pl.concat(
        frame.select(pl.lit(name).alias("system"), "query_id", "doc_id", "score")
        for name, frame in runs.items()
    )
    found = evs.per_query(there(spark, qrels), there(spark, run), PLAIN, buckets=5)
    same(found, evf.per_query(qrels, run, PLAIN))


def test_every_metric_by_subtopic_is_the_local_one(spark: Any) -> None:
    qrels, run = collection(1)
    judged = by_subtopic(qrels)
    found = evs.per_query(
        there(spark, judged), there(spark, run_table(run)), BY_SUBTOPIC, buckets=3
    )
    same(found, evf.per_query(judged, run, BY_SUBTOPIC))


@settings(
    deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(qrels_and_runs(), min_size=1, max_size=8),
    st.integers(1, 5),
    st.sampled_from(CONTRACTS),
)
def test_any_frames_give_the_local_values(
    spark: Any, drawn: list[tuple[Qrels, Run]], buckets: int, contract: dict[str, Any]
) -> None:
    """Ids of any characters, tied scores, queries that only one side has."""
    qrels = qrels_table(
        {f"{i}{q}": docs for i, (own, _) in enumerate(drawn) for q, docs in own.items()}
    )
    run = run_table(
        {f"{i}{q}": docs for i, (_, own) in enumerate(drawn) for q, docs in own.items()}
    )
    found = evs.per_query(there(spark, qrels), there(spark, run), FEW, buckets=buckets, **contract)
    same(found, evf.per_query(qrels, run, FEW, **contract))


def test_the_report_is_the_local_one(spark: Any, handbook: Path, tmp_path: Path) -> None:
    qrels, run = evf.read_qrels(handbook / "qrels" / "test.tsv"), handbook_systems(handbook)
    local = evf.evaluate(qrels, run, FEW, queries="both")
    found = evs.evaluate(there(spark, qrels), there(spark, run), FEW, queries="both", buckets=4)
    same(found.per_query, local.per_query)
    same(found.counts, local.counts)
    same(found.summary, local.summary)
    assert repr(found) == repr(local)
    assert found.contract == local.contract
    same(found.to_spark(), local.per_query)
    for query, system in (("q18", "minilm"), ("q18", "bm25"), ("q99", "bm25")):
        same(found.documents(query, system=system), local.documents(query, system=system))
    same(found.fetch("q18", "q07").run.sort("score"), found.fetch("q07", "q18").run.sort("score"))
    with pytest.raises(OptionError, match="no query 'q0'"):
        found.documents("q0", system="bm25")
    for what in ("qrels", "run"):
        says = rf"^Spark keeps the {what} of this report: report.fetch\(query_id"
        with pytest.raises(OptionError, match=says):
            getattr(found, what)
    evf.write_report(found, tmp_path / "report.parquet")
    same(evf.read_report(tmp_path / "report.parquet").summary, local.summary)


def test_foreign_names_and_numbers_for_ids(spark: Any) -> None:
    qrels = pl.DataFrame({"query-id": [1, 1, 2], "corpus-id": [7, 8, 9], "score": [1, 0, 2]})
    run = pl.DataFrame({"qid": [1, 1, 2], "docno": [8, 7, 9], "sim": [0.5, 0.5, 1.0]})
    run = run.with_columns(pl.lit("x").alias("left out"))
    same(evs.per_query(there(spark, qrels), there(spark, run), FEW), evf.per_query(qrels, run, FEW))


def test_qrels_may_be_local_and_a_run_may_have_ranks_only(spark: Any) -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["x", "a"], "rank": [1, 2]})
    for qrels in ({"q": {"a": 1}}, evf.prepare({"q": {"a": 1}})):
        found = evs.per_query(qrels, there(spark, run), ["mrr"], ties="given")
        assert here(found, "query_id").rows() == [("q", 0.5)]


def test_own_metrics_are_sent_as_expressions(spark: Any) -> None:
    qrels, run = collection(2)
    own = (pl.col("rank") * (pl.col("relevance") > 0)).max().cast(pl.Float64).alias("deepest")
    found = evs.per_query(qrels, there(spark, run_table(run)), [own, "map"])
    same(found, evf.per_query(qrels, run, [own, "map"]))


def test_a_function_of_the_workers_holds_no_session(spark: Any) -> None:
    from pyspark import cloudpickle

    from evalframe.scoring import Contract, listed
    from evalframe.spark.workers import scoring

    sent = cloudpickle.dumps(scoring(listed(FEW, None), Contract(), True))
    assert b"SparkSession" not in sent
    assert len(sent) < 100_000


@pytest.fixture
def large(spark: Any) -> Iterator[Any]:
    """The session, with 64-bit lengths of strings between it and its workers."""
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    yield spark
    spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_a_session_may_ask_for_large_strings(large: Any) -> None:
    qrels, run = collection(2)
    judged, lists = qrels_table(qrels), run_table(run)
    report = evs.evaluate(there(large, judged), there(large, lists), FEW, buckets=30)
    same(report.per_query, evf.per_query(judged, lists, FEW))
    same(report.to_spark(), report.per_query)
    same(evs.per_query(qrels, there(large, lists), FEW), report.per_query)
    for runs in ({"a": lists, "b": lists}, SYSTEMS):
        fused = here(evs.fuse(runs_there(large, runs), buckets=30), "query_id", "doc_id")
        assert_frame_equal(fused, evf.fuse(runs).sort("query_id", "doc_id"), check_exact=True)
    scored = evs.per_sample(there(large, SAMPLES), ["token_f1"])
    assert_frame_equal(here(scored, "query_id"), evf.per_sample(SAMPLES, ["token_f1"]))


def test_a_session_that_has_stopped_is_named(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, samples = there(spark, LISTS), there(spark, SAMPLES)
    report = evs.evaluate(GRADES, run, ["map"])
    # What `stop` leaves of a session.
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    for work in (
        lambda: evs.per_query(GRADES, run, ["map"]),
        lambda: evs.evaluate(GRADES, run, ["map"]),
        lambda: evs.fuse({"a": run}),
        lambda: evs.compare(GRADES, {"a": run, "b": run}, ["map"]),
        lambda: evs.per_sample(samples, ["token_f1"]),
        lambda: report.documents("q1"),
    ):
        with pytest.raises(FrameError, match="the Spark session of this frame has stopped"):
            work()


QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}


@pytest.mark.parametrize("what", UNUSABLE)
def test_errors_are_the_local_ones(spark: Any, what: str) -> None:
    qrels, run, options = UNUSABLE[what]
    asked = {"metrics": ["map"], **options}
    in_spark = there(spark, qrels) if isinstance(qrels, pl.DataFrame) else qrels
    local = said(lambda: evf.evaluate(qrels, run, **asked))
    for judged in (in_spark, qrels):
        assert said(lambda judged=judged: evs.evaluate(judged, there(spark, run), **asked)) == local
    assert said(lambda: evs.per_query(in_spark, there(spark, run), **asked).toArrow()) == local


def test_what_only_spark_knows_is_refused(spark: Any) -> None:
    run = there(spark, LISTS)
    with pytest.raises(OptionError, match="ties='given' needs a rank column"):
        evs.per_query(QRELS, run, ["map"], ties="given")
    with pytest.raises(OptionError, match="buckets=0"):
        evs.per_query(QRELS, run, ["map"], buckets=0)
    with pytest.raises(FrameError, match="the run must be a Spark frame here, not dict"):
        evs.per_query(QRELS, {"q1": {"a": 1.0}}, ["map"])
    odd = run.selectExpr("*", "timestamp '2020-01-01 00:00:00' as rank")
    with pytest.raises(ColumnError, match="'rank' of the run frame is Datetime"):
        evs.per_query(QRELS, odd, ["map"])


def test_metrics_that_differ_by_case_are_two(spark: Any) -> None:
    """Spark knows no case in names."""
    asked = ["mrr", "MRR", "map", pl.col("rank").max().cast(pl.Float64).alias("Query_ID")]
    local = evf.evaluate(GRADES, LISTS, asked)
    found = evs.per_query(GRADES, there(spark, LISTS), asked)
    assert found.columns == local.per_query.columns
    same(pl.DataFrame(found.toArrow()).sort("query_id"), local.per_query)
    report = evs.evaluate(GRADES, there(spark, LISTS), asked)
    same(report.summary, local.summary)
    same(pl.DataFrame(report.to_spark().toArrow()), local.per_query)


def test_columns_of_like_names_are_told_apart(spark: Any) -> None:
    """The house's name comes before others, and what is not used may be called anything."""
    run = LISTS.with_columns(SCORE=pl.lit(0.5), extra=pl.lit(1), EXTRA=pl.lit(2))
    twice = there(spark, run).toDF(*LISTS.columns, "SCORE", "extra", "extra")
    for frame in (there(spark, run), twice):
        same(evs.per_query(GRADES, frame, FEW), evf.per_query(GRADES, run, FEW))
        fused = evs.fuse({"a": frame, "b": frame}, "comb_sum", norm=None)
        alike = evf.fuse({"a": run, "b": run}, "comb_sum", norm=None)
        assert_frame_equal(here(fused, "query_id", "doc_id"), alike.sort("query_id", "doc_id"))
    doubled = there(spark, run).toDF("query_id", "doc_id", *["score"] * 4)
    with pytest.raises(ColumnError, match="the run frame has 4 columns named 'score'"):
        evs.per_query(GRADES, doubled, ["map"])
    samples = pl.DataFrame({"id": ["1"], "answer": ["a"], "reference": ["a"], "x": [1], "X": ["b"]})
    scored = evs.per_sample(there(spark, samples), ["exact_match"])
    assert_frame_equal(pl.DataFrame(scored.toArrow()), evf.per_sample(samples, ["exact_match"]))
    again = evs.per_sample(there(spark, samples).toDF(*samples.columns[:3], "x", "x"), "token_f1")
    assert [scored.columns[3:5], again.columns[3:5]] == [["x", "X"], ["x", "x"]]
    assert again.toArrow().column(4).to_pylist() == ["b"]


# Runs that cannot be fused or compared as they are asked to be.
UNUSABLE_RUNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "one run has no rows": ({"a": LISTS, "b": LISTS.head(0)}, {}),
    "systems have no rows": (SYSTEMS.head(0), {}),
    "a score is a word": ({"a": LISTS, "b": UNUSABLE["a score is a word"][1]}, {}),
    "a score is null": ({"a": LISTS, "b": UNUSABLE["a score is null"][1]}, {}),
    "a system is null": (UNUSABLE["a system is null"][1], {}),
    "a row stands twice": ({"a": LISTS, "b": pl.concat([LISTS, LISTS])}, {}),
    "scores are dates": ({"a": LISTS, "b": UNUSABLE["scores are dates"][1]}, {}),
    "no scores": ({"a": LISTS, "b": LISTS.drop("score")}, {}),
    "several systems in one run": ({"a": LISTS, "b": SYSTEMS}, {}),
    "no systems": (LISTS, {}),
    "no runs": ({}, {}),
    "two runs of one name": ({1: LISTS, "1": LISTS}, {}),
    "duplicates": ({"a": LISTS, "b": LISTS}, {"duplicates": "first"}),
}
SCORED_BADLY = with_values(LISTS, score=[1.0, float("inf"), 2.0])
UNUSABLE_FUSIONS: dict[str, tuple[Any, dict[str, Any]]] = UNUSABLE_RUNS | {
    "an infinite score": ({"a": LISTS, "b": SCORED_BADLY}, {"method": "comb_sum", "norm": None}),
    "a weight is a word": (
        {"a": LISTS, "b": LISTS},
        {"method": "wsum", "weights": {"a": 1, "b": "x"}},
    ),
    "a weight is lacking": ({"a": LISTS, "b": LISTS}, {"method": "wsum", "weights": {"a": 1}}),
    "a weight of no run": (SYSTEMS, {"method": "wsum", "weights": {"s": 1, "t": 2, "u": 3}}),
    "a system has no weight": (SYSTEMS, {"method": "wsum", "weights": {"s": 1}}),
    "weights are in no order": (SYSTEMS, {"method": "wsum", "weights": [1, 2]}),
    "weights are a number": (SYSTEMS, {"method": "wsum", "weights": 3}),
    "weights are not read": ({"a": LISTS}, {"weights": [1]}),
    "an unknown method": ({"a": LISTS}, {"method": "rff"}),
    "an unknown parameter": ({"a": LISTS}, {"kk": 3}),
    "an unknown norm": ({"a": LISTS}, {"norm": "maxx"}),
    "depth": ({"a": LISTS}, {"depth": 0}),
    "nothing to learn from": ({"a": LISTS}, {"method": "probfuse", "train_runs": {"a": LISTS}}),
    "a system that is not learnt": (
        SYSTEMS,
        {"method": "probfuse", "train_qrels": GRADES, "train_runs": {"s": LISTS}},
    ),
}
UNUSABLE_COMPARISONS: dict[str, tuple[Any, dict[str, Any]]] = UNUSABLE_RUNS | {
    "a run of other queries": ({"a": LISTS, "b": UNUSABLE["other queries"][1]}, {}),
    "no such baseline": ({"a": LISTS, "b": LISTS}, {"baseline": "c"}),
    "a system that has a column's name": ({"metric": LISTS, "b": LISTS}, {}),
    "an unknown test": ({"a": LISTS, "b": LISTS}, {"test": "z"}),
    "an unknown metric": ({"a": LISTS, "b": LISTS}, {"metrics": ["ndgc"]}),
}


def runs_there(spark: Any, runs: Any) -> Any:
    if isinstance(runs, pl.DataFrame):
        return there(spark, runs)
    return {name: there(spark, run) for name, run in runs.items()}


@pytest.mark.parametrize("what", UNUSABLE_FUSIONS)
def test_errors_of_fusion_are_the_local_ones(spark: Any, what: str) -> None:
    """And they are told at once, but for infinite scores, which are found where they are read."""
    runs, options = UNUSABLE_FUSIONS[what]
    local = said(lambda: evf.fuse(runs, **options))

    def fused() -> None:
        with local_errors():
            found = evs.fuse(runs_there(spark, runs), **options)
            if what == "an infinite score":
                found.toArrow()

    assert said(fused) == local


@pytest.mark.parametrize("what", UNUSABLE_COMPARISONS)
def test_errors_of_comparison_are_the_local_ones(spark: Any, what: str) -> None:
    runs, options = UNUSABLE_COMPARISONS[what]
    local = said(lambda: evf.compare(GRADES, runs, **options))
    assert said(lambda: evs.compare(GRADES, runs_there(spark, runs), **options)) == local


SAMPLES = pl.DataFrame({"query_id": ["1", "2"], "response": ["a", "b"], "reference": ["a", "c"]})
UNUSABLE_SAMPLES: dict[str, tuple[pl.DataFrame, dict[str, Any]]] = {
    "no rows": (SAMPLES.head(0), {}),
    "an id stands twice": (with_values(SAMPLES, query_id="1"), {}),
    "an id is null": (with_values(SAMPLES, query_id=["1", None]), {}),
    "responses are numbers": (with_values(SAMPLES, response=[1, 2]), {}),
    "responses are dates": (with_values(SAMPLES, response=date(2020, 1, 1)), {}),
    "contexts are strings": (with_values(SAMPLES, retrieved_contexts="a"), {}),
    "a name that is taken": (with_values(SAMPLES, status="x"), {}),
    "an unknown metric": (SAMPLES, {"metrics": ["token_f2"]}),
    "metrics are None": (SAMPLES, {"metrics": None}),
    "an unknown profile": (SAMPLES, {"profile": "words"}),
    "an unknown column": (SAMPLES, {"columns": {"response": "answers"}}),
}


@pytest.mark.parametrize("what", UNUSABLE_SAMPLES)
def test_errors_of_samples_are_the_local_ones(spark: Any, what: str) -> None:
    samples, options = UNUSABLE_SAMPLES[what]
    local = said(lambda: evf.per_sample(samples, **{"metrics": ["token_f1"], **options}))
    asked = {"metrics": ["token_f1"], **options}
    assert said(lambda: evs.per_sample(there(spark, samples), **asked)) == local


def test_what_a_worker_finds_names_the_bucket_and_is_the_local_error(spark: Any) -> None:
    """The bad row stands below those that are looked at beforehand."""
    run = pl.DataFrame({"query_id": [f"q{i // 10:04}" for i in range(3_000)]}).with_columns(
        doc_id=pl.format("d{}", pl.int_range(pl.len())),
        score=pl.when(pl.int_range(pl.len()) == 2_500).then(float("nan")).otherwise(1.0),
    )
    qrels = {"q0000": {"d0": 1}, "q0250": {"d2500": 1}}
    frame = there(spark, run).coalesce(1).orderBy("query_id")
    with pytest.raises(RowError) as found:
        evs.evaluate(qrels, frame, ["map"], buckets=4)
    first, _, said = str(found.value).partition(": ")
    assert re.fullmatch(r"the bucket of query 'q0\d\d\d'", first)
    assert said.startswith("the run frame holds null or NaN values: 1 in 'score'. Drop or fill")
    assert said.endswith("query_id='q0250', doc_id='d2500', score=nan")
    with pytest.raises(Exception, match=re.escape(str(found.value))):
        evs.per_query(qrels, frame, ["map"], buckets=4).toArrow()


def test_duplicates_are_refused_or_the_best_is_kept(spark: Any) -> None:
    rows = [("q1", "a", 1.0), ("q1", "x", 2.0), ("q1", "a", 3.0)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    with pytest.raises(RowError) as found_there:
        evs.evaluate(QRELS, there(spark, run), ["mrr"])
    with pytest.raises(RowError) as found_here:
        evf.evaluate(QRELS, run, ["mrr"])
    assert str(found_there.value) == str(found_here.value)
    found = evs.evaluate(QRELS, there(spark, run), ["mrr"], duplicates="best")
    assert found.per_query.rows() == [("q1", 1.0), ("q2", 0.0)]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("rrf", {"k": 20}),
        ("comb_mnz", {"norm": "zmuv"}),
        ("wsum", {"weights": [0.5, 0.25, 0.25]}),
        ("comb_sum", {"norm": "borda"}),
        ("borda", {}),
        ("condorcet", {}),
        ("comb_med", {"norm": "sum", "depth": 7}),
    ],
)
def test_fusion_is_the_local_one(
    spark: Any, handbook: Path, method: str, options: dict[str, Any]
) -> None:
    systems = handbook_systems(handbook)
    runs = {
        name: systems.filter(pl.col("system") == name).drop("system")
        for name in ("bm25", "tfidf", "minilm")
    }
    local = evf.fuse(runs, method, **options).sort("query_id", "doc_id")
    found = evs.fuse({n: there(spark, r) for n, r in runs.items()}, method, buckets=3, **options)
    assert_frame_equal(here(found, "query_id", "doc_id"), local, check_exact=True)
    if "weights" not in options:
        found = evs.fuse(there(spark, systems), method, buckets=2, **options)
        assert_frame_equal(here(found, "query_id", "doc_id"), local, check_exact=True)


def test_runs_of_several_types_are_fused(spark: Any) -> None:
    """Strings, halves as decimals, whole numbers, ranks alone: read as they are locally."""
    runs = {
        "strings": with_values(LISTS, score=["2.5", "1e-3", "-0.1"]),
        "decimals": LISTS.with_columns(pl.col("score").cast(pl.Decimal(10, 2)) / 3),
        "floats": LISTS.with_columns(score=pl.Series([0.1, 0.2, 0.3], dtype=pl.Float32)),
        "ranks": LISTS.drop("score").with_columns(rank=pl.Series([1, 2, 1])),
    }
    for names in (["strings"], ["decimals"], ["floats", "ranks"], [*runs]):
        some = {name: runs[name] for name in names}
        local = evf.fuse(some, "comb_sum", norm=None).sort("query_id", "doc_id")
        found = evs.fuse(runs_there(spark, some), "comb_sum", norm=None, buckets=2)
        assert_frame_equal(here(found, "query_id", "doc_id"), local, check_exact=True)


def test_what_a_worker_finds_in_fusion_is_the_local_error(spark: Any) -> None:
    """The row stands below those that are looked at beforehand."""
    n = 1_500
    run = pl.DataFrame({"query_id": ["q"] * n}).with_columns(
        doc_id=pl.format("d{}", pl.int_range(pl.len())),
        score=pl.int_range(pl.len()).cast(pl.String),
    )
    word = pl.when(pl.col("doc_id") == f"d{n - 1}").then(pl.lit("last")).otherwise("score")
    frame = there(spark, run.with_columns(score=word)).coalesce(1)
    fused = evs.fuse({"a": there(spark, run), "b": frame}, "comb_sum", norm=None, buckets=1)
    with pytest.raises(ColumnError) as found, local_errors():
        fused.toArrow()
    first, _, text = str(found.value).partition(": ")
    assert first == "the bucket of query 'q'"
    assert text.startswith("run 'b': a column of the run frame holds values that cannot be read")
    assert text.endswith('["last"]')


def test_queries_are_looked_for_below_the_first_rows(spark: Any) -> None:
    """The first thousand rows have no query of the qrels, and the last one has."""
    run = run_table({f"p{i:04}": {"d": 1.0} for i in range(1_100)} | {"q1": {"a": 1.0}})
    judged = there(spark, GRADES)
    for qrels in (GRADES, judged):
        found = evs.per_query(qrels, there(spark, run).coalesce(1), ["mrr"])
        assert here(found, "query_id").rows() == [("q1", 1.0), ("q2", 0.0)]


def test_a_report_that_is_pickled_keeps_its_values(spark: Any) -> None:
    report = evs.evaluate(GRADES, there(spark, LISTS), FEW)
    kept = pickle.loads(pickle.dumps(report))
    same(kept.summary, report.summary)
    assert repr(kept) == repr(report)
    with pytest.raises(OptionError, match="this report was pickled"):
        kept.documents("q1")
    with pytest.raises(OptionError, match="the qrels of this report"):
        _ = kept.qrels


def test_subtopics_are_read_from_a_path_where_a_metric_reads_them(
    spark: Any, tmp_path: Path
) -> None:
    qrels = tmp_path / "diversity.qrels"
    qrels.write_text("1 1 a 1\n1 2 a 1\n1 2 b 1\n2 1 c 1\n")
    run = run_table({"1": {"b": 3.0, "a": 2.0}, "2": {"x": 2.0, "c": 1.0}})
    found = evs.per_query(qrels, there(spark, run), BY_SUBTOPIC)
    same(found, evf.per_query(qrels, run, BY_SUBTOPIC))


def test_fusion_counts_systems_that_a_bucket_lacks(spark: Any) -> None:
    """Borda's scores give every system's list all candidates, be it empty for the query."""
    runs = {"a": run_table({"q1": {"x": 2.0, "y": 1.0}}), "b": run_table({"q2": {"x": 1.0}})}
    local = evf.fuse(runs, "comb_sum", norm="borda").sort("query_id", "doc_id")
    in_spark = {name: there(spark, run) for name, run in runs.items()}
    found = evs.fuse(in_spark, "comb_sum", norm="borda", buckets=97)
    assert_frame_equal(here(found, "query_id", "doc_id"), local, check_exact=True)
    assert local["score"].max() > 1


def test_trained_fusion_learns_here(spark: Any, handbook: Path) -> None:
    systems = handbook_systems(handbook).filter(pl.col("query_id") != "q99")
    runs = {n: systems.filter(pl.col("system") == n).drop("system") for n in ("bm25", "minilm")}
    given = {"train_qrels": handbook / "qrels" / "test.tsv", "train_runs": runs}
    local = evf.fuse(runs, "probfuse", **given).sort("query_id", "doc_id")
    in_spark = {name: there(spark, run) for name, run in runs.items()}
    found = evs.fuse(in_spark, "probfuse", buckets=3, **given)
    assert_frame_equal(here(found, "query_id", "doc_id"), local, check_exact=True)
    with pytest.raises(OptionError, match="give it train_runs"):
        evs.fuse(in_spark, "probfuse", train_qrels=given["train_qrels"])
    with pytest.raises(OptionError, match="did you mean 'rrf'"):
        evs.fuse(in_spark, "rff")


def test_comparison_is_the_local_one(spark: Any, handbook: Path) -> None:
    qrels = evf.read_qrels(handbook / "qrels" / "test.tsv")
    systems = handbook_systems(handbook).filter(pl.col("query_id") != "q99")
    runs = {
        name: systems.filter(pl.col("system") == name).drop("system")
        for name in ("tfidf", "bm25", "minilm")
    }
    local = evf.compare(qrels, runs, ["ndcg@10", "map"], baseline="bm25", resamples=500)
    in_spark = {name: there(spark, run) for name, run in runs.items()}
    asked = {"metrics": ["ndcg@10", "map"], "baseline": "bm25", "resamples": 500, "buckets": 3}
    found = evs.compare(there(spark, qrels), in_spark, **asked)
    same(found.pairs, local.pairs)
    same(found.summary, local.summary)
    assert repr(found) == repr(local)
    by_column = evs.compare(qrels, there(spark, systems), **asked)
    assert sorted(by_column.systems) == sorted(local.systems)


def test_samples_are_scored_as_locally(spark: Any, handbook: Path) -> None:
    samples = evf.read_samples(handbook / "samples.parquet")
    asked = ["exact_match", "token_f1", "context_recall", "context_coverage@0.8"]
    found = evs.per_sample(there(spark, samples), asked)
    local = evf.per_sample(samples, asked)
    assert found.columns == local.columns
    assert_frame_equal(here(found, "query_id"), local.sort("query_id"), check_exact=True)


def test_samples_keep_columns_that_only_spark_knows(spark: Any) -> None:
    frame = spark.sql(
        "select 'a' as id, 'It is Paris.' as answer, 'Paris' as ground_truth, "
        "map('k', 1) as m, timestamp '2020-01-01 00:00:00' as t union all "
        "select 'b', null, 'four', map('l', 2), timestamp '2021-01-01 00:00:00'"
    )
    found = evs.per_sample(frame, ["token_f1"])
    assert dict(found.dtypes)["m"] == "map<string,int>"
    rows = {row.query_id: row for row in found.collect()}
    assert rows["a"].token_f1 == 0.5
    assert rows["a"].m == {"k": 1}
    assert rows["b"].status.token_f1 == "missing_response"
    with pytest.raises(ColumnError, match="need a query_id"):
        evs.per_sample(frame.drop("id"), ["token_f1"])
    with pytest.raises(MetricError, match="token_f1"):
        evs.per_sample(frame, ["token_f2"])


def in_own_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own_path = [path for path in [os.environ.get("PYTHONPATH")] if path]
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), *own_path])}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **path, **environment},
        check=False,
    )


CLUSTERED = """
    import os, sys, warnings
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    import polars as pl
    from pyspark.sql import SparkSession
    import evalframe as evf
    from evalframe import spark as evs
    from tests.cases import collection, qrels_table, run_table
    from tests.test_executor import FEW, SYSTEMS

    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    qrels, run = collection(8)
    judged = spark.createDataFrame(qrels_table(qrels).to_arrow())
    listed = spark.createDataFrame(run_table(run).to_arrow())
    found = evs.evaluate(judged, listed, FEW, buckets=5)
    assert found.per_query.equals(evf.per_query(qrels, run, FEW))
    systems = spark.createDataFrame(SYSTEMS.to_arrow())
    fused = pl.DataFrame(evs.fuse(systems, "rrf", buckets=2).toArrow()).sort("query_id", "doc_id")
    assert fused.equals(evf.fuse(SYSTEMS, "rrf").sort("query_id", "doc_id"))
    spark.stop()
    print("all the same")
"""


def test_workers_of_a_cluster_give_the_local_values(tmp_path: Path) -> None:
    """Two executors, each a process that was sent the work; they write below Spark's home."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("there is no Java here")
    home = tmp_path / "spark"
    home.mkdir()
    for place in Path(pyspark.__file__).parent.iterdir():
        (home / place.name).symlink_to(place)
    alone = {"SPARK_HOME": str(home), "SPARK_LOCAL_HOSTNAME": "localhost"}
    run = in_own_process(CLUSTERED, **alone)
    assert run.stdout.strip().endswith("all the same"), run.stderr[-3000:]


CONNECTED = """
    import os, sys, warnings
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    import polars as pl
    from polars.testing import assert_frame_equal
    from pyspark.sql import SparkSession
    import evalframe as evf
    from evalframe import spark as evs
    from tests.cases import collection, qrels_table, run_table
    from tests.test_executor import PLAIN

    {session}
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    qrels, run = collection(6)
    systems = pl.concat(
        run_table(run).with_columns(system=pl.lit(name), score=sign * pl.col("score"))
        for name, sign in (("up", 1.0), ("down", -1.0))
    )
    judged = spark.createDataFrame(qrels_table(qrels).to_arrow())
    listed = spark.createDataFrame(systems.to_arrow())
    found = pl.DataFrame(evs.per_query(judged, listed, PLAIN, buckets=3).toArrow())
    local = evf.per_query(qrels, systems, PLAIN)
    assert_frame_equal(found.sort("system", "query_id"), local, check_exact=True)
    report = evs.evaluate(judged, listed, ["map"], buckets=3)
    assert repr(report) == repr(evf.evaluate(qrels, systems, ["map"]))
    query = local["query_id"][0]
    assert report.documents(query, system="up").height > 0
    assert report.to_spark().count() == local.height
    try:
        evs.evaluate(judged, listed.union(listed.limit(1)), ["map"], buckets=3)
    except evf.EvalframeError as error:
        assert type(error).__name__ == "RowError", repr(error)
    else:
        raise SystemExit("duplicates went unnoticed")
    fused = pl.DataFrame(evs.fuse(listed, "rrf", buckets=2).toArrow()).sort("query_id", "doc_id")
    alike = evf.fuse(systems, "rrf").sort("query_id", "doc_id")
    assert_frame_equal(fused, alike, check_exact=True)
    rows = [("a", "It is Paris.", "Paris"), ("b", None, "four")]
    samples = spark.createDataFrame(rows, "query_id string, response string, reference string")
    scored = evs.per_sample(samples, ["token_f1"]).toArrow()
    assert sorted(scored["token_f1"].to_pylist()) == [0.0, 0.5]
    print("all the same")
"""
REMOTE = """spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "OFF").getOrCreate()
    )"""
SAIL = """from pysail.spark import SparkConnectServer
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    address = f"sc://127.0.0.1:{server.listening_address[1]}"
    spark = SparkSession.builder.remote(address).getOrCreate()"""


@pytest.mark.parametrize("session", [REMOTE, SAIL], ids=["spark", "sail"])
def test_spark_connect_gives_the_local_values(session: str) -> None:
    """Without a JVM on this side: Spark's own server, and Sail's."""
    if session is REMOTE and not shutil.which("java"):
        pytest.skip("there is no Java here for the server")
    pytest.importorskip("grpc", reason="the extra pyspark[connect] is not installed")
    pytest.importorskip("pysail" if session is SAIL else "pyspark", reason="it is not installed")
    run = in_own_process(CONNECTED.replace("{session}", session))
    if "unsupported PySpark version" in run.stderr:
        pytest.skip("Sail does not take this version of PySpark")
    assert run.stdout.strip().endswith("all the same"), run.stderr[-3000:]
