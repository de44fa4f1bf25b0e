"""The bridge to Ragas: samples there, and its values back, beside the samples they belong to.

Ragas keeps neither ids nor extra columns, and names a row by its place alone. So what a conversion
leaves behind is told (`ConversionLossWarning`, `ragas_losses`), and values come back checked for
length and order. Ragas itself is imported when a function needs it, with its telemetry switched
off unless the environment variable `RAGAS_DO_NOT_TRACK` says otherwise; `to_ragas_dicts` and
`ragas_values` work without it.
"""

from __future__ import annotations

import copy
import importlib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe import frames, hits
from evalframe.engine import collect
from evalframe.errors import (
    ColumnError,
    EmptyError,
    MetricError,
    MissingExtraError,
    RowError,
    first_rows,
)
from evalframe.ragas.samples import (
    FIELDS,
    as_mapping,
    converted,
    is_there,
    samples_table,
    series,
)

__all__ = [
    "ConversionLossWarning",
    "as_ragas_dataset",
    "from_ragas_dataset",
    "ragas_losses",
    "ragas_values",
    "to_ragas_dicts",
    "with_unique_names",
]

PIN = "ragas 0.4.3 can only be imported beside langchain-community<0.4.2, which the extra pins"
LOSS_SCHEMA = {"column": pl.String(), "n_samples": pl.Int64(), "what": pl.String()}


class ConversionLossWarning(UserWarning):
    """Something the samples have has no place in Ragas."""


def as_ragas_dataset(samples: Any) -> Any:
    """The samples as a `ragas.EvaluationDataset` of single-turn samples, in their order.

    Parameters
    ----------
    samples
        A samples frame, a path, or an iterable of mappings; foreign column names are understood.

    Returns
    -------
    ragas.EvaluationDataset
        For `ragas.evaluate`, with your own model.

    Raises
    ------
    MissingExtraError
        Ragas is not installed or cannot be imported. It is also an `ImportError`.
    RowError
        Values that Ragas would refuse, all of them with their rows.

    Warns
    -----
    ConversionLossWarning
        Something has no place in Ragas; `ragas_losses` gives the list. The loss of `query_id` is
        not told: `ragas_values` brings it back.

    Examples
    --------
    >>> dataset = as_ragas_dataset([{"user_input": "2 + 2?", "response": "4"}])  # doctest: +SKIP
    >>> len(dataset)  # doctest: +SKIP
    1
    """
    rows = _checked(samples)
    return _ragas().EvaluationDataset.from_list(rows)


def to_ragas_dicts(samples: Any) -> list[dict[str, Any]]:
    """The samples as mappings with Ragas' field names, without empty fields; needs no Ragas.

    Of several references the first is taken; nulls inside lists are left out.

    Raises
    ------
    RowError
        Values that Ragas would refuse, all of them with their rows.
    EmptyError
        There are no samples.

    Warns
    -----
    ConversionLossWarning
        Something has no place in Ragas.

    Examples
    --------
    >>> to_ragas_dicts([{"question": "2 + 2?", "answer": "4", "ground_truths": ["4"]}])
    [{'user_input': '2 + 2?', 'response': '4', 'reference': '4'}]
    """
    return _checked(samples)


def ragas_losses(samples: Any) -> pl.DataFrame:
    """What a conversion to Ragas would leave behind.

    Returns
    -------
    polars.DataFrame
        `column`, `n_samples` (in how many samples) and `what`; no rows when nothing is lost.

    Examples
    --------
    >>> ragas_losses([{"user_input": "2 + 2?", "references": ["4", "four"], "lang": "en"}]).rows()
    [('lang', 1, 'dropped'), ('references', 1, 'only one is kept')]
    """
    losses = converted(samples)[1]
    rows = sorted((column, n, what) for (column, what), n in losses.items())
    return pl.DataFrame(rows, schema=LOSS_SCHEMA, orient="row")


