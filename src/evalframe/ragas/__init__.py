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
from collections.abc import Iterable
from typing import Any

import polars as pl

from evalframe.errors import MissingExtraError, RowError, first_rows
from evalframe.ragas.samples import converted
from evalframe.ragas.values import from_ragas_dataset, ragas_values

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
        In any shape that `evaluate_rag` takes, with the same checks.

    Returns
    -------
    ragas.EvaluationDataset
        For `ragas.evaluate`, with your own model.

    Raises
    ------
    MissingExtraError
        Ragas is not installed or cannot be imported. It is also an `ImportError`.
    RowError, ColumnError, EmptyError
        Samples that `evaluate_rag` would refuse too, or values that Ragas would, with their rows.

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
    RowError, ColumnError, EmptyError
        Samples that `evaluate_rag` would refuse too, or values that Ragas would, with their rows.

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
