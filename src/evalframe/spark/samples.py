"""RAG samples in Spark: each batch of rows is scored as a local frame is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

from evalframe.columns import SAMPLES
from evalframe.errors import ColumnError, FrameError
from evalframe.frames import find_columns
from evalframe.samples.scoring import DEFAULT_METRICS
from evalframe.samples.scoring import per_sample as score_samples
from evalframe.scoring.buckets import naming
from evalframe.spark.frames import dtype_of, is_spark, quoted
from evalframe.text import Profile

__all__ = ["per_sample"]

SQL = {pl.String(): "string", pl.Float64(): "double", pl.Int64(): "bigint"}


def per_sample(
    samples: Any,
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    *,
    profile: Profile = "squad_v1",
    columns: Mapping[str, str] | None = None,
) -> Any:
    """Score each sample: the values of `evalframe.per_sample`, to the last bit.

    Parameters
    ----------
    samples
        A Spark frame with a `query_id`: rows have no number in Spark.
    metrics, profile, columns
        As `evalframe.per_sample` takes them.

    Returns
    -------
    pyspark.sql.DataFrame
        The samples' columns, those that are known under the house's names, then the metrics,
        `best_reference` and `status`. Ids that stand more than once are found within a batch of
        rows only (`spark.sql.execution.arrow.maxRecordsPerBatch`).

    Raises
    ------
    EvalframeError
        Unknown metrics, columns that are missing or of a wrong type. What only a worker sees is
        raised by Spark, when the frame is used; the message names the first sample of the batch.

    Examples
    --------
    >>> per_sample(samples, ["token_f1"]).where("token_f1 < 0.2")  # doctest: +SKIP
    """
    if not is_spark(samples):
        raise FrameError(
            f"the samples must be a Spark frame here, not {type(samples).__name__}; "
            "spark.createDataFrame makes one"
        )
    types = {field.name: field.dataType.simpleString() for field in samples.schema.fields}
    found = find_columns(SAMPLES, list(types), columns or {})
    if "query_id" not in found:
        raise ColumnError(
            "samples in Spark need a query_id, since their rows have no number; give them one, "
            "for example with monotonically_increasing_id()"
        )
    known = {name: column for column, name in found.items()}
    dtypes = {name: dtype_of(types[name]) if name in known else pl.Null() for name in types}
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    plan = score_samples(pl.LazyFrame(schema=dtypes), asked, profile=profile, columns=columns)
    schema = {
        name: types[name] if name in types and name not in found else _sql(dtype)
        for name, dtype in plan.collect_schema().items()
    }
    as_ddl = ", ".join(f"{quoted(name)} {sql}" for name, sql in schema.items())
    return samples.mapInArrow(_scoring(asked, profile, found, [*schema]), as_ddl)


def _scoring(
    metrics: list[str], profile: Profile, found: dict[str, str], names: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that scores batches; columns that are not known pass by as they are."""

    def score_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            table = pa.Table.from_batches([batch])
            with naming(partial("the batch of sample {!r}".format, _first(table, found))):
                rows = pl.DataFrame(table.select(list(found.values())).rename_columns(list(found)))
                scored = score_samples(rows, metrics, profile=profile)
                yield from _beside(scored, table, names).to_batches()

    return score_batches


def _first(table: pa.Table, found: dict[str, str]) -> Any:
    return table[found["query_id"]][0].as_py()


def _beside(scored: pl.DataFrame, table: pa.Table, names: list[str]) -> pa.Table:
    """The scored columns in Spark's types, and the others untouched, in their order."""
    values = scored.to_arrow()
    columns = {
        name: _plain(values[name]) if name in values.column_names else table[name] for name in names
    }
    return pa.table(columns).combine_chunks()


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(_plain_type(values.type))


def _plain_type(dtype: pa.DataType) -> pa.DataType:
    """Arrow's type without 64-bit offsets, as Spark has it."""
    if pa.types.is_large_list(dtype) or pa.types.is_list(dtype):
        return pa.list_(_plain_type(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([(field.name, _plain_type(field.type)) for field in dtype])
    return pa.string() if pa.types.is_large_string(dtype) else dtype


def _sql(dtype: Any) -> str:
    if isinstance(dtype, pl.List):
        return f"array<{_sql(dtype.inner)}>"
    if isinstance(dtype, pl.Struct):
        inner = (f"{quoted(field.name)}: {_sql(field.dtype)}" for field in dtype.fields)
        return f"struct<{', '.join(inner)}>"
    return SQL[dtype]
