"""TREC's qrels (four columns) and runs (six columns), separated by any white space.

The second column of qrels is read by nobody, but for the diversity tasks, whose qrels name there
the subtopic that a document is judged for.

White space is what C's `isspace` takes for it, as in trec_eval, so an id may hold any other
character, Unicode spaces and quotes included. A `#` at the start of a line makes it a comment; ids
may hold `#` elsewhere. A file that keeps to one separator is read by `scan_csv`, with a guard in
the plan that no line is taken wrongly; any other by one regular expression per line.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import ReadError, RowError, first_rows
from evalframe.io.files import Marks, Source, look_through
from evalframe.io.lines import FAULTS, OnBadLine, explained, report_bad_lines
from evalframe.io.positions import Positions, positions
from evalframe.io.saving import beside

__all__ = ["read_trec", "scan_trec", "write_trec"]

Ranked = Literal["qrels", "run"]

SPACE = r"[ \t\r\x0b\x0c]"
WORD = r"[^ \t\r\x0b\x0c\x00]+"
NOT_IN_IDS = ["\t", " ", "\x0b", "\x0c", "\r", "\x00"]
ANYTHING = Marks(strays=True, comments=True)


def read_trec(
    source: Source,
    kind: Ranked,
    *,
    system: bool = False,
    ranks: bool = True,
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
) -> pl.DataFrame:
    """Read TREC qrels or runs into the house's columns; nothing else is checked here."""
    found = _positions(source, kind, subtopics)
    found = found if ranks else replace(found, ranked=False)
    separator = _separator(source, found)
    frame = _fast_frame(source, found, separator, system) if separator else None
    return _slow_frame(source, kind, found, system, on_bad_line) if frame is None else frame


def scan_trec(
    source: Source, kind: Ranked, *, system: bool = False, subtopics: bool = False
) -> pl.LazyFrame:
    """Plan the reading of TREC qrels or runs; a line that does not fit fails the plan."""
    found = _positions(source, kind, subtopics)
    separator = _separator(source, found)
    if separator:
        plan = _fast_plan(source, found, separator, system, ANYTHING)
        where = pl.lit("a line does not fit the first lines of the file")
    else:
        plan = _parsed(pl.scan_lines(source.target, **source.options), found, source, system)
        where = pl.concat_str(pl.lit("this line does not fit: "), pl.col("line").str.head(160))
    guard = pl.when("bad").then(pl.concat_str(pl.lit(f"{source.name}: "), where)).cast(pl.Int64)
    return plan.filter(guard.is_null()).select(_columns(found, system))


def write_trec(
    frame: pl.DataFrame, path: str | os.PathLike[str], kind: Ranked, *, overwrite: bool, tag: str
) -> None:
    """Write house qrels or a house run as TREC, `.gz` and `.zst` by the file's suffix.

    Raises
    ------
    RowError
        An id or a subtopic that the format cannot hold: empty, with white space or NUL, or a
        query id that begins with `#`.
    """
    _refuse_ids(frame)
    if kind == "qrels":
        second = pl.col("subtopic") if "subtopic" in frame.columns else pl.lit("0")
        table = frame.select("query_id", second.alias("second"), "doc_id", "relevance")
    else:
        system = pl.col("system") if "system" in frame.columns else pl.lit(tag)
        ranked = frame if "rank" in frame.columns else _ranked(frame)
        table = ranked.select(
            "query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", system.alias("tag")
        )
    suffix = os.path.splitext(os.fspath(path))[1]
    packed: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}
    with beside(path, overwrite=overwrite) as part:
        table.write_csv(
            part,
            include_header=False,
            separator=" ",
            quote_style="never",
            compression=packed.get(suffix, "uncompressed"),
            check_extension=False,
        )


def _positions(source: Source, kind: Kind, subtopics: bool) -> Positions:
    lines = source.lines()
    if len(source.head) >= 1 << 16 and b"\n" not in source.head:
        raise ReadError(
            f"{source.name}: no line ends in the first {len(source.head):,} bytes; "
            f"this is no {kind} table"
        )
    return positions([_split(line) for line in lines], kind, source.name, subtopics)


def _split(line: str) -> list[str]:
    """The words of a line, by C's idea of white space (str.split knows more of it)."""
    for mark in "\t\r\x0b\x0c":
        line = line.replace(mark, " ")
    return [word for word in line.split(" ") if word]


