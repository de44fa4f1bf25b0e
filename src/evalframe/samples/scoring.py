"""RAG samples scored without a model: one value per sample and metric, and the report on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, overload

import polars as pl

from evalframe.columns import SAMPLES
from evalframe.engine import collect
from evalframe.errors import ColumnError, MetricError, RowError, one_of
from evalframe.frames import check_rows
from evalframe.io.any_samples import wrong_keys_of
from evalframe.io.sample_records import refuse
from evalframe.metrics.rag_catalogue import RAG_METRICS, RagChoice, choose
from evalframe.metrics.rag_values import rag_values
from evalframe.samples.checks import checked_samples
from evalframe.samples.pieces import pieces
from evalframe.samples.report import RagReport, report_of
from evalframe.text import PROFILES, Profile

__all__ = ["DEFAULT_METRICS", "RAG_METRICS", "evaluate_rag", "per_sample"]

DEFAULT_METRICS = (
    "exact_match",
    "token_f1",
    "context_recall",
    "context_precision",
    "non_empty_rate",
)

ROWS_TOGETHER = 4_096
BYTES_TOGETHER = 16_000_000
"""Samples and bytes of text that are scored together: they bound the memory of one thread."""

MOST_THREADS = 8

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


@overload
def per_sample(
    samples: pl.LazyFrame,
    metrics: str | Iterable[str] = ...,
    *,
    profile: Profile = ...,
    columns: Mapping[str, str] | None = ...,
) -> pl.LazyFrame: ...
@overload
def per_sample(
    samples: Any,
    metrics: str | Iterable[str] = ...,
    *,
    profile: Profile = ...,
    columns: Mapping[str, str] | None = ...,
) -> pl.DataFrame: ...
def per_sample(
    samples: Any,
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    *,
    profile: Profile = "squad_v1",
    columns: Mapping[str, str] | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Score each sample by RAG metrics that compare words and ids; no model is asked.

    Parameters
    ----------
    samples
        Polars or pandas frame, Arrow stream, dict of columns, mappings or objects one for each
        sample (a generator will do), or a path. The columns are those of Ragas: `user_input`,
        `response`, `reference` or `references`, `retrieved_contexts`, `reference_contexts`,
        `retrieved_context_ids`, `reference_context_ids`; their other usual names are understood.
    metrics
        Names out of `RAG_METRICS`, which says what each needs, such as `token_f1` or
        `context_coverage@0.8`. Each names its column.
    profile
        What counts as the same words: `squad_v1`, `squad_v2`, `unicode` or `cjk`; see
        `evalframe.text`.
    columns
        The house's name → the data's own name, where it is not a known one.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        The samples in their order with every column they came with (`query_id` is the row's
        number where they had none), then

        - one Float64 column for each metric, in [0, 1], null where it is undefined;
        - `best_reference`, if an answer metric was asked for: the index of the best reference in
          `references` (a `reference` that is not among them comes last); null where there is none;
        - `status`, a struct that says for each metric `ok`, or why there is no value, or what
          was missing when it was scored: `pl.col("status").struct.field("token_f1")`.

        Lazy frames give lazy frames; the work is done batch by batch when the plan runs, and
        repeated ids go unnoticed.

    Raises
    ------
    MetricError, OptionError
        Metrics or a profile that are not known.
    RowError, ColumnError, EmptyError
        Samples that cannot be used, with all problems in one message; or metric names that the
        samples already have as columns.

    Notes
    -----
    What the gold lacks takes a sample out of a metric: the value is null. What the system did not
    deliver (a null response, null or empty contexts) is scored as if it had delivered nothing.
    Both are named in `status`. With several references the best counts, for each metric on its own.

    Tokens are compared by 64-bit keys within a sample: the chance that any of 200,000 samples is
    counted wrongly is about one in a million.

    Examples
    --------
    >>> scored = per_sample(
    ...     [
    ...         {"response": "It is Paris.", "references": ["Lyon", "Paris"]},
    ...         {"response": None, "references": ["four"]},
    ...         {"response": "five"},
    ...     ],
    ...     ["token_f1", "answer_recall"],
    ... )
    >>> scored.select("query_id", "token_f1", "answer_recall", "best_reference").rows()
    [('0', 0.5, 1.0, 1), ('1', 0.0, 0.0, 0), ('2', None, None, None)]
    >>> scored["status"].struct.field("token_f1").to_list()
    ['ok', 'missing_response', 'missing_reference']
    """
    chosen, frame = _prepared(samples, metrics, profile, columns)
    if isinstance(frame, pl.LazyFrame):
        return _scored_lazily(frame, chosen, profile)
    return _scored(frame, chosen, profile, min(pl.thread_pool_size(), MOST_THREADS))


