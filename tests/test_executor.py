"""A run cut into buckets has the values of the whole, on any executor, and no work is lost."""

from __future__ import annotations

import importlib.util
import io
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe import executor as evx
from evalframe.errors import (
    EmptyError,
    EvalframeError,
    OptionError,
    ReadError,
    RowError,
)
from evalframe.executor import work as work_room
from evalframe.executor.folders import buckets_of
from evalframe.metrics.catalogue import CATALOGUE
from evalframe.ranking.subtopics import SUBTOPICS, Novelty
from tests.cases import Qrels, Run, collection, qrels_and_runs, qrels_table, run_table
from tests.conftest import ROOT

FEW = ["ndcg@10", "map", "P_5", "num_rel", "rbp@10", "expected_ndcg@5"]


def needs_subtopics(spelling: str) -> bool:
    reads = evf.metrics.parse(spelling).reads()
    return any(column == SUBTOPICS or Novelty.of(column) is not None for column in reads)


SPELLINGS = sorted(
    {definition.example for definition in CATALOGUE.values()}
    | {name for name, definition in CATALOGUE.items() if not definition.needs_cutoff}
)
PLAIN = [spelling for spelling in SPELLINGS if not needs_subtopics(spelling)]
BY_SUBTOPIC = [spelling for spelling in SPELLINGS if needs_subtopics(spelling)]

CONTRACTS: list[dict[str, Any]] = [
    {},
    {"queries": "both"},
    {"queries": "positive", "rel": 2},
    {"ties": "doc_asc", "score_dtype": pl.Float32},
    {"judged_only": True, "depth": 3},
]


def same(found: pl.DataFrame, local: pl.DataFrame) -> None:
    """To the last bit; a value that is NaN here is NaN there."""
    assert_frame_equal(found, local, check_exact=True)


def by_subtopic(qrels: Qrels) -> pl.DataFrame:
    """Judgements of one to three subtopics for each document."""
    table = qrels_table(qrels)
    numbered = table.with_row_index("row")
    return pl.concat(
        numbered.filter(pl.col("row") % 3 >= part).select(
            "query_id",
            "doc_id",
            pl.lit(f"s{part}").alias("subtopic"),
            (pl.col("relevance") - part).alias("relevance"),
        )
        for part in range(3)
    )


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def small(tmp_path: Path) -> tuple[Qrels, Run, Path]:
    qrels, run = collection(7)
    evx.bucket(run, tmp_path / "run", 5)
    return qrels, run, tmp_path / "run"


def handbook_systems(handbook: Path) -> pl.DataFrame:
    """Three systems, of which one lacks a query and one has a query of its own."""
    runs = [
        evf.read_run(handbook / "runs" / f"{name}.parquet").select(
            pl.lit(name).alias("system"), "query_id", "doc_id", "score"
        )
        for name in ("bm25", "tfidf", "minilm")
    ]
    lacking = (pl.col("system") != "bm25") | (pl.col("query_id") != "q18")
    own = runs[0].head(3).with_columns(query_id=pl.lit("q99"))
    return pl.concat([*runs, own]).filter(lacking)


def test_every_metric_of_the_handbook_is_the_local_one(
    handbook: Path, tmp_path: Path, processes: Executor
) -> None:
    qrels, run = evf.read_qrels(handbook / "qrels" / "test.tsv"), handbook_systems(handbook)
    evx.bucket(run, tmp_path / "run", 6)
    found = evx.per_query(qrels, tmp_path / "run", PLAIN, executor=processes)
    same(found, evf.per_query(qrels, run, PLAIN))


@pytest.mark.slow
def test_every_metric_of_cast_is_the_local_one(
    retrieval_data: Path, tmp_path: Path, processes: Executor
) -> None:
    """Real runs with ties, unjudged queries and five grades."""
    folder = retrieval_data / "treccast2021"
    qrels = evf.read_qrels(next(folder.glob("*.qrel*")))
    for path in sorted(folder.glob("*.run*")):
        run = evf.read_run(path)
        evx.bucket(run, tmp_path / path.name, 7)
        for executor in (None, processes):
            found = evx.per_query(qrels, tmp_path / path.name, PLAIN, executor=executor)
            same(found, evf.per_query(qrels, run, PLAIN))


@pytest.mark.parametrize("seed", [1, 2])
def test_every_metric_by_subtopic_is_the_local_one(seed: int, tmp_path: Path) -> None:
    qrels, run = collection(seed)
    judged = by_subtopic(qrels)
    evx.bucket(run, tmp_path / "run", 4)
    local = evf.per_query(judged, run, BY_SUBTOPIC)
    same(evx.per_query(judged, tmp_path / "run", BY_SUBTOPIC), local)
    same(evx.per_query(evf.prepare(judged), tmp_path / "run", BY_SUBTOPIC), local)


