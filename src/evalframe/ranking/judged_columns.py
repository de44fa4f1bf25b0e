"""Columns that the judged frame has only where a metric reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import MetricError
from evalframe.frames import Frame
from evalframe.ranking.judged import Order
from evalframe.ranking.prepared import PreparedQrels
from evalframe.ranking.subtopics import SUBTOPICS, Novelty, add_novelty_ranks, join_subtopics

__all__ = [
    "N_TIED",
    "TIED_FROM",
    "add_plateaus",
    "plan_for",
    "prepared_for",
    "reads_plateaus",
    "reads_subtopics",
]

Reads = Mapping[str, Collection[str]]
"""The name of each metric, and the columns that it reads."""

TIED_FROM, N_TIED = "tied_from", "n_tied"
"""Of the documents with this one's score: the rank of the first, and how many there are."""


def prepared_for(prepared: PreparedQrels, reads: Reads) -> PreparedQrels:
    """The qrels, with the novelty ranks that these metrics read: found once and kept.

    Raises
    ------
    MetricError
        A metric reads subtopics, and the qrels have none.
    """
    novel = _novel_columns(reads, prepared.checked.columns)
    if not novel:
        return prepared
    if novel not in prepared.with_more:
        prepared.with_more[novel] = PreparedQrels(add_novelty_ranks(prepared.checked, novel))
    return prepared.with_more[novel]


def plan_for(qrels: pl.LazyFrame, reads: Reads) -> pl.LazyFrame:
    """The same for qrels that are a plan; a `subtopic` column becomes `subtopics`."""
    if "subtopic" in qrels.collect_schema().names():
        qrels = join_subtopics(qrels)
    return add_novelty_ranks(qrels, _novel_columns(reads, qrels.collect_schema().names()))


def _novel_columns(reads: Reads, present: list[str]) -> frozenset[str]:
    read = {column: name for name, columns in reads.items() for column in columns}
    novel: list[str] = [column for column in read if Novelty.of(column) is not None]
    needing = [read[column] for column in (*novel, SUBTOPICS) if column in read]
    if needing and SUBTOPICS not in present:
        raise MetricError(
            f"metric {needing[0]!r} needs qrels that judge by subtopic: give them a column "
            "'subtopic', with one row for each (query_id, doc_id, subtopic)"
        )
    return frozenset(novel)


def reads_subtopics(columns: Collection[str]) -> bool:
    """Whether a metric that reads these columns reads subtopics."""
    return any(column == SUBTOPICS or Novelty.of(column) is not None for column in columns)


def reads_plateaus(reads: Reads) -> bool:
    """Whether a metric reads how far the ties of a document reach."""
    return any(TIED_FROM in columns or N_TIED in columns for columns in reads.values())


def add_plateaus(judged: Frame, run: pl.LazyFrame, order: Order) -> Frame:
    """Add `tied_from` and `n_tied`: the places that a document could have by its score alone.

    Both are null where the document was not retrieved. Below the depth, and among documents without
    a judgement where only judged ones count, nothing is tied.
    """
    names = run.collect_schema().names()
    keys: list[str] = [name for name in ("system", "query_id") if name in names]
    # Negative zero and zero are one score.
    score = (pl.col("score").cast(order.score_dtype) + 0.0).alias("score")
    scores = run.join(judged.lazy().select("query_id").unique(), on="query_id", how="semi")
    if order.judged_only:
        known = judged.lazy().filter(pl.col("relevance") >= 0).select("query_id", "doc_id").unique()
        scores = scores.join(known, on=["query_id", "doc_id"], how="semi")
    falling = [*(False for _ in keys), True]
    plateaus = (
        scores.group_by(*keys, score)
        .agg(pl.len().cast(pl.Int64).alias(N_TIED))
        .sort(*keys, "score", descending=falling)
        .with_columns(
            (
                pl.col(N_TIED).cum_sum().over(keys, order_by=-pl.col("score")) - pl.col(N_TIED) + 1
            ).alias(TIED_FROM)
        )
    )
    if order.depth is not None:
        plateaus = plateaus.filter(pl.col(TIED_FROM) <= order.depth).with_columns(
            pl.min_horizontal(N_TIED, order.depth + 1 - pl.col(TIED_FROM))
        )
    other: Any = plateaus if isinstance(judged, pl.LazyFrame) else collect(plateaus)
    return judged.with_columns(pl.col("score") + 0.0).join(
        other, on=[*keys, "score"], how="left", maintain_order="left"
    )
