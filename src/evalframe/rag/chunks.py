"""Retrieved chunks and the gold standard they are held against, as a row has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalframe import hits
from evalframe.errors import RowError

__all__ = ["RetrievedChunk", "chunks_of", "contents_of", "gold_ids", "gold_passages", "ids_of"]


@dataclass
class RetrievedChunk:
    """A piece of text that a retriever gave.

    Attributes
    ----------
    id
        Its id.
    content
        Its text; None where only its id is known.
    score
        What the retriever scored it with, if it said so.
    metadata
        Anything else.

    Examples
    --------
    >>> RetrievedChunk("c1", "Paris is in France.")
    RetrievedChunk(id='c1', content='Paris is in France.', score=None, metadata={})
    """

    id: str
    content: str | None
    score: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def chunks_of(retrieved: Any) -> list[Any]:
    """What was retrieved as a list, also an array or a Polars column; nothing is an empty list.

    Raises
    ------
    RowError
        It is one string, one chunk, or nothing that has members.

    Examples
    --------
    >>> chunks_of(("d1", "d2")), chunks_of(None)
    (['d1', 'd2'], [])
    """
    if retrieved is None:
        return []
    if isinstance(retrieved, str | Mapping) or not hasattr(retrieved, "__iter__"):
        raise RowError(f"retrieved is no list of chunks: {retrieved!r:.200}")
    return list(retrieved)


def ids_of(retrieved: Iterable[Any]) -> list[str]:
    """The chunks' ids, in order; a plain string is an id.

    Raises
    ------
    RowError
        A chunk has no id.
    """
    ids = [(chunk, hits.piece_id_of(chunk)) for chunk in chunks_of(retrieved)]
    return [_there(found, "id", place, chunk) for place, (chunk, found) in enumerate(ids, start=1)]


def contents_of(retrieved: Iterable[Any]) -> list[str]:
    """The chunks' texts, in order; a plain string is a text.

    Raises
    ------
    RowError
        A chunk has no text.
    """
    texts = [(chunk, hits.content_of(chunk)) for chunk in chunks_of(retrieved)]
    return [
        _there(text, "text", place, chunk) for place, (chunk, text) in enumerate(texts, start=1)
    ]


def gold_ids(eval_row: Any, key: str) -> set[str]:
    """The relevant ids a row names: a list or set, one id, or a mapping of id to grade (above 0).

    Examples
    --------
    >>> sorted(gold_ids({"relevant_doc_ids": ["d2", 1]}, "relevant_doc_ids"))
    ['1', 'd2']
    >>> gold_ids({"relevant_doc_ids": {"d1": 1, "d2": 0}}, "relevant_doc_ids")
    {'d1'}
    >>> gold_ids(None, "relevant_doc_ids")
    set()
    """
    named = _named(eval_row, key)
    if isinstance(named, Mapping):
        named = [doc for doc, grade in named.items() if grade > 0]
    items = [named] if hits.as_id(named) is not None else _listed(named, key)
    ids = {hits.as_id(item) for item in items}
    if None in ids:
        raise RowError(f"{key!r} holds something that is no id: {named!r:.200}")
    return {i for i in ids if i is not None}


def gold_passages(eval_row: Any, key: str) -> list[str]:
    """The gold passages a row names: a list of texts (or things with a text), or one text.

    Examples
    --------
    >>> gold_passages({"relevant_content": "Paris is in France."}, "relevant_content")
    ['Paris is in France.']
    """
    named = _named(eval_row, key)
    items = [named] if isinstance(named, str | Mapping) else _listed(named, key)
    texts = [hits.content_of(item) for item in items]
    if None in texts:
        raise RowError(f"{key!r} holds something that is no text: {named!r:.200}")
    return [text for text in texts if text is not None]


def _named(eval_row: Any, key: str) -> Any:
    named = None if eval_row is None else hits.look(eval_row, key)
    return None if isinstance(named, float) and math.isnan(named) else named


def _listed(named: Any, key: str) -> list[Any]:
    if named is None:
        return []
    if isinstance(named, str | bytes) or not hasattr(named, "__iter__"):
        if named == "":
            return []
        raise RowError(f"{key!r} is no list: {named!r:.200}")
    return [item for item in named if item is not None]


def _there(value: str | None, what: str, place: int, chunk: Any) -> str:
    if value is None:
        raise RowError(f"retrieved chunk {place} has no {what}: {chunk!r:.200}")
    return value
