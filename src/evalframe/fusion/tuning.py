"""Which parameters of a fusion are best, found on some judged queries and checked on others."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import polars as pl

from evalframe.columns import RUN
from evalframe.engine import collect
from evalframe.errors import OptionError, whole_number
from evalframe.frames import Duplicates, refuse_duplicates
from evalframe.fusion.fusing import combine, fuse, recipe_of
from evalframe.fusion.lists import lists_of, norm_that_matters, runs_of
from evalframe.fusion.methods import Method, read_method
from evalframe.fusion.normalising import read_normalisation
from evalframe.fusion.trained import training_lists
from evalframe.fusion.weights import named_weights, weight_of
from evalframe.metrics import Metric, parse
from evalframe.progress import tracked
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import Ties
from evalframe.report import evaluate
from evalframe.tables import counted, notebook_table, text_table

__all__ = ["Tuning", "tune"]

STEP = 0.1
"""Between the weights that are tried; each setting's weights sum to 1."""
MOST = 10_000
"""Settings up to which a grid is tried without the caller having written it out."""
SHOWN = 5
"""Settings that are printed, the best first."""


@dataclass(frozen=True)
class Tuning:
    """What `tune` found.

    Attributes
    ----------
    method, norm, metric, seed
        As they were asked for.
    best
        The best parameters on the training queries: what `fuse` takes. Of equal ones the first.
    train, test
        The metric's value with them, on the training queries and on those that the choice has not
        seen; None where no query was kept for testing.
    tried
        A row for each setting, in the order of trial: its parameters and its training `value`.
    train_queries, test_queries
        The query_ids of either part.
    """

    method: str
    norm: str | None
    metric: str
    best: dict[str, Any]
    train: float
    test: float | None
    tried: pl.DataFrame = field(repr=False)
    train_queries: list[str] = field(repr=False)
    test_queries: list[str] = field(repr=False)
    seed: int = 0
    train_qrels: pl.DataFrame | None = field(default=None, repr=False)

    def fuse(self, runs: Any, **options: Any) -> pl.DataFrame | pl.LazyFrame:
        """Fuse with the best parameters; trained methods learn from the training queries."""
        learnt = {} if self.train_qrels is None else {"train_qrels": self.train_qrels}
        return fuse(runs, self.method, **{"norm": self.norm, **learnt, **self.best, **options})

    def __repr__(self) -> str:
        """The best parameters and their values as a small table."""
        return "\n".join([text_table(self._best_first()), *self._notes()])

    def _repr_html_(self) -> str:
        return notebook_table(self._best_first(), self._notes())

    def _best_first(self) -> pl.DataFrame:
        falling = _greater_is_better(self.metric)
        return self.tried.sort("value", descending=falling, maintain_order=True).head(SHOWN)

    def _notes(self) -> list[str]:
        trained_on = counted(len(self.train_queries), "training query", "training queries")
        test = "none" if self.test is None else f"{self.test:.4f}"
        return [
            f"{self.method}, norm {self.norm}: best {self.best}",
            f"{self.metric}: {self.train:.4f} on {trained_on}, "
            f"{test} on {counted(len(self.test_queries), 'other')} (seed {self.seed}); "
            f"{counted(self.tried.height, 'setting')} tried",
        ]


