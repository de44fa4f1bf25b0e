"""Spark frames have the values of local ones: with a JVM, and through Spark Connect."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe import spark as evs
from evalframe.errors import ColumnError, EmptyError, FrameError, MetricError, OptionError, RowError
from tests.cases import Qrels, Run, collection, qrels_and_runs, qrels_table, run_table
from tests.test_executor import (
    BY_SUBTOPIC,
    CONTRACTS,
    FEW,
    PLAIN,
    by_subtopic,
    handbook_systems,
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
    with pytest.raises(OptionError, match=r"report.fetch\(query_id"):
        _ = found.run
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


QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}


@pytest.mark.parametrize(
    ("qrels", "run", "options", "error", "match"),
    [
        (QRELS, {"q1": {"a": None}, "q2": {"b": 1.0}}, {}, RowError, "1 in 'score'"),
        (QRELS, {"q1": {"a": float("nan")}}, {}, RowError, "null or NaN values"),
        (QRELS, {"x1": {"a": 1.0}}, {}, EmptyError, "the run has no query of the qrels"),
        ({"q1": {"a": 12.7}}, {"q1": {"a": 1.0, "b": 0.0}}, {}, FrameError, "swapped"),
        (QRELS, {"q1": {"a": 1.0}}, {"metrics": ["ndgc"]}, MetricError, "did you mean"),
        (QRELS, {"q1": {"a": 1.0}}, {"ties": "given"}, OptionError, "needs a rank column"),
        (QRELS, {"q1": {"a": 1.0}}, {"buckets": 0}, OptionError, "buckets=0"),
        (QRELS, {"q1": {"a": 1.0}}, {"metrics": ["alpha_ndcg@5"]}, MetricError, "subtopic"),
    ],
)
def test_errors_are_the_local_ones(
    spark: Any, qrels: Qrels, run: Any, options: dict[str, Any], error: type, match: str
) -> None:
    asked: dict[str, Any] = {"metrics": ["map"], **options}
    frame = there(spark, run_table(run))
    with pytest.raises(error, match=match):
        evs.evaluate(
            there(spark, qrels_table(qrels).cast({"relevance": pl.Float64})), frame, **asked
        )


def test_columns_are_checked_before_anything_runs(spark: Any) -> None:
    run = there(spark, run_table({"q1": {"a": 1.0}}))
    with pytest.raises(MetricError, match="'m' gives String"):
        evs.per_query(QRELS, run, [pl.col("doc_id").first().alias("m")])
    with pytest.raises(ColumnError, match="'score'"):
        evs.per_query(QRELS, run.drop("score"), ["map"])
    with pytest.raises(ColumnError, match="needs strings or whole numbers"):
        evs.per_query(QRELS, run.selectExpr("1.5D as query_id", "doc_id", "score"), ["map"])
    with pytest.raises(ColumnError, match="swapped"):
        evs.per_query(run, there(spark, qrels_table(QRELS)), ["map"])
    with pytest.raises(FrameError, match="must be a Spark frame"):
        evs.per_query(QRELS, {"q1": {"a": 1.0}}, ["map"])
    with pytest.raises(EmptyError, match="the run frame has no rows"):
        evs.per_query(QRELS, run.where("false"), ["map"])


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
    other = there(spark, run_table({"x": {"d": 1.0}}))
    with pytest.raises(EmptyError, match="run 'nothing'"):
        evs.compare(qrels, in_spark | {"nothing": other}, ["map"], buckets=3)


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
    code = textwrap.dedent(CONNECTED.replace("{session}", session))
    own_path = [path for path in [os.environ.get("PYTHONPATH")] if path]
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *own_path])},
        check=False,
    )
    if "unsupported PySpark version" in run.stderr:
        pytest.skip("Sail does not take this version of PySpark")
    assert run.stdout.strip().endswith("all the same"), run.stderr[-3000:]
