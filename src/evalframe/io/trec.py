"""TREC's qrels (four columns) and runs (six columns), separated by any white space.

The second column of qrels is read by nobody, but for the diversity tasks, whose qrels name there
the subtopic that a document is judged for.

White space is what C's `isspace` takes for it, as in trec_eval, so an id may hold any other
character, Unicode spaces and quotes included. Where tabs alone stand between the columns, ids may
hold spaces, too. A `#` at the start of a line makes it a comment; ids
may hold `#` elsewhere. A file that keeps to one separator is read by `scan_csv`, with a guard in
the plan that no line is taken wrongly; any other by one regular expression per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from evalframe.engine import both, fetch
from evalframe.errors import ReadError
from evalframe.io.files import Marks, Source, look_through
from evalframe.io.lines import FAULTS, OnBadLine, explained, guarded, report_bad_lines
from evalframe.io.positions import Positions
from evalframe.io.separators import Separation, separation

__all__ = ["NOT_IN_IDS", "read_trec", "scan_trec"]

Ranked = Literal["qrels", "run"]

SPACE = r"[ \t\r\x0b\x0c]"
WORD = r"[^ \t\r\x0b\x0c\x00]+"
ITERATION = r"[Qq]?0"
TAB = r"[ \r\x0b\x0c]*\t[ \t\r\x0b\x0c]*"
CELL = r"[^ \t\r\x0b\x0c\x00]+(?: +[^ \t\r\x0b\x0c\x00]+)*"
NOT_IN_IDS = ["\t", " ", "\x0b", "\x0c", "\r", "\x00"]
ANYTHING = Marks(strays=True, comments=True)
NOTHING = Marks(strays=False, comments=False)


def read_trec(
    source: Source,
    kind: Ranked,
    *,
    columns: Mapping[str, str] | None = None,
    system: bool = False,
    ranks: bool = True,
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
) -> pl.DataFrame:
    """Read TREC qrels or runs into the house's columns; nothing else is checked here."""
    apart = separation(source, kind, columns or {}, subtopics)
    apart = apart if ranks else _but(apart, ranked=False)
    frame = _fast_frame(source, apart, system) if apart.mark else None
    return _slow_frame(source, kind, apart, system, on_bad_line) if frame is None else frame


def scan_trec(
    source: Source,
    kind: Ranked,
    *,
    columns: Mapping[str, str] | None = None,
    system: bool = False,
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
) -> pl.LazyFrame:
    """Plan the reading of TREC qrels or runs; a line that does not fit fails the plan.

    A local file is looked through for what the fast road cannot read. With `on_bad_line="skip"` it
    is read through, too, to say which lines will be left out.
    """
    apart = separation(source, kind, columns or {}, subtopics)
    names = _columns(apart.positions, system)
    if on_bad_line == "skip":
        _report(source, apart, system, "skip")
    elif apart.mark and not (apart.padded or source.remote or source.compression):
        seen = look_through(source.paths[0], apart.mark.encode())
        if seen == NOTHING:
            plan = _fast_plan(source, apart, system, seen, as_text=True)
            line = pl.concat_str(pl.col("^word_.*$"), separator=apart.mark, ignore_nulls=True)
            return guarded(source, plan, pl.col("at") + 1, line).select(names)
    lines = pl.scan_lines(source.target, row_index_name="at", **source.options)
    plan = _parsed(lines, apart, source, system)
    if on_bad_line == "skip":
        return plan.filter(~pl.col("bad")).select(names)
    return guarded(source, plan, pl.col("at") + 1, pl.col("line")).select(names)


def _but(apart: Separation, **changes: Any) -> Separation:
    return replace(apart, positions=replace(apart.positions, **changes))


