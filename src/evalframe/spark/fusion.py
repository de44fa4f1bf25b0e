"""Fusion in Spark: the lists of a query meet in its bucket, and are fused there as locally."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from evalframe.errors import OptionError
from evalframe.frames import Duplicates, collected
from evalframe.fusion import fuse as fuse_locally
from evalframe.fusion.methods import read_method
from evalframe.fusion.weights import Weights
from evalframe.ranking.ties import Ties
from evalframe.scoring.buckets import naming
from evalframe.spark.frames import BUCKET, bucketed, ddl, kept, literal, n_buckets
from evalframe.spark.systems import checked_runs, stand_ins, systems_in, united
from evalframe.spark.workers import SYSTEMS, as_table, first_query, frame_of

__all__ = ["fuse"]

SCHEMA = {"query_id": "string", "doc_id": "string", "score": "double"}


def fuse(
    runs: Any,
    method: str = "rrf",
    *,
    norm: str | None = "min_max",
    weights: Weights | None = None,
    train_qrels: Any = None,
    train_runs: Any = None,
    rel: float | None = None,
    ties: Ties = "trec",
    depth: int | None = None,
    duplicates: Duplicates = "error",
    buckets: int | None = None,
    **parameters: Any,
) -> Any:
    """Fuse several runs into one: the scores of `evalframe.fuse`, to the last bit.

    Parameters
    ----------
    runs
        A mapping name → Spark frame, a list of Spark frames, or one with a `system` column.
    method, norm, weights, rel, ties, depth, duplicates, **parameters
        As `evalframe.fuse` takes them. `ties="given"` goes by a `rank` column.
    train_qrels, train_runs
        What the trained methods learn from: frames, dicts or paths here, not in Spark, since they
        learn from all of it at once; every bucket gets them.
    buckets
        See `evalframe.spark.per_query`.

    Returns
    -------
    pyspark.sql.DataFrame
        A run: `query_id`, `doc_id`, `score`, in no order. Some rows of each run are looked at right
        away, and the column of systems where they have weights or are learnt from; all else waits
        for an action.

    Raises
    ------
    EvalframeError
        What `evalframe.fuse` raises, where arguments, columns, types or the first rows tell. What
        only a worker sees is raised by Spark, when the frame is used: the message names the first
        query of the bucket.

    Examples
    --------
    >>> fused = fuse({"bm25": bm25, "dense": dense}, "rrf", k=60)  # doctest: +SKIP
    """
    if read_method(method).trained and train_runs is None:
        raise OptionError(
            f"{method} learns from all training queries at once: give it train_runs= that are not "
            "in Spark, or fuse lazy frames with evalframe.fuse"
        )
    given = kept(runs)
    found = checked_runs(given, ties, duplicates)
    settings: dict[str, Any] = {
        "method": method,
        "norm": norm,
        "weights": kept(weights),
        "train_qrels": train_qrels,
        "train_runs": train_runs,
        "rel": rel,
        "ties": ties,
        "depth": depth,
        "duplicates": duplicates,
        **parameters,
    }
    names = [name for name in found if name is not None]
    column = found.get(None)
    by_name = isinstance(weights, Mapping) or train_runs is not None
    if by_name and column is not None and "system" in column.columns:
        names = systems_in(column)
    fuse_locally(stand_ins(given, found, names or None), **settings)
    lists = united(found)
    n = n_buckets(buckets, lists.sparkSession)
    each = lists.sparkSession.range(n).selectExpr(f"cast(id as int) as {BUCKET}")
    if names:
        known = ", ".join(map(literal, names))
        sides = each.selectExpr(BUCKET, f"array({known}) as {SYSTEMS}")
    else:
        sides = each.crossJoin(lists.selectExpr(f"collect_set(system) as {SYSTEMS}"))
    both = sides.groupBy(BUCKET).cogroup(bucketed(lists, n))
    return both.applyInArrow(_fusing(settings, column is not None), ddl(SCHEMA))


def _fusing(settings: dict[str, Any], in_column: bool) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The function that fuses a bucket, knowing all systems."""

    def fuse_tables(sides: pa.Table, lists: pa.Table) -> pa.Table:
        if not lists.num_rows:
            return as_table(pl.DataFrame(schema=dict.fromkeys(SCHEMA, pl.String)), SCHEMA, lists)
        rows = frame_of(lists).drop(BUCKET)
        with naming(lambda: first_query(rows)):
            systems = frame_of(sides).select(pl.col(SYSTEMS).explode().alias("system"))
            together, other = _in_company(rows, systems)
            runs: Any = together if in_column else _by_system(together, systems)
            fused = collected(fuse_locally(runs, **settings), "run")
            return as_table(fused.filter(pl.col("query_id") != other), SCHEMA, lists)

    return fuse_tables


def _in_company(rows: pl.DataFrame, systems: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows, and those of one more query, which every system has: some methods count systems.

    It is the last by its id, and its rows are the last, so that errors number the others rightly.
    """
    last = rows["query_id"].drop_nulls().sort().tail(1).to_list()
    other = f"{last[0] if last else ''} "
    row = pl.DataFrame({"query_id": other, "doc_id": "", "score": 1.0, "rank": 1})
    company = systems.join(row, how="cross").select(rows.columns).cast(rows.schema)
    return pl.concat([rows, company]), other


def _by_system(rows: pl.DataFrame, systems: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Each system's rows by its name, in the order of the systems."""
    parts = rows.partition_by("system", as_dict=True, include_key=False)
    return {name: parts[(name,)] for name in systems["system"].to_list()}
