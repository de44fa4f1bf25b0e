"""Qrels made ready once: queries numbered, documents by falling grade, hashes for matching."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.frames import collected
from evalframe.inputs import qrels_frame

__all__ = ["SEED", "PreparedQrels", "prepare"]

SEED = 0x5BD1E995
"""Seed of the hash by which documents are looked up; both sides of a match use it."""


@dataclass(frozen=True, eq=False)
class PreparedQrels:
    """Checked qrels in canonical order, accepted wherever qrels are.

    Attributes
    ----------
    pairs
        `query` (number of the query), `query_id`, `doc_id`, `relevance`, `ideal_rank` (1 has the
        highest grade); by query_id, falling grade, falling doc_id.
    """

    pairs: pl.DataFrame

    @functools.cached_property
    def query_ids(self) -> pl.Series:
        """The query_id of each query, by its number."""
        return self.pairs["query_id"].filter(self.pairs["ideal_rank"] == 1)

    @property
    def n_queries(self) -> int:
        """How many queries have a judgement."""
        return self.query_ids.len()

    @functools.cached_property
    def queries(self) -> pl.DataFrame:
        """`query_id` and its number, `query`."""
        return pl.DataFrame([self.query_ids]).with_row_index("query")

    @functools.cached_property
    def doc_hashes(self) -> pl.Series:
        """The hashes of all judged documents, as one list to look up in."""
        return self.pairs.select(pl.col("doc_id").hash(SEED).unique()).to_series().implode()

    @property
    def qrels(self) -> pl.DataFrame:
        """The qrels as they stand in `pairs`: `query_id`, `doc_id`, `relevance`."""
        return self.pairs.select("query_id", "doc_id", "relevance")

    def __repr__(self) -> str:
        """How many queries and judgements there are."""
        return f"PreparedQrels({self.n_queries} queries, {self.pairs.height} judgements)"


def prepare(qrels: Any) -> PreparedQrels:
    """Check and order qrels once, to evaluate many runs against them.

    Parameters
    ----------
    qrels
        A frame, a dict or a path; qrels that are prepared already are given back.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = evf.prepare({"q": {"a": 1, "b": 0}})
    >>> qrels
    PreparedQrels(1 queries, 2 judgements)
    >>> evf.evaluate(qrels, {"q": {"a": 1.0}}, ["recall@5"]).metrics
    {'recall@5': 1.0}
    """
    if isinstance(qrels, PreparedQrels):
        return qrels
    frame = collected(qrels_frame(qrels), "qrels")
    row = pl.int_range(pl.len(), dtype=pl.UInt32)
    is_first = pl.col("query").ne_missing(pl.col("query").shift(1))
    pairs = (
        frame.sort("query_id", "relevance", "doc_id", descending=[False, True, True])
        .select(pl.col("query_id").rle_id().alias("query"), pl.all())
        .with_columns(ideal_rank=row - pl.when(is_first).then(row).forward_fill() + 1)
    )
    return PreparedQrels(pairs)
