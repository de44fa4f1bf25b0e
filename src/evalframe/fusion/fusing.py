"""Fusion: one run of several, as joins and grouped expressions.

Queries and documents that a system lacks are lacking in its lists only: the fused run has every
query of any system, and for each every document that any system found for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import FrameError, OptionError
from evalframe.frames import Duplicates, is_tabular
from evalframe.fusion.methods import (
    METHODS,
    Method,
    Recipe,
    fusion,
    parameters_of,
    read_method,
    sum_in_order,
)
from evalframe.fusion.normalising import Normalisation, complete, place_in_list, read_normalisation
from evalframe.fusion.trained import training_lists
from evalframe.inputs import qrels_frame, run_frame
from evalframe.ranking.prepared import PreparedQrels
from evalframe.ranking.subtopics import join_subtopics
from evalframe.ranking.ties import TieRule, Ties

__all__ = [
    "METHODS",
    "Lists",
    "Weights",
    "combine",
    "fuse",
    "fusion",
    "lists_of",
    "recipe_of",
    "weight_of",
]

SMALL = 100_000
"""Rows below which the in-memory engine is quicker."""

Weights = Mapping[str, float] | Sequence[float]


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
        `evalframe.fusion.fusing.METHODS` says what each is and where it comes from.
    norm
        How scores are made comparable first; see `evalframe.normalise`. None leaves them. Methods
        that read ranks only do not see it, but for `min_max_inverted` and `borda`.
    weights
        One number for each system: by name, or in the order of `runs`. 1 for each where none are
        given. For `wsum`, `wmnz`, `mixed`, `borda` and `condorcet`.
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
        See `evalframe.frames.Duplicates`.
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
        Method, normalisation, parameter or weights are not known or do not fit.
    FrameError
        There are no runs, or one of them holds several systems.

    Notes
    -----
    The numbers are those of ranx, but for what its order of ties leaves to chance.

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
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
        raise OptionError(f"depth must be a whole number of at least 1, not {depth!r}")
    if chosen.trained and train_qrels is None:
        raise OptionError(f"{chosen.name} learns from judged queries: give train_qrels=")
    normalised = None if norm is None else read_normalisation(norm)
    lists = lists_of(runs, recipe, normalised, ties, duplicates)
    judged = None
    if chosen.trained:
        learnt_from = lists
        if train_runs is not None:
            learnt_from = lists_of(train_runs, recipe, normalised, ties, duplicates)
        judged = training_lists(learnt_from.plan, _qrels_plan(train_qrels), rel)
    fused = combine(lists.plan, recipe, weight_of(lists.names, weights), judged, depth)
    if lists.is_lazy:
        return fused
    return collect(fused, "in-memory" if lists.height < SMALL else "streaming")


@dataclass(frozen=True)
class Lists:
    """The lists of all systems in one plan.

    Attributes
    ----------
    plan
        `system`, `query_id`, `doc_id`, `score`, and what the recipe reads of `rank` and `n_listed`.
    names
        The systems in the order they were given; none where they are a column.
    is_lazy
        Whether one of the runs was a plan.
    height
        Rows of the runs in memory.
    """

    plan: pl.LazyFrame
    names: list[str]
    is_lazy: bool
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
    parts = [_part(frame.lazy(), name, recipe, used, ties) for name, frame in frames.items()]
    plan = pl.concat(parts) if len(parts) > 1 else parts[0]
    if used is not None and used.completes:
        plan = _completed(plan, used)
    return Lists(
        plan,
        [name for name in frames if name is not None],
        any(isinstance(frame, pl.LazyFrame) for frame in frames.values()),
        sum(frame.height for frame in frames.values() if isinstance(frame, pl.DataFrame)),
    )


def combine(
    lists: pl.LazyFrame,
    recipe: Recipe,
    weight: pl.Expr,
    judged: pl.LazyFrame | None,
    depth: int | None,
) -> pl.LazyFrame:
    """The fused run of prepared lists."""
    if recipe.reads("weight"):
        lists = lists.with_columns(weight=weight)
    learnt = lists if recipe.learn is None or judged is None else recipe.learn(lists, judged)
    read = [name for name in ("weight",) if recipe.reads(name)]
    worth = learnt.select("query_id", "doc_id", *read, value=recipe.each)
    extra = [sum_in_order(pl.col("weight")).alias("weights")] if recipe.finish and read else []
    fused = worth.group_by("query_id", "doc_id").agg(recipe.together.alias("score"), *extra)
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
    return {str(name): _one_system(run, str(name), duplicates) for name, run in given.items()}


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


def weight_of(names: list[str], weights: Weights | None) -> pl.Expr:
    """The weight of a row's system."""
    if weights is None:
        return pl.lit(1.0)
    if not isinstance(weights, Mapping):
        if len(weights) != len(names):
            raise OptionError(
                f"there are {len(weights)} weights for "
                + (f"{len(names)} runs" if names else "a column of systems: name each system's")
            )
        weights = dict(zip(names, weights, strict=True))
    lacking = [name for name in names if name not in weights]
    strange = [name for name in weights if names and name not in names]
    if lacking or strange:
        raise OptionError(f"weights lack {lacking} and name {strange}, which are no runs")
    system, weight = list(weights), [float(w) for w in weights.values()]
    if not all(w == w for w in weight):
        raise OptionError("a weight is NaN")
    return pl.col("system").replace_strict(system, weight, return_dtype=pl.Float64)


def _qrels_plan(qrels: Any) -> pl.LazyFrame:
    given = qrels.qrels if isinstance(qrels, PreparedQrels) else qrels_frame(qrels)
    plan = given.lazy()
    return join_subtopics(plan) if "subtopic" in plan.collect_schema().names() else plan
