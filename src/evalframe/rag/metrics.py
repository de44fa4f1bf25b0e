"""RAG retrieval metrics as functions of id lists and as objects that score one row.

An object's `score` takes the query, what was retrieved, the reference answer and the row that the
evaluation set has for the query; the gold standard is read from the row, under a key that the
object is made with. What was retrieved may be `RetrievedChunk`s, mappings, or any library's
documents (see `evalframe.hits`); a plain string is an id to the id metrics and a text to the
content metrics. `score_rows` runs any such objects over a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from evalframe.errors import OptionError, one_of, whole_number
from evalframe.hits import is_number
from evalframe.rag.chunks import RetrievedChunk, contents_of, gold_ids, gold_passages, ids_of
from evalframe.rag.id_lists import context_precision, mrr, ndcg, precision_at_k, recall_at_k
from evalframe.rag.judging import JudgeMetric
from evalframe.rag.rows import score_rows
from evalframe.text import PROFILES, Profile, tokens

__all__ = [
    "ContentMRRMetric",
    "ContentRecallMetric",
    "ContextPrecisionMetric",
    "JudgeMetric",
    "MRRMetric",
    "NDCGMetric",
    "PrecisionAtKMetric",
    "RAGMetric",
    "RecallAtKMetric",
    "RetrievedChunk",
    "context_precision",
    "mrr",
    "ndcg",
    "precision_at_k",
    "recall_at_k",
    "score_rows",
]


@runtime_checkable
class RAGMetric(Protocol):
    """What a metric object must have: a `score` of one row.

    Examples
    --------
    >>> isinstance(MRRMetric(), RAGMetric)
    True
    """

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """The value of one row."""
        ...


@dataclass(frozen=True)
class ContextPrecisionMetric:
    """`context_precision` of the retrieved ids; undefined is 0.

    Examples
    --------
    >>> metric = ContextPrecisionMetric()
    >>> metric.score("q", ["d1", "d2"], eval_row={"relevant_doc_ids": ["d1", "d3"]})
    0.5
    """

    relevant_ids_key: str = "relevant_doc_ids"

    @property
    def name(self) -> str:
        """The name of its column."""
        return "context_precision"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when the row names no relevant ids."""
        return context_precision(ids_of(retrieved), gold_ids(eval_row, self.relevant_ids_key))


@dataclass(frozen=True)
class MRRMetric:
    """`mrr` of the retrieved ids; undefined is 0.

    Examples
    --------
    >>> MRRMetric().score("q", ["d1", "d2"], eval_row={"relevant_doc_ids": ["d2"]})
    0.5
    """

    relevant_ids_key: str = "relevant_doc_ids"

    @property
    def name(self) -> str:
        """The name of its column."""
        return "mrr"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when no relevant id was retrieved."""
        return mrr(ids_of(retrieved), gold_ids(eval_row, self.relevant_ids_key))


@dataclass(frozen=True)
class NDCGMetric:
    """`ndcg` of the first `k` retrieved ids; undefined is 0.

    Examples
    --------
    >>> NDCGMetric(k=1).score("q", ["d1", "d2"], eval_row={"relevant_doc_ids": ["d1"]})
    1.0
    """

    k: int = 5
    relevant_ids_key: str = "relevant_doc_ids"

    def __post_init__(self) -> None:
        """Refuse options that cannot be."""
        _check(self)

    @property
    def name(self) -> str:
        """The name of its column."""
        return f"ndcg@{self.k}"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when the row names no relevant ids."""
        return ndcg(ids_of(retrieved), gold_ids(eval_row, self.relevant_ids_key), self.k)


@dataclass(frozen=True)
class PrecisionAtKMetric:
    """`precision_at_k` of the retrieved ids; undefined is 0.

    Examples
    --------
    >>> PrecisionAtKMetric(k=2).score("q", ["d1", "d2"], eval_row={"relevant_doc_ids": "d1"})
    0.5
    """

    k: int = 5
    relevant_ids_key: str = "relevant_doc_ids"

    def __post_init__(self) -> None:
        """Refuse options that cannot be."""
        _check(self)

    @property
    def name(self) -> str:
        """The name of its column."""
        return f"precision@{self.k}"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when nothing was retrieved."""
        return precision_at_k(ids_of(retrieved), gold_ids(eval_row, self.relevant_ids_key), self.k)


@dataclass(frozen=True)
class RecallAtKMetric:
    """`recall_at_k` of the retrieved ids; undefined is 0.

    Examples
    --------
    >>> RecallAtKMetric(k=2).score("q", ["d1", "d2"], eval_row={"relevant_doc_ids": ["d1", "d9"]})
    0.5
    """

    k: int = 5
    relevant_ids_key: str = "relevant_doc_ids"

    def __post_init__(self) -> None:
        """Refuse options that cannot be."""
        _check(self)

    @property
    def name(self) -> str:
        """The name of its column."""
        return f"recall@{self.k}"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when the row names no relevant ids."""
        return recall_at_k(ids_of(retrieved), gold_ids(eval_row, self.relevant_ids_key), self.k)


