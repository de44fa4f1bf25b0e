"""How one metric's values are spread over the queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.plots.theme import (
    BLUE,
    ORANGE,
    WIDTH,
    count_axis,
    extent,
    finished,
    labels_of,
    nice_step,
    rows_of,
    width_of,
    without_dust,
)
from evalframe.plots.values import Source, values_of
from evalframe.tables import in_one_line

if TYPE_CHECKING:
    import altair as alt

__all__ = ["distribution"]

BINS = 20
LEAST_BINS = 5


def distribution(
    report: Source, metric: str, *, systems: Sequence[str] | None = None
) -> alt.LayerChart | alt.FacetChart:
    """How a metric's values are spread over the queries: a histogram for each system.

    Parameters
    ----------
    report
        A report, a comparison, a RAG report or a frame of values.
    metric
        A metric that it has.
    systems
        Which systems. Without it all, or the 21 best.

    Returns
    -------
    altair.LayerChart or altair.FacetChart
        Bars from `low` to `high` (which belongs to the next bar, if there is one), as high as the
        `count` of queries; a line at the mean. Values between 0 and 1 are counted in steps of
        0.05, others in at most 20 steps.

    Raises
    ------
    MetricError, EmptyError
        No such metric, or no value of it.
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> report = evf.evaluate(qrels, {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, ["mrr"])
    >>> rows = plots.distribution(report, "mrr").data.values
    >>> [(row["low"], row["count"]) for row in rows if row["count"]]
    [(0.5, 1), (0.95, 1)]
    """
    values = values_of(report, metric)
    shown, note = values.chosen(systems)
    frame = values.of(shown)
    edges = _edges(frame["value"])
    rows = _histograms(frame, edges).sort(
        pl.col("name").replace_strict({name: i for i, name in enumerate(shown)}), "low"
    )
    several = len(shown) > 1
    title_of_y = None if several else values.unit
    bars = _bars(rows.to_dicts(), edges, in_one_line(metric), values.unit, title_of_y)
    chart = _one_below_the_other(bars, list(labels_of(shown).values())) if several else _one(bars)
    summary = f"bars count {values.unit}, the line is the mean"
    if not several:
        mean, median = frame.select(pl.mean("value"), median=pl.median("value")).row(0)
        summary = f"mean {mean:.4g} (the line), median {median:.4g}"
    title = f"{metric} of each {values.one}"
    return finished(chart, title, f"{values.counted(shown)}; {summary}", note)


def _edges(values: pl.Series) -> list[float]:
    """Where bars begin and end: round numbers that enclose all values."""
    low, high = extent(values)
    if low >= 0 and high <= 1:
        return [without_dust(i / BINS) for i in range(BINS + 1)]
    whole = _is_whole(values)
    step = max(nice_step(max(high - low, abs(low) / 10) / (BINS - 1)), 1.0 if whole else 0.0)
    first = math.floor(low / step + 1e-9)
    last = math.floor(high / step + 1e-9) + 1
    beside = max(0, (LEAST_BINS - (last - first)) // 2)
    # A whole number stands in the middle of its bar.
    shift = 0.5 if whole and step == 1 else 0.0
    return [without_dust(i * step - shift) for i in range(first - beside, last + beside + 1)]


def _is_whole(values: pl.Series) -> bool:
    return bool(values.eq(values.round()).all())


def _histograms(frame: pl.DataFrame, edges: list[float]) -> pl.DataFrame:
    """`system`, `name`, `low`, `high`, `count` and the system's `mean`: a row for each bar."""
    step = (edges[-1] - edges[0]) / (len(edges) - 1)
    bar = ((pl.col("value") - edges[0]) / step + 1e-9).floor().clip(0, len(edges) - 2)
    systems = frame.group_by("system", "name").agg(pl.mean("value").alias("mean"))
    bars = pl.DataFrame({"low": edges[:-1], "high": edges[1:]}).with_row_index("bar")
    counts = frame.group_by("system", bar=bar.cast(pl.UInt32)).agg(count=pl.len())
    return (
        systems.join(bars, how="cross")
        .join(counts, on=["system", "bar"], how="left")
        .select("system", "name", "low", "high", pl.col("count").fill_null(0), "mean")
    )


def _bars(
    rows: list[dict[str, Any]], edges: list[float], metric: str, unit: str, title_of_y: str | None
) -> alt.LayerChart:
    data = rows_of(rows)
    import altair as alt

    scale = alt.Scale(domain=[edges[0], edges[-1]], nice=False)
    most = max(row["count"] for row in rows)
    x_axis = alt.Axis(title=metric, grid=False, tickCount=8, format=",.6~r")
    if edges[-1] - edges[0] > 1 and edges[1] - edges[0] >= 1:
        x_axis = count_axis(metric, math.floor(edges[-1]), math.ceil(edges[0]), about=8)
        x_axis.grid = False
    shown = [
        alt.Tooltip("name:N", title="system"),
        alt.Tooltip("low:Q", title="from"),
        alt.Tooltip("high:Q", title="to"),
        alt.Tooltip("count:Q", title=unit),
        alt.Tooltip("mean:Q", format=".4f"),
    ]
    bars = (
        alt.Chart()
        .mark_bar(color=BLUE, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("low:Q", scale=scale, axis=x_axis),
            x2="high:Q",
            y=alt.Y(
                "count:Q",
                scale=alt.Scale(domain=[0, most]),
                axis=count_axis(title_of_y, most, about=3 if title_of_y is None else 6),
            ),
            y2=alt.Y2Datum(0),
            tooltip=shown,
        )
    )
    line = (
        alt.Chart()
        .mark_rule(color=ORANGE, strokeWidth=2)
        .encode(x=alt.X("mean(mean):Q", scale=scale))
    )
    return alt.LayerChart(data=data, layer=[bars, line])


def _one(bars: alt.LayerChart) -> alt.LayerChart:
    return bars.properties(width=WIDTH, height=260)


def _one_below_the_other(bars: alt.LayerChart, labels: list[str]) -> alt.FacetChart:
    import altair as alt

    header = alt.Header(
        title=None, labelAngle=0, labelAlign="left", labelAnchor="middle", labelPadding=6
    )
    height = 100 if len(labels) <= 3 else 60 if len(labels) <= 8 else 28
    return bars.properties(width=WIDTH - width_of(labels), height=height).facet(
        row=alt.Row("system:N", sort=labels, header=header), spacing=10
    )
