"""Every error evalframe raises on purpose.

    EvalframeError (also a ValueError)
    ├── FrameError        a qrels, run, queries, corpus or samples frame is not what it should be
    │   ├── ColumnError   a column is missing, ambiguous or of the wrong type
    │   ├── RowError      rows hold what no evaluation can use (null, NaN, duplicates)
    │   └── EmptyError    nothing to evaluate
    ├── MetricError       a metric's name or parameter is not known
    ├── OptionError       an argument has a value that is not offered
    ├── ReadError         a file cannot be understood
    ├── RegressionError   values dropped by more than is allowed (also an AssertionError)
    └── MissingExtraError an optional package is not installed (also an ImportError)

A message says what is wrong, where, and how to mend it, and shows the first offending rows.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable

import polars as pl

__all__ = [
    "ColumnError",
    "EmptyError",
    "EvalframeError",
    "FrameError",
    "MetricError",
    "MissingExtraError",
    "OptionError",
    "ReadError",
    "RegressionError",
    "RowError",
    "did_you_mean",
    "first_rows",
    "one_of",
    "whole_number",
]

SHOWN_ROWS = 5


class EvalframeError(ValueError):
    """Base of every error evalframe raises on purpose."""


class FrameError(EvalframeError):
    """A frame is not what its kind asks for."""


class ColumnError(FrameError):
    """A column is missing, ambiguous or of the wrong type."""


class RowError(FrameError):
    """Rows hold what no evaluation can use: nulls, NaN scores, duplicate pairs."""


class EmptyError(FrameError):
    """There is nothing to evaluate."""


class MetricError(EvalframeError):
    """A metric's name or parameter is not known."""


class OptionError(EvalframeError):
    """An argument has a value that is not offered."""


class ReadError(EvalframeError):
    """A file cannot be understood."""


class RegressionError(EvalframeError, AssertionError):
    """Values dropped by more than is allowed, or queries went missing."""


class MissingExtraError(EvalframeError, ImportError):
    """An optional package is not installed, or is broken."""

    def __init__(self, package: str, extra: str, why: str = "") -> None:
        """Name the package that was looked for and the extra that brings it."""
        detail = f" ({why})" if why else ""
        super().__init__(
            f'{package} is needed here{detail}: pip install "evalframe[{extra}]"',
        )


def first_rows(rows: pl.DataFrame, total: int | None = None) -> str:
    """The first rows of a frame as indented text, with how many more there are."""
    total = rows.height if total is None else total
    lines = [
        "  " + ", ".join(f"{name}={value!r}" for name, value in row.items())
        for row in rows.head(SHOWN_ROWS).to_dicts()
    ]
    if total > len(lines):
        lines.append(f"  … and {total - len(lines)} more")
    return "\n".join(lines)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`: did you mean 'ndcg@10'?`, or nothing when no known word is near."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(word).lower(), by_lower, n=1, cutoff=0.6)
    return f": did you mean {by_lower[near[0]]!r}?" if near else ""


def one_of(argument: str, value: object, offered: Iterable[object]) -> None:
    """Refuse a value that an argument does not offer."""
    offered = list(offered)
    if value not in offered:
        raise OptionError(
            f"{argument}={value!r} is not offered; choose one of "
            + ", ".join(repr(choice) for choice in offered)
        )


def whole_number(argument: str, value: object, least: int | None = 1) -> int:
    """A whole number of any library as an int, once it is at least so large.

    >>> whole_number("k", 10)
    10
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f", {least} or more"
        raise OptionError(f"{argument}={value!r} must be a whole number{bound}")
    return number
