"""Lines that do not fit: found, counted, and shown with file, line number and text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import polars as pl

from evalframe.engine import collect
from evalframe.errors import ReadError
from evalframe.io.files import Source

__all__ = [
    "FAULTS",
    "OnBadLine",
    "SkippedLinesWarning",
    "cut",
    "explained",
    "first_line",
    "report_bad_lines",
    "report_texts",
]

OnBadLine = Literal["error", "skip"]
"""What a reader does about a line that does not fit: refuse the file, or leave the line out and
say how many were (`SkippedLinesWarning`)."""

FAULTS = (pl.exceptions.ComputeError, pl.exceptions.SchemaError)
"""What Polars raises for text it cannot read."""

SHOWN = 10
WIDEST = 160


class SkippedLinesWarning(UserWarning):
    """Lines of a file were left out because they do not fit (`on_bad_line="skip"`).

    `total` says how many, `shown` are the first of them.
    """

    def __init__(self, message: str = "", total: int = 0, shown: Sequence[str] = ()) -> None:
        """Keep what the message says in words."""
        super().__init__(message)
        self.total = total
        self.shown = [*shown]


def report_bad_lines(
    source: Source,
    bad_rows: Callable[[pl.LazyFrame], pl.LazyFrame],
    what: str,
    on_bad_line: OnBadLine,
) -> None:
    """Raise or warn with the first ten bad lines of a source and how many there are.

    `bad_rows` keeps the bad rows of a plan with the columns `at` (line number) and `line`.
    """
    total = 0
    bad: list[tuple[str, int, str]] = []
    for path, target in zip(source.paths, source.target, strict=True):
        plan = pl.scan_lines(target, row_index_name="at", row_index_offset=1, **source.options)
        found = collect(bad_rows(plan).select("at", "line"), "in-memory")
        total += found.height
        bad += [(path, at, line) for at, line in found.head(SHOWN - len(bad)).rows()]
    report_texts(source, bad, what, on_bad_line, total)


def report_texts(
    source: Source,
    bad: Sequence[tuple[str, int, str]],
    what: str,
    on_bad_line: OnBadLine,
    total: int | None = None,
) -> None:
    """Raise or warn with lines that are known already, as (path, line number, text)."""
    total = len(bad) if total is None else total
    shown = [f"  {path}, line {at}: {cut(line)!r}" for path, at, line in bad[:SHOWN]]
    if total > len(shown):
        shown.append(f"  … and {total - len(shown)} more")
    lines = "line does" if total == 1 else "lines do"
    message = f"{source.name}: {total} {lines} not fit: {what}\n" + "\n".join(shown)
    if on_bad_line == "skip":
        lines_shown = [line.strip() for line in shown[: len(bad)]]
        warning = SkippedLinesWarning(f"left out, {message}", total, lines_shown)
        warnings.warn(warning, stacklevel=2)
        return
    raise ReadError(f"{message}\nMend the file, or leave such lines out: on_bad_line='skip'")


def cut(line: str) -> str:
    """A line, shortened if it is long."""
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}…"


def explained(source: Source, error: Exception) -> ReadError:
    """What Polars could not read, in terms of the file."""
    text = str(error)
    if "utf" in text.lower():
        known = _undecodable(source)
        if known is not None:
            return known
    if isinstance(error, OSError):
        return ReadError(
            f"{source.name}: the {source.compression or 'file'} data is damaged or cut short "
            f"({text}); fetch or write the file again"
        )
    return ReadError(f"{source.name}: {first_line(error)}")


def _undecodable(source: Source) -> ReadError | None:
    """The error for the first line of a source that is not UTF-8, if there is one."""
    if source.remote or source.compression:
        return None
    for path in source.paths:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    text = cut(raw[max(error.start - 60, 0) :].decode("latin-1").rstrip("\r\n"))
                    return ReadError(
                        f"{path}, line {number}: not UTF-8 (perhaps latin-1 or Windows-1252): "
                        f"{text!r}; save the file as UTF-8"
                    )
    return None


def first_line(error: Exception) -> str:
    """The first line of an error's text: Polars adds advice that is not for our users."""
    return (str(error).splitlines() or [type(error).__name__])[0]
