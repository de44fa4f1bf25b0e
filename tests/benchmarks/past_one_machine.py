"""What it costs to leave one process: executors and Spark beside the local evaluation.

    python -m tests.benchmarks.past_one_machine workers [QUERIES] [DOCUMENTS]
    python -m tests.benchmarks.past_one_machine spark [QUERIES] [DOCUMENTS]
    python -m tests.benchmarks.past_one_machine skew [ROWS]
    python -m tests.benchmarks.past_one_machine paper

Each prints a table. `workers` compares one worker process with two, each with one Polars thread, in
turns within one run, so that only the number of workers differs; it says how many times faster each
turn was, and how much of the processors' time could be shared out at all. `paper` works out a
billion rows from costs as the others measure them. Processes import this file, hence the guard at
its end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

METRICS = ["ndcg@10", "map", "mrr", "precision@10", "recall@100"]
REPEATS = 5


def made(n_queries: int, n_docs: int) -> tuple[Any, Any]:
    """Qrels and a run in order: about one document in 100 of each list is judged."""
    import polars as pl

    run = pl.DataFrame({"query": range(n_queries)}).join(
        pl.DataFrame({"doc": range(n_docs)}), how="cross"
    )
    number = (pl.col("doc") * 7919 + pl.col("query") * 104729) % 1_000_000_007
    run = run.select(
        query_id=pl.format("q{}", "query"),
        doc_id=pl.format("doc-{}", number),
        score=1000.0 - pl.col("doc").cast(pl.Float64) / 7,
    )
    judged = run.filter(pl.int_range(pl.len()) % 97 == 0)
    qrels = judged.select("query_id", "doc_id", relevance=pl.int_range(pl.len()) % 3)
    return qrels, run


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def workers(n_queries: int = 20_000, n_docs: int = 1_000) -> None:
    """One worker process beside two, and beside no other process at all."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # Workers inherit it; Polars reads it when imported.
    import polars as pl

    import evalframe as evf
    from evalframe import executor as evx

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        qrels, run = made(n_queries, n_docs)
        file = Path(place) / "run.parquet"
        run.write_parquet(file)
        print(f"{run.height:,} rows, {n_queries:,} queries, {qrels.height:,} judgements")
        del run
        print(f"bucket: {timed(lambda: evx.bucket(pl.scan_parquet(file), folder, 16)):.2f} s")
        spawn = multiprocessing.get_context("spawn")
        pools = {n: ProcessPoolExecutor(n, mp_context=spawn) for n in (1, 2)}
        for n, pool in pools.items():  # Start the processes, and have all of them import.
            start = timed(lambda pool=pool, n=n: list(pool.map(_wait, [0.5] * n)))
            print(f"start of {n}: {start:.2f} s")
        taken: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(REPEATS):
            for n, pool in pools.items():
                seconds = timed(
                    lambda pool=pool: evx.per_query(qrels, folder, METRICS, executor=pool)
                )
                taken[n].append(seconds)
        times = [one / two for one, two in zip(taken[1], taken[2], strict=True)]
        print(f"one worker: {min(taken[1]):.2f} s {_all(taken[1])}")
        print(f"two workers: {min(taken[2]):.2f} s {_all(taken[2])}")
        print(f"times faster: {statistics.median(times):.2f} in the median turn {_all(times)}")
        here, there = time.process_time(), pools[1].submit(time.process_time).result()
        evx.per_query(qrels, folder, METRICS, executor=pools[1])
        here = time.process_time() - here
        there = pools[1].submit(time.process_time).result() - there
        print(
            f"of processor time, {here:.2f} s are the caller's and {there:.2f} s the worker's: "
            f"two could be {(here + there) / (here + there / 2):.2f} times faster"
        )
        alone = [timed(lambda: evx.per_query(qrels, folder, METRICS)) for _ in range(REPEATS)]
        whole = [timed(lambda: evf.per_query(qrels, evf.read_run(file), METRICS)) for _ in range(2)]
        print(f"no executor, one bucket after the other: {min(alone):.2f} s")
        print(f"the whole file at once, one thread: {min(whole):.2f} s")
        for pool in pools.values():
            pool.shutdown()


def _wait(seconds: float) -> None:
    import evalframe.executor

    _ = evalframe.executor
    time.sleep(seconds)


def _all(seconds: list[float]) -> str:
    return "(" + ", ".join(f"{one:.2f}" for one in seconds) + ")"


