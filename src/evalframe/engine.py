"""The one place that runs a plan. Everything else builds plans or works on frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import polars as pl

from evalframe.errors import ReadError

__all__ = ["TOLD", "batches", "collect", "collect_all", "is_lazy"]

Engine = Literal["in-memory", "streaming"]

TOLD = "evalframe: "
"""How the text begins by which a plan of ours fails: what follows is for the user."""


def is_lazy(frame: object) -> bool:
    """Whether a frame is a plan that has not run yet."""
    return isinstance(frame, pl.LazyFrame)


def collect(plan: pl.LazyFrame, engine: Engine = "streaming") -> pl.DataFrame:
    """Run one plan. Rows come back in no promised order unless the plan ends in a sort."""
    with _told():
        return plan.collect(engine=engine)


def collect_all(plans: Sequence[pl.LazyFrame], engine: Engine = "streaming") -> list[pl.DataFrame]:
    """Run several plans together, so that what they share is done once."""
    with _told():
        return pl.collect_all(plans, engine=engine)


def batches(plan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Run one plan and give its rows in their order, about so many at a time."""
    with _told():
        yield from plan.collect_batches(maintain_order=True, chunk_size=rows, engine="streaming")


@contextmanager
def _told() -> Iterator[None]:
    """Raise what a plan of ours tells as an error of the house."""
    try:
        yield
    except pl.exceptions.InvalidOperationError as error:
        _, told, text = str(error).partition(f'["{TOLD}')
        if not told:
            raise
        first = text.partition("\n\n")[0].removesuffix('"]').split(f'", "{TOLD}')[0]
        raise ReadError(first.removesuffix('", …')) from error
