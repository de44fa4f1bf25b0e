"""The door of every frame: names, types and rows are coerced and checked here, once.

What comes in may be a Polars frame (eager or lazy), a pandas frame or any object with an Arrow
stream. What goes out has the house's columns and types (see `columns`), and nothing inside checks
again. Eager in gives eager out, lazy in gives lazy out; the input itself is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, TypeVar

import polars as pl

from evalframe.columns import DTYPES, KINDS, Kind, Role, Shape
from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, RowError, first_rows, one_of
from evalframe.hashes import all_differ

__all__ = [
    "Duplicates",
    "Frame",
    "check_rows",
    "collected",
    "conform",
    "fails_where",
    "find_columns",
    "is_tabular",
    "keep_best",
    "not_numbers",
    "refuse_duplicates",
    "to_polars",
]

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Duplicates = Literal["error", "check", "best"]
"""What to do about a (query, document) pair that stands in a frame more than once.

`error` refuses them: always among judged documents, and in the whole run below a million rows.
`check` looks through the whole run whatever its size. `best` keeps the best-scored row.
"""

BEIR_DOC = "corpus-id"
"""BEIR calls grades `score`, and documents by this name, which no run does."""

ARTICLE = {"run": "a run", "qrels": "qrels"}

CHECKED_WHOLE = 1_000_000
"""Rows below which a run is looked through for duplicates without being asked."""


def is_tabular(data: object) -> bool:
    """Whether `to_polars` takes it: a Polars or pandas frame, or any Arrow stream."""
    return isinstance(data, pl.DataFrame | pl.LazyFrame) or hasattr(data, "__arrow_c_stream__")


def to_polars(data: Any) -> pl.DataFrame | pl.LazyFrame:
    """The same rows as a Polars frame. Named pandas index levels become columns."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data
    if type(data).__module__.partition(".")[0] != "pandas":
        return pl.DataFrame(data)
    twice = [str(name) for name in data.columns[data.columns.duplicated()]]
    if twice:
        raise ColumnError(
            f"columns that stand twice in the pandas frame: {_listed(twice)}. Rename or drop one "
            "of each"
        )
    index = [n for n in data.index.names if n is not None and n not in data.columns]
    try:
        return pl.from_pandas(data.reset_index(level=index) if index else data)
    except (TypeError, ValueError) as error:
        raise ColumnError(
            f"a column of the pandas frame mixes types: {str(error).partition(chr(10))[0]}. "
            "Give it one type first, for example with .astype(str)"
        ) from error


def conform(
    frame: Frame,
    kind: Kind,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    check_plans: bool = True,
) -> Frame:
    """Give a frame its kind's columns, types and order, and check its rows.

    Parameters
    ----------
    frame
        Polars frame, eager or lazy.
    kind
        `qrels`, `run`, `queries`, `corpus` or `samples`.
    columns
        The house's name → the frame's own name, where the frame uses a name that is not known.
    duplicates
        See `Duplicates`. A lazy frame is looked through whole only with `check`.
    check_plans
        Make a lazy frame fail on nulls and NaN when it runs. Without it, whoever runs the plan
        checks its rows.

    Raises
    ------
    ColumnError
        A column is missing, or its type cannot hold what the kind asks for.
    RowError
        Null ids, null or NaN scores, duplicate pairs; the first rows are shown.
    EmptyError
        An eager frame without rows.
    """
    one_of("duplicates", duplicates, ("error", "check", "best"))
    shape = KINDS[kind]
    schema = frame.collect_schema() if isinstance(frame, pl.LazyFrame) else frame.schema
    found: dict[str, str] = find_columns(shape, schema.names(), columns or {})
    if kind == "run" and "score" not in found and "rank" in found:
        frame, schema = _score_from_rank(frame, found)
        found = {column: found[column] for column in shape.roles if column in found}
    _require(shape, found, schema.names())
    unclear = found.get("relevance") == "score" and found["doc_id"] != BEIR_DOC
    if kind == "qrels" and unclear and "relevance" not in (columns or {}):
        _refuse_run(frame, schema)
    as_they_are = all(
        column == name and schema[name] == _target(shape, column, schema[name])
        for column, name in found.items()
    )
    if not as_they_are:
        named = _cast(frame, _picked(schema, shape, found), shape, found)
    elif shape.keeps_extra or schema.names() == [*found]:
        named = frame
    else:
        named = frame.select(*found)
    if isinstance(named, pl.LazyFrame):
        named = keep_best(named, shape) if duplicates == "best" else named
        return _check_lazily(named, shape, duplicates) if check_plans else named
    check_rows(named, shape)
    if duplicates == "best":
        return keep_best(named, shape)
    if duplicates == "check" or named.height < CHECKED_WHOLE:
        refuse_duplicates(named, shape)
    return named


