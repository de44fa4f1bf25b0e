"""Fusion: one run of several, as joins and grouped expressions.

Queries and documents that a system lacks are lacking in its lists only: the fused run has every
query of any system, and for each every document that any system found for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import OptionError, RowError, whole_number
from evalframe.frames import Duplicates, fails_where
from evalframe.fusion.lists import Frames, Runs, lists_of, norm_that_matters, runs_of
from evalframe.fusion.methods import (
    METHODS,
    Method,
    Recipe,
    fusion,
    parameters_of,
    read_method,
    sum_in_order,
)
from evalframe.fusion.normalising import Normalisation, place_in_list, read_normalisation
from evalframe.fusion.parts import as_plan, in_parts, kept
from evalframe.fusion.trained import NOTHING_SHARED, refuse_no_grade, training_lists
from evalframe.fusion.weights import LACKING, Weights, weight_of
from evalframe.inputs import qrels_frame
from evalframe.ranking.prepared import PreparedQrels
from evalframe.ranking.subtopics import join_subtopics
from evalframe.ranking.ties import TieRule, Ties

__all__ = ["METHODS", "combine", "fuse", "fusion", "recipe_of"]

REPEATED = "a document stands more than once in a system's list; see duplicates='best'"
SAID = re.compile(r'\["([^"]* [^"]*)"')
"""The words of `fails_where` in the engine's message."""


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
    **parameters: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Fuse several runs into one.

    Parameters
    ----------
    runs
        A mapping name → run, where a run is a frame, a dict or a path; or a list of runs; or one
        run with a `system` column.
    method
        `rrf`, `isr`, `log_isr`, `logn_isr`, `comb_sum`, `comb_mnz`, `comb_anz`, `comb_gmnz`,
        `comb_max`, `comb_min`, `comb_med`, `wsum`, `wmnz`, `mixed`, `rbc`, `borda`, `condorcet`;
        and those that learn: `posfuse`, `slidefuse`, `probfuse`, `segfuse`, `bayesfuse`, `mapfuse`.
        `evalframe.fusion.METHODS` says what each is and where it comes from.
    norm
        How scores are made comparable first; see `evalframe.fusion.normalise`. None leaves them.
        Methods that read ranks only do not see it, but for `min_max_inverted` and `borda`.
    weights
        One finite number for each system: by name, or in the order of `runs`; by name where the
        systems are a column. 1 for each where none are given. For `wsum`, `wmnz`, `mixed`, `borda`
        and `condorcet`.
    train_qrels
        Judgements that the trained methods learn from. They learn from these queries alone, and
        fuse all.
    train_runs
        Runs of the same systems to learn from, where they are not `runs`.
    rel
        The lowest grade that counts as relevant in training; above 0 without it.
    ties
        What stands first among equal scores of a list; see `evalframe.Contract`.
    depth
        How many documents of each query to give, the best first; all without it.
    duplicates
        See `evalframe.frames.Duplicates`. Nothing counts twice: what is not looked through
        beforehand is refused while it is fused.
    **parameters
        Of the method: `k` of `rrf` (60), `phi` of `rbc`, `gamma` of `comb_gmnz`, `sigma` of
        `logn_isr`, `w` of `slidefuse`, `n_segments` of `probfuse`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A run: `query_id`, `doc_id`, `score`; by query_id, falling score and falling doc_id. Lazy
        where a run is: then nothing is read before the fused run is taken, and nothing is held
        whole while it is; see the notes.

    Raises
    ------
    OptionError
        Method, normalisation, parameter or weights are not known or do not fit; or there is nothing
        to learn from: `train_qrels` and the runs share no query, or `train_runs` lack a system.
    FrameError
        There are no runs, one of them holds several systems, or two have the same name.
    RowError
        A document stands more than once in a list; or a score is infinite, and the normalisation
        or the method reads more of it than the rank. Of plans and large files this is found when
        the fused run is taken.

    Notes
    -----
    What is worked out query by query needs no more than some queries at a time: about a million
    rows of all lists together, whatever the runs hold, and the same bits however they are cut.
    Plans and large files are read once. What does not fit into that is kept until the fused run has
    been taken, in files of about 15 bytes a row in the system's folder for temporary files. So
    `evalframe.write_run(fuse(plans), path)` and `evalframe.evaluate(qrels, fuse(plans))` take runs
    larger than memory. Methods that learn also hold the lists of the queries that they learn from.

    The numbers are those of ranx, but for what its order of ties leaves to chance, and for
    `condorcet`: there the order of ranx depends on chance where majorities go round in a circle or
    are drawn, and here a score counts the majorities that a document wins.

    Examples
    --------
    >>> bm25 = {"q": {"a": 12.0, "b": 8.0}}
    >>> dense = {"q": {"b": 0.9, "c": 0.8}}
    >>> fuse({"bm25": bm25, "dense": dense}, "rrf", k=60)
    shape: (3, 3)
    ┌──────────┬────────┬──────────┐
    │ query_id ┆ doc_id ┆ score    │
    │ ---      ┆ ---    ┆ ---      │
    │ str      ┆ str    ┆ f64      │
    ╞══════════╪════════╪══════════╡
    │ q        ┆ b      ┆ 0.032522 │
    │ q        ┆ a      ┆ 0.016393 │
    │ q        ┆ c      ┆ 0.016129 │
    └──────────┴────────┴──────────┘
    """
    chosen = read_method(method)
    recipe = recipe_of(chosen, parameters, weights)
    depth = None if depth is None else whole_number("depth", depth)
    if chosen.trained and train_qrels is None:
        raise OptionError(f"{chosen.name} learns from judged queries: give train_qrels=")
    used = norm_that_matters(None if norm is None else read_normalisation(norm), recipe)
    given = runs_of(runs, recipe, used, ties, duplicates)
    training = None
    if chosen.trained:
        refuse_no_grade(rel)
        learnt_from = given
        if train_runs is not None:
            learnt_from = runs_of(train_runs, recipe, used, ties, duplicates)
            _refuse_other_systems(given.names, learnt_from.names)
        training = Training(learnt_from.frames, _qrels_plan(train_qrels), rel)
    is_ordered = not given.in_column or isinstance(weights, Mapping)
    weight = weight_of(given.names if is_ordered else [], weights)
    fusing = Fusing(chosen, parameters, used, ties, weight, depth, given, training)
    if given.is_lazy:
        return as_plan(fusing.parts)
    return pl.concat(fusing.parts())


@dataclass(frozen=True)
class Training:
    """What a method learns from: runs, judgements, and the lowest grade that is relevant."""

    frames: Frames
    qrels: pl.LazyFrame
    rel: float | None


@dataclass(frozen=True)
class Fusing:
    """A fusion that has been asked for, and that nothing has been worked out of yet."""

    method: Method
    parameters: Mapping[str, Any]
    norm: Normalisation | None
    ties: Ties
    weight: pl.Expr
    depth: int | None
    runs: Runs
    training: Training | None

    @cached_property
    def recipe(self) -> Recipe:
        """The method's recipe with its parameters."""
        return recipe_of(self.method, self.parameters, None)

    def parts(self) -> Iterator[pl.DataFrame]:
        """The fused run, some whole queries at a time, in order."""
        try:
            with kept(self.runs.frames) as frames:
                judged = self._judged(frames)
                fused = partial(self._fused, None if judged is None else judged.lazy())
                yield from in_parts(frames, self._cost, fused)
        except pl.exceptions.InvalidOperationError as error:
            raise _in_our_words(error) from error

    def _fused(
        self,
        judged: pl.LazyFrame | None,
        frames: Mapping[str | None, pl.LazyFrame],
        systems: pl.LazyFrame | None,
    ) -> pl.LazyFrame:
        lists = self._lists(frames, systems)
        return combine(
            lists, self.recipe, self.weight, judged, self.depth, self.runs.may_repeat, systems
        )

    def _lists(self, frames: Frames, systems: pl.LazyFrame | None) -> pl.LazyFrame:
        return lists_of(frames, self.recipe, self.norm, self.ties, systems)

    def _judged(self, frames: Frames) -> pl.DataFrame | None:
        """The lists to learn from."""
        if self.training is None:
            return None
        qrels = collect(self.training.qrels)
        rel = self.training.rel

        def judged(
            frames: Mapping[str | None, pl.LazyFrame], systems: pl.LazyFrame | None
        ) -> pl.LazyFrame:
            return training_lists(self._lists(frames, systems), qrels.lazy(), rel).drop("doc_id")

        queries = qrels.select("query_id").unique()
        if self.training.frames is self.runs.frames:
            found = [*in_parts(frames, self._cost, judged, queries)]
        else:
            with kept(self.training.frames) as others:
                found = [*in_parts(others, self._cost, judged, queries)]
        if sum(rows.height for rows in found) == 0:
            raise OptionError(NOTHING_SHARED)
        return pl.concat(found)

    @property
    def _cost(self) -> pl.Expr:
        completes = self.norm is not None and self.norm.completes
        return self.recipe.cost * pl.col("n_systems") if completes else self.recipe.cost


