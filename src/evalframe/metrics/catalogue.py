"""The catalogue of metrics: a metric is one decorated function that returns an expression.

The function's name is its spelling. Parsing, the command line's help, the README's table and the
laws in the tests all read what the decorator records here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, get_args

import polars as pl

from evalframe.errors import MetricError, one_of

__all__ = ["CATALOGUE", "Better", "Definition", "Metric", "Summary", "metric"]

Arguments = ParamSpec("Arguments")
Summary = Literal["mean", "sum", "geometric_mean"]
"""How the values of single queries become one number."""
Better = Literal["higher", "lower"]
"""Which way a good change of a list moves the value; a count that lists do not move is `higher`."""


@dataclass(frozen=True)
class Definition:
    """What the catalogue knows of a metric."""

    name: str
    function: Callable[..., pl.Expr] = field(repr=False)
    at: str
    bounds: tuple[float | None, float | None]
    unit: str
    summary: Summary
    better: Better
    graded: bool
    positives_only: bool
    aliases: tuple[str, ...]
    variants: Mapping[str, Mapping[str, Any]] = field(hash=False)

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The function's parameters, in order."""
        return dict(inspect.signature(self.function).parameters)

    @property
    def needs_cutoff(self) -> bool:
        """Whether the metric has no meaning without what stands behind `@`."""
        at = self.parameters.get(self.at)
        return at is not None and at.default is inspect.Parameter.empty

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def example(self) -> str:
        """A spelling that parses, with a cut-off where the metric can have one."""
        if self.at not in self.parameters:
            return self.name
        return f"{self.name}@{'10' if self.at == 'k' else '0.5'}"


@dataclass(frozen=True)
class Metric:
    """A metric with its parameters: what `parse` gives, and what `str` spells again.

    >>> import evalframe as evf
    >>> m = evf.metrics.parse("P_10")
    >>> str(m), m.definition.name, dict(m.parameters)
    ('precision@10', 'precision', {'k': 10})
    """

    definition: Definition = field(repr=False)
    parameters: tuple[tuple[str, Any], ...] = ()
    _built: dict[float | None, pl.Expr] = field(default_factory=dict, repr=False, compare=False)
    _reads: list[str] = field(default_factory=list, repr=False, compare=False)

    def expression(self, rel: float | None = None) -> pl.Expr:
        """The expression over a query's judged rows, named by its canonical spelling.

        `rel` is the lowest grade that counts as relevant, for metrics that do not state their own
        and that do not work on grades themselves.
        """
        if rel not in self._built:
            self._built[rel] = self._build(rel)
        return self._built[rel]

    def reads(self) -> list[str]:
        """The columns of the judged frame that the expression reads."""
        if not self._reads:
            self._reads.extend(self.expression().meta.root_names())
        return self._reads

    def positives_only(self, rel: float | None = None) -> bool:
        """Whether documents of grade 0 or below could be left out without moving the value."""
        arguments = self._arguments(rel)
        level, gain = arguments.get("rel"), arguments.get("gain")
        above_0 = level is None or level > 0
        return self.definition.positives_only and above_0 and not isinstance(gain, tuple)

    def _arguments(self, rel: float | None) -> dict[str, Any]:
        arguments = dict(self.parameters)
        inherits = "rel" in self.definition.parameters and not self.definition.graded
        if rel is not None and inherits and "rel" not in arguments:
            arguments["rel"] = rel
        return arguments

    def _build(self, rel: float | None) -> pl.Expr:
        arguments = self._arguments(rel)
        value = self.definition.function(**arguments)
        if not isinstance(value, pl.Expr):
            raise MetricError(
                f"metric {self.definition.name!r} gives {type(value).__name__}, not an expression"
            )
        return value.cast(pl.Float64).alias(str(self))

    def __str__(self) -> str:
        """The canonical spelling, which parses back to an equal metric."""
        given = dict(self.parameters)
        at = given.pop(self.definition.at, None)
        inside = ",".join(f"{name}={_spelled(value)}" for name, value in given.items())
        text = self.definition.name + (f"({inside})" if inside else "")
        return text if at is None else f"{text}@{_spelled(at)}"