def _fast_plan(
    source: Source,
    apart: Separation,
    system: bool,
    seen: Marks,
    *,
    as_text: bool = False,
) -> pl.LazyFrame:
    """`scan_csv` with one column more than there should be, so that a longer line shows.

    What the file is known not to hold (`seen`) needs no test. `as_text` keeps the words of a line,
    to show it, as `word_0`, ….
    """
    found, strip = apart.positions, apart.padded
    names = [name or f"skip_{i}" for i, name in enumerate(found.names)]
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    cells = {n: pl.String if strip or as_text else numbers.get(n, pl.String) for n in names}
    plan = pl.scan_csv(
        source.target,
        separator=apart.mark,
        has_header=False,
        quote_char=None,
        comment_prefix="#" if seen.comments else None,
        schema=cells | {"further": pl.String},
        missing_columns="insert",
        truncate_ragged_lines=True,
        row_index_name="at",
        **source.options,
    )
    if as_text:
        words = [pl.col(n).alias(f"word_{i}") for i, n in enumerate((*names, "further"))]
        plan = plan.with_columns(words)
    if strip:
        plan = plan.with_columns(pl.col(names).str.strip_chars(" "))
    if strip or as_text:
        plan = plan.with_columns(
            pl.col(name).cast(dtype, strict=False) for name, dtype in numbers.items()
        )
    wanted = ["query_id", "doc_id", "subtopic", *(["system"] if system else [])]
    ids = [name for name in wanted if name in names]
    plan = plan.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in (*ids, names[-1])))
    tests = [pl.col(n).is_null() for n in names if n != "rank" or found.ranked]
    if seen.strays:
        strays = [mark for mark in NOT_IN_IDS if mark != " " or not apart.tabbed]
        tests += [pl.col(name).str.contains_any(strays) for name in ids]
    if not (found.trailing and as_text):
        tests.append(pl.col("further").is_not_null())
    return plan.with_columns(pl.any_horizontal(tests).alias("bad"))


def _fast_frame(source: Source, apart: Separation, system: bool) -> pl.DataFrame | None:
    """The rows by the fast road, or nothing if one line does not fit it."""
    if apart.padded or source.remote or source.compression:
        return _tested_frame(source, apart, system, ANYTHING)
    frame, seen = both(
        lambda: _plain_frame(source, apart, system) if apart.positions.trailing else None,
        lambda: look_through(source.paths[0], apart.mark.encode()),
    )
    if seen.strays:
        return None
    if frame is None or seen.comments:
        return _tested_frame(source, apart, system, seen)
    return frame


def _plain_frame(source: Source, apart: Separation, system: bool) -> pl.DataFrame | None:
    """The rows of a run whose lines all end in the first one's tag: it shows that no word moved."""
    found = apart.positions
    names = [name or f"skip_{i}" for i, name in enumerate(found.names)]
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    tag = source.lines()[0].rstrip(" \t\r").split(apart.mark)[-1]
    plan = pl.scan_csv(
        source.target,
        separator=apart.mark,
        has_header=False,
        quote_char=None,
        schema={name: numbers.get(name, pl.String) for name in names},
    )
    tests = [pl.col(name).is_null() for name in ("query_id", "doc_id", *numbers)]
    tests.append(pl.col(names[-1]).ne_missing(pl.lit(tag)))
    bad = pl.any_horizontal(tests).alias("bad")
    try:
        frame = fetch(plan.select(*_columns(found, system), bad), "in-memory")
    except FAULTS:
        return None
    except OSError as error:
        raise explained(source, error) from error
    return None if frame.height == 0 or frame["bad"].any() else frame.drop("bad")


def _tested_frame(
    source: Source, apart: Separation, system: bool, seen: Marks
) -> pl.DataFrame | None:
    """The rows of a file with one separator, every line tested for a word too many or too few."""
    plan = _fast_plan(source, apart, system, seen)
    try:
        frame = fetch(plan.select(*_columns(apart.positions, system), "bad", "at"))
    except FAULTS:
        return None
    except OSError as error:
        raise explained(source, error) from error
    return None if frame.height == 0 or frame["bad"].any() else _by_line(frame).drop("bad")


