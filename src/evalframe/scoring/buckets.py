"""A run scored bucket by bucket: each query stands in one, and its values are those of the whole.

Every list is ranked by itself, so that a bucket needs the judgements of its own queries and nothing
else. What no bucket can know, which systems there are and which queries none of them has, is added
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from evalframe.columns import RUN
from evalframe.engine import batches, collect
from evalframe.errors import EmptyError, EvalframeError, MissingExtraError, RowError, first_rows
from evalframe.frames import check_rows, collected
from evalframe.inputs import qrels_frame
from evalframe.ranking.judged import Judged
from evalframe.ranking.matching import keys_of
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.subtopics import SUBTOPICS
from evalframe.scoring.asked import POSITIVE, Asked
from evalframe.scoring.contract import Contract, Queries
from evalframe.scoring.refusals import refuse_strangers
from evalframe.scoring.scored import Scored
from evalframe.scoring.scoring import score

__all__ = [
    "completed",
    "judgements_of",
    "naming",
    "put_together",
    "score_bucket",
]

BATCH = 2_000_000
"""Rows that are looked at together where nothing is judged."""


def judgements_of(qrels: Any) -> pl.DataFrame:
    """Qrels of any shape as checked rows, one for each judgement, subtopic by subtopic.

    >>> judgements_of({"q": {"a": 1}}).rows()
    [('q', 'a', 1)]
    """
    if not isinstance(qrels, PreparedQrels):
        return collected(qrels_frame(qrels), "qrels")
    rows = qrels.with_subtopics
    if SUBTOPICS not in rows.columns:
        return rows
    return rows.drop("relevance").explode(SUBTOPICS).unnest(SUBTOPICS)


def score_bucket(
    qrels: pl.DataFrame, run: pl.DataFrame | pl.LazyFrame, asked: list[Asked], contract: Contract
) -> pl.DataFrame:
    """The values of every query of a bucket.

    Parameters
    ----------
    qrels
        Checked judgements; those of other queries than the bucket's are passed over.
    run
        A checked run, or a plan of one, which is then streamed.
    asked, contract
        As `evalframe.scoring.score` takes them.

    Returns
    -------
    pl.DataFrame
        A row for each list of the run: `system` (if any), `query_id`, `n_retrieved`, and for
        judged queries the metrics, whether there is a positive judgement, and the share that is
        judged. All of these are null where the query has no judgement, and lack where none has.
    """
    keys = keys_of(run.lazy().collect_schema().names())
    queries = collect(run.lazy().select("query_id").unique())
    here = qrels.join(queries, on="query_id", how="semi")
    if here.height == 0:
        return _lengths(run, keys)
    scored = score(prepare(here), run, asked, contract)
    values = _with_shares(scored).filter(pl.col("n_retrieved") > 0).drop("n_retrieved")
    return scored.groups.join(values, on=keys, how="left").sort(keys)


def _with_shares(scored: Scored) -> pl.DataFrame:
    """The values, with the share of each list that is judged."""
    return scored.values.with_columns([scored.judged_later()] if scored.judged_later else [])


def _lengths(run: pl.DataFrame | pl.LazyFrame, keys: list[str]) -> pl.DataFrame:
    """How long each list is, of rows that are checked on the way."""
    parts = []
    for rows in batches(run.lazy(), BATCH):
        check_rows(rows, RUN)
        parts.append(rows.group_by(keys).agg(n_retrieved=pl.len().cast(pl.UInt32)))
    if not parts:
        raise EmptyError("the run frame has no rows")
    return pl.concat(parts).group_by(keys).agg(pl.col("n_retrieved").sum()).sort(keys)


def completed(
    values: list[pl.DataFrame],
    qrels: pl.DataFrame,
    systems: pl.Series | None,
    asked: list[Asked],
    contract: Contract,
) -> pl.DataFrame:
    """The values of buckets, and of every judged query that a system has nothing for.

    Parameters
    ----------
    values
        What `score_bucket` gave, of one bucket or of all.
    qrels
        The judgements whose queries count here.
    systems
        The names of all systems, None where the run does not name any.
    """
    units = qrels.select("query_id").unique()
    if systems is not None:
        units = units.join(pl.DataFrame([systems.alias("system")]), how="cross")
    keys = keys_of(units.columns)
    for part in values:
        units = units.join(part, on=keys, how="anti")
    if units.height:
        nothing = _unretrieved(qrels.join(units, on="query_id", how="semi"), asked, contract)
        values = [*values, nothing.join(units, on="query_id")]
    together = pl.concat(values, how="diagonal")
    return together.select(*keys, pl.exclude(keys)).sort(keys)


def _unretrieved(qrels: pl.DataFrame, asked: list[Asked], contract: Contract) -> pl.DataFrame:
    """The values of queries that nothing was retrieved for.

    They are scored beside the list of one more query, whose judgements are a copy of another's.
    """
    last = qrels["query_id"].sort().to_list()[-1]
    one_more = pl.lit(f"{last} ").alias("query_id")
    copy = qrels.filter(pl.col("query_id") == last).with_columns(one_more)
    run = copy.head(1).select("query_id", "doc_id", score=pl.lit(1.0), rank=pl.lit(1, pl.Int64))
    scored = score(prepare(pl.concat([qrels, copy])), run, asked, contract)
    return _with_shares(scored).filter(pl.col("query_id") != one_more)


def put_together(values: pl.DataFrame, asked: list[Asked], queries: Queries) -> Scored:
    """All values as one evaluation.

    Raises
    ------
    RowError
        A list stands in two buckets.
    EmptyError
        No query is judged, or the run has none of them.
    """
    keys = keys_of(values.columns)
    again = values.filter(pl.struct(keys).is_duplicated())
    if again.height:
        raise RowError(
            "the run is not cut by query: some stand in more than one bucket. Write it anew with "
            f"evalframe.executor.bucket. First rows:\n{first_rows(again.select(keys).sort(keys))}"
        )
    judged = values.filter(pl.col(POSITIVE).is_not_null()).sort(keys)
    groups = values.filter(pl.col("n_retrieved") > 0).select(*keys, "n_retrieved").sort(keys)
    queries_of_qrels = judged.select("query_id", doc_id=pl.lit(""), relevance=pl.lit(1)).unique()
    refuse_strangers(prepare(queries_of_qrels), Judged(judged, judged, groups))
    return Scored(judged, groups, asked, queries)


@contextmanager
def naming(what: Callable[[], str]) -> Iterator[None]:
    """Put what was being worked on before the message of any error.

    An error of evalframe stays of its class; any other becomes an `EvalframeError` and nothing
    more, so that it can be sent from one process to another.

    >>> with naming(lambda: "bucket 3"):
    ...     raise RowError("a null")
    Traceback (most recent call last):
        ...
    evalframe.errors.RowError: bucket 3: a null
    """
    try:
        yield
    except EvalframeError as error:
        kind = EvalframeError if isinstance(error, MissingExtraError) else type(error)
        raise kind(f"{what()}: {error}") from error
    except Exception as error:
        raise EvalframeError(f"{what()}: {type(error).__name__}: {error}") from error
