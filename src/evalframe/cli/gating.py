"""Gates for builds: a metric's value may not fall below its floor, or rise above its ceiling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import typer

from evalframe.cli.streams import complain
from evalframe.errors import OptionError
from evalframe.tables import apart

__all__ = ["Gate", "gates_of", "judge_gates", "with_gated"]

DUST = 1e-12
"""By so much a value may miss its bound: rounding, not quality."""


@dataclass(frozen=True)
class Gate:
    """A bound for a metric's mean."""

    metric: str
    bound: float
    is_floor: bool

    def complaint(self, value: float | None, where: str) -> str | None:
        """What is wrong with a value, or nothing."""
        if value is None or math.isnan(value):
            return f"{self.metric}{where} has no value, so that it cannot be held against a bound"
        below = self.bound - value if self.is_floor else value - self.bound
        if below <= DUST:
            return None
        is_what = "below its floor" if self.is_floor else "above its ceiling"
        shown, bound = apart(value, self.bound)
        return f"{self.metric}{where} is {shown}, {is_what} of {bound}"


def gates_of(floors: Iterable[str] | None, ceilings: Iterable[str] | None) -> list[Gate]:
    """Read `--min` and `--max`.

    >>> gates_of(["recall(rel=2)@10=0.4"], None)
    [Gate(metric='recall(rel=2)@10', bound=0.4, is_floor=True)]
    """
    return [_gate(word, True) for word in floors or ()] + [
        _gate(word, False) for word in ceilings or ()
    ]


def with_gated(
    asked: Sequence[str], gates: Iterable[Gate], same: Callable[[str], object]
) -> tuple[list[str], list[Gate]]:
    """The metrics that were asked for and those of the gates, and the gates by these spellings."""
    spelt = {same(name): name for name in reversed(asked)}
    named = [
        Gate(spelt.setdefault(same(gate.metric), gate.metric), gate.bound, gate.is_floor)
        for gate in gates
    ]
    return list(dict.fromkeys([*asked, *(gate.metric for gate in named)])), named


def judge_gates(
    gates: Iterable[Gate], values: Iterable[tuple[str, str | None, float | None]]
) -> None:
    """Stop with 1 where a value is out of bounds: metric, system (if several) and value."""
    found = [*values]
    complaints = [
        gate.complaint(value, "" if system is None else f" of {system}")
        for gate in gates
        for metric, system, value in found
        if metric == gate.metric
    ]
    failed = [text for text in complaints if text is not None]
    for text in failed:
        complain(text)
    if failed:
        raise typer.Exit(1)


def _gate(word: str, is_floor: bool) -> Gate:
    option = "--min" if is_floor else "--max"
    metric, equals, written = word.rpartition("=")
    try:
        bound = float(written)
    except ValueError:
        bound = math.nan
    if not equals or not metric.strip() or not math.isfinite(bound):
        raise OptionError(f'{option} {word!r}: write a metric and a number, like "ndcg@10=0.4"')
    return Gate(metric.strip(), bound, is_floor)