def tune(
    qrels: Any,
    runs: Any,
    method: str = "wsum",
    metric: str | Metric = "ndcg@10",
    *,
    grid: Mapping[str, Iterable[Any]] | None = None,
    norm: str | None = "min_max",
    test: float = 0.5,
    seed: int = 0,
    rel: float | None = None,
    ties: Ties = "trec",
    duplicates: Duplicates = "error",
    progress: bool | None = None,
) -> Tuning:
    """Try every setting of a fusion on training queries, and the best one on the others.

    Parameters
    ----------
    qrels
        Judgements: their queries are split.
    runs
        As for `evalframe.fuse`.
    method
        As for `fuse`.
    metric
        What is made best, by its mean over the training queries.
    grid
        Parameter → values to try, every combination; `weights` takes a list of weights. Without
        it: `k` of rrf 10, 20, … 100; `phi`, `gamma` and `sigma` in steps of 0.01; `w` 1 to 30;
        `n_segments` 1 to 100; weights in steps of 0.1 that sum to 1.
    norm, ties, duplicates
        As for `fuse`.
    test
        Share of the queries that are kept for testing, in [0, 1).
    seed
        Of the split: the same queries and seed give the same parts.
    rel
        The lowest grade that counts as relevant, in training and in the metric.
    progress
        A bar over the settings: None shows it after a second where somebody waits for it.

    Raises
    ------
    OptionError
        The grid has no setting or names what the method does not have; or the runs have none of the
        queries that settings are chosen by.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> good = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"b": 2.0, "x": 1.0}}
    >>> bad = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 2.0, "b": 1.0}}
    >>> grid = {"weights": [(0, 1), (1, 0)]}
    >>> found = tune(qrels, {"good": good, "bad": bad}, "wsum", "mrr", grid=grid)
    >>> found.best, found.test
    ({'weights': {'good': 1.0, 'bad': 0.0}}, 1.0)
    """
    chosen, metric = read_method(method), _one_metric(metric)
    prepared = prepare(qrels)
    train_ids, test_ids = _split(prepared.query_ids.to_list(), test, seed)
    recipe = recipe_of(chosen, {}, None)
    normalised = norm_that_matters(None if norm is None else read_normalisation(norm), recipe)
    given = runs_of(runs, recipe, normalised, ties, duplicates)
    judged_lists = lists_of(given.frames, recipe, normalised, ties).join(
        prepared.queries.lazy().select("query_id"), on="query_id", how="semi"
    )
    rows = collect(judged_lists)
    refuse_duplicates(rows, RUN)
    _refuse_strangers(rows, train_ids)
    names = given.names or rows["system"].unique().sort().to_list()
    settings = list(_settings(chosen, grid, names))
    train_qrels, test_qrels = (_part_of(prepared, ids) for ids in (train_ids, test_ids))
    learnt_from = (
        training_lists(rows.lazy(), train_qrels.qrels.lazy(), rel) if chosen.trained else None
    )

    def value(setting: dict[str, Any], ids: list[str], judgements: PreparedQrels) -> float:
        parameters = {name: v for name, v in setting.items() if name != "weights"}
        of_setting = recipe_of(chosen, parameters, None)
        seen = rows.lazy().filter(pl.col("query_id").is_in(ids))
        weight = weight_of(names, setting.get("weights"))
        fused = collect(combine(seen, of_setting, weight, learnt_from, None), "in-memory")
        if fused.height == 0:
            return 0.0
        return evaluate(judgements, fused, metric, rel=rel).metrics[metric]

    followed = tracked(settings, len(settings), "setting", progress)
    values = [value(setting, train_ids, train_qrels) for setting in followed]
    choose = max if _greater_is_better(metric) else min
    best = choose(range(len(settings)), key=values.__getitem__)
    return Tuning(
        method=chosen.name,
        norm=norm,
        metric=metric,
        best=settings[best],
        train=values[best],
        test=value(settings[best], test_ids, test_qrels) if test_ids else None,
        tried=_table(settings, values),
        train_queries=train_ids,
        test_queries=test_ids,
        seed=seed,
        train_qrels=train_qrels.qrels if chosen.trained else None,
    )


def _split(query_ids: list[str], test: float, seed: int) -> tuple[list[str], list[str]]:
    """The query_ids of the training part and of the other, each in order."""
    seed = whole_number("seed", seed, None)
    is_number = isinstance(test, Real) and not isinstance(test, bool)
    if not is_number or not 0 <= test < 1:
        raise OptionError(f"test must be a share of the queries in [0, 1), not {test!r}")
    ordered = sorted(query_ids)
    n_test = int(len(ordered) * test)
    kept = set(random.Random(seed).sample(ordered, n_test))
    return [q for q in ordered if q not in kept], [q for q in ordered if q in kept]


