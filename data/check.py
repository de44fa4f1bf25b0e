"""Check the handbook's files against each other and print its counts and scores.

Run from anywhere, in an environment with the packages of `requirements.txt`:

    python data/check.py

It stops at the first thing that is wrong, and ends with the tables of `data/README.md`.
"""

from pathlib import Path

import polars as pl
import pytrec_eval

HANDBOOK = Path(__file__).resolve().parent / "handbook"
SYSTEMS = ["bm25", "tfidf", "minilm"]
MEASURES = ["ndcg_cut_10", "map", "recall_10", "recip_rank"]
DEPTH = 10


def require(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {message}")
    print(f"ok: {message}")


def pairs(frame: pl.DataFrame) -> set[tuple[str, str]]:
    return set(frame.select("query_id", "doc_id").rows())


def check_run(name: str, run: pl.DataFrame, queries: pl.DataFrame, corpus: pl.DataFrame) -> None:
    """Ids are known, no pair occurs twice, rows are in trec_eval's order, text equals Parquet."""
    known = run["doc_id"].is_in(corpus["doc_id"].implode()).all()
    require(known and set(run["query_id"]) == set(queries["query_id"]), f"{name}: ids")
    require(run.height == len(pairs(run)), f"{name}: no duplicates")
    order = run.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    require(run.equals(order), f"{name}: order")
    lines = (HANDBOOK / "runs" / f"{name}.trec").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines]
    text = [(query_id, doc_id, float(score)) for query_id, _, doc_id, _, score, _ in fields]
    require(text == run.rows(), f"{name}: text equals Parquet to the last bit")


def check_qrels(qrels: pl.DataFrame, runs: dict[str, pl.DataFrame]) -> None:
    """What is judged is the pool, no more and no less, and both text files say the same."""
    top = [run.filter(pl.int_range(pl.len()).over("query_id") < DEPTH) for run in runs.values()]
    require(qrels.height == len(pairs(qrels)), "qrels: no duplicates")
    require(pairs(qrels) == pairs(pl.concat(top)), "qrels: judged pairs equal the pooled pairs")
    require(qrels["relevance"].is_between(0, 3).all(), "qrels: grades from 0 to 3")
    lines = (HANDBOOK / "qrels" / "test.trec").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines]
    text = [(query_id, doc_id, int(grade)) for query_id, _, doc_id, grade in fields]
    require(text == qrels.rows(), "qrels: test.trec equals qrels.parquet")


def to_dict(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for query_id, doc_id, number in frame.select("query_id", "doc_id", value).iter_rows():
        nested.setdefault(query_id, {})[doc_id] = number
    return nested


def scores(qrels: pl.DataFrame, run: pl.DataFrame) -> list[float]:
    """Means over all judged queries, the two without a relevant passage included as 0."""
    evaluator = pytrec_eval.RelevanceEvaluator(to_dict(qrels, "relevance"), set(MEASURES))
    rows = list(evaluator.evaluate(to_dict(run, "score")).values())
    return [sum(row[measure] for row in rows) / len(rows) for measure in MEASURES]


def main() -> None:
    frames = {
        name: pl.read_parquet(HANDBOOK / f"{name}.parquet")
        for name in ["corpus", "queries", "qrels", "samples"]
    }
    runs = {name: pl.read_parquet(HANDBOOK / "runs" / f"{name}.parquet") for name in SYSTEMS}
    for name, run in runs.items():
        check_run(name, run, frames["queries"], frames["corpus"])
    check_qrels(frames["qrels"], runs)

    for name, frame in (frames | runs).items():
        print(f"{name}: {frame.height} rows")
    print(frames["qrels"]["relevance"].value_counts(sort=True))
    print("| run | " + " | ".join(MEASURES) + " |")
    for name, run in runs.items():
        values = scores(frames["qrels"], run)
        print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |")


if __name__ == "__main__":
    main()