def _separator(source: Source, found: Positions) -> str:
    """The one character between the columns of every sampled line, or '' if there is none."""
    lines = source.lines()
    for mark in (" ", "\t"):
        if all(
            len(cells := line.split(mark)) == len(found.names) and _split(line) == cells
            for line in lines
        ):
            return mark
    if all(
        len(cells := line.split("\t")) == len(found.names)
        and _split(line) == [cell.strip(" ") for cell in cells]
        for line in lines
    ):
        return "\t "
    return ""


def _fast_plan(
    source: Source,
    found: Positions,
    separator: str,
    system: bool,
    seen: Marks,
    tag: str | None = None,
) -> pl.LazyFrame:
    """`scan_csv` with one column more than there should be, so that a longer line shows.

    What the file is known not to hold (`seen`) needs no test. A line of six columns that ends in
    the run's `tag` has its words in their places even if one of them is empty, so that the columns
    nobody reads need not be looked at.
    """
    strip = separator == "\t "
    names = [name or f"skip_{i}" for i, name in enumerate(found.names)]
    numbers = {name: dtype for name, dtype in _numbers(found).items() if name in names}
    schema = {name: pl.String if strip else numbers.get(name, pl.String) for name in names}
    plan = pl.scan_csv(
        source.target,
        separator=separator[0],
        has_header=False,
        quote_char=None,
        comment_prefix="#" if seen.comments else None,
        schema=schema | {"further": pl.String},
        missing_columns="insert",
        truncate_ragged_lines=True,
        row_index_name="at",
        **source.options,
    )
    if strip:
        plan = plan.with_columns(pl.col(names).str.strip_chars(" ")).with_columns(
            pl.col(name).cast(dtype, strict=False) for name, dtype in numbers.items()
        )
    wanted = ["query_id", "doc_id", "subtopic", *(["system"] if system else [])]
    ids = [name for name in wanted if name in names]
    plan = plan.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in (*ids, names[-1])))
    last = pl.col(names[-1])
    tested = names if tag is None else ["query_id", "doc_id", *numbers]
    tests = [pl.col(n).is_null() for n in tested if n != "rank" or found.ranked]
    tests += [] if tag is None else [last.ne_missing(pl.lit(tag))]
    if seen.strays:
        tests += [pl.col(name).str.contains_any(NOT_IN_IDS) for name in ids]
    bad = pl.any_horizontal(pl.col("further").is_not_null(), *tests)
    return plan.with_columns(bad.alias("bad"))


def _fast_frame(
    source: Source, found: Positions, separator: str, system: bool
) -> pl.DataFrame | None:
    """The rows by the fast road, or nothing if one line does not fit it."""
    seen = ANYTHING
    if separator != "\t " and not source.remote and not source.compression:
        looks = [look_through(path, separator.encode()) for path in source.paths]
        if any(look.strays for look in looks):
            return None
        seen = Marks(strays=False, comments=any(look.comments for look in looks))
    tags = [_split(source.lines()[0])[-1]] if found.trailing and separator != "\t " else []
    for tag in (*tags, None):
        plan = _fast_plan(source, found, separator, system, seen, tag)
        try:
            frame = collect(plan.select(*_columns(found, system), "bad", "at"))
        except FAULTS:
            return None
        except OSError as error:
            raise explained(source, error) from error
        if frame.height and not frame["bad"].any():
            return _by_line(frame).drop("bad")
    return None


