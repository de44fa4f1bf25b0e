"""Evaluate: from qrels and a run to the report."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

import polars as pl

from evalframe.engine import both
from evalframe.frames import Duplicates
from evalframe.inputs import run_or_plan
from evalframe.ranking.judged_columns import reads_subtopics
from evalframe.ranking.prepared import prepare
from evalframe.ranking.ties import Ties
from evalframe.report.report import Report
from evalframe.scoring import (
    DEFAULT_METRICS,
    Contract,
    MetricLike,
    Queries,
    listed,
    make_ready,
    refuse_swapped,
    score,
)

__all__ = ["evaluate"]

FREE = (str, os.PathLike, pl.DataFrame)
"""What may be read by any thread. Of other things, some belong to the one that made them, and some
are busy with one question at a time.
"""


def evaluate(
    qrels: Any,
    run: Any,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
    progress: bool | None = None,
) -> Report:
    """Evaluate a run, or several systems at once.

    Parameters
    ----------
    qrels, run
        Frames, dicts or paths; qrels first. With a `system` column in the run, every system is
        scored on every query. Lazy frames and large files are streamed, never held whole.
    metrics
        Spellings (see `evalframe.metrics.parse`), metrics, or expressions over the judged frame.
    rel
        The lowest grade that counts as relevant; any grade above 0 without it.
    queries
        Whose values are averaged: `judged` (every query of the qrels, what the run lacks counts 0),
        `positive` (those with a relevant document) or `both` (those that the run has too).
    ties, score_dtype, judged_only, depth
        How the run is put in order; see `evalframe.ranking.Order`.
    duplicates
        See `evalframe.frames.Duplicates`.
    progress
        A bar over the rows of a run that is read as a stream: None shows it after a second where
        somebody waits for it.

    Returns
    -------
    Report
        `.metrics` (name → mean), `.per_query`, `.summary`, `.counts`, `.worst(metric)` and
        `.documents(query_id)`.

    Raises
    ------
    EvalframeError
        Unusable input (see `evalframe.frames.conform`), an unknown metric, a run without any query
        of the qrels, arguments in each other's place.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
    >>> run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 3.0}}
    >>> report = evf.evaluate(qrels, run, ["mrr", "P_5"])
    >>> report.metrics
    {'mrr': 0.75, 'P_5': 0.2}
    >>> report.per_query.rows()
    [('q1', 0.5, 0.2), ('q2', 1.0, 0.2)]
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    asked = listed(metrics, rel)
    read_run = functools.partial(run_or_plan, run, duplicates=duplicates, ranks=ties == "given")
    subtopics = any(reads_subtopics(one.reads) for one in asked)
    if isinstance(qrels, FREE) and isinstance(run, FREE):
        prepared, read = both(
            lambda: make_ready(prepare(qrels, subtopics=subtopics), asked, contract), read_run
        )
    else:
        prepared, read = prepare(qrels, subtopics=subtopics), read_run()
    if prepared is not qrels:
        refuse_swapped(prepared, read)
    return Report(score(prepared, read, asked, contract, progress), contract, prepared, read)
