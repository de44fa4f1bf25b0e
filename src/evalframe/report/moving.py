"""Two lists of the same query side by side: which documents moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.errors import FrameError, first_rows
from evalframe.report.lists import with_texts

if TYPE_CHECKING:
    from evalframe.report.report import Report

__all__ = ["side_by_side"]

COLUMNS = (
    "doc_id", "rank_a", "rank_b", "move", "score_a", "score_b", "relevance", "verdict",
)  # fmt: skip


def side_by_side(
    report_a: Report,
    report_b: Report,
    query_id: str,
    *,
    system_a: str | None = None,
    system_b: str | None = None,
    corpus: Any = None,
) -> pl.DataFrame:
    """Two reports' lists of a query side by side: which documents moved.

    Parameters
    ----------
    report_a, report_b
        Reports by the same qrels.
    query_id
        A query of the qrels or of a run.
    system_a, system_b
        Whose list, where a report has several systems.
    corpus
        A corpus, whose title and text are put beside each document.

    Returns
    -------
    pl.DataFrame
        `doc_id`, `rank_a`, `rank_b`, `move`, `score_a`, `score_b`, `relevance` and `verdict`; see
        `Report.moved`.

    Raises
    ------
    FrameError
        The two judge a document differently.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = {"q": {"a": 1}}
    >>> old = evf.evaluate(qrels, {"q": ["x", "a"]}, ["mrr"])
    >>> new = evf.evaluate(qrels, {"q": ["a", "y"]}, ["mrr"])
    >>> side_by_side(old, new, "q").select("doc_id", "rank_a", "rank_b", "verdict").rows()
    [('a', 2, 1, 'relevant'), ('x', 1, None, 'unjudged'), ('y', None, 2, 'unjudged')]
    """
    found = _beside(
        report_a.documents(query_id, system=system_a), report_b.documents(query_id, system=system_b)
    )
    return found if corpus is None else with_texts(found, corpus)


def _beside(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    _refuse_other_judgements(a, b)
    ours, theirs = (
        side.filter(pl.col("rank").is_not_null()).select(
            "doc_id",
            pl.col("rank").cast(pl.Int64).alias(f"rank_{name}"),
            pl.col("score").alias(f"score_{name}"),
            pl.col("relevance").alias(f"relevance_{name}"),
            pl.col("verdict").alias(f"verdict_{name}"),
        )
        for name, side in (("a", a), ("b", b))
    )
    # What a reader gains by the place: 1 at the top, 0 where there is none.
    top_heavy = [
        (1 / (pl.col(rank) + 1).log(2)).fill_null(0.0) for rank in ("rank_a", "rank_b")
    ]  # fmt: skip
    change = (top_heavy[0] - top_heavy[1]).abs()
    gain = pl.col("relevance").fill_null(0).clip(lower_bound=0)
    return (
        ours.join(theirs, on="doc_id", how="full", coalesce=True)
        .with_columns(
            move=pl.col("rank_a") - pl.col("rank_b"),
            relevance=pl.coalesce("relevance_a", "relevance_b"),
            verdict=pl.coalesce("verdict_a", "verdict_b"),
        )
        .with_columns(change=change, effect=gain * change)
        .sort(
            "effect", "change", "rank_a", "rank_b",
            descending=[True, True, False, False], nulls_last=True,
        )
        .select(COLUMNS)
    )  # fmt: skip


def _refuse_other_judgements(a: pl.DataFrame, b: pl.DataFrame) -> None:
    """Refuse lists in which a document is judged in two ways."""
    judged = ["doc_id", "relevance", pl.col("verdict").replace("missed", "relevant")]
    both = a.select(judged).join(b.select(judged), on="doc_id", suffix="_b")
    other = both.filter(
        pl.col("relevance").ne_missing(pl.col("relevance_b"))
        | (pl.col("verdict") != pl.col("verdict_b"))
    ).sort("doc_id")
    if other.height:
        raise FrameError(
            f"the two reports judge {other.height} documents of this query differently; evaluate "
            f"both by the same qrels and rel=. First rows:\n{first_rows(other)}"
        )
