"""One tool on one workload, in a process of its own: prints seconds, peak memory and means as JSON.

python tests/benchmarks/tools.py TOOL SOURCE STEM
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

METRICS = [
    "ndcg@10",
    "ndcg@100",
    "recall@100",
    "recall@1000",
    "precision@10",
    "mrr@10",
    "map",
    "success@10",
]
ABOUT_SECONDS, MOST_CALLS = 1.0, 50
"""How long a tool is timed, and how often at most; once at least."""
COLUMNS = ["query_id", "doc_id", "score"]
Means = dict[str, float]
Timed = Callable[[], Means]


def frames(stem: str, source: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Qrels and run in memory."""
    return pl.read_parquet(f"{stem}.qrels.parquet"), pl.read_parquet(f"{stem}.run.parquet")


def paths(stem: str, source: str) -> tuple[str, str]:
    """The files of qrels and run in the source's format."""
    suffix = "trec" if source == "trec" else "parquet"
    return f"{stem}.qrels.{suffix}", f"{stem}.run.{suffix}"


def nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    """A frame as the nested dicts that other tools take."""
    table: dict[str, dict[str, Any]] = {}
    for query, doc, number in frame.select("query_id", "doc_id", value).iter_rows():
        table.setdefault(query, {})[doc] = number
    return table


