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

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from evalframe.evaluation.beir_dicts import read_beir, write_beir
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
