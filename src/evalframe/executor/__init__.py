"""The same evaluation on any executor: threads, processes, or the workers of a cluster.

A run is written once as a folder of buckets, none of which shares a query with another (`bucket`).
Each bucket is scored by the code that scores a whole run, wherever the executor's workers are, and
its values are written beside the others: what is done is done, and a second call goes on where the
first one ended. Workers need evalframe and Polars in the same versions as the caller, and to see
the same disk.

>>> import tempfile
>>> from concurrent.futures import ThreadPoolExecutor
>>> folder = f"{tempfile.mkdtemp()}/run"
>>> bucket({"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 3.0}}, folder, 4)
>>> with ThreadPoolExecutor(2) as threads:
...     per_query({"q1": {"a": 1}, "q2": {"b": 1}}, folder, ["mrr"], executor=threads).rows()
[('q1', 0.5), ('q2', 1.0)]
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.errors import OptionError, whole_number
from evalframe.executor.folders import Bucket, bucket, buckets_of, remove_left, writing_to
from evalframe.executor.running import do_all, refuse_forks
from evalframe.executor.work import Work
from evalframe.frames import Duplicates
from evalframe.io.reading import scan_kind
from evalframe.ranking.judged_columns import reads_subtopics
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import Ties
from evalframe.report import Report
from evalframe.scoring import (
    DEFAULT_METRICS,
    Contract,
    Queries,
    Scored,
    listed,
    refuse_swapped,
)
from evalframe.scoring.asked import Metrics
from evalframe.scoring.buckets import completed, judgements_of, put_together

__all__ = ["bucket", "evaluate", "per_query"]


def per_query(
    qrels: Any,
    run: str | os.PathLike[str],
    metrics: Metrics = DEFAULT_METRICS,
    *,
    executor: Executor | None = None,
    results: str | os.PathLike[str] | None = None,
    retries: int = 1,
    progress: bool | None = None,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> pl.DataFrame:
    """Score every query of a bucketed run: what `evalframe.per_query` gives, to the last bit.

    Parameters
    ----------
    qrels
        A frame, a dict or a path; or prepared qrels. Of a path, subtopics are read where a metric
        reads them.
    run
        The folder that `bucket` wrote, or any folder of Parquet files of which none shares a query
        with another.
    metrics
        Spellings (see `evalframe.metrics.parse`), metrics, or expressions over the judged frame.
    executor
        Any `concurrent.futures.Executor`, such as `ThreadPoolExecutor`, Dask's
        `Client.get_executor()`, loky's or mpi4py's; of Ray, one whose `submit` gives
        `ray.remote(fn).remote(*args).future()`. Processes must not be forks:
        `ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))`. Without one, the
        buckets are scored one after the other here. It stays open.
    results
        The folder that the buckets' values are written to, on a disk that the workers see. What is
        there of the same work is not done again. Without it, a folder beside the run, which is
        removed in the end. What a call that was killed leaves under a hidden name is removed by
        another call a week later.
    retries
        How often a bucket is tried again after an error other than of the data.
    progress
        A bar over the buckets: None shows it after a second where somebody waits for it.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`. A bucket below a million rows is looked
        through for duplicates; `ties="given"` goes by the rank column or the order of rows.

    Returns
    -------
    pl.DataFrame
        `query_id` (after `system`, where the run has one) and a column for each metric.

    Raises
    ------
    OptionError
        The executor forks, or `results` holds values of other work: of other qrels, metrics,
        settings or versions. A bucket that has changed since is scored anew. Of calls that write
        other values to one folder at the same time, those are refused whose values are gone.
    OSError
        Nothing can be written to `results`, or beside the run.
    EvalframeError
        A bucket failed, or the executor broke: the message names the bucket and its first query.
        The buckets that have not begun are not begun; what the others give is kept. Else what
        `evalframe.per_query` raises.

    Examples
    --------
    >>> import tempfile
    >>> folder = f"{tempfile.mkdtemp()}/run"
    >>> bucket({"q1": {"x": 2.0, "a": 1.0}}, folder, 2)
    >>> per_query({"q1": {"a": 1}, "q2": {"b": 1}}, folder, ["mrr", "num_rel"]).rows()
    [('q1', 0.5, 1.0), ('q2', 0.0, 1.0)]
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    scored, _ = _scored(qrels, run, metrics, contract, executor, results, retries, progress)
    return scored.per_query


def evaluate(
    qrels: Any,
    run: str | os.PathLike[str],
    metrics: Metrics = DEFAULT_METRICS,
    *,
    executor: Executor | None = None,
    results: str | os.PathLike[str] | None = None,
    retries: int = 1,
    progress: bool | None = None,
    rel: float | None = None,
    queries: Queries = "judged",
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> Report:
    """Evaluate a bucketed run: what `evalframe.evaluate` gives, to the last bit.

    Parameters
    ----------
    qrels, run, metrics, executor, results, retries, progress
        As `per_query` takes them. Values that it left in a results folder serve here, and the other
        way round.
    rel, queries, ties, score_dtype, judged_only, depth, duplicates
        What counts, and how; see `evalframe.Contract`.

    Returns
    -------
    Report
        As of a local evaluation; `documents` reads one query's rows from the folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = f"{tempfile.mkdtemp()}/run"
    >>> bucket({"q1": {"x": 2.0, "a": 1.0}}, folder, 2)
    >>> report = evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, folder, ["mrr"])
    >>> report.metrics, report.counts["missing"].item()
    ({'mrr': 0.25}, 1)
    """
    contract = Contract(rel, queries, ties, score_dtype, judged_only, depth, duplicates)
    scored, prepared = _scored(qrels, run, metrics, contract, executor, results, retries, progress)
    return Report(scored, contract, prepared, scan_kind(run, "run", check_plans=False))


def _scored(
    qrels: Any,
    run: str | os.PathLike[str],
    metrics: Metrics,
    contract: Contract,
    executor: Executor | None,
    results: str | os.PathLike[str] | None,
    retries: int,
    progress: bool | None,
) -> tuple[Scored, PreparedQrels]:
    asked = listed(metrics, contract.rel)
    retries = whole_number("retries", retries, least=0)
    refuse_forks(executor)
    buckets = buckets_of(run)
    prepared = prepare(qrels, subtopics=any(reads_subtopics(one.reads) for one in asked))
    if prepared is not qrels:
        refuse_swapped(prepared, scan_kind(buckets[0].path, "run", check_plans=False))
    # Files that do not go together are refused before anything is done.
    scan_kind(run, "run", check_plans=False)
    judgements = judgements_of(prepared)
    with _folder_for(results, buckets) as place:
        work = Work.of(judgements, asked, contract, place)
        do_all(work, buckets, executor, retries, progress)
        values = [work.values_of(bucket) for bucket in buckets]
    systems = None
    if "system" in values[0].columns:
        systems = pl.concat([part["system"] for part in values]).unique()
    together = completed(values, judgements, systems, asked, contract)
    return put_together(together, asked, contract.queries), prepared


@contextmanager
def _folder_for(results: str | os.PathLike[str] | None, buckets: list[Bucket]) -> Iterator[Path]:
    """The folder of results, or one beside the run for the time being."""
    if results is not None:
        place = Path(results).expanduser().absolute()
        run = buckets[0].path.parent
        if run in (place, *place.parents):
            raise OptionError(f"results={place}: this is the run's own folder; choose another")
        with writing_to(place):
            if place.exists() and not place.is_dir():
                raise OptionError(f"results={place}: there is a file of that name; choose a folder")
            place.mkdir(parents=True, exist_ok=True)
        remove_left(place, ".*.parquet.", ".qrels-*.")
        yield place
        return
    folder = buckets[0].path.parent
    prefix = f".{folder.name}.values."
    remove_left(folder.parent, glob.escape(prefix))
    with writing_to(folder.parent):
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