def test_subtopics_are_read_from_a_path_where_a_metric_reads_them(tmp_path: Path) -> None:
    """They stand in the second column of TREC qrels, which is passed over otherwise."""
    qrels = tmp_path / "diversity.qrels"
    qrels.write_text("1 1 a 1\n1 2 a 1\n1 2 b 1\n2 1 c 1\n")
    run = {"1": {"b": 3.0, "a": 2.0}, "2": {"x": 2.0, "c": 1.0}}
    evx.bucket(run, tmp_path / "run", 2)
    found = evx.evaluate(qrels, tmp_path / "run", BY_SUBTOPIC)
    local = evf.evaluate(qrels, run, BY_SUBTOPIC)
    same(found.per_query, local.per_query)
    same(found.documents("1"), local.documents("1"))


@settings(deadline=None, max_examples=25)
@given(qrels_and_runs(), st.integers(1, 6), st.sampled_from(CONTRACTS))
def test_any_cut_gives_the_values_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    frames: tuple[Qrels, Run],
    n: int,
    contract: dict[str, Any],
) -> None:
    qrels, run = qrels_table(frames[0]), run_table(frames[1])
    folder = tmp_path_factory.mktemp("cut") / "run"
    evx.bucket(run, folder, n)
    found = evx.per_query(qrels, folder, PLAIN, **contract)
    same(found, evf.per_query(qrels, run, PLAIN, **contract))


@pytest.mark.parametrize("spelling", PLAIN)
def test_a_value_does_not_hang_on_the_queries_beside_it(spelling: str) -> None:
    """What makes buckets possible: a query alone has the value that it has among others."""
    qrels, run = collection(3)
    together = evf.per_query(qrels, run, [spelling])
    alone = [
        evf.per_query({query: qrels[query]}, {query: run[query]}, [spelling])
        for query in sorted(qrels.keys() & run.keys())
    ]
    same(pl.concat(alone), together.filter(pl.col("query_id").is_in([*run])))


def test_the_report_is_the_local_one(handbook: Path, tmp_path: Path) -> None:
    qrels, run = evf.read_qrels(handbook / "qrels" / "test.tsv"), handbook_systems(handbook)
    evx.bucket(run, tmp_path / "run", 3)
    local = evf.evaluate(qrels, run, FEW, queries="both")
    with ThreadPoolExecutor(2) as threads:
        found = evx.evaluate(qrels, tmp_path / "run", FEW, queries="both", executor=threads)
    same(found.per_query, local.per_query)
    same(found.counts, local.counts)
    same(found.summary, local.summary)
    for query, system in (("q18", "minilm"), ("q18", "bm25"), ("q99", "bm25")):
        same(found.documents(query, system=system), local.documents(query, system=system))


def test_the_order_of_rows_is_kept_in_a_bucket(tmp_path: Path) -> None:
    """`ties="given"` without ranks goes by the order of rows."""
    docs = [f"d{i}" for i in range(50)]
    run = pl.DataFrame(
        [(f"q{q}", doc, 1.0) for q in range(40) for doc in docs[q:] + docs[:q]],
        schema=["query_id", "doc_id", "score"],
        orient="row",
    )
    qrels = {f"q{q}": {"d3": 1, "d40": 2} for q in range(40)}
    evx.bucket(run.lazy(), tmp_path / "run", 3)
    found = evx.per_query(qrels, tmp_path / "run", ["mrr", "map"], ties="given")
    same(found, evf.per_query(qrels, run, ["mrr", "map"], ties="given"))
    assert found["mrr"].n_unique() > 10


def test_a_bucket_may_be_any_parquet_file_that_shares_no_query(tmp_path: Path) -> None:
    qrels, run = collection(5)
    table = run_table(run).with_columns(at=pl.col("query_id").hash() % 3)
    (tmp_path / "run").mkdir()
    for at, part in table.partition_by("at", as_dict=True).items():
        part.drop("at").rename({"query_id": "qid"}).write_parquet(tmp_path / f"run/{at[0]}.parquet")
    same(evx.per_query(qrels, tmp_path / "run", FEW), evf.per_query(qrels, run, FEW))


def test_queries_in_two_buckets_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for i, doc in enumerate("ab"):
        run_table({"q1": {doc: 1.0}, f"p{i}": {doc: 1.0}}).write_parquet(
            tmp_path / f"run/{i}.parquet"
        )
    with pytest.raises(RowError, match=r"not cut by query[\s\S]*q1"):
        evx.per_query({"q1": {"a": 1}}, tmp_path / "run", ["mrr"])


