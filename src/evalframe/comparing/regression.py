"""A gate for tests: values may not drop by more than is allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from evalframe.comparing.compare import compare_frames
from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.pairing import difference_of
from evalframe.comparing.value_frames import keys_of, metrics_of, values_of
from evalframe.errors import MetricError, OptionError, RegressionError, one_of, whole_number
from evalframe.statistics import Test, between_0_and_1, paired_test
from evalframe.statistics.closed_tests import OF_PAIRS
from evalframe.statistics.corrections import Correction, correct
from evalframe.statistics.resampling import Alternative
from evalframe.tables import apart, counted
from evalframe.tables import shown as as_shown

__all__ = ["assert_no_regression"]


def assert_no_regression(
    new: Any,
    old: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    max_drop: float | Mapping[str, float] = 0.0,
    alpha: float | None = None,
    key: str | Sequence[str] = "query_id",
    lower_is_better: str | Collection[str] = (),
    missing: Literal["fail", "drop"] = "fail",
    test: Test = "randomisation",
    correction: Correction = "holm",
    resamples: int = 10_000,
    seed: int = 0,
    shown: int = 5,
) -> Comparison:
    """Fail where the mean of a metric dropped, and name the queries that dropped most.

    Means are arithmetic, whatever a metric's own summary is (`Report.how`).

    Parameters
    ----------
    new, old
        Reports, or frames with a row for each query.
    metrics
        Columns to look at; without it all that old has: a report's metrics, a frame's numbers.
    max_drop
        The mean may drop by this much: one number, or metric → number (0 where not named).
    alpha
        With it, a drop counts only where it is also significant: a one-sided test that new is
        worse, corrected over the metrics, has p < alpha. Without it every larger drop counts.
    key, lower_is_better, test, correction, resamples, seed
        See `evalframe.compare_frames`. For a metric of which less is better, a rise is the drop.
    missing
        `fail` where old has a value and new has none, since a query that is lost would otherwise
        make the mean look better; the same goes for a metric that old has and new lacks. `drop`
        compares the queries, and the metrics, that both have.
    shown
        How many queries of each metric are named.

    Returns
    -------
    Comparison
        Of new against old, where nothing dropped.

    Raises
    ------
    RegressionError
        Also an AssertionError, so that pytest shows it as a failure. Where no query has a value
        in both, nothing was compared, and that is a failure too.

    Notes
    -----
    No test on few queries can come out significant: that n of them all fell has p = 1 / 2^n under
    the randomisation and the sign test, so that with `alpha=0.05` fewer than 5 never fail. Leave
    `alpha` out there.

    Examples
    --------
    >>> import polars as pl
    >>> from evalframe.comparing.regression import assert_no_regression
    >>> old = pl.DataFrame({"query_id": ["1", "2"], "mrr": [1.0, 0.5]})
    >>> new = pl.DataFrame({"query_id": ["1", "2"], "mrr": [0.5, 0.5]})
    >>> assert_no_regression(new, old, max_drop=0.3).pairs["difference"].to_list()
    [-0.25]
    >>> assert_no_regression(new, old, max_drop=0.1)
    Traceback (most recent call last):
    ...
    evalframe.errors.RegressionError: mrr fell from 0.7500 to 0.5000, by 0.2500 where 0.1000 is
    allowed. Queries that dropped most:
      query_id='1', old=1.0000, new=0.5000, change=-0.5000
    """
    shown = whole_number("shown", shown, least=0)
    one_of("missing", missing, ("fail", "drop"))
    one_of("test", test, OF_PAIRS)
    if alpha is not None:
        between_0_and_1("alpha", alpha)
    complaints = _metrics_lost(new, old, key) if metrics is None and missing == "fail" else []
    asked = metrics if metrics is None or isinstance(metrics, str) else list(metrics)
    compared = compare_frames(
        new,
        old,
        key,
        asked,
        names=("new", "old"),
        lower_is_better=lower_is_better,
        test=test,
        correction=correction,
        resamples=resamples,
        seed=seed,
        interval="t",
    )
    allowed = _allowed(max_drop, compared.metrics)
    worse = {
        row["metric"]: (-1 if row["metric"] in compared.lower_is_better else 1) * row["difference"]
        for row in compared.pairs.to_dicts()
        if row["difference"] is not None
    }
    # A drop that is the allowed one but for rounding is allowed.
    dropped = {m: d for m, d in worse.items() if -d > allowed[m] + 1e-12}
    if alpha is not None:
        p, how = _p_of_drops(compared, list(worse))
        dropped = {m: d for m, d in dropped.items() if p[m] < alpha}
        chances = {m: f" (p = {p[m]:.4g}, {how[m]})" for m in dropped}
    else:
        chances = dict.fromkeys(dropped, "")
    complaints += [_complaint(compared, m, allowed[m], chances[m], shown) for m in dropped]
    complaints += _not_compared(compared, named=asked is not None)
    if missing == "fail":
        complaints += _lost(compared, shown)
    if complaints:
        raise RegressionError("\n".join(complaints))
    return compared


def _allowed(max_drop: float | Mapping[str, float], metrics: Sequence[str]) -> dict[str, float]:
    given = max_drop if isinstance(max_drop, Mapping) else dict.fromkeys(metrics, max_drop)
    for metric, drop in given.items():
        if metric not in metrics:
            raise MetricError(f"max_drop names {metric!r}, which is not compared")
        if isinstance(drop, bool) or not isinstance(drop, int | float) or not drop >= 0:
            raise OptionError(f"max_drop must be a number of at least 0, not {drop!r}")
    return {metric: given.get(metric, 0.0) for metric in metrics}


def _p_of_drops(
    compared: Comparison, metrics: Sequence[str]
) -> tuple[dict[str, float], dict[str, str]]:
    """Corrected one-sided p of each metric, and how it came about."""
    done = compared.procedure
    found, how = [], {}
    for metric in metrics:
        both = compared.per_query_wide.filter(pl.col("metric") == metric).drop_nulls()
        is_worse: Alternative = "greater" if metric in compared.lower_is_better else "less"
        result = paired_test(
            both["new"],
            both["old"],
            done.test,
            alternative=is_worse,
            resamples=done.resamples,
            seed=done.seed,
        )
        found.append(result.p)
        drawn = f", {result.resamples} resamples, seed {result.seed}" if result.resamples else ""
        over = f"; {done.correction} correction, metrics: {len(metrics)}"
        how[metric] = f"one-sided {result.method}{drawn}"
        how[metric] += over if done.correction != "none" else ""
    corrected = correct(found, done.correction)
    return {m: p for m, p in zip(metrics, corrected, strict=True) if p is not None}, how


def _metrics_lost(new: Any, old: Any, key: str | Sequence[str]) -> list[str]:
    """The metrics that old has and new lacks."""
    keys = keys_of(key)
    ours, theirs = (
        metrics_of(values_of(data, keys, name), keys) for data, name in ((new, "new"), (old, "old"))
    )
    return [f"{m}: old has this metric and new has none" for m in theirs if m not in ours]


def _not_compared(compared: Comparison, *, named: bool) -> list[str]:
    """Metrics of which no query has two values; one that never applied may be so, if not named."""
    none = compared.pairs.filter(pl.col("n") == 0)["metric"].to_list()
    if not named and len(none) < len(compared.metrics):
        has_old = compared.per_query_wide.drop_nulls("old")["metric"].unique()
        none = [metric for metric in none if metric in has_old]
    return [
        f"{metric}: no query has a value in both new and old, so that nothing was compared"
        for metric in none
    ]


def _complaint(compared: Comparison, metric: str, allowed: float, chance: str, most: int) -> str:
    row = compared.pairs.filter(pl.col("metric") == metric).row(0, named=True)
    rises = metric in compared.lower_is_better
    before, after = apart(row["mean_b"], row["mean_a"])
    by, limit = apart(abs(row["difference"]), allowed)
    queries = (
        compared.per_query_wide.filter(pl.col("metric") == metric)
        .drop_nulls()
        .with_columns(change=difference_of("new", "old"))
        .filter(pl.col("change") > 0 if rises else pl.col("change") < 0)
        .sort("change", *compared.aligned.keys.columns, descending=[rises, False])
        .select(*compared.aligned.keys.columns, "old", "new", "change")
    )
    return (
        f"{metric} {'rose' if rises else 'fell'} from {before} to {after}, "
        f"by {by} where {limit} is allowed{chance}. Queries that dropped most:\n"
        + _listed(queries, most)
    )


def _lost(compared: Comparison, most: int) -> list[str]:
    lost = compared.per_query_wide.filter(pl.col("old").is_not_null() & pl.col("new").is_null())
    return [
        f"{metric}: no value now for {counted(rows.height, 'query', 'queries')} that had one. "
        f"First rows:\n{_listed(rows.drop('metric', 'new'), most)}"
        for (metric,), rows in lost.partition_by(
            "metric", as_dict=True, maintain_order=True
        ).items()
    ]


def _listed(rows: pl.DataFrame, most: int) -> str:
    lines = [f"  {_in_words(row)}" for row in rows.head(most).to_dicts()]
    more = [f"  … and {rows.height - most} more"] if rows.height > most else []
    return "\n".join([*lines, *more])


def _in_words(row: dict[str, Any]) -> str:
    """A query's key and its values, of which the old and the new never look alike."""
    values = [name for name in row if name in ("old", "new")]
    texts = dict(zip(values, apart(*(row[name] for name in values)), strict=True))
    texts |= {name: as_shown(row[name]) for name in row if name == "change"}
    return ", ".join(f"{name}={texts.get(name, repr(value))}" for name, value in row.items())
