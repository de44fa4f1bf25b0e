"""Numbers of another tool: read as they were pasted, and the settings that give them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import polars as pl

from evalframe.columns import QUERY_NAMES
from evalframe.comparing.summaries import summaries_of, summarised
from evalframe.engine import collect
from evalframe.errors import (
    ColumnError,
    EmptyError,
    FrameError,
    MetricError,
    OptionError,
    first_rows,
)
from evalframe.frames import collected, is_tabular, to_polars
from evalframe.metrics import Metric, parse
from evalframe.metrics.catalogue import with_parameters
from evalframe.report import Report, evaluate

__all__ = ["Candidate", "Pasted", "pasted", "settings_that_fit"]

VARIANTS: Mapping[str, tuple[Any, ...]] = {
    "gain": ("linear", "exp"),
    "norm": ("R", "min"),
    "rounding": ("nearest", "up"),
    "p": (0.5, 0.8, 0.9, 0.95),
}
"""Parameters on which tools differ, and the values that they are tried with."""
LIKELIEST = ("queries", "ties", "score_dtype", "rel", "depth", "judged_only")
"""Settings that are tried, those on which tools differ most often first."""
DEPTHS = (1_000, 100)
FINE = 1e-9
"""The tolerance for numbers with all their digits."""


@dataclass(frozen=True, eq=False)
class Pasted:
    """What another tool gave.

    Attributes
    ----------
    means
        Metric → value over all queries; empty where values came by query.
    per_query
        `query_id`, `metric`, `value`; None where only means came.
    metrics
        Their name → the name by which it is evaluated here.
    tolerance
        How far apart the same number may lie.
    """

    means: dict[str, float]
    per_query: pl.DataFrame | None
    metrics: dict[str, str]
    tolerance: float

    def beside(self, ours: pl.DataFrame) -> pl.DataFrame:
        """Our values with `value_b`, theirs; queries that only they have come last."""
        if self.per_query is None:
            return ours.with_columns(value_b=pl.lit(None, dtype=pl.Float64))
        return ours.join(
            self.per_query.rename({"value": "value_b"}),
            on=["query_id", "metric"],
            how="full",
            coalesce=True,
            maintain_order="left_right",
        )

    def with_means(self, summary: pl.DataFrame) -> pl.DataFrame:
        """Our means with `value_b`, theirs."""
        if self.per_query is not None:
            return summary
        values = [self.means[metric] for metric in summary["metric"]]
        return summary.with_columns(value_b=pl.Series(values, dtype=pl.Float64))


def pasted(
    data: Any,
    metrics: str | Iterable[str] | Mapping[str, str] | None,
    tolerance: float | None,
) -> Pasted:
    """Read what another tool gave: metric → value, query → {metric → value}, or a frame."""
    if isinstance(data, Mapping):
        shapes = {isinstance(value, Mapping) for value in data.values()}
        if len(shapes) > 1:
            raise FrameError(
                "the other tool's numbers mix metric → value with query_id → {metric → value}; "
                "hand over one of the two"
            )
        # trec_eval prints the means as a query of that name.
        if shapes == {True} and [str(query) for query in data] == ["all"]:
            (data,) = data.values()
    if isinstance(data, Mapping) and data and not isinstance(next(iter(data.values())), Mapping):
        means = {str(name): _number(value, name) for name, value in data.items()}
        named = _named(list(means), metrics)
        kept = {name: means[name] for name in named}
        return Pasted(kept, None, named, _tolerance(kept.values(), tolerance))
    if isinstance(data, Mapping):
        rows = [(str(q), str(m), _number(v, m)) for q, of in data.items() for m, v in of.items()]
        schema = {"query_id": pl.String, "metric": pl.String, "value": pl.Float64}
        long = pl.DataFrame(rows, schema=schema, orient="row")
    else:
        long = _long_frame(data)
    long = long.filter(pl.col("query_id") != "all")
    long = long.drop_nulls("value")
    if long.height == 0:
        raise EmptyError("there are no numbers to explain")
    if not long["value"].is_finite().all():
        raise FrameError(
            "the other tool's values hold NaN or infinite ones. First rows:\n"
            + first_rows(long.filter(~pl.col("value").is_finite()))
        )
    named = _named(long["metric"].unique(maintain_order=True).to_list(), metrics)
    long = long.filter(pl.col("metric").is_in(list(named)))
    if long.select("query_id", "metric").is_duplicated().any():
        raise FrameError("the other tool's values hold a query and metric more than once")
    return Pasted({}, long, named, _tolerance(long["value"].to_list(), tolerance))


@dataclass(frozen=True)
class Candidate:
    """Settings, and how well they give another tool's numbers.

    Attributes
    ----------
    settings
        Keyword arguments of `evaluate`.
    variants
        Their name of each metric → the name by which it comes nearest.
    changed
        What differs from the report.
    unlikeliness
        Tools differ on some settings more often than on others.
    fitting, numbers
        How many numbers lie within the tolerance, of how many.
    largest_difference
        Over all numbers.
    """

    settings: dict[str, Any]
    variants: dict[str, str]
    changed: tuple[str, ...]
    unlikeliness: int
    fitting: int
    numbers: int
    largest_difference: float

    @property
    def order(self) -> tuple[int, int, int, float]:
        """What misses less comes first, then what changes less, is likelier, comes nearer."""
        missed = self.numbers - self.fitting
        return missed, len(self.changed), self.unlikeliness, self.largest_difference

    def to_dict(self) -> dict[str, Any]:
        """A row to be shown."""
        return {
            "changed": ", ".join(self.changed) or "nothing",
            "n_changed": len(self.changed),
            "fitting": self.fitting,
            "numbers": self.numbers,
            "largest_difference": self.largest_difference,
        }


def settings_that_fit(report: Report, theirs: Pasted) -> list[Candidate]:
    """Settings by how well they give another tool's numbers, the best first."""
    flags = _flags(report)
    judged_queries = report.qrels.queries.select("query_id")
    found = []
    for settings in _orders(report):
        variants = {name: list(_variants(here)) for name, here in theirs.metrics.items()}
        asked = list(dict.fromkeys(itertools.chain.from_iterable(variants.values())))
        values = evaluate(
            report.qrels, report.run, asked, **(settings | {"queries": "judged"})
        ).per_query
        values = judged_queries.join(values, on="query_id", how="left", maintain_order="left")
        for queries in ("judged", "positive", "both"):
            counted = values.filter(flags[queries])
            found.append(_fit(report, counted, theirs, variants, settings | {"queries": queries}))
    return sorted(found, key=lambda candidate: candidate.order)


