"""Spark frames at the door: their columns found and named, their rows in buckets of queries.

Nothing here imports pyspark: a Spark frame brings its session along, and what is asked of it is
written in SQL, which classic Spark, Spark Connect and Sail understand alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalframe.columns import KINDS, Kind
from evalframe.errors import ColumnError, FrameError, OptionError, whole_number
from evalframe.frames import Duplicates, conform, find_columns

__all__ = [
    "BUCKET",
    "GIVEN_BY_DEFAULT",
    "LOOKED_AT",
    "bucketed",
    "by_place",
    "checked",
    "ddl",
    "dtype_of",
    "head_of",
    "is_spark",
    "kept",
    "literal",
    "local_frame",
    "n_buckets",
    "place_of",
    "places",
    "quoted",
    "refuse_local",
    "to_spark",
]

BUCKET = "query_bucket"
GIVEN_BY_DEFAULT = 200
"""Buckets where the session does not say how many partitions a shuffle has."""
LOOKED_AT = 1_000
"""Rows of a frame that are looked at before anything else is done."""

DTYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "varchar": pl.String(),
    "char": pl.String(),
    "tinyint": pl.Int8(),
    "byte": pl.Int8(),
    "smallint": pl.Int16(),
    "short": pl.Int16(),
    "int": pl.Int32(),
    "integer": pl.Int32(),
    "bigint": pl.Int64(),
    "long": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "void": pl.Null(),
    "date": pl.Date(),
    "time": pl.Time(),
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
    "daytimeinterval": pl.Duration("us"),
    "binary": pl.Binary(),
}
"""Polars' type for each of Spark's."""


def is_spark(data: object) -> bool:
    """Whether this is a Spark frame, of classic Spark or Spark Connect."""
    return type(data).__module__.startswith("pyspark.") and hasattr(data, "selectExpr")


def kept(given: Any) -> Any:
    """What was given; what can be gone through once only, as a list.

    >>> kept(name for name in ("map", "mrr"))
    ['map', 'mrr']
    """
    once = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    return list(given) if once and not hasattr(given, "columns") else given


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


def dtype_of(spark_type: Any) -> pl.DataType:
    """Polars' type for one of Spark's; Object where it has none."""
    if hasattr(spark_type, "elementType"):
        return pl.List(dtype_of(spark_type.elementType))
    if hasattr(spark_type, "keyType"):
        return pl.Map(dtype_of(spark_type.keyType), dtype_of(spark_type.valueType))
    if hasattr(spark_type, "fields"):
        return pl.Struct({field.name: dtype_of(field.dataType) for field in spark_type.fields})
    if hasattr(spark_type, "scale"):
        return pl.Decimal(spark_type.precision, spark_type.scale)
    return DTYPES.get(spark_type.typeName(), pl.Object())


def refuse_local(frame: Any, what: str) -> None:
    """Refuse what is no Spark frame."""
    if not is_spark(frame):
        raise FrameError(
            f"the {what} must be a Spark frame here, not {type(frame).__name__}; "
            "spark.createDataFrame makes one"
        )


def by_place(frame: Any) -> Any:
    """The frame with columns that are called by their places, from `column_0`.

    Names tell no columns apart in Spark: it knows no case, and two may have the same.
    """
    return frame.toDF(*places(len(frame.columns)))


def places(n: int) -> list[str]:
    """What `by_place` calls so many columns.

    >>> places(2)
    ['column_0', 'column_1']
    """
    return [f"column_{place}" for place in range(n)]


def place_of(name: str, names: list[str], what: str = "frame") -> str:
    """What `by_place` calls the column of this name.

    Raises
    ------
    ColumnError
        There are several.

    >>> place_of("score", ["query_id", "score"])
    'column_1'
    """
    if names.count(name) > 1:
        raise ColumnError(
            f"the {what} has {names.count(name)} columns named {name!r}; rename or drop all but one"
        )
    return places(len(names))[names.index(name)]


def checked(frame: Any, kind: Kind, *, ranks: bool = False) -> Any:
    """A Spark frame with the house's columns, once their names and types will do.

    Ids become strings here, so that both sides fall into the same bucket; everything else is
    coerced and checked where the rows are. Ranks are kept if they are wanted, or where there is no
    score.

    Raises
    ------
    FrameError
        This is no Spark frame.
    ColumnError
        A column is missing, stands twice, or is of a type that cannot be used, as of a local frame.
    """
    refuse_local(frame, kind)
    types = {field.name: field.dataType for field in frame.schema.fields}
    found = find_columns(KINDS[kind], [*types], {})
    own = {column: place_of(name, frame.columns, f"{kind} frame") for column, name in found.items()}
    used = {*found.values()}
    dtypes = {n: dtype_of(types[n]) if n in used else pl.Null() for n in types}
    conform(pl.LazyFrame(schema=dtypes), kind)
    if "score" in found and not ranks:
        own.pop("rank", None)
    roles = KINDS[kind].roles
    return by_place(frame).selectExpr(
        *(
            f"cast({place} as string) as {column}"
            if roles[column] == "id"
            else f"{place} as {column}"
            for column, place in own.items()
        )
    )


def head_of(frame: Any, kind: Kind, duplicates: Duplicates = "error") -> pl.DataFrame:
    """Some rows of a checked frame, in memory, and looked through as all rows of a local one."""
    return conform(local_frame(frame.limit(LOOKED_AT)), kind, duplicates=duplicates)


def local_frame(frame: Any) -> pl.DataFrame:
    """All rows of a Spark frame, in memory.

    Raises
    ------
    FrameError
        The frame's session has stopped.
    """
    try:
        return pl.DataFrame(frame.toArrow())
    except AttributeError as error:
        # A classic session that has stopped has lost what it asks for anything.
        context = getattr(frame.sparkSession, "_sc", None)
        if context is None or context._jsc is not None:
            raise
        raise FrameError(
            "the Spark session of this frame has stopped: make the frame again in one that runs"
        ) from error


def to_spark(frame: pl.DataFrame, session: Any) -> Any:
    """A local frame as a Spark frame."""
    return session.createDataFrame(frame.to_arrow())


def bucketed(frame: Any, n: int) -> Any:
    """The frame in groups of queries; a query's bucket depends on its id alone."""
    key = f"cast(pmod(xxhash64(query_id), {n}) as int) as {BUCKET}"
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