def test_what_is_done_is_not_done_again(
    small: tuple[Qrels, Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, _, folder = small
    results = tmp_path / "values"
    first = evx.per_query(qrels, folder, FEW, results=results)
    written = {path: path.stat().st_mtime_ns for path in results.glob("*.parquet")}
    assert len(written) == 5
    gone = sorted(written)[2]
    gone.unlink()
    scored = []
    real = work_room.score_bucket
    monkeypatch.setattr(work_room, "score_bucket", lambda *a: scored.append(1) or real(*a))
    same(evx.per_query(qrels, folder, FEW, results=results), first)
    assert len(scored) == 1
    assert {p for p, t in written.items() if p.stat().st_mtime_ns != t} == {gone}
    evx.evaluate(qrels, folder, FEW, results=results)
    assert len(scored) == 1


def test_a_bucket_that_has_changed_is_scored_anew(tmp_path: Path) -> None:
    qrels, run = collection(9)
    evx.bucket(run, tmp_path / "run", 2)
    evx.per_query(qrels, tmp_path / "run", FEW, results=tmp_path / "values")
    turned = {q: {d: -s for d, s in docs.items()} for q, docs in run.items()}
    evx.bucket(turned, tmp_path / "run", 2, overwrite=True)
    found = evx.per_query(qrels, tmp_path / "run", FEW, results=tmp_path / "values")
    same(found, evf.per_query(qrels, turned, FEW))


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("contract", {"depth": 3}),
        ("metrics", {"metrics": ["map"]}),
        ("qrels", {"qrels": {"q1": {"a": 1}}}),
    ],
)
def test_values_of_other_work_are_never_mixed_in(
    small: tuple[Qrels, Run, Path], tmp_path: Path, what: str, change: dict[str, Any]
) -> None:
    qrels, _, folder = small
    asked: dict[str, Any] = {"qrels": qrels, "metrics": ["mrr"], "results": tmp_path / "values"}
    evx.per_query(run=folder, **asked)
    with pytest.raises(OptionError, match=rf"other work \({what}\)"):
        evx.per_query(run=folder, **(asked | change))


def other_qrels(folder: Path) -> Qrels:
    """One judgement for each query of a bucket."""
    queries = pl.read_parquet(buckets_of(folder)[0].path)["query_id"]
    return {query: {"a": 1} for query in queries}


def other_run(folder: Path) -> Path:
    """The same queries in the same buckets, and all lists turned round."""
    run = pl.concat(pl.read_parquet(file) for file in folder.rglob("*.parquet"))
    evx.bucket(run.with_columns(-pl.col("score")), folder.parent / "other", 5)
    return folder.parent / "other"


