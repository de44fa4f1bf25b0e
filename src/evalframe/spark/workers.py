"""What runs in Spark's workers: the local code on one bucket, between two Arrow tables.

A session cannot be sent to a worker, so nothing here holds one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from evalframe import errors
from evalframe.errors import EvalframeError
from evalframe.frames import conform
from evalframe.scoring import Asked, Contract
from evalframe.scoring.asked import JUDGED, POSITIVE
from evalframe.scoring.buckets import completed, naming, score_bucket
from evalframe.spark.frames import places

__all__ = [
    "SYSTEMS",
    "as_table",
    "first_query",
    "frame_of",
    "local_errors",
    "scoring",
    "values_schema",
]

SYSTEMS = "systems"
ARROW = {"double": pa.float64(), "bigint": pa.int64(), "boolean": pa.bool_()}

RAISED = re.compile(r".*evalframe\.errors\.(\w+Error): (.*)", re.DOTALL)
"""The last error of a traceback: what stands above it is its cause."""
AFTERWARDS = re.compile(r"\n*(\s*SQLSTATE: \w+|\n\s+at [\w.$]+\(|\n+JVM stacktrace:).*", re.DOTALL)


def values_schema(asked: list[Asked], has_systems: bool) -> dict[str, str]:
    """The columns that `scoring` gives, in their order, with their types."""
    return {
        **({"system": "string"} if has_systems else {}),
        "query_id": "string",
        "n_retrieved": "bigint",
        **{one.name: "double" for one in asked},
        POSITIVE: "boolean",
        JUDGED: "double",
    }


def scoring(
    asked: list[Asked], contract: Contract, has_systems: bool
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The function that scores a bucket of the run by a bucket of the qrels.

    It gives the columns of `values_schema`, called by their places.
    """
    schema = values_schema(asked, has_systems)

    def score_tables(qrels: pa.Table, run: pa.Table) -> pa.Table:
        judged, listed = frame_of(qrels), frame_of(run)
        with naming(lambda: first_query(judged, listed)):
            values = as_table(_values(judged, listed, asked, contract, has_systems), schema, run)
            return values.rename_columns(places(len(schema)))

    return score_tables


def _values(
    judged: pl.DataFrame,
    listed: pl.DataFrame,
    asked: list[Asked],
    contract: Contract,
    has_systems: bool,
) -> pl.DataFrame:
    values = []
    qrels = judged
    if judged.height:
        qrels = conform(judged, "qrels")
    if listed.height:
        run = conform(listed, "run", duplicates=contract.duplicates)
        values.append(score_bucket(qrels, run, asked, contract))
    if not judged.height:
        return pl.concat(values)
    systems = judged[SYSTEMS].head(1).explode() if has_systems else None
    return completed(values, qrels, systems, asked, contract)


def frame_of(table: pa.Table) -> pl.DataFrame:
    """The table as a frame, in its own pieces: one piece would need the memory of both."""
    return pl.from_arrow(table, rechunk=False)  # type: ignore[return-value]


def as_table(frame: pl.DataFrame, schema: Mapping[str, str], given: pa.Table) -> pa.Table:
    """The frame with these columns, as Spark takes it for the table given; what it lacks is null.

    A session may ask for large strings (`spark.sql.execution.arrow.useLargeVarTypes`): it gives
    them, and from PySpark 4.3 on wants them back.
    """
    large = pa.types.is_large_string(given.schema.field("query_id").type) and _pyspark() >= (4, 3)
    arrow = {"string": pa.large_string() if large else pa.string(), **ARROW}
    lacking = [pl.lit(None).alias(name) for name in schema if name not in frame.columns]
    table = frame.with_columns(lacking).select(list(schema)).to_arrow()
    return table.cast(pa.schema([(name, arrow[dtype]) for name, dtype in schema.items()]))


def _pyspark() -> tuple[int, ...]:
    """The version of PySpark that this worker was started by."""
    return tuple(map(int, sys.modules["pyspark"].__version__.split(".")[:2]))


def first_query(*frames: pl.DataFrame) -> str:
    """How errors name a bucket."""
    ids = pl.concat([frame["query_id"].cast(pl.String) for frame in frames])
    return f"the bucket of query {ids.min()!r}"


@contextmanager
def local_errors() -> Iterator[None]:
    """Raise what evalframe raised in a worker as the error it was there."""
    try:
        yield
    except EvalframeError:
        raise
    except Exception as error:
        raised = RAISED.search(AFTERWARDS.sub("", str(error)))
        kind = getattr(errors, raised[1], None) if raised else None
        if raised is None or kind is None:
            raise
        raise kind(raised[2].rstrip()) from error
