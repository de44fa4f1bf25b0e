"""The lists of several systems: what was given, looked at once, and what a recipe reads of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.errors import FrameError, RowError
from evalframe.frames import CHECKED_WHOLE, Duplicates, conform, is_tabular
from evalframe.fusion.methods import Recipe
from evalframe.fusion.normalising import Normalisation, complete, finite_scores, place_in_list
from evalframe.inputs import run_frame, run_or_plan
from evalframe.ranking.ties import TieRule, Ties

__all__ = ["Frames", "Runs", "lists_of", "norm_that_matters", "runs_of"]

READ_WHOLE = 64_000_000
"""Bytes of all files together up to which they are read whole."""

Frames = Mapping[str | None, pl.DataFrame | pl.LazyFrame]
"""Runs by name; one run whose systems are a column stands under None."""


@dataclass(frozen=True)
class Runs:
    """Runs that have been looked at.

    Attributes
    ----------
    frames
        Checked runs by name. Large files are plans, which fail on what is wrong with them.
    is_lazy
        Whether the caller gave a plan.
    may_repeat
        Whether nobody has looked yet for documents that stand more than once in a list.
    """

    frames: Frames
    is_lazy: bool
    may_repeat: bool

    @property
    def in_column(self) -> bool:
        """Whether the systems are a column of one run."""
        return None in self.frames

    @property
    def names(self) -> list[str]:
        """The systems in the order they were given.

        Those of a column in alphabetical order, and none where it is the column of a plan.
        """
        whole = self.frames.get(None)
        if isinstance(whole, pl.DataFrame):
            return whole["system"].unique().sort().to_list()
        return [name for name in self.frames if name is not None]


def norm_that_matters(norm: Normalisation | None, recipe: Recipe) -> Normalisation | None:
    """The normalisation, unless the recipe sees nothing of it."""
    if norm is None or recipe.reads("score") or not norm.keeps_order or norm.completes:
        return norm
    return None


def runs_of(
    runs: Any, recipe: Recipe, norm: Normalisation | None, ties: Ties, duplicates: Duplicates
) -> Runs:
    """Whatever holds several runs as checked frames; infinite scores only where none is read."""
    frames = _named_frames(runs, ties, duplicates)
    if recipe.reads("score") and recipe.finite if norm is None else not norm.reads_ranks:
        frames = {name: _finite(frame, name) for name, frame in frames.items()}
    unseen = any(
        isinstance(frame, pl.LazyFrame) or frame.height >= CHECKED_WHOLE
        for frame in frames.values()
    )
    given = [runs] if None in frames else runs.values() if isinstance(runs, Mapping) else runs
    is_lazy = any(isinstance(run, pl.LazyFrame) for run in given)
    return Runs(frames, is_lazy, duplicates == "error" and unseen)


def lists_of(
    frames: Frames,
    recipe: Recipe,
    norm: Normalisation | None,
    ties: Ties,
    systems: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """All lists in one plan, with normalised scores, and with what the recipe reads of them.

    `system`, `query_id`, `doc_id`, `score`, and of `rank` and `n_listed` what is read. `systems`
    holds the `system` of every list, where `frames` are some of the queries only.
    """
    parts = [_part(frame.lazy(), name, recipe, norm, ties) for name, frame in frames.items()]
    plan = pl.concat(parts) if len(parts) > 1 else parts[0]
    if norm is not None and norm.completes:
        plan = _completed(plan, norm, systems)
    return plan


def _part(
    plan: pl.LazyFrame, name: str | None, recipe: Recipe, norm: Normalisation | None, ties: Ties
) -> pl.LazyFrame:
    """One run's lists; a run without a name has its systems in a column."""
    names = plan.collect_schema().names()
    keys = ["system", "query_id"] if name is None else ["query_id"]
    rule = TieRule.of(ties, names)
    waits = norm is not None and norm.completes
    if norm is not None and not waits:
        if norm.reads_ranks:
            plan = place_in_list(plan, keys, rule)
        plan = plan.with_columns(score=norm.function(keys))
    if recipe.reads("rank") or waits:
        plan = place_in_list(plan, keys, rule)
    if recipe.reads("n_listed"):
        plan = plan.with_columns(n_listed=pl.len().over(keys))
    if name is not None:
        plan = plan.with_columns(system=pl.lit(name))
    present = plan.collect_schema().names()
    kept = [c for c in ("rank", "n_listed") if c in present and (recipe.reads(c) or waits)]
    return plan.select("system", "query_id", "doc_id", "score", *kept)


def _completed(
    plan: pl.LazyFrame, norm: Normalisation, systems: pl.LazyFrame | None
) -> pl.LazyFrame:
    """Lists that hold every candidate, ranked again by their new scores."""
    keys = ["system", "query_id"]
    names = plan.collect_schema().names()
    filled = complete(plan, keys, systems).with_columns(score=norm.function(keys))
    ranked = place_in_list(filled, keys, TieRule())
    return ranked.with_columns(n_listed=pl.len().over(keys)) if "n_listed" in names else ranked


def _named_frames(runs: Any, ties: Ties, duplicates: Duplicates) -> Frames:
    """Each run by its name, or one frame under None where the systems are a column."""
    one = is_tabular(runs) or not isinstance(runs, Mapping | Iterable) or isinstance(runs, str)
    if one or type(runs).__module__.partition(".")[0] == "pandas":
        frame = _frame(runs, ties, duplicates)
        if "system" not in frame.lazy().collect_schema().names():
            raise FrameError(
                "fusion needs several runs: a mapping name → run, or one run with a column `system`"
            )
        return {None: frame}
    given = runs if isinstance(runs, Mapping) else {str(i): r for i, r in enumerate(runs, 1)}
    if not given:
        raise FrameError("there are no runs to fuse")
    names = [str(name) for name in given]
    twice = [name for name in given if names.count(str(name)) > 1]
    if twice:
        raise FrameError(f"the names of these runs are the same once they are strings: {twice}")
    most = READ_WHOLE // len(given)
    return {
        str(name): _one_system(run, str(name), ties, duplicates, most)
        for name, run in given.items()
    }


def _frame(
    run: Any, ties: Ties, duplicates: Duplicates, most: int = READ_WHOLE
) -> pl.DataFrame | pl.LazyFrame:
    """A checked run: a file of more than so many bytes is a plan."""
    if not isinstance(run, str | os.PathLike):
        return run_frame(run, duplicates=duplicates)
    frame = run_or_plan(run, duplicates=duplicates, ranks=ties == "given", large=most)
    return conform(frame, "run") if isinstance(frame, pl.LazyFrame) else frame


def _one_system(
    run: Any, name: str, ties: Ties, duplicates: Duplicates, most: int
) -> pl.DataFrame | pl.LazyFrame:
    try:
        frame = _frame(run, ties, duplicates, most)
    except FrameError as error:
        raise type(error)(f"run {name!r}: {error}") from error
    if "system" not in frame.lazy().collect_schema().names():
        return frame
    if isinstance(frame, pl.DataFrame) and frame["system"].n_unique() > 1:
        several = frame["system"].unique().sort().head(3).to_list()
        raise FrameError(
            f"run {name!r} holds several systems ({several} and so on): give that one frame to "
            "fuse, not a mapping that holds it"
        )
    return frame.drop("system")


def _finite(frame: pl.DataFrame | pl.LazyFrame, name: str | None) -> pl.DataFrame | pl.LazyFrame:
    try:
        return finite_scores(frame)
    except RowError as error:
        raise RowError(str(error) if name is None else f"run {name!r}: {error}") from error
