"""Any metric objects over any rows: a frame back, in the rows' order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import polars as pl

from evalframe import frames, hits
from evalframe.calls import outcomes, settled
from evalframe.columns import SAMPLES
from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, EvalframeError, OptionError, RowError
from evalframe.io.any_samples import records_of_table
from evalframe.io.sample_records import as_record
from evalframe.progress import tracked
from evalframe.rag.chunks import RetrievedChunk

__all__ = ["score_rows"]

RETRIEVED_NAMES = ("retrieved", "retrieved_chunks", "chunks")
GOLD_KEYS = {
    "relevant_doc_ids": SAMPLES.names_for("reference_context_ids"),
    "relevant_content": SAMPLES.names_for("reference_contexts"),
}
"""The keys that metrics look under by default → the names under which a row may have it."""


def score_rows(
    rows: Any, metrics: Any, *, progress: bool | None = None, workers: int = 1
) -> pl.DataFrame:
    """Score every row with every metric, and lose none.

    Parameters
    ----------
    rows
        A frame, or an iterable of mappings (dataclasses and pydantic models are taken too). A row
        has the query (`query`, `question`, `user_input`), what was retrieved (`retrieved`: a list
        of chunks; or `retrieved_contexts` and `retrieved_context_ids`), the reference answer (of
        several `references` the first; the row has them all), and what else the metrics look for.
        `reference_context_ids` also serve as `relevant_doc_ids`,
        `reference_contexts` as `relevant_content`.
    metrics
        Objects with `.score(query, retrieved, reference, eval_row)`, sync or async; or a mapping
        of column name to object. A name that stands twice gets a number: `judge`, `judge_2`.
    progress
        `None` shows a bar after a second, `True` at once, `False` never.
    workers
        Rows scored at a time, on threads; for judges that wait for an answer.

    Returns
    -------
    polars.DataFrame
        In the rows' order: `query_id` (the row's own, else its place from 0), one Float64 column
        for each metric, and `error`: what went wrong, by metric, or null. A value is null where
        the metric failed, gave NaN, or where the row does not have the key it looks under.

    Raises
    ------
    OptionError
        A metric has no `score`, or there is none.
    EmptyError
        There are no rows.

    Examples
    --------
    >>> from evalframe.rag.metrics import MRRMetric
    >>> rows = [
    ...     {"query_id": "q1", "query": "?", "retrieved": ["d2", "d1"], "relevant_doc_ids": ["d1"]},
    ...     {"query_id": "q2", "query": "?", "retrieved": ["d2", "d1"]},
    ... ]
    >>> score_rows(rows, [MRRMetric()]).rows()
    [('q1', 0.5, None), ('q2', None, "mrr: the row has no 'relevant_doc_ids'")]
    """
    named = _named(metrics)
    table = _rows(rows)
    if not table:
        raise EmptyError("there are no rows to score")

    def score(numbered: tuple[int, Any]) -> dict[str, Any]:
        return _scored(*numbered, named)

    with (
        closing(outcomes(score, dict, list(enumerate(table)), workers)) as results,
        closing(tracked(results, len(table), "row", progress)) as shown,
    ):
        scored = list(shown)
    schema = {"query_id": pl.String(), **dict.fromkeys(named, pl.Float64()), "error": pl.String()}
    return pl.DataFrame(scored, schema=schema, orient="row")


def _scored(place: int, given: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the result."""
    result: dict[str, Any] = {"query_id": str(place), **dict.fromkeys(named), "error": None}
    try:
        row = _as_mapping(given)
        result["query_id"] = _first(row, SAMPLES.names_for("query_id"), hits.as_id) or str(place)
        retrieved = _retrieved(row)
    except Exception as error:
        return result | {"error": _described(error)}
    for key, names in GOLD_KEYS.items():
        gold = _first(row, (key, *names))
        if gold is not None:
            row[key] = gold
    query = _first(row, SAMPLES.names_for("user_input")) or ""
    reference = _first(row, SAMPLES.names_for("reference"))
    if reference is None:
        reference = _first(row, SAMPLES.names_for("references"), _first_text)
    problems = []
    for name, metric in named.items():
        try:
            result[name] = _value(metric, query, retrieved, reference, row)
        except Exception as error:
            problems.append(f"{name}: {_described(error)}")
    return result | {"error": "; ".join(problems) or None}


