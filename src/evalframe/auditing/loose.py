"""The lenient door: rows that the strict one refuses are reported, counted and left out."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.auditing.findings import SHOWN, Finding, examples_of
from evalframe.columns import KINDS, Kind, Shape
from evalframe.engine import collect
from evalframe.errors import EmptyError
from evalframe.frames import conform, find_columns
from evalframe.hashes import all_differ, pair_hash
from evalframe.inputs import unchecked_frame
from evalframe.io.lines import SkippedLinesWarning
from evalframe.ranking.prepared import PreparedQrels

__all__ = ["BLANK", "Loose", "loosened"]

BLANK = "blank"
"""Whether a query or document has no text; kept instead of the text."""
UNREAD = "as_written"

NUMBERS = {"qrels": "relevance", "run": "score"}


@dataclass(frozen=True)
class Loose:
    """A frame as far as it can be used, and what its rows held besides.

    Attributes
    ----------
    frame
        The usable rows: ids as String, numbers as Float64, each key once (with its highest number);
        of queries and corpora the id and `blank`.
    given
        The types that the id columns came with.
    """

    frame: pl.DataFrame
    given: dict[str, pl.DataType]
    findings: list[Finding]

    def ids(self, column: str) -> pl.Series:
        """The different ids of a column, in no order."""
        if column not in self._ids:
            alone = BLANK in self.frame.columns
            self._ids[column] = self.frame[column] if alone else self.frame[column].unique()
        return self._ids[column]

    @functools.cached_property
    def _ids(self) -> dict[str, pl.Series]:
        return {}


def loosened(data: Any, kind: Kind) -> Loose:
    """Read anything a user hands over, and report its rows instead of refusing them.

    Raises
    ------
    ColumnError
        A column is missing, or cannot be what it is called.
    """
    shape = KINDS[kind]
    raw, findings = _handed_over(data, shape)
    schema = raw.collect_schema()
    if not schema and not isinstance(data, pl.DataFrame | pl.LazyFrame):
        columns = [name for name in shape.required if name != "text"]
        schema = pl.Schema(dict.fromkeys((*columns, *_more(shape)), pl.String()))
        raw = pl.LazyFrame(schema=schema)
    found = _columns(shape, schema)
    given = {c: schema[n] for c, n in found.items() if shape.roles[c] == "id"}
    plan = raw.lazy().select(_lenient(shape, found, schema))
    table = collect(plan, "streaming" if isinstance(raw, pl.LazyFrame) else "in-memory")
    findings += _id_types(shape, given)
    if table.height == 0:
        empty = f"the {kind} have no rows" if kind != "run" else "the run has no rows"
        findings.append(Finding("error", "empty", kind, 0, empty, [], "Check what was handed over"))
        return Loose(table.drop(UNREAD, strict=False), given, findings)
    table, unusable = _without_unusable(table, shape)
    table, repeated = _without_repeats(table, shape)
    return Loose(table, given, findings + unusable + repeated)


def _more(shape: Shape) -> list[str]:
    return ["text"] if shape.keeps_extra else []


def _handed_over(data: Any, shape: Shape) -> tuple[pl.DataFrame | pl.LazyFrame, list[Finding]]:
    """The table as it is, and the lines of its file that do not fit."""
    if isinstance(data, PreparedQrels):
        return data.qrels, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkippedLinesWarning)
        try:
            raw = unchecked_frame(data, shape.kind)
        except EmptyError:
            raw = pl.DataFrame()
    findings = []
    for warning in caught:
        skipped = warning.message
        if not isinstance(skipped, SkippedLinesWarning):
            warnings.warn_explicit(skipped, warning.category, warning.filename, warning.lineno)
            continue
        findings.append(
            Finding(
                "error",
                "bad_lines",
                shape.kind,
                skipped.total,
                str(skipped).splitlines()[0].removeprefix("left out, "),
                skipped.shown[:SHOWN],
                "Mend the file: readers refuse it; on_bad_line='skip' leaves such lines out",
            )
        )
    return raw, findings


def _columns(shape: Shape, schema: pl.Schema) -> dict[str, str]:
    """The house's column → the frame's own; what is missing is the strict door's to say."""
    probe = pl.LazyFrame(schema=dict.fromkeys(schema.names(), pl.String()))
    conform(probe, shape.kind, check_plans=False)
    return find_columns(shape, schema.names(), {})


