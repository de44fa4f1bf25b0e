"""A report on RAG samples as a page: means, what they are means of, and the worst samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.metrics.rag_reasons import TAKEN_OUT, is_undelivered
from evalframe.page import (
    details,
    document,
    figures,
    left_out,
    listed,
    paragraph,
    section,
    table,
    text_block,
)
from evalframe.plots import coverage, distribution
from evalframe.report.spread import means_with_intervals
from evalframe.tables import counted, shortened

if TYPE_CHECKING:
    from evalframe.samples.report import RagReport

__all__ = ["page_of"]

TEXT = 2000
"""Characters of a text that are shown; the rest is counted."""
CONTEXTS = 20
"""Contexts of a sample that are shown; the rest is counted."""
DISTRIBUTIONS = 6
"""Metrics whose distribution is drawn."""
VALUES = 1000
"""Rows of values that are shown."""


def page_of(report: RagReport, title: str, worst: int) -> str:
    """A report on samples as one self-contained page; see `RagReport.to_html`."""
    return document(
        title,
        f"{counted(report.n_samples, 'sample')}, {counted(len(report.metrics), 'metric')}, "
        f"profile {report.profile}",
        [
            section("Means", *_means(report)),
            section("Charts", _charts(report)),
            section("What was missing", _reasons(report)),
            section("Worst samples", *_worst(report, worst)) if worst else "",
            section("Values of each sample", _values(report)),
        ],
    )


def _means(report: RagReport) -> list[str]:
    note = (
        "mean: over the samples that have a value; low and high: its 95% interval (Student's t), "
        "which may reach beyond what the metric can be. rest as 0: over all samples, the others "
        "counted as 0. if delivered: over the scored samples for which the system delivered "
        "something."
    )
    shown = report.table().drop("reasons")
    if report.per_sample.height:
        long = report.per_sample.unpivot([*report.metrics], variable_name="metric")
        found = means_with_intervals(long, ["metric"]).select("metric", "low", "high")
        spread = shown.join(found, on="metric", how="left", maintain_order="left")
        shown = spread.select(
            "metric", "mean", "low", "high", pl.exclude("metric", "mean", "low", "high")
        )
    return [table(shown, "Metrics over all samples"), paragraph(note, kind="note")]


def _charts(report: RagReport) -> str:
    if not report.per_sample.height:
        return ""
    charts: dict[str, Callable[[], Any]] = {"Coverage": partial(coverage, report)}
    with_values = [metric for metric, n in report.coverage.items() if n]
    for metric in with_values[:DISTRIBUTIONS]:
        charts[f"{metric} of each sample"] = partial(distribution, report, metric)
    return figures(charts) + left_out(len(with_values) - DISTRIBUTIONS, "distribution")


def _reasons(report: RagReport) -> str:
    rows = [
        (metric, reason, n, _meaning(reason))
        for metric, reasons in report.reasons.items()
        for reason, n in reasons.items()
    ]
    if not rows:
        return paragraph("Every sample has a value in every metric, and nothing was missing.")
    schema = ["metric", "reason", "samples", "effect"]
    return table(pl.DataFrame(rows, schema, orient="row"), "Reasons, by metric")


def _meaning(reason: str) -> str:
    if reason in TAKEN_OUT:
        return "no value"
    return "scored as if empty" if is_undelivered(reason) else "scored"


def _worst(report: RagReport, n: int) -> list[str]:
    """The worst samples by the first metric, each with its texts."""
    metric = next(iter(report.metrics), None)
    if metric is None or not report.per_sample.height:
        return []
    rows = report.worst(metric, n).iter_rows(named=True)
    note = f"The worst samples by {metric}, worst first, {n} at most."
    return [
        paragraph(note, kind="note"),
        *(_one_sample(row, metric, list(report.metrics)) for row in rows),
    ]


def _one_sample(row: dict[str, Any], metric: str, metrics: list[str]) -> str:
    status = row.get("status") or {}
    values = pl.DataFrame(
        [(name, row[name], status.get(name)) for name in metrics],
        {"metric": pl.String, "value": pl.Float64, "status": pl.String},
        orient="row",
    )
    given = row.get("references") or ([] if row.get("reference") is None else [row["reference"]])
    parts = [
        table(values, "Values"),
        text_block("Question", _cut(row.get("user_input"))),
        text_block("Response", _cut(row.get("response"))),
        _texts("References" if len(given) > 1 else "Reference", given),
    ]
    for name in ("retrieved_contexts", "reference_contexts"):
        if name in row:
            ids = row.get(name.replace("contexts", "context_ids"))
            parts.append(_texts(name.replace("_", " ").capitalize(), row[name], ids))
    name = str(row.get("query_id"))
    where = f"{row['system']}: {name}" if row.get("system") is not None else name
    question = row.get("user_input")
    asked = "" if question is None else f" · {shortened(question, 200)}"
    return details(f"{metric} {row[metric]:.4f}{asked}", *parts, marked=where)


def _texts(label: str, texts: list[str | None] | None, ids: list[str] | None = None) -> str:
    """Texts one below the other, with their ids where there is one for each."""
    texts = texts or []
    named = ids if ids is not None and len(ids) == len(texts) else [None] * len(texts)
    shown = [
        (f"[{name}] " if name is not None else "") + (_cut(text) or "none")
        for name, text in zip(named, texts, strict=True)
    ][:CONTEXTS]
    return listed(label, shown) + left_out(len(texts) - len(shown), "text")


def _cut(text: str | None) -> str | None:
    return None if text is None else shortened(text, TEXT, counted=True)


def _values(report: RagReport) -> str:
    samples = report.per_sample
    keys = [name for name in ("system", "query_id") if name in samples.columns]
    if not samples.height:
        return ""
    values = samples.select(*keys, *report.metrics)
    return details(counted(values.height, "row"), table(values, "Values of each sample", VALUES))
