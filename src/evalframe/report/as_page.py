"""A report as a page: means, charts, what counted, and the worst queries with their lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import OptionError
from evalframe.inputs import corpus_frame, queries_frame
from evalframe.page import (
    details,
    document,
    facts,
    figures,
    left_out,
    paragraph,
    section,
    subheading,
    table,
)
from evalframe.plots import curves, distribution
from evalframe.report.lists import judged_lists, warn_without_texts
from evalframe.report.one_query import NEAR, near_ties_of
from evalframe.tables import counted, shortened, shown

if TYPE_CHECKING:
    from evalframe.report.report import Report

__all__ = ["page_of"]

DOCUMENTS = 20
"""Ranks that are shown of a list; below, only what is relevant."""
TEXTS = ("title", "text")
TEXT = 400
"""Characters of a text that are shown; the rest is counted."""
DISTRIBUTIONS = 6
MANY_SYSTEMS = 5
"""Metrics whose distribution is drawn; only the first where there are many systems."""
VALUES = 1000
"""Rows of values that are shown."""


def page_of(report: Report, title: str, worst: int, corpus: Any, queries: Any) -> str:
    """A report as one self-contained page; see `Report.to_html`."""
    scored = max(report.counts["scored"].to_list(), default=0)
    systems = [counted(len(report.systems), "system")] if report.systems else []
    sizes = [*systems, counted(scored, "query", "queries"), counted(len(report.how), "metric")]
    return document(
        title,
        ", ".join(sizes),
        [
            section("Means", *_means(report)),
            section("Charts", _charts(report)),
            section("What counted", *_counted(report)),
            section("Worst queries", *_worst(report, worst, corpus, queries)) if worst else "",
            section("Values of each query", _values(report)),
        ],
    )


def _means(report: Report) -> list[str]:
    keys = [*(["system"] if report.systems else []), "metric"]
    spread = report.summary.join(
        report.intervals.select(*keys, "low", "high"), on=keys, how="left", maintain_order="left"
    ).select(*keys, "value", "how", "low", "high", "queries", "min", "median", "max", "zeros")
    if all(how == "mean" for how in report.how.values()):
        spread = spread.drop("how")
    note = paragraph(
        "low and high: the 95% interval of the arithmetic mean over queries (Student's t), which "
        "may reach beyond what the metric can be. "
        "zeros: queries on which the value is 0.",
        kind="note",
    )
    if not report.systems:
        return [table(spread, "Metrics over all queries"), note]
    whole = details("Intervals and spread", table(spread, "Metrics of each system"), note)
    return [table(report.table(), "Metrics of each system over all queries"), whole]


def _charts(report: Report) -> str:
    charts: dict[str, Callable[[], Any]] = {"Metrics by cut-off": partial(curves, report)}
    drawn = DISTRIBUTIONS if len(report.systems) <= MANY_SYSTEMS else 1
    for metric in [*report.how][:drawn]:
        charts[f"{metric} of each query"] = partial(distribution, report, metric)
    return figures(charts) + left_out(len(report.how) - drawn, "distribution")


def _counted(report: Report) -> list[str]:
    settings = facts(report.contract.to_dict())
    if report.systems:
        return [table(report.counts, "Queries of each system"), settings]
    names = {name.replace("_", " "): value for name, value in report.counts.to_dicts()[0].items()}
    return [facts({name: shown(value) for name, value in names.items()}), settings]


def _worst(report: Report, n: int, corpus: Any, queries: Any) -> list[str]:
    """The worst queries by the first metric, each with its list, all looked up at once."""
    metric = next(iter(report.how))
    keys = ["system", "query_id"] if report.systems else ["query_id"]
    worst = report.worst(metric, n)
    try:
        lists = judged_lists(report.qrels, report.run, report.contract, worst.select(keys))
    except OptionError as error:
        return [table(worst, f"Worst by {metric}"), paragraph(f"No lists: {error}", kind="note")]
    if corpus is not None:
        lists = _with_texts(lists, corpus)
    texts = {} if queries is None else _texts_of(worst, queries)
    by_query = lists.partition_by(keys, as_dict=True, include_key=False, maintain_order=True)
    no_list = lists.clear().drop(keys)
    of_each = " of each system" if report.systems else ""
    note = f"The worst queries{of_each} by {metric}, worst first, {n} at most."
    parts = [paragraph(note, kind="note")]
    for name, rows in _by_system(worst):
        if name is not None:
            parts.append(subheading(name))
        for row in rows.iter_rows(named=True):
            documents = by_query.get(tuple(row[key] for key in keys), no_list)
            parts.append(_one_query(row, [*report.how], documents, texts.get(row["query_id"])))
    return parts


def _by_system(rows: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    if "system" not in rows.columns:
        return [(None, rows)]
    parts = rows.partition_by("system", as_dict=True, maintain_order=True)
    return [(str(name), part) for (name,), part in parts.items()]


def _one_query(
    row: dict[str, Any], metrics: list[str], documents: pl.DataFrame, text: str | None
) -> str:
    """A query that opens: its values, the head of its list and what was missed."""
    missed = pl.col("verdict") == "missed"
    texts = [name for name in TEXTS if name in documents.columns]
    ranked, lost = documents.filter(~missed), documents.filter(missed)
    head = ranked.filter((pl.col("rank") <= DOCUMENTS) | (pl.col("verdict") == "relevant"))
    head = head.select("rank", "doc_id", "verdict", "relevance", "score", *texts)
    values = {metric: shown(row[metric]) for metric in metrics}
    parts = [
        facts(values),
        table(head, "Ranked documents", below=TEXTS),
        left_out(ranked.height - head.height, "row", f", below rank {DOCUMENTS} and not relevant"),
    ]
    if lost.height:
        lost = lost.drop("rank", "score", "verdict")
        parts.append(table(lost, "Relevant but missed", DOCUMENTS, below=TEXTS))
    near = near_ties_of(ranked, NEAR)
    if near.height:
        parts.append(table(near, f"Near ties (relative gap up to {NEAR:g})", DOCUMENTS))
    summary = f"{metrics[0]} {values[metrics[0]]}"
    if text is not None:
        summary += f" · {shortened(text, TEXT // 2)}"
    return details(summary, *parts, marked=row["query_id"])


def _values(report: Report) -> str:
    values = report.per_query
    return details(counted(values.height, "row"), table(values, "Values of each query", VALUES))


def _with_texts(lists: pl.DataFrame, corpus: Any) -> pl.DataFrame:
    """Lists with title and text of their documents, long ones cut and the cut counted."""
    whole = corpus_frame(corpus).lazy()
    named = [name for name in TEXTS if name in whole.collect_schema().names()]
    wanted = lists.lazy().select("doc_id").unique()
    texts = collect(whole.select("doc_id", *named).join(wanted, on="doc_id", how="semi"))
    warn_without_texts(lists["doc_id"], texts, "documents", "corpus", level=6)
    cut = texts.with_columns(
        pl.Series(
            name, [text and shortened(text, TEXT, counted=True) for text in texts[name]], pl.String
        )
        for name in named
    )
    return lists.join(cut, on="doc_id", how="left", maintain_order="left")


def _texts_of(rows: pl.DataFrame, queries: Any) -> dict[str, str]:
    found = queries_frame(queries).lazy().select("query_id", "text")
    wanted = rows.lazy().select("query_id").unique()
    texts = collect(found.join(wanted, on="query_id", how="semi"))
    warn_without_texts(rows["query_id"], texts, "queries", "queries", level=6)
    return dict(texts.rows())
