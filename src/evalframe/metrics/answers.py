"""Answers against references, word by word.

`answer_counts` counts, for each response and each of its references, the tokens of both and those
they share (as bags: a token counts as often as both have it); each metric is an expression over
these counts. A sample's value is the best over its references, for each metric on its own.

A text may have no tokens at all, being empty or nothing but punctuation and articles. If one side
has none, everything is 0. If both have none they are equal, so `exact_match` and `answer_contains`
are 1; precision, recall and F1 are 0, as in SQuAD's first script, and 1 under `squad_v2`, as in its
second.
"""

from __future__ import annotations

import polars as pl

from evalframe.metrics.bags import bag, token_keys, with_counts
from evalframe.metrics.rag_catalogue import rag_metric
from evalframe.text import Profile, normalised

__all__ = [
    "answer_contains",
    "answer_counts",
    "best_reference",
    "exact_match",
    "is_unanswerable",
    "references_of",
    "token_f1",
    "token_precision",
    "token_recall",
]

NONE = pl.lit([], pl.List(pl.String))
NO_REFERENCE = "null where the sample has no reference"


@rag_metric("answers", delivered="response", gold="references", undefined=NO_REFERENCE)
def exact_match(profile: Profile) -> pl.Expr:
    """1 where response and reference are the same after normalisation, else 0.

    Source: SQuAD (Rajpurkar et al. 2016).
    """
    return pl.col("equal").cast(pl.Float64)


@rag_metric("answers", delivered="response", gold="references", undefined=NO_REFERENCE)
def token_f1(profile: Profile) -> pl.Expr:
    """Harmonic mean of token precision and token recall, in [0, 1].

    Source: SQuAD (Rajpurkar et al. 2016).
    """
    precision, recall = _share_of("n_response"), _share_of("n_reference")
    return _unless_empty(2 * precision * recall / (precision + recall), profile)


@rag_metric("answers", delivered="response", gold="references", undefined=NO_REFERENCE)
def token_precision(profile: Profile) -> pl.Expr:
    """Share of the response's tokens that the reference has too, in [0, 1]."""
    return _unless_empty(_share_of("n_response"), profile)


@rag_metric(
    "answers",
    delivered="response",
    gold="references",
    undefined=NO_REFERENCE,
    aliases=("answer_recall",),
)
def token_recall(profile: Profile) -> pl.Expr:
    """Share of the reference's tokens that the response has too, in [0, 1].

    A long answer that holds the reference whole has recall 1, however little its F1.
    """
    return _unless_empty(_share_of("n_reference"), profile)


@rag_metric("answers", delivered="response", gold="references", undefined=NO_REFERENCE)
def answer_contains(profile: Profile) -> pl.Expr:
    """1 where the reference's tokens stand in the response next to each other, in order, else 0."""
    return pl.col("contained").cast(pl.Float64)


def best_reference(profile: Profile) -> pl.Expr:
    """Index of a sample's best reference: by exact match, then by F1, then the first.

    It attains the maxima of both, since a response that equals a reference shares all its tokens.
    """
    worth = 2 * exact_match(profile) + token_f1(profile)
    return pl.col("reference").get(worth.arg_max())


def references_of(samples: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """The references of each sample, one row each.

    They are `references`, then `reference` where it is not among them; nulls are left out. Under
    `squad_v2` an empty list without a `reference` says that the question has no answer: its one
    reference is the empty text, and its index is null.

    Returns
    -------
    polars.DataFrame
        `unit` (0, 1, …), `row`, `reference` (index in the list, from 0), `text`.
    """
    one, several = pl.col("reference"), pl.col("references")
    more = one.is_not_null() & ~several.list.contains(one).fill_null(False)
    listed = pl.when(more).then(pl.concat_list(several.fill_null(NONE), one)).otherwise(several)
    found = (
        samples.select("row", text=listed)
        .with_columns(reference=pl.int_ranges(pl.col("text").list.len()))
        .explode("text", "reference", empty_as_null=False, keep_nulls=False)
        .drop_nulls("text")
    )
    if profile == "squad_v2":
        empty = samples.filter(is_unanswerable()).select(
            "row", text=pl.lit(""), reference=pl.lit(None, pl.Int64)
        )
        found = pl.concat([found, empty]).sort("row", maintain_order=True)
    return found.with_row_index("unit").select("unit", "row", "reference", "text")


def is_unanswerable() -> pl.Expr:
    """Whether a sample says that its question has no answer: an empty list, and no `reference`."""
    return (pl.col("references").list.len() == 0).fill_null(False) & pl.col("reference").is_null()


def answer_counts(
    references: pl.DataFrame, bags: pl.DataFrame, samples: pl.DataFrame, profile: Profile
) -> pl.DataFrame:
    """Token counts of each reference and of its sample's response.

    Parameters
    ----------
    references
        `unit`, `row`, `reference`, `text`, `n_tokens`: as `references_of` and `counted` give them.
    bags
        `unit`, `key`, `n_gold`: how often each reference has each token.
    samples
        `row` (0, 1, …) and `response`, where null counts as the empty text.
    profile
        What counts as a token.

    Returns
    -------
    polars.DataFrame
        `unit`, `row`, `reference`, `n_response`, `n_reference`, `n_shared`, `equal`, `contained`.
        Under `squad_v2` without the references that have no tokens, where others have some.
    """
    texts = samples.select("row", text="response")
    keys = token_keys(texts, "row", profile)
    wanted = keys.filter(pl.col("key").is_in(bags["key"].implode()))
    shared = (
        bags.join(bag(wanted, "row", "n_answer"), on="key")
        .group_by("unit")
        .agg(n_shared=pl.min_horizontal("n_gold", "n_answer").sum())
    )
    counts = with_counts(references.rename({"n_tokens": "n_reference"}), shared)
    counts = with_counts(counts, keys.group_by("row").agg(n_response=pl.len()), on="row")
    counts = counts.join(_compared(counts, texts["text"], profile), on="unit", how="left")
    counts = counts.with_columns(pl.col("equal", "contained").fill_null(False))
    if profile == "squad_v2":
        none_has_any = pl.col("n_reference").max().over("row") == 0
        counts = counts.filter((pl.col("n_reference") > 0) | none_has_any)
    return counts.drop("text", "n_distinct")


def _compared(counts: pl.DataFrame, responses: pl.Series, profile: Profile) -> pl.DataFrame:
    """Whether the normalised texts are equal, and whether one holds the other at word borders.

    Only for references all of whose tokens the response has: the others are neither.
    """
    near = counts.filter(pl.col("n_shared") == pl.col("n_reference"))
    sides = near.select(
        "unit",
        "n_reference",
        response=normalised(responses.gather(near["row"]), profile),
        reference=normalised(near["text"], profile),
    )
    padded = {side: pl.format(" {} ", side) for side in ("response", "reference")}
    equal = pl.col("response") == pl.col("reference")
    return sides.select(
        "unit",
        equal=equal,
        contained=pl.when(pl.col("n_reference") == 0)
        .then(equal)
        .otherwise(padded["response"].str.contains(padded["reference"], literal=True)),
    )


def _share_of(total: str) -> pl.Expr:
    return pl.col("n_shared") / pl.col(total)


def _unless_empty(share: pl.Expr, profile: Profile) -> pl.Expr:
    both_empty = (pl.col("n_response") == 0) & (pl.col("n_reference") == 0)
    return (
        pl.when(both_empty)
        .then(1.0 if profile == "squad_v2" else 0.0)
        .when(pl.col("n_shared") == 0)
        .then(0.0)
        .otherwise(share)
    )
