"""Arguments that cannot be meant: a run of other queries, qrels and run in each other's place."""

from __future__ import annotations

import polars as pl

from evalframe.engine import collect
from evalframe.errors import EmptyError, FrameError
from evalframe.ranking.judged import Judged
from evalframe.ranking.prepared import PreparedQrels

__all__ = ["refuse_strangers", "refuse_swapped"]

LIKELY = 10
"""The highest grade that is not surprising."""


def refuse_strangers(prepared: PreparedQrels, seen: Judged) -> None:
    """A run without any query of the qrels is a mistake; say which one it seems to be."""
    if (seen.units["n_retrieved"] > 0).any():
        return
    ours, theirs = prepared.query_ids.head(3).to_list(), seen.groups["query_id"].head(3).to_list()
    raise EmptyError(
        f"the run has no query of the qrels: the qrels ask {ours} and so on, the run answers "
        f"{theirs} and so on. Do the ids differ by a prefix, by case or by leading zeros?"
    )


def refuse_swapped(prepared: PreparedQrels, run: pl.DataFrame | pl.LazyFrame) -> None:
    """Refuse what looks like scores where grades should be, and like grades for scores."""
    grade = prepared.checked["relevance"]
    has_fractions = grade.dtype.is_float() and (grade != grade.round()).any()
    is_score = has_fractions or (grade > LIKELY).any()
    if not is_score:
        return
    scores = collect(run.lazy().select("query_id", "score").head(1000))
    score = pl.col("score")
    is_grade = (score == score.round()) & score.is_between(0, LIKELY)
    repeats = (score == 0) | pl.struct("query_id", "score").is_duplicated()
    if scores.select(is_grade.all() & repeats.any()).item():
        raise FrameError(
            "the qrels hold numbers like scores and the run holds small whole numbers like grades: "
            "the qrels come first, then the run. Were the two arguments swapped? If not, say that "
            "these are the qrels: evf.prepare(qrels)"
        )
