"""The table of a comparison: means, marks where a difference is significant, and notes on them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import TYPE_CHECKING

import polars as pl

from evalframe.comparing.printed_pairs import note_of_intervals
from evalframe.comparing.summaries import note_of_arithmetic_means
from evalframe.statistics.closed_tests import OF_PAIRS
from evalframe.tables import counted, in_one_line

if TYPE_CHECKING:
    from evalframe.comparing.comparison_report import Comparison

__all__ = ["marked_table", "notes_of"]

WIDTH = 99
"""Signs of a line of the contract."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
OVER = {
    "all": "over all pairs and metrics",
    "metric": "over the pairs of each metric",
    "pair": "over the metrics of each pair",
}


def marked_table(compared: Comparison, cell: Callable[[str, str, bool], str]) -> pl.DataFrame:
    """A row for each system, a column for each metric.

    A cell is made of a mean, the marks behind it, and whether no other mean is better.
    """
    best = dict(compared.best.select("metric", "mean").rows())
    letters = _letters(compared)
    columns: dict[str, list[str]] = {
        "system": [
            in_one_line(name) + (f" ({letters[name]})" if name in letters else "")
            for name in compared.systems
        ]
    }
    for metric in compared.metrics:
        means = compared.means(metric)
        columns[metric if metric != "system" else "system "] = [
            cell(f"{means[s]:.4f}", _marks(compared, s, metric), means[s] == best[metric])
            if s in means
            else "-"
            for s in compared.systems
        ]
    return pl.DataFrame(columns)


def notes_of(compared: Comparison, width: int | None = WIDTH) -> list[str]:
    """What the marks mean, how was tested, who was paired, and what counted.

    What counted is broken into lines of a width, where there is one.
    """
    notes = []
    if len(compared.systems) > 1:
        marks = (
            f"▲ ▼: significantly better or worse than {in_one_line(compared.baselines[0])}"
            if len(compared.baselines) == 1
            else "a letter: significantly better than the system of that letter"
        )
        notes = [f"{marks}, p < {compared.procedure.alpha}", _how(compared)]
        notes += [*note_of_intervals(compared.pairs), _paired(compared)]
    notes += note_of_arithmetic_means(compared.metrics)
    if compared.contract is not None:
        contract = ", ".join(f"{k}={v}" for k, v in compared.contract.to_dict().items())
        notes += [contract] if width is None else wrap(contract, width)
    return notes


def _letters(compared: Comparison) -> dict[str, str]:
    """A letter for each system that others are marked as better than; aa follows z."""
    named = compared.baselines or compared.systems
    if len(compared.baselines) == 1 or len(compared.systems) < 2:
        return {}
    return {
        name: (LETTERS[i // 26 - 1] if i >= 26 else "") + LETTERS[i % 26]
        for i, name in enumerate(named)
    }


def _marks(compared: Comparison, system: str, metric: str) -> str:
    beaten = compared.beaten(system, metric)
    if len(compared.baselines) == 1:
        (baseline,) = compared.baselines
        if baseline in beaten:
            return "▲"
        return "▼" if system in compared.beaten(baseline, metric) else ""
    letters = _letters(compared)
    marks = [letters[name] for name in beaten if name in letters]
    return (" " if any(len(mark) > 1 for mark in marks) else "").join(marks)


def _how(compared: Comparison) -> str:
    """The test, the correction and the draws."""
    done = compared.procedure
    tests = ", ".join(compared.pairs["test"].drop_nulls().unique().sort().to_list())
    if done.test not in OF_PAIRS:
        corrected = "allows for all pairs of each metric"
    elif done.correction == "none":
        corrected = "no correction"
    else:
        corrected = f"{done.correction} correction {OVER[done.family]}"
    drawn = compared.pairs["test_resamples"].drop_nulls().len() > 0
    draws = f", {done.resamples} resamples, seed {done.seed}" if drawn else ""
    return f"{tests}{draws}; {corrected}"


def _paired(compared: Comparison) -> str:
    """How many queries were paired, and who was dropped."""
    least, *more = compared.pairs["n"].unique().sort().to_list()
    n = f"n = {least:,} to " if more else "n = "
    n += counted(more[-1] if more else least, "paired query", "paired queries")
    named = compared.pairs["dropped"].explode().drop_nulls().unique().sort().to_list()
    if not named:
        return n
    listed = ", ".join(named[:5]) + (", …" if len(named) > 5 else "")
    return f"{n}; dropped, as only one of a pair has a value: {listed}"
