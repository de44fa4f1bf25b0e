"""The RAG text metrics by name: what each needs, and when it has no value.

A metric is one decorated function in its family's file (`answers`, `contexts`); the function's name
is its spelling. `choose` reads names as a caller writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from evalframe.errors import MetricError, did_you_mean

__all__ = ["RAG_METRICS", "RagChoice", "RagFamily", "RagMetric", "choose", "rag_metric"]

RagFamily = Literal["answers", "contexts", "passages", "samples"]
"""What a formula reads, one row of counts for each: a reference and the response (`answers`), a
reference and the retrieved contexts (`contexts`), a sample's gold passages (`passages`), or the
sample's own columns (`samples`)."""

Formula = Callable[..., pl.Expr]


@dataclass(frozen=True)
class RagMetric:
    """One metric of the catalogue.

    Attributes
    ----------
    name, aliases
        Its spelling, and other spellings that are understood.
    family
        What its formula reads.
    delivered
        The column that the evaluated system fills. Where it is null the sample is scored as if
        nothing had been delivered.
    gold
        What the sample is held against, or None. Where it is missing there is no value.
    undefined
        When the value is null.
    threshold
        The default of `@threshold`, or None where the metric takes none.
    formula
        Gives the expression; takes the profile (`answers`) or the threshold (with a threshold).
    """

    name: str
    family: RagFamily
    delivered: str
    gold: str | None
    undefined: str
    formula: Formula
    aliases: tuple[str, ...] = ()
    threshold: float | None = None

    @property
    def summary(self) -> str:
        """The first line of the formula's docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class RagChoice:
    """A metric as a caller asked for it: `column` names it in every result."""

    column: str
    metric: RagMetric
    threshold: float | None


RAG_METRICS: dict[str, RagMetric] = {}
"""Name → metric, in the order in which they are defined."""


def rag_metric(
    family: RagFamily,
    *,
    delivered: str,
    gold: str | None,
    undefined: str,
    aliases: tuple[str, ...] = (),
    threshold: float | None = None,
) -> Callable[[Formula], Formula]:
    """Enter a formula into the catalogue under the function's name."""

    def enter(formula: Formula) -> Formula:
        name = formula.__name__
        RAG_METRICS[name] = RagMetric(
            name, family, delivered, gold, undefined, formula, aliases, threshold
        )
        return formula

    return enter


def choose(names: str | Iterable[str]) -> list[RagChoice]:
    """The metrics with these names, in the order given, repeats once.

    Raises
    ------
    MetricError
        Names that are not known or thresholds that cannot be, all of them at once; or no name.
    """
    asked = [names] if isinstance(names, str) else list(names)
    chosen: dict[str, RagChoice] = {}
    problems = []
    for name in asked:
        try:
            chosen.setdefault(name, _parse(name))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(problems) + f"\n(RAG metrics: {', '.join(RAG_METRICS)})")
    if not chosen:
        raise MetricError(f"no metric was asked for; RAG metrics: {', '.join(RAG_METRICS)}")
    return list(chosen.values())


def _parse(name: object) -> RagChoice:
    if not isinstance(name, str):
        raise MetricError(f"a metric is named by a string, not by {name!r}")
    stem, at, written = name.partition("@")
    known = {word: m for m in RAG_METRICS.values() for word in (m.name, *m.aliases)}
    metric = known.get(stem.strip().lower())
    if metric is None:
        raise MetricError(f"unknown RAG metric {name!r}{did_you_mean(stem, known)}")
    if not at:
        return RagChoice(name, metric, metric.threshold)
    if metric.threshold is None:
        raise MetricError(f"{name!r}: {metric.name} takes no @threshold")
    return RagChoice(name, metric, _threshold(name, written))


def _threshold(name: str, written: str) -> float:
    try:
        threshold = float(written)
    except ValueError:
        threshold = -1.0
    if not 0 < threshold <= 1:
        raise MetricError(f"{name!r}: the threshold is a share, above 0 and at most 1")
    return threshold