def _in_our_words(error: Exception) -> Exception:
    """What is wrong with the rows, where a plan was made to fail by saying so."""
    said = SAID.search(str(error))
    if said is None:
        return error
    return (OptionError if said[1].startswith(LACKING) else RowError)(said[1])


def recipe_of(method: Method, parameters: Mapping[str, Any], weights: Weights | None) -> Recipe:
    """The method's recipe; weights that it does not read are refused."""
    recipe = method.function(**parameters_of(method, parameters))
    if weights is not None and not recipe.reads("weight"):
        weighted = [m.name for m in METHODS.values() if m.weighted]
        raise OptionError(
            f"fusion method {method.name!r} has no weights; those with weights are "
            + ", ".join(weighted)
        )
    return recipe


def combine(
    lists: pl.LazyFrame,
    recipe: Recipe,
    weight: pl.Expr,
    judged: pl.LazyFrame | None,
    depth: int | None,
    may_repeat: bool = False,
    systems: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """The fused run of prepared lists; those that may repeat a document fail if they do.

    `systems` holds the `system` of every list, where `lists` are those of some queries only.
    """
    systems = lists.select("system").unique() if systems is None else systems
    if recipe.reads("weight"):
        lists, systems = lists.with_columns(weight=weight), systems.with_columns(weight=weight)
    learnt = lists if recipe.learn is None or judged is None else recipe.learn(lists, judged)
    read = [name for name in ("weight",) if recipe.reads(name)]
    given = ["system"] if may_repeat else []
    worth = learnt.select(*given, "query_id", "doc_id", *read, value=recipe.each)
    extra = [sum_in_order(pl.col("weight")).alias("weights")] if recipe.finish and read else []
    extra += [(pl.col("system").n_unique() < pl.len()).alias("repeated")] if may_repeat else []
    fused = worth.group_by("query_id", "doc_id").agg(recipe.together.alias("score"), *extra)
    if may_repeat:
        once = fails_where(pl.col("repeated"), REPEATED, "doc_id", pl.String())
        fused = fused.with_columns(once).drop("repeated")
    if recipe.finish is not None:
        fused = recipe.finish(fused, lists, systems)
    run = fused.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))
    if depth is not None:
        run = place_in_list(run, ["query_id"], TieRule()).filter(pl.col("rank") <= depth)
    return run.select("query_id", "doc_id", "score").sort(
        "query_id", "score", "doc_id", descending=[False, True, True]
    )


def _refuse_other_systems(names: list[str], trained: list[str]) -> None:
    lacking = [name for name in names if trained and name not in trained]
    if lacking:
        raise OptionError(f"train_runs lack the systems {lacking}; they have {trained}")


def _qrels_plan(qrels: Any) -> pl.LazyFrame:
    given = qrels.qrels if isinstance(qrels, PreparedQrels) else qrels_frame(qrels)
    plan = given.lazy()
    return join_subtopics(plan) if "subtopic" in plan.collect_schema().names() else plan
