"""One retrieved thing, whatever library it comes from: its document, its text, its score.

An id is looked for in this order, and the first that is there and not empty counts:

1. the thing itself, when it is a string or a whole number; the first half of a pair (id, score);
2. `source_id`, `doc_id`, `ref_doc_id`: the document a piece was cut from;
3. the same names in its metadata (`metadata`, `meta`, `payload`);
4. `id`, then every other name that the table of `columns` knows for a document id;
5. what it holds as `segment`, `node`, `document`, `doc` or `chunk`, by these same rules;
6. `id_`, `node_id`, `chunk_id`: the piece itself;
7. its metadata's `source`.

Which of them names the documents of the qrels only the qrels can tell: see `doc_ids_of`, and
`evalframe.evaluation.retrievers`, which goes on to the next where none of the first stands there.

So LangChain documents (`id`, else `metadata["source"]`), LlamaIndex nodes with scores (`node`:
the document it was cut from, else the node) and Haystack documents (`meta["source_id"]`, else
`id`) need no wrapping. Mappings are read by key and everything else by attribute.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any
from uuid import UUID

from evalframe.columns import CORPUS

__all__ = [
    "CONTENT_NAMES",
    "as_id",
    "content_of",
    "doc_id_of",
    "doc_ids_of",
    "is_number",
    "look",
    "metadata_of",
    "piece_id_of",
    "score_of",
]

SOURCE_NAMES = ("source_id", "doc_id", "ref_doc_id")
METADATA_NAMES = ("metadata", "meta", "payload")
HOLDERS = ("segment", "node", "document", "doc", "chunk")
PIECE_NAMES = ("id_", "node_id", "chunk_id")
Candidates = Iterator[tuple[str, Any]]
"""Where something stands that may be an id, and what stands there."""

DOCUMENT_NAMES = ("id", *(name for name in CORPUS.names_for("doc_id") if name != "doc_id"))
CONTENT_NAMES = tuple(
    dict.fromkeys(("content", "page_content", *CORPUS.names_for("text"), "value", "answer"))
)
"""Where a thing has its text; the last two are names of an answer's text."""
SCORE_NAMES = ("score", "similarity", "relevance_score")


def doc_id_of(item: Any) -> str | None:
    """The id of the document that a retrieved thing comes from, or nothing.

    Examples
    --------
    >>> doc_id_of("d1"), doc_id_of(("d1", 0.5)), doc_id_of({"_id": 7})
    ('d1', 'd1', '7')
    >>> doc_id_of({"page_content": "…", "metadata": {"source": "a.txt"}})
    'a.txt'
    """
    return _first_id(item, _document_candidates)


def doc_ids_of(item: Any) -> dict[str, str]:
    """Every id that a retrieved thing has, by where it stands, in the order of `doc_id_of`.

    Examples
    --------
    >>> doc_ids_of({"id": "a7f3", "metadata": {"source": "a.txt"}})
    {'id': 'a7f3', "metadata['source']": 'a.txt'}
    >>> doc_ids_of("d1")
    {'': 'd1'}
    """
    found: dict[str, str] = {}
    for place, value in _ids(item, _document_candidates):
        found.setdefault(place, value)
    return found


def piece_id_of(item: Any) -> str | None:
    """The id of the retrieved thing itself: its own `id` before that of its document.

    Examples
    --------
    >>> piece_id_of({"id": "d1#3", "source_id": "d1"})
    'd1#3'
    """
    return _first_id(item, _piece_candidates)


def content_of(item: Any) -> str | None:
    """The text of a retrieved thing, or nothing. A string is its own text.

    Examples
    --------
    >>> content_of({"text": "Paris"}), content_of("Paris"), content_of({"id": "d1"})
    ('Paris', 'Paris', None)
    """
    if isinstance(item, str):
        return item
    if _is_pair(item):
        return content_of(item[0])
    for name in CONTENT_NAMES:
        text = look(item, name)
        if isinstance(text, str):
            return text
    for name in HOLDERS:
        held = look(item, name)
        if held is not None and not callable(held):
            return content_of(held)
    return None


def score_of(item: Any) -> float | None:
    """The score of a retrieved thing, or nothing.

    Examples
    --------
    >>> score_of(("d1", 0.5)), score_of({"id": "d1", "score": 2}), score_of("d1")
    (0.5, 2.0, None)
    """
    if isinstance(item, str):
        return None
    if _is_pair(item):
        return float(item[1])
    for name in SCORE_NAMES:
        score = look(item, name)
        if is_number(score):
            return float(score)
    return None


def metadata_of(item: Any) -> dict[str, Any]:
    """What a retrieved thing says about itself, as a new mapping; empty where it says nothing."""
    for name in METADATA_NAMES:
        said = look(item, name)
        if isinstance(said, Mapping):
            return dict(said)
    return {}


def look(item: Any, name: str) -> Any:
    """A mapping's value or an object's attribute; `None` where there is none."""
    if type(item) is dict or isinstance(item, Mapping):
        return item.get(name)
    return None if isinstance(item, str) else getattr(item, name, None)


def as_id(value: Any) -> str | None:
    """A value as an id: strings, whole numbers, UUIDs and paths; nothing for everything else.

    Examples
    --------
    >>> as_id("007"), as_id(7), as_id(True), as_id(""), as_id(0.5)
    ('007', '7', None, None, None)
    """
    if isinstance(value, str):
        return str.__str__(value) or None
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    try:
        return str(operator.index(value))
    except TypeError:
        return None


def _first_id(item: Any, candidates: Callable[[Any], Candidates]) -> str | None:
    return next((found for _, found in _ids(item, candidates)), None)


def _ids(item: Any, candidates: Callable[[Any], Candidates]) -> Iterator[tuple[str, str]]:
    own = as_id(item)
    if own is not None:
        yield "", own
    elif _is_pair(item):
        yield from _ids(item[0], candidates)
    else:
        read = ((place, as_id(value)) for place, value in candidates(item))
        yield from ((place, found) for place, found in read if found is not None)


def _named(item: Any, names: tuple[str, ...]) -> Candidates:
    return ((name, look(item, name)) for name in names)


def _document_candidates(item: Any) -> Candidates:
    yield from _named(item, SOURCE_NAMES)
    metadata = metadata_of(item)
    yield from ((f"metadata[{name!r}]", metadata.get(name)) for name in SOURCE_NAMES)
    yield from _named(item, DOCUMENT_NAMES)
    yield from _of_what_it_holds(item, _document_candidates)
    yield from _named(item, PIECE_NAMES)
    yield "metadata['source']", metadata.get("source")


def _piece_candidates(item: Any) -> Candidates:
    yield "id", look(item, "id")
    yield from _named(item, PIECE_NAMES)
    yield from _of_what_it_holds(item, _piece_candidates)
    yield from _document_candidates(item)


def _of_what_it_holds(item: Any, candidates: Callable[[Any], Candidates]) -> Candidates:
    for name in HOLDERS:
        held = look(item, name)
        if held is not None and not callable(held):
            for place, found in _ids(held, candidates):
                yield f"{name}.{place}".rstrip("."), found


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2 and is_number(item[1])


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are not."""
    return type(value) in (float, int) or (isinstance(value, Real) and not isinstance(value, bool))