@pytest.mark.parametrize(
    ("said", "change"),
    [
        (r"other work \(contract\)", lambda folder: {"depth": 3}),
        (r"other work \(metrics\)", lambda folder: {"metrics": ["map"]}),
        (r"other work \(qrels\)", lambda folder: {"qrels": other_qrels(folder)}),
        ("values of another run", lambda folder: {"run": other_run(folder)}),
    ],
)
def test_values_that_another_call_writes_meanwhile_are_never_mixed_in(
    small: tuple[Qrels, Run, Path], tmp_path: Path, said: str, change: Callable[[Path], Any]
) -> None:
    """The other call began when nothing was there, so that it writes over what is there now."""
    qrels, _, folder = small
    mine, others = tmp_path / "values", tmp_path / "others"
    asked: dict[str, Any] = {"qrels": qrels, "run": folder, "metrics": ["mrr"]}
    evx.per_query(**(asked | change(folder)), results=others)

    class WithAnother(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future = super().submit(fn, *args, **kwargs)
            future.result()
            shutil.copytree(others, mine, dirs_exist_ok=True)
            return future

    with WithAnother(1) as pool, pytest.raises(OptionError, match=said):
        evx.per_query(**asked, results=mine, executor=pool)


def test_a_bucket_that_fails_is_tried_again(
    small: tuple[Qrels, Run, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run, folder = small
    tries: list[int] = []
    real = work_room.score_bucket

    def fails_once(*args: Any) -> pl.DataFrame:
        tries.append(1)
        if len(tries) == 2:
            raise OSError("the disk is gone")
        return real(*args)

    monkeypatch.setattr(work_room, "score_bucket", fails_once)
    with ThreadPoolExecutor(2) as threads:
        same(evx.per_query(qrels, folder, FEW, executor=threads), evf.per_query(qrels, run, FEW))
    assert len(tries) == 6


@pytest.mark.parametrize("pool", [None, 2])
def test_a_bucket_that_keeps_failing_is_named(
    small: tuple[Qrels, Run, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pool: int | None,
) -> None:
    qrels, _, folder = small
    broken = buckets_of(folder)[-1]
    first = pl.read_parquet(broken.path)["query_id"][0]
    own = set(pl.read_parquet(broken.path)["query_id"])
    real = work_room.score_bucket
    tries: list[int] = []

    def fails(judged: pl.DataFrame, run: Any, *rest: Any) -> pl.DataFrame:
        if set(run["query_id"]) & own:
            tries.append(1)
            raise OSError("the disk is gone")
        return real(judged, run, *rest)

    monkeypatch.setattr(work_room, "score_bucket", fails)
    executor = pool and ThreadPoolExecutor(pool)
    with pytest.raises(evf.EvalframeError, match=f"{broken.name} .first query {first!r}") as failed:
        evx.per_query(qrels, folder, FEW, executor=executor, results=tmp_path / "values", retries=2)
    assert "OSError: the disk is gone (tried 3 times)" in str(failed.value)
    assert len(tries) == 3
    assert len(list((tmp_path / "values").glob("*.parquet"))) == 4
    if executor:
        executor.shutdown()


def test_rows_that_cannot_be_used_are_said_once(tmp_path: Path, processes: Executor) -> None:
    """What is wrong with the data stays wrong; the error is the local one, with the bucket."""
    rows = [(f"q{i}", "d", float("nan") if i == 5 else 1.0) for i in range(9)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    (tmp_path / "run").mkdir()
    for i in range(3):
        run.slice(3 * i, 3).write_parquet(tmp_path / f"run/part-{i}.parquet")
    with pytest.raises(RowError, match=r"part-1 .first query 'q3'.*NaN values: 1 in 'score'"):
        evx.per_query({"q1": {"d": 1}}, tmp_path / "run", ["mrr"], executor=processes)


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """SIGKILL in the midst of the work; the next call does what is missing, and nothing twice."""
    n_queries, n_docs, n_buckets = 3_000, 400, 12
    run = pl.DataFrame({"query": range(n_queries)}).join(
        pl.DataFrame({"doc": range(n_docs)}), how="cross"
    )
    run = run.select(
        query_id=pl.format("q{}", "query"),
        doc_id=pl.format("d{}", (pl.col("doc") * 7919 + pl.col("query")) % 5_000),
        score=-pl.col("doc").cast(pl.Float64),
    )
    qrels = run.filter(pl.int_range(pl.len()) % 37 == 0).select(
        "query_id", "doc_id", relevance=pl.lit(1)
    )
    evx.bucket(run, tmp_path / "run", n_buckets)
    results = tmp_path / "values"
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))

    def kill_when_something_is_done() -> None:
        while not list(results.glob("*.parquet")):
            time.sleep(0.001)
        for pid in list(pool._processes):
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_when_something_is_done)
    killer.start()
    with pytest.raises(evf.EvalframeError, match="the executor broke at bucket"):
        evx.per_query(qrels, tmp_path / "run", FEW, executor=pool, results=results)
    killer.join()
    pool.shutdown()
    kept = {path: path.stat().st_mtime_ns for path in results.glob("*.parquet")}
    assert 1 <= len(kept) < n_buckets
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as again:
        found = evx.per_query(qrels, tmp_path / "run", FEW, executor=again, results=results)
    assert len(list(results.glob("*.parquet"))) == n_buckets
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    same(found, evf.per_query(qrels, run, FEW))


def test_forks_are_refused(small: tuple[Qrels, Run, Path]) -> None:
    """Polars waits for ever in a process that was forked."""
    qrels, _, folder = small
    forks = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    with forks, pytest.raises(OptionError, match=r"get_context\('spawn'\)"):
        evx.per_query(qrels, folder, FEW, executor=forks)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_is_an_executor(small: tuple[Qrels, Run, Path]) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    qrels, run, folder = small
    with distributed.Client(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as client:
        found = evx.per_query(qrels, folder, FEW, executor=client.get_executor())
    same(found, evf.per_query(qrels, run, FEW))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_loky_is_an_executor(small: tuple[Qrels, Run, Path]) -> None:
    loky = pytest.importorskip("loky", reason="loky is not installed")
    qrels, run, folder = small
    with loky.get_reusable_executor(2, context="spawn") as pool:
        found = evx.per_query(qrels, folder, FEW, executor=pool)
    same(found, evf.per_query(qrels, run, FEW))


class RayExecutor(Executor):
    """Ray's tasks as an executor: it has none of its own."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        import ray

        return ray.remote(fn).remote(*args, **kwargs).future()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_can_be_an_executor(small: tuple[Qrels, Run, Path], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    qrels, run, folder = small
    (tmp_path / "bad").mkdir()
    UNUSABLE["a score is null"][1].write_parquet(tmp_path / "bad" / "part.parquet")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        same(
            evx.per_query(qrels, folder, FEW, executor=RayExecutor()),
            evf.per_query(qrels, run, FEW),
        )
        with pytest.raises(RowError, match=r"^bucket part .first query 'q1'.*1 in 'score'"):
            evx.per_query(GRADES, tmp_path / "bad", FEW, executor=RayExecutor())
    finally:
        ray.shutdown()


def test_an_error_that_an_engine_wraps_is_the_local_one(tmp_path: Path) -> None:
    """As Ray does: its own error, with the worker's as its cause."""

    class Wrapped(Exception):
        def __init__(self, cause: Exception) -> None:
            super().__init__(f"a task failed\n  File …\n{cause}")
            self.cause = cause

    class Wrapping(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            def work() -> None:
                try:
                    fn(*args, **kwargs)
                except EvalframeError as error:
                    raise Wrapped(error) from error

            return super().submit(work)

    UNUSABLE["a score is null"][1].write_parquet(tmp_path / "part.parquet")
    with Wrapping(1) as pool, pytest.raises(RowError, match=r"^bucket part .first query 'q1'"):
        evx.per_query(GRADES, tmp_path, FEW, executor=pool)


def test_own_metrics_need_not_be_known_to_workers(
    small: tuple[Qrels, Run, Path], processes: Executor
) -> None:
    qrels, run, folder = small
    own = (pl.col("rank") * (pl.col("relevance") > 0)).max().alias("deepest")
    found = evx.per_query(qrels, folder, [own, "map"], executor=processes)
    same(found, evf.per_query(qrels, run, [own, "map"]))


def test_nothing_is_left_beside_the_run(small: tuple[Qrels, Run, Path]) -> None:
    qrels, _, folder = small
    evx.per_query(qrels, folder, FEW)
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_what_was_left_by_calls_that_were_killed_is_removed_after_a_week(
    small: tuple[Qrels, Run, Path], tmp_path: Path
) -> None:
    qrels, _, folder = small
    results = tmp_path / "values"
    left = [
        *(tmp_path / f".run.values.{end}" for end in ("2h8m4cnq", "_h8m4cn_")),
        *(results / f".{name}.2h8m4cnq" for name in ("query_bucket=0.parquet", "qrels-0a")),
    ]
    foreign = [tmp_path / ".run.values", tmp_path / ".ran.values.2h8m4cnq", results / ".2h8m4cnq"]
    for place in [*left, *foreign]:
        place.mkdir(parents=True)
        (place / "part.parquet").write_text("half")
    evx.per_query(qrels, folder, FEW)
    evx.per_query(qrels, folder, FEW, results=results)
    assert all(place.exists() for place in [*left, *foreign])
    long_ago = time.time() - timedelta(days=8).total_seconds()
    for place in [*left, *foreign]:
        os.utime(place, (long_ago, long_ago))
    evx.per_query(qrels, folder, FEW)
    evx.per_query(qrels, folder, FEW, results=results)
    assert [place for place in left if place.exists()] == []
    assert all(place.exists() for place in foreign)


def test_a_folder_that_takes_nothing_is_named_and_how_to_choose_another(
    small: tuple[Qrels, Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run, folder = small
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "values"
    with pytest.raises(NotADirectoryError, match=rf"results=… can name another.*'{below}'$"):
        evx.per_query(qrels, folder, FEW, results=below)

    def refused(prefix: str, dir: Path) -> str:
        raise PermissionError(13, "Permission denied", f"{dir}/{prefix}2h8m4cnq")

    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    for place, options in ((tmp_path, {}), (tmp_path / "own", {"results": tmp_path / "own"})):
        with pytest.raises(PermissionError) as found:
            evx.per_query(qrels, folder, FEW, **options)
        assert str(found.value) == (
            f"[Errno 13] Permission denied (results=… can name another folder): '{place}'"
        )
    with pytest.raises(PermissionError, match=rf"'{tmp_path / 'new'}'$"):
        evx.bucket(run, tmp_path / "new", 2)


def test_files_that_do_not_go_together_are_refused_before_the_work(tmp_path: Path) -> None:
    folder, results = tmp_path / "run", tmp_path / "values"
    folder.mkdir()
    SYSTEMS.filter(pl.col("query_id") == "q1").write_parquet(folder / "a.parquet")
    LISTS.filter(pl.col("query_id") == "q2").write_parquet(folder / "b.parquet")
    local = said(lambda: evf.per_query(GRADES, folder, FEW))
    for qrels in (GRADES, evf.prepare(GRADES)):
        for door in (evx.per_query, evx.evaluate):
            assert said(lambda q=qrels, d=door: d(q, folder, FEW, results=results)) == local
    assert local[0] == "ColumnError"
    assert not results.exists()


GRADES = qrels_table({"q1": {"a": 1, "b": 0}, "q2": {"b": 1}})
LISTS = run_table({"q1": {"a": 2.0, "x": 1.0}, "q2": {"b": 1.0}})
SYSTEMS = pl.concat(LISTS.with_columns(system=pl.lit(name)) for name in ("s", "t"))


def with_values(frame: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """The frame with other values in some columns: a list of them, or one for all rows."""
    return frame.with_columns(
        pl.Series(name, values) if isinstance(values, list) else pl.lit(values).alias(name)
        for name, values in columns.items()
    )


# What no evaluation can use: qrels, run and options. Each door says of it what the local one says.
UNUSABLE: dict[str, tuple[Any, pl.DataFrame, dict[str, Any]]] = {
    "a score is null": (GRADES, with_values(LISTS, score=[1.0, None, 2.0]), {}),
    "a score is NaN": (GRADES, with_values(LISTS, score=[1.0, float("nan"), 2.0]), {}),
    "a document is null": (GRADES, with_values(LISTS, doc_id=["a", None, "b"]), {}),
    "a query is null": (GRADES, with_values(LISTS, query_id=["q1", None, "q2"]), {}),
    "a system is null": (GRADES, with_values(SYSTEMS, system=[None, *"sssss"]), {}),
    "a rank is null": (GRADES, with_values(LISTS, rank=[1, None, 1]), {"ties": "given"}),
    "a row stands twice": (GRADES, pl.concat([LISTS, LISTS.head(1)]), {}),
    "a row of a system stands twice": (GRADES, pl.concat([SYSTEMS, SYSTEMS.head(1)]), {}),
    "a score is a word": (GRADES, with_values(LISTS, score=["1", "good", "2"]), {}),
    "scores are dates": (GRADES, with_values(LISTS, score=date(2020, 1, 1)), {}),
    "scores are durations": (GRADES, with_values(LISTS, score=timedelta(1)), {}),
    "scores are bytes": (GRADES, with_values(LISTS, score=b"1"), {}),
    "scores are lists": (GRADES, with_values(LISTS, score=[[1], [2], [3]]), {}),
    "scores are structs": (GRADES, with_values(LISTS, score=[{"a": 1}] * 3), {}),
    "queries are fractions": (GRADES, with_values(LISTS, query_id=[1.5, 1.5, 2.5]), {}),
    "documents are decimals": (
        GRADES,
        LISTS.with_columns(doc_id=pl.lit("1.25").cast(pl.Decimal(10, 2))),
        {},
    ),
    "documents are truths": (GRADES, with_values(LISTS, doc_id=[True, False, True]), {}),
    "no scores": (GRADES, LISTS.drop("score"), {}),
    "no documents": (GRADES, LISTS.drop("doc_id"), {}),
    "no known column": (GRADES, LISTS.select(a="query_id", b="doc_id", c="score"), {}),
    "no rows": (GRADES, LISTS.head(0), {}),
    "no judgements": (GRADES.head(0), LISTS, {}),
    "other queries": (GRADES, with_values(LISTS, query_id=["x1", "x1", "x2"]), {}),
    "other queries in all systems": (GRADES, with_values(SYSTEMS, query_id="x1"), {}),
    "arguments are swapped": (LISTS, GRADES, {}),
    "values are swapped": (
        with_values(GRADES, relevance=[12.7, 3.2, 1.0]),
        with_values(LISTS, score=[1.0, 0.0, 1.0]),
        {},
    ),
    "a grade is null": (with_values(GRADES, relevance=[1, None, 0]), LISTS, {}),
    "a grade is infinite": (with_values(GRADES, relevance=[1.0, float("inf"), 0.0]), LISTS, {}),
    "a grade is a word": (with_values(GRADES, relevance=["1", "good", "0"]), LISTS, {}),
    "grades are dates": (with_values(GRADES, relevance=date(2020, 1, 1)), LISTS, {}),
    "no grades": (GRADES.drop("relevance"), LISTS, {}),
    "a judged document is null": (with_values(GRADES, doc_id=["a", None, "b"]), LISTS, {}),
    "a judgement stands twice": (pl.concat([GRADES, GRADES.head(1)]), LISTS, {}),
    "qrels are a number": (3, LISTS, {}),
    "qrels are a list": ([1, 2], LISTS, {}),
    "qrels are nothing": ({}, LISTS, {}),
    "qrels are nowhere": ("nowhere.qrels", LISTS, {}),
    "an unknown metric": (GRADES, LISTS, {"metrics": ["ndgc"]}),
    "no metric": (GRADES, LISTS, {"metrics": []}),
    "metrics are None": (GRADES, LISTS, {"metrics": None}),
    "two metrics of one name": (
        GRADES,
        LISTS,
        {"metrics": [pl.col("rank").max().alias("m"), pl.col("rank").min().alias("m")]},
    ),
    "a metric is a word": (GRADES, LISTS, {"metrics": [pl.col("doc_id").first().alias("m")]}),
    "a metric is a list": (GRADES, LISTS, {"metrics": [pl.col("rank").alias("m")]}),
    "a metric reads what is not there": (GRADES, LISTS, {"metrics": [pl.col("rnak").max()]}),
    "a metric has a column's name": (
        GRADES,
        LISTS,
        {"metrics": [pl.col("rank").max().alias("query_id")]},
    ),
    "a metric needs subtopics": (GRADES, LISTS, {"metrics": ["alpha_ndcg@5"]}),
    "rel": (GRADES, LISTS, {"rel": float("nan")}),
    "queries": (GRADES, LISTS, {"queries": "all"}),
    "ties": (GRADES, LISTS, {"ties": "best"}),
    "score_dtype": (GRADES, LISTS, {"score_dtype": pl.Int64}),
    "depth": (GRADES, LISTS, {"depth": 0}),
    "duplicates": (GRADES, LISTS, {"duplicates": "first"}),
}

PART = re.compile(r"^(the bucket of query '[^']*'|bucket \S+( \(first query '[^']*'\))?): ")


def said(work: Callable[[], Any]) -> tuple[str, str]:
    """The class of an error and its words, but for the bucket that may stand before them."""
    with pytest.raises(Exception) as raised:  # noqa: PT011
        work()
    return type(raised.value).__name__, PART.sub("", str(raised.value))


@pytest.mark.parametrize("what", UNUSABLE)
def test_errors_are_the_local_ones(what: str, tmp_path: Path) -> None:
    qrels, run, options = UNUSABLE[what]
    file = tmp_path / "run" / "part.parquet"
    file.parent.mkdir()
    run.write_parquet(file)
    asked = {"metrics": ["map"], **options}
    for door in ("per_query", "evaluate"):
        local = said(lambda door=door: getattr(evf, door)(qrels, file, **asked))
        assert said(lambda door=door: getattr(evx, door)(qrels, file.parent, **asked)) == local


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda folder: None, ReadError, "no folder of buckets"),
        (lambda folder: folder.mkdir(), ReadError, "neither query_bucket"),
        (lambda folder: (folder / "system=a").mkdir(parents=True), OptionError, "cut by more"),
    ],
)
def test_what_is_no_folder_of_buckets_is_refused(
    tmp_path: Path, make: Any, error: type[Exception], match: str
) -> None:
    make(tmp_path / "run")
    with pytest.raises(error, match=match):
        evx.per_query({"q": {"d": 1}}, tmp_path / "run", ["mrr"])


def test_a_folder_is_replaced_only_when_asked(tmp_path: Path) -> None:
    evx.bucket({"q": {"d": 1.0}}, tmp_path / "run", 2)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        evx.bucket({"q": {"d": 1.0}}, tmp_path / "run", 2)
    with pytest.raises(OptionError, match="n=0"):
        evx.bucket({"q": {"d": 1.0}}, tmp_path / "run", 0, overwrite=True)


def test_results_are_read_by_their_own_name_whatever_signs_it_holds(tmp_path: Path) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    evx.bucket({"q1": {"a": 1.0}}, tmp_path / "ra", 1)
    evx.bucket({"q2": {"b": 1.0}}, tmp_path / "rb", 1)
    evx.per_query(qrels, tmp_path / "rb", ["mrr"], results=tmp_path / "run1")
    found = evx.per_query(qrels, tmp_path / "ra", ["mrr"], results=tmp_path / "run[12]")
    assert found.rows() == [("q1", 1.0), ("q2", 0.0)]
    evx.bucket({"q1": {"a": 1.0}}, tmp_path / "run[3]", 1)
    assert evx.per_query(qrels, tmp_path / "run[3]", ["mrr"])["mrr"].to_list() == [1.0, 0.0]


def test_an_executor_that_is_shut_down_ends_the_work(tmp_path: Path) -> None:
    run = {f"q{number}": {"a": 1.0} for number in range(40)}
    evx.bucket(run, tmp_path / "run", 20)
    n_buckets = len(list((tmp_path / "run").iterdir()))
    assert n_buckets > 2
    with ThreadPoolExecutor(1) as pool:
        blocked = threading.Event()
        pool.submit(blocked.wait)
        threading.Timer(0.5, lambda: pool.shutdown(wait=False, cancel_futures=True)).start()
        threading.Timer(1.0, blocked.set).start()
        with pytest.raises(EvalframeError, match="was shut down before bucket"):
            evx.per_query({"q1": {"a": 1}}, tmp_path / "run", ["mrr"], executor=pool)
    with pytest.raises(EvalframeError, match="was shut down before bucket"):
        evx.per_query({"q1": {"a": 1}}, tmp_path / "run", ["mrr"], executor=pool)


def test_a_damaged_file_of_values_is_made_anew(tmp_path: Path) -> None:
    qrels, run, place = {"q1": {"a": 1}}, tmp_path / "run", tmp_path / "values"
    evx.bucket({"q1": {"x": 2.0, "a": 1.0}}, run, 1)
    first = evx.per_query(qrels, run, ["mrr"], results=place)
    file = next(place.glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[4:40] = bytes(36)
    file.write_bytes(content)
    assert evx.per_query(qrels, run, ["mrr"], results=place).equals(first)


def test_places_that_would_be_misread_are_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    evx.bucket({"q1": {"a": 1.0}}, run, 2)
    for inside in (run, run / "values"):
        with pytest.raises(OptionError, match="the run's own folder"):
            evx.per_query({"q1": {"a": 1}}, run, ["mrr"], results=inside)
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="there is a file of that name"):
        evx.per_query({"q1": {"a": 1}}, run, ["mrr"], results=tmp_path / "file")
    with pytest.raises(OptionError, match="would be read as a column"):
        evx.bucket({"q1": {"a": 1.0}}, tmp_path / "query_bucket=9", 2)
    with pytest.raises(EmptyError, match="no rows"):
        evx.bucket(evf.scan_run(run).filter(pl.lit(False)), tmp_path / "none", 2)
    assert not (tmp_path / "none").exists()
    for executor in ("threads", ThreadPoolExecutor):
        with pytest.raises(OptionError, match="is no executor"):
            evx.per_query({"q1": {"a": 1}}, run, ["mrr"], executor=executor)
    with pytest.raises(OptionError, match="not the path of a folder"):
        evx.per_query({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, ["mrr"])


def test_a_local_plan_can_be_sent_as_it_is() -> None:
    """`per_query` of lazy frames is expressions and nothing else, so it serialises."""
    qrels, run = collection(4)
    plan = evf.per_query(qrels_table(qrels).lazy(), run_table(run).lazy(), PLAIN)
    sent = pl.LazyFrame.deserialize(io.BytesIO(plan.serialize()))
    same(sent.collect(), plan.collect())
    assert "PYTHON" not in plan.explain().upper()


def test_neither_door_is_opened_unasked() -> None:
    code = (
        "import sys, evalframe; print(sorted(m for m in sys.modules if m.startswith("
        "('evalframe.executor', 'evalframe.spark', 'pyspark', 'distributed'))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_results_may_be_moved_with_their_folder(
    small: tuple[Qrels, Run, Path], tmp_path: Path
) -> None:
    """A folder of results is what its files say, wherever it stands."""
    qrels, _, folder = small
    first = evx.per_query(qrels, folder, FEW, results=tmp_path / "values")
    shutil.move(tmp_path / "values", tmp_path / "moved")
    same(evx.per_query(qrels, folder, FEW, results=tmp_path / "moved"), first)


def test_the_benchmark_says_what_it_offers() -> None:
    file = ROOT / "tests" / "benchmarks" / "past_one_machine.py"
    command = [sys.executable, str(file), "--help"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "{workers,spark,skew,paper}" in run.stdout


@pytest.mark.slow
def test_the_notebook_shows_what_it_is_kept_with() -> None:
    """Run from a clean kernel; without Java, its Spark cells explain and do nothing."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    folder = ROOT / "notebooks"
    spec = importlib.util.spec_from_file_location("run", folder / "run.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    kept = nbformat.read(folder / "past_one_machine.ipynb", as_version=4)
    now = runner.executed(folder / "past_one_machine.ipynb")
    has_java = shutil.which("java") and importlib.util.find_spec("pyspark")
    cells = [i for i, cell in enumerate(kept.cells) if has_java or "spark" not in cell.source]
    for i in cells:
        before, after = (
            runner.joined(
                [o for o in book.cells[i].get("outputs", ()) if o.get("name") != "stderr"]
            )
            for book in (kept, now)
        )
        assert list(map(text_of, after)) == list(map(text_of, before))


def text_of(output: Any) -> str:
    """What a cell printed or gave; engines talk on standard error."""
    return output.get("text") or output["data"]["text/plain"]