def evaluate_rag(
    samples: Any,
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    *,
    profile: Profile = "squad_v1",
    columns: Mapping[str, str] | None = None,
) -> RagReport:
    """Score samples as `per_sample` does, and report on all of them.

    Parameters
    ----------
    samples, metrics, profile, columns
        As `per_sample` takes them. Of a lazy frame the report keeps all columns but
        `retrieved_contexts` and `reference_contexts`, so that it may be larger than memory.

    Returns
    -------
    RagReport
        Means over the scored samples and over all, coverage, reasons, and the samples' own values.

    Raises
    ------
    EvalframeError
        What `per_sample` raises; of a lazy frame repeated ids as well.

    Examples
    --------
    >>> evaluate_rag(
    ...     [
    ...         {"response": "Paris", "reference": "Paris", "retrieved_contexts": ["In Paris."]},
    ...         {"response": "five", "reference": "four", "retrieved_contexts": []},
    ...         {"response": "six", "retrieved_contexts": ["Six."]},
    ...         {"response": None, "reference": "Rome", "retrieved_contexts": ["In Rome."]},
    ...     ],
    ...     metrics=["exact_match", "context_recall"],
    ... )
    RagReport: 4 samples, profile squad_v1
    metric          mean    rest as 0  if delivered  scored  reasons
    exact_match     0.3333  0.2500     0.5000        3/4     missing_reference 1, missing_response 1
    context_recall  0.6667  0.5000     0.6667        3/4     empty_contexts 1, missing_reference 1
    """
    chosen, frame = _prepared(samples, metrics, profile, columns, check_plans=False)
    if isinstance(frame, pl.LazyFrame):
        scored = _collected(_scored_lazily(frame.with_row_index(ORDER), chosen, profile))
    else:
        scored = _scored(frame, chosen, profile, min(pl.thread_pool_size(), MOST_THREADS))
    return report_of(scored, [one.column for one in chosen], profile)


ORDER = "order of the samples"
"""A column that brings the rows of a streamed plan back into order."""


def _prepared(
    samples: Any,
    metrics: str | Iterable[str],
    profile: Profile,
    columns: Mapping[str, str] | None,
    *,
    check_plans: bool = True,
) -> tuple[list[RagChoice], pl.DataFrame | pl.LazyFrame]:
    if metrics is None:
        raise MetricError(f"metrics is None: give names out of {', '.join(RAG_METRICS)}")
    chosen = choose(metrics)
    one_of("profile", profile, PROFILES)
    frame = checked_samples(samples, columns, check_plans=check_plans)
    new = {"status", "best_reference", *(one.column for one in chosen)}
    taken = [name for name in frame.lazy().collect_schema() if name in new]
    if taken:
        raise ColumnError(
            f"the samples already have columns called {', '.join(map(repr, taken))}, which the "
            "results would need; rename or drop them"
        )
    return chosen, frame


def _scored(
    samples: pl.DataFrame, chosen: list[RagChoice], profile: Profile, threads: int
) -> pl.DataFrame:
    """The samples with their values, scored in pieces."""
    score = partial(rag_values, chosen=chosen, profile=profile)
    pieces = list(_pieces(samples))
    if len(pieces) == 1 or threads == 1:
        values = [score(piece) for piece in pieces]
    else:
        with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
            values = list(pool.map(score, pieces))
    return samples.with_columns(pl.concat(values).get_columns())


def _pieces(samples: pl.DataFrame) -> Iterator[pl.DataFrame]:
    return pieces(samples, ROWS_TOGETHER, BYTES_TOGETHER)


def _scored_lazily(
    samples: pl.LazyFrame, chosen: list[RagChoice], profile: Profile
) -> pl.LazyFrame:
    schema = samples.collect_schema()
    added: dict[str, pl.DataType] = {one.column: pl.Float64() for one in chosen}
    if any(one.metric.family == "answers" for one in chosen):
        added["best_reference"] = pl.Int64()
    status = pl.Struct({one.column: pl.String() for one in chosen})
    return samples.map_batches(
        partial(_scored, chosen=chosen, profile=profile, threads=1),
        schema={**schema, **added, "status": status},
        streamable=True,
        projection_pushdown=False,
        predicate_pushdown=False,
        slice_pushdown=False,
    )


def _collected(plan: pl.LazyFrame) -> pl.DataFrame:
    heavy = [c for c in ("retrieved_contexts", "reference_contexts") if c in plan.collect_schema()]
    scored = collect(plan.drop(heavy)).sort(ORDER).drop(ORDER)
    check_rows(scored.drop("query_id"), SAMPLES)
    refuse(wrong_keys_of(scored), RowError)
    return scored
