"""Coloured tables: systems by slices, and why samples have no value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, FrameError, MetricError, did_you_mean
from evalframe.metrics.rag_reasons import TAKEN_OUT
from evalframe.plots.theme import (
    BAND,
    BLUE,
    CHARACTER,
    GREY,
    WIDTH,
    columns_of_legend,
    count_axis,
    extent,
    finished,
    labels_of,
    rows_of,
    short,
    width_of,
)
from evalframe.plots.values import lower_is_better

if TYPE_CHECKING:
    import altair as alt

__all__ = ["coverage", "heat_map"]

NEEDED = ("metric", "n", "mean")
BESIDE = (*NEEDED, "system", "low", "high", "difference", "interval", "confidence")
"""Columns of `slices` that are no slice."""
MOST_ROWS, MOST_COLUMNS = 40, 24

SCORED = {
    "missing_response": "#56B4E9",
    "empty_response": "#009E73",
    "missing_contexts": "#7FCDBB",
    "empty_contexts": "#41769E",
    "missing_retrieved_ids": "#A6DBF5",
    "empty_retrieved_ids": "#2C7F62",
    "empty_reference": "#BFD8E8",
}
NOT_SCORED = {
    "missing_reference": "#D55E00",
    "unanswerable": "#E69F00",
    "missing_reference_contexts": "#CC79A7",
    "empty_reference_contexts": "#F2B5A0",
    "missing_reference_ids": "#8C3E00",
    "empty_reference_ids": "#F0C674",
}
"""What took samples out, in warm colours; what was scored all the same, in cool ones."""
IN_FULL, UNSAID = "scored", "not scored, no reason given"


class Covered(Protocol):
    """A RAG report: how many samples each metric scored, and why not the others."""

    @property
    def coverage(self) -> Mapping[str, int]:
        """Metric → how many samples have a value."""

    @property
    def reasons(self) -> Mapping[str, Mapping[str, int]]:
        """Metric → reason → how many samples."""

    @property
    def n_samples(self) -> int:
        """How many samples there are."""


def heat_map(slices: pl.DataFrame | pl.LazyFrame, metric: str | None = None) -> alt.LayerChart:
    """Means of each system on each slice of the queries, as a coloured table.

    Parameters
    ----------
    slices
        What `report.slices(by=…)` gives: the slice's columns, `metric`, `n`, `mean`, and `system`
        where there are several. Without systems there is a row for each metric.
    metric
        Which metric, where the frame has several systems and metrics.

    Returns
    -------
    altair.LayerChart
        A cell for each system and slice, darker for a higher mean; of several metrics, each has
        its own scale of colour. The 40 best systems and the 24 largest slices at most; the
        subtitle says what is not shown.

    Raises
    ------
    FrameError, ColumnError
        It is no Polars frame, or lacks a column.
    MetricError
        No such metric, or several and none was chosen.
    EmptyError
        No slice has a mean.
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> from evalframe import plots
    >>> slices = pl.DataFrame({"level": ["easy", "hard"], "metric": "mrr", "n": [3, 2],
    ...                        "mean": [0.75, 0.5]})
    >>> [(row["slice"], row["mean"]) for row in plots.heat_map(slices).data.values]
    [('easy (3)', 0.75), ('hard (2)', 0.5)]
    """
    if isinstance(slices, pl.LazyFrame):
        slices = collect(slices)
    if not isinstance(slices, pl.DataFrame):
        raise FrameError(
            "a heat map is made of the frame that report.slices(by=…) gave, not of "
            f"{type(slices).__name__}"
        )
    missing = [name for name in NEEDED if name not in slices.columns]
    by = [name for name in slices.columns if name not in BESIDE]
    if missing or not by:
        raise ColumnError(
            f"the slices lack {', '.join(missing) or 'a column to slice by'}: give what "
            "report.slices(by=…) gave"
        )
    metrics = slices["metric"].unique(maintain_order=True).to_list()
    chosen = _metrics_of(metrics, metric, "system" in slices.columns)
    cells = slices.filter(pl.col("metric").is_in(chosen), pl.col("mean").is_finite())
    if cells.height == 0:
        raise EmptyError("no slice has a mean: there is nothing to draw")
    # Of a frame without systems the metrics are the rows.
    row = "system" if "system" in slices.columns else "metric"
    lower = len(chosen) == 1 and lower_is_better(None, chosen[0])
    cells, left_out = _largest(cells, by, row, lower)
    cells, rows, columns = _labelled(cells, by, row)
    title = f"{chosen[0] if len(chosen) == 1 else 'Means'} by {', '.join(by)}"
    counts = cells["n"].sort()
    n = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if counts[0] != counts[-1] else "")
    unit = "query" if counts[-1] == 1 else "queries"
    order = "; less is better" if lower else ""
    scales = "each metric has its own scale of colour" if cells["metric"].n_unique() > 1 else ""
    gaps = "empty: no value" if cells.height < len(rows) * len(columns) else ""
    chart = _cells(cells, rows, columns, by)
    told = f"mean of each slice; n = {n} {unit} a cell{order}"
    return finished(chart, title, told, scales, gaps, *left_out)


def coverage(report: Covered) -> alt.LayerChart:
    """How many samples each metric scored, and why the others have no value.

    Parameters
    ----------
    report
        What `evaluate_rag` gave.

    Returns
    -------
    altair.LayerChart
        A bar for each metric, over all samples: scored in full, scored with something missing
        (cool colours), and not scored (warm colours), each by its reason.

    Raises
    ------
    FrameError
        It is no report of samples.
    EmptyError
        No metric, or no sample.
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> samples = [{"response": "a cat", "reference": "cat"}, {"response": "5"}]
    >>> report = evf.evaluate_rag(samples, metrics=["token_f1"])
    >>> [(row["reason"], row["n"]) for row in plots.coverage(report).data.values]
    [('scored', 1), ('not scored: missing reference', 1)]
    """
    if not all(hasattr(report, held) for held in ("coverage", "reasons", "n_samples")):
        raise FrameError(
            "coverage is drawn of the report that evaluate_rag gave, not of "
            f"{type(report).__name__}"
        )
    if not report.coverage or not report.n_samples:
        raise EmptyError("the report has no metric or no sample: there is nothing to draw")
    labels = labels_of(list(report.coverage))
    parts, colours = _parts(report)
    rows = [
        {"metric": labels[metric], "name": metric, "reason": reason, "n": n, "begin": begin,
         "end": begin + n, "scored": f"{report.coverage[metric]:,}"}
        for metric, reason, n, begin in parts
    ]  # fmt: skip
    total = report.n_samples
    return finished(
        _bars(rows, list(labels.values()), colours, total),
        "Which samples were scored",
        f"n = {total:,} sample{'s' if total > 1 else ''}; the number at the right is how many of "
        "them have a value",
    )


def _metrics_of(metrics: list[str], metric: str | None, systems: bool) -> list[str]:
    if metric is None:
        if systems and len(metrics) > 1:
            raise MetricError(
                f"the slices hold several metrics; choose one with metric=: {', '.join(metrics)}"
            )
        return metrics
    if metric not in metrics:
        raise MetricError(
            f"the slices have no metric {metric!r}{did_you_mean(metric, metrics)}; "
            f"there is {', '.join(metrics)}"
        )
    return [metric]


def _largest(
    cells: pl.DataFrame, by: list[str], row: str, lower: bool
) -> tuple[pl.DataFrame, list[str]]:
    """The cells of the best rows and the largest slices, and a sentence on the others."""
    said = []
    of_slices = cells.group_by(by, maintain_order=True).agg(pl.max("n"))
    if of_slices.height > MOST_COLUMNS:
        kept = of_slices.sort("n", descending=True, maintain_order=True).head(MOST_COLUMNS)
        cells = cells.join(kept, on=by, how="semi", nulls_equal=True, maintain_order="left")
        said.append(f"the {MOST_COLUMNS} largest of {of_slices.height} slices")
    weighted = (pl.col("mean") * pl.col("n")).sum() / pl.col("n").sum()
    of_rows = cells.group_by(row, maintain_order=True).agg(weighted.alias("mean"))
    if of_rows.height > MOST_ROWS:
        best = of_rows.sort("mean", descending=not lower, maintain_order=True).head(MOST_ROWS)
        cells = cells.join(best, on=row, how="semi", maintain_order="left")
        said.append(f"the {MOST_ROWS} best of {of_rows.height} {row}s")
    return cells, said


def _labelled(
    cells: pl.DataFrame, by: list[str], row: str
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The cells with what is shown of their row and slice, and both lists in order."""
    text = [pl.col(name).cast(pl.String).fill_null("(none)") for name in by]
    cells = cells.with_columns(
        full=pl.concat_str(text, separator=", "), name=pl.col(row).cast(pl.String)
    )
    sizes = cells.group_by("full", maintain_order=True).agg(
        low=pl.col("n").min(), high=pl.col("n").max()
    )
    short_of = labels_of(sizes["full"].to_list(), 22)
    of_slice = {
        full: f"{short_of[full]} ({low:,})" if low == high else short_of[full]
        for full, low, high in sizes.rows()
    }
    of_row = labels_of(cells["name"].unique(maintain_order=True).to_list())
    shown = cells.select(
        "metric",
        "name",
        "full",
        "n",
        "mean",
        row=pl.col("name").replace_strict(of_row, return_dtype=pl.String),
        slice=pl.col("full").replace_strict(of_slice, return_dtype=pl.String),
    )
    return shown, list(of_row.values()), list(of_slice.values())


