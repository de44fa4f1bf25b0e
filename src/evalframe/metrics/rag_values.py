"""All RAG metrics of some samples at once: tokens are keyed, counted and compared in bulk."""

from __future__ import annotations

import polars as pl

from evalframe.columns import DTYPES, SAMPLES
from evalframe.metrics import answers, contexts
from evalframe.metrics.bags import bag, counted, token_keys
from evalframe.metrics.rag_catalogue import RagChoice, RagFamily
from evalframe.metrics.rag_reasons import TAKEN_OUT, reason
from evalframe.text import Profile

__all__ = ["rag_values"]


def rag_values(samples: pl.DataFrame, chosen: list[RagChoice], profile: Profile) -> pl.DataFrame:
    """The values of samples that are keyed together, in their order.

    Parameters
    ----------
    samples
        At most `bags.KEYED_TOGETHER` rows with the house's columns, as far as there are any.
    chosen
        The metrics.
    profile
        What counts as the same words.

    Returns
    -------
    polars.DataFrame
        One Float64 column for each metric (null where undefined); `best_reference` (Int64) if an
        answer metric is among them; `status`, a struct with one reason for each metric.
    """
    rows = _with_all_columns(samples)
    families = {one.metric.family for one in chosen}
    counts = _counts(rows, families, profile)
    for family, units in counts.items():
        wanted = [one for one in chosen if one.metric.family == family]
        values = units.group_by("row").agg(
            *(_over_units(one, profile) for one in wanted), *_totals(family, profile)
        )
        new = [name for name in values.columns if name not in rows.columns or name == "row"]
        rows = rows.join(values.select(new), on="row", how="left", maintain_order="left")
    rows = rows.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in TOTALS if name not in rows.columns
    )
    status = rows.select(reason(one.metric, profile).alias(one.column) for one in chosen)
    result = rows.select(_value(one, status[one.column]) for one in chosen)
    if "answers" in families:
        result = result.with_columns(rows["best_reference"])
    return result.with_columns(status.to_struct("status"))


TOTALS = ("n_response", "n_reference", "n_passage_tokens")
"""What `reason` reads beside the samples' own columns."""


def _with_all_columns(samples: pl.DataFrame) -> pl.DataFrame:
    """The known columns, null where a sample has none, and `row`."""
    return samples.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        *(
            pl.col(column)
            if column in samples.columns
            else pl.lit(None, DTYPES[role]).alias(column)
            for column, role in SAMPLES.roles.items()
            if column not in ("query_id", "user_input")
        ),
    )


def _counts(
    rows: pl.DataFrame, families: set[RagFamily], profile: Profile
) -> dict[RagFamily, pl.DataFrame]:
    """For each family that counts tokens, one row of counts for each reference or gold passage."""
    counts: dict[RagFamily, pl.DataFrame] = {}
    gold: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}
    if families & {"answers", "contexts"}:
        gold["references"] = counted(answers.references_of(rows, profile), profile)
    if "passages" in families:
        gold["passages"] = counted(contexts.texts_of(rows, "reference_contexts"), profile)
    if "answers" in families:
        counts["answers"] = answers.answer_counts(*gold["references"], rows, profile)
    if families & {"contexts", "passages"}:
        wanted = [gold[name][1]["key"] for name in gold]
        retrieved = contexts.texts_of(rows, "retrieved_contexts")
        keys = token_keys(retrieved, "unit", profile, among=pl.concat(wanted))
        found = bag(keys, "unit", "n_held").rename({"unit": "context"})
        if "contexts" in families:
            counts["contexts"] = contexts.context_counts(*gold["references"], found, rows)
        if "passages" in families:
            counts["passages"] = contexts.passage_counts(*gold["passages"], found, retrieved)
    return counts


def _over_units(one: RagChoice, profile: Profile) -> pl.Expr:
    """A sample's value from those of its references or passages."""
    formula = one.metric.formula
    if one.metric.family == "passages":
        return (formula() if one.threshold is None else formula(one.threshold)).alias(one.column)
    value = formula(profile) if one.metric.family == "answers" else formula()
    return value.max().alias(one.column)


def _totals(family: RagFamily, profile: Profile) -> list[pl.Expr]:
    """What the reasons need to know, beside the values."""
    if family == "passages":
        return [pl.col("n_tokens").sum().cast(pl.Int64).alias("n_passage_tokens")]
    if family == "contexts":
        return [pl.col("n_distinct").max().cast(pl.Int64).alias("n_reference")]
    return [
        pl.col("n_reference", "n_response").max().cast(pl.Int64),
        answers.best_reference(profile).alias("best_reference"),
    ]


def _value(one: RagChoice, status: pl.Series) -> pl.Expr:
    value = one.metric.formula() if one.metric.family == "samples" else pl.col(one.column)
    return pl.when(~status.is_in(TAKEN_OUT)).then(value).alias(one.column)