def session() -> Any:
    """Spark on this machine's cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    found = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    found.sparkContext.setLogLevel("OFF")
    return found


def spark(n_queries: int = 20_000, n_docs: int = 100) -> None:
    """Spark beside local: its start, and what a bucket and a row cost."""
    import polars as pl

    import evalframe as evf
    from evalframe import spark as evs

    with tempfile.TemporaryDirectory() as place:
        qrels, run = made(n_queries, n_docs)
        qrels.write_parquet(f"{place}/qrels.parquet")
        run.write_parquet(f"{place}/run.parquet")
        local = timed(
            lambda: evf.per_query(f"{place}/qrels.parquet", f"{place}/run.parquet", METRICS)
        )
        print(f"{run.height:,} rows; local, files and all: {local:.2f} s")
        begun = time.perf_counter()
        engine = session()
        print(f"start of Spark: {time.perf_counter() - begun:.1f} s")
        judged = engine.read.parquet(f"{place}/qrels.parquet")
        listed = engine.read.parquet(f"{place}/run.parquet")

        def whole(n: int) -> None:
            pl.DataFrame(evs.per_query(judged, listed, METRICS, buckets=n).toArrow())

        print(f"first call: {timed(lambda: whole(4)):.1f} s")
        for n in (2, 8, 32, 128):
            seconds = statistics.median(timed(lambda n=n: whole(n)) for _ in range(REPEATS))
            print(f"{n:4} buckets: {seconds:.2f} s")
        few = judged.where("query_id < 'q1'"), listed.where("query_id < 'q1'")
        print(f"next to no rows, 8 buckets: {_few(evs, few):.2f} s")
        engine.stop()


def _few(evs: Any, frames: tuple[Any, Any]) -> float:
    return statistics.median(
        timed(lambda: evs.per_query(*frames, METRICS, buckets=8).toArrow()) for _ in range(REPEATS)
    )


def skew(n_rows: int = 10_000_000) -> None:
    """One query with very many rows: the memory and the time of the worker that gets it."""
    import polars as pl

    from evalframe import executor as evx

    with tempfile.TemporaryDirectory() as place:
        qrels, run = made(1, n_rows)
        small_qrels, small_run = made(2_000, 100)
        apart = [
            pl.concat([frame, small.with_columns(query_id="s" + pl.col("query_id"))])
            for frame, small in ((qrels.head(1_000), small_qrels), (run, small_run))
        ]
        apart[1].write_parquet(f"{place}/run.parquet")
        apart[0].write_parquet(f"{place}/qrels.parquet")
        del qrels, run, small_run, apart
        spawn = multiprocessing.get_context("spawn")
        evx.bucket(pl.scan_parquet(f"{place}/run.parquet"), f"{place}/cut", 8)
        for what in (_executor_peak, _arrow_peak):
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                before, peak, seconds = pool.submit(what, place).result()
            print(f"{what.__doc__} {seconds:.1f} s, {before:,} MB before, {peak:,} MB at most")


def _executor_peak(place: str) -> tuple[int, int, float]:
    """a bucket in a file:"""
    from evalframe import executor as evx

    before = _peak()
    seconds = timed(lambda: evx.per_query(f"{place}/qrels.parquet", f"{place}/cut", METRICS))
    return before, _peak(), seconds


def _arrow_peak(place: str) -> tuple[int, int, float]:
    """a bucket as Arrow tables, as Spark hands it over:"""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evalframe.scoring import Contract, listed
    from evalframe.spark.workers import scoring

    score = scoring(listed(METRICS, None), Contract(), False)
    before = _peak()

    def table(name: str) -> pa.Table:
        batches = pq.ParquetFile(f"{place}/{name}.parquet").iter_batches(10_000)
        return pa.Table.from_batches(batches)

    seconds = timed(lambda: score(table("qrels"), table("run")))
    return before, _peak(), seconds


def _peak() -> int:
    """The most memory that this process has had, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def paper(
    rows: int = 1_000_000_000,
    seconds_per_million: float = 0.085,
    seconds_per_bucket: float = 0.02,
    rows_per_bucket: int = 5_000_000,
    start: float = 1.0,
    cut_per_million: float = 0.105,
) -> None:
    """A billion rows over N workers of one core each, from costs measured as above."""
    n_buckets = -(-rows // rows_per_bucket)
    each = seconds_per_bucket + rows_per_bucket / 1e6 * seconds_per_million
    print(f"{rows:,} rows in {n_buckets} buckets of {each:.2f} s; cut once in ", end="")
    print(f"{rows / 1e6 * cut_per_million / 60:.0f} min by one process")
    print("workers  rounds  seconds  times faster")
    for n in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        rounds = -(-n_buckets // n)
        seconds = start + rounds * each
        alone = start + n_buckets * each
        print(f"{n:7}  {rounds:6}  {seconds:7.1f}  {alone / seconds:12.1f}")


def main() -> None:
    """Read the command line, and measure."""
    offered = {work.__name__: work for work in (workers, spark, skew, paper)}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=offered, default="paper")
    parser.add_argument("numbers", nargs="*", type=int, help="in the place of the usual ones")
    given = parser.parse_args()
    offered[given.what](*given.numbers)


if __name__ == "__main__":
    main()
