"""How every chart looks: colours, sizes, titles, names that fit."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from evalframe.errors import MissingExtraError
from evalframe.tables import in_one_line

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "BAND",
    "BLUE",
    "DASHES",
    "GREY",
    "LINES",
    "MOST_SYSTEMS",
    "ORANGE",
    "WIDTH",
    "axis_of",
    "columns_of_legend",
    "count_axis",
    "extent",
    "finished",
    "labels_of",
    "nice_step",
    "number_axis",
    "rows_of",
    "short",
    "system_channels",
    "ticks",
    "width_of",
    "without_dust",
]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8A8A8A"
LINES = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito 2008, without the yellow, which a white background swallows."""
DASHES = ([1, 0], [7, 3], [2, 2])
MOST_SYSTEMS = len(LINES) * len(DASHES)
"""As many systems as a colour and a dash tell apart."""
BAND = ("#DEEBF7", "#B5D4E9", "#6BAED6", "#2171B5", "#08306B")
"""From little to much: one hue, falling lightness."""

WIDTH = 600
LONGEST = 34
"""Characters of a name that an axis or a legend shows."""
SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029"}
"""Signs that end a line of a script, and so the chart that is read as one."""
SMALLEST = 1e-300
"""What an axis cannot tell from 0."""
CHARACTER = 6.3
"""Pixels of a label's character, on average."""

Chart = TypeVar("Chart", bound="alt.TopLevelMixin")


def rows_of(rows: Sequence[dict[str, Any]]) -> alt.Data:
    """Rows as a chart holds them.

    Their fields have names of this package's own, since Vega reads dots and brackets in a field's
    name as a path; metrics and systems are values.

    Raises
    ------
    MissingExtraError
        Altair is not installed (`pip install "evalframe[plots]"`).
    """
    try:
        import altair as alt
    except ImportError as error:
        raise MissingExtraError("altair", "plots") from error
    held = [
        {
            field: value.translate(SEPARATORS) if isinstance(value, str) else value
            for field, value in row.items()
        }
        for row in rows
    ]
    return alt.Data(values=held)  # type: ignore[no-untyped-call]


def finished(chart: Chart, title: str, *subtitle: str) -> Chart:
    """The chart with its title, what it shows below it, and the look of the house."""
    one: Any = chart
    lines = [part for line in subtitle if line for part in textwrap.wrap(line, 100)]
    heading = textwrap.wrap(in_one_line(title), 78, break_long_words=True)
    described = " ".join([*heading, *lines])
    done: Chart = one.properties(
        title={"text": heading, "subtitle": lines}, description=described, background="white"
    ).configure(
        font="sans-serif",
        padding=10,
        title={
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitleColor": "#444444",
            "subtitlePadding": 5,
            "offset": 12,
        },
        axis={
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelColor": "#222222",
            "titleColor": "#222222",
            "gridColor": "#E6E6E6",
            "domainColor": "#888888",
            "tickColor": "#888888",
            "titlePadding": 8,
            "labelLimit": 0,
            "labelFlush": False,
        },
        legend={
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 0,
            "symbolStrokeWidth": 2,
        },
        header={"labelFontSize": 11, "titleFontSize": 12, "labelLimit": 0},
        view={"stroke": None},
    )
    return done


def short(name: str, longest: int = LONGEST) -> str:
    """A name in one line, its middle left out where it is long: names differ at their ends."""
    line = in_one_line(name)
    if len(line) <= longest:
        return line
    kept = longest - 1
    return f"{line[: kept - kept // 2]}…{line[len(line) - kept // 2 :]}"


