"""Dicts in, dicts out: retrieval and RAG evaluation for those who do not think in frames.

Qrels are `{query_id: {doc_id: grade}}`, queries `{query_id: text}`, a corpus `{doc_id: text}` and
samples a list of mappings. The frames do the work underneath, and frames are taken too. No
function here asks a language model; `as_ragas_dataset` leads to those that do.

The functions of one list (`ndcg_at_k`, `recall_at_k`, …) and of one pair of texts (`exact_match`,
`token_f1`, …) are plain Python and give the same values as the frames.

Examples
--------
>>> qrels = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d3": 1.0}}
>>> queries = {"q1": "cats", "q2": "dogs"}
>>> def retriever(query, *, limit=10):
...     return {"cats": ["d1", "d9", "d2"], "dogs": ["d9", "d3"]}[query][:limit]
>>> report = evaluate_retrieval(retriever, qrels, queries, k_values=(1, 3))
>>> report.metrics["recall@3"], report.primary_at(1)
(1.0, 0.5)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import polars as pl

from evalframe import inputs
from evalframe.engine import collect
from evalframe.evaluation.lists import (
    average_precision,
    dcg_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from evalframe.evaluation.pairs import context_precision, context_recall, exact_match, token_f1
from evalframe.evaluation.retrieval import evaluate_retrieval
from evalframe.evaluation.retrieval_report import RetrievalEvalReport
from evalframe.io import beir, dicts
from evalframe.io.delimited import write_table
from evalframe.io.json import write_jsonl
from evalframe.io.saving import beside_all
from evalframe.ragas import as_ragas_dataset
from evalframe.samples.report import RagReport as RagEvalReport
from evalframe.samples.scoring import evaluate_rag

__all__ = [
    "RETRIEVAL_METRICS",
    "Qrels",
    "RagEvalReport",
    "RagSample",
    "RetrievalEvalReport",
    "as_ragas_dataset",
    "average_precision",
    "context_precision",
    "context_recall",
    "dcg_at_k",
    "evaluate_rag",
    "evaluate_retrieval",
    "exact_match",
    "ndcg_at_k",
    "precision_at_k",
    "read_beir",
    "recall_at_k",
    "reciprocal_rank",
    "token_f1",
    "write_beir",
]

Qrels = Mapping[str, Mapping[str, float]]
"""Query id → document id → grade: above 0 relevant, 0 judged and not relevant."""

RETRIEVAL_METRICS: dict[str, Callable[[Sequence[str], Mapping[str, float], int], float]] = {
    "map": average_precision,
    "mrr": reciprocal_rank,
    "ndcg": ndcg_at_k,
    "precision": precision_at_k,
    "recall": recall_at_k,
}
"""The metrics of `evaluate_retrieval` by name, as functions of one ranked list."""


class RagSample(TypedDict, total=False):
    """One question, what was retrieved and answered, and what should have been.

    The keys are those of Ragas' `SingleTurnSample`; each may be left out.

    Examples
    --------
    >>> sample: RagSample = {"user_input": "2 + 2?", "response": "4", "reference": "four"}
    """

    user_input: str
    response: str
    retrieved_contexts: list[str]
    reference: str
    reference_contexts: list[str]


def read_beir(
    directory: str | os.PathLike[str], *, qrels: str | None = None
) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]:
    """Read a BEIR folder into three dicts.

    Parameters
    ----------
    directory
        Holds `corpus.jsonl`, `queries.jsonl` and a table of judgements.
    qrels
        The judgements' file, relative to the directory; `None` takes `qrels/test.tsv`, else the
        only file in `qrels/`, else `qrels.tsv`.

    Returns
    -------
    corpus : dict
        Document id → its title and text, joined by a space, without outer blanks.
    queries : dict
        Query id → text.
    qrels : dict
        Query id → document id → grade.

    Raises
    ------
    FileNotFoundError
        The directory or one of the three files is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_beir(folder, {"d1": "Paris"}, {"q1": "capital?"}, {"q1": {"d1": 1.0}})
    ...     read_beir(folder)
    ({'d1': 'Paris'}, {'q1': 'capital?'}, {'q1': {'d1': 1.0}})
    """
    data = beir.read_beir(directory, qrels=qrels)
    grades = data.qrels.with_columns(pl.col("relevance").cast(pl.Float64))
    texts = data.queries.with_columns(pl.col("text").fill_null(""))
    return (
        dicts.corpus_to_dict(data.corpus, joined=True),
        dicts.queries_to_dict(texts),
        dicts.qrels_to_dict(grades),
    )


def write_beir(
    directory: str | os.PathLike[str],
    corpus: Mapping[str, str],
    queries: Mapping[str, str],
    qrels: Qrels,
    *,
    overwrite: bool = False,
) -> None:
    """Write three dicts as a BEIR folder, which `read_beir` reads back.

    `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` are written beside their names and renamed when
    all three are complete: whatever fails before that leaves an older data set as it was. Whole
    grades are written as whole numbers. A query without judgements leaves no line in `qrels.tsv`.

    Parameters
    ----------
    directory
        Made if need be, with its parents.
    corpus
        Document id → text; written without titles.
    queries
        Query id → text.
    qrels
        Query id → document id → grade.
    overwrite
        Replace files that exist.

    Raises
    ------
    FileExistsError
        A file exists and `overwrite` is not set; or the folder holds other judgements in `qrels/`,
        which would be read in place of these.
    """
    root = Path(directory)
    others = beir.beir_splits(root)
    if others:
        raise FileExistsError(
            f"{root / 'qrels'}: this folder has judgements already ({', '.join(sorted(others))}), "
            "and they would be read in place of those to be written; write to another folder"
        )
    documents = _table(inputs.corpus_frame(corpus)).rename({"doc_id": "_id"})
    if "title" not in documents.columns:
        documents = documents.insert_column(1, pl.lit("", pl.String).alias("title"))
    asked = _table(inputs.queries_frame(queries)).rename({"query_id": "_id"})
    grades = _table(inputs.qrels_frame(qrels))
    if grades.select((pl.col("relevance") == pl.col("relevance").round()).all()).item():
        grades = grades.with_columns(pl.col("relevance").cast(pl.Int64))
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    targets = [root / "corpus.jsonl", root / "queries.jsonl", root / "qrels.tsv"]
    with beside_all(targets, overwrite=overwrite) as (corpus_part, queries_part, qrels_part):
        write_jsonl(documents, corpus_part, overwrite=True)
        write_jsonl(asked, queries_part, overwrite=True)
        write_table(grades, qrels_part, mark="\t", overwrite=True, names=names)


def _table(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    return collect(frame, "in-memory") if isinstance(frame, pl.LazyFrame) else frame
