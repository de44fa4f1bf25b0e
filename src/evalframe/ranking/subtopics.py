"""Judgements by subtopic: one row per document again, and the order that covers most soonest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from evalframe.frames import Frame

__all__ = ["SUBTOPICS", "Novelty", "add_novelty_ranks", "join_subtopics"]

SUBTOPICS = "subtopics"
"""The column of the judged frame that lists a document's judgements, subtopic by subtopic."""


def join_subtopics(qrels: Frame) -> Frame:
    """One row for each document of a query, where the qrels have one for each subtopic.

    `relevance` becomes the highest grade over the subtopics, and `subtopics` lists all of them, by
    name, as structs of `subtopic` and `relevance`.
    """
    one = pl.struct("subtopic", "relevance").sort_by("subtopic")
    return qrels.group_by("query_id", "doc_id").agg(pl.col("relevance").max(), one.alias(SUBTOPICS))


def _split_subtopics(pairs: Frame) -> Frame:
    """One row for each judgement again: `query_id`, `doc_id`, `relevance`, `subtopic`."""
    return (
        pairs.select("query_id", "doc_id", SUBTOPICS)
        .explode(SUBTOPICS)
        .select(
            "query_id",
            "doc_id",
            pl.col(SUBTOPICS).struct.field("relevance"),
            pl.col(SUBTOPICS).struct.field("subtopic"),
        )
    )


@dataclass(frozen=True)
class Novelty:
    """A column of the judged frame: where a document stands in the list that covers most soonest.

    At each rank stands the document that gains most, where a subtopic that is covered n times
    gains (1 - alpha)^n once more; the greater doc_id goes first among equals. Null below `depth`.
    To find the best list of all is NP-hard; this greedy one is what ndeval compares with.
    """

    alpha: float
    rel: float | None
    depth: int

    @property
    def column(self) -> str:
        """The column's name, which `Novelty.of` reads."""
        rel = None if self.rel is None else float(self.rel)
        return f"novelty_rank(alpha={float(self.alpha)!r},rel={rel!r},depth={self.depth})"

    @classmethod
    def of(cls, column: str) -> Novelty | None:
        """What a column's name asks for, None for other columns."""
        matched = NAME.fullmatch(column)
        if matched is None:
            return None
        rel = None if matched["rel"] == "None" else float(matched["rel"])
        return cls(float(matched["alpha"]), rel, int(matched["depth"]))


NAME = re.compile(
    r"novelty_rank\(alpha=(?P<alpha>[\d.e+-]+),rel=(?P<rel>[\w.+-]+),depth=(?P<depth>\d+)\)"
)


def _subtopic_rows(pairs: Frame, rel: float | None) -> Frame:
    """The relevant (query, document, subtopic) triples: `query_id`, `doc_id`, `subtopic`."""
    grade = pl.col("relevance")
    is_relevant = grade > 0 if rel is None else grade >= max(rel, 0)
    return _split_subtopics(pairs).filter(is_relevant).drop("relevance")


def add_novelty_ranks(pairs: Frame, columns: Iterable[str]) -> Frame:
    """Add the novelty columns among these names to qrels with `subtopics`."""
    asked = [novelty for novelty in map(Novelty.of, sorted(set(columns))) if novelty is not None]
    deepest: dict[tuple[float, float | None], int] = {}
    for novelty in asked:
        key = (novelty.alpha, novelty.rel)
        deepest[key] = max(novelty.depth, deepest.get(key, 0))
    for (alpha, rel), depth in deepest.items():
        ranks = _greedy_ranks(pairs, alpha, rel, depth)
        wanted = [n for n in asked if (n.alpha, n.rel) == (alpha, rel)]
        place = pl.col(NEWEST)
        pairs = pairs.join(
            ranks, on=["query_id", "doc_id"], how="left", maintain_order="left"
        ).with_columns(pl.when(place <= n.depth).then(place).alias(n.column) for n in wanted)
        pairs = pairs.drop(NEWEST)
    return pairs


NEWEST = "place in the greedy list"


def _greedy_ranks(pairs: Frame, alpha: float, rel: float | None, depth: int) -> Frame:
    """`query_id`, `doc_id` and the place in the greedy list, one document a step for all queries.

    A document that covers nothing has no place: it would gain nothing.
    """
    rows = _subtopic_rows(pairs, rel)
    if isinstance(rows, pl.DataFrame):
        longest = rows.group_by("query_id").agg(pl.col("doc_id").n_unique())["doc_id"].max()
        depth = min(depth, int(str(longest or 0)))
    # Numbers in the order of names, because every step compares and groups by them.
    rows = rows.select(
        "query_id",
        "doc_id",
        query=pl.col("query_id").rank("dense"),
        document=pl.struct("query_id", "doc_id").rank("dense"),
        topic=pl.struct("query_id", "subtopic").rank("dense"),
        gain=pl.lit(1.0),
        place=pl.lit(None, pl.UInt32),
    ).sort("document", "topic")
    is_open = pl.col("place").is_null()
    for step in range(1, depth + 1):
        worth = pl.when(is_open).then(pl.col("gain")).sum().over("document")
        rows = rows.with_columns(worth=pl.when(is_open).then(worth))
        best = pl.when(pl.col("worth") == pl.col("worth").max().over("query")).then("document")
        rows = rows.with_columns(chosen=pl.col("document") == best.max().over("query"))
        covered = pl.col("chosen").any().over("topic")
        rows = rows.with_columns(
            place=pl.when(pl.col("chosen")).then(step).otherwise(pl.col("place")).cast(pl.UInt32),
            gain=pl.col("gain") * pl.when(covered).then(1 - alpha).otherwise(1.0),
        )
    return rows.group_by("query_id", "doc_id").agg(pl.col("place").first().alias(NEWEST))