def _by_line(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in the order of the file, which the streaming engine does not promise."""
    return (frame if frame["at"].is_sorted() else frame.sort("at")).drop("at")


def _numbers(found: Positions) -> dict[str, Any]:
    grade = pl.Int64 if found.whole else pl.Float64
    numbers: dict[str, Any] = {"score": pl.Float64, "relevance": grade}
    return numbers | ({"rank": pl.Int64} if found.ranked else {})


def _parsed(lines: pl.LazyFrame, apart: Separation, source: Source, system: bool) -> pl.LazyFrame:
    """Lines cut into columns, and whether a line is `bad`; blank lines and comments are gone."""
    if source.marked:
        lines = lines.with_columns(pl.col("line").str.strip_prefix("\ufeff"))
    rows = lines.filter(~pl.col("line").str.contains(rf"^(?:#|{SPACE}*$)"))
    found = apart.positions
    names = _columns(found, system)
    if apart.tabbed:
        part = _tabbed_part(found, system, names)
    else:
        part = pl.col("line").str.extract_groups(_pattern(found, system, f"{SPACE}+", WORD, WORD))
    parts = rows.with_columns(part.alias("part")).with_columns(
        pl.col("part").struct.field(name) for name in names
    )
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    words = parts.with_columns(
        pl.col(name).cast(dtype, strict=False) for name, dtype in numbers.items()
    )
    return words.with_columns(pl.any_horizontal(pl.col(names).is_null()).alias("bad"))


def _tabbed_part(found: Positions, system: bool, names: list[str]) -> pl.Expr:
    """What stands between tabs; of a line without enough of them its words, if they are plain."""
    line = pl.col("line")
    cells = line.str.extract_groups(_pattern(found, system, TAB, CELL, CELL))
    if "" not in found.names:
        return cells
    words = line.str.extract_groups(_pattern(found, system, f"{SPACE}+", WORD, ITERATION))
    return pl.when(cells.struct.field(names[0]).is_not_null()).then(cells).otherwise(words)


def _pattern(found: Positions, system: bool, gap: str, word: str, unread: str) -> str:
    """One regular expression for a line. At no character is there a choice, which is fast."""
    names = found.names if system or not found.trailing else found.names[:-1]
    words = [f"(?<{name}>{word})" if name else unread for name in names]
    end = f"(?:{SPACE}|$)" if found.trailing else f"{SPACE}*$"
    return f"^{SPACE}*" + gap.join(words) + end


def _slow_frame(
    source: Source, kind: Ranked, apart: Separation, system: bool, on_bad_line: OnBadLine
) -> pl.DataFrame:
    try:
        frame = _in_order(source, apart, system)
        if frame["bad"].any():
            apart = _loosened(source, apart, system)
            frame = _in_order(source, apart, system)
        if frame["bad"].any():
            _report(source, apart, system, on_bad_line)
            frame = frame.filter(~pl.col("bad"))
    except (*FAULTS, OSError) as error:
        raise explained(source, error) from error
    if frame.height == 0:
        raise ReadError(f"{source.name}: no line of {kind} in it")
    return frame.drop("bad")


def _report(source: Source, apart: Separation, system: bool, on_bad_line: OnBadLine) -> None:
    """Say which lines do not fit, if any."""
    report_bad_lines(
        source,
        lambda lines: _parsed(lines, apart, source, system).filter("bad"),
        "each should read " + " ".join(name or "_" for name in apart.positions.names),
        on_bad_line,
    )


def _in_order(source: Source, apart: Separation, system: bool) -> pl.DataFrame:
    """The parsed lines by the streaming engine, which uses every core but promises no order."""
    lines = pl.scan_lines(source.target, row_index_name="at", **source.options)
    plan = _parsed(lines, apart, source, system)
    return _by_line(fetch(plan.select(*_columns(apart.positions, system), "bad", "at")))


def _loosened(source: Source, apart: Separation, system: bool) -> Separation:
    """What the lines that do not fit the sample allow: grades with fractions, a rank left out.

    A rank that is no number on a line with words to spare stays bad: an id with a space in it has
    moved the columns there.
    """
    lines = pl.scan_lines(source.target, **source.options)
    bad = fetch(_parsed(lines, apart, source, system).filter("bad").select("line"), "in-memory")
    loose = _but(apart, whole=False)
    width = len(apart.positions.names)
    spare = bad["line"].str.count_matches(WORD) > width
    if apart.positions.ranked and (apart.tabbed or not spare.any()):
        loose = _but(loose, ranked=False)
    still = fetch(_parsed(bad.lazy(), loose, source, system).select("bad"), "in-memory")
    return apart if still["bad"].all() else loose


def _columns(found: Positions, system: bool) -> list[str]:
    """The columns to hand over, in the house's order."""
    wanted = ["system"] if system else []
    wanted += ["query_id", "doc_id", "relevance", "score"]
    wanted += ["rank"] if found.ranked else []
    wanted += ["subtopic"]
    return [name for name in wanted if name in found.names]
