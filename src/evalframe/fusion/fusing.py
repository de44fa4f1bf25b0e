"""Fusion: one run of several, as joins and grouped expressions.

Queries and documents that a system lacks are lacking in its lists only: the fused run has every
query of any system, and for each every document that any system found for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import FrameError, OptionError, RowError, whole_number
from evalframe.frames import CHECKED_WHOLE, Duplicates, fails_where, is_tabular
from evalframe.fusion.methods import (
    METHODS,
    Method,
    Recipe,
    fusion,
    parameters_of,
    read_method,
    sum_in_order,
)
from evalframe.fusion.normalising import (
    Normalisation,
    complete,
    finite_scores,
    place_in_list,
    read_normalisation,
)
from evalframe.fusion.trained import NOTHING_SHARED, refuse_without_training, training_lists
from evalframe.fusion.weights import Weights, weight_of
from evalframe.inputs import qrels_frame, run_frame
from evalframe.ranking.prepared import PreparedQrels
from evalframe.ranking.subtopics import join_subtopics
from evalframe.ranking.ties import TieRule, Ties

__all__ = [
    "METHODS",
    "Lists",
    "combine",
    "fuse",
    "fusion",
    "lists_of",
    "recipe_of",
]

SMALL = 100_000
"""Rows below which the in-memory engine is quicker."""

REPEATED = "a document stands more than once in a system's list; see duplicates='best'"


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
        See `evalframe.frames.Duplicates`. Nothing counts twice: a plan with a document that stands
        more than once in a list fails, as do frames too large to be looked through beforehand.
    **parameters
        Of the method: `k` of `rrf` (60), `phi` of `rbc`, `gamma` of `comb_gmnz`, `sigma` of
        `logn_isr`, `w` of `slidefuse`, `n_segments` of `probfuse`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A run: `query_id`, `doc_id`, `score`; by query_id, falling score and falling doc_id. Lazy
        where a run is: then it is one plan, which the streaming engine runs in batches.

    Raises
    ------
    OptionError
        Method, normalisation, parameter or weights are not known or do not fit; or there is nothing
        to learn from: `train_qrels` and the runs share no query, or `train_runs` lack a system.
    FrameError
        There are no runs, one of them holds several systems, or two have the same name.
    RowError
        A document stands more than once in a list; or a score is infinite, and the normalisation
        or the method reads more of it than the rank.

    Notes
    -----
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
    normalised = None if norm is None else read_normalisation(norm)
    lists = lists_of(runs, recipe, normalised, ties, duplicates)
    judged = None
    if chosen.trained:
        learnt_from = lists
        if train_runs is not None:
            learnt_from = lists_of(train_runs, recipe, normalised, ties, duplicates)
            _refuse_other_systems(lists.names, learnt_from.names)
        qrels = _qrels_plan(train_qrels)
        judged = training_lists(learnt_from.plan, qrels, rel)
        lists = _with_training(lists, learnt_from.plan, qrels, judged)
    is_ordered = not lists.in_column or isinstance(weights, Mapping)
    weight = weight_of(lists.names if is_ordered else [], weights)
    fused = combine(lists.plan, recipe, weight, judged, depth, lists.may_repeat)
    if lists.is_lazy:
        return fused
    try:
        return collect(fused, "in-memory" if lists.height < SMALL else "streaming")
    except pl.exceptions.InvalidOperationError as error:
        if lists.may_repeat and REPEATED in str(error):
            raise RowError(REPEATED) from error
        raise


@dataclass(frozen=True)
class Lists:
    """The lists of all systems in one plan.

    Attributes
    ----------
    plan
        `system`, `query_id`, `doc_id`, `score`, and what the recipe reads of `rank` and `n_listed`.
    names
        The systems in the order they were given; those of a column in alphabetical order, and none
        where it is the column of a plan.
    in_column
        Whether the systems are a column of one run.
    is_lazy
        Whether one of the runs was a plan.
    may_repeat
        Whether nobody has looked yet for documents that stand more than once in a list.
    height
        Rows of the runs in memory.
    """

    plan: pl.LazyFrame
    names: list[str]
    in_column: bool
    is_lazy: bool
    may_repeat: bool
    height: int


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


def lists_of(
    runs: Any,
    recipe: Recipe,
    norm: Normalisation | None,
    ties: Ties,
    duplicates: Duplicates,
) -> Lists:
    """All lists with normalised scores, and with what the recipe reads of them."""
    frames = _named_frames(runs, duplicates)
    matters = norm is not None and (recipe.reads("score") or not norm.keeps_order or norm.completes)
    used = norm if matters else None
    reads_scores = recipe.reads("score") and recipe.finite if used is None else not used.reads_ranks
    if reads_scores:
        frames = {name: _finite(frame, name) for name, frame in frames.items()}
    parts = [_part(frame.lazy(), name, recipe, used, ties) for name, frame in frames.items()]
    plan = pl.concat(parts) if len(parts) > 1 else parts[0]
    if used is not None and used.completes:
        plan = _completed(plan, used)
    whole = [frame for frame in frames.values() if isinstance(frame, pl.DataFrame)]
    is_lazy = len(whole) < len(frames)
    in_column = None in frames
    names = [name for name in frames if name is not None]
    if in_column and whole:
        names = whole[0]["system"].unique().sort().to_list()
    return Lists(
        plan,
        names,
        in_column,
        is_lazy,
        duplicates == "error" and (is_lazy or any(f.height >= CHECKED_WHOLE for f in whole)),
        sum(frame.height for frame in whole),
    )


def combine(
    lists: pl.LazyFrame,
    recipe: Recipe,
    weight: pl.Expr,
    judged: pl.LazyFrame | None,
    depth: int | None,
    may_repeat: bool = False,
) -> pl.LazyFrame:
    """The fused run of prepared lists; those that may repeat a document fail if they do."""
    if recipe.reads("weight"):
        lists = lists.with_columns(weight=weight)
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
        fused = recipe.finish(fused, lists)
    run = fused.select("query_id", "doc_id", pl.col("score").cast(pl.Float64))
    if depth is not None:
        run = place_in_list(run, ["query_id"], TieRule()).filter(pl.col("rank") <= depth)
    return run.select("query_id", "doc_id", "score").sort(
        "query_id", "score", "doc_id", descending=[False, True, True]
    )


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


def _completed(plan: pl.LazyFrame, norm: Normalisation) -> pl.LazyFrame:
    """Lists that hold every candidate, ranked again by their new scores."""
    keys = ["system", "query_id"]
    names = plan.collect_schema().names()
    filled = complete(plan, keys).with_columns(score=norm.function(keys))
    ranked = place_in_list(filled, keys, TieRule())
    return ranked.with_columns(n_listed=pl.len().over(keys)) if "n_listed" in names else ranked


def _named_frames(
    runs: Any, duplicates: Duplicates
) -> dict[str | None, pl.DataFrame | pl.LazyFrame]:
    """Each run by its name, or one frame under None where the systems are a column."""
    one = is_tabular(runs) or not isinstance(runs, Mapping | Iterable) or isinstance(runs, str)
    if one or type(runs).__module__.partition(".")[0] == "pandas":
        frame = run_frame(runs, duplicates=duplicates)
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
    return {str(name): _one_system(run, str(name), duplicates) for name, run in given.items()}


def _finite(frame: pl.DataFrame | pl.LazyFrame, name: str | None) -> pl.DataFrame | pl.LazyFrame:
    try:
        return finite_scores(frame)
    except RowError as error:
        raise RowError(str(error) if name is None else f"run {name!r}: {error}") from error


def _refuse_other_systems(names: list[str], trained: list[str]) -> None:
    lacking = [name for name in names if trained and name not in trained]
    if lacking:
        raise OptionError(f"train_runs lack the systems {lacking}; they have {trained}")


def _with_training(
    lists: Lists, learnt_from: pl.LazyFrame, qrels: pl.LazyFrame, judged: pl.LazyFrame
) -> Lists:
    """The lists, if there is something to learn from; else those in memory are refused."""
    if lists.is_lazy:
        return replace(lists, plan=refuse_without_training(lists.plan, judged))
    queries = learnt_from.select("query_id").unique()
    if collect(queries.join(qrels, on="query_id", how="semi"), "in-memory").height == 0:
        raise OptionError(NOTHING_SHARED)
    return lists


def _one_system(run: Any, name: str, duplicates: Duplicates) -> pl.DataFrame | pl.LazyFrame:
    try:
        frame = run_frame(run, duplicates=duplicates)
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


def _qrels_plan(qrels: Any) -> pl.LazyFrame:
    given = qrels.qrels if isinstance(qrels, PreparedQrels) else qrels_frame(qrels)
    plan = given.lazy()
    return join_subtopics(plan) if "subtopic" in plan.collect_schema().names() else plan
