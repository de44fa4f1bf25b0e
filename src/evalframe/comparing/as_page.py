"""A comparison as a page: means with marks, every pair with its test, and who won where."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.engine import collect
from evalframe.inputs import queries_frame
from evalframe.page import details, document, facts, figures, left_out, paragraph, section, table
from evalframe.plots import differences, scatter
from evalframe.report.lists import warn_without_texts
from evalframe.tables import counted

if TYPE_CHECKING:
    from evalframe.comparing.comparison_report import Comparison

__all__ = ["page_of"]

PAIRS = 10
"""Pairs of systems that are drawn and gone through."""
VALUES = 1000
"""Rows of values that are shown."""
OF_PAIRS = (
    "a", "b", "metric", "difference", "low", "high", "p", "p_corrected", "significant",
    "wins", "ties", "losses", "n", "n_dropped",
)  # fmt: skip


def page_of(compared: Comparison, title: str, notes: list[str], worst: int, queries: Any) -> str:
    """A comparison as one self-contained page; see `Comparison.to_html`."""
    sizes = [
        counted(len(compared.systems), "system"),
        counted(len(compared.metrics), "metric"),
        counted(compared.aligned.keys.height, "query", "queries"),
    ]
    return document(
        title,
        ", ".join(sizes),
        [
            section("Means", *_means(compared, notes)),
            section("Pairs", *_pairs(compared)),
            section("Who won where", *_won(compared, worst, queries)),
            section("What counted", *_counted(compared)),
            section("Values of each query", _values(compared)),
        ],
    )


def _means(compared: Comparison, notes: list[str]) -> list[str]:
    spread = compared.summary.select("system", "metric", "mean", "low", "high", "n", "sd")
    done = compared.procedure
    how = f"low and high: {100 * done.confidence:g}% interval of the mean, {done.interval}."
    return [
        table(compared.table(), "Means of each system"),
        *(paragraph(note, kind="note") for note in notes),
        details("Intervals", table(spread, "Means and their intervals", VALUES), _note(how)),
    ]


def _pairs(compared: Comparison) -> list[str]:
    if not compared.pairs.height:
        return []
    done = compared.procedure
    how = (
        f"difference: a minus b, over the queries that both have. low and high: its "
        f"{100 * done.confidence:g}% interval, {done.interval}. wins: queries on which a is better."
    )
    return [table(compared.pairs.select(OF_PAIRS), "Pairs of systems", VALUES), _note(how)]


def _won(compared: Comparison, n: int, queries: Any) -> list[str]:
    """Charts of the first pairs by the first metric, and the queries that differ most."""
    metric = compared.metrics[0]
    pairs = compared.pairs.filter(metric=metric).select("a", "b").rows()
    if not pairs:
        return []
    charts: dict[str, Callable[[], Any]] = {}
    for a, b in pairs[:PAIRS]:
        charts[f"{metric}, {a} minus {b}"] = partial(differences, compared, metric, a, b)
    first = pairs[0]
    charts[f"{metric}, {first[0]} and {first[1]}"] = partial(scatter, compared, metric, *first)
    texts = None if queries is None else _texts(compared, queries)
    named = [_most(compared, metric, a, b, n, texts) for a, b in pairs[:PAIRS]] if n else []
    return [figures(charts), *named, left_out(len(pairs) - PAIRS, "pair")]


def _most(
    compared: Comparison, metric: str, a: str, b: str, n: int, texts: pl.DataFrame | None
) -> str:
    """The queries of a pair that differ most."""
    found = compared.by_query(metric, a, b)
    wins = found["winner"].drop_nulls()
    shown = found.filter(pl.col("winner").is_not_null()).head(min(n, found.height))
    if texts is not None and "query_id" in shown.columns:
        shown = shown.join(texts, on="query_id", how="left", maintain_order="left")
    ties = counted(found.height - wins.len(), "tie")
    won = f"{(wins == a).sum()} to {(wins == b).sum()}, {ties}"
    largest = table(shown, f"The greatest differences in {metric}", below=["text"])
    more = left_out(wins.len() - shown.height, "row")
    return details(won, largest, more, marked=f"{a} against {b}")


def _counted(compared: Comparison) -> list[str]:
    parts = [facts(compared.procedure.to_dict())]
    if compared.contract is not None:
        parts.append(facts(compared.contract.to_dict()))
    if compared.counts is not None:
        parts.append(table(compared.counts, "Queries of each system"))
    return parts


def _values(compared: Comparison) -> str:
    values = compared.per_query_wide
    return details(counted(values.height, "row"), table(values, "Values of each query", VALUES))


def _texts(compared: Comparison, queries: Any) -> pl.DataFrame:
    texts = collect(queries_frame(queries).lazy().select("query_id", "text"))
    keys = compared.aligned.keys
    if "query_id" in keys.columns:
        found = texts.join(keys, on="query_id", how="semi")
        warn_without_texts(keys["query_id"], found, "queries", "queries", level=6)
    return texts


def _note(text: str) -> str:
    return paragraph(text, kind="note")
