"""How far rankings agree: of systems or queries under two metrics, of documents in two runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal, SupportsFloat

import polars as pl

from evalframe.comparing.comparison_report import Comparison
from evalframe.errors import OptionError, RowError, one_of, whole_number
from evalframe.frames import collected
from evalframe.inputs import run_frame
from evalframe.ranking.judged import rank_in_list
from evalframe.ranking.ties import TieRule, Ties
from evalframe.statistics import between_0_and_1
from evalframe.statistics.resampling import require_stats

__all__ = [
    "kendall_tau",
    "metric_agreement",
    "rbo",
    "run_agreement",
    "system_agreement",
    "tau_ap",
]


def kendall_tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b of two lists of values, paired by place.

    Parameters
    ----------
    x, y
        Values of the same things, for example of the same systems under two metrics.

    Returns
    -------
    float or None
        1 for the same order, -1 for the reverse; tied values count for neither. None where one of
        the lists has a single value throughout.

    Notes
    -----
    `scipy.stats.kendalltau`.

    Examples
    --------
    >>> round(kendall_tau([0.3, 0.2, 0.1], [0.9, 0.5, 0.7]), 4)
    0.3333
    """
    require_stats()
    from scipy import stats  # type: ignore[import-untyped]

    _same_length(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(stats.kendalltau(x, y).statistic)


def tau_ap(truth: Sequence[float], other: Sequence[float]) -> float | None:
    """AP correlation: Kendall's tau that weighs disagreement at the top more.

    Going down the other ranking from its second place, the mean share of those above that the truth
    has above too, scaled to -1 … 1. It is not symmetric.

    Parameters
    ----------
    truth, other
        Values of the same things, paired by place; greater is better.

    Returns
    -------
    float or None
        1 for the same order without ties. Things that the truth ties count half, for no order of
        them agrees with it; ties of the other ranking stand for the mean over all their orders.
        A list with ties therefore lies below 1 even beside itself; `tau_ap_b` gives 1. None where
        one of the lists has a single value throughout.

    Notes
    -----
    Source: Yilmaz, Aslam and Robertson 2008; ties as in Urbano and Marrero 2017, tau_AP,a.

    Examples
    --------
    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), tau_ap([4, 3, 2, 1], [4, 3, 1, 2])
    (0.33333333333333326, 0.7777777777777777)
    >>> tau_ap([3, 2, 2, 1], [3, 2, 2, 1])
    0.8333333333333333
    """
    _same_length(truth, other)
    if len(set(truth)) < 2 or len(set(other)) < 2:
        return None
    order = sorted(range(len(other)), key=lambda i: -other[i])
    total, above = 0.0, 0
    for _, tied in itertools.groupby(order, key=lambda i: other[i]):
        group = list(tied)
        agreeing = sum(_agrees(truth[i], truth[j]) for i in order[:above] for j in group)
        for place in range(len(group)):
            if above + place:
                within = place / 2
                total += (agreeing / len(group) + within) / (above + place)
        above += len(group)
    return 2 * total / (len(order) - 1) - 1


def rbo(first: Sequence[Any], second: Sequence[Any], p: float = 0.9) -> float:
    """Rank-biased overlap of two rankings, extrapolated from what both show.

    Parameters
    ----------
    first, second
        Things in order, best first, each once; of any length.
    p
        How likely a reader goes on to the next depth: the first 1 / (1 - p) places weigh most.

    Returns
    -------
    float
        1 for equal rankings, 0 for rankings with nothing in common, or where one is empty.

    Notes
    -----
    Source: Webber, Moffat and Zobel 2010, equation 32.

    Examples
    --------
    >>> rbo("abc", "abc"), rbo("abc", "xyz"), round(rbo("abcd", "bacd"), 4)
    (1.0, 0.0, 0.9)
    """
    between_0_and_1("p", p)
    for ranking in (first, second):
        try:
            n_things = len(set(ranking))
        except TypeError as error:
            raise RowError("a ranking holds ids, such as strings, and no lists") from error
        if n_things < len(ranking):
            raise RowError("a ranking holds something twice; keep the first of each")
    places = {thing: i for i, thing in enumerate(second, 1)}
    both = [max(i, places[thing]) for i, thing in enumerate(first, 1) if thing in places]
    frame = pl.DataFrame(
        {"depth": both, "a": len(first), "b": len(second)},
        schema={"depth": pl.Int64, "a": pl.Int64, "b": pl.Int64},
    )
    if frame.height == 0:
        return 0.0
    value: float = frame.select(_rbo(p, max(len(first), len(second)))).item()
    return value


def metric_agreement(
    data: Any,
    metrics: Sequence[str] | None = None,
    *,
    over: Literal["systems", "queries"] = "systems",
    p: float = 0.9,
) -> pl.DataFrame:
    """How far metrics agree about which systems, or which queries, are better.

    Parameters
    ----------
    data
        A `Comparison`.
    metrics
        Some of its metrics; all without it.
    over
        `systems`: by their means. `queries`: by their values, of all systems together.
    p
        See `rbo`.

    Returns
    -------
    pl.DataFrame
        A row for each two metrics: `metric_a`, `metric_b`, `kendall_tau`, `tau_ap` (of b, with a as
        the truth), `rbo` (of the two orders, ties by name), `n` (systems or queries). The first two
        are null where a metric tells none apart.

    Examples
    --------
    >>> from evalframe.comparing.compare import compare
    >>> runs = {"x": {"q": ["a", "b", "c"]}, "y": {"q": ["b", "a"]}, "z": {"q": ["c", "b", "a"]}}
    >>> found = compare({"q": {"a": 1}}, runs, ["mrr", "precision@2"])
    >>> metric_agreement(found).select("kendall_tau", "n").row(0)
    (0.816496580927726, 3)
    """
    one_of("over", over, ("systems", "queries"))
    compared = _comparison(data)
    chosen = list(metrics or compared.metrics)
    for metric in chosen:
        compared.require(metric)
    if over == "systems":
        frame = compared.summary.select("system", "metric", value="mean")
    else:
        frame = compared.per_query
    key = [name for name in frame.columns if name not in ("metric", "value")]
    sign = pl.when(pl.col("metric").is_in(list(compared.lower_is_better))).then(-1).otherwise(1)
    wide = frame.with_columns(pl.col("value") * sign).pivot("metric", index=key, values="value")
    rows = []
    for a, b in itertools.combinations(chosen, 2):
        both = wide.select(*key, a=a, b=b).drop_nulls()
        rows.append((a, b, *_agreement(both, key, p)))
    return pl.DataFrame(rows, schema={"metric_a": pl.String, **AGREEMENT}, orient="row")


AGREEMENT: Mapping[str, Any] = {
    "metric_b": pl.String,
    "kendall_tau": pl.Float64,
    "tau_ap": pl.Float64,
    "rbo": pl.Float64,
    "n": pl.Int64,
}


def system_agreement(a: Any, b: Any, *, p: float = 0.9) -> pl.DataFrame:
    """How far two comparisons rank the systems alike, for example under two sets of judgements.

    Parameters
    ----------
    a, b
        Comparisons with systems and metrics in common; a is the truth of `tau_ap`.
    p
        See `rbo`.

    Returns
    -------
    pl.DataFrame
        A row for each metric: `metric`, `kendall_tau`, `tau_ap`, `rbo`, `n` (systems).
    """
    first, second = _comparison(a), _comparison(b)
    rows = []
    for metric in first.metrics:
        if metric not in second.metrics:
            continue
        sign = -1 if metric in first.lower_is_better else 1
        both = (
            first.summary.filter(pl.col("metric") == metric)
            .select("system", a=sign * pl.col("mean"))
            .join(
                second.summary.filter(pl.col("metric") == metric).select(
                    "system", b=sign * pl.col("mean")
                ),
                on="system",
            )
            .drop_nulls()
        )
        rows.append((metric, *_agreement(both, ["system"], p)))
    if not rows:
        raise OptionError("the two comparisons have no metric in common")
    schema = {"metric": pl.String, **{k: v for k, v in AGREEMENT.items() if k != "metric_b"}}
    return pl.DataFrame(rows, schema=schema, orient="row")


def run_agreement(
    a: Any,
    b: Any,
    *,
    p: float = 0.9,
    depth: int | None = None,
    ties: Ties = "trec",
) -> pl.DataFrame:
    """How far two runs retrieve the same documents in the same order, query by query.

    Parameters
    ----------
    a, b
        Runs, whatever `evaluate` takes, of one system each.
    p
        See `rbo`.
    depth
        Look at this many documents of each query only.
    ties
        See `evalframe.ranking.Order`.

    Returns
    -------
    pl.DataFrame
        `query_id`, `n_a` and `n_b` (documents retrieved; 0 where a run lacks the query), `common`
        (documents that both have) and `rbo`; by query_id.

    Examples
    --------
    >>> run_agreement({"q": ["a", "b", "c", "d"]}, {"q": ["b", "a", "c", "d"]}).row(0)
    ('q', 4, 4, 4, 0.9000000000000001)
    """
    between_0_and_1("p", p)
    depth = None if depth is None else whole_number("depth", depth)
    ranked = [_ranked(run, ties, depth) for run in (a, b)]
    lengths = [
        frame.group_by("query_id").agg(pl.len().cast(pl.Int64).alias(name))
        for frame, name in zip(ranked, ("a", "b"), strict=True)
    ]
    queries = lengths[0].join(lengths[1], on="query_id", how="full", coalesce=True)
    queries = queries.with_columns(pl.col("a", "b").fill_null(0)).sort("query_id")
    both = (
        ranked[0]
        .join(ranked[1], on=["query_id", "doc_id"])
        .select("query_id", depth=pl.max_horizontal("rank", "rank_right"))
        .join(queries, on="query_id")
        .sort("query_id", "depth")
    )
    longest = max(frame["rank"].max() or 0 for frame in ranked)  # type: ignore[type-var]
    found = both.group_by("query_id", maintain_order=True).agg(
        common=pl.len().cast(pl.Int64),
        rbo=_rbo(p, longest),  # type: ignore[arg-type]
    )
    return queries.join(found, on="query_id", how="left", maintain_order="left").select(
        "query_id",
        n_a="a",
        n_b="b",
        common=pl.col("common").fill_null(0),
        rbo=pl.col("rbo").fill_null(0.0),
    )


def _rbo(p: float, longest: int) -> pl.Expr:
    """RBO from the things both rankings show: `depth` at which each is seen in both, and a, b."""
    weights = [p**d for d in range(1, longest + 1)]
    up_to = pl.Series([0.0, *itertools.accumulate(weights)])
    by_depth = pl.Series([0.0, *itertools.accumulate(w / d for d, w in enumerate(weights, 1))])

    def looked_up(table: pl.Series, at: pl.Expr) -> pl.Expr:
        return pl.lit(table).gather(at)

    long = pl.max_horizontal("a", "b").first()
    short = pl.min_horizontal("a", "b").first()
    depth = pl.col("depth")
    seen, seen_short = pl.len(), (depth <= short).sum()
    agreed = seen * looked_up(by_depth, long) - looked_up(by_depth, depth - 1).sum()
    rate = seen_short / short
    expected = rate * (looked_up(up_to, long) - looked_up(up_to, short)) - seen_short * (
        looked_up(by_depth, long) - looked_up(by_depth, short)
    )
    at_end = (seen - seen_short) / long + rate
    return (1 - p) / p * (agreed + expected).first() + at_end * pl.lit(p).pow(long)


def _ranked(run: Any, ties: Ties, depth: int | None) -> pl.DataFrame:
    frame = collected(run_frame(run), "run")
    if "system" in frame.columns and frame["system"].n_unique() > 1:
        raise OptionError("the run holds several systems; filter it to one of them")
    rule = TieRule.of(ties, frame.columns)
    ranked = frame.with_row_index("row").select(
        "query_id", "doc_id", rank=rank_in_list(rule, ["query_id"]).cast(pl.Int64)
    )
    return ranked if depth is None else ranked.filter(pl.col("rank") <= depth)


def _agreement(
    both: pl.DataFrame, key: list[str], p: float
) -> tuple[float | None, float | None, float, int]:
    a, b = both["a"].to_list(), both["b"].to_list()
    ordered = [
        both.sort(column, *key, descending=[True, *[False] * len(key)]).select(key).rows()
        for column in ("a", "b")
    ]
    return kendall_tau(a, b), tau_ap(a, b), rbo(ordered[0], ordered[1], p), both.height


def _agrees(above: float, below: float) -> float:
    """Whether the truth has them in this order, half where it ties them."""
    return 0.5 if above == below else float(above > below)


def _comparison(data: Any) -> Comparison:
    if not isinstance(data, Comparison):
        raise OptionError(f"a Comparison is needed, not {type(data).__name__}: see compare")
    return data


def _same_length(x: Sequence[float], y: Sequence[float]) -> None:
    if len(x) != len(y):
        raise OptionError(f"there are {len(x)} and {len(y)} values; pair them first")
    for value in (*x, *y):
        if not isinstance(value, SupportsFloat) or not isfinite(value):
            raise RowError(f"values must be finite numbers, but there is {value!r}; drop its pair")
