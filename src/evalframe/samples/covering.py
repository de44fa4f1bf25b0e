"""Which retrieved context covers which gold passage, and how much of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.errors import ColumnError
from evalframe.metrics.bags import bag, counted, token_keys
from evalframe.metrics.contexts import texts_of
from evalframe.metrics.rag_catalogue import choose
from evalframe.samples.held import held_samples, keys_of, with_row
from evalframe.samples.pieces import pieces
from evalframe.samples.scoring import BYTES_TOGETHER, ROWS_TOGETHER
from evalframe.text import Profile

__all__ = ["passage_coverage"]

TEXTS = ("reference_contexts", "retrieved_contexts")


def passage_coverage(
    samples: Any,
    threshold: float = 0.8,
    *,
    profile: Profile | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Hold each retrieved context against each gold passage of its sample.

    Parameters
    ----------
    samples
        A `RagReport`, or samples as `per_sample` takes them, with `reference_contexts`.
    threshold
        The share of a passage's tokens from which a context covers it, as in
        `context_coverage@0.8`.
    profile
        What counts as the same words: `squad_v1` (or the report's), `squad_v2`, `unicode`, `cjk`.
    columns
        The house's name → the data's own name, where it is not a known one.

    Returns
    -------
    polars.DataFrame
        A row for each gold passage and retrieved context of each sample, in their order:
        `query_id` (after `system`, where there is one), `passage` and `context` (indexes in
        `reference_contexts` and `retrieved_contexts`, from 0), `n_tokens` (of the passage),
        `n_held` (how many of them the context holds), `share` (the one by the other, in [0, 1]) and
        `covered` (whether the share reaches the threshold). `share` and `covered` are null where a
        passage has no tokens. Where nothing was retrieved, each passage has one row with a null
        `context` and the share 0. Samples without gold passages have no row.

    Raises
    ------
    ColumnError
        The samples have no `reference_contexts`.
    MetricError
        A threshold that is no share.
    EvalframeError
        What `per_sample` raises.

    Notes
    -----
    Tokens count as often as they stand in the passage, and one-sidedly: a context loses nothing by
    being long. Of a sample, the share of passages that any context covers is its
    `context_coverage` at the same threshold.

    Examples
    --------
    >>> found = passage_coverage(
    ...     [
    ...         {
    ...             "retrieved_contexts": ["Lyon is big.", "Paris is the capital of France."],
    ...             "reference_contexts": ["Paris, capital of France"],
    ...         }
    ...     ]
    ... )
    >>> found.select("passage", "context", "n_held", "share", "covered").rows()
    [(0, 0, 0, 0.0, False), (0, 1, 4, 1.0, True)]
    """
    (choice,) = choose(f"context_coverage@{threshold}")
    frame, chosen = held_samples(samples, profile, columns)
    if "reference_contexts" not in frame.columns:
        raise ColumnError(
            "the samples have no 'reference_contexts', so there is no gold passage to cover; a "
            "report on a lazy frame does not keep them: give the samples themselves"
        )
    parts = [_shares(piece, chosen) for piece in pieces(frame, ROWS_TOGETHER, BYTES_TOGETHER)]
    share = pl.col("n_held") / pl.col("n_tokens")
    return pl.concat(parts).with_columns(
        share=pl.when(pl.col("n_tokens") > 0).then(share),
        covered=pl.when(pl.col("n_tokens") > 0).then(share >= choice.threshold),
    )


def _shares(samples: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    rows = with_row(samples, TEXTS)
    passages, bags = counted(texts_of(rows, "reference_contexts"), profile)
    contexts = texts_of(rows, "retrieved_contexts")
    found = bag(token_keys(contexts, "unit", profile, among=bags["key"]), "unit", "n_found")
    held = (
        bags.join(found.rename({"unit": "found_in"}), on="key")
        .group_by("unit", "found_in")
        .agg(n_held=pl.min_horizontal("n_gold", "n_found").sum())
    )
    place = pl.int_range(pl.len()).over("row")
    both = passages.select("unit", "row", "n_tokens", passage=place).join(
        contexts.select("row", found_in="unit", context=place),
        on="row",
        how="left",
        maintain_order="left_right",
    )
    shares = both.join(held, on=["unit", "found_in"], how="left", maintain_order="left")
    return samples.select(keys_of(samples))[shares["row"]].hstack(
        shares.select(
            "passage",
            "context",
            pl.col("n_tokens").cast(pl.Int64),
            pl.col("n_held").fill_null(0).cast(pl.Int64),
        )
    )
