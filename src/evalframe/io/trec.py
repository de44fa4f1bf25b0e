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
from evalframe.io.files import Marks, Source, count_in, look_through
from evalframe.io.layouts import BOM
from evalframe.io.lines import FAULTS, OnBadLine, explained, guarded, report_bad_lines
from evalframe.io.positions import ITERATION, Positions, is_number
from evalframe.io.separators import Separation, separation

__all__ = ["NOT_IN_IDS", "read_trec", "scan_trec"]

Ranked = Literal["qrels", "run"]

SPACE = r"[ \t\r\x0b\x0c]"
WORD = r"[^ \t\r\x0b\x0c\x00]+"
BLANK = r"[ \r\x0b\x0c]"
TAB = rf"{BLANK}*\t{BLANK}*"
LETTER = r"[\p{L}\p{N}]"
CELL = r"[^ \t\r\x0b\x0c\x00]+(?: +[^ \t\r\x0b\x0c\x00]+)*"
NOT_IN_IDS = ["\t", " ", "\x0b", "\x0c", "\r", "\x00"]
ANYTHING = Marks(strays=True, comments=True)


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
    """Read TREC qrels or runs into the house's columns; nothing else is checked here.

    Without `ranks` they are left out, but they are looked at: they show where a word has moved.
    """
    apart = separation(source, kind, columns or {}, subtopics)
    frame = _fast_frame(source, apart, system, ranks) if apart.mark else None
    if frame is None:
        frame = _slow_frame(source, kind, apart, system, on_bad_line)
    return frame if ranks or "score" not in frame.columns else frame.drop("rank", strict=False)


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

    A local file is read through for lines that are not as the first ones are, so that the plan
    gives what `read_trec` gives. With `on_bad_line="skip"` any file is, to say which lines will be
    left out.
    """
    apart = separation(source, kind, columns or {}, subtopics)
    if on_bad_line == "skip":
        apart = _settled(source, apart, system)
        _report(source, apart, system, "skip")
    elif not (source.remote or source.compression):
        plan = _fitting_plan(source, apart, system) if apart.mark else None
        if plan is not None:
            return plan.select(_columns(apart.positions, system))
        apart = _settled(source, apart, system)
    lines = pl.scan_lines(source.target, row_index_name="at", **source.options)
    plan = _parsed(lines, apart, source, system)
    names = _columns(apart.positions, system)
    if on_bad_line == "skip":
        return plan.filter(~pl.col("bad")).select(names)
    at = pl.col("at") + 1
    if source.remote or source.compression:
        at = pl.format(f"{{}} (which read_{kind} may take)", at)
    return guarded(source, plan, at, pl.col("line")).select(names)


def _but(apart: Separation, **changes: Any) -> Separation:
    return replace(apart, positions=replace(apart.positions, **changes))


def _marks(source: Source, apart: Separation) -> Marks | None:
    """What may stand in a file besides its words, or nothing if the fast road cannot read it."""
    if source.marked and (source.compression or count_in(source.paths[0], BOM) > 1):
        return None
    if apart.padded or source.remote or source.compression:
        return ANYTHING
    seen = look_through(source.paths[0], apart.mark.encode())
    return None if seen.strays else seen


def _fast_plan(source: Source, apart: Separation, system: bool, seen: Marks) -> pl.LazyFrame:
    """`scan_csv` with one column more than there should be, so that a longer line shows.

    What the file is known not to hold (`seen`) needs no test.
    """
    found, strip = apart.positions, apart.padded
    names = [name or f"skip_{i}" for i, name in enumerate(found.names)]
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    cells = {n: pl.String if strip else numbers.get(n, pl.String) for n in names}
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
    if strip:
        plan = plan.with_columns(pl.col(names).str.strip_chars(" ").replace("", None))
    plan = plan.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in names))
    if strip:
        plan = plan.with_columns(
            pl.col(name).cast(dtype, strict=False) for name, dtype in numbers.items()
        )
    tests = [pl.col(n).is_null() for n in names if n != "rank" or found.ranked]
    if seen.strays:
        wanted = ["query_id", "doc_id", "subtopic", *(["system"] if system else [])]
        strays = [mark for mark in NOT_IN_IDS if mark != " " or not apart.tabbed]
        tests += [pl.col(name).str.contains_any(strays) for name in wanted if name in names]
    if names[-1] == "system" and not found.ranked:
        tests.append(_is_number(pl.col("system")))
    tests.append(pl.col("further").is_not_null())
    return plan.with_columns(pl.any_horizontal(tests).alias("bad"))


def _fitting_plan(source: Source, apart: Separation, system: bool) -> pl.LazyFrame | None:
    """The fast road as a plan, if every line of a local file fits it today."""
    plain = _plain_plan(source, apart, nulls=True)
    fits, seen = both(lambda: plain is not None and _fits(plain), lambda: _marks(source, apart))
    if seen is None:
        return None
    if plain is None or not fits or seen.comments:
        plain = _fast_plan(source, apart, system, seen)
        if not _fits(plain):
            return None
    ids = [name for name in ("query_id", "doc_id") if name in apart.positions.names]
    line = pl.concat_str(pl.lit("…"), *ids, separator=apart.mark, ignore_nulls=True)
    return guarded(source, plain, pl.col("at") + 1, line)


def _fits(plan: pl.LazyFrame) -> bool:
    """Whether a plan can be run, and gives rows none of which is bad."""
    try:
        rows, bad = fetch(plan.select(pl.len(), pl.col("bad").any())).row(0)
    except (*FAULTS, OSError):
        return False
    return bool(rows) and not bad


def _fast_frame(
    source: Source, apart: Separation, system: bool, ranks: bool
) -> pl.DataFrame | None:
    """The rows by the fast road, or nothing if one line does not fit it."""
    plain = apart if ranks else _but(apart, ranked=False)
    frame, seen = both(lambda: _plain_frame(source, plain, system), lambda: _marks(source, apart))
    if seen is None:
        return None
    if frame is None or seen.comments:
        return _tested_frame(source, apart, system, seen)
    return frame


def _plain_plan(source: Source, apart: Separation, *, nulls: bool) -> pl.LazyFrame | None:
    """A plain file of a run whose lines all end in the first one's tag, which shows that no word
    has moved; but where ranks are not looked at, a number could be a score that has.

    With `nulls`, a row is bad, too, that lacks a word; without, it has a null.
    """
    found = apart.positions
    tag = source.lines()[0].rstrip(" \t\r").split(apart.mark)[-1]
    tells = found.names[-1] == "system" and (found.ranked or not is_number(tag))
    if not tells or apart.padded or source.remote or source.compression:
        return None
    names = [name or f"skip_{i}" for i, name in enumerate(found.names)]
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    plan = pl.scan_csv(
        source.target,
        separator=apart.mark,
        has_header=False,
        quote_char=None,
        row_index_name="at",
        schema={name: numbers.get(name, pl.String) for name in names},
    )
    bad = pl.col("system") != tag
    if nulls:
        lacking = pl.col("query_id", "doc_id", "system", *numbers).is_null()
        bad = pl.any_horizontal(bad, lacking)
    return plan.with_columns(bad=bad)


def _plain_frame(source: Source, apart: Separation, system: bool) -> pl.DataFrame | None:
    """The rows of `_plain_plan`, in their order; nulls are counted sooner than looked for."""
    plan = _plain_plan(source, apart, nulls=False)
    if plan is None:
        return None
    try:
        frame = fetch(plan.select(*_columns(apart.positions, system), "bad"), "in-memory")
    except FAULTS:
        return None
    except OSError as error:
        raise explained(source, error) from error
    lacking = any(column.null_count() for column in frame.get_columns())
    return None if frame.height == 0 or lacking or frame["bad"].any() else frame.drop("bad")


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
    tests = [pl.col(names).is_null(), *_moved(found)]
    return words.with_columns(pl.any_horizontal(tests).alias("bad"))


def _moved(found: Positions) -> list[pl.Expr]:
    """Whether an id in two words has put a rank and a score where a score and a tag should be."""
    if found.ranked or found.names[-3:] != ("rank", "score", "system"):
        return []
    rank, _, tag = (pl.col("part").struct.field(name) for name in found.names[-3:])
    return [rank.str.contains(LETTER) & ~_is_number(rank) & _is_number(tag)]


def _is_number(word: pl.Expr) -> pl.Expr:
    return word.cast(pl.Float64, strict=False).is_not_null()


def _tabbed_part(found: Positions, system: bool, names: list[str]) -> pl.Expr:
    """What stands between tabs; of a line without enough of them its words, if they are plain.

    Such a line needs its tag: without it, it could be one with an empty cell.
    """
    line = pl.col("line")
    start = BLANK if found.trailing else SPACE
    cells = line.str.extract_groups(_pattern(found, system, TAB, CELL, CELL, start))
    if "" not in found.names:
        return cells
    words = line.str.extract_groups(_pattern(found, True, f"{SPACE}+", WORD, ITERATION))
    words = pl.struct(words.struct.field(name) for name in _wanted(found, system) if name)
    return pl.when(cells.struct.field(names[0]).is_not_null()).then(cells).otherwise(words)


def _wanted(found: Positions, system: bool) -> tuple[str, ...]:
    """The columns that a line must have: the tag of a run may be missing where nobody asks."""
    return found.names if system or not found.trailing else found.names[:-1]


def _pattern(
    found: Positions, system: bool, gap: str, word: str, unread: str, start: str = SPACE
) -> str:
    """One regular expression for a line. At no character is there a choice, which is fast."""
    words = [f"(?<{name}>{word})" if name else unread for name in _wanted(found, system)]
    end = f"(?:{SPACE}|$)" if found.trailing else f"{SPACE}*$"
    return f"^{start}*" + gap.join(words) + end


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


def _settled(source: Source, apart: Separation, system: bool) -> Separation:
    """`_loosened` for a plan; a file that cannot be read through fails it as it runs."""
    try:
        return _loosened(source, apart, system)
    except (*FAULTS, OSError):
        return apart


def _loosened(source: Source, apart: Separation, system: bool) -> Separation:
    """What the lines that do not fit the sample allow: grades with fractions, a rank left out.

    A rank that is no whole number may as well be a moved word, so it is left out only where every
    line has as many words as there are columns.
    """
    bad = _bad_lines(_all_lines(source), source, apart, system)
    if bad.height == 0:
        return apart
    if not apart.positions.ranked:
        loose = _but(apart, whole=False)
        still = _bad_lines(bad.lazy(), source, loose, system)
        return apart if still.height == bad.height else loose
    loose = _but(apart, whole=False, ranked=False, trailing=False)
    if _bad_lines(bad.lazy(), source, loose, system).height:
        return apart
    return apart if _bad_lines(_all_lines(source), source, loose, system).height else loose


def _all_lines(source: Source) -> pl.LazyFrame:
    return pl.scan_lines(source.target, **source.options)


def _bad_lines(
    lines: pl.LazyFrame, source: Source, apart: Separation, system: bool
) -> pl.DataFrame:
    return fetch(_parsed(lines, apart, source, system).filter("bad").select("line"))


def _columns(found: Positions, system: bool) -> list[str]:
    """The columns to hand over, in the house's order."""
    wanted = ["system"] if system else []
    wanted += ["query_id", "doc_id", "relevance", "score"]
    wanted += ["rank"] if found.ranked else []
    wanted += ["subtopic"]
    return [name for name in wanted if name in found.names]
