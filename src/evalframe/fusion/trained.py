"""Ways to fuse that learn from judged queries how good each system is at each rank.

Each method joins what it learnt to the rows of the lists. What it learns from are the lists of the
queries that the training qrels judge: `system`, `query_id`, `rank`, `n_listed`, `hit` (1 where the
document is relevant), `n_relevant` (documents of the query) and `n_queries` (of the training qrels;
queries that a system has nothing for count as lists without a hit).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from numbers import Real

import polars as pl

from evalframe.errors import OptionError, whole_number
from evalframe.fusion.methods import Recipe, fusion, sum_in_order

__all__ = [
    "NOTHING_SHARED",
    "bayesfuse",
    "mapfuse",
    "posfuse",
    "probfuse",
    "refuse_no_grade",
    "segfuse",
    "slidefuse",
    "training_lists",
]

BAYES_BORDERS = (0, 5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""Ranks between which BayesFuse takes a system to be equally good."""
LEAST_ODDS = math.log(0.001 / 0.999)
"""Log odds of a document that a system did not find, or found below the last border."""
SEGMENT_BORDERS = (0, *(10 * 2 ** (k - 1) - 5 for k in range(1, 11)))
"""SegFuse's segments double in length: 5, 10, 20, … places."""

RANK, N_LISTED, HIT = pl.col("rank"), pl.col("n_listed"), pl.col("hit")
PLACE = RANK.cast(pl.Int64)
LEARNT = pl.col("learnt")

NOTHING_SHARED = (
    "the training qrels judge no query of the runs to learn from: are the query_ids the same?"
)


def training_lists(lists: pl.LazyFrame, qrels: pl.LazyFrame, rel: float | None) -> pl.LazyFrame:
    """The lists of judged queries, with `hit`, `n_relevant` and `n_queries`."""
    refuse_no_grade(rel)
    grade = pl.col("relevance")
    is_hit = grade > 0 if rel is None else grade >= max(rel, 0)
    hits = qrels.filter(is_hit).select("query_id", "doc_id", hit=pl.lit(1.0))
    n_queries = qrels.select(n_queries=pl.col("query_id").n_unique())
    return (
        lists.select("system", "query_id", "doc_id", "rank", "n_listed")
        .join(qrels.group_by("query_id").agg(n_relevant=is_hit.sum()), on="query_id")
        .join(hits, on=["query_id", "doc_id"], how="left")
        .with_columns(HIT.fill_null(0.0))
        .join(n_queries, how="cross")
    )


def refuse_no_grade(rel: object) -> None:
    """Refuse a level of relevance that is no number."""
    if rel is not None and (not isinstance(rel, Real) or isinstance(rel, bool) or rel != rel):
        raise OptionError(f"rel must be a grade, not {rel!r}")


