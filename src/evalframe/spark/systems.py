"""Several runs in Spark: looked at one by one, and as one frame with a column for the system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import polars as pl

from evalframe.errors import FrameError, OptionError
from evalframe.frames import Duplicates, is_tabular
from evalframe.ranking.ties import Ties
from evalframe.spark.frames import (
    checked,
    head_of,
    is_spark,
    literal,
    local_frame,
    refuse_local,
)
from evalframe.spark.workers import SYSTEMS, local_errors

__all__ = [
    "RANK_NEEDED",
    "STAND_IN",
    "checked_run",
    "checked_runs",
    "stand_ins",
    "systems_in",
    "united",
]

RANK_NEEDED = "ties='given' needs a rank column in Spark, where rows have no order"

STAND_IN = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0], "rank": [1]})

Runs = Mapping[str | None, Any]
"""Checked runs by name; one run whose systems are a column stands under None."""


def checked_run(run: Any, ties: Ties) -> Any:
    """A checked run, with the ranks by which ties go.

    Raises
    ------
    FrameError
        It cannot be used.
    OptionError
        It has no ranks, and ties go by them.
    """
    frame = checked(run, "run", ranks=ties == "given")
    if ties == "given" and "rank" not in frame.columns:
        raise OptionError(RANK_NEEDED)
    return frame


def checked_runs(runs: Any, ties: Ties, duplicates: Duplicates, *, prefixed: bool = True) -> Runs:
    """Whatever holds several runs, checked; some rows of each have been looked at.

    Raises
    ------
    FrameError
        A run cannot be used; `prefixed` puts its name first.
    OptionError
        Ties go by a rank that a run does not have.
    """
    if is_spark(runs):
        return {None: _looked_at(runs, ties, duplicates)}
    if is_tabular(runs) or isinstance(runs, str) or not isinstance(runs, Iterable):
        refuse_local(runs, "run")
    given = runs.items() if isinstance(runs, Mapping) else enumerate(runs, 1)
    found: dict[str | None, Any] = {}
    for name, run in given:
        with _of_run(str(name)) if prefixed else nullcontext():
            found[str(name)] = _looked_at(run, ties, duplicates)
    return found


def systems_in(run: Any) -> list[str]:
    """The systems of a checked run, for which its column of systems is read."""
    with local_errors():
        found = local_frame(run.selectExpr(f"array_sort(collect_set(system)) as {SYSTEMS}"))
    return [str(system) for system in found[SYSTEMS].item()]


def stand_ins(runs: Any, found: Runs, systems: list[str] | None = None) -> Any:
    """A small local run in the place of each, to try out here what is asked of them.

    `systems` are those of a column, where they are known.
    """
    if None in found:
        return _stand_in(found[None], ["a"] if systems is None else systems)
    if isinstance(runs, Mapping):
        return {name: _stand_in(found[str(name)]) for name in runs}
    return [_stand_in(run) for run in found.values()]


def united(found: Runs) -> Any:
    """One frame of all runs: `system`, `query_id`, `doc_id`, `score`, and `rank` if all have it.

    Scores keep their type where all runs have the same. Where some are strings all are: strings are
    read in the workers, by the rules of local ones.
    """
    if None in found:
        return found[None]
    dtypes = {_type_of_score(run) for run in found.values()}
    common = "string" if "string" in dtypes else "double"
    dtype = dtypes.pop() if len(dtypes) == 1 else common
    together = None
    for name, run in found.items():
        aligned = _aligned(run, str(name), dtype)
        together = aligned if together is None else together.unionByName(aligned)
    return together


def _looked_at(run: Any, ties: Ties, duplicates: Duplicates) -> Any:
    frame = checked_run(run, ties)
    with local_errors():
        head_of(frame, "run", duplicates)
    return frame


@contextmanager
def _of_run(name: str) -> Iterator[None]:
    """Put the run's name before what is wrong with it."""
    try:
        yield
    except FrameError as error:
        raise type(error)(f"run {name!r}: {error}") from error


def _stand_in(run: Any, systems: list[str] | None = None) -> pl.DataFrame:
    if "system" not in run.columns:
        return STAND_IN
    names = systems_in(run) if systems is None else systems
    return STAND_IN.join(pl.DataFrame({"system": names}, {"system": pl.String}), how="cross")


def _type_of_score(run: Any) -> str:
    return str(dict(run.dtypes).get("score", "double"))


def _aligned(run: Any, name: str, dtype: str) -> Any:
    """A run under its name; numbers that are to be strings are written as doubles are."""
    score = "score" if "score" in run.columns else "-try_cast(rank as double)"
    if dtype == "string" != _type_of_score(run):
        score = f"cast({score} as double)"
    given = {"score", "rank"} <= {*run.columns}
    return run.selectExpr(
        f"{literal(name)} as system",
        "query_id",
        "cast(doc_id as string) as doc_id",
        f"cast({score} as {dtype}) as score",
        *(["try_cast(rank as bigint) as rank"] if given else []),
    )