def _flags(report: Report) -> dict[str, pl.Series]:
    """Which queries of the qrels count under each rule."""
    seen = evaluate(report.qrels, report.run, ["num_rel", "num_ret"]).per_query
    everyone = pl.Series([True]).new_from_index(0, seen.height)
    return {"judged": everyone, "positive": seen["num_rel"] > 0, "both": seen["num_ret"] > 0}


def _orders(report: Report) -> Iterator[dict[str, Any]]:
    """Settings that could matter for this run, but for which queries count."""
    own = report.contract.settings()
    run = collected(report.run, "run")
    scores = run.group_by("query_id").agg(
        n=pl.len(),
        fine=pl.col("score").n_unique(),
        coarse=pl.col("score").cast(pl.Float32).n_unique(),
    )
    has_ties = bool((scores["fine"] < scores["n"]).any())
    has_coarse_ties = bool((scores["coarse"] < scores["fine"]).any())
    longest: int = scores["n"].max()  # type: ignore[assignment]
    highest: float = report.qrels.pairs["relevance"].max() or 0  # type: ignore[assignment]
    levels = [None, *(level for level in range(2, 5) if level <= highest)]
    choices: dict[str, list[Any]] = {
        "rel": levels,
        "ties": ["trec", "doc_asc", "given"] if has_ties or has_coarse_ties else [own["ties"]],
        "score_dtype": [pl.Float64, pl.Float32] if has_coarse_ties else [own["score_dtype"]],
        "judged_only": [False, True],
        "depth": [None, *(depth for depth in DEPTHS if depth < longest)],
    }
    for name, offered in choices.items():
        if own[name] not in offered:
            offered.append(own[name])
    for values in itertools.product(*choices.values()):
        yield own | dict(zip(choices, values, strict=True))


def _variants(name: str) -> Iterator[str]:
    """The metric as it was asked for, then with other values of what tools differ on."""
    metric = parse(name)
    yield name
    for parameter, values in VARIANTS.items():
        if parameter not in metric.definition.parameters:
            continue
        for value in values:
            try:
                other = with_parameters(
                    metric.definition, {**dict(metric.parameters), parameter: value}
                )
                other.expression()
            except MetricError:
                continue
            if other != metric:
                yield str(other)