@fusion(trained=True)
def posfuse() -> Recipe:
    """Sum of the share of relevant documents that the system has at this rank.

    The share is of the judged queries whose list is that long. Source: Lillis et al. 2010.
    """

    def learn(lists: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
        at_rank = judged.group_by("system", "rank").agg(learnt=HIT.sum() / pl.len())
        return lists.join(at_rank, on=["system", "rank"], how="left")

    return Recipe(LEARNT.fill_null(0.0), learn=learn)


@fusion(trained=True, grid={"w": tuple(range(1, 31))})
def slidefuse(w: int = 5) -> Recipe:
    """As `posfuse`, with the mean over the ranks from w before to w after. Source: Lillis 2008."""
    w = whole_number("w", w, 0)

    def learn(lists: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
        at_rank = judged.group_by("system", PLACE.alias("upto")).agg(share=HIT.sum() / pl.len())
        deepest = at_rank.group_by("system").agg(deepest=pl.col("upto").max())
        down_to = at_rank.sort("system", "upto").select(
            "system", "upto", summed=pl.col("share").cum_sum().over("system", order_by="upto")
        )
        first = (PLACE - w).clip(lower_bound=1)
        last = pl.min_horizontal(PLACE + w, N_LISTED.cast(pl.Int64))
        deep = pl.col("deepest").fill_null(0)
        return (
            lists.join(deepest, on="system", how="left")
            .with_columns(
                width=last - first + 1,
                upto=pl.min_horizontal(last, deep),
                before=pl.min_horizontal(first - 1, deep),
            )
            .join(down_to, on=["system", "upto"], how="left")
            .join(
                down_to.rename({"upto": "before", "summed": "summed_before"}),
                on=["system", "before"],
                how="left",
            )
        )

    share = pl.col("summed").fill_null(0.0) - pl.col("summed_before").fill_null(0.0)
    return Recipe(share / pl.col("width"), learn=learn)


@fusion(trained=True, grid={"n_segments": tuple(range(1, 101))})
def probfuse(n_segments: int = 10) -> Recipe:
    """Share of relevant documents in the segment of the list, divided by the segment's number.

    Every list is cut into segments of ⌈n / n_segments⌉ places. Source: Lillis et al. 2006.
    """
    n_segments = whole_number("n_segments", n_segments)
    size = (N_LISTED.cast(pl.Int64) + n_segments - 1) // n_segments
    segment = ((PLACE - 1) // size).alias("segment")

    def learn(lists: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
        of_segment = (
            judged.group_by("system", "query_id", segment)
            .agg(share=HIT.sum() / pl.len(), n_queries=pl.col("n_queries").first())
            .group_by("system", "segment")
            .agg(learnt=sum_in_order(pl.col("share")) / pl.col("n_queries").first())
        )
        return lists.with_columns(segment).join(of_segment, on=["system", "segment"], how="left")

    return Recipe(LEARNT.fill_null(0.0) / (pl.col("segment") + 1), learn=learn)


@fusion(trained=True)
def segfuse() -> Recipe:
    """(score + 1) times the share of relevant documents in the segment. Source: Shokouhi 2007.

    Segments hold 5, 10, 20, … places; below place 5,115 the share is 0.
    """
    share = LEARNT.fill_null(0.0)
    return Recipe(share * (pl.col("score") + 1), learn=_precision_between(SEGMENT_BORDERS))


@fusion(trained=True)
def bayesfuse() -> Recipe:
    """Sum over all systems of the log odds that the document is relevant.

    Odds are those of the precision between the ranks 5, 10, 15, 20, 30, 100, 200, 500 and 1000,
    with 0.001 for what has none; ln(0.001 / 0.999) where a system did not find the document, or
    not above rank 1000. Source: Aslam and Montague 2001.
    """
    precision = LEARNT.fill_null(0.0)
    p = pl.when(precision == 0).then(0.001).otherwise(precision)
    against = pl.when(p == 1).then(0.001).otherwise(1 - p)
    is_covered = pl.col("segment") < len(BAYES_BORDERS) - 1
    odds = pl.when(is_covered).then((p / against).log()).otherwise(LEAST_ODDS)
    learn = _precision_between(BAYES_BORDERS)
    # A list without the document gives the least odds: what lists with it give is counted from it.
    return Recipe(odds - LEAST_ODDS, finish=_least_from_all, learn=learn)


@fusion(trained=True)
def mapfuse() -> Recipe:
    """Sum of the system's mean average precision / rank. Source: Lillis et al. 2010."""

    def learn(lists: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
        precision = HIT.cum_sum().over("system", "query_id", order_by="rank") / RANK
        of_system = (
            judged.with_columns(precision=precision * HIT)
            .group_by("system", "query_id", "n_relevant", "n_queries")
            .agg(ap=sum_in_order(pl.col("precision")) / pl.col("n_relevant").first())
            .group_by("system")
            .agg(learnt=sum_in_order(pl.col("ap").fill_nan(0.0)) / pl.col("n_queries").first())
        )
        return lists.join(of_system, on="system", how="left")

    return Recipe(LEARNT.fill_null(0.0) / RANK, learn=learn)


def _precision_between(
    borders: tuple[int, ...],
) -> Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame]:
    """Learn each system's precision between two borders, however short its lists are."""
    number = pl.sum_horizontal((border < PLACE).cast(pl.Int64) for border in borders[1:])
    lengths = pl.Series([b - a for a, b in itertools.pairwise(borders)])
    segment = number.alias("segment")

    def learn(lists: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
        length = pl.lit(lengths).gather(pl.col("segment"), null_on_oob=True)
        of_segment = (
            judged.group_by("system", segment)
            .agg(HIT.sum(), pl.col("n_queries").first())
            .select("system", "segment", learnt=HIT / length / pl.col("n_queries"))
        )
        return lists.with_columns(segment).join(of_segment, on=["system", "segment"], how="left")

    return learn


def _least_from_all(fused: pl.LazyFrame, _: pl.LazyFrame, systems: pl.LazyFrame) -> pl.LazyFrame:
    n_systems = systems.select(n_systems=pl.len().cast(pl.UInt32))
    return fused.join(n_systems, how="cross").with_columns(
        score=pl.col("score") + pl.col("n_systems") * LEAST_ODDS
    )
