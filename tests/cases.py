"""Small qrels and runs: written out by hand, or made by hypothesis."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import strategies as st

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def qrels_of(text: str, query_id: str = "q") -> Qrels:
    """`"a:2 b:0"` as the judgements of one query."""
    pairs = (pair.rsplit(":", 1) for pair in text.split())
    return {query_id: {doc: int(grade) for doc, grade in pairs}}


def subtopic_qrels_of(text: str, query_id: str = "q") -> pl.DataFrame:
    """`"a/1:2 a/2:1 b/1:0"` as one query's judgements by subtopic: document/subtopic:grade."""
    pairs = (pair.rsplit(":", 1) for pair in text.split())
    rows = [(query_id, *which.split("/"), grade) for which, grade in pairs]
    schema = ["query_id", "doc_id", "subtopic", "relevance"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(schema, pl.String), orient="row")
    return frame.with_columns(pl.col("relevance").cast(pl.Int64))


def run_of(docs: str | list[str], query_id: str = "q") -> Run:
    """`"x b=c a"` as one query's list, best first; `=` stands between equal scores."""
    places = docs.split() if isinstance(docs, str) else docs
    tied = [place.split("=") if isinstance(docs, str) else [place] for place in places]
    return {query_id: {d: float(len(tied) - i) for i, docs in enumerate(tied) for d in docs}}


def qrels_table(qrels: Qrels) -> pl.DataFrame:
    """Nested qrels as a frame."""
    rows = [(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def run_table(run: Run) -> pl.DataFrame:
    """A nested run as a frame."""
    rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


# trec_eval's strings end at NUL, and surrogates are not characters.
CHARACTERS = st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00")
IDS = st.text(CHARACTERS, min_size=1, max_size=4)
GRADES = st.integers(-1, 3)
TIED_SCORES = st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1.0, 1.00000001, 16777216.0, 16777217.0])


@st.composite
def qrels_and_runs(draw: st.DrawFn) -> tuple[Qrels, Run]:
    """Qrels and a run with tied scores, missing and extra queries, negative grades, short lists.

    At least one query is in both.
    """
    queries = draw(st.lists(IDS, min_size=1, max_size=5, unique=True))
    docs = draw(st.lists(IDS, min_size=1, max_size=12, unique=True))
    shared = queries[0]

    def lists(values: st.SearchStrategy[float]) -> dict[str, dict[str, float]]:
        some = draw(st.lists(st.sampled_from(queries), unique=True))
        return {
            query: draw(st.dictionaries(st.sampled_from(docs), values, min_size=1))
            for query in dict.fromkeys([shared, *some])
        }

    return lists(GRADES), lists(TIED_SCORES)


def collection(seed: int, n_queries: int = 40) -> tuple[Qrels, Run]:
    """Many small queries at once: ties, negative grades, lists of any length, strangers.

    Some queries are only judged and some are only retrieved; ids are of several alphabets.
    """
    rng = random.Random(seed)
    docs = [f"{alphabet}{i}" for alphabet in ("d", "D", "é", "文", "🙂") for i in range(5)]
    scores = [-1.5, -0.0, 0.0, 0.25, 1.0, 1.00000001, 16777216.0, 16777217.0, float("inf")]
    qrels: Qrels = {}
    run: Run = {}
    for i in range(n_queries):
        query = rng.choice("qQé文") + str(i)
        if i == 0 or rng.random() < 0.85:
            judged = rng.sample(docs, rng.randint(1, 12))
            grades = rng.choice([(0, 1), (-1, 0, 1, 2, 3), (0,), (1, 2), (-2, -1)])
            qrels[query] = {doc: rng.choice(grades) for doc in judged}
        if i == 0 or rng.random() < 0.85:
            few = rng.sample(scores, rng.randint(1, len(scores)))
            run[query] = {doc: rng.choice(few) for doc in rng.sample(docs, rng.randint(1, 25))}
    return qrels, run
