"""Lines that do not fit: found, counted, and shown with file, line number and text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import polars as pl

from evalframe.engine import TOLD, collect
from evalframe.errors import ReadError
from evalframe.io.files import Source, opened

__all__ = [
    "FAULTS",
    "SHOWN",
    "OnBadLine",
    "SkippedLinesWarning",
    "cut",
    "damaged",
    "explained",
    "first_line",
    "guarded",
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
LONGEST = 400
"""Characters of another library's message that are shown."""


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
    """Raise or warn with the first ten bad lines of one file and how many there are, if any.

    `bad_rows` keeps the bad rows of a plan with the columns `at` (line number) and `line`.
    """
    plan = pl.scan_lines(source.target, row_index_name="at", row_index_offset=1, **source.options)
    first = pl.struct("at", pl.col("line").str.head(WIDEST + 1)).bottom_k_by("at", SHOWN)
    total, shown = collect(bad_rows(plan).select(pl.len(), first.implode())).row(0)
    if total:
        ordered = sorted((row["at"], row["line"]) for row in shown)
        report_texts(
            source, [(source.name, at, line) for at, line in ordered], what, on_bad_line, total
        )


def guarded(
    source: Source, plan: pl.LazyFrame, at: pl.Expr, line: pl.Expr, unit: str = "line"
) -> pl.LazyFrame:
    """The good rows of a plan, which fails on a `bad` one with file, line number and text.

    It fails by a cast that cannot succeed, so that the plan is no more than a plan.
    """
    message = pl.concat_str(
        pl.lit(f"{TOLD}{source.name}, {unit} "),
        at,
        pl.lit(": not what or how the first lines are: "),
        line.str.head(WIDEST),
    )
    guard = pl.when("bad").then(message).cast(pl.Int64)
    return plan.filter(guard.is_null())


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


def damaged(source: Source, error: Exception) -> ReadError:
    """What could not be read of a file that says itself what its columns are."""
    schemas = (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError)
    if isinstance(error, schemas) and (source.remote or len(source.paths) > 1):
        return ReadError(
            f"{source.name}: the files have other columns or types than the first of them: "
            f"{first_line(error)}"
        )
    return ReadError(f"{source.name}: the file is damaged: {first_line(error)}")


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
    if source.remote:
        return None
    for path in source.paths:
        with opened(path, source.compression) as file:
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
    return (str(error).splitlines() or [type(error).__name__])[0][:LONGEST]
