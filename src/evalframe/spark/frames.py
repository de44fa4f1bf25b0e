"""Spark frames at the door: their columns found and named, their rows in buckets of queries.

Nothing here imports pyspark: a Spark frame brings its session along, and what is asked of it is
written in SQL, which classic Spark, Spark Connect and Sail understand alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.errors import FrameError, OptionError, whole_number
from evalframe.frames import Duplicates, conform, find_columns

__all__ = [
    "BUCKET",
    "GIVEN_BY_DEFAULT",
    "bucketed",
    "checked",
    "ddl",
    "dtype_of",
    "head_of",
    "is_spark",
    "literal",
    "local_frame",
    "n_buckets",
    "quoted",
    "to_spark",
]

BUCKET = "query_bucket"
GIVEN_BY_DEFAULT = 200
"""Buckets where the session does not say how many partitions a shuffle has."""
LOOKED_AT = 1_000
"""Rows of a frame that are looked at before anything else is done."""

DTYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "tinyint": pl.Int8(),
    "smallint": pl.Int16(),
    "int": pl.Int32(),
    "bigint": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "void": pl.Null(),
}
"""Polars' type for each of Spark's that an evaluation can read; other types are refused."""


def is_spark(data: object) -> bool:
    """Whether this is a Spark frame, of classic Spark or Spark Connect."""
    return type(data).__module__.startswith("pyspark.") and hasattr(data, "selectExpr")


def quoted(name: str) -> str:
    """A column's name as SQL has it.

    >>> quoted("corpus-id")
    '`corpus-id`'
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string as SQL has it.

    >>> print(literal("l'eau"))
    'l\\'eau'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def dtype_of(simple: str) -> pl.DataType:
    """Polars' type for one of Spark's, by its short name.

    >>> dtype_of("array<string>"), dtype_of("varchar(8)"), dtype_of("date")
    (List(String), String, Binary)
    """
    if simple.startswith(("varchar", "char")):
        return pl.String()
    if simple.startswith("decimal"):
        return pl.Decimal(38, 0)
    if simple.startswith("array<"):
        return pl.List(dtype_of(simple.removeprefix("array<").removesuffix(">")))
    return DTYPES.get(simple, pl.Binary())


def checked(frame: Any, kind: Kind, *, ranks: bool = False) -> Any:
    """A Spark frame with the house's columns, once their names and types will do.

    Ids of queries and systems become strings here, so that both sides fall into the same bucket;
    everything else is coerced and checked where the rows are. Ranks are kept if they are wanted,
    or where there is no score.

    Raises
    ------
    FrameError
        This is no Spark frame.
    ColumnError
        A column is missing or of a type that cannot be used, as of a local frame.
    """
    if not is_spark(frame):
        raise FrameError(
            f"the {kind} must be a Spark frame here, not {type(frame).__name__}; "
            "spark.createDataFrame makes one"
        )
    names = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    found = find_columns(KINDS[kind], list(names), {})
    dtypes = {name: dtype_of(names[name]) for name in names if name in found.values()}
    others = dict.fromkeys((n for n in names if n not in dtypes), pl.Null())
    conform(pl.LazyFrame(schema={n: {**dtypes, **others}[n] for n in names}), kind)
    if "score" in found and not ranks:
        found.pop("rank", None)
    as_id = ("query_id", "system")
    return frame.selectExpr(
        *(
            f"cast({quoted(name)} as string) as {column}"
            if column in as_id
            else f"{quoted(name)} as {column}"
            for column, name in found.items()
        )
    )


def head_of(frame: Any, kind: Kind, duplicates: Duplicates = "error") -> pl.DataFrame:
    """Some rows of a checked frame, in memory, and looked through as all rows of a local one."""
    return conform(local_frame(frame.limit(LOOKED_AT)), kind, duplicates=duplicates)


def local_frame(frame: Any) -> pl.DataFrame:
    """All rows of a Spark frame, in memory."""
    return pl.DataFrame(frame.toArrow())


def to_spark(frame: pl.DataFrame, session: Any) -> Any:
    """A local frame as a Spark frame."""
    return session.createDataFrame(frame.to_arrow())


def bucketed(frame: Any, n: int) -> Any:
    """The frame in groups of queries; a query's bucket depends on its id alone."""
    key = f"pmod(xxhash64(query_id), {n}) as {BUCKET}"
    return frame.selectExpr("*", key).groupBy(BUCKET)


def n_buckets(buckets: int | None, session: Any) -> int:
    """How many buckets: as many as a shuffle has partitions, if nothing is said."""
    if buckets is not None:
        return whole_number("buckets", buckets)
    try:
        return whole_number("buckets", int(session.conf.get("spark.sql.shuffle.partitions")))
    except (OptionError, TypeError, ValueError, RuntimeError):
        return GIVEN_BY_DEFAULT


def ddl(columns: Mapping[str, str]) -> str:
    """A schema as SQL has it.

    >>> ddl({"query_id": "string", "ndcg@10": "double"})
    '`query_id` string, `ndcg@10` double'
    """
    return ", ".join(f"{quoted(name)} {dtype}" for name, dtype in columns.items())