def _by_line(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in the order of the file, which the streaming engine does not promise."""
    return (frame if frame["at"].is_sorted() else frame.sort("at")).drop("at")


def _numbers(found: Positions) -> dict[str, Any]:
    grade = pl.Int64 if found.whole else pl.Float64
    numbers: dict[str, Any] = {"score": pl.Float64, "relevance": grade}
    return numbers | ({"rank": pl.Int64} if found.ranked else {})


def _parsed(lines: pl.LazyFrame, found: Positions, source: Source, system: bool) -> pl.LazyFrame:
    """Lines cut into columns, and whether a line is `bad`; blank lines and comments are gone."""
    if source.marked:
        lines = lines.with_columns(pl.col("line").str.strip_prefix("\ufeff"))
    rows = lines.filter(~pl.col("line").str.contains(rf"^(?:#|{SPACE}*$)"))
    parts = rows.with_columns(
        pl.col("line").str.extract_groups(_pattern(found, system)).alias("part")
    )
    columns = _columns(found, system)
    words = parts.with_columns(pl.col("part").struct.field(name) for name in columns).with_columns(
        pl.col(name).cast(dtype, strict=False)
        for name, dtype in _numbers(found).items()
        if name in columns
    )
    return words.with_columns(pl.any_horizontal(pl.col(columns).is_null()).alias("bad"))


def _pattern(found: Positions, system: bool) -> str:
    """One regular expression for a line. At no character is there a choice, which is fast."""
    names = found.names if system or not found.trailing else found.names[:-1]
    words = [f"(?<{name}>{WORD})" if name else WORD for name in names]
    end = f"(?:{SPACE}|$)" if found.trailing else f"{SPACE}*$"
    return f"^{SPACE}*" + f"{SPACE}+".join(words) + end


def _slow_frame(
    source: Source, kind: Ranked, found: Positions, system: bool, on_bad_line: OnBadLine
) -> pl.DataFrame:
    try:
        frame = _in_order(source, found, system)
        if frame["bad"].any():
            found = _loosened(source, found, system)
            frame = _in_order(source, found, system)
    except (*FAULTS, OSError) as error:
        raise explained(source, error) from error
    if frame["bad"].any():
        report_bad_lines(
            source,
            lambda lines: _parsed(lines, found, source, system).filter("bad"),
            "each should read " + " ".join(name or "_" for name in found.names),
            on_bad_line,
        )
        frame = frame.filter(~pl.col("bad"))
    if frame.height == 0:
        raise ReadError(f"{source.name}: no line of {kind} in it")
    return frame.drop("bad")


def _in_order(source: Source, found: Positions, system: bool) -> pl.DataFrame:
    """The parsed lines by the streaming engine, which uses every core but promises no order."""
    lines = pl.scan_lines(source.target, row_index_name="at", **source.options)
    plan = _parsed(lines, found, source, system).select(*_columns(found, system), "bad", "at")
    return _by_line(collect(plan))


def _loosened(source: Source, found: Positions, system: bool) -> Positions:
    """What the lines that do not fit the sample allow: grades with fractions, a rank left out.

    A rank that is no number on a line with words to spare stays bad: an id with a space in it has
    moved the columns there.
    """
    lines = pl.scan_lines(source.target, **source.options)
    bad = collect(_parsed(lines, found, source, system).filter("bad").select("line"), "in-memory")
    loose = replace(found, whole=False)
    if found.ranked and not (bad["line"].str.count_matches(WORD) > len(found.names)).any():
        loose = replace(loose, ranked=False)
    still = collect(_parsed(bad.lazy(), loose, source, system).select("bad"), "in-memory")
    return found if still["bad"].all() else loose


def _columns(found: Positions, system: bool) -> list[str]:
    """The columns to hand over, in the house's order."""
    wanted = ["system"] if system else []
    wanted += ["query_id", "doc_id", "relevance", "score"]
    wanted += ["rank"] if found.ranked else []
    wanted += ["subtopic"]
    return [name for name in wanted if name in found.names]


def _refuse_ids(frame: pl.DataFrame) -> None:
    known = ("system", "query_id", "doc_id", "subtopic")
    ids = [name for name in known if name in frame.columns]
    tests = [
        (pl.col(name) == "") | pl.col(name).str.contains_any([*NOT_IN_IDS, "\n"]) for name in ids
    ]
    tests.append(pl.col("query_id").str.contains(r"^[#\x{feff}]"))
    bad = frame.select(ids).with_row_index("row").filter(pl.any_horizontal(tests))
    if bad.height:
        raise RowError(
            f"{bad.height} rows have an id that TREC's format cannot hold: empty, with white space "
            "or NUL, or a query_id that begins with '#'. Write Parquet or JSON instead. "
            f"First rows:\n{first_rows(bad)}"
        )


def _ranked(run: pl.DataFrame) -> pl.DataFrame:
    """A run with a rank column: score descending, then doc_id descending; rows stay in place."""
    groups = [name for name in ("system", "query_id") if name in run.columns]
    ordered = run.with_row_index("row").sort(
        *groups, "score", "doc_id", descending=[False] * len(groups) + [True, True]
    )
    ranks = ordered.with_columns(pl.int_range(1, pl.len() + 1).over(groups).alias("rank"))
    return ranks.sort("row").drop("row")
