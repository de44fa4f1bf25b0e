"""Score a retriever: run it over the judged queries, then score the run on the frames.

Only queries with a relevant document and a text are asked; a document counts at its best rank.
Everything else is the contract of `scoring`, with the order of the results as they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from evalframe import inputs
from evalframe.engine import collect
from evalframe.errors import (
    EmptyError,
    MetricError,
    OptionError,
    did_you_mean,
    whole_number,
)
from evalframe.evaluation.named_documents import DISTRACTORS, HARD_POSITIVES, landed, shares
from evalframe.evaluation.retrieval_report import SKIPPED_SCHEMA, RetrievalEvalReport
from evalframe.evaluation.retrievers import OnError, Retrieved, retrieve
from evalframe.scoring import per_query

__all__ = ["RETRIEVAL_METRIC_NAMES", "evaluate_retrieval"]

RETRIEVAL_METRIC_NAMES = ("ndcg", "recall", "precision", "mrr", "map")

NO_POSITIVE = "no positive judgement"
NO_TEXT = "no query text"
FAILED = "retriever failed"


def evaluate_retrieval(
    retriever: Any,
    qrels: Any,
    queries: Any,
    *,
    k_values: Sequence[int] = (1, 5, 10, 100),
    metrics: Sequence[str] = RETRIEVAL_METRIC_NAMES,
    limit: int | None = None,
    distractors: Any = None,
    hard_positives: Any = None,
    workers: int = 1,
    progress: bool | None = None,
    on_error: OnError = "raise",
) -> RetrievalEvalReport:
    """Ask a retriever every judged query, and score what it gives.

    Parameters
    ----------
    retriever
        A callable `query -> ranked results`, with or without a parameter `limit`; or an object with
        `.search`, `.retrieve`, `.similarity_search`, `.invoke` or `.get_relevant_documents`. Async
        ones are awaited. Results are ids, pairs (id, score), mappings, or the documents of a
        library: see `evalframe.hits` for how an id is found, and `evalframe.evaluation.retrievers`
        for which of several ids counts. Several hits of one document count at its best rank.
    qrels
        `{query_id: {doc_id: grade}}`, a frame or a path. Queries without a positive judgement are
        skipped.
    queries
        `{query_id: text}`, a frame or a path. Judged queries without a text are skipped.
    k_values
        The cut-offs.
    metrics
        Any of `ndcg`, `recall`, `precision`, `mrr`, `map`.
    limit
        How many hits to ask for. `None` asks for `max(k_values)`; more are wanted where documents
        are cut into pieces, of which several may be found.
    distractors
        `{query_id: doc_ids}` or a frame with `query_id` and `doc_id`: documents that look right and
        are not. Gives `fp_rate@k`: the share of a query's distractors in its top k (0 is best).
    hard_positives
        In the same shape, documents that the qrels call relevant and that are hard to find. Gives
        `hard_recall@k`. Both are
        null for a query that names none, and averaged over the queries that do.
    workers
        Queries asked at a time. The report does not depend on it.
    progress
        `None` shows a bar after a second's work, `True` at once, `False` never.
    on_error
        `raise` stops at a query on which the retriever fails, and names it. `skip` goes on: the
        query is not scored, stands in `failures`, and counts as 0 in `metrics_zero_filled`.

    Returns
    -------
    RetrievalEvalReport
        Means and values by query.

    Raises
    ------
    MetricError
        An unknown metric.
    RowError
        A distractor is relevant, or a hard positive is not.
    EmptyError
        No query can be scored.
    EvalframeError
        The retriever failed.

    Examples
    --------
    >>> qrels = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}
    >>> queries = {"q1": "alpha", "q2": "beta"}
    >>> def retriever(query, *, limit=10):
    ...     return ["d1", "d2"][:limit]
    >>> report = evaluate_retrieval(retriever, qrels, queries, k_values=(1, 2))
    >>> report.metrics["recall@2"], report.metrics["mrr@2"], report.n_queries
    (1.0, 0.75, 2)
    """
    names = _metric_names(metrics)
    cutoffs = _cutoffs(k_values)
    limit = None if limit is None else whole_number("limit", limit)
    judged = _eager(inputs.qrels_frame(qrels))
    asked, skipped = _queries_to_ask(judged, _eager(inputs.queries_frame(queries)))
    named = {
        role.metric: role.read(given, judged, asked)
        for role, given in ((DISTRACTORS, distractors), (HARD_POSITIVES, hard_positives))
        if given is not None
    }
    found = retrieve(
        retriever,
        asked,
        limit=limit or max(cutoffs),
        keep=None if limit else max(cutoffs),
        workers=workers,
        progress=progress,
        on_error=on_error,
        judged={*judged["doc_id"]},
    )
    failed = found.failures["query_id"].to_list()
    scored = judged.filter(pl.col("query_id").is_in([q for q in asked if q not in {*failed}]))
    if scored.height == 0:
        raise EmptyError(
            f"no query can be scored: the retriever failed on all {len(failed)} of them; on "
            f"{failed[0]!r}: {found.failures['error'][0]}"
        )
    keys = [f"{name}@{k}" for name in names for k in cutoffs]
    values = _scored(scored, found.run, keys)
    places: dict[str, pl.DataFrame] = {}
    for metric, documents in named.items():
        places[metric] = landed(documents, found.run, values)
        values = shares(values, places[metric], metric, cutoffs)
    means = values.select(pl.all().exclude("query_id").mean()).row(0, named=True)
    share_scored = values.height / (values.height + len(failed))
    reasons = skipped | dict.fromkeys(failed, FAILED)
    return RetrievalEvalReport(
        metrics=means,
        per_query=values,
        n_queries=values.height,
        k_values=tuple(cutoffs),
        metrics_zero_filled={key: means[key] * share_scored for key in keys},
        skipped=pl.DataFrame([*reasons.items()], schema=SKIPPED_SCHEMA, orient="row"),
        failures=found.failures,
        run=found.run,
        distractors=places.get("fp_rate"),
        hard_positives=places.get("hard_recall"),
        notes=_notes(found, judged),
    )


def _metric_names(metrics: Sequence[str]) -> list[str]:
    if not isinstance(metrics, Iterable):
        raise MetricError(f"metrics={metrics!r}: give any of {', '.join(RETRIEVAL_METRIC_NAMES)}")
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    for name in names:
        if name not in RETRIEVAL_METRIC_NAMES:
            raise MetricError(
                f"unknown metric {name!r}{did_you_mean(str(name), RETRIEVAL_METRIC_NAMES)} "
                f"(known: {', '.join(RETRIEVAL_METRIC_NAMES)})"
            )
    if not names:
        raise MetricError(f"metrics is empty: give any of {', '.join(RETRIEVAL_METRIC_NAMES)}")
    return names


def _cutoffs(given: Any) -> list[int]:
    listed = list(given) if isinstance(given, Iterable) else [given]
    if not listed or isinstance(given, str):
        raise OptionError(f"k_values={given!r} must be whole numbers, 1 or more")
    return list(dict.fromkeys(whole_number("k_values", k) for k in listed))


def _eager(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    return collect(frame, "in-memory") if isinstance(frame, pl.LazyFrame) else frame


def _queries_to_ask(
    judged: pl.DataFrame, queries: pl.DataFrame
) -> tuple[dict[str, str], dict[str, str]]:
    """Query id → text of those to ask, in the order of the qrels; and query id → why not."""
    texts = dict(queries.select("query_id", "text").iter_rows())
    positive = (pl.col("relevance") > 0).any().alias("positive")
    asked: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for query_id, is_positive in (
        judged.group_by("query_id", maintain_order=True).agg(positive).iter_rows()
    ):
        text = texts.get(query_id)
        if is_positive and text is not None:
            asked[query_id] = text
        else:
            skipped[query_id] = NO_TEXT if is_positive else NO_POSITIVE
    if not asked:
        n_without = sum(reason == NO_POSITIVE for reason in skipped.values())
        raise EmptyError(
            f"no query can be scored: of {len(skipped)} judged queries {n_without} have no "
            f"positive judgement and {len(skipped) - n_without} have no text. The qrels judge "
            f"{[*skipped][:3]}, the queries have texts for {[*texts][:3]}"
        )
    return asked, skipped


def _scored(qrels: pl.DataFrame, run: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Values by query. A query for which nothing was retrieved has 0 everywhere."""
    if run.height == 0:
        nothing = [pl.lit(0.0).alias(key) for key in keys]
        return qrels.select(pl.col("query_id").unique().sort()).with_columns(nothing)
    # Whole-numbered scores beside broken grades would be taken for swapped arguments.
    ranked = run.select("query_id", "doc_id", "rank", score=1 / (pl.col("rank") + 1))
    return _eager(per_query(qrels, ranked, keys, queries="positive", ties="given"))


def _notes(found: Retrieved, judged: pl.DataFrame) -> list[str]:
    run = found.run
    if run.height == 0:
        return ["nothing was retrieved for any query"]
    if found.ids_from is not None:
        shown = ", ".join(map(repr, run["doc_id"].head(3)))
        return [
            f"what was retrieved is named by its {found.ids_from} ({shown}, …): none of the ids "
            "that come before it stands in the qrels"
        ]
    if run.join(judged, on="doc_id", how="semi").height:
        return []
    return [
        f"none of the retrieved ids ({', '.join(map(repr, run['doc_id'].head(3)))}, …) stands in "
        f"the qrels ({', '.join(map(repr, judged['doc_id'].head(3)))}, …): do they name the same "
        "documents?"
    ]
