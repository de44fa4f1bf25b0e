"""Retrieved contexts against the reference answer, gold passages and gold ids.

The first two metrics ask which words of the reference answer the contexts hold, as sets of distinct
tokens. `context_coverage` and `union_coverage` ask how much of each gold passage the contexts
cover, as bags and one-sidedly: how long a context is costs nothing, which symmetric measures
(Levenshtein, F1, Jaccard) would charge for. The rest count ids and lists.
"""

from __future__ import annotations

import polars as pl

from evalframe.metrics.bags import with_counts
from evalframe.metrics.rag_catalogue import rag_metric

__all__ = [
    "context_counts",
    "context_coverage",
    "context_precision",
    "context_recall",
    "id_context_precision",
    "id_context_recall",
    "non_empty_rate",
    "passage_counts",
    "texts_of",
    "union_coverage",
]

NO_IDS = pl.lit([], pl.List(pl.String))
NO_REFERENCE = "null where the sample has no reference"
NO_PASSAGE = "null where no gold passage has a token"
NO_ID = "null where the sample has no gold id"


@rag_metric("contexts", delivered="retrieved_contexts", gold="references", undefined=NO_REFERENCE)
def context_recall() -> pl.Expr:
    """Share of the reference's distinct tokens found in any retrieved context, in [0, 1].

    0 where the reference has no tokens. A proxy, without a model, for whether retrieval brought
    what the answer needs.
    """
    return _share("n_found", "n_distinct")


@rag_metric("contexts", delivered="retrieved_contexts", gold="references", undefined=NO_REFERENCE)
def context_precision() -> pl.Expr:
    """Share of the retrieved contexts with a token of the reference, in [0, 1].

    0 where nothing was retrieved. One shared token is enough, so long contexts come out well.
    """
    return _share("n_useful", "n_contexts")


@rag_metric("samples", delivered="retrieved_contexts", gold=None, undefined="never null")
def non_empty_rate() -> pl.Expr:
    """1 where any context was retrieved, else 0; its mean is the share of such samples."""
    return (pl.col("retrieved_contexts").list.len().fill_null(0) > 0).cast(pl.Float64)


@rag_metric(
    "samples", delivered="retrieved_context_ids", gold="reference_context_ids", undefined=NO_ID
)
def id_context_recall() -> pl.Expr:
    """Share of the distinct gold ids that were retrieved, in [0, 1]."""
    return _shared_ids() / _n_ids("reference_context_ids")


@rag_metric(
    "samples", delivered="retrieved_context_ids", gold="reference_context_ids", undefined=NO_ID
)
def id_context_precision() -> pl.Expr:
    """Share of the distinct retrieved ids that are gold, in [0, 1]; 0 where nothing came."""
    retrieved = _n_ids("retrieved_context_ids")
    return pl.when(retrieved > 0).then(_shared_ids() / retrieved).otherwise(0.0)


@rag_metric(
    "passages",
    delivered="retrieved_contexts",
    gold="reference_contexts",
    undefined=NO_PASSAGE,
    threshold=0.8,
)
def context_coverage(threshold: float) -> pl.Expr:
    """Share of the gold passages of whose tokens one context holds at least the threshold.

    In [0, 1]. Tokens count as often as they stand in the passage. Passages without tokens are left
    out. Chunks much shorter than the passages cannot cover one alone: see `union_coverage`.
    """
    return (pl.col("n_best") / pl.col("n_tokens") >= threshold).mean()


@rag_metric(
    "passages", delivered="retrieved_contexts", gold="reference_contexts", undefined=NO_PASSAGE
)
def union_coverage() -> pl.Expr:
    """Share of the gold passages' tokens that the retrieved contexts hold together, in [0, 1].

    The contexts are laid end to end, the same context once; each passage is looked up on its own.
    """
    return pl.col("n_union").sum() / pl.col("n_tokens").sum()


def texts_of(samples: pl.DataFrame, column: str) -> pl.DataFrame:
    """The texts of a list column, one row each; null among them is the empty text.

    Returns
    -------
    polars.DataFrame
        `unit` (0, 1, …), `row`, `text`, in order.
    """
    texts = samples.select("row", text=column).explode(
        "text", empty_as_null=False, keep_nulls=False
    )
    return texts.with_columns(pl.col("text").fill_null("")).with_row_index("unit")


def context_counts(
    references: pl.DataFrame, bags: pl.DataFrame, found: pl.DataFrame, samples: pl.DataFrame
) -> pl.DataFrame:
    """What the retrieved contexts hold of each reference.

    Parameters
    ----------
    references
        `unit`, `row`, `n_distinct`: the references.
    bags
        `unit`, `key`, `n_gold`: how often each reference has each token.
    found
        `context`, `key`: the tokens of each context, among the samples' gold tokens.
    samples
        `row` and `retrieved_contexts`.

    Returns
    -------
    polars.DataFrame
        `unit`, `row`, `n_distinct`, `n_found`, `n_contexts`, `n_useful`.
    """
    holding = bags.select("unit", "key").join(found.select("context", "key"), on="key")
    per_unit = [
        holding.unique(["unit", "key"]).group_by("unit").agg(n_found=pl.len()),
        holding.unique(["unit", "context"]).group_by("unit").agg(n_useful=pl.len()),
    ]
    sizes = samples.select("row", n_contexts=pl.col("retrieved_contexts").list.len())
    counts = with_counts(references.select("unit", "row", "n_distinct"), *per_unit)
    return with_counts(counts, sizes, on="row")


def passage_counts(
    passages: pl.DataFrame, bags: pl.DataFrame, found: pl.DataFrame, contexts: pl.DataFrame
) -> pl.DataFrame:
    """How many tokens of each gold passage its best context holds, and all contexts together.

    Parameters
    ----------
    passages
        `unit`, `row`, `n_tokens`: the gold passages.
    bags
        `unit`, `key`, `n_gold`: how often each passage has each token.
    found
        `context`, `key`, `n_held`: how often each context has each gold token.
    contexts
        `unit` (which `found` calls `context`), `row`, `text`.

    Returns
    -------
    polars.DataFrame
        `row`, `n_tokens`, `n_best`, `n_union` of the passages that have tokens.
    """
    held = pl.min_horizontal("n_gold", "n_held").sum()
    one = bags.join(found, on="key").group_by("unit", "context").agg(n_best=held)
    once = contexts.filter(pl.struct("row", "text").is_first_distinct()).select(context="unit")
    together = (
        found.join(once, on="context", how="semi").group_by("key").agg(pl.col("n_held").sum())
    )
    per_unit = [
        one.group_by("unit").agg(pl.col("n_best").max()),
        bags.join(together, on="key").group_by("unit").agg(n_union=held),
    ]
    sized = passages.select("unit", "row", "n_tokens").filter(pl.col("n_tokens") > 0)
    return with_counts(sized, *per_unit)


def _share(part: str, whole: str) -> pl.Expr:
    counted = pl.col(whole)
    return pl.when(counted > 0).then(pl.col(part) / counted).otherwise(0.0)


def _ids(column: str) -> pl.Expr:
    return pl.col(column).list.drop_nulls().list.unique()


def _n_ids(column: str) -> pl.Expr:
    return _ids(column).list.len().fill_null(0)


def _shared_ids() -> pl.Expr:
    gold, retrieved = _ids("reference_context_ids"), _ids("retrieved_context_ids")
    return gold.list.set_intersection(retrieved.fill_null(NO_IDS)).list.len()
