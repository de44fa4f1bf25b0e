"""Compare systems on the same queries: means with intervals, and tests of every difference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.pairing import align, contrasted, pairs_of
from evalframe.comparing.summaries import metrics_once
from evalframe.comparing.value_frames import (
    keys_of,
    lower_is_better_of,
    metrics_in_common,
    values_of,
    with_lower_is_better,
    with_string_ids,
)
from evalframe.errors import EmptyError, OptionError, did_you_mean
from evalframe.frames import Duplicates
from evalframe.ranking.judged_columns import reads_subtopics
from evalframe.ranking.prepared import prepare
from evalframe.ranking.ties import Ties
from evalframe.report import evaluate
from evalframe.scoring import DEFAULT_METRICS, Contract, MetricLike, Queries, listed
from evalframe.statistics import IntervalMethod, Procedure, Test
from evalframe.statistics.corrections import Correction, Family
from evalframe.statistics.resampling import require_stats

__all__ = ["compare", "compare_frames", "compare_values"]


def compare(
    qrels: Any,
    runs: Any,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    baseline: str | Sequence[str] | None = None,
    *,
    test: Test = "randomisation",
    correction: Correction = "holm",
    family: Family = "all",
    alpha: float = 0.05,
    interval: IntervalMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> Comparison:
    """Compare runs: evaluate each, align them by query, and test every difference.

    Parameters
    ----------
    qrels
        A frame, a dict or a path.
    runs
        Name → run (whatever `evaluate` takes), or one run with a `system` column.
    metrics
        See `evalframe.evaluate`.
    baseline
        The system, or systems, that all others are tested against; every pair without it.
    test
        See `evalframe.statistics.Test`. The Tukey tests look at all systems even with a baseline,
        allow for all pairs themselves and take no further correction.
    correction, family
        How p-values allow for being many; see `evalframe.statistics.corrections`.
    alpha
        Corrected p-values below it are significant.
    interval, confidence
        See `evalframe.statistics.IntervalMethod`.
    resamples, seed
        For resampled tests and intervals. The same seed gives the same numbers.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`. Under `queries="both"`, a pair is compared
        on the queries that both systems have, and `dropped` names the others.

    Returns
    -------
    Comparison
        `.summary`, `.pairs`, `.per_query`, `.per_query_wide`, `.best`, `.table()`, `.to_latex()`,
        `.to_markdown()`, `.power()`.

    Raises
    ------
    EvalframeError
        Unusable input, an option that is not offered, an unknown baseline.
    MissingExtraError
        numpy or scipy is not installed (`pip install "evalframe[stats]"`).

    Examples
    --------
    >>> from evalframe.comparing.compare import compare
    >>> qrels = {q: {"a": 1} for q in "123456"}
    >>> good = {q: {"a": 2.0, "x": 1.0} for q in "123456"}
    >>> poor = {q: {"x": 2.0, "a": 1.0} for q in "123456"}
    >>> found = compare(qrels, {"good": good, "poor": poor}, ["mrr"])
    >>> found.pairs.select("a", "b", "difference", "wins", "p").row(0)
    ('good', 'poor', 0.5, 6, 0.03125)
    >>> found
    system    mrr
    --------  --------
    good (a)  1.0000 b
    poor (b)  0.5000
    <BLANKLINE>
    a     b     metric   a - b  95% interval          p  corrected  n  win/tie/loss
    ----  ----  ------  ------  ---------------  ------  ---------  -  ------------
    good  poor  mrr     0.5000  0.5000 … 0.5000  0.0312     0.0312  6  6/0/0
    <BLANKLINE>
    a letter: significantly better than the system of that letter, p < 0.05
    randomisation, exact; holm correction over all pairs and metrics
    intervals of a - b: 95%, bca, 10000 resamples, seed 0; each by itself
    n = 6 paired queries
    rel=None, queries=judged, ties=trec, score_dtype=Float64, judged_only=False, depth=None,
    duplicates=error
    """
    require_stats()
    procedure = Procedure(test, correction, family, alpha, interval, confidence, resamples, seed)
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    metrics = metrics_once(metrics)
    by_subtopic = any(reads_subtopics(one.reads) for one in listed(metrics, rel))
    prepared = prepare(qrels, subtopics=by_subtopic)
    frames: dict[str, pl.DataFrame] = {}
    counts = []
    names: list[str] = []
    for name, run in _named_runs(runs):
        report = evaluate(prepared, run, metrics, **contract.settings())
        held = _under_name(name, report.per_query, report.counts)
        counts.append(held[1])
        frames |= _by_system(held[0])
        names = list(report.how)
    return compare_values(frames, names, baseline, procedure, pl.concat(counts), contract)


def compare_values(
    frames: Mapping[str, pl.DataFrame],
    metrics: list[str],
    baseline: str | Sequence[str] | None,
    procedure: Procedure,
    counts: pl.DataFrame,
    contract: Contract,
) -> Comparison:
    """Compare systems whose values by query are there: name → `query_id` and the metrics."""
    return _compared(
        frames,
        ["query_id"],
        metrics,
        _baselines(baseline, frames),
        procedure,
        frozenset(lower_is_better_of(metrics)),
        counts=counts,
        contract=contract,
    )


def compare_frames(
    a: Any,
    b: Any,
    key: str | Sequence[str] = "query_id",
    metrics: str | Iterable[str] | None = None,
    *,
    names: tuple[str, str] = ("a", "b"),
    lower_is_better: str | Collection[str] = (),
    test: Test = "randomisation",
    correction: Correction = "holm",
    family: Family = "all",
    alpha: float = 0.05,
    interval: IntervalMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare the values of two frames, whatever they are values of.

    Parameters
    ----------
    a, b
        Frames with a row for each query, or reports that hold one (`evaluate`, `evaluate_rag`).
    key
        The column, or columns, by which rows are paired. No two rows of a frame share it.
    metrics
        Columns to compare. Without it, the metrics that both reports have, or every column of
        numbers that both frames have. A null or NaN
        is no value: its query is dropped for that metric, and named in `dropped`.
    names
        What a and b are called.
    lower_is_better
        Metrics of which less is better, beside those of the catalogue that are so.
    test, correction, family, alpha, interval, confidence, resamples, seed
        See `compare`.

    Returns
    -------
    Comparison
        With one pair, a against b: differences are a - b.

    Raises
    ------
    ColumnError, RowError, MetricError
        A key that is missing or stands twice, a metric that is missing or no number, infinities.

    Examples
    --------
    >>> import polars as pl
    >>> from evalframe.comparing.compare import compare_frames
    >>> old = pl.DataFrame({"query_id": ["1", "2", "3"], "token_f1": [0.5, 0.25, 1.0]})
    >>> new = pl.DataFrame({"query_id": ["3", "1"], "token_f1": [1.0, 0.75]})
    >>> compare_frames(new, old).pairs.select("difference", "n", "dropped").row(0)
    (0.125, 2, ['2'])
    """
    require_stats()
    procedure = Procedure(test, correction, family, alpha, interval, confidence, resamples, seed)
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise OptionError(f"names must be two different names, not {names!r}")
    keys = keys_of(key)
    frames = {name: values_of(data, keys, name) for name, data in zip(names, (a, b), strict=True)}
    asked = metrics_in_common(frames, keys, metrics)
    return _compared(
        {name: with_string_ids(frame, keys) for name, frame in frames.items()},
        keys,
        asked,
        (),
        procedure,
        with_lower_is_better(lower_is_better, asked),
    )


def _compared(
    frames: Mapping[str, pl.DataFrame],
    keys: Sequence[str],
    metrics: list[str],
    baselines: tuple[str, ...],
    procedure: Procedure,
    lower_is_better: frozenset[str],
    *,
    counts: pl.DataFrame | None = None,
    contract: Contract | None = None,
) -> Comparison:
    taken = {*keys, "metric"} & frames.keys()
    if taken:
        raise OptionError(f"a system cannot be called {taken.pop()!r}, which is a column's name")
    aligned = align(frames, keys, metrics)
    summary, pairs = contrasted(
        aligned, pairs_of(aligned.systems, baselines), procedure, lower_is_better
    )
    return Comparison(
        summary,
        pairs,
        procedure,
        baselines,
        lower_is_better,
        counts,
        contract,
        aligned=aligned,
    )


def _named_runs(runs: Any) -> list[tuple[str | None, Any]]:
    """Each run under its name, or the one run that names its systems itself."""
    if not isinstance(runs, Mapping):
        return [(None, runs)]
    if not runs:
        raise EmptyError("there are no runs to compare")
    for name, run in runs.items():
        values = run.values() if isinstance(run, Mapping) else ()
        if any(isinstance(value, int | float) for value in values):
            raise OptionError(
                f"runs[{name!r}] is one query's list: compare needs runs by name, {{name: run}}"
            )
    if len({str(name) for name in runs}) < len(runs):
        raise OptionError(
            "two runs have the same name once it is written as a string; they are "
            + ", ".join(repr(name) for name in runs)
        )
    return [(str(name), run) for name, run in runs.items()]


def _under_name(
    name: str | None, per_query: pl.DataFrame, counts: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Values and counts with the name they were handed over under."""
    held = counts["system"].to_list() if "system" in counts.columns else []
    if name is None:
        if not held:
            raise OptionError(
                "compare needs runs by name, {name: run}, or one run with a system column"
            )
        return per_query, counts
    if len(held) > 1:
        raise OptionError(
            f"runs[{name!r}] holds {len(held)} systems ({', '.join(held[:5])}); hand over one run "
            "with a system column by itself, or a run of one system under each name"
        )
    system = pl.lit(name).alias("system")
    return (
        per_query.drop("system", strict=False).select(system, pl.all()),
        counts.drop("system", strict=False).select(system, pl.all()),
    )


def _by_system(per_query: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = per_query.partition_by("system", as_dict=True, maintain_order=True)
    return {str(system): part.drop("system") for (system,), part in parts.items()}


def _baselines(
    baseline: str | Sequence[str] | None, systems: Mapping[str, pl.DataFrame]
) -> tuple[str, ...]:
    if not isinstance(baseline, str | Sequence | None):
        raise OptionError(f"baseline must be the name of a system, or several, not {baseline!r}")
    named = (baseline,) if isinstance(baseline, str) else tuple(baseline or ())
    for name in named:
        if name not in systems:
            raise OptionError(
                f"baseline={name!r} is none of the systems{did_you_mean(str(name), systems)}; "
                f"they are {', '.join(systems)}"
            )
    return tuple(dict.fromkeys(named))