def collected(
    frame: pl.DataFrame | pl.LazyFrame, kind: Kind, duplicates: Duplicates = "error"
) -> pl.DataFrame:
    """A checked frame in memory; a plan is run, and its rows are checked then."""
    if isinstance(frame, pl.DataFrame):
        return frame
    return conform(collect(frame), kind, duplicates=duplicates)


def find_columns(shape: Shape, names: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """The house's column → the frame's own name for it, by the alias table's order."""
    for column, name in given.items():
        if column not in shape.roles:
            raise ColumnError(
                f"columns={{{column!r}: …}}: {shape.kind} have no column {column!r}; "
                f"they have {', '.join(shape.roles)}"
            )
        if name not in names:
            raise ColumnError(
                f"columns={{{column!r}: {name!r}}}: there is no column {name!r}; "
                f"found: {_listed(names)}"
            )
    found: dict[str, str] = {}
    for column in shape.roles:
        wanted = (given[column],) if column in given else shape.names_among(names, column)
        free = [n for n in wanted if n in names and n not in found.values()]
        if free:
            found[column] = free[0]
    return found


def check_rows(frame: pl.DataFrame, shape: Shape) -> None:
    """Refuse an empty frame, null ids, and null or NaN numbers."""
    if frame.height == 0:
        raise EmptyError(f"the {shape.kind} frame has no rows")
    strict = _strict_columns(shape)
    bad = {c: _unusable(c, dtype) for c, dtype in frame.schema.items() if c in strict}
    counts = {c: frame.get_column(c).null_count() for c in bad}
    sums = {c: frame.get_column(c).sum() for c in bad if frame.schema[c].is_float()}
    # What is no number leaves none as its sum, which is sooner found than counted.
    floats = {c: bad[c].sum() for c, total in sums.items() if not isfinite(total)}
    if floats:
        counts |= frame.select(**floats).row(0, named=True)
    wrong = {column: count for column, count in counts.items() if count}
    if not wrong:
        return
    what = ", ".join(f"{count} in {column!r}" for column, count in wrong.items())
    rows = frame.with_row_index("row").filter(pl.any_horizontal(bad[c] for c in wrong))
    unusable = "null, NaN or infinite" if "relevance" in floats else "null or NaN"
    raise RowError(
        f"the {shape.kind} frame holds {unusable} values: {what}. "
        f"Drop or fill them first. First rows:\n{first_rows(rows.head(10), rows.height)}"
    )


def refuse_duplicates(frame: pl.DataFrame, shape: Shape) -> None:
    """Refuse a frame in which a key stands more than once, and show the rows."""
    keys = [c for c in shape.key if c in frame.columns]
    if keys in ([], ["system"]) or all_differ(frame, keys):
        return
    rows = frame.with_row_index("row").filter(pl.struct(keys).is_duplicated())
    if rows.height == 0:
        return
    hint = (
        ' Keep the best-scored row of each pair with duplicates="best".'
        if shape.kind == "run"
        else " Keep one row of each."
    )
    raise RowError(
        f"the {shape.kind} frame has {rows.height} rows whose ({', '.join(keys)}) stands more "
        f"than once.{hint} First rows:\n{first_rows(rows.sort(*keys, 'row').head(10), rows.height)}"
    )


def keep_best(frame: Frame, shape: Shape) -> Frame:
    """One row for each key: the highest score of a run, the highest grade of qrels."""
    keys = [c for c in shape.key if c in frame.collect_schema().names()]
    by = {"run": "score", "qrels": "relevance"}.get(shape.kind)
    ordered = frame.sort(by, descending=True, maintain_order=True) if by else frame
    return ordered.unique(keys, keep="first", maintain_order=True)


def _listed(names: list[str]) -> str:
    return ", ".join(repr(n) for n in names) or "no columns at all"


def _require(shape: Shape, found: dict[str, str], names: list[str]) -> None:
    missing = [column for column in shape.required if column not in found]
    if missing:
        lines = [
            f"  {column!r}, which may also be called {_listed(list(shape.aliases[column]))}"
            for column in missing
        ]
        raise ColumnError(
            f"the {shape.kind} frame lacks\n"
            + "\n".join(lines)
            + f"\nfound: {_listed(names)}. Rename the column, or name yours where you read the "
            + f"file: read_{shape.kind}(path, columns={{{missing[0]!r}: 'your name'}})"
            + _looks_like_other(shape.kind, names)
        )
    if not found:
        raise ColumnError(
            f"no known column of {shape.kind}: found {_listed(names)}; "
            f"known are {', '.join(shape.roles)}"
        )


def _refuse_run(frame: pl.DataFrame | pl.LazyFrame, schema: pl.Schema) -> None:
    """Grades may be called `score`, as in a run: ranks, systems and fractions tell them apart."""
    telling = [name for name in schema.names() if name in ("rank", "system", "tag", "run_id")]
    score = pl.col("score")
    if not telling and isinstance(frame, pl.DataFrame) and schema["score"].is_float():
        fractions = frame.filter(score.is_finite() & (score != score.round()))
        telling = [f"a score of {fractions['score'][0]}"] if fractions.height else []
    if telling:
        raise ColumnError(
            f"these qrels look like a run: they have {telling[0]}. The qrels come first, then the "
            "run: were the two swapped? If these are grades, rename the column to 'relevance'"
        )


def _looks_like_other(kind: Kind, names: list[str]) -> str:
    for other in ("run", "qrels"):
        shape = KINDS[other]
        if other != kind and all(c in find_columns(shape, names, {}) for c in shape.required):
            return f"\nThese columns look like {ARTICLE[other]}: were the arguments swapped?"
    return ""


def _score_from_rank(frame: Frame, found: dict[str, str]) -> tuple[Frame, pl.Schema]:
    """A run that only says ranks: the score is minus the rank, so that 1 comes first."""
    scored = frame.with_columns((-pl.col(found["rank"]).cast(pl.Float64)).alias("score"))
    found["score"] = "score"
    lazy = isinstance(scored, pl.LazyFrame)
    return scored, scored.collect_schema() if lazy else scored.schema


def _target(shape: Shape, column: str, dtype: pl.DataType) -> pl.DataType:
    role = shape.roles[column]
    if role == "grade":
        return pl.Float64() if dtype.is_float() or dtype.is_decimal() else pl.Int64()
    return DTYPES[role]


def _picked(schema: pl.Schema, shape: Shape, found: dict[str, str]) -> list[pl.Expr]:
    """The columns by the house's names and types, and the others where the kind keeps them."""
    picked = [
        _coerced(pl.col(name), schema[name], shape, column, name).alias(column)
        for column, name in found.items()
    ]
    if shape.keeps_extra:
        taken = {*found.values(), *found}
        picked += [pl.col(name) for name in schema.names() if name not in taken]
    return picked


def _coerced(values: pl.Expr, dtype: pl.DataType, shape: Shape, column: str, name: str) -> pl.Expr:
    role = shape.roles[column]
    accepts, hint = ACCEPTED[role]
    if dtype == pl.Null or accepts(dtype):
        if role == "grade" and dtype == pl.String:
            return values.cast(pl.Float64)
        return values.cast(_target(shape, column, dtype))
    raise ColumnError(
        f"column {name!r} of the {shape.kind} frame is {dtype!s:.60}; {column!r} needs {hint}"
    )


def _is_id(dtype: pl.DataType) -> bool:
    return dtype == pl.String or dtype.is_integer() or dtype in (pl.Categorical, pl.Enum)


def _is_text(dtype: pl.DataType) -> bool:
    return dtype == pl.String or dtype in (pl.Categorical, pl.Enum)


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.String, pl.Boolean)


