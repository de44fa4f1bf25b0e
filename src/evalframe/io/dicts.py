"""Nested dicts, the shapes of pytrec_eval, BEIR and ranx: to frames and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import polars as pl

from evalframe.errors import ColumnError, EmptyError

__all__ = [
    "corpus_from_dict",
    "corpus_to_dict",
    "qrels_from_dict",
    "qrels_to_dict",
    "queries_from_dict",
    "queries_to_dict",
    "run_from_dict",
    "run_to_dict",
    "samples_from_dicts",
    "samples_to_dicts",
]


@contextmanager
def _whole_characters(kind: str) -> Iterator[None]:
    """Say of a text with half a character which one it is."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ColumnError(
            f"{kind}: {error.object!r:.80} holds half a character (a lone surrogate), which no "
            "frame and no file can hold"
        ) from error


@_whole_characters("qrels")
def qrels_from_dict(qrels: Mapping[Any, Mapping[Any, float]]) -> pl.DataFrame:
    """`{query_id: {doc_id: grade}}` as a frame; whole-number ids become strings.

    >>> qrels_from_dict({"q1": {"d1": 1, "d2": 0}}).rows()
    [('q1', 'd1', 1), ('q1', 'd2', 0)]
    """
    return _pairs(qrels, "qrels", "relevance")


@_whole_characters("run")
def run_from_dict(run: Mapping[Any, Any]) -> pl.DataFrame:
    """A run as a frame, from any of the shapes below.

    `{query_id: {doc_id: score}}`, `{query_id: [(doc_id, score), …]}`, or `{query_id: [doc_id, …]}`,
    best first, which gets ranks, and scores that are minus the ranks. One more level of keys above
    these names the systems.

    >>> run_from_dict({"q1": ["d2", "d1"]}).rows()
    [('q1', 'd2', -1.0, 1), ('q1', 'd1', -2.0, 2)]
    """
    if run and all(_is_run(value) for value in run.values()):
        frames = [
            run_from_dict(one).with_columns(pl.lit(_id(name, "run")).alias("system"))
            for name, one in run.items()
        ]
        return pl.concat(frames, how="diagonal")
    listed = [query for query, value in run.items() if _is_list_of_ids(value)]
    if listed:
        _refuse_scored(run, listed[0])
        return _listed(run)
    return _pairs(run, "run", "score")


@_whole_characters("queries")
def queries_from_dict(queries: Mapping[Any, str | None]) -> pl.DataFrame:
    """`{query_id: text}` as a frame.

    >>> queries_from_dict({"q1": "what is ndcg?"}).rows()
    [('q1', 'what is ndcg?')]
    """
    ids = [_id(query, "queries") for query in queries]
    _refuse_other(queries.values(), "queries", "{query_id: text}")
    return pl.DataFrame({"query_id": ids, "text": [*queries.values()]}, schema=_texts("query_id"))


@_whole_characters("corpus")
def corpus_from_dict(corpus: Mapping[Any, Any]) -> pl.DataFrame:
    """`{doc_id: text}` or `{doc_id: {"title": …, "text": …, …}}` as a frame.

    >>> corpus_from_dict({"d1": {"title": "Gain", "text": "A sum."}}).rows()
    [('d1', 'Gain', 'A sum.')]
    """
    ids = [_id(doc, "corpus") for doc in corpus]
    if corpus and all(isinstance(document, Mapping) for document in corpus.values()):
        documents = pl.from_dicts([dict(d) for d in corpus.values()], infer_schema_length=None)
        return documents.select(
            pl.Series("doc_id", ids, pl.String), pl.all().exclude("doc_id", "_id", "id")
        )
    _refuse_other(corpus.values(), "corpus", "{doc_id: text} or {doc_id: {'title': …, 'text': …}}")
    return pl.DataFrame({"doc_id": ids, "text": [*corpus.values()]}, schema=_texts("doc_id"))


