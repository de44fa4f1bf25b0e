"""Fusion in Spark: the lists of a query meet in its bucket, and are fused there as locally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa

from evalframe.errors import OptionError
from evalframe.frames import Duplicates, collected, conform
from evalframe.fusion import fuse as fuse_locally
from evalframe.fusion.methods import read_method
from evalframe.fusion.weights import Weights, named_weights
from evalframe.ranking.ties import Ties
from evalframe.scoring.buckets import naming
from evalframe.spark.frames import BUCKET, bucketed, ddl, literal, n_buckets
from evalframe.spark.systems import named_runs, united
from evalframe.spark.workers import SYSTEMS, as_table, first_query

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
        A run: `query_id`, `doc_id`, `score`, in no order.

    Raises
    ------
    EvalframeError
        What `evalframe.fuse` raises, where arguments, columns and types tell; what only a worker
        sees is raised by Spark, when the frame is used.

    Examples
    --------
    >>> fused = fuse({"bm25": bm25, "dense": dense}, "rrf", k=60)  # doctest: +SKIP
    """
    if read_method(method).trained and train_runs is None:
        raise OptionError(
            f"{method} learns from all training queries at once: give it train_runs= that are not "
            "in Spark, or fuse lazy frames with evalframe.fuse"
        )
    named = named_runs(runs)
    names = [] if named is None else [*named]
    if weights is not None:
        weights = named_weights(names, weights)
    settings: dict[str, Any] = {
        "method": method,
        "norm": norm,
        "weights": weights,
        "train_qrels": train_qrels,
        "train_runs": train_runs,
        "rel": rel,
        "ties": ties,
        "depth": depth,
        "duplicates": duplicates,
        **parameters,
    }
    _try_out(names or [*(weights or {"a": 1.0})], settings)
    lists = united(runs, ties)
    n = n_buckets(buckets, lists.sparkSession)
    each = lists.sparkSession.range(n).selectExpr(f"id as {BUCKET}")
    if named is None:
        sides = each.crossJoin(lists.selectExpr(f"collect_set(system) as {SYSTEMS}"))
    else:
        known = ", ".join(map(literal, names))
        sides = each.selectExpr(BUCKET, f"array({known}) as {SYSTEMS}")
    both = sides.groupBy(BUCKET).cogroup(bucketed(lists, n))
    return both.applyInArrow(_fusing(settings), ddl(SCHEMA))


def _try_out(names: list[str], settings: dict[str, Any]) -> None:
    """Fuse next to nothing here, so that what is wrong with the arguments is said here."""
    fuse_locally({name: {"q": [("d", 1.0)]} for name in names}, **settings)


def _fusing(settings: dict[str, Any]) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The function that fuses a bucket, knowing all systems."""

    def fuse_tables(sides: pa.Table, lists: pa.Table) -> pa.Table:
        if not lists.num_rows:
            return as_table(pl.DataFrame(schema=dict.fromkeys(SCHEMA, pl.String)), SCHEMA)
        rows = pl.DataFrame(lists)
        with naming(lambda: first_query(rows)):
            run = conform(rows, "run", duplicates=settings["duplicates"])
            systems = pl.DataFrame(sides).select(pl.col(SYSTEMS).explode().alias("system"))
            # Some methods count all systems: each has a list of one more query.
            other = f"{run['query_id'].sort().to_list()[-1]} "
            row = {"query_id": other, "doc_id": "", "score": 1.0, "rank": 1}
            company = systems.join(pl.DataFrame([row]), how="cross")
            together = pl.concat([run, company.select(run.columns)])
            fused = collected(fuse_locally(together, **settings), "run")
            return as_table(fused.filter(pl.col("query_id") != other), SCHEMA)

    return fuse_tables
