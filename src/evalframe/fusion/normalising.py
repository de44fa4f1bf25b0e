"""Score normalisations: what makes the scores of one retriever comparable with another's.

Each is one decorated function that gives an expression over a list of documents; its name is its
spelling. A list is one query of one run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import OptionError, RowError, did_you_mean, first_rows
from evalframe.frames import Duplicates, fails_where
from evalframe.inputs import run_frame
from evalframe.ranking.ties import TieRule, Ties

__all__ = [
    "NORMALISATIONS",
    "Normalisation",
    "complete",
    "finite_scores",
    "normalise",
    "place_in_list",
    "read_normalisation",
]

LEAST = 1e-9
"""What a list is divided by at least, so that a list of equal scores stays finite."""
INFINITE = "norm='rank' and methods that read ranks, such as 'rrf', can hold them"

SCORE, RANK = pl.col("score"), pl.col("rank")
# Sums are taken from the least score up, so that the order of rows changes no bit.


@dataclass(frozen=True)
class Normalisation:
    """What the registry knows of a normalisation.

    Attributes
    ----------
    name, aliases
        Its spellings.
    function
        Gives the new score of a document, as an expression of its list (the rows of equal keys).
    keeps_order
        Whether the documents of a list stay in order, so that methods that read ranks only need
        not look at it.
    completes
        Whether a list gets the documents that other systems found for the query.
    """

    name: str
    function: Callable[[list[str]], pl.Expr] = field(repr=False)
    aliases: tuple[str, ...]
    keeps_order: bool
    completes: bool

    @property
    def reads_ranks(self) -> bool:
        """Whether the new score depends on the rank."""
        return "rank" in self.function(["query_id"]).meta.root_names()

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]


NORMALISATIONS: dict[str, Normalisation] = {}


def normalisation(
    *, aliases: tuple[str, ...] = (), keeps_order: bool = True, completes: bool = False
) -> Callable[[Callable[[list[str]], pl.Expr]], Callable[[list[str]], pl.Expr]]:
    """Register a function as a normalisation; its name becomes the spelling."""

    def register(function: Callable[[list[str]], pl.Expr]) -> Callable[[list[str]], pl.Expr]:
        name = function.__name__.strip("_")
        NORMALISATIONS[name] = Normalisation(name, function, aliases, keeps_order, completes)
        return function

    return register


@normalisation(aliases=("minmax",))
def min_max(keys: list[str]) -> pl.Expr:
    """(score - lowest) / (highest - lowest): from 0 to 1."""
    lowest = SCORE.min().over(keys)
    return (SCORE - lowest) / _at_least(SCORE.max().over(keys) - lowest)


@normalisation(aliases=("inverted",), keeps_order=False)
def min_max_inverted(keys: list[str]) -> pl.Expr:
    """(highest - score) / (highest - lowest): for distances, where less is better."""
    highest = SCORE.max().over(keys)
    return (highest - SCORE) / _at_least(highest - SCORE.min().over(keys))


@normalisation()
def max_(keys: list[str]) -> pl.Expr:
    """score / highest."""
    return SCORE / _at_least(SCORE.max().over(keys))


@normalisation()
def sum_(keys: list[str]) -> pl.Expr:
    """(score - lowest) / sum of that over the list: the list's scores sum to 1."""
    lowest = SCORE.min().over(keys)
    whole = SCORE.sum().over(keys, order_by=SCORE)
    return (SCORE - lowest) / _at_least(whole - lowest * pl.len().over(keys))


@normalisation(aliases=("z_score", "zscore", "standard"))
def zmuv(keys: list[str]) -> pl.Expr:
    """(score - mean) / standard deviation: mean 0, variance 1 (over n, not n - 1)."""
    mean = SCORE.mean().over(keys, order_by=SCORE)
    return (SCORE - mean) / _at_least(SCORE.std(ddof=0).over(keys, order_by=SCORE))


@normalisation()
def rank_(keys: list[str]) -> pl.Expr:
    """1 - (rank - 1) / n of a list of n documents."""
    return 1 - (RANK - 1) / _length(keys)


@normalisation(completes=True)
def borda(keys: list[str]) -> pl.Expr:
    """1 - (rank - 1) / c, where c documents are found by any system for the query.

    Documents that this system did not find get 1/2 - (n - 1) / 2c: they share what is left.
    """
    n_candidates, n_ranked = _length(keys), RANK.count().over(keys)
    ranked = 1 - (RANK - 1) / n_candidates
    left = 0.5 - (n_ranked.cast(pl.Int64) - 1) / (2 * n_candidates)
    return pl.when(RANK.is_null()).then(left).otherwise(ranked)


