"""Write the handbook's frames as Parquet, and its RAG samples as JSONL and Parquet.

Run from anywhere, after `make_runs.py`; it needs nothing but Polars:

    python data/make_parquet.py

It reads the corpus, the queries, the judgements (`qrels/test.tsv`), the written answers
(`answers.jsonl`) and the bm25 run, and rewrites `corpus.parquet`, `queries.parquet`,
`qrels.parquet`, `samples.jsonl` and `samples.parquet`.
"""

from pathlib import Path

import polars as pl

HANDBOOK = Path(__file__).resolve().parent / "handbook"
CONTEXTS = 5

ANSWERS = {"query_id": pl.String, "response": pl.String, "references": pl.List(pl.String)}
SAMPLE_COLUMNS = [
    "query_id",
    "user_input",
    "response",
    "retrieved_contexts",
    "retrieved_context_ids",
    "reference",
    "references",
    "reference_contexts",
    "reference_context_ids",
    "kind",
    "level",
]


def read_corpus() -> pl.DataFrame:
    return pl.read_ndjson(HANDBOOK / "corpus.jsonl").select("title", "text", doc_id="_id")


def read_queries() -> pl.DataFrame:
    return pl.read_ndjson(HANDBOOK / "queries.jsonl").select(
        "text", "kind", "level", query_id="_id"
    )


def read_qrels() -> pl.DataFrame:
    return pl.read_csv(
        HANDBOOK / "qrels" / "test.tsv",
        separator="\t",
        has_header=True,
        new_columns=["query_id", "doc_id", "relevance"],
        schema_overrides=[pl.String, pl.String, pl.Int64],
    )


def collect_passages(pairs: pl.DataFrame, corpus: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """Gather each query's documents, in the order given, into a list of ids and a list of texts."""
    return (
        pairs.join(corpus, on="doc_id", maintain_order="left")
        .group_by("query_id", maintain_order=True)
        .agg(
            pl.col("doc_id").alias(f"{prefix}_context_ids"),
            pl.col("text").alias(f"{prefix}_contexts"),
        )
    )


def retrieved_passages(corpus: pl.DataFrame) -> pl.DataFrame:
    """The first five passages of the bm25 run, which is stored in rank order."""
    run = pl.read_parquet(HANDBOOK / "runs" / "bm25.parquet")
    top = run.filter(pl.int_range(pl.len()).over("query_id") < CONTEXTS)
    return collect_passages(top, corpus, "retrieved")


def reference_passages(qrels: pl.DataFrame, corpus: pl.DataFrame) -> pl.DataFrame:
    """The passages with a query's best grade, 3 or else 2; a query without either has none."""
    best = qrels.filter(
        pl.col("relevance") >= 2,
        pl.col("relevance") == pl.col("relevance").max().over("query_id"),
    )
    return collect_passages(best.sort("query_id", "doc_id"), corpus, "reference")


def make_samples(corpus: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Join the written answers with their queries and passages; lists are empty, never null."""
    answers = pl.read_ndjson(HANDBOOK / "answers.jsonl", schema=ANSWERS)
    return (
        answers.join(queries.rename({"text": "user_input"}), on="query_id", how="left")
        .join(retrieved_passages(corpus), on="query_id", how="left")
        .join(reference_passages(qrels, corpus), on="query_id", how="left")
        .with_columns(pl.col(pl.List(pl.String)).fill_null([]))
        .with_columns(reference=pl.col("references").list.first())
        .select(SAMPLE_COLUMNS)
        .sort("query_id")
    )


def main() -> None:
    corpus, queries, qrels = read_corpus(), read_queries(), read_qrels()
    samples = make_samples(corpus, queries, qrels)
    frames = {
        "corpus": corpus.select("doc_id", "title", "text"),
        "queries": queries.select("query_id", "text", "kind", "level"),
        "qrels": qrels,
        "samples": samples,
    }
    for name, frame in frames.items():
        frame.write_parquet(HANDBOOK / f"{name}.parquet", compression="zstd")
        print(f"{name}: {frame.height} rows")
    samples.write_ndjson(HANDBOOK / "samples.jsonl")


if __name__ == "__main__":
    main()
