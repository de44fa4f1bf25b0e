"""Several runs in Spark as one frame with a column for the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalframe.errors import FrameError, OptionError
from evalframe.spark.frames import checked, is_spark, literal

__all__ = ["RANK_NEEDED", "named_runs", "united"]

RANK_NEEDED = "ties='given' needs a rank column in Spark, where rows have no order"


def named_runs(runs: Any) -> Mapping[str, Any] | None:
    """Each run by its name; None where one frame has the systems in a column.

    Raises
    ------
    FrameError
        There are no runs, or two of the same name.
    """
    if is_spark(runs):
        return None
    if not isinstance(runs, Mapping | Iterable) or isinstance(runs, str):
        raise FrameError(
            "several runs are needed: a mapping name → Spark frame, or one Spark frame with a "
            f"column `system`, not {type(runs).__name__}"
        )
    given = runs if isinstance(runs, Mapping) else dict(enumerate(runs, 1))
    named = {str(name): run for name, run in given.items()}
    if not named:
        raise FrameError("there are no runs")
    if len(named) < len(given):
        raise FrameError(f"two runs have the same name once it is a string: {[*given]}")
    return named


def united(runs: Any, ties: str) -> Any:
    """One checked frame of all runs: `system`, `query_id`, `doc_id`, `score`, and `rank` if needed.

    Raises
    ------
    FrameError
        A single run has no systems.
    OptionError
        Ties go by a rank that a run does not have.
    """
    named = named_runs(runs)
    ranks = ties == "given"
    if named is None:
        frame = checked(runs, "run", ranks=ranks)
        if "system" not in frame.columns:
            raise FrameError(
                "several runs are needed: a mapping name → Spark frame, or one Spark frame with a "
                "column `system`"
            )
        return _aligned(frame, "system", ranks)
    together = None
    for name, run in named.items():
        part = _aligned(checked(run, "run", ranks=ranks), f"{literal(name)} as system", ranks)
        together = part if together is None else together.unionByName(part)
    return together


def _aligned(frame: Any, system: str, ranks: bool) -> Any:
    if ranks and "rank" not in frame.columns:
        raise OptionError(RANK_NEEDED)
    score = "score" if "score" in frame.columns else "-rank"
    kept = ["cast(rank as bigint) as rank"] if ranks else []
    doc, value = "cast(doc_id as string) as doc_id", f"cast({score} as double) as score"
    return frame.selectExpr(system, "query_id", doc, value, *kept)