def _fit(
    report: Report,
    counted: pl.DataFrame,
    theirs: Pasted,
    variants: Mapping[str, list[str]],
    settings: dict[str, Any],
) -> Candidate:
    """The variant of each metric that comes nearest, and how near all of them come together."""
    chosen: dict[str, str] = {}
    fitting, numbers, largest = 0, 0, 0.0
    for name, offered in variants.items():
        tried = [(*_nearness(counted, variant, name, theirs), variant) for variant in offered]
        # The first of equally near ones is the metric as it was named.
        best = min(range(len(tried)), key=lambda i: (-tried[i][0], tried[i][2], i))
        fits, of, far, chosen[name] = tried[best]
        fitting, numbers, largest = fitting + fits, numbers + of, max(largest, far)
    own = report.contract.settings()
    turned = [name for name in LIKELIEST if settings[name] != own[name]]
    changed = [f"{name}={settings[name]}" for name in turned]
    changed += [f"{name} as {to}" for name, to in chosen.items() if to != theirs.metrics[name]]
    unlikeliness = sum(map(LIKELIEST.index, turned))
    return Candidate(settings, chosen, tuple(changed), unlikeliness, fitting, numbers, largest)


def _nearness(
    counted: pl.DataFrame, variant: str, name: str, theirs: Pasted
) -> tuple[int, int, float]:
    """How many numbers fit, of how many, and the greatest distance."""
    if theirs.per_query is None:
        of_variant = counted.select(pl.lit(variant).alias("metric"), value=variant)
        mean = of_variant.select(summarised("value", summaries_of({variant: variant}))).item()
        if mean is None:
            return 0, 1, float("inf")
        far = abs(float(mean) - theirs.means[name])
        return int(far <= theirs.tolerance), 1, far
    of_metric = theirs.per_query.filter(pl.col("metric") == name).select("query_id", "value")
    both = counted.select("query_id", ours=variant).join(
        of_metric, on="query_id", how="full", coalesce=True
    )
    # A query that one side alone has is a number that does not fit.
    distance = (both["ours"] - both["value"]).abs()
    fits = int((distance <= theirs.tolerance).sum())
    greatest: float = distance.max() or 0.0  # type: ignore[assignment]
    return fits, both.height, greatest


def _long_frame(data: Any) -> pl.DataFrame:
    if not is_tabular(data) and type(data).__module__.partition(".")[0] != "pandas":
        raise FrameError(
            "another tool's numbers are metric → value, query_id → {metric → value}, or a frame "
            f"with a row for each query; not {type(data).__name__}"
        )
    frame = to_polars(data)
    table = collect(frame) if isinstance(frame, pl.LazyFrame) else frame
    named = next((n for n in ("query_id", *QUERY_NAMES) if n in table.columns), None)
    if named is None:
        raise ColumnError(f"there is no query_id in the frame: it has {', '.join(table.columns)}")
    table = table.rename({named: "query_id"}).with_columns(pl.col("query_id").cast(pl.String))
    if {"metric", "value"} <= set(table.columns):
        long = table.select("query_id", "metric", pl.col("value").cast(pl.Float64))
    else:
        numeric = [n for n, t in table.schema.items() if n != "query_id" and t.is_numeric()]
        long = table.unpivot(
            numeric, index="query_id", variable_name="metric", value_name="value"
        ).with_columns(pl.col("value").cast(pl.Float64))
    return long


def _named(
    theirs: list[str], metrics: str | Iterable[str] | Mapping[str, str] | None
) -> dict[str, str]:
    """Their name → our spelling. Names that mean nothing here are left out unless asked for."""
    if metrics is None:
        named = {name: name for name in theirs if _is_metric(name)}
        if not named:
            raise MetricError(
                f"none of {', '.join(theirs[:5])} is a metric's name here; "
                "say which metric each is with metrics={their name: ours}"
            )
        return named
    if isinstance(metrics, Mapping):
        given = dict(metrics)
    else:
        given = {m: m for m in ([metrics] if isinstance(metrics, str) else metrics)}
    for name, ours in given.items():
        if name not in theirs:
            raise MetricError(f"the other tool gave no {name!r}; it gave {', '.join(theirs)}")
        parse(ours)
    return given


def _is_metric(name: str | Metric) -> bool:
    try:
        parse(name)
    except MetricError:
        return False
    return True


def _number(value: Any, name: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise FrameError(f"the other tool's value of {name!r} is no number: {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise FrameError(f"the other tool's value of {name!r} is no number: {value!r}") from error
    if not isfinite(number):
        raise FrameError(f"the other tool's value of {name!r} is no finite number: {value!r}")
    return number


def _tolerance(values: Iterable[float], given: float | None) -> float:
    """Half a unit of the last decimal that any of the numbers has, of the fourth at least."""
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < inf:
            raise OptionError(f"tolerance must be a number of at least 0, not {given!r}")
        return float(given)
    decimals = max(4, *(_decimals(value) for value in values))
    return FINE if decimals > 8 else 0.5 * 10.0**-decimals * (1 + 1e-6)


def _decimals(value: float) -> int:
    text = repr(float(value))
    if "e" in text:
        return 9
    return len(text.partition(".")[2].rstrip("0"))