def samples_from_dicts(samples: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """One mapping per sample as a frame; a key that some samples lack is null there, as is NaN.

    >>> samples_from_dicts([{"user_input": "2 + 2?", "response": "four"}]).rows()
    [('2 + 2?', 'four')]
    """
    rows = [{name: _without_nan(value) for name, value in sample.items()} for sample in samples]
    if not rows:
        raise EmptyError("there are no samples: the list is empty")
    return pl.from_dicts(rows, infer_schema_length=None)


def _without_nan(value: Any) -> Any:
    """NaN, which pandas has for a missing text or list, is null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def qrels_to_dict(qrels: pl.DataFrame) -> dict[str, dict[str, float]]:
    """House qrels as `{query_id: {doc_id: grade}}`, in the order of the rows.

    >>> qrels_to_dict(pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "relevance": [2]}))
    {'q1': {'d1': 2}}
    """
    return _nested(qrels, "relevance")


def run_to_dict(run: pl.DataFrame) -> dict[str, Any]:
    """A house run as `{query_id: {doc_id: score}}`; several systems give one such dict by name.

    >>> run_to_dict(pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "score": [0.5]}))
    {'q1': {'d1': 0.5}}
    """
    if "system" not in run.columns:
        return _nested(run, "score")
    parts = run.partition_by("system", as_dict=True, maintain_order=True, include_key=False)
    return {str(name): _nested(part, "score") for (name,), part in parts.items()}


def queries_to_dict(queries: pl.DataFrame) -> dict[str, str]:
    """House queries as `{query_id: text}`."""
    return dict(zip(queries["query_id"], queries["text"], strict=True))


def corpus_to_dict(corpus: pl.DataFrame, *, joined: bool = False) -> dict[str, Any]:
    """A house corpus as `{doc_id: {"title": …, "text": …}}`, or, `joined`, as `{doc_id: text}`.

    Joined texts are the title, a space and the text, as BEIR does it; where one of the two is null
    or empty, the other as it is.

    >>> frame = pl.DataFrame({"doc_id": ["d1"], "title": ["Gain"], "text": ["A sum."]})
    >>> corpus_to_dict(frame, joined=True)
    {'d1': 'Gain A sum.'}
    """
    texts = [name for name in ("title", "text") if name in corpus.columns]
    if joined:
        there = [pl.when(pl.col(name) != "").then(pl.col(name)) for name in texts]
        values: list[Any] = (
            corpus.select(pl.concat_str(there, separator=" ", ignore_nulls=True))
            .to_series()
            .to_list()
        )
    else:
        values = corpus.select(pl.all().exclude("doc_id")).to_dicts()
    return dict(zip(corpus["doc_id"], values, strict=True))


def samples_to_dicts(samples: pl.DataFrame) -> list[dict[str, Any]]:
    """House samples as one dict per row."""
    return samples.to_dicts()


def _pairs(nested: Mapping[Any, Any], kind: str, column: str) -> pl.DataFrame:
    """`{query: {doc: number}}` or `{query: [(doc, number), …]}` as three columns."""
    queries: list[str] = []
    docs: list[Any] = []
    numbers: list[Any] = []
    for query, inner in nested.items():
        if isinstance(inner, Mapping):
            docs += inner.keys()
            numbers += inner.values()
        else:
            pairs = [*_iterable(query, inner, kind)]
            _refuse_no_pairs(query, pairs, kind)
            docs += [pair[0] for pair in pairs]
            numbers += [pair[1] for pair in pairs]
        queries += [_id(query, kind)] * (len(docs) - len(queries))
    ids = docs if all(type(doc) is str for doc in docs) else [_id(doc, kind) for doc in docs]
    frame = pl.DataFrame({"query_id": queries, "doc_id": ids}, schema=_texts("query_id", "doc_id"))
    return frame.with_columns(_numeric(numbers, kind, column))


def _numeric(numbers: list[Any], kind: str, column: str) -> pl.Series:
    try:
        values = pl.Series(column, numbers, strict=True)
    except (TypeError, OverflowError):
        # Whole and broken numbers in one list, numpy's scalars, or numbers beyond 64 bits.
        try:
            values = pl.Series(column, [None if n is None else float(n) for n in numbers])
        except (TypeError, ValueError, OverflowError) as error:
            raise ColumnError(f"the values of the {kind} are not all numbers: {error}") from error
    if values.dtype == pl.Boolean or values.dtype == pl.Null:
        return values.cast(pl.Int64)
    if values.dtype.is_integer() and values.dtype != pl.Int64:
        return values.cast(pl.Float64)
    if not values.dtype.is_numeric():
        raise ColumnError(
            f"the values of the {kind} are {values.dtype}, for example {numbers[0]!r:.80}; "
            f"numbers are wanted: {{query_id: {{doc_id: {column}}}}}"
        )
    return values


def _listed(run: Mapping[Any, Any]) -> pl.DataFrame:
    ids = {
        _id(query, "run"): [_id(doc, "run") for doc in _iterable(query, docs, "run")]
        for query, docs in run.items()
    }
    listed = pl.DataFrame(
        {"query_id": [*ids], "doc_id": [*ids.values()]},
        schema={"query_id": pl.String, "doc_id": pl.List(pl.String)},
    )
    ranks = pl.int_ranges(1, pl.col("doc_id").list.len().cast(pl.Int64) + 1).alias("rank")
    rows = listed.with_columns(ranks).explode("doc_id", "rank")
    return rows.select(
        "query_id", "doc_id", -pl.col("rank").cast(pl.Float64).alias("score"), "rank"
    )


def _refuse_scored(run: Mapping[Any, Any], listed: Any) -> None:
    """Refuse scores beside ranked lists: as a list, a mapping's keys would lose their scores."""
    for query, value in run.items():
        if value and not _is_list_of_ids(value):
            raise ColumnError(
                f"the run has scores for query {query!r} ({value!r:.60}) and a list of doc_ids for "
                f"query {listed!r}: give all queries in one of the two shapes"
            )


