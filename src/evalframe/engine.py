"""The one place that runs a plan. Everything else builds plans or works on frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import polars as pl

__all__ = ["batches", "collect", "collect_all", "is_lazy"]

Engine = Literal["in-memory", "streaming"]


def is_lazy(frame: object) -> bool:
    """Whether a frame is a plan that has not run yet."""
    return isinstance(frame, pl.LazyFrame)


def collect(plan: pl.LazyFrame, engine: Engine = "streaming") -> pl.DataFrame:
    """Run one plan. Rows come back in no promised order unless the plan ends in a sort."""
    return plan.collect(engine=engine)


def collect_all(plans: Sequence[pl.LazyFrame], engine: Engine = "streaming") -> list[pl.DataFrame]:
    """Run several plans together, so that what they share is done once."""
    return pl.collect_all(plans, engine=engine)


def batches(plan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Run one plan and give its rows in their order, about so many at a time."""
    yield from plan.collect_batches(maintain_order=True, chunk_size=rows, engine="streaming")