class Catalogue(Mapping[str, Definition]):
    """All metrics by name, in the order of their registration.

    `parsed` keeps the spellings that were read since the last registration.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._definitions: dict[str, Definition] = {}
        self.parsed: dict[str, Metric] = {}

    def __getitem__(self, name: str) -> Definition:
        """The metric of that name."""
        return self._definitions[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._definitions)

    def __len__(self) -> int:
        """How many metrics there are."""
        return len(self._definitions)

    def add(self, definition: Definition) -> None:
        """Register a metric; a name that stands for another metric is refused."""
        taken = {n.lower(): d for d in self._definitions.values() for n in _all_names(d)}
        for name in _all_names(definition):
            other = taken.get(name.lower())
            if other is not None and other.function.__module__ != definition.function.__module__:
                raise MetricError(
                    f"{name!r} already stands for the metric {other.name!r}; choose another name"
                )
        self._definitions[definition.name] = definition
        self.parsed.clear()


CATALOGUE = Catalogue()
"""Every metric of runs by its name."""


def metric(
    *,
    at: str = "k",
    bounds: tuple[float | None, float | None] = (0.0, 1.0),
    unit: str = "ratio",
    summary: Summary = "mean",
    better: Better = "higher",
    graded: bool = False,
    positives_only: bool = False,
    aliases: tuple[str, ...] = (),
    variants: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[Callable[Arguments, pl.Expr]], Callable[Arguments, pl.Expr]]:
    """Register a function as a metric; its name becomes the metric's spelling.

    The function returns one expression over the judged rows of a query (columns `doc_id`,
    `relevance`, `score`, `rank`, `ideal_rank`, `n_retrieved`; see `evalframe.judge`) that gives one
    number. The decorated function is called as before and returns the same expression, as Float64
    and named by its spelling.

    Parameters
    ----------
    at
        The parameter that is written behind `@`.
    bounds
        The least and the greatest value, None where there is none.
    unit
        What is counted: `ratio`, `documents`, `queries`, `gain`.
    summary
        How the values of queries become one: `mean`, `sum` or `geometric_mean`.
    better
        `higher` or `lower`.
    graded
        The metric works on grades, so the evaluation's `rel=` does not reach it.
    positives_only
        Documents of grade 0 or below do not touch the value (where `rel` is above 0), not in its
        last bit. Where that holds for all metrics asked for, they are not looked for in the run,
        which is faster.
    aliases
        Other names. `{name}` stands for a parameter: `P_{k}`.
    variants
        Other names that set parameters: `{"ndcg_burges": {"gain": "exp"}}`.

    Raises
    ------
    MetricError
        The name or an alias stands for another metric.

    Examples
    --------
    >>> import polars as pl, evalframe as evf
    >>> @evf.metrics.metric()
    ... def half_life(k: int | None = None) -> pl.Expr:
    ...     "Share of the relevant documents found in the upper half of the list."
    ...     found = (pl.col("relevance") > 0) & (pl.col("rank") * 2 <= pl.col("n_retrieved"))
    ...     return found.sum() / (pl.col("relevance") > 0).sum()
    >>> evf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, ["half_life"]).metrics
    {'half_life': 1.0}
    """

    def register(
        function: Callable[Arguments, pl.Expr],
    ) -> Callable[Arguments, pl.Expr]:
        one_of("summary", summary, get_args(Summary))
        one_of("better", better, get_args(Better))
        definition = Definition(
            name=function.__name__,
            function=function,
            at=at,
            bounds=bounds,
            unit=unit,
            summary=summary,
            better=better,
            graded=graded,
            positives_only=positives_only,
            aliases=aliases,
            variants=dict(variants or {}),
        )
        CATALOGUE.add(definition)
        signature = inspect.signature(function)

        @functools.wraps(function)
        def expression(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pl.Expr:
            given = signature.bind(*args, **kwargs).arguments
            return with_parameters(definition, given).expression()

        return expression

    return register


def with_parameters(definition: Definition, given: Mapping[str, Any]) -> Metric:
    """The metric with these parameters, in the function's order and without those at default."""
    known = definition.parameters
    unknown = [name for name in given if name not in known]
    if unknown:
        offered = ", ".join(known) or "no parameters"
        raise MetricError(
            f"metric {definition.name!r} has no parameter {unknown[0]!r}; it has {offered}"
        )
    if definition.needs_cutoff and definition.at not in given:
        raise MetricError(
            f"metric {definition.name!r} needs a cut-off, for example {definition.example!r}"
        )
    values = {name: _hashable(value) for name, value in given.items()}
    chosen = tuple(
        (name, values[name])
        for name, parameter in known.items()
        if name in values and values[name] != parameter.default
    )
    return Metric(definition, chosen)


def _hashable(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _all_names(definition: Definition) -> tuple[str, ...]:
    return (definition.name, *definition.aliases, *definition.variants)


def _spelled(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{_spelled(g)}:{_spelled(v)}" for g, v in value) + "}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return f"'{text}'" if "," in text else text