def _nested(frame: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    grouped = frame.group_by("query_id", maintain_order=True).agg("doc_id", column)
    return {
        query: dict(zip(docs, values, strict=True)) for query, docs, values in grouped.iter_rows()
    }


def _is_run(value: Any) -> bool:
    """Whether a value is itself `{query: {doc: score}}` or `{query: [doc, …]}`."""
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(isinstance(inner, Mapping | list | tuple) for inner in value.values())
    )


def _is_list_of_ids(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], str | int)


def _iterable(query: Any, value: Any, kind: str) -> Iterable[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ColumnError(
            f"{kind} of query {query!r:.80}: {value!r:.80} stands where "
            "{doc_id: number} is wanted"
            + (", or a list of doc_ids, best first" if kind == "run" else "")
        )
    return value


def _refuse_no_pairs(query: Any, pairs: list[Any], kind: str) -> None:
    bad = [pair for pair in pairs if not isinstance(pair, list | tuple) or len(pair) != 2]
    if bad or kind != "run":
        shown = bad[0] if bad else pairs
        raise ColumnError(
            f"{kind} of query {query!r:.80}: {shown!r:.80} stands where "
            "{doc_id: number} is wanted"
            + (", or a list of (doc_id, score)" if kind == "run" else "")
        )


def _id(value: Any, kind: str) -> str:
    """An id as a string; only strings and whole numbers are ids."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | float) or not hasattr(value, "__index__"):
        raise ColumnError(f"{value!r} in the {kind} is no id: ids are strings or whole numbers")
    return str(value.__index__())


def _refuse_other(values: Iterable[Any], kind: str, wanted: str) -> None:
    for value in values:
        if value is not None and not isinstance(value, str):
            raise ColumnError(f"{kind}: {value!r:.80} stands where a text is wanted: {wanted}")


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, pl.String) | ({"text": pl.String} if len(names) == 1 else {})