def _is_list_of(inner: Any) -> Any:
    def accepts(dtype: pl.DataType) -> bool:
        held = getattr(dtype, "inner", None)
        return held is not None and (held == pl.Null or inner(held))

    return accepts


ACCEPTED: dict[Role, tuple[Any, str]] = {
    "id": (_is_id, "strings or whole numbers (numbers become strings)"),
    "text": (_is_text, "strings"),
    "number": (_is_number, "numbers"),
    "whole": (_is_number, "whole numbers"),
    "grade": (_is_number, "numbers"),
    "texts": (_is_list_of(_is_text), "a list of strings in each row"),
    "ids": (_is_list_of(_is_id), "a list of ids in each row"),
}


def _cast(frame: Frame, picked: list[pl.Expr], shape: Shape, found: dict[str, str]) -> Frame:
    try:
        return frame.select(picked)
    except pl.exceptions.InvalidOperationError as error:
        raise not_numbers(shape, list(found.values()), error) from error


def not_numbers(shape: Shape, names: list[str], error: Exception) -> ColumnError:
    """What to say where a cast to numbers failed."""
    return ColumnError(
        f"a column of the {shape.kind} frame holds values that cannot be read as numbers "
        f"(looked at {_listed(names)}): {str(error).splitlines()[0]}"
    )


