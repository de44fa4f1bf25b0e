"""One query looked at closely: its values, its list, what was missed, and what hangs on a hair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import OptionError
from evalframe.inputs import queries_frame
from evalframe.tables import in_one_line, notebook_table, shortened, text_table

__all__ = ["NEAR", "QueryReport", "near_ties_of", "query_report"]

NEAR = 0.001
"""The relative gap of two scores up to which their order is called near."""
SHOWN = 10
"""Documents that are printed; the rest is counted."""
TEXT_SHOWN = 60
"""Characters of a text that are printed; the rest is counted."""
VALUES = {
    "metric": pl.String(),
    "value": pl.Float64(),
    "overall": pl.Float64(),
    "how": pl.String(),
    "share_better": pl.Float64(),
}


@dataclass(frozen=True, repr=False, eq=False)
class QueryReport:
    """What a report knows of one query.

    Attributes
    ----------
    query_id, system, text
        Which query of which system (None where there is one), and its text, where queries were
        given.
    values
        `metric`, `value`, `overall` (over the queries that count, as the report sums them up),
        `how` (it does: mean, sum or geometric_mean) and `share_better` (the share of the queries on
        which the metric is better than here). No rows for a query that does not count.
    documents
        The list: `rank`, `doc_id`, `score`, `relevance`, `verdict` (`relevant`, `not relevant`,
        `unjudged`), and title and text, where a corpus was given.
    missed
        What was relevant but not retrieved, by falling grade: `doc_id`, `relevance`, and the same.
    near_ties
        Neighbours in the list of (nearly) equal score whose order moves values, since one is worth
        more than the other: `rank`, `doc_id`, `next_doc_id`, `score`, `next_score`, `gap`
        (relative to the greater score), and `relevance`, `verdict` of both. What has no judgement,
        or a negative one, is worth nothing.
    epsilon
        The relative gap up to which two scores are nearly equal.
    """

    query_id: str
    system: str | None
    text: str | None
    values: pl.DataFrame
    documents: pl.DataFrame
    missed: pl.DataFrame
    near_ties: pl.DataFrame
    epsilon: float

    @property
    def first_relevant(self) -> int | None:
        """The rank of the first relevant document; None where none was retrieved."""
        ranks = self.documents.filter(verdict="relevant")["rank"].to_list()
        return min(ranks, default=None)

    def __repr__(self) -> str:
        """The values, the head of the list, what was missed and what was nearly tied."""
        parts = [self._title(), text_table(self.values), self._first()]
        for label, frame in self._tables():
            parts += ["", label, text_table(_brief(frame), SHOWN)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        head = f"<div><strong>{escape(self._title())}</strong></div>"
        values = notebook_table(self.values, [self._first()])
        rest = (
            f"<div><strong>{escape(label)}</strong></div>"
            + notebook_table(_brief(frame), rows=SHOWN)
            for label, frame in self._tables()
        )
        return head + values + "".join(rest)

    def _title(self) -> str:
        of_system = "" if self.system is None else f" of {self.system}"
        text = "" if self.text is None else f": {shortened(self.text, 4 * TEXT_SHOWN)}"
        return in_one_line(f"query {self.query_id}{of_system}{text}")

    def _first(self) -> str:
        first = self.first_relevant
        found = self.documents.filter(verdict="relevant").height
        where = "no relevant document" if first is None else f"first relevant at rank {first}"
        return (
            f"{where}; {self.documents.height} retrieved, {found} of them relevant, "
            f"{self.missed.height} missed"
        )

    def _tables(self) -> list[tuple[str, pl.DataFrame]]:
        near = f"near ties (relative gap up to {self.epsilon:g})"
        named = [("documents", self.documents), ("missed", self.missed), (near, self.near_ties)]
        return [(label, frame) for label, frame in named if frame.height]


def query_report(
    query_id: str,
    system: str | None,
    documents: pl.DataFrame,
    per_query: pl.DataFrame,
    summary: pl.DataFrame,
    better: Mapping[str, str],
    queries: Any,
    epsilon: float,
) -> QueryReport:
    """Put together what is known of one query.

    Parameters
    ----------
    query_id, system
        Which.
    documents
        What `Report.documents` gives.
    per_query, summary
        The values of all queries of this system, and what they sum up to.
    better
        Metric → `higher` or `lower`.
    queries
        Where its text is; None.
    epsilon
        The relative gap up to which two scores are nearly equal.
    """
    if isinstance(epsilon, bool) or not (isinstance(epsilon, int | float) and 0 <= epsilon <= 1):
        raise OptionError(f"epsilon={epsilon!r} is a share of the greater score: from 0 to 1")
    is_missed = pl.col("verdict") == "missed"
    return QueryReport(
        query_id,
        system,
        None if queries is None else _text_of(query_id, queries),
        _values(per_query, query_id, summary, better),
        documents.filter(~is_missed),
        documents.filter(is_missed).drop("rank", "score", "verdict"),
        near_ties_of(documents, epsilon),
        epsilon,
    )


def _text_of(query_id: str, queries: Any) -> str | None:
    found = queries_frame(queries).lazy().filter(pl.col("query_id") == query_id).select("text")
    return next(iter(collect(found).to_series()), None)


def _values(
    per_query: pl.DataFrame, query_id: str, summary: pl.DataFrame, better: Mapping[str, str]
) -> pl.DataFrame:
    rows = []
    overall = {
        metric: (value, how)
        for metric, value, how in summary.select("metric", "value", "how").rows()
    }
    own = per_query.filter(pl.col("query_id") == query_id)
    for metric, which in better.items() if own.height else ():
        values, value = (
            frame[metric].cast(pl.Float64).fill_nan(None) for frame in (per_query, own)
        )
        # A null compares to null, so that the share is null where there is no value.
        is_better = values < value if which == "lower" else values > value
        rows.append((metric, value.item(), *overall[metric], is_better.mean()))
    return pl.DataFrame(rows, VALUES, orient="row")


def near_ties_of(documents: pl.DataFrame, epsilon: float) -> pl.DataFrame:
    """Neighbours whose scores are nearly equal and whose worth is not; see `QueryReport`."""
    pairs = ("doc_id", "score", "relevance", "verdict")
    score, other = pl.col("score").cast(pl.Float64), pl.col("next_score").cast(pl.Float64)
    size = pl.max_horizontal(score.abs(), other.abs())
    gap = pl.when(score == other).then(0.0).otherwise((score - other).abs() / size)

    def worth(relevance: str) -> pl.Expr:
        return pl.col(relevance).fill_null(0).clip(lower_bound=0)

    return (
        documents.sort("rank")
        .with_columns(pl.col(name).shift(-1).alias(f"next_{name}") for name in pairs)
        .filter(pl.col("next_doc_id").is_not_null())
        .with_columns(gap=gap)
        .filter(pl.col("gap") <= epsilon, worth("relevance") != worth("next_relevance"))
        .select(
            "rank", "doc_id", "next_doc_id", "score", "next_score", "gap",
            "relevance", "next_relevance", "verdict", "next_verdict",
        )
    )  # fmt: skip


def _brief(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with long texts cut; each cut is counted."""
    long = [name for name in ("title", "text") if frame.schema.get(name) == pl.String]
    return frame.with_columns(
        pl.Series(name, [text and shortened(text, TEXT_SHOWN) for text in frame[name]], pl.String)
        for name in long
    )