def _part_of(prepared: PreparedQrels, query_ids: list[str]) -> PreparedQrels:
    """The judgements of some queries, with all that is known of them."""
    return PreparedQrels(prepared.checked.filter(pl.col("query_id").is_in(query_ids)))


def _one_metric(metric: str | Metric) -> str:
    """The spelling of the metric that is made best."""
    if isinstance(metric, Metric):
        return str(metric)
    if not isinstance(metric, str):
        raise OptionError(f"tune makes one metric best: name it by a string, not by {metric!r}")
    return metric


def _refuse_strangers(rows: pl.DataFrame, train_ids: list[str]) -> None:
    """Refuse runs that have none of the queries that settings are chosen by."""
    if not rows["query_id"].is_in(train_ids).any():
        part = "training queries" if rows.height else "judged queries"
        raise OptionError(
            f"the runs have none of the {len(train_ids)} {part}: are the query_ids the same? "
            f"Judged are {train_ids[:3]} and so on"
        )


def _settings(
    method: Method, grid: Mapping[str, Iterable[Any]] | None, names: list[str]
) -> Iterator[dict[str, Any]]:
    """Every combination of the grid's values."""
    if grid is None:
        grid = dict(method.grid)
        if method.weighted:
            grid = {**grid, "weights": _shares(len(names))}
    if not isinstance(grid, Mapping):
        raise OptionError(f"grid must be a mapping parameter → values to try, not {grid!r}")
    known = [*method.parameters, *(["weights"] if method.weighted else [])]
    strange = [name for name in grid if name not in known]
    if strange:
        raise OptionError(
            f"fusion method {method.name!r} has no parameter {strange[0]!r} to tune; it has "
            + (", ".join(known) or "none")
        )
    values = {name: _values(name, tried) for name, tried in grid.items()}
    empty = [name for name, tried in values.items() if not tried]
    if empty:
        raise OptionError(f"the grid has no value for {empty[0]!r}")
    for combination in itertools.product(*values.values()):
        setting = dict(zip(values, combination, strict=True))
        if "weights" in setting:
            setting["weights"] = named_weights(names, setting["weights"], "weights in the grid")
        yield setting


def _values(name: str, tried: Any) -> list[Any]:
    if isinstance(tried, str | Mapping) or not isinstance(tried, Iterable):
        raise OptionError(f"grid={{{name!r}: {tried!r}}} needs a list of values to try")
    return list(tried)


def _shares(n: int) -> list[tuple[float, ...]]:
    """All weights in steps of a tenth that sum to 1."""
    steps = round(1 / STEP)
    if math.comb(steps + n - 1, n - 1) > MOST:
        raise OptionError(
            f"{n} runs have {math.comb(steps + n - 1, n - 1):,} settings of weights in steps of "
            f"{STEP}: name those to try with grid={{'weights': [...]}}"
        )
    bars = itertools.combinations(range(steps + n - 1), n - 1)
    ends = ((-1, *bar, steps + n - 1) for bar in bars)
    return [tuple((b - a - 1) / steps for a, b in itertools.pairwise(end)) for end in ends]


def _table(settings: list[dict[str, Any]], values: list[float]) -> pl.DataFrame:
    """Settings and values; weights are a column for each system."""
    rows = []
    for setting, value in zip(settings, values, strict=True):
        weights = {f"weight of {name}": w for name, w in setting.get("weights", {}).items()}
        others = {name: v for name, v in setting.items() if name != "weights"}
        rows.append({**others, **weights, "value": value})
    return pl.DataFrame(rows, infer_schema_length=None)


def _greater_is_better(metric: str) -> bool:
    return parse(metric).definition.better == "higher"
