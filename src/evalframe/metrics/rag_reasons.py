"""Why a sample has no value in a metric, or was scored with something missing.

What the gold lacks takes the sample out: its value is null. What the evaluated system did not
deliver is scored as if it had delivered nothing, and is named all the same.
"""

from __future__ import annotations

import polars as pl

from evalframe.metrics.answers import is_unanswerable
from evalframe.metrics.rag_catalogue import RagMetric
from evalframe.text import Profile

__all__ = ["OK", "TAKEN_OUT", "is_undelivered", "reason"]

OK = "ok"

TAKEN_OUT = (
    "missing_reference",
    "unanswerable",
    "missing_reference_contexts",
    "empty_reference_contexts",
    "missing_reference_ids",
    "empty_reference_ids",
)
"""The reasons that leave a metric without a value; the others are scored."""

NAMES = {
    "response": "response",
    "references": "reference",
    "retrieved_contexts": "contexts",
    "reference_contexts": "reference_contexts",
    "retrieved_context_ids": "retrieved_ids",
    "reference_context_ids": "reference_ids",
}
"""What a column is called in a reason."""


def is_undelivered(word: str) -> bool:
    """Whether a reason says that the sample was scored as empty because there was nothing."""
    return word.startswith("missing_") and word not in TAKEN_OUT


def reason(metric: RagMetric, profile: Profile) -> pl.Expr:
    """`ok`, or the first reason that applies; see `TAKEN_OUT` for those that leave no value.

    It reads the columns of the samples and, beside them, `n_response`, `n_reference` and
    `n_passage_tokens`, which are null where they were not counted.
    """
    word = pl.lit(None, pl.String)
    for name, applies in reversed(_reasons(metric, profile).items()):
        word = pl.when(applies).then(pl.lit(name)).otherwise(word)
    return word.fill_null(OK)


def _reasons(metric: RagMetric, profile: Profile) -> dict[str, pl.Expr]:
    gold = _gold_reasons(metric, profile) if metric.gold else {}
    delivered, name = pl.col(metric.delivered), NAMES[metric.delivered]
    empty = pl.col("n_response") == 0 if name == "response" else delivered.list.len() == 0
    return {
        **{word: e for word, e in gold.items() if word in TAKEN_OUT},
        f"missing_{name}": delivered.is_null(),
        f"empty_{name}": empty,
        **{word: e for word, e in gold.items() if word not in TAKEN_OUT},
    }


def _gold_reasons(metric: RagMetric, profile: Profile) -> dict[str, pl.Expr]:
    column = metric.gold or ""
    gold, name = pl.col(column), NAMES[column]
    if column != "references":
        given = gold.list.drop_nulls().list.len()
        empty = pl.col("n_passage_tokens").fill_null(0) if metric.family == "passages" else given
        return {f"missing_{name}": gold.is_null(), f"empty_{name}": empty == 0}
    none = pl.col("reference").is_null() & (gold.list.drop_nulls().list.len().fill_null(0) == 0)
    no_tokens = pl.col("n_reference") == 0
    if profile != "squad_v2":
        return {"missing_reference": none, "empty_reference": no_tokens}
    no_answer = is_unanswerable()
    if metric.family == "answers":
        return {"missing_reference": none & ~no_answer, "empty_reference": no_tokens & ~no_answer}
    return {"unanswerable": no_answer, "missing_reference": none, "empty_reference": no_tokens}
