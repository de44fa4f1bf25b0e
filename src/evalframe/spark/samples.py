"""RAG samples in Spark: each batch of rows is scored as a local frame is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from evalframe.columns import SAMPLES
from evalframe.errors import ColumnError
from evalframe.frames import find_columns
from evalframe.samples.checks import checked_samples
from evalframe.samples.scoring import DEFAULT_METRICS
from evalframe.samples.scoring import per_sample as score_samples
from evalframe.scoring.buckets import naming
from evalframe.spark.frames import (
    LOOKED_AT,
    by_place,
    ddl,
    dtype_of,
    kept,
    local_frame,
    place_of,
    places,
    quoted,
    refuse_local,
)
from evalframe.spark.workers import local_errors
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
        `best_reference` and `status`. Some samples are looked at right away; all else waits for an
        action. Ids that stand more than once are found within a batch of rows only
        (`spark.sql.execution.arrow.maxRecordsPerBatch`).

    Raises
    ------
    EvalframeError
        What `evalframe.per_sample` raises, where columns, types or the first samples tell. What
        only a worker sees is raised by Spark, when the frame is used; the message names the first
        sample of the batch.

    Examples
    --------
    >>> per_sample(samples, ["token_f1"]).where("token_f1 < 0.2")  # doctest: +SKIP
    """
    refuse_local(samples, "samples")
    types = {field.name: field.dataType for field in samples.schema.fields}
    found = find_columns(SAMPLES, [*types], columns or {})
    if "query_id" not in found:
        raise ColumnError(
            "samples in Spark need a query_id, since their rows have no number; give them one, "
            "for example with monotonically_increasing_id()"
        )
    own = {column: place_of(name, samples.columns, "samples") for column, name in found.items()}
    used = {*found.values()}
    dtypes = {name: dtype_of(types[name]) if name in used else pl.Null() for name in types}
    given = by_place(samples)
    with local_errors():
        known = given.selectExpr(*(f"{place} as {column}" for column, place in own.items()))
        checked_samples(local_frame(known.limit(LOOKED_AT)))
    asked = kept(metrics)
    plan = score_samples(pl.LazyFrame(schema=dtypes), asked, profile=profile, columns=columns)
    shown = [*_columns(plan.collect_schema(), found, samples)]
    as_ddl = ddl(dict(zip(places(len(shown)), (one.sql for one in shown), strict=True)))
    score = _scoring(asked, profile, own, [one.source for one in shown])
    return given.mapInArrow(score, as_ddl).toDF(*(one.name for one in shown))


class Column(NamedTuple):
    """A column of the result: its name, its type, and what it is called where it comes from."""

    name: str
    sql: str
    source: str


def _columns(schema: pl.Schema, found: Mapping[str, str], samples: Any) -> Iterator[Column]:
    """The columns of the result in their order; those that are not known pass by as they are."""
    fields = samples.schema.fields
    for name, dtype in schema.items():
        same = [place for place, field in enumerate(fields) if field.name == name]
        if name in found or not same:
            yield Column(name, _sql(dtype), name)
            continue
        for place in same:
            yield Column(name, fields[place].dataType.simpleString(), places(len(fields))[place])


def _scoring(
    metrics: str | list[str], profile: Profile, own: dict[str, str], sources: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that scores batches, whose columns are called by their places."""

    def score_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            table = pa.Table.from_batches([batch])
            first = table[own["query_id"]][0].as_py()
            with naming(partial("the batch of sample {!r}".format, first)):
                rows = pl.DataFrame(table.select([*own.values()]).rename_columns([*own]))
                scored = score_samples(rows, metrics, profile=profile).to_arrow()
                yield from _beside(scored, table, sources).to_batches()

    return score_batches


def _beside(scored: pa.Table, table: pa.Table, sources: list[str]) -> pa.Table:
    """The scored columns in Spark's types, and the others untouched, called by their places."""
    columns = [
        _plain(scored[name]) if name in scored.column_names else table[name] for name in sources
    ]
    return pa.table(columns, names=places(len(columns))).combine_chunks()


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
