"""Ways to fuse: each is one decorated function that says what a document is worth.

A recipe has two expressions. `each` is what one list gives to a document, over the columns `score`,
`rank` (1 is first), `n_listed` (documents of the list) and `weight` (of the system). `together`
makes one number of what the lists that have the document give, over `value` and `weight`.

Sums are taken over sorted values: so the same input gives the same bits in whatever order its rows
come, and documents that hold the same ranks in different systems are tied.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import polars as pl

from evalframe.errors import OptionError, did_you_mean

__all__ = [
    "METHODS",
    "Method",
    "Recipe",
    "fusion",
    "parameters_of",
    "read_method",
    "sum_in_order",
    "total",
]

DECIMALS = 9
"""Of votes; with weights like 0.1 a draw would come out as dust."""

SCORE, RANK, WEIGHT, VALUE = pl.col("score"), pl.col("rank"), pl.col("weight"), pl.col("value")


def sum_in_order(values: pl.Expr) -> pl.Expr:
    """The sum of a group's values from the least up, so that their order changes no bit.

    As lists, because Polars leaves out a sort before a sum.
    """
    return values.implode().list.sort().list.sum()


total = sum_in_order(VALUE)
"""The sum of what the lists give."""
n_lists = pl.len()
"""How many lists have the document."""


@dataclass(frozen=True)
class Recipe:
    """What one list gives to a document, and what the lists' gifts come to.

    Attributes
    ----------
    each
        Over the rows of all lists. A trained method finds here the columns that it learnt.
    together
        Over the rows of one document of one query.
    finish
        Turns the fused frame (`query_id`, `doc_id`, `score`, and the sum of the `weights` of the
        lists that have the document) into the final one, where the score depends on the query's
        other documents; called with the rows of all lists, and with `system` and `weight` of all
        systems.
    learn
        Adds to the rows of all lists what was learnt from judged lists; see `trained`.
    finite
        Whether scores that are read must be finite.
    cost
        The rows that working out a list takes, of its `n_listed`.
    """

    each: pl.Expr
    together: pl.Expr = total
    finish: Callable[[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame], pl.LazyFrame] | None = None
    learn: Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame] | None = None
    finite: bool = True
    cost: pl.Expr = pl.col("n_listed")  # noqa: RUF009

    def reads(self, column: str) -> bool:
        """Whether a column of the lists is looked at."""
        named = {*self.each.meta.root_names(), *self.together.meta.root_names()}
        return column in named or (self.learn is not None and column in ("rank", "n_listed"))


@dataclass(frozen=True)
class Method:
    """What the registry knows of a way to fuse.

    Attributes
    ----------
    name, aliases
        Its spellings.
    function
        Gives the recipe, for the method's parameters.
    grid
        Parameter → values that `tune` tries, where the caller names none.
    trained
        Whether it learns from judged queries.
    """

    name: str
    function: Callable[..., Recipe] = field(repr=False)
    aliases: tuple[str, ...]
    grid: Mapping[str, tuple[Any, ...]] = field(repr=False)
    trained: bool

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The function's parameters, in order."""
        return dict(inspect.signature(self.function).parameters)

    @property
    def weighted(self) -> bool:
        """Whether systems have weights."""
        return self.function().reads("weight")

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]


METHODS: dict[str, Method] = {}
"""Every way to fuse by its name."""


def fusion(
    *,
    aliases: tuple[str, ...] = (),
    grid: Mapping[str, tuple[Any, ...]] | None = None,
    trained: bool = False,
) -> Callable[[Callable[..., Recipe]], Callable[..., Recipe]]:
    """Register a function as a way to fuse; its name becomes the spelling."""

    def register(function: Callable[..., Recipe]) -> Callable[..., Recipe]:
        name = function.__name__
        METHODS[name] = Method(name, function, aliases, dict(grid or {}), trained)
        return function

    return register


def read_method(name: str) -> Method:
    """A method by its name or an alias; hyphens are underscores."""
    wanted = str(name).lower().replace("-", "_")
    spellings = {s: m for m in METHODS.values() for s in (m.name, *m.aliases)}
    if wanted not in spellings:
        hint = did_you_mean(wanted, spellings) or f"; choose one of {', '.join(METHODS)}"
        raise OptionError(f"unknown fusion method {name!r}{hint}")
    return spellings[wanted]


