"""What comes back from Ragas: its samples as a frame, its values beside the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe import frames, hits
from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, MetricError, RowError, first_rows
from evalframe.ragas.samples import FIELDS, as_mapping, is_there, samples_table, series

__all__ = ["from_ragas_dataset", "ragas_values"]


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
        Multi-turn samples, not as many ids as samples, or ids that are none or stand twice.
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
    columns = [pl.Series("query_id", _ids(ids), pl.String)]
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
        What `ragas.evaluate` gives; its `.scores` or `.to_pandas()`; or a list of mappings from
        metric to value or to a `MetricResult` of `ragas.metrics.collections`. Where each row has a
        `query_id`, the values go by it, in any order; else by place.
    samples
        The samples that were evaluated, in any shape; in the same order where there are no ids.
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
        Not as many values as samples, ids that do not go together, or a result whose `user_input`
        or `response` is not that of the samples: other ones, or in another order.

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
    rows = _rows(result)
    _same_length(len(rows), "values of Ragas", frame.height, "samples")
    rows = _in_order(rows, frame["query_id"].to_list())
    fields = [{name: row.pop(name) for name in FIELDS if name in row} for row in rows]
    dataset = getattr(result, "dataset", None)
    told = fields if dataset is None else from_ragas_dataset(dataset).to_dicts()
    _same_samples(told, frame)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise EmptyError("the result of Ragas holds no metric")
    taken = set(frame.columns)
    added: list[pl.Series] = []
    for name in names:
        column = prefix + name
        column = f"ragas_{column}" if column in taken else column
        values = [row.get(name) for row in rows]
        added += _columns(column, values)
        taken |= {series.name for series in added}
    return frame.hstack(added)


def _ids(given: Sequence[Any]) -> list[str]:
    ids = [hits.as_id(one) for one in given]
    wrong = [f"{one!r:.60} is no id" for one, i in zip(given, ids, strict=True) if i is None]
    wrong += [f"{i!r} stands {n} times" for i, n in Counter(ids).items() if n > 1 and i is not None]
    if wrong:
        raise RowError(f"query_ids must tell the samples apart: {'; '.join(wrong[:5])}")
    return [i for i in ids if i is not None]


def _rows(result: Any) -> list[dict[str, Any]]:
    """What a result says of each sample: its values, and perhaps its id and its fields."""
    scores = getattr(result, "scores", result)
    if frames.is_tabular(scores):
        table = frames.to_polars(scores)
        table = collect(table, "in-memory") if isinstance(table, pl.LazyFrame) else table
        scores = table.to_dicts()
    if isinstance(scores, str | Mapping) or not isinstance(scores, Iterable):
        raise ColumnError(
            f"a {type(result).__name__} is no result of Ragas: give what ragas.evaluate returned, "
            "or a list with one mapping of metric to value for each sample"
        )
    return [dict(as_mapping(row)) for row in scores]


def _in_order(rows: list[dict[str, Any]], query_ids: list[str]) -> list[dict[str, Any]]:
    """The rows in the samples' order: by their ids, where they have any, which are taken out."""
    if not any("query_id" in row for row in rows):
        return rows
    by_id = dict(zip(_ids([row.pop("query_id", None) for row in rows]), rows, strict=True))
    unknown = [i for i in by_id if i not in {*query_ids}]
    if unknown:
        absent = [i for i in query_ids if i not in by_id]
        raise RowError(
            f"the values of Ragas name {', '.join(map(repr, unknown[:5]))}, which the samples do "
            f"not have, and no {', '.join(map(repr, absent[:5]))}"
        )
    return [by_id[i] for i in query_ids]


def _same_length(n: int, what: str, n_expected: int, expected: str) -> None:
    if n != n_expected:
        raise RowError(
            f"there are {n} {what} for {n_expected} {expected}: they belong together by their "
            "order alone, so give those that were evaluated, all of them, in the same order"
        )


def _same_samples(fields: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> None:
    """Refuse values that come with the texts of other samples, or of these in another order."""
    differs = []
    for name in ("user_input", "response"):
        if name in frame.columns and any(name in row for row in fields):
            given = [row.get(name) if is_there(row.get(name)) else None for row in fields]
            theirs = pl.Series(name, given, pl.String, strict=False)
            differs.append(theirs.ne_missing(frame[name]).alias(name))
    if not differs:
        return
    shared = [one.name for one in differs]
    rows = frame.with_row_index("row").select("row", *shared)
    rows = rows.filter(pl.any_horizontal(differs))
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