def _cells(
    cells: pl.DataFrame, rows: list[str], columns: list[str], by: list[str]
) -> alt.LayerChart:
    spans = {name: _span(part["mean"]) for (name,), part in cells.group_by("metric")}
    data = rows_of([_shaded(row, *spans[row["metric"]]) for row in cells.to_dicts()])
    import altair as alt

    width = max(240, WIDTH - width_of(rows))
    step = min(120.0, width / len(columns))
    upright = max(map(len, columns)) * CHARACTER < step
    with_sizes = any(name.endswith(")") for name in columns)
    title = ", ".join(map(short, by)) + (" (number of queries)" if with_sizes else "")
    base = alt.Chart().encode(
        x=alt.X(
            "slice:N",
            sort=columns,
            axis=alt.Axis(title=title, labelAngle=0 if upright else -40, labelOverlap=False),
        ),
        y=alt.Y("row:N", sort=rows, axis=alt.Axis(title=None, labelOverlap=False)),
        tooltip=[
            alt.Tooltip("name:N", title="row"),
            alt.Tooltip("full:N", title="slice"),
            alt.Tooltip("mean:Q", format=".4f"),
            alt.Tooltip("n:Q", title="queries"),
        ],
    )
    legend = alt.Legend(title="mean", orient="bottom", gradientLength=200, direction="horizontal")
    only = next(iter(spans.values())) if len(spans) == 1 else None
    colour = alt.Color(
        "mean:Q" if only else "shade:Q",
        scale=alt.Scale(domain=list(only or (0, 1)), range=list(BAND)),
        legend=legend if only else None,
    )
    cell = base.mark_rect(stroke="white").encode(color=colour)
    number = base.mark_text(fontSize=11).encode(
        text="shown:N",
        color=alt.condition(alt.datum.shade > 0.7, alt.value("white"), alt.value("#222222")),
    )
    layers = [cell, number] if step >= 30 else [cell]
    return alt.LayerChart(data=data, layer=layers).properties(
        width=alt.Step(step), height=alt.Step(28 if len(rows) <= 12 else 22)
    )


