"""Samples as Ragas has them: its fields, what it refuses, and what has no place in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe import hits
from evalframe.columns import SAMPLES
from evalframe.engine import collect
from evalframe.errors import ColumnError
from evalframe.samples.checks import checked_samples

__all__ = ["FIELDS", "as_mapping", "converted", "is_there", "samples_table", "series"]

TEXTS = ("user_input", "response", "reference", "persona_name", "query_style", "query_length")
LISTS = (
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
)
MAPPINGS = ("rubrics",)
FIELDS = (*TEXTS, *LISTS, *MAPPINGS)
"""The fields of Ragas' SingleTurnSample."""

IDS = ("retrieved_context_ids", "reference_context_ids")


def converted(
    samples: Any,
) -> tuple[list[dict[str, Any]], Counter[tuple[str, str]], list[tuple[int, str, str]]]:
    """The rows as Ragas wants them, what they lose by (column, what), and what it would refuse."""
    losses: Counter[tuple[str, str]] = Counter()
    problems: list[tuple[int, str, str]] = []
    rows: list[dict[str, Any]] = []
    for place, row in enumerate(samples_table(samples).iter_rows(named=True)):
        left = {name: value for name, value in row.items() if is_there(value)}
        sample = {name: _taken(left, SAMPLES.names_for(name)) for name in FIELDS}
        _taken(left, SAMPLES.names_for("query_id"))
        _choose_reference(sample, _taken(left, SAMPLES.names_for("references")), losses)
        losses.update((name, "dropped") for name in left)
        rows.append({})
        for name, value in sample.items():
            if value is not None:
                problem, fitted = _fitted(name, value, losses)
                rows[-1][name] = fitted
                problems += [(place, name, problem)] if problem else []
    return rows, losses, problems


def _choose_reference(
    sample: dict[str, Any], references: Any, losses: Counter[tuple[str, str]]
) -> None:
    if references is None:
        return
    given = [references] if isinstance(references, str) else [r for r in references if is_there(r)]
    if sample["reference"] is None and given:
        sample["reference"] = given[0]
    if any(other != sample["reference"] for other in given):
        losses["references", "only one is kept"] += 1


def _fitted(name: str, value: Any, losses: Counter[tuple[str, str]]) -> tuple[str, Any]:
    """A problem, or '', and the value as Ragas takes it."""
    if name in MAPPINGS:
        if not isinstance(value, Mapping):
            return f"{type(value).__name__}, not a mapping", value
        return "", {key: item for key, item in value.items() if item is not None}
    if name in TEXTS:
        return "" if isinstance(value, str) else f"{type(value).__name__}, not a string", value
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return f"{type(value).__name__}, not a list", value
    listed = list(value)
    items = [item for item in listed if is_there(item)]
    if len(items) < len(listed):
        losses[name, "nulls in the list left out"] += 1
    fits = [hits.as_id(i) is not None if name in IDS else isinstance(i, str) for i in items]
    if not all(fits):
        wrong = type(items[fits.index(False)]).__name__
        return f"{wrong} in a list of {'ids' if name in IDS else 'strings'}", items
    return "", [hits.as_id(item) for item in items] if name in IDS else items


def _taken(left: dict[str, Any], names: Sequence[str]) -> Any:
    """The value under the first of the names that is there, which is then no longer left."""
    return next((left.pop(name) for name in names if name in left), None)


def is_there(value: Any) -> bool:
    """Whether a value is something other than None or NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def samples_table(samples: Any) -> pl.DataFrame:
    """Samples in any shape as a frame in memory, in their order, with a `query_id`."""
    given = checked_samples(samples)
    return collect(given, "in-memory") if isinstance(given, pl.LazyFrame) else given


def as_mapping(sample: Any) -> Mapping[str, Any]:
    """A sample as a mapping; pydantic models, as Ragas' own, are dumped."""
    if isinstance(sample, Mapping):
        return sample
    if hasattr(sample, "model_dump"):
        dumped: Mapping[str, Any] = sample.model_dump()
        return dumped
    raise ColumnError(f"a sample is a {type(sample).__name__}, not a mapping: {sample!r:.200}")


def series(name: str, values: list[Any]) -> pl.Series:
    """A field's values as a column of the type that samples frames have for it."""
    if name in TEXTS:
        return pl.Series(name, values, pl.String)
    if name in MAPPINGS:
        return pl.DataFrame({name: values}, infer_schema_length=None)[name]
    lists = [None if v is None else [hits.as_id(i) for i in v] for v in values]
    return pl.Series(name, lists if name in IDS else values, pl.List(pl.String))
