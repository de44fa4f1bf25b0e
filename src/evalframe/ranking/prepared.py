"""Qrels made ready once: queries numbered, documents by falling grade, hashes for matching."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.frames import collected
from evalframe.hashes import pair_hash
from evalframe.inputs import qrels_frame
from evalframe.ranking.subtopics import SUBTOPICS, join_subtopics
from evalframe.tables import counted

__all__ = ["SEED", "Lookup", "PreparedQrels", "prepare"]

SEED = 0x5BD1E995
"""Seed of the hash by which documents are looked up; both sides of a match use it."""
SPARSE = 128
"""Places in the list of marks for each judgement: so few other documents reach the join."""
LEAST_BITS, MOST_BITS = 16, 26
"""Bits of a hash that are such a place: the list is 8 kB to 8 MB long."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Judged documents to find in a run: `query_id`, `doc_id` and `pair`, the judgement's row.

    `judgements` holds all of them, by their rows.
    """

    pairs: pl.DataFrame
    judgements: pl.DataFrame

    @functools.cached_property
    def hashed(self) -> pl.DataFrame:
        """`pair` and the hash of its query_id and doc_id."""
        ids = self.pairs.select(hash=pair_hash(["query_id", "doc_id"]))
        return self.pairs[["pair"]].hstack(ids)

    @functools.cached_property
    def marks(self) -> pl.Series:
        """For each end that a document's hash may have, whether a judged one's has it.

        A place in this list is found twice as fast as a hash in a set.
        """
        size = 1 << min(max(LEAST_BITS, (SPARSE * self.pairs.height).bit_length()), MOST_BITS)
        ends = self.pairs["doc_id"].hash(SEED) & (size - 1)
        return pl.repeat(False, size, dtype=pl.Boolean, eager=True).scatter(ends, True)

    def may_hold(self, doc_ids: pl.Expr) -> pl.Expr:
        """Whether documents may be judged ones: all that are, and a few others."""
        return pl.lit(self.marks).gather(doc_ids.hash(SEED) & (self.marks.len() - 1))

    def of(self, queries: pl.DataFrame) -> Lookup:
        """What is judged for these queries only."""
        return Lookup(self.pairs.join(queries, on="query_id", how="semi"), self.judgements)


@dataclass(frozen=True, eq=False)
class PreparedQrels:
    """Checked qrels, accepted wherever qrels are; what is worked out of them is kept.

    Attributes
    ----------
    checked
        `query_id`, `doc_id`, `relevance`, and what some metrics read beside them, such as
        `subtopics`. A document judged for several subtopics stands once, with its highest
        grade.
    """

    checked: pl.DataFrame

    @functools.cached_property
    def pairs(self) -> pl.DataFrame:
        """The judgements in canonical order: by query_id, falling grade, falling doc_id.

        `query` is the number of the query, `ideal_rank` the document's place in it (1 has the
        highest grade).
        """
        row, query = pl.int_range(pl.len(), dtype=pl.UInt32), pl.col("query_id")
        grade = pl.col("relevance")
        # The complement of a whole number falls as it rises, and exists for the least one, too.
        falling = ~grade if self.checked.schema["relevance"].is_integer() else -grade
        # As one column, these are sorted twice as fast as by themselves.
        by_grade = pl.struct(query, falling)
        first = pl.when(query.ne_missing(query.shift(1))).then(row).forward_fill()
        return collect(
            self.checked.lazy()
            .sort(by_grade, "doc_id", descending=[False, True])
            .select(query.rle_id().alias("query"), pl.all(), ideal_rank=row - first + 1),
            "in-memory",
        )

    @functools.cached_property
    def positives(self) -> PreparedQrels:
        """The same queries with their documents of a grade above 0 only.

        A query that has none keeps one judgement, so that it stays a query.
        """
        is_positive = self.checked["relevance"] > 0
        if is_positive.all():
            return self
        positive = self.checked.filter(is_positive)
        if positive["query_id"].n_unique() < self.checked["query_id"].n_unique():
            others = self.checked.join(positive, on="query_id", how="anti")
            one_each = others.sort("query_id", "doc_id").unique("query_id", keep="first")
            positive = positive.vstack(one_each)
        return PreparedQrels(positive)

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
    def lookup(self) -> Lookup:
        """All judged documents, to be found in a run."""
        return Lookup(self.pairs[["query_id", "doc_id"]].with_row_index("pair"), self.pairs)

    @property
    def qrels(self) -> pl.DataFrame:
        """The qrels as they stand in `pairs`: `query_id`, `doc_id`, `relevance`."""
        return self.pairs[["query_id", "doc_id", "relevance"]]

    @functools.cached_property
    def with_more(self) -> dict[frozenset[str], PreparedQrels]:
        """These qrels with columns that some metrics need, by the names of the columns."""
        return {}

    @property
    def with_subtopics(self) -> pl.DataFrame:
        """The qrels, and `subtopics` where they have them."""
        more = [SUBTOPICS] if SUBTOPICS in self.checked.columns else []
        return self.pairs.select("query_id", "doc_id", "relevance", *more)

    def __repr__(self) -> str:
        """How many queries and judgements there are."""
        queries = counted(self.n_queries, "query", "queries")
        return f"PreparedQrels({queries}, {counted(self.pairs.height, 'judgement')})"


def prepare(qrels: Any, *, subtopics: bool = False) -> PreparedQrels:
    """Check and order qrels once, to evaluate many runs against them.

    Parameters
    ----------
    qrels
        A frame, a dict or a path; qrels that are prepared already are given back.
    subtopics
        Read the second column of TREC qrels as their subtopic.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = evf.prepare({"q": {"a": 1, "b": 0}})
    >>> qrels
    PreparedQrels(1 query, 2 judgements)
    >>> evf.evaluate(qrels, {"q": {"a": 1.0}}, ["recall@5"]).metrics
    {'recall@5': 1.0}
    """
    if isinstance(qrels, PreparedQrels):
        return qrels
    frame = collected(qrels_frame(qrels, subtopics=subtopics), "qrels")
    return PreparedQrels(join_subtopics(frame) if "subtopic" in frame.columns else frame)
