"""Runs of any size, some queries at a time: what is worked out query by query needs no more.

Runs that are plans are read once. While they are small they stay in memory; else they are kept in
Parquet files, for as long as somebody takes from the fused run. Queries are taken in the order of
their ids, so that parts one after the other are in order, and files in that order are read once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from evalframe.engine import batches, collect
from evalframe.fusion.lists import Frames

__all__ = ["as_plan", "in_parts", "kept"]

PART = 1_000_000
"""Rows of all lists together that are worked out at a time."""
GROUP = 50_000
"""Rows of a file that are read or left together."""
SMALL = 100_000
"""Rows below which the in-memory engine is quicker."""

FUSED = {"query_id": pl.String(), "doc_id": pl.String(), "score": pl.Float64()}

Worked = Callable[[Mapping[str | None, pl.LazyFrame], pl.LazyFrame | None], pl.LazyFrame]
"""The plan for some queries of the runs; with the `system` of every list where it is not all."""


def as_plan(parts: Callable[[], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """A fused run that is worked out part by part once it is asked for, and never held whole."""
    return register_io_source(
        _Source(parts), schema=FUSED, is_pure=True, explain_name="evalframe fuse"
    )


@dataclass(frozen=True)
class _Source:
    """Gives a plan's engine one part after the other."""

    parts: Callable[[], Iterator[pl.DataFrame]]

    def __call__(
        self,
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """The parts, of which the engine says what it needs."""
        for part in self.parts():
            rows = part if n_rows is None else part.head(n_rows)
            n_rows = None if n_rows is None else n_rows - rows.height
            rows = rows if predicate is None else rows.filter(predicate)
            yield rows if columns is None else rows.select(columns)
            if n_rows == 0:
                return


@contextmanager
def kept(frames: Frames) -> Iterator[Frames]:
    """The runs so that some queries of them can be read again and again: in query order.

    In memory they are one frame. In files each batch is in order, and the rows of a list stand as
    they stood in the run.
    """
    with tempfile.TemporaryDirectory(prefix="evalframe-fuse-") as folder:
        yield {
            name: _kept(frame, Path(folder, str(number)), PART // len(frames))
            for number, (name, frame) in enumerate(frames.items())
        }


def _kept(run: pl.DataFrame | pl.LazyFrame, folder: Path, most: int) -> pl.DataFrame | pl.LazyFrame:
    """A run read once: in memory where it is there, or has up to so many rows, else in files."""
    if isinstance(run, pl.DataFrame) and (run.height <= most or run["query_id"].is_sorted()):
        return _in_order(run)
    held: list[pl.DataFrame] = []
    n_files = 0
    for batch in batches(run.lazy(), PART):
        held.append(batch)
        if n_files or sum(rows.height for rows in held) > most:
            folder.mkdir(exist_ok=True)
            for rows in held:
                file = folder / f"{n_files:06}.parquet"
                _in_order(rows).write_parquet(file, compression="lz4", row_group_size=GROUP)
                n_files += 1
            held = []
    if n_files:
        return pl.scan_parquet(folder / "*.parquet")
    return _in_order(pl.concat(held) if held else pl.DataFrame(schema=run.collect_schema()))


def _in_order(run: pl.DataFrame) -> pl.DataFrame:
    """The rows by query_id, those of a list as they stood; sorted by number, ten times as fast."""
    query = run["query_id"]
    if not query.is_sorted():
        number = pl.col("query_id").cast(pl.Enum(query.unique().sort())).to_physical()
        run = run.sort(number, maintain_order=True)
    return run.with_columns(pl.col("query_id").set_sorted())


def _between(run: pl.DataFrame | pl.LazyFrame, first: str, last: str) -> pl.LazyFrame:
    """The rows of a kept run from one query to another."""
    if isinstance(run, pl.LazyFrame):
        return run.filter(pl.col("query_id").is_between(pl.lit(first), pl.lit(last)))
    start = run["query_id"].search_sorted(first, "left")
    end = run["query_id"].search_sorted(last, "right")
    return run.slice(start, end - start).lazy()


def in_parts(
    frames: Frames,
    cost: pl.Expr,
    worked: Worked,
    only: pl.DataFrame | None = None,
) -> Iterator[pl.DataFrame]:
    """What is worked out of some queries after the others; all at once where they are few.

    Parameters
    ----------
    frames
        Runs that can be read again and again.
    cost
        The rows that a list takes, of its `n_listed`, and of `n_systems`.
    worked
        The plan for some queries of the runs.
    only
        `query_id` of the queries that are wanted; all without it.
    """
    whole = [frame for frame in frames.values() if isinstance(frame, pl.DataFrame)]
    height = sum(frame.height for frame in whole)
    costs_its_rows = only is None and cost.meta.eq(pl.col("n_listed"))
    if costs_its_rows and len(whole) == len(frames) and height <= PART:
        yield _collected(worked(_plans(frames), None), height)
        return
    lengths = _lengths(frames)
    systems = lengths.select("system").unique().lazy()
    for first, last, height in _ranges(lengths, cost, only):
        wanted = {name: _between(run, first, last) for name, run in frames.items()}
        if only is not None:
            wanted = {
                name: plan.join(only.lazy(), on="query_id", how="semi")
                for name, plan in wanted.items()
            }
        yield _collected(worked(wanted, systems), height)


def _plans(frames: Frames) -> dict[str | None, pl.LazyFrame]:
    return {name: frame.lazy() for name, frame in frames.items()}


def _collected(plan: pl.LazyFrame, height: int) -> pl.DataFrame:
    return collect(plan, "in-memory" if height < SMALL else "streaming")


def _lengths(frames: Frames) -> pl.DataFrame:
    """How long every list is: `system`, `query_id`, `n_listed`."""
    counted = [
        plan.group_by("system" if name is None else pl.lit(name).alias("system"), "query_id").agg(
            n_listed=pl.len().cast(pl.Int64)
        )
        for name, plan in _plans(frames).items()
    ]
    return collect(pl.concat(counted))


def _ranges(
    lengths: pl.DataFrame, cost: pl.Expr, only: pl.DataFrame | None
) -> list[tuple[str, str, int]]:
    """The first and the last query of each part, and what it costs."""
    n_systems = pl.lit(lengths["system"].n_unique())
    wanted = lengths if only is None else lengths.join(only, on="query_id", how="semi")
    queries = (
        wanted.with_columns(n_systems=n_systems)
        .group_by("query_id")
        .agg(cost=cost.sum())
        .sort("query_id")
    )
    part = ((pl.col("cost").cum_sum() - 1) // PART).alias("part")
    return (
        queries.group_by(part, maintain_order=True)
        .agg(
            first=pl.col("query_id").first(),
            last=pl.col("query_id").last(),
            rows=pl.col("cost").sum(),
        )
        .select("first", "last", "rows")
        .rows()
    )