def _lenient(shape: Shape, found: dict[str, str], schema: pl.Schema) -> list[pl.Expr]:
    """The columns that the audit reads, as far as their values can be had."""
    picked = []
    texts = [name for column, name in found.items() if shape.roles[column] == "text"]
    for column, name in found.items():
        role = shape.roles[column]
        if role == "id":
            picked.append(_as_id(pl.col(name), schema[name]).alias(column))
        elif role in ("number", "grade", "whole"):
            dtype = pl.Int64 if role == "whole" else pl.Float64
            picked.append(pl.col(name).cast(dtype, strict=False).alias(column))
    if texts:
        empty = [~pl.col(n).cast(pl.String).str.contains(r"\S").fill_null(False) for n in texts]
        picked.append(pl.all_horizontal(empty).alias(BLANK))
    number = NUMBERS.get(shape.kind)
    if number in found and schema[found[number]] == pl.String:
        written = pl.col(found[number])
        unread = written.is_not_null() & written.cast(pl.Float64, strict=False).is_null()
        picked.append(pl.when(unread).then(written).alias(UNREAD))
    if number == "score" and number not in found:
        rank = pl.col(found["rank"]).cast(pl.Float64, strict=False)
        picked = [p for p in picked if p.meta.output_name() != "rank"]
        picked.append((-rank).alias("score"))
    return picked


def _as_id(values: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Ids as strings; whole floats, as pandas makes of ids beside a missing one, as whole."""
    if not dtype.is_float():
        return values.cast(pl.String)
    whole = values.cast(pl.Int64, strict=False)
    return (
        pl.when(whole.cast(dtype) == values)
        .then(whole.cast(pl.String))
        .otherwise(values.cast(pl.String))
    )


def _id_types(shape: Shape, given: dict[str, pl.DataType]) -> list[Finding]:
    odd = {
        column: dtype
        for column, dtype in given.items()
        if dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null) and not dtype.is_integer()
    }
    return [
        Finding(
            "error",
            "id_type",
            f"{shape.kind}, {column}",
            1,
            f"{column} of the {shape.kind} is {dtype}; ids are strings or whole numbers",
            [],
            "Read ids as strings, before anything makes numbers of them",
        )
        for column, dtype in odd.items()
    ]


def _without_unusable(table: pl.DataFrame, shape: Shape) -> tuple[pl.DataFrame, list[Finding]]:
    """The rows with all their ids and numbers, and what the others lack."""
    number = NUMBERS.get(shape.kind)
    ids = [c for c in shape.key if c in table.columns and c != "subtopic"]
    bad = {("null", c): pl.col(c).is_null() for c in ids}
    if number is not None:
        value = pl.col(number)
        if UNREAD in table.columns:
            bad[("not_a_number", number)] = pl.col(UNREAD).is_not_null()
            bad[("null", number)] = value.is_null() & pl.col(UNREAD).is_null()
        else:
            bad[("null", number)] = value.is_null()
        bad[("nan", number)] = value.is_nan()
        if shape.kind == "qrels":
            bad[("infinite", number)] = value.is_infinite()
    counts = table.select(e.sum().alias(" ".join(key)) for key, e in bad.items()).row(0)
    wrong = {key: n for key, n in zip(bad, counts, strict=True) if n}
    kept = table.filter(~pl.any_horizontal(bad[key].fill_null(False) for key in wrong)) if (
        wrong
    ) else table  # fmt: skip
    shown = [c for c in table.columns if c not in (BLANK, UNREAD)]
    findings = []
    for (kind, column), n in wrong.items():
        rows = table.filter(bad[(kind, column)])
        columns = [*(c for c in shown if c != column), UNREAD] if kind == "not_a_number" else shown
        findings.append(
            Finding(
                "error",
                kind,
                f"{shape.kind}, {column}",
                n,
                f"{n} rows of the {shape.kind} have {WORDS[kind]} {column}",
                examples_of(rows, columns),
                "Find out where they come from, then drop or fill them; readers refuse them",
            )
        )
    return kept.drop(UNREAD, strict=False), findings


WORDS = {
    "null": "no",
    "nan": "NaN as",
    "infinite": "infinity as",
    "not_a_number": "a word that is no number as",
}


def _without_repeats(table: pl.DataFrame, shape: Shape) -> tuple[pl.DataFrame, list[Finding]]:
    """Each key once, and the keys that stood there more often."""
    keys = [c for c in shape.key if c in table.columns]
    if all_differ(table, keys):
        return table, []
    value = NUMBERS.get(shape.kind, BLANK)
    differing = pl.col(value).n_unique().alias("values")
    again = (
        table.filter(pair_hash(keys).is_duplicated())
        .group_by(keys)
        .agg(pl.len().alias("times"), differing)
        .filter(pl.col("times") > 1)
    )
    if again.height == 0:
        return table, []
    extra = int(again["times"].sum()) - again.height
    differ = again.filter(pl.col("values") > 1).height
    what = f"{again.height} ({', '.join(keys)}) of the {shape.kind} stand more than once"
    if value != BLANK:
        what += f", {differ} of them with different values of {value}"
    how = (
        'duplicates="best" keeps the best-scored row of each'
        if shape.kind == "run"
        else "Keep one row of each; readers refuse them"
    )
    finding = Finding("error", "duplicates", shape.kind, extra, what, examples_of(again, keys), how)
    best = table.sort(value, descending=True, maintain_order=True)
    return best.unique(keys, keep="first", maintain_order=True), [finding]
