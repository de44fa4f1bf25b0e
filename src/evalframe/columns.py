"""The words of the house: the columns of each frame, their types, and foreign names for them.

This is the only place that knows a foreign column name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

__all__ = ["CORPUS", "KINDS", "QRELS", "QUERIES", "RUN", "SAMPLES", "Kind", "Role", "Shape"]

Kind = Literal["qrels", "run", "queries", "corpus", "samples"]
Role = Literal["id", "text", "number", "grade", "whole", "texts", "ids"]
"""What a column holds: the door coerces and checks it by its role."""


@dataclass(frozen=True)
class Shape:
    """The columns a kind of frame has, by role, and which of them it cannot do without."""

    kind: Kind
    roles: dict[str, Role]
    required: tuple[str, ...]
    key: tuple[str, ...]
    aliases: dict[str, tuple[str, ...]]
    keeps_extra: bool = False

    def names_for(self, column: str) -> tuple[str, ...]:
        """The house's name of a column, then every foreign name that stands for it."""
        return (column, *self.aliases.get(column, ()))

    def names_among(self, names: list[str], column: str) -> tuple[str, ...]:
        """`names_for`, then those of the names that differ from one of them by their case alone."""
        known = self.names_for(column)
        return (*known, *(n for n in names if n not in known and n.lower() in known))


DTYPES: dict[Role, pl.DataType] = {
    "id": pl.String(),
    "text": pl.String(),
    "number": pl.Float64(),
    "whole": pl.Int64(),
    "texts": pl.List(pl.String()),
    "ids": pl.List(pl.String()),
}
"""The type of each role; a `grade` is Int64 or Float64, as it came."""

QUERY_NAMES = (
    "query-id",
    "qid",
    "q_id",
    "query_no",
    "topic",
    "topic_id",
    "queryid",
    "query",
)
DOC_NAMES = (
    "corpus-id",
    "docno",
    "docid",
    "doc",
    "pid",
    "corpus_id",
    "passage_id",
    "document_id",
    "doc-id",
)

QRELS = Shape(
    kind="qrels",
    roles={"query_id": "id", "doc_id": "id", "relevance": "grade", "subtopic": "id"},
    required=("query_id", "doc_id", "relevance"),
    key=("query_id", "doc_id", "subtopic"),
    aliases={
        "query_id": QUERY_NAMES,
        "doc_id": DOC_NAMES,
        "subtopic": ("subtopic_id",),
        "relevance": ("rel", "label", "grade", "score", "judgment", "judgement", "gold"),
    },
)

RUN = Shape(
    kind="run",
    roles={
        "system": "id",
        "query_id": "id",
        "doc_id": "id",
        "score": "number",
        "rank": "whole",
    },
    required=("query_id", "doc_id", "score"),
    key=("system", "query_id", "doc_id"),
    aliases={
        "system": ("run_id", "runid", "tag"),
        "query_id": QUERY_NAMES,
        "doc_id": DOC_NAMES,
        "score": ("sim", "similarity", "relevance_score"),
        "rank": ("position",),
    },
)

QUERIES = Shape(
    kind="queries",
    roles={"query_id": "id", "text": "text"},
    required=("query_id", "text"),
    key=("query_id",),
    aliases={
        "query_id": ("_id", "query-id", "qid", "q_id", "id", "queryid", "topic_id"),
        "text": ("query", "user_input", "question", "title"),
    },
    keeps_extra=True,
)

CORPUS = Shape(
    kind="corpus",
    roles={"doc_id": "id", "title": "text", "text": "text"},
    required=("doc_id", "text"),
    key=("doc_id",),
    aliases={
        "doc_id": ("_id", "corpus-id", "docno", "docid", "pid", "id", "corpus_id", "passage_id"),
        "text": ("contents", "content", "body", "passage", "document"),
    },
    keeps_extra=True,
)

SAMPLES = Shape(
    kind="samples",
    roles={
        "system": "id",
        "query_id": "id",
        "user_input": "text",
        "response": "text",
        "reference": "text",
        "references": "texts",
        "retrieved_contexts": "texts",
        "reference_contexts": "texts",
        "retrieved_context_ids": "ids",
        "reference_context_ids": "ids",
    },
    required=(),
    key=("system", "query_id"),
    aliases={
        "system": ("model_id", "model"),
        "query_id": ("query-id", "qid", "q_id", "_id", "id", "task_id", "sample_id"),
        "user_input": ("question", "query", "input"),
        "response": ("answer", "generated_text", "prediction", "output", "generated_texts"),
        "reference": ("ground_truth", "expected_output", "gold_answer", "expected_answer"),
        "references": ("ground_truths", "generation_gt", "answers", "ground_truth_answers"),
        "retrieved_contexts": ("contexts", "retrieved_context", "retrieved_contents"),
        "reference_contexts": ("ground_truth_contexts", "ground_truth_context", "gold_contexts"),
        "retrieved_context_ids": ("retrieved_ids",),
        "reference_context_ids": ("relevant_doc_ids", "relevant_ids", "reference_ids"),
    },
    keeps_extra=True,
)

KINDS: dict[Kind, Shape] = {shape.kind: shape for shape in (QRELS, RUN, QUERIES, CORPUS, SAMPLES)}