def _strict_columns(shape: Shape) -> set[str]:
    """Columns in which a null is refused: keys, scores and grades."""
    return {*shape.key, *shape.required} - ({"text", "system"} if shape.keeps_extra else set())


def _unusable(column: str, dtype: pl.DataType) -> pl.Expr:
    values = pl.col(column)
    if column == "relevance" and dtype.is_float():
        return ~values.is_finite() | values.is_null()
    return values.is_null() | values.is_nan() if dtype.is_float() else values.is_null()


def fails_where(bad: pl.Expr, message: str, column: str, dtype: pl.DataType) -> pl.Expr:
    """A column whose plan fails with the message on a bad row, by a cast that cannot succeed."""
    broken = pl.when(bad).then(pl.lit(message)).cast(pl.Int64)
    return pl.when(bad).then(broken.cast(dtype)).otherwise(pl.col(column)).alias(column)


def _check_lazily(plan: pl.LazyFrame, shape: Shape, duplicates: Duplicates) -> pl.LazyFrame:
    """Let the plan itself fail on a null or NaN number, and on repeated keys if asked."""
    strict = _strict_columns(shape)
    schema = plan.collect_schema()
    checked = []
    for column, dtype in schema.items():
        if column not in strict:
            continue
        message = f"null or NaN in column {column} of the {shape.kind} frame"
        checked.append(fails_where(_unusable(column, dtype), message, column, dtype))
    plan = plan.with_columns(checked)
    keys = [c for c in shape.key if c in schema.names()]
    if duplicates != "check" or not keys:
        return plan
    message = f"a ({', '.join(keys)}) stands more than once in the {shape.kind} frame"
    repeated = pl.len().over(keys) > 1
    return plan.with_columns(fails_where(repeated, message, keys[-1], pl.String()))