def from_ragas_dataset(dataset: Any, query_ids: Sequence[Any] | None = None) -> pl.DataFrame:
    """A samples frame from a `ragas.EvaluationDataset`, or from a list of its samples.

    Parameters
    ----------
    dataset
        Single-turn samples.
    query_ids
        The samples' ids, in order; `None` numbers them from 0.

    Returns
    -------
    polars.DataFrame
        `query_id` and every field that some sample has, in the dataset's order.

    Raises
    ------
    RowError
        Multi-turn samples, or not as many ids as samples.
    EmptyError
        There are no samples.

    Examples
    --------
    >>> from_ragas_dataset([{"user_input": "2 + 2?", "response": "4"}], query_ids=["q1"]).rows()
    [('q1', '2 + 2?', '4')]
    """
    rows = [as_mapping(sample) for sample in dataset]
    if not rows:
        raise EmptyError("the Ragas dataset has no samples")
    if any(isinstance(row.get("user_input"), list) for row in rows):
        raise RowError("multi-turn samples have no place in a samples frame; give single-turn ones")
    ids = [str(place) for place in range(len(rows))] if query_ids is None else [*query_ids]
    _same_length(len(ids), "query_ids", len(rows), "samples")
    columns = [pl.Series("query_id", [hits.as_id(i) for i in ids], pl.String)]
    for name in FIELDS:
        values = [row.get(name) for row in rows]
        if any(value is not None for value in values):
            columns.append(series(name, values))
    return pl.DataFrame(columns)


def ragas_values(result: Any, samples: Any, *, prefix: str = "") -> pl.DataFrame:
    """Ragas' values as columns beside the samples that they belong to.

    Parameters
    ----------
    result
        What `ragas.evaluate` gives; or its `.scores`; or a list of mappings from metric to value
        or to a `MetricResult` of `ragas.metrics.collections`.
    samples
        The samples that were evaluated, in the same order, in any shape.
    prefix
        Put before each metric's name. A name that the samples already have gets `ragas_` anyway.

    Returns
    -------
    polars.DataFrame
        The samples, numbered from 0 where they have no `query_id`; and for each metric its value
        (null where Ragas gave NaN or nothing), a column `<metric>_status` (`ok` or `judge_error`),
        and `<metric>_reason` where Ragas gave one. Values are Float64, or String for metrics that
        answer in words.

    Raises
    ------
    RowError
        Not as many values as samples, or the result is of other samples or another order.

    Notes
    -----
    Ragas' own headline skips failed rows, so that it rises as more of them fail. Here they are
    null, counted by status, and `fill_null(0).mean()` gives the other mean.

    Examples
    --------
    >>> scores = [{"faithfulness": 0.5}, {"faithfulness": float("nan")}]
    >>> samples = [{"query_id": "q1", "response": "4"}, {"query_id": "q2", "response": "5"}]
    >>> ragas_values(scores, samples).select("query_id", "^faith.*$").rows()
    [('q1', 0.5, 'ok'), ('q2', None, 'judge_error')]
    """
    frame = samples_table(samples)
    scores = _scores(result)
    _same_length(len(scores), "values of Ragas", frame.height, "samples")
    _same_samples(result, frame)
    names = list(dict.fromkeys(name for row in scores for name in row))
    if not names:
        raise EmptyError("the result of Ragas holds no metric")
    taken = set(frame.columns)
    added: list[pl.Series] = []
    for name in names:
        column = prefix + name
        column = f"ragas_{column}" if column in taken else column
        values = [row.get(name) for row in scores]
        added += _columns(column, values)
        taken |= {series.name for series in added}
    return frame.hstack(added)


def with_unique_names(metrics: Iterable[Any]) -> list[Any]:
    """Ragas metrics of which no two share a name, so that none overwrites another's values.

    Ragas keys its values by name alone, and of two metrics of one name only the last is seen. A
    name that stands again gets a number: `rouge_score`, `rouge_score_2`. The metrics given are
    not changed; those that need another name are copied.

    Examples
    --------
    >>> from types import SimpleNamespace as Metric
    >>> [metric.name for metric in with_unique_names([Metric(name="rouge"), Metric(name="rouge")])]
    ['rouge', 'rouge_2']
    """
    given = list(metrics)
    taken = {metric.name for metric in given}
    seen: Counter[str] = Counter()
    unique = []
    for metric in given:
        name = metric.name
        seen[name] += 1
        if seen[name] > 1:
            number = seen[name]
            while f"{name}_{number}" in taken:
                number += 1
            metric = copy.copy(metric)
            metric.name = f"{name}_{number}"
            taken.add(metric.name)
        unique.append(metric)
    return unique


