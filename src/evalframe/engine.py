"""The one place that runs a plan. Everything else builds plans or works on frames in memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, TypeVar

import polars as pl

from evalframe.errors import ReadError, RowError

__all__ = [
    "TOLD",
    "batches",
    "both",
    "collect",
    "collect_all",
    "explain_with",
    "fetch",
    "is_lazy",
    "read_through",
    "told",
]

One = TypeVar("One")
Other = TypeVar("Other")
Engine = Literal["in-memory", "streaming"]
Explain = Callable[[Sequence[str], Exception], ReadError]
"""What makes of the files of a plan and of Polars' error one that says what is wrong with which."""

TOLD = "evalframe: "
"""How the text begins by which a plan of ours fails: what follows is for the user."""
OF_ROWS = re.compile(r'\["(null or NaN in column [^"]*)"')
"""What a plan that checks its rows says of one that nothing can use."""
SCANS = re.compile(r"^\s*\w+ SCAN \[(.+)\]$", re.MULTILINE)
"""How a printed plan names the files that it reads."""
OF_FILES = (
    pl.exceptions.ComputeError,
    pl.exceptions.OutOfBoundsError,
    pl.exceptions.SchemaError,
    OSError,
)
"""What Polars raises for a file that it cannot read to its end."""

_explain: list[Explain] = []


def is_lazy(frame: object) -> bool:
    """Whether a frame is a plan that has not run yet."""
    return isinstance(frame, pl.LazyFrame)


def collect(plan: pl.LazyFrame, engine: Engine = "streaming") -> pl.DataFrame:
    """Run one plan. Rows come back in no promised order unless the plan ends in a sort."""
    with told(plan):
        return plan.collect(engine=engine)


def collect_all(plans: Sequence[pl.LazyFrame], engine: Engine = "streaming") -> list[pl.DataFrame]:
    """Run several plans together, so that what they share is done once."""
    with told(*plans):
        return pl.collect_all(plans, engine=engine)


def batches(plan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Run one plan and give its rows in their order, about so many at a time."""
    with told(plan):
        yield from plan.collect_batches(maintain_order=True, chunk_size=rows, engine="streaming")


def both(one: Callable[[], One], other: Callable[[], Other]) -> tuple[One, Other]:
    """What two functions give that run at the same time, the other on a thread of its own.

    Where both raise, it is what the first raises.

    >>> both(lambda: 1, lambda: 2)
    (1, 2)
    """
    given: list[Other] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(other())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        first = one()
    finally:
        thread.join()
    if raised:
        # Popped, since an error that its own traceback holds on to is not freed.
        raise raised.pop()
    return first, given[0]


def fetch(plan: pl.LazyFrame, engine: Engine = "streaming") -> pl.DataFrame:
    """`collect` for readers, who see Polars' own errors and explain those of their file."""
    return plan.collect(engine=engine)


def read_through(plan: pl.LazyFrame) -> None:
    """Run one plan of a reader and keep nothing of it."""
    for _ in plan.collect_batches(maintain_order=False, engine="streaming"):
        pass


def explain_with(explain: Explain) -> Explain:
    """Let a function of the readers' say what is wrong with the files of a plan that failed."""
    _explain[:] = [explain]
    return explain


@contextmanager
def told(*plans: pl.LazyFrame) -> Iterator[None]:
    """Raise what a plan of ours tells, and what is wrong with its files, as errors of the house."""
    try:
        yield
    except pl.exceptions.InvalidOperationError as error:
        rows = OF_ROWS.search(str(error))
        if rows:
            raise RowError(": ".join([*_files_of(plans), rows[1]])) from error
        _, found, text = str(error).partition(f'["{TOLD}')
        if not found:
            raise
        first = text.partition("\n\n")[0].removesuffix('"]').split(f'", "{TOLD}')[0]
        raise ReadError(first.removesuffix('", …')) from error
    except FileNotFoundError:
        raise
    except OF_FILES as error:
        files = _files_of(plans)
        if not files or not _explain:
            raise
        raise _explain[0](files, error) from error


def _files_of(plans: Sequence[pl.LazyFrame]) -> list[str]:
    """The files that plans read, as a printed plan has them: the first of each scan."""
    printed = (plan.explain(optimized=False) for plan in plans)
    found = dict.fromkeys(files for text in printed for files in SCANS.findall(text))
    return [files for files in found if not files.endswith(("in-mem bytes", "open-file"))]