@dataclass(frozen=True)
class ContentRecallMetric:
    """The share of the gold passages that one of the first `k` chunks covers.

    For gold standards whose ids do not fit the retrieved chunks, such as after another chunking.
    A chunk covers a passage when it holds at least `overlap_threshold` of the passage's words,
    repeats counted; the chunk's other words do not matter, so that long chunks are not punished.
    Passages without a word (after normalising) are left out; undefined is 0.

    Parameters
    ----------
    k
        How many chunks are looked at.
    relevant_content_key
        Where the row has its gold passages: a list of texts, or one text.
    overlap_threshold
        From 0 to 1. At 0.5 long chunks also cover look-alikes; 0.8 is safer there.
    profile
        What counts as the same word: `squad_v1`, `unicode`, or `cjk` for texts without spaces.

    Examples
    --------
    >>> metric = ContentRecallMetric(k=1)
    >>> row = {"relevant_content": ["Paris is in France.", "Rome has hills."]}
    >>> metric.score("q", [RetrievedChunk("c1", "In France, Paris is large.")], eval_row=row)
    0.5
    """

    k: int = 5
    relevant_content_key: str = "relevant_content"
    overlap_threshold: float = 0.5
    profile: Profile = field(default="squad_v1", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse options that cannot be."""
        _check(self)

    @property
    def name(self) -> str:
        """The name of its column."""
        return f"content_recall@{self.k}"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when the row names no gold passage."""
        gold = _bags(gold_passages(eval_row, self.relevant_content_key), self.profile)
        chunks = _bags(contents_of(retrieved)[: self.k], self.profile)
        passages = [bag for bag in gold if bag]
        covered = [
            any(_covers(chunk, passage, self.overlap_threshold) for chunk in chunks)
            for passage in passages
        ]
        return sum(covered) / len(covered) if covered else 0.0


@dataclass(frozen=True)
class ContentMRRMetric:
    """One over the rank of the first chunk that covers a gold passage; undefined is 0.

    What covers what is as in `ContentRecallMetric`.

    Examples
    --------
    >>> row = {"relevant_content": "Paris is in France."}
    >>> ContentMRRMetric().score("q", ["Rome is big.", "Paris: in France."], eval_row=row)
    0.5
    """

    relevant_content_key: str = "relevant_content"
    overlap_threshold: float = 0.5
    profile: Profile = field(default="squad_v1", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse options that cannot be."""
        _check(self)

    @property
    def name(self) -> str:
        """The name of its column."""
        return "content_mrr"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """Between 0 and 1; 0 when no chunk covers a gold passage."""
        gold = _bags(gold_passages(eval_row, self.relevant_content_key), self.profile)
        passages = [bag for bag in gold if bag]
        for rank, chunk in enumerate(_bags(contents_of(retrieved), self.profile), start=1):
            if any(_covers(chunk, passage, self.overlap_threshold) for passage in passages):
                return 1.0 / rank
        return 0.0


def _bags(texts: Iterable[str], profile: Profile) -> list[Counter[str]]:
    return [Counter(tokens(text, profile)) for text in texts]


def _covers(chunk: Counter[str], passage: Counter[str], threshold: float) -> bool:
    return (chunk & passage).total() / passage.total() >= threshold


def _check(metric: Any) -> None:
    """Refuse a cut-off, a threshold or a profile that cannot be."""
    if hasattr(metric, "k"):
        object.__setattr__(metric, "k", whole_number("k", metric.k))
    if hasattr(metric, "overlap_threshold"):
        threshold = metric.overlap_threshold
        if not is_number(threshold) or not 0 <= threshold <= 1:
            raise OptionError(f"overlap_threshold={threshold!r} must be a number from 0 to 1")
        one_of("profile", metric.profile, PROFILES)