def parameters_of(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they were given, if the method has them."""
    unknown = [name for name in given if name not in method.parameters]
    if unknown:
        known = ", ".join(method.parameters) or "no parameters"
        raise OptionError(
            f"fusion method {method.name!r} has no parameter {unknown[0]!r}; it has {known}"
        )
    return dict(given)


def _steps(first: int, last: int, step: int, per: float = 1.0) -> tuple[float, ...]:
    return tuple(i / per for i in range(first, last + 1, step))


def _at_least_0(name: str, value: Any, upper: float = math.inf) -> float:
    """A finite number of any library as one of Python, once it is within its limits."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= upper:
        limits = "at least 0" if upper == math.inf else f"between 0 and {upper:g}"
        raise OptionError(f"{name} must be a finite number {limits}, not {value!r}")
    return int(value) if isinstance(value, Integral) else float(value)


@fusion(aliases=("reciprocal_rank_fusion",), grid={"k": tuple(range(10, 101, 10))})
def rrf(k: float = 60) -> Recipe:
    """Sum of 1 / (k + rank). Source: Cormack et al. 2009."""
    return Recipe(1 / (_at_least_0("k", k) + RANK))


@fusion()
def isr() -> Recipe:
    """Sum of 1 / rank², times the number of lists. Source: Mourão et al. 2015."""
    return Recipe(_inverse_square, total * n_lists)


@fusion()
def log_isr() -> Recipe:
    """Sum of 1 / rank², times ln of the number of lists. Source: Mourão et al. 2015.

    A document of a single list gets 0.
    """
    return Recipe(_inverse_square, total * n_lists.log())


@fusion(grid={"sigma": _steps(1, 100, 1, 100)})
def logn_isr(sigma: float = 0.01) -> Recipe:
    """Sum of 1 / rank², times ln(number of lists + sigma). Source: Mourão et al. 2015."""
    more = _at_least_0("sigma", sigma, 1)
    return Recipe(_inverse_square, total * (n_lists + more).log())


_inverse_square = 1 / RANK.cast(pl.Float64) ** 2


@fusion(aliases=("sum",))
def comb_sum() -> Recipe:
    """Sum of the scores. Source: Fox and Shaw 1993."""
    return Recipe(SCORE)


@fusion(aliases=("mnz",))
def comb_mnz() -> Recipe:
    """Sum of the scores, times the number of lists. Source: Fox and Shaw 1993."""
    return Recipe(SCORE, total * n_lists)


@fusion(aliases=("anz",))
def comb_anz() -> Recipe:
    """Mean of the scores over the lists that have the document. Source: Fox and Shaw 1993."""
    return Recipe(SCORE, VALUE.implode().list.sort().list.mean())


@fusion(aliases=("gmnz",), grid={"gamma": _steps(1, 100, 1, 100)})
def comb_gmnz(gamma: float = 1.0) -> Recipe:
    """Sum of the scores, times the number of lists to the power gamma. Source: Lee 1997."""
    power = _at_least_0("gamma", gamma)
    return Recipe(SCORE, total * n_lists.cast(pl.Float64).pow(power))


@fusion(aliases=("max",))
def comb_max() -> Recipe:
    """Highest of the scores. Source: Fox and Shaw 1993."""
    return Recipe(SCORE, VALUE.max(), finite=False)


@fusion(aliases=("min",))
def comb_min() -> Recipe:
    """Lowest of the scores of the lists that have the document. Source: Fox and Shaw 1993."""
    return Recipe(SCORE, VALUE.min(), finite=False)


@fusion(aliases=("med", "comb_median", "median"))
def comb_med() -> Recipe:
    """Median of the scores of the lists that have the document. Source: Fox and Shaw 1993."""
    return Recipe(SCORE, VALUE.implode().list.median())


@fusion(aliases=("weighted_sum", "linear"))
def wsum() -> Recipe:
    """Sum of weight times score."""
    return Recipe(SCORE * WEIGHT)


@fusion(aliases=("w_mnz", "weighted_mnz"))
def wmnz() -> Recipe:
    """Sum of the scores, times the sum of the weights. Source: Wu and Crestani 2002."""
    return Recipe(SCORE, total * sum_in_order(WEIGHT))


@fusion()
def mixed() -> Recipe:
    """Sum of weight times score, times √ of the number of lists. Source: Wu and Crestani 2002."""
    return Recipe(SCORE * WEIGHT, total * n_lists.sqrt())


@fusion(aliases=("rank_biased_centroid",), grid={"phi": _steps(1, 99, 1, 100)})
def rbc(phi: float = 0.8) -> Recipe:
    """Sum of (1 - phi) phi^(rank - 1). Source: Bailey et al. 2017."""
    phi = _at_least_0("phi", phi, 1)
    return Recipe((1 - phi) * pl.lit(float(phi)).pow(RANK - 1))


@fusion(aliases=("bordafuse", "borda_fuse", "w_bordafuse", "weighted_bordafuse"))
def borda() -> Recipe:
    """Borda's count: c points for the first, c - 1 for the second, of c candidates.

    Candidates are the documents that any system found for the query; those that a system did not
    find share the points that it has left. Source: Aslam and Montague 2001.
    """
    above_middle = pl.col("n_listed") / 2 - (RANK.cast(pl.Float64) - 1)
    return Recipe(above_middle * WEIGHT, finish=_points)


@fusion(aliases=("condorcetfuse", "w_condorcet", "weighted_condorcet"))
def condorcet() -> Recipe:
    """1 + the number of candidates that a majority of systems ranks lower; a draw counts half.

    A system ranks what it found above what it did not find. Votes that differ by less than 1e-9
    are a draw. All documents of a list are compared with each other, so that cost and memory grow
    with the square of its length. Where no majorities go round in a circle the order is the only
    one that agrees with all of them; ranx, whose order depends on chance where they do, gives the
    same scores where there are no draws either.
    Source: Copeland 1951; Montague and Aslam 2002.
    """
    return Recipe(RANK * WEIGHT, finish=_duels, cost=pl.col("n_listed") ** 2)


def _points(fused: pl.LazyFrame, lists: pl.LazyFrame, systems: pl.LazyFrame) -> pl.LazyFrame:
    """Add what all lists give to every candidate, and the half of c - 1 for each that has it."""
    all_weights = systems.select(all_weights=sum_in_order(WEIGHT))
    given_away = (
        lists.group_by("system", "query_id", "weight")
        .agg(n=pl.len())
        .group_by("query_id")
        .agg(weighted_rows=sum_in_order(WEIGHT * pl.col("n")))
    )
    of_query = fused.group_by("query_id").agg(c=pl.len().cast(pl.Int64))
    c = pl.col("c")
    for_all = (pl.col("all_weights") * (c + 1) - pl.col("weighted_rows")) / 2
    return (
        fused.join(of_query, on="query_id")
        .join(given_away, on="query_id")
        .join(all_weights, how="cross")
        .with_columns(score=SCORE + pl.col("weights") * (c - 1) / 2 + for_all)
    )


def _duels(fused: pl.LazyFrame, lists: pl.LazyFrame, _: pl.LazyFrame) -> pl.LazyFrame:
    """Net votes of one document over another: those of lists with both, and of lists with one.

    Where no list has both, the greater sum of weights wins, which a rank among all candidates
    tells; only documents of the same list are paired, to put right what the rank says of them.
    """
    numbered = fused.drop("score").with_columns(
        query=pl.col("query_id").rank("dense"),
        document=pl.col("doc_id").rank("dense").over("query_id"),
    )
    listed = lists.join(numbered, on=["query_id", "doc_id"]).select(
        "system", "query", "document", "weights", "rank", "weight"
    )
    other = listed.select(
        "system", "query", other="document", below="rank", other_weights="weights"
    )
    direction = (pl.col("below") > RANK).cast(pl.Int8) - (pl.col("below") < RANK).cast(pl.Int8)
    lead = pl.col("weights") - pl.col("other_weights")
    put_right = (
        listed.join(other, on=["system", "query"])
        .filter(pl.col("document") != pl.col("other"))
        .group_by("query", "document", "other")
        .agg(sum_in_order(WEIGHT * direction).alias("votes"), lead.first().alias("lead"))
        .group_by("query", "document")
        .agg(more=(_sign(pl.col("votes") + pl.col("lead")) - _sign(pl.col("lead"))).sum() / 2)
    )
    by_weights = pl.col("weights").round(DECIMALS).rank("average").over("query_id")
    return numbered.join(put_right, on=["query", "document"], how="left").with_columns(
        score=by_weights + pl.col("more").fill_null(0.0)
    )


def _sign(votes: pl.Expr) -> pl.Expr:
    return votes.round(DECIMALS).sign()
