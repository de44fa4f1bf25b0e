"""What fusing many large runs takes: seconds and memory, each method in a process of its own.

    python tests/benchmarks/fusion.py [METHOD…] [--systems 20] [--queries 1000] [--depth 1000]
        [--order ordered|shuffled] [--format parquet|trec] [--input plans|frames] [--folder DIR]

Runs are made on first use, always the same. Each system ranks the same candidates of a query by
what they are worth and by chance, so that systems share a part of what they find. Plans are written
to Parquet as they run; frames are read first, which the seconds leave out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

METHODS = ("rrf", "isr", "comb_sum", "comb_mnz", "comb_med", "wsum", "rbc", "borda", "mapfuse")
CANDIDATES = 4
"""Candidates of a query, in lists."""


def folder_of(given: argparse.Namespace) -> Path:
    """Where runs of this shape stand."""
    shape = f"{given.systems}x{given.queries}x{given.depth}-{given.order}-{given.format}"
    return given.folder / "fusion" / shape


def write_runs(given: argparse.Namespace) -> None:
    """One file for each system, unless it is there."""
    folder = folder_of(given)
    folder.mkdir(parents=True, exist_ok=True)
    for system in range(given.systems):
        file = folder / f"system{system:02}.{given.format}"
        if file.exists():
            continue
        run = made_run(system, given.queries, given.depth)
        if given.order == "shuffled":
            run = run.sample(fraction=1, shuffle=True, seed=system)
        if given.format == "parquet":
            run.write_parquet(file)
        else:
            line = pl.format("{} Q0 {} 0 {} s", "query_id", "doc_id", "score")
            run.select(line).write_csv(file, include_header=False, quote_style="never")


def made_run(system: int, n_queries: int, depth: int) -> pl.DataFrame:
    """A run by query and falling score."""
    docs, scores = [], []
    for query in range(n_queries):
        of_query = np.random.default_rng([0, query])
        candidates = of_query.choice(10_000_000, CANDIDATES * depth, replace=False)
        worth = of_query.normal(size=candidates.size)
        score = worth + np.random.default_rng([1, system, query]).normal(size=candidates.size)
        best = np.argsort(-score)[:depth]
        docs.append(candidates[best])
        scores.append(score[best])
    numbers = pl.DataFrame(
        {
            "query": np.repeat(np.arange(n_queries), depth),
            "doc": np.concatenate(docs),
            "score": np.concatenate(scores),
        }
    )
    return numbers.select(
        query_id=pl.format("q{}", pl.col("query").cast(pl.String).str.zfill(6)),
        doc_id=pl.format("D{}", pl.col("doc").cast(pl.String).str.zfill(8)),
        score="score",
    )


def peak() -> int:
    """Highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fuse_once(method: str, given: argparse.Namespace) -> dict[str, float]:
    """Fuse in this process."""
    import evalframe as evf

    files = sorted(folder_of(given).iterdir())
    read = evf.scan_run if given.input == "plans" else evf.read_run
    runs = {file.stem: read(file) for file in files}
    options = {}
    if method == "mapfuse":
        first = evf.scan_run(files[0]).filter(pl.col("query_id") < "q000050")
        judged = first.group_by("query_id").agg(pl.col("doc_id").first(), relevance=pl.lit(1))
        options = {"train_qrels": judged.collect()}
    before, start, processor = peak(), time.perf_counter(), time.process_time()
    fused = evf.fuse(runs, method, **options)
    with tempfile.TemporaryDirectory() as folder:
        evf.write_run(fused, Path(folder, "fused.parquet"))
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - processor,
        "before": before,
        "peak": peak(),
    }


def main() -> None:
    """Read the command line, make the runs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--order", choices=["ordered", "shuffled"], default="ordered")
    parser.add_argument("--format", choices=["parquet", "trec"], default="parquet")
    parser.add_argument("--input", choices=["plans", "frames"], default="plans")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "evalframe")
    parser.add_argument("--once", action="store_true", help="fuse in this process, and print JSON")
    given = parser.parse_args()
    if given.once:
        print(json.dumps(fuse_once(given.methods[0], given)))
        return
    write_runs(given)
    print(f"{given.systems} runs of {given.queries * given.depth:,} rows, {given.order}")
    print("| method | seconds | processor seconds | MB before | peak MB |")
    print("|---|--:|--:|--:|--:|")
    for method in given.methods:
        rest = [word for word in sys.argv[1:] if word not in given.methods]
        command = [sys.executable, __file__, method, *rest, "--once"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{method} failed:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"| {method} | {found['seconds']:.1f} | {found['processor']:.1f} | "
            f"{found['before']} | {found['peak']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