def nested_trec(path: str, column: int, number: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """A TREC file as nested dicts."""
    table: dict[str, dict[str, Any]] = {}
    with Path(path).open() as lines:
        for line in lines:
            words = line.split()
            table.setdefault(words[0], {})[words[2]] = number(words[column])
    return table


def dicts(stem: str, source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Qrels and run as nested dicts."""
    if source == "trec":
        qrels, run = paths(stem, source)
        return nested_trec(qrels, 3, int), nested_trec(run, 4, float)
    qrels_frame, run_frame = frames(stem, source)
    return nested(qrels_frame, "relevance"), nested(run_frame, "score")


def by_system(stem: str) -> list[dict[str, Any]]:
    """The runs of several systems as nested dicts."""
    run = pl.read_parquet(f"{stem}.run.parquet")
    return [nested(part, "score") for part in run.partition_by("system", maintain_order=True)]


def evalframe(stem: str, source: str) -> Timed:
    """`evaluate` on frames, on prepared qrels, on shuffled rows, or on paths."""
    import evalframe as evf

    if source in ("parquet", "trec"):
        qrels_path, run_path = paths(stem, source)
        return lambda: evf.evaluate(qrels_path, run_path, METRICS, progress=False).metrics
    qrels, run = frames(stem, source)
    if source == "shuffled":
        run = run.sample(fraction=1, shuffle=True, seed=1)
    if "system" in run.columns:
        return lambda: dict(
            evf.evaluate(qrels, run, METRICS).summary.select("metric", "value").rows()
        )
    prepared = evf.prepare(qrels) if source == "prepared" else qrels
    return lambda: evf.evaluate(prepared, run, METRICS).metrics


def bare(stem: str, source: str) -> Timed:
    """Only the collection of the three columns (of W4: a count and a sum of them)."""
    if source == "trec":
        names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
        types = [pl.String, pl.String, pl.String, pl.Int64, pl.Float64, pl.String]
        plan = pl.scan_csv(
            f"{stem}.run.trec",
            separator=" ",
            has_header=False,
            quote_char=None,
            schema=dict(zip(names, types, strict=True)),
        )
    else:
        plan = pl.scan_parquet(f"{stem}.run.parquet")
    plan = plan.select(COLUMNS)
    if stem.endswith("W4"):
        plan = plan.select(pl.len(), pl.col("query_id", "doc_id").max(), pl.col("score").sum())
    return lambda: {"rows": float(plan.collect().height)}


def pytrec_eval(stem: str, source: str) -> Timed:
    """pytrec_eval-terrier; `memory` is `evaluate` with its dicts already built."""
    import pytrec_eval

    measures = {
        "ndcg_cut.10,100",
        "recall.100,1000",
        "P.10",
        "recip_rank",
        "map",
        "success.10",
    }

    def means(qrels: dict[str, Any], run: dict[str, Any]) -> Means:
        values = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
        asked = {"ndcg@10": "ndcg_cut_10", "map": "map", "recall@100": "recall_100"}
        n = len(qrels)
        return {k: sum(row[name] for row in values.values()) / n for k, name in asked.items()}

    if source == "memory":
        if stem.endswith("W5"):
            judgements = nested(pl.read_parquet(f"{stem}.qrels.parquet"), "relevance")
            runs = by_system(stem)
            return lambda: [means(judgements, run) for run in runs][-1]
        qrels, run = dicts(stem, source)
        return lambda: means(qrels, run)
    return lambda: means(*dicts(stem, source))


def ranx(stem: str, source: str) -> Timed:
    """ranx, with its compiled code warm."""
    from ranx import Qrels, Run, evaluate

    asked = ["ndcg@10", "ndcg@100", "recall@100", "recall@1000", "precision@10", "mrr@10", "map"]

    def work() -> Means:
        qrels, run = dicts(stem, source)
        found = evaluate(Qrels(qrels), Run(run), [*asked, "hit_rate@10"], make_comparable=True)
        return {name: float(found[name]) for name in asked}

    return work


def ir_measures(stem: str, source: str) -> Timed:
    """ir_measures on its own frames or files."""
    import ir_measures as irm
    from ir_measures import AP, RR, P, R, Success, nDCG

    asked = [nDCG @ 10, nDCG @ 100, R @ 100, R @ 1000, P @ 10, RR @ 10, AP, Success @ 10]

    def work() -> Means:
        if source == "trec":
            qrels_path, run_path = paths(stem, source)
            qrels, run = irm.read_trec_qrels(qrels_path), irm.read_trec_run(run_path)
        else:
            qrels, run = (frame.to_pandas() for frame in frames(stem, source))
        found = irm.calc_aggregate(asked, qrels, run)
        return {str(name): float(value) for name, value in found.items()}

    return work


def duckdb(stem: str, source: str) -> Timed:
    """A window query over the files."""
    import duckdb as duck

    qrels_path, run_path = paths(stem, source)
    if source == "trec":
        run = (
            f"read_csv('{run_path}', delim=' ', header=false, quote='', "
            "columns={'query_id':'VARCHAR','q0':'VARCHAR','doc_id':'VARCHAR','rank':'BIGINT',"
            "'score':'DOUBLE','tag':'VARCHAR'})"
        )
        qrels = (
            f"read_csv('{qrels_path}', delim=' ', header=false, quote='', columns="
            "{'query_id':'VARCHAR','i':'VARCHAR','doc_id':'VARCHAR','relevance':'BIGINT'})"
        )
    else:
        run, qrels = f"'{run_path}'", f"'{qrels_path}'"
    sql = f"""
        with ranked as (
            select query_id, doc_id, row_number() over (
                partition by query_id order by score desc, doc_id desc) as rank
            from {run}),
        ideal as (
            select query_id, doc_id, relevance, row_number() over (
                partition by query_id order by relevance desc) as ideal_rank
            from {qrels} where relevance > 0),
        hits as (
            select i.*, r.rank, row_number() over (
                partition by i.query_id order by r.rank nulls last) as hit
            from ideal i left join ranked r using (query_id, doc_id)),
        values_ as (
            select query_id,
                coalesce(sum(relevance / log2(rank + 1)) filter (rank <= 10), 0)
                    / sum(relevance / log2(ideal_rank + 1)) filter (ideal_rank <= 10) as "ndcg@10",
                coalesce(sum(relevance / log2(rank + 1)) filter (rank <= 100), 0)
                    / sum(relevance / log2(ideal_rank + 1)) filter (ideal_rank <= 100)
                    as "ndcg@100",
                count(*) filter (rank <= 100) / count(*) as "recall@100",
                count(*) filter (rank <= 1000) / count(*) as "recall@1000",
                count(*) filter (rank <= 10) / 10 as "precision@10",
                coalesce(1 / min(rank) filter (rank <= 10), 0) as "mrr@10",
                coalesce(sum(hit / rank) filter (rank is not null), 0) / count(*) as map,
                (count(*) filter (rank <= 10) > 0)::double as "success@10"
            from hits group by query_id)
        select avg("ndcg@10"), avg("ndcg@100"), avg("recall@100"), avg("recall@1000"),
            avg("precision@10"), avg("mrr@10"), avg(map), avg("success@10") from values_"""
    return lambda: dict(zip(METRICS, duck.sql(sql).fetchall()[0], strict=True))


TOOLS = {tool.__name__: tool for tool in (evalframe, bare, pytrec_eval, ranx, ir_measures, duckdb)}


def peak_memory() -> float:
    """The most memory this process has held, in MB (of Linux, where a child keeps its parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def timed_once(timed: Timed) -> tuple[float, Means]:
    """Seconds of one call, and what it gave."""
    started = time.perf_counter()
    means = timed()
    return time.perf_counter() - started, means


def main() -> None:
    """Print the median of calls that follow a first one (of W4 the first) and what was found."""
    tool, source, stem = sys.argv[1:4]
    timed = TOOLS[tool](stem, source)
    first, means = timed_once(timed)
    seconds = [first]
    if not stem.endswith("W4") and tool != "ir_measures":
        calls = max(1, min(MOST_CALLS, int(ABOUT_SECONDS / first)))
        seconds = [timed_once(timed)[0] for _ in range(calls)]
    found = {"seconds": statistics.median(seconds), "peak_mb": peak_memory(), "means": means}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
