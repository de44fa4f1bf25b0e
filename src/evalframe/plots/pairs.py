"""Two systems' values of the same queries, and who is better on each."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from evalframe.errors import EmptyError, OptionError, did_you_mean
from evalframe.plots.theme import labels_of
from evalframe.plots.values import Source, Values, values_of

__all__ = ["Pair", "pair_of", "story", "winner_of"]

ROUNDING = 1e-12
"""Values that differ by no more of their size are the same, as in a comparison."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems on the queries that both have a value of.

    Attributes
    ----------
    rows
        `query`, `value_a`, `value_b`, `difference` and `winner` (`a`, `b`, `equal`), by falling
        difference.
    values
        What the rows were taken from.
    dropped
        How many queries only one of the two has a value of.
    """

    a: str
    b: str
    rows: pl.DataFrame
    values: Values
    dropped: int

    @property
    def labels(self) -> tuple[str, str]:
        """What is shown for a and for b: never the same."""
        labels = labels_of([self.a, self.b])
        return labels[self.a], labels[self.b]


def pair_of(source: Source, metric: str, a: str | None, b: str | None) -> Pair:
    """Two systems' values, side by side; see `evalframe.plots.differences` for what is refused."""
    values = values_of(source, metric)
    a, b = _two_of(values.systems, a, b)
    ours = values.frame.filter(pl.col("system") == a).select("query", value_a="value")
    theirs = values.frame.filter(pl.col("system") == b).select("query", value_b="value")
    for name, side in ((a, ours), (b, theirs)):
        again = side.filter(pl.col("query").is_duplicated())
        if again.height:
            raise OptionError(
                f"{values.one} {again['query'][0]!r} has several values of {metric!r} for {name!r}"
            )
    rows = ours.join(theirs, on="query")
    if rows.height == 0:
        raise EmptyError(f"no {values.one} has a value of {metric!r} for both {a!r} and {b!r}")
    size = pl.max_horizontal(pl.col("value_a").abs(), pl.col("value_b").abs())
    gain = pl.col("value_a") - pl.col("value_b")
    rows = rows.with_columns(
        difference=pl.when(gain.abs() <= ROUNDING * size).then(0.0).otherwise(gain)
    ).with_columns(winner=winner_of(values.lower))
    dropped = ours.height + theirs.height - 2 * rows.height
    return Pair(a, b, rows.sort("difference", "query", descending=[True, False]), values, dropped)


def winner_of(lower: bool) -> pl.Expr:
    """Which of the two a difference speaks for."""
    better = pl.col("difference") * (-1 if lower else 1)
    return (
        pl.when(better > 0)
        .then(pl.lit("a"))
        .when(better < 0)
        .then(pl.lit("b"))
        .otherwise(pl.lit("equal"))
    )


def _two_of(systems: list[str], a: str | None, b: str | None) -> tuple[str, str]:
    if a is None and b is None and len(systems) == 2:
        return systems[0], systems[1]
    if len(systems) < 2:
        raise OptionError(
            "two systems are needed and there is one: give evaluate a run with a column 'system', "
            "or compare several runs"
        )
    for argument, name in (("a", a), ("b", b)):
        if name not in systems:
            hint = "" if name is None else did_you_mean(str(name), systems)
            listed = ", ".join(map(repr, systems[:10])) + (", …" if len(systems) > 10 else "")
            raise OptionError(f"{argument}={name!r} is no system here{hint}; there is {listed}")
    if a == b:
        raise OptionError(f"a and b are both {a!r}")
    return str(a), str(b)


def story(pair: Pair) -> list[str]:
    """Who won how often, and by how much."""
    won = dict(pair.rows["winner"].value_counts().rows())
    n, (mean,) = pair.rows.height, pair.rows.select(pl.mean("difference")).row(0)
    unit = pair.values.one if n == 1 else pair.values.unit
    a, b = pair.labels
    lines = [
        f"{a} is better on {won.get('a', 0):,}, {b} on "
        f"{won.get('b', 0):,}, equal on {won.get('equal', 0):,} of {n:,} {unit}; "
        f"mean difference {mean:+.4f}"
    ]
    if pair.values.lower:
        lines.append("less is better")
    if pair.dropped:
        lines.append(f"{pair.dropped:,} left out, of which only one has a value")
    return lines
