"""Lines that do not fit: found, counted, and shown with file, line number and text."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from evalframe.engine import TOLD, explain_with, fetch, read_through
from evalframe.errors import ColumnError, EvalframeError, ReadError
from evalframe.io.files import Source, find, opened
from evalframe.io.remote import LONGEST, is_remote

__all__ = [
    "FAULTS",
    "SHOWN",
    "OnBadLine",
    "SkippedLinesWarning",
    "cut",
    "damaged",
    "explained",
    "explained_late",
    "first_line",
    "guarded",
    "kept_in_mind",
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
READ_AT_ONCE = 1 << 22
"""Bytes, and the rest of their last line."""
TEXTS = ("text", "json")

_scanned: dict[str, tuple[str, ...]] = {}
"""The files of each scan of several, by the first of them: a printed plan names no more."""


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
    total, shown = fetch(bad_rows(plan).select(pl.len(), first.implode())).row(0)
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
    reasons: Sequence[str] = (),
) -> None:
    """Raise or warn with lines that are known already, as (path, line number, text).

    Each may have a reason of its own, or ''.
    """
    total = len(bad) if total is None else total
    shown = [f"  {path}, line {at}: {cut(line)!r}" for path, at, line in bad[:SHOWN]]
    shown = [
        f"{text} ({reason})" if reason else text
        for text, reason in zip(shown, reasons or [""] * SHOWN, strict=False)
    ]
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


def damaged(source: Source, error: Exception) -> EvalframeError:
    """What could not be read of a file that says itself what its columns are."""
    if isinstance(error, pl.exceptions.InvalidOperationError):
        return ColumnError(f"{source.name}: a column holds no numbers: {first_line(error)}")
    schemas = (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError)
    if isinstance(error, schemas) and (source.remote or len(source.paths) > 1):
        return ReadError(
            f"{source.name}: the files have other columns or types than the first of them: "
            f"{first_line(error)}"
        )
    each = (replace(source, name=path, paths=(path,)) for path in source.paths)
    known = () if source.remote or len(source.paths) == 1 else filter(None, map(_damage, each))
    return next(iter(known), ReadError(f"{source.name}: the file is damaged: {first_line(error)}"))


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


def kept_in_mind(source: Source) -> Source:
    """The source, whose files can be told of when a plan that reads them fails."""
    if len(source.paths) > 1:
        _scanned[glob.escape(source.paths[0])] = source.paths
    return source


@explain_with
def explained_late(files: Sequence[str], error: Exception) -> ReadError:
    """What is wrong with the files of a plan that failed as it ran.

    Polars does not say which file it was: they are read through until one is found at fault.
    """
    for name in files:
        found = None if is_remote(name) else _fault(name)
        if found is not None:
            return found
    return ReadError(
        f"{' and '.join(files)}: the plan that reads this could not be run to its end: "
        f"{first_line(error)}"
    )


def _fault(name: str) -> ReadError | None:
    """What is wrong with the local files that a printed plan names, if anything is."""
    first = name.partition(", ... ")[0]
    paths = (first,) if os.path.isfile(first) else sorted(glob.glob(first))
    for path in paths if name == first else _scanned.get(first, paths):
        try:
            source = find(path)
            found = _undecodable(source) if source.layout in TEXTS else _damage(source)
        except ReadError as error:
            found = error
        except OSError as error:
            found = explained(source, error)
        if found is not None:
            return found
    return None


def _damage(source: Source) -> ReadError | None:
    """What is wrong with one Parquet or Arrow file, whose columns are all read through."""
    scan = pl.scan_parquet if source.layout == "parquet" else pl.scan_ipc
    try:
        read_through(scan(source.target, hive_partitioning=False))
    except (pl.exceptions.PolarsError, OSError) as error:
        return ReadError(f"{source.name}: the file is damaged: {first_line(error)}")
    return None


def _undecodable(source: Source) -> ReadError | None:
    """The error for the first line of a source that is not UTF-8, if there is one."""
    if source.remote:
        return None
    for path in source.paths:
        number = 1
        with opened(path, source.compression) as file:
            while some := file.read(READ_AT_ONCE) + file.readline():
                try:
                    some.decode("utf-8")
                except UnicodeDecodeError as error:
                    number += some.count(b"\n", 0, error.start)
                    start = max(some.rfind(b"\n", 0, error.start) + 1, error.start - 60)
                    line = some[start : start + 4 * WIDEST].partition(b"\n")[0]
                    text = cut(line.decode("latin-1").rstrip("\r"))
                    return ReadError(
                        f"{path}, line {number}: not UTF-8 (perhaps latin-1 or Windows-1252): "
                        f"{text!r}; save the file as UTF-8"
                    )
                number += some.count(b"\n")
    return None


def first_line(error: Exception) -> str:
    """The first line of an error's text: Polars adds advice that is not for our users."""
    return (str(error).splitlines() or [type(error).__name__])[0][:LONGEST]
