"""Two systems on the same queries: who won where."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.plots.pairs import Pair, pair_of, story, winner_of
from evalframe.plots.theme import (
    BAND,
    BLUE,
    GREY,
    LINES,
    ORANGE,
    WIDTH,
    axis_of,
    count_axis,
    extent,
    finished,
    labels_of,
    number_axis,
    rows_of,
    short,
)
from evalframe.plots.values import Source, most_of

if TYPE_CHECKING:
    import altair as alt

__all__ = ["differences", "scatter"]

MOST_BARS = 300
MOST_NAMED = 40
"""Queries whose names fit below their bars."""
MOST_POINTS = 800
SQUARES = 30


def differences(
    source: Source, metric: str, a: str | None = None, b: str | None = None
) -> alt.Chart:
    """What a gains over b on each query, sorted: who won where.

    Parameters
    ----------
    source
        A report of several systems, a comparison, or a frame of values with a column `system`.
    metric
        A metric that it has.
    a, b
        Two of its systems. Without them the first two, where there are no others.

    Returns
    -------
    altair.Chart
        A bar for each query that both have a value of, as long as the `difference` a - b; from
        a's greatest gain to its greatest loss. Above 300 queries a bar is the mean of several that
        stand next to each other, and the subtitle says of how many.

    Raises
    ------
    OptionError
        A system that is not there, or not two.
    MetricError, EmptyError
        No such metric, or no query that both have a value of.
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> lists = {"old": {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, "new": {"q1": {"a": 1.0}}}
    >>> compared = evf.compare(qrels, lists, ["mrr"])
    >>> rows = plots.differences(compared, "mrr", "new", "old").data.values
    >>> [(row["query"], row["difference"]) for row in rows]
    [('q1', 0.5), ('q2', -1.0)]
    """
    pair = pair_of(source, metric, a, b)
    bars = _bars_of(pair.rows, pair.values.lower)
    named = bars.height == pair.rows.height <= MOST_NAMED
    chart = _named_bars(pair, bars) if named else _numbered_bars(pair, bars)
    label_a, label_b = pair.labels
    title = f"{metric}: {label_a} minus {label_b}, by {pair.values.one}"
    return finished(chart, title, *story(pair), *([] if named else _extremes(pair, bars)))


def scatter(
    source: Source, metric: str, a: str | None = None, b: str | None = None
) -> alt.LayerChart:
    """One metric of two systems against each other: a point for each query.

    Parameters
    ----------
    source, metric, a, b
        As `differences` takes them; a is read across, b upwards.

    Returns
    -------
    altair.LayerChart
        Points, larger where several queries share both values (`count`), and the diagonal on which
        both systems are equal. Above 800 different points, squares of a grid, coloured by the
        number of queries in them.

    Raises
    ------
    EvalframeError
        What `differences` raises.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> lists = {"old": {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, "new": {"q1": {"a": 1.0}}}
    >>> compared = evf.compare(qrels, lists, ["mrr"])
    >>> rows = plots.scatter(compared, "mrr", "old", "new").data.values
    >>> [(row["a"], row["b"], row["count"]) for row in rows]
    [(1.0, 0.0, 1), (1.0, 1.0, 1)]
    """
    pair = pair_of(source, metric, a, b)
    low, high = axis_of(
        [*pair.rows["value_a"].to_list(), *pair.rows["value_b"].to_list()], most_of(metric)
    )
    points = _points_of(pair.rows)
    crowded = points.height > MOST_POINTS
    if crowded:
        points = _squares_of(pair.rows, low, high)
    chart = _scattered(pair, points, (low, high), crowded)
    title = f"{metric}: {' and '.join(pair.labels)}, by {pair.values.one}"
    grid = f"{SQUARES} × {SQUARES} squares, coloured by the number of {pair.values.unit}"
    return finished(chart, title, *story(pair), grid if crowded else "")


def _bars_of(rows: pl.DataFrame, lower: bool) -> pl.DataFrame:
    """One bar for each query; where they are many, for each run of queries next to each other."""
    together = math.ceil(rows.height / MOST_BARS)
    place = pl.int_range(pl.len())
    return (
        rows.with_columns(place=place, bar=place // together)
        .group_by("bar", maintain_order=True)
        .agg(
            begin=pl.col("place").min(),
            end=pl.col("place").max() + 1,
            query=pl.col("query").first(),
            queries=pl.len(),
            value_a=pl.col("value_a").mean(),
            value_b=pl.col("value_b").mean(),
            difference=pl.col("difference").mean(),
        )
        .drop("bar")
        .with_columns(winner=winner_of(lower))
    )


def _extremes(pair: Pair, bars: pl.DataFrame) -> list[str]:
    """What the bars stand for, and the queries at both ends."""
    lines = []
    if bars.height < pair.rows.height:
        each = bars["queries"][0]
        lines.append(f"each of the {bars.height} bars is the mean of {each} {pair.values.unit}")
    for label, winner in zip(pair.labels, "ab", strict=True):
        won = pair.rows.filter(pl.col("winner") == winner)
        most = won.sort(pl.col("difference").abs(), descending=True, maintain_order=True).head(3)
        if most.height:
            ids = ", ".join(short(query, 24) for query in most["query"])
            lines.append(f"furthest for {label}: {ids}")
    return lines


def _named_bars(pair: Pair, bars: pl.DataFrame) -> alt.Chart:
    labels = labels_of(bars["query"].to_list(), 20)
    bars = bars.with_columns(label=pl.col("query").replace_strict(labels, return_dtype=pl.String))
    data = rows_of(_told(pair, bars, "value_a", "value_b"))
    import altair as alt

    axis = alt.Axis(
        title=f"{pair.values.unit}, by difference", labelAngle=-90, labelOverlap=False, grid=False
    )
    x = alt.X("label:N", sort=list(labels.values()), axis=axis)
    bar = alt.Chart(data).mark_bar(size=min(30.0, 0.8 * WIDTH / bars.height))
    chart: alt.Chart = bar.encode(x=x, **_difference_channels(pair, bars))
    return chart.properties(width=WIDTH, height=280)


def _numbered_bars(pair: Pair, bars: pl.DataFrame) -> alt.Chart:
    data = rows_of(_told(pair, bars, "value_a", "value_b"))
    import altair as alt

    axis = count_axis(f"{pair.values.unit}, by difference (number)", pair.rows.height)
    axis.grid = False
    scale = alt.Scale(domain=[0, pair.rows.height], nice=False)
    x = alt.X("begin:Q", axis=axis, scale=scale)
    bar = alt.Chart(data).mark_bar(binSpacing=0)
    chart: alt.Chart = bar.encode(x=x, x2="end:Q", **_difference_channels(pair, bars))
    return chart.properties(width=WIDTH, height=280)


def _difference_channels(pair: Pair, bars: pl.DataFrame) -> dict[str, Any]:
    import altair as alt

    low, high = axis_of([*extent(bars["difference"]), 0.0])
    if extent(bars["difference"]) == (0.0, 0.0):
        low = -high
    y = f"{short(pair.values.metric)}: difference"
    return {
        "y": alt.Y(
            "difference:Q",
            scale=alt.Scale(domain=[low, high]),
            axis=number_axis(y, low, high, signed=True),
        ),
        "y2": alt.Y2Datum(0),
        "color": _colours(pair),
        "tooltip": [
            alt.Tooltip("query:N", title=pair.values.one),
            alt.Tooltip("queries:Q", title=pair.values.unit),
            alt.Tooltip("told_a:N", title="a"),
            alt.Tooltip("told_b:N", title="b"),
            alt.Tooltip("difference:Q", format="+.4f"),
        ],
    }


def _points_of(rows: pl.DataFrame) -> pl.DataFrame:
    """`a`, `b`, `count`, and one of the queries: a row for each pair of values."""
    return (
        rows.group_by(a="value_a", b="value_b", winner="winner")
        .agg(count=pl.len(), query=pl.col("query").min())
        .sort("a", "b")
    )


def _squares_of(rows: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """`a`, `b` to `a_end`, `b_end`, and the `count` of queries in that square."""
    step = (high - low) / SQUARES

    def square(side: str) -> pl.Expr:
        place = ((pl.col(side) - low) / step + 1e-9).floor().clip(0, SQUARES - 1)
        return (low + place * step).round(9)

    return (
        rows.group_by(a=square("value_a"), b=square("value_b"))
        .agg(count=pl.len(), query=pl.col("query").min())
        .sort("a", "b")
        .with_columns(a_end=pl.col("a") + step, b_end=pl.col("b") + step)
    )


def _scattered(
    pair: Pair, points: pl.DataFrame, span: tuple[float, float], crowded: bool
) -> alt.LayerChart:
    data = rows_of(_told(pair, points, "a", "b"))
    import altair as alt

    scale = alt.Scale(domain=list(span), nice=False)
    label_a, label_b = pair.labels

    def axis(label: str) -> alt.Axis:
        shown = number_axis(f"{short(pair.values.metric)} of {label}", *span)
        shown.offset = 10
        return shown

    both = {
        "x": alt.X("a:Q", scale=scale, axis=axis(label_a)),
        "y": alt.Y("b:Q", scale=scale, axis=axis(label_b)),
        "tooltip": [
            alt.Tooltip("query:N", title=f"{pair.values.one} (first)"),
            alt.Tooltip("count:Q", title=pair.values.unit),
            alt.Tooltip("told_a:N", title="a"),
            alt.Tooltip("told_b:N", title="b"),
        ],
    }
    ends = rows_of([{"a": end, "b": end} for end in span])
    diagonal = (
        alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 4]).encode(x=both["x"], y=both["y"])
    )
    shown = alt.Chart(data)
    if crowded:
        colour = alt.Color("count:Q", scale=alt.Scale(range=list(BAND[1:])), title=pair.values.unit)
        marks = shown.mark_rect().encode(**both, x2="a_end:Q", y2="b_end:Q", color=colour)
    else:
        marks = shown.mark_circle(opacity=0.75).encode(
            **both, size=_size(points, pair.values.unit), color=_colours(pair)
        )
    return alt.LayerChart(data=data, layer=[marks, diagonal]).properties(width=420, height=420)


def _size(points: pl.DataFrame, unit: str) -> Any:
    """Area by the number of queries; no legend where each point is one."""
    import altair as alt

    most = int(extent(points["count"])[1])
    if most == 1:
        return alt.value(45)
    values = sorted({1, max(1, round(most / 2)), most})
    scale = alt.Scale(domain=[0, most], range=[0, min(300, 100 * most)])
    legend = alt.Legend(title=unit, values=values, format="d", symbolFillColor=LINES[-1])
    return alt.Size("count:Q", scale=scale, legend=legend)


def _colours(pair: Pair) -> alt.Color:
    """Colour by who is better."""
    import altair as alt

    return alt.Color(
        "better:N",
        scale=alt.Scale(domain=list(_better(pair).values()), range=[BLUE, ORANGE, GREY]),
        legend=alt.Legend(title=None, orient="bottom"),
    )


def _better(pair: Pair) -> dict[str, str]:
    """Each winner in words."""
    label = labels_of([pair.a, pair.b], 28)
    return {"a": f"{label[pair.a]} is better", "b": f"{label[pair.b]} is better", "equal": "equal"}


def _told(pair: Pair, rows: pl.DataFrame, a: str, b: str) -> list[dict[str, Any]]:
    """The rows with their two values, and who is better, in words.

    Names are values of fields here as well: a title of a tooltip would become part of a script.
    """
    (label_a, label_b), better = pair.labels, _better(pair)
    return [
        {
            **row,
            "told_a": f"{row[a]:.4f} ({label_a})",
            "told_b": f"{row[b]:.4f} ({label_b})",
            **({"better": better[row["winner"]]} if "winner" in row else {}),
        }
        for row in rows.to_dicts()
    ]