def _shaded(row: dict[str, Any], low: float, high: float) -> dict[str, Any]:
    """A cell with its number as it is shown, and its place between its metric's ends."""
    decimals = ".2f" if max(abs(low), abs(high)) < 10 else ",.0f"
    shade = (row["mean"] - low) / (high - low)
    return {**row, "shade": shade, "shown": f"{row['mean']:{decimals}}"}


def _span(means: pl.Series) -> tuple[float, float]:
    """From the least to the greatest mean, but wide enough that means much alike look alike."""
    low, high = extent(means)
    least = max(abs(low), abs(high)) / 5 or 1.0
    margin = max(0.0, (least - (high - low)) / 2)
    return low - margin, high + margin


def _parts(report: Covered) -> tuple[list[tuple[str, str, int, int]], dict[str, str]]:
    """Metric, words, number and beginning of each part of its bar; and the colour of each word."""
    found: list[tuple[str, str, int, int]] = []
    colours: dict[str, str] = {}
    for metric, scored in report.coverage.items():
        reasons = report.reasons.get(metric, {})
        out = {r: reasons[r] for r in (*NOT_SCORED, *reasons) if r in reasons and r in TAKEN_OUT}
        within = {r: reasons[r] for r in (*SCORED, *reasons) if r in reasons and r not in TAKEN_OUT}
        parts = [
            (IN_FULL, scored - sum(within.values()), BLUE),
            *((f"scored: {_words(r)}", n, SCORED.get(r, GREY)) for r, n in within.items()),
            *((f"not scored: {_words(r)}", n, NOT_SCORED.get(r, GREY)) for r, n in out.items()),
            (UNSAID, report.n_samples - scored - sum(out.values()), GREY),
        ]
        begin = 0
        for words, n, colour in parts:
            if n > 0:
                found.append((metric, words, n, begin))
                colours[words] = colour
                begin += n
    order = [IN_FULL, *(w for w in colours if w.startswith("scored:"))]
    return found, {w: colours[w] for w in [*order, *colours] if w in colours}


def _words(reason: str) -> str:
    return reason.replace("_", " ")


def _bars(
    rows: list[dict[str, Any]], metrics: list[str], colours: dict[str, str], total: int
) -> alt.LayerChart:
    data = rows_of(rows)
    import altair as alt

    y = alt.Y("metric:N", sort=metrics, axis=alt.Axis(title=None, labelOverlap=False))
    legend = alt.Legend(title=None, orient="bottom", columns=columns_of_legend(list(colours)))
    scale = alt.Scale(domain=[0, total], nice=False)
    bars = (
        alt.Chart()
        .mark_bar(stroke="white", strokeWidth=1)
        .encode(
            y=y,
            x=alt.X(
                "begin:Q",
                scale=scale,
                axis=count_axis("samples", total),
            ),
            x2="end:Q",
            color=alt.Color(
                "reason:N",
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("name:N", title="metric"),
                alt.Tooltip("reason:N"),
                alt.Tooltip("n:Q", title="samples"),
            ],
        )
    )
    ends = (
        alt.Chart()
        .mark_text(align="left", dx=6, fontSize=11)
        .encode(y=y, x=alt.datum(total, scale=scale), text="max(scored):N")
    )
    return alt.LayerChart(data=data, layer=[bars, ends]).properties(
        width=max(240, WIDTH - width_of(metrics)), height=alt.Step(26)
    )
