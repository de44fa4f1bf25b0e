"""Deterministic workloads for the benchmarks: runs, qrels, and files of them.

W1  300 queries × 100 documents, one to three judgements each
W2  6,980 × 1,000, about one judgement each
W3  200 × 1,000, about 200 graded judgements each, scores with one decimal (many ties)
W4  100,000 × 1,000, one judgement each; Parquet only
W5  20 systems on the queries of W3
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

CORPUS = 8_841_823
ROWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Workload:
    """How large a workload is and what its judgements look like."""

    name: str
    n_queries: int
    depth: int
    judgements: tuple[int, int]
    graded: bool = False
    decimals: int = 4
    n_systems: int = 1

    @property
    def n_rows(self) -> int:
        """Rows of the run."""
        return self.n_queries * self.depth * self.n_systems


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("W1", 300, 100, (1, 3), decimals=6),
        Workload("W2", 6_980, 1_000, (1, 1)),
        Workload("W2d", 13_960, 1_000, (1, 1)),
        Workload("W3", 200, 1_000, (150, 250), graded=True, decimals=1),
        Workload("W4", 100_000, 1_000, (1, 1)),
        Workload("W5", 200, 1_000, (150, 250), graded=True, decimals=1, n_systems=20),
    )
}


def parts(workload: Workload) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The run and its qrels, some whole queries at a time."""
    rng = np.random.default_rng(20_260_101)
    at_once = max(1, ROWS_AT_ONCE // workload.depth)
    for first in range(0, workload.n_queries, at_once):
        queries = np.arange(first, min(first + at_once, workload.n_queries))
        docs = distinct(rng, len(queries), workload.depth)
        qrels = judged(rng, workload, queries, docs)
        runs = []
        for number in range(workload.n_systems):
            kept = docs if workload.n_systems == 1 else perturbed(rng, docs)
            run = ranked(rng, workload, queries, kept)
            name = pl.lit(f"system{number:02}").alias("system")
            runs.append(run if workload.n_systems == 1 else run.select(name, pl.all()))
        yield pl.concat(runs), qrels


def distinct(rng: np.random.Generator, n_queries: int, depth: int) -> np.ndarray:
    """Document numbers, none of them twice for a query."""
    docs = rng.integers(0, CORPUS, size=(n_queries, depth))
    for row in docs:
        while len(np.unique(row)) < depth:
            row[:] = rng.integers(0, CORPUS, size=depth)
    return docs


def perturbed(rng: np.random.Generator, docs: np.ndarray) -> np.ndarray:
    """Another system's lists: shuffled, a fifth of the documents replaced by strangers."""
    other = rng.permuted(docs, axis=1)
    strangers = CORPUS + np.arange(docs.size).reshape(docs.shape)
    return np.where(rng.random(docs.shape) < 0.8, other, strangers)


def ranked(
    rng: np.random.Generator, workload: Workload, queries: np.ndarray, docs: np.ndarray
) -> pl.DataFrame:
    """A run by query and falling score."""
    shape = (len(queries), workload.depth)
    scores = -np.sort(-(4 + 36 * rng.beta(1.2, 6, size=shape)), axis=1)
    return pl.DataFrame(
        {
            "query_id": np.repeat(1_000_000 + queries, workload.depth),
            "doc_id": docs.ravel(),
            "score": np.round(scores, workload.decimals).ravel(),
        }
    ).with_columns(pl.col("query_id", "doc_id").cast(pl.String))


def judged(
    rng: np.random.Generator, workload: Workload, queries: np.ndarray, docs: np.ndarray
) -> pl.DataFrame:
    """Judgements of which about six in seven were retrieved, more of them near the top."""
    low, high = workload.judgements
    numbers = rng.integers(low, high + 1, size=len(queries))
    rows = []
    for at, (query, n) in enumerate(zip(queries, numbers, strict=True)):
        places = np.unique((np.exp(rng.random(n) * np.log(workload.depth)) - 1).astype(int))
        more = rng.choice(workload.depth, size=n, replace=False)
        places = np.unique(np.concatenate([places, more]))[:n]
        chosen = np.where(rng.random(n) < 0.86, docs[at, places], -1 - np.arange(n))
        rows.append((np.full(n, query), chosen))
    grades = (
        rng.choice(4, size=numbers.sum(), p=[0.55, 0.2, 0.15, 0.1])
        if workload.graded
        else np.ones(numbers.sum(), dtype=np.int64)
    )
    return pl.DataFrame(
        {
            "query_id": 1_000_000 + np.concatenate([query for query, _ in rows]),
            "doc_id": np.concatenate([doc for _, doc in rows]),
            "relevance": grades,
        }
    ).with_columns(pl.col("query_id", "doc_id").cast(pl.String))


def write(workload: Workload, folder: Path) -> None:
    """Write `NAME.run.parquet`, `NAME.qrels.parquet` and the same as TREC text (not W4, W5)."""
    folder.mkdir(parents=True, exist_ok=True)
    run_path = folder / f"{workload.name}.run.parquet"
    if run_path.exists():
        return
    beside = run_path.with_suffix(".part")
    qrels = []
    writer = None
    for run, judgements in parts(workload):
        table = run.to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pq.ParquetWriter(beside, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=500_000)
        qrels.append(judgements)
    writer.close()
    all_qrels = pl.concat(qrels)
    all_qrels.write_parquet(folder / f"{workload.name}.qrels.parquet")
    if workload.name in ("W1", "W2", "W3"):
        write_trec(pl.read_parquet(beside), all_qrels, folder / workload.name)
    beside.rename(run_path)


def write_trec(run: pl.DataFrame, qrels: pl.DataFrame, stem: Path) -> None:
    """Six columns and four columns, separated by single spaces."""
    rank = pl.int_range(1, pl.len() + 1).over("query_id")
    line = pl.format("{} Q0 {} {} {} made", "query_id", "doc_id", rank, "score")
    how = {"include_header": False, "quote_style": "never"}
    run.select(line).write_csv(f"{stem}.run.trec", **how)
    qrels.select(pl.format("{} 0 {} {}", "query_id", "doc_id", "relevance")).write_csv(
        f"{stem}.qrels.trec", **how
    )
