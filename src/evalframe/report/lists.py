"""What was retrieved for some queries, in the order that counted, and how it is judged."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.inputs import corpus_frame
from evalframe.ranking.judged import rank_in_list
from evalframe.ranking.prepared import PreparedQrels
from evalframe.ranking.ties import TieRule
from evalframe.scoring import Contract

__all__ = ["judged_lists", "warn_without_texts", "with_texts"]


def judged_lists(
    qrels: PreparedQrels,
    run: pl.DataFrame | pl.LazyFrame,
    contract: Contract,
    wanted: pl.DataFrame,
) -> pl.DataFrame:
    """The lists of some queries, judged, and what was relevant but missed.

    Parameters
    ----------
    qrels, run, contract
        What was evaluated, and how.
    wanted
        `query_id` (after `system`, where the run has several) of the lists; looked up at once.

    Returns
    -------
    pl.DataFrame
        The keys as they were wanted, `rank`, `doc_id`, `score`, `relevance` (null: no judgement)
        and `verdict`: `relevant`, `not relevant`, `unjudged` or `missed`; by rank. Missed documents
        follow without a rank, by falling grade.
    """
    keys = wanted.columns
    ranked = _ranked(run, contract, wanted)
    judged = wanted.join(qrels.qrels, on="query_id", how="inner")
    if contract.judged_only:
        kept = judged.filter(pl.col("relevance") >= 0)
        ranked = ranked.join(kept, on=[*keys, "doc_id"], how="semi").with_columns(
            rank=pl.col("rank").rank("ordinal").over(keys).cast(pl.UInt32)
        )
    retrieved = pl.col("rank").is_not_null()
    both = (
        ranked.join(judged, on=[*keys, "doc_id"], how="full", coalesce=True)
        .with_columns(verdict=_verdict(contract, retrieved))
        .filter(retrieved | (pl.col("verdict") == "missed"))
    )
    order = wanted.with_row_index("place")
    falling = [False, False, True, True]
    return (
        both.join(order, on=keys, how="left")
        .sort("place", "rank", "relevance", "doc_id", descending=falling, nulls_last=True)
        .select(*keys, "rank", "doc_id", "score", "relevance", "verdict")
    )


def _ranked(
    run: pl.DataFrame | pl.LazyFrame, contract: Contract, wanted: pl.DataFrame
) -> pl.DataFrame:
    keys = wanted.columns
    plan = run.lazy()
    columns = plan.collect_schema().names()
    rule = TieRule.of(contract.ties, columns)
    numbered = plan.with_row_index("row") if rule.column == "row" else plan
    # Filters by single columns reach a file's pages; a join of both does not.
    some = [pl.col(key).is_in(wanted[key].unique().to_list()) for key in keys]
    read = [*keys, "doc_id", "score", *({"row", "rank"} & {rule.column})]
    rows = collect(numbered.filter(some).select(read)).join(wanted, on=keys, how="semi")
    ranked = (
        rows.with_columns(pl.col("score").cast(contract.score_dtype))
        .with_columns(place=rank_in_list(rule, keys))
        .select(*keys, "doc_id", "score", rank="place")
    )
    return ranked if contract.depth is None else ranked.filter(pl.col("rank") <= contract.depth)


def _verdict(contract: Contract, retrieved: pl.Expr) -> pl.Expr:
    relevance = pl.col("relevance")
    relevant = relevance > 0 if contract.rel is None else relevance >= contract.rel
    return (
        pl.when(relevance.is_null() | (relevance < 0))
        .then(pl.lit("unjudged"))
        .when(~relevant)
        .then(pl.lit("not relevant"))
        .when(retrieved)
        .then(pl.lit("relevant"))
        .otherwise(pl.lit("missed"))
    )


def with_texts(documents: pl.DataFrame, corpus: Any) -> pl.DataFrame:
    """Documents with what a corpus has of them: title, text, and whatever else."""
    texts = corpus_frame(corpus).lazy().join(documents.lazy(), on="doc_id", how="semi")
    return documents.join(collect(texts), on="doc_id", how="left", maintain_order="left")


def warn_without_texts(
    wanted: pl.Series, found: pl.DataFrame, of: str, argument: str, *, level: int
) -> None:
    """Warn where texts were handed over, and none belongs to what is shown; so many calls up."""
    if found.height or not wanted.len():
        return
    shown = ", ".join(map(repr, wanted.unique(maintain_order=True).head(5)))
    more = ", …" if wanted.n_unique() > 5 else ""
    warnings.warn(
        f"none of the {wanted.n_unique()} {of} that are shown has a row in the {argument}, so the "
        f"page is without their texts: {shown}{more}",
        stacklevel=level,
    )