def labels_of(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Each name and what is shown for it; no two names are shown alike.

    Of long names with the same ends, what is shown begins a little before they part.

    >>> labels_of(["bm25", "a" * 20 + "b" * 20], 9)
    {'bm25': 'bm25', 'aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb': 'aaaa…bbbb'}
    >>> alike = ["name-of-many-1-and-more-of-it", "name-of-many-2-and-more-of-it"]
    >>> list(labels_of(alike, 12).values())
    ['nam…y-1-and…', 'nam…y-2-and…']
    """
    lines = list(dict.fromkeys(map(in_one_line, names)))
    shown = _told_apart({line: short(line, longest) for line in lines}, longest)
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        label = shown[in_one_line(name)] or "(no name)"
        number = 2
        while label in taken:
            end = f" ({number})"
            label, number = short(name, longest - len(end)) + end, number + 1
        labels[name] = label
        taken.add(label)
    return labels


def _told_apart(shown: dict[str, str], longest: int) -> dict[str, str]:
    """The same lines, with another part shown of those that were shown alike."""
    alike: dict[str, list[str]] = {}
    for line, label in shown.items():
        alike.setdefault(label, []).append(line)
    for group in alike.values():
        if len(group) > 1:
            pairs = zip(min(group), max(group), strict=False)
            place = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            shown |= _told_apart({line: _around(line, place, longest) for line in group}, longest)
    return shown


def _around(line: str, place: int, longest: int) -> str:
    """A line's beginning, and what stands at a place of it and behind."""
    head = longest // 4
    begin = max(head, place - longest // 6)
    start = f"{line[:head]}…" if begin > head else line[:head]
    room = longest - len(start)
    rest = line[begin:]
    return start + (rest if len(rest) <= room else f"{rest[: room - 1]}…")


def system_channels(labels: Sequence[str]) -> dict[str, Any]:
    """Colour and dash of the field `system`, in the order of the systems; no legend for one."""
    import altair as alt

    domain = list(labels)
    legend = (
        alt.Legend(
            title=None,
            orient="bottom",
            columns=columns_of_legend(domain),
            symbolType="stroke",
            symbolSize=500,
        )
        if len(domain) > 1
        else None
    )
    colours = [LINES[i % len(LINES)] for i in range(len(domain))]
    dashes = [DASHES[i // len(LINES) % len(DASHES)] for i in range(len(domain))]
    return {
        "color": alt.Color(
            "system:N", scale=alt.Scale(domain=domain, range=colours), legend=legend
        ),
        "strokeDash": alt.StrokeDash(
            "system:N", scale=alt.Scale(domain=domain, range=dashes), legend=legend
        ),
    }


def columns_of_legend(labels: Sequence[str]) -> int:
    """How many entries of a legend stand beside each other."""
    widest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), int(WIDTH // (widest * CHARACTER + 34))))


def axis_of(values: Sequence[float], most: float | None = None) -> tuple[float, float]:
    """Where an axis begins and ends: at 0, unless all values lie far from it and close together.

    It does not go beyond `most`, the greatest value that there can be.

    >>> axis_of([0.2, 0.9]), axis_of([0.81, 0.84]), axis_of([0.0, 0.0])
    ((0.0, 1.0), (0.78, 0.86), (0.0, 1.0))
    >>> axis_of([0.9, 1.0]), axis_of([0.9, 1.0], most=1.0)
    ((0.875, 1.025), (0.88, 1.0))
    """
    low, high = min(values), max(values)
    if low > 0 and high - low < high / 4:
        margin = max((high - low) / 10, abs(high) / 50)
        low, high = low - margin, high + margin
        if most is not None and max(values) <= most:
            high = min(high, most)
    else:
        low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            high = 1.0
    while True:
        # Room at both ends may call for larger steps.
        step = nice_step((high - low) / 6)
        low = without_dust(math.floor(low / step + 1e-9) * step)
        high = without_dust(math.ceil(high / step - 1e-9) * step)
        high = high if low < high else low + step
        if nice_step((high - low) / 6) <= step:
            return low, high


def extent(values: pl.Series) -> tuple[float, float]:
    """The least and the greatest of some numbers."""
    ordered: list[float] = values.sort().to_list()
    return float(ordered[0]), float(ordered[-1])


def nice_step(least: float) -> float:
    """The smallest of …, 0.1, 0.2, 0.25, 0.5, 1, 2, … that is at least so large.

    >>> nice_step(0.03), nice_step(0.21), nice_step(7)
    (0.05, 0.25, 10.0)
    """
    if least < SMALLEST:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1.0, 2.0, 2.5, 5.0, 10.0) if n * power >= least * (1 - 1e-9))


def ticks(low: float, high: float) -> list[float]:
    """Round values from one end of an axis to the other.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    step = nice_step((high - low) / 6)
    return [without_dust(n * step) for n in range(round(low / step), round(high / step) + 1)]


def number_axis(title: str, low: float, high: float, signed: bool = False) -> alt.Axis:
    """An axis with round values from end to end, each written out as it is."""
    import altair as alt

    form = "+,.6~r" if signed else ",.6~r"
    return alt.Axis(
        title=title,
        values=ticks(low, high),
        labelExpr=f"datum.value == 0 ? '0' : format(datum.value, '{form}')",
    )


def count_axis(title: str | None, most: int, low: int = 0, about: int = 6) -> alt.Axis:
    """An axis of whole numbers, however few there are."""
    import altair as alt

    step = math.ceil(nice_step(max(1.0, (most - low) / about)))
    values = list(range(math.ceil(low / step) * step, most + 1, step))
    return alt.Axis(title=title, values=values, format=",d")


def without_dust(number: float) -> float:
    """A round number as it was meant: 0.15, not 0.15000000000000002."""
    return float(f"{number:.12g}")


def width_of(labels: Sequence[str]) -> int:
    """How many pixels the longest of some labels takes."""
    return int(max(map(len, labels), default=1) * CHARACTER) + 14