def _value(metric: Any, query: Any, retrieved: Any, reference: Any, row: dict[str, Any]) -> float:
    for attribute in ("relevant_ids_key", "relevant_content_key"):
        key = getattr(metric, attribute, None)
        if isinstance(key, str) and row.get(key) is None:
            raise RowError(f"the row has no {key!r}")
    value = settled(metric.score(query, retrieved, reference=reference, eval_row=row))
    number = float(value)
    if math.isnan(number):
        raise RowError("it gave NaN")
    return number


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, EvalframeError) else f"{type(error).__name__}: {error}"


def _named(metrics: Any) -> dict[str, Any]:
    if isinstance(metrics, Mapping):
        named = dict(metrics)
    else:
        listed = list(metrics) if isinstance(metrics, Iterable) else [metrics]
        named = {}
        for metric in listed:
            name = str(getattr(metric, "name", None) or type(metric).__name__)
            numbered = (f"{name}_{number}" for number in itertools.count(2))
            named[name if name not in named else next(n for n in numbered if n not in named)] = (
                metric
            )
    if not named:
        raise OptionError("metrics is empty: give at least one object with a method `score`")
    for name, metric in named.items():
        if not callable(getattr(metric, "score", None)) or isinstance(metric, type):
            raise OptionError(
                f"metric {name!r} ({metric!r:.80}) is no object with a method `score`"
            )
        if name in ("query_id", "error"):
            raise OptionError(f"a metric may not be named {name!r}: that column is taken")
    return named


def _rows(rows: Any) -> Sequence[Any]:
    if frames.is_tabular(rows):
        return _rows_of_table(rows)
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ColumnError(f"rows is a {type(rows).__name__}: give a frame or an iterable of rows")
    return list(rows)


def _rows_of_table(rows: Any) -> list[dict[str, Any]]:
    try:
        table = frames.to_polars(rows)
    except (TypeError, ValueError):
        if not hasattr(rows, "to_dict"):
            raise
        return records_of_table(rows)
    return (collect(table, "in-memory") if isinstance(table, pl.LazyFrame) else table).to_dicts()


def _as_mapping(row: Any) -> dict[str, Any]:
    """A new mapping of a row, so that the row itself is never changed."""
    record = as_record(row)
    if not isinstance(record, dict):
        raise RowError(f"the row is a {type(row).__name__}, not a mapping")
    return record


def _first_text(references: Any) -> Any:
    listed = [references] if isinstance(references, str) else references
    return next((one for one in listed if one is not None), None)


def _first(row: Mapping[str, Any], names: Iterable[str], read: Any = lambda value: value) -> Any:
    """The first of the names under which the row has something other than null or NaN."""
    for name in names:
        value = row.get(name)
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            found = read(value)
            if found is not None:
                return found
    return None


def _retrieved(row: Mapping[str, Any]) -> Sequence[Any]:
    """The row's chunks, or chunks made of its contexts and their ids."""
    chunks = _first(row, RETRIEVED_NAMES)
    if chunks is not None:
        return _as_list(chunks, "retrieved")
    contexts = _first(row, SAMPLES.names_for("retrieved_contexts"))
    ids = _first(row, SAMPLES.names_for("retrieved_context_ids"))
    if contexts is None and ids is None:
        return []
    texts = None if contexts is None else _as_list(contexts, "retrieved_contexts")
    names = None if ids is None else _as_list(ids, "retrieved_context_ids")
    if texts is None:
        return [RetrievedChunk(_name(name), None) for name in names or []]
    if names is None:
        return [RetrievedChunk("", one) if isinstance(one, str) else one for one in texts]
    if len(texts) != len(names):
        raise RowError(
            f"retrieved_contexts has {len(texts)} entries, retrieved_context_ids {len(names)}"
        )
    return [
        RetrievedChunk(_name(name), hits.content_of(text))
        for name, text in zip(names, texts, strict=True)
    ]


def _name(given: Any) -> str:
    return hits.as_id(given) or ""


def _as_list(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise RowError(f"{name} is a {type(value).__name__}, not a list")
    return list(value)