def _checked(samples: Any) -> list[dict[str, Any]]:
    """The converted rows, once nothing is refused; losses are told to the caller's caller."""
    taken, losses, problems = converted(samples)
    if problems:
        rows = pl.DataFrame(problems, schema=["row", "field", "problem"], orient="row")
        raise RowError(
            f"{rows['row'].n_unique()} samples hold values that Ragas would refuse:\n"
            + first_rows(rows)
        )
    if losses:
        told = "; ".join(f"{column}: {what} ({n})" for (column, what), n in losses.items())
        warnings.warn(
            f"Ragas has no place for (number of samples in brackets) {told}",
            ConversionLossWarning,
            stacklevel=3,
        )
    return taken


def _ragas() -> Any:
    """Ragas, imported without its import-time warnings and with its telemetry off."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("ragas")
    except Exception as error:
        raise MissingExtraError("ragas", "ragas", f"{error}; {PIN}") from error


def _scores(result: Any) -> list[dict[str, Any]]:
    scores = getattr(result, "scores", result)
    if frames.is_tabular(scores):
        table = frames.to_polars(scores)
        table = collect(table, "in-memory") if isinstance(table, pl.LazyFrame) else table
        scores = table.drop(FIELDS, strict=False).to_dicts()
    if isinstance(scores, str | Mapping) or not isinstance(scores, Iterable):
        raise ColumnError(
            f"a {type(result).__name__} is no result of Ragas: give what ragas.evaluate returned, "
            "or a list with one mapping of metric to value for each sample"
        )
    return [dict(as_mapping(row)) for row in scores]


def _same_length(n: int, what: str, n_expected: int, expected: str) -> None:
    if n != n_expected:
        raise RowError(
            f"there are {n} {what} for {n_expected} {expected}: they belong together by their "
            "order alone, so give those that were evaluated, all of them, in the same order"
        )


def _same_samples(result: Any, frame: pl.DataFrame) -> None:
    """Refuse a result whose own dataset is not these samples in this order."""
    dataset = getattr(result, "dataset", None)
    if dataset is None:
        return
    theirs = from_ragas_dataset(dataset)
    shared = [c for c in ("user_input", "response") if {c} <= {*theirs.columns} & {*frame.columns}]
    differs = [theirs[c].ne_missing(frame[c]).alias(c) for c in shared]
    rows = (
        frame.with_row_index("row")
        .select("row", *shared)
        .filter(pl.any_horizontal(differs) if differs else pl.lit(False))
    )
    if rows.height:
        raise RowError(
            f"{rows.height} samples are not those that Ragas evaluated, or stand in another "
            f"order:\n{first_rows(rows)}"
        )


def _columns(name: str, given: list[Any]) -> list[pl.Series]:
    """The columns of one metric: value, status, and reason where there is one."""
    values = [getattr(value, "value", value) for value in given]
    there = [is_there(value) for value in values]
    kept = [value if ok else None for value, ok in zip(values, there, strict=True)]
    numeric = all(
        value is None or isinstance(value, bool) or hits.is_number(value) for value in kept
    )
    if not numeric and not all(value is None or isinstance(value, str) for value in kept):
        raise MetricError(f"the values of Ragas' {name!r} are neither numbers nor words")
    typed = [None if value is None else float(value) for value in kept] if numeric else kept
    status = ["ok" if ok else "judge_error" for ok in there]
    columns = [
        pl.Series(name, typed, pl.Float64 if numeric else pl.String),
        pl.Series(f"{name}_status", status, pl.String),
    ]
    reasons = [getattr(value, "reason", None) for value in given]
    if any(isinstance(reason, str) for reason in reasons):
        columns.append(pl.Series(f"{name}_reason", reasons, pl.String))
    return columns
