"""Which words of its best reference a response lacks, and which it has beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.metrics.answers import references_of
from evalframe.metrics.rag_catalogue import choose
from evalframe.metrics.rag_values import rag_values
from evalframe.samples.held import held_samples, keys_of, with_row
from evalframe.samples.pieces import pieces
from evalframe.samples.scoring import BYTES_TOGETHER, ROWS_TOGETHER
from evalframe.text import IGNORED, Profile, split_ready

__all__ = ["token_differences"]


def token_differences(
    samples: Any,
    *,
    profile: Profile | None = None,
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Hold each response against its best reference, word by word.

    Parameters
    ----------
    samples
        A `RagReport`, or samples as `per_sample` takes them.
    profile
        What counts as the same words: `squad_v1` (or the report's), `squad_v2`, `unicode`, `cjk`.
    columns
        The house's name → the data's own name, where it is not a known one.

    Returns
    -------
    polars.DataFrame
        A row for each sample, in their order: `query_id` (after `system`, where there is one),
        `response`, `best_reference` and `token_f1` as `per_sample` gives them,
        `n_shared`, `n_missing` and `n_extra` (how many tokens), `missing` (tokens of that reference
        that the response lacks) and `extra` (tokens of the response beyond it), both in the order
        of the text and as often as they are too few or too many, and `best_reference_text`. All but
        the id and the response are null where a sample has no reference; a null response lacks
        every token.

    Raises
    ------
    EvalframeError
        What `per_sample` raises.

    Notes
    -----
    A token counts as often as both texts have it; of a token that one text has more often, its
    last occurrences are the missing or extra ones.

    Examples
    --------
    >>> found = token_differences(
    ...     [{"response": "It is Paris, Paris!", "references": ["Lyon", "Paris in France"]}]
    ... )
    >>> found.select("best_reference", "token_f1", "n_shared").row(0)
    (1, 0.28571428571428575, 1)
    >>> found.select("missing", "extra").row(0)
    (['in', 'france'], ['it', 'is', 'paris'])

    Which words are missing most often is one more line:

    >>> found.explode("missing").group_by("missing").len().sort("missing").rows()
    [('france', 1), ('in', 1)]
    """
    frame, chosen = held_samples(samples, profile, columns)
    return pl.concat(
        _differences(piece, chosen) for piece in pieces(frame, ROWS_TOGETHER, BYTES_TOGETHER)
    )


def _differences(samples: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    rows = with_row(samples, ["response", "reference", "references"])
    values = rag_values(rows.drop("row"), choose("token_f1"), profile)
    best = rows.select("row", "response", values["token_f1"], values["best_reference"]).join(
        references_of(rows, profile).select("row", "text", best_reference="reference"),
        on=["row", "best_reference"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    theirs = _tokens(best.select("row", "text").drop_nulls("text"), profile)
    ours = _tokens(
        best.filter(pl.col("text").is_not_null()).select("row", text="response"), profile
    )
    same = ["row", "token", "occurrence"]
    missing, extra = (
        one.join(other, on=same, how="anti").sort("row", "place")
        for one, other in ((theirs, ours), (ours, theirs))
    )
    found = best.with_columns(
        n_shared=_beside(best, theirs.join(ours, on=same, how="semi").group_by("row").len("n")),
        missing=_beside(best, missing.group_by("row", maintain_order=True).agg(n="token")),
        extra=_beside(best, extra.group_by("row", maintain_order=True).agg(n="token")),
    )
    is_held = pl.col("text").is_not_null()
    filled = found.with_columns(
        pl.when(is_held).then(pl.col("n_shared").fill_null(0)),
        pl.when(is_held).then(pl.col("missing", "extra").fill_null(NO_TOKEN)),
    )
    return samples.select(keys_of(samples)).hstack(
        filled.select(
            "response",
            "best_reference",
            "token_f1",
            pl.col("n_shared").cast(pl.Int64),
            n_missing=pl.col("missing").list.len().cast(pl.Int64),
            n_extra=pl.col("extra").list.len().cast(pl.Int64),
            missing="missing",
            extra="extra",
            best_reference_text="text",
        )
    )


NO_TOKEN = pl.lit([], pl.List(pl.String))


def _tokens(texts: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """A row for each token of some texts: `row`, `token`, `place`, `occurrence` (0, 1, …)."""
    return (
        texts.select("row", token=split_ready(texts["text"], profile).str.split(" "))
        .explode("token", empty_as_null=False, keep_nulls=False)
        .filter(~pl.col("token").is_in(IGNORED[profile]))
        .with_row_index("place")
        .group_by("row", "token")
        .agg("place")
        .with_columns(occurrence=pl.int_ranges(pl.col("place").list.len()))
        .explode("place", "occurrence", empty_as_null=False, keep_nulls=False)
    )


def _beside(rows: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """A column `n` that some rows have, for all rows in their order."""
    return rows.select("row").join(found, on="row", how="left", maintain_order="left")["n"]