def normalise(
    run: Any,
    method: str = "min_max",
    *,
    ties: Ties = "trec",
    duplicates: Duplicates = "error",
) -> pl.DataFrame | pl.LazyFrame:
    """A run with normalised scores, list by list.

    Parameters
    ----------
    run
        A frame, a dict or a path. With a `system` column each system has its own lists.
    method
        `min_max`, `min_max_inverted`, `max`, `sum`, `zmuv`, `rank` or `borda`. Differences and
        sums below 1e-9 count as 1e-9, so a list of equal scores becomes 0 under `min_max`.
    ties
        What stands first among equal scores, for `rank` and `borda`; see `evalframe.Contract`.
    duplicates
        See `evalframe.frames.Duplicates`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The columns of the run, with new scores; by system, query_id, falling score and falling
        doc_id. Under `borda` every system of the run gets the documents of all. Lazy where the
        run is.

    Raises
    ------
    OptionError
        The method is not known.
    RowError
        A score is infinite, unless the method reads ranks only (`rank` and `borda`).

    Notes
    -----
    The definitions are those of ranx.

    Examples
    --------
    >>> normalise({"q": {"a": 5.0, "b": 4.0, "c": 3.0}}, "min_max")["score"].to_list()
    [1.0, 0.5, 0.0]
    """
    chosen = read_normalisation(method)
    frame = run_frame(run, duplicates=duplicates)
    plan = (frame if chosen.reads_ranks else finite_scores(frame)).lazy()
    names = plan.collect_schema().names()
    keys: list[str] = [name for name in ("system", "query_id") if name in names]
    rule = TieRule.of(ties, names)
    if chosen.reads_ranks:
        plan = place_in_list(plan, keys, rule)
    if chosen.completes:
        plan = complete(plan, keys)
    order = [*keys, "score", "doc_id"]
    descending = [*(False for _ in keys), True, True]
    plan = (
        plan.with_columns(score=chosen.function(keys))
        .select(*keys, "doc_id", "score")
        .sort(order, descending=descending)
    )
    return plan if isinstance(frame, pl.LazyFrame) else collect(plan)


def read_normalisation(name: str) -> Normalisation:
    """A normalisation by its name, an alias, or either with hyphens."""
    wanted = str(name).lower().replace("-", "_")
    spellings = {s: n for n in NORMALISATIONS.values() for s in (n.name, *n.aliases)}
    if wanted not in spellings:
        offered = ", ".join(NORMALISATIONS)
        hint = did_you_mean(wanted, spellings) or f"; choose one of {offered}, or None"
        raise OptionError(f"unknown normalisation {name!r}{hint}")
    return spellings[wanted]


def finite_scores(run: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    """Refuse infinite scores, of which no difference or sum can be taken; a plan fails by them."""
    if isinstance(run, pl.LazyFrame):
        message = f"an infinite score in the run; {INFINITE}"
        return run.with_columns(fails_where(SCORE.is_infinite(), message, "score", pl.Float64()))
    rows = run.with_row_index("row").filter(SCORE.is_infinite())
    if rows.height:
        raise RowError(
            f"{rows.height} rows have an infinite score; {INFINITE}. First rows:\n"
            f"{first_rows(rows)}"
        )
    return run


def place_in_list(plan: pl.LazyFrame, keys: list[str], rule: TieRule) -> pl.LazyFrame:
    """Give every row its `rank` among the rows of the same keys; 1 has the highest score."""
    if rule.column == "row":
        plan = plan.with_row_index("row")
    # Negative zero and zero are one score; adding zero makes them one value.
    by = [SCORE + 0.0, pl.col(rule.column)] if rule.greatest_first else [-SCORE + 0.0, rule.column]
    place = pl.struct(first=by[0], then=by[1]).rank("ordinal", descending=rule.greatest_first)
    placed = plan.with_columns(rank=place.over(keys))
    return placed.drop("row") if rule.column == "row" else placed


def complete(
    plan: pl.LazyFrame, keys: list[str], systems: pl.LazyFrame | None = None
) -> pl.LazyFrame:
    """Give every system a row for each document that any system found for the query.

    What a system did not find has a null `score` and `rank`. `systems` holds the `system` of all,
    where the plan holds some of the queries only.
    """
    if "system" not in keys:
        return plan
    systems = plan.select("system").unique() if systems is None else systems
    candidates = plan.select("query_id", "doc_id").unique()
    return systems.join(candidates, how="cross").join(
        plan, on=["system", "query_id", "doc_id"], how="left"
    )


def _length(keys: list[str]) -> pl.Expr:
    """How many rows the list has, as a value of each row (see `_at_least`)."""
    return pl.max_horizontal(pl.len().over(keys), RANK)


def _at_least(divisor: pl.Expr) -> pl.Expr:
    """The divisor of each row, of `LEAST` at least.

    The third term is never the greatest: it makes the divisor a value of the row. Polars multiplies
    by the reciprocal where a whole batch has one divisor, so that the last bit would depend on how
    rows fall into batches.
    """
    return pl.max_horizontal(divisor, pl.lit(LEAST), -SCORE.abs())
