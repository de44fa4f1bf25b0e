"""Run a retriever over queries, and give what it found as a run frame.

A retriever is a callable, or an object with a method named `search`, `retrieve`,
`similarity_search`, `invoke` or `get_relevant_documents` (the first that is there and can be called
with a query alone). It is called with the query's text, and with
the limit where its signature has a parameter for it. What it gives is a sequence of hits, best
first (see `hits` for what a hit may be), a mapping of document id to score, or a frame with a
column of document ids; or something to await that gives one of these.

A hit may have several ids: its own, that of the document it was cut from, that of its file. The
first (in the order of `hits`) counts, unless none that was found is a document of the qrels. Then
the first place where such documents are named counts, for all hits: vector stores give ids of their
own making to documents whose `metadata["source"]` is what was judged.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from evalframe import frames, hits
from evalframe.calls import outcomes
from evalframe.engine import collect
from evalframe.errors import EvalframeError, OptionError, one_of, whole_number
from evalframe.progress import tracked

__all__ = ["OnError", "Retrieved", "caller", "distinct_hits", "retrieve"]

OnError = Literal["raise", "skip"]
"""What a query on which the retriever fails does: stop everything, or be recorded and left out."""

METHODS = ("search", "retrieve", "similarity_search", "invoke", "get_relevant_documents")
LIMIT_NAMES = ("limit", "top_k", "k")
TAKES_ANY_KEYWORD = ("search", "")
"""Ways of calling in which a `**kwargs` is taken to mean that `limit` may be given."""

RUN_SCHEMA = {
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "score": pl.Float64(),
    "rank": pl.Int64(),
    "retriever_score": pl.Float64(),
}
FAILURE_SCHEMA = {"query_id": pl.String(), "text": pl.String(), "error": pl.String()}

Call = Callable[[str], Any]
Answer = list[tuple[str, float | None]]


@dataclass(frozen=True, slots=True)
class Hit:
    """The id of a hit, its score, and every id it has by place, where the first is not judged."""

    doc_id: str
    score: float | None
    others: Mapping[str, str]


NO_OTHERS: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class Retrieved:
    """What a retriever found, and the queries on which it failed.

    Attributes
    ----------
    run
        `query_id`, `doc_id`, `score` (minus the rank, so that sorting by it keeps the order),
        `rank` (1 = first, without gaps) and `retriever_score` (null where none was given).
    failures
        `query_id`, `text` and `error`, one row for each query on which the retriever failed.
    ids_from
        Where the ids stand, such as `metadata['source']`, if not the first of each hit was taken.
    """

    run: pl.DataFrame
    failures: pl.DataFrame
    ids_from: str | None = None


def retrieve(
    retriever: Any,
    queries: Mapping[str, str],
    *,
    limit: int,
    keep: int | None = None,
    workers: int = 1,
    progress: bool | None = None,
    on_error: OnError = "raise",
    judged: Container[str] | None = None,
) -> Retrieved:
    """Ask a retriever every query.

    Parameters
    ----------
    retriever
        See the module's text.
    queries
        Query id → text. The run keeps this order, whatever order the answers come in.
    limit
        How many hits to ask for; of a retriever that gives more, only so many are read, unless
        `keep` is given.
    keep
        Read on, whatever the limit, until so many distinct documents are found.
    workers
        Queries asked at a time: threads, or tasks of one event loop for an async retriever.
    progress
        `None` shows a bar after a second, `True` at once, `False` never.
    on_error
        `raise` stops at the first query (in the queries' order) that fails; `skip` records it.
    judged
        The documents of the qrels, by which the hits' ids are chosen; `None` takes the first.

    Raises
    ------
    EvalframeError
        The retriever failed on a query, which is named; its own error is the cause.
    OptionError
        It cannot be called, or an option has a value that is not offered.

    Examples
    --------
    >>> found = retrieve({"cats": ["d2", "d1", "d2"]}.get, {"q1": "cats"}, limit=3)
    >>> found.run.select("query_id", "doc_id", "rank").rows()
    [('q1', 'd2', 1), ('q1', 'd1', 2)]
    """
    one_of("on_error", on_error, ("raise", "skip"))
    whole_number("workers", workers)
    reader = _Reader(judged, limit if keep is None else None, keep)
    answers: dict[str, list[Hit]] = {}
    failures: list[tuple[str, str, str]] = []
    asked = outcomes(caller(retriever, limit), reader.read, list(queries.values()), workers)
    with closing(asked) as given, closing(tracked(given, len(queries), "query", progress)) as shown:
        for (query_id, text), answer in zip(queries.items(), shown, strict=True):
            if not isinstance(answer, Exception):
                answers[query_id] = answer
            elif on_error == "skip":
                failures.append((query_id, text, _described(answer)))
            else:
                raise EvalframeError(
                    f"the retriever failed on query {query_id!r} ({_shortened(text)}): "
                    f'{_described(answer)}. on_error="skip" records such queries and goes on'
                ) from answer
    ids_from = reader.ids_from(answers.values())
    rows = [
        (query_id, doc, -float(rank), rank, score)
        for query_id, answer in answers.items()
        for rank, (doc, score) in enumerate(_distinct(answer, ids_from, keep), start=1)
    ]
    return Retrieved(
        pl.DataFrame(rows, schema=RUN_SCHEMA, orient="row"),
        pl.DataFrame(failures, schema=FAILURE_SCHEMA, orient="row"),
        ids_from,
    )


class _Reader:
    """Reads answers as hits, and remembers whether any of their ids is judged."""

    def __init__(
        self, judged: Container[str] | None, n_hits: int | None, n_documents: int | None
    ) -> None:
        self.judged = judged
        self.limits = (n_hits, n_documents)
        self.first_ids_fit = judged is None

    def read(self, raw: Any) -> list[Hit]:
        return list(_hits(raw, *self.limits, self._hit))

    def ids_from(self, answers: Iterable[list[Hit]]) -> str | None:
        """The first place where a hit names a judged document, unless first ids are judged."""
        if self.first_ids_fit or self.judged is None:
            return None
        places = {
            place: None
            for answer in answers
            for hit in answer
            for place, doc in hit.others.items()
            if doc in self.judged
        }
        return next(iter(places), None)

    def _hit(self, hit: Any, doc_id: str) -> Hit:
        fits = self.first_ids_fit or (self.judged is not None and doc_id in self.judged)
        # Once a first id is judged, nobody asks for the others.
        self.first_ids_fit = fits
        others = NO_OTHERS if fits or isinstance(hit, str) else hits.doc_ids_of(hit)
        return Hit(doc_id, hits.score_of(hit), others)


def caller(retriever: Any, limit: int) -> Call:
    """How to ask this retriever one query: a function of the query's text.

    The limit is given by the name `limit`, `top_k` or `k`, whichever its signature has first.

    Examples
    --------
    >>> caller(lambda query, *, limit=10: [query] * limit, 2)("d1")
    ['d1', 'd1']
    >>> caller(lambda query: [query], 2)("d1")
    ['d1']
    """
    method, function = _function_of(retriever)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    parameters = signature.parameters
    named = [n for n in LIMIT_NAMES if n in parameters and _takes_keyword(parameters[n])]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if not named and takes_any and method in TAKES_ANY_KEYWORD:
        named = ["limit"]
    options = {named[0]: limit} if named else {}
    try:
        signature.bind("", **options)
    except TypeError as error:
        raise OptionError(
            f"the retriever cannot be asked: its signature is {method}{signature}, and it is "
            f"called as (query) or (query, limit=…): {error}. Wrap it in a function of the query"
        ) from error
    return functools.partial(function, **options)


def distinct_hits(
    raw: Any, n_hits: int | None = None, n_documents: int | None = None
) -> list[tuple[str, float | None]]:
    """Document ids with their scores, best first, each document at its best rank.

    Parameters
    ----------
    raw
        What a retriever gave for one query.
    n_hits
        Read no more hits than this.
    n_documents
        Stop when so many distinct documents are found.

    Raises
    ------
    EvalframeError
        It cannot be read as hits, or a hit has no id.

    Examples
    --------
    >>> distinct_hits([("a", 3.0), {"doc_id": "b"}, "a"])
    [('a', 3.0), ('b', None)]
    """
    read = _hits(raw, n_hits, n_documents, lambda hit, doc: Hit(doc, hits.score_of(hit), NO_OTHERS))
    return _distinct(list(read))


def _hits(
    raw: Any, n_hits: int | None, n_documents: int | None, made: Callable[[Any, str], Hit]
) -> Iterator[Hit]:
    """The hits in their order, until so many hits or distinct documents have been read."""
    seen: set[str] = set()
    for place, hit in enumerate(_sequence(raw)):
        if place == n_hits or len(seen) == n_documents:
            break
        doc_id = hits.doc_id_of(hit)
        if doc_id is None:
            raise EvalframeError(
                f"hit {place + 1} has no document id: {_shortened(hit)}. A hit is an id, a pair "
                "(id, score), or has one of source_id, doc_id, id, segment, metadata['source']"
            )
        seen.add(doc_id)
        yield made(hit, doc_id)


def _distinct(answer: list[Hit], ids_from: str | None = None, keep: int | None = None) -> Answer:
    """Each document at its best rank."""
    found: dict[str, float | None] = {}
    for hit in answer:
        doc_id = hit.doc_id if ids_from is None else hit.others.get(ids_from, hit.doc_id)
        found.setdefault(doc_id, hit.score)
    return list(found.items())[:keep]


def _function_of(retriever: Any) -> tuple[str, Call]:
    """The function to call, and the name of the method that it is ('' for a plain callable)."""
    plain = inspect.isroutine(retriever) or isinstance(retriever, functools.partial | type)
    methods = [] if plain else [(name, getattr(retriever, name, None)) for name in METHODS]
    there = [(name, function) for name, function in methods if callable(function)]
    if there:
        return next((one for one in there if _takes_a_query(one[1])), there[0])
    if callable(retriever) and not isinstance(retriever, type):
        return "", retriever
    raise OptionError(
        f"a {type(retriever).__name__} is no retriever: give a callable query -> ranked results, "
        f"or an object with one of the methods {', '.join(METHODS)}"
    )


def _takes_a_query(function: Call) -> bool:
    try:
        inspect.signature(function).bind("")
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _takes_keyword(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _sequence(raw: Any) -> Iterable[Any]:
    if isinstance(raw, Mapping) and all(hits.is_number(score) for score in raw.values()):
        unordered = [doc for doc, score in raw.items() if score != score]
        if unordered:
            raise EvalframeError(f"it gave NaN as the score of {unordered[0]!r}: no order has it")
        return sorted(raw.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
    if isinstance(raw, pl.LazyFrame) or hasattr(raw, "columns"):
        rows = frames.to_polars(raw)
        rows = collect(rows, "in-memory") if isinstance(rows, pl.LazyFrame) else rows
        return rows.iter_rows(named=True)
    if isinstance(raw, str | bytes | Mapping) or not hasattr(raw, "__iter__"):
        raise EvalframeError(
            f"it gave {_shortened(raw)} (a {type(raw).__name__}), not a sequence of hits"
        )
    hits_of: Iterable[Any] = raw
    return hits_of


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
