"""Documents named for a query, such as its distractors: where they landed in a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe import frames, hits
from evalframe.columns import QRELS
from evalframe.engine import collect
from evalframe.errors import ColumnError, OptionError, RowError, first_rows

__all__ = ["DISTRACTORS", "HARD_POSITIVES", "Role", "landed", "named_documents", "shares"]

SCHEMA = {"query_id": pl.String(), "doc_id": pl.String()}


@dataclass(frozen=True)
class Role:
    """What documents are named for: the argument that names them, and what the qrels must say."""

    argument: str
    metric: str
    relevant: bool

    def read(self, given: Any, judged: pl.DataFrame, asked: Iterable[str]) -> pl.DataFrame:
        """The named documents of all queries, checked against the qrels of those that are asked.

        Raises
        ------
        RowError
            A distractor is relevant, or a hard positive is not.
        """
        named = named_documents(given, self.argument)
        relevant = judged.filter(pl.col("relevance") > 0).select("query_id", "doc_id")
        wrong = named.filter(pl.col("query_id").is_in([*asked])).join(
            relevant, on=["query_id", "doc_id"], how="anti" if self.relevant else "semi"
        )
        if wrong.height:
            must = "must be relevant" if self.relevant else "may not be relevant"
            raise RowError(
                f"{self.argument} {must}, and the qrels say otherwise of:\n"
                + first_rows(wrong.sort(pl.all()))
            )
        return named


DISTRACTORS = Role("distractors", "fp_rate", relevant=False)
HARD_POSITIVES = Role("hard_positives", "hard_recall", relevant=True)


def named_documents(given: Any, argument: str) -> pl.DataFrame:
    """`{query_id: doc_ids}`, or a frame with these two columns, as distinct pairs.

    Examples
    --------
    >>> named_documents({"q1": ["d8", "d9"]}, "distractors").rows()
    [('q1', 'd8'), ('q1', 'd9')]
    """
    if isinstance(given, Mapping):
        pairs = [(query, doc) for query, docs in given.items() for doc in _listed(docs, argument)]
        ids = [(hits.as_id(query), hits.as_id(doc)) for query, doc in pairs]
        if any(None in pair for pair in ids):
            raise ColumnError(
                f"{argument} holds something that is no id: give {{query_id: [doc_id, …]}}"
            )
        table = pl.DataFrame(ids, schema=SCHEMA, orient="row")
    elif frames.is_tabular(given):
        rows = frames.to_polars(given)
        rows = collect(rows, "in-memory") if isinstance(rows, pl.LazyFrame) else rows
        found = frames.find_columns(QRELS, rows.columns, {})
        if not found.keys() >= SCHEMA.keys():
            raise ColumnError(
                f"{argument} needs the columns 'query_id' and 'doc_id'; found: {rows.columns}"
            )
        table = rows.select(pl.col(found[name]).cast(pl.String).alias(name) for name in SCHEMA)
        empty = table.with_row_index("row").filter(pl.any_horizontal(pl.col(*SCHEMA).is_null()))
        if empty.height:
            raise RowError(f"{argument} holds rows without an id:\n{first_rows(empty)}")
    else:
        raise ColumnError(
            f"{argument} is a {type(given).__name__}: give {{query_id: [doc_id, …]}} or a frame"
        )
    return table.unique(maintain_order=True)


def landed(documents: pl.DataFrame, run: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """The rank of each named document of a scored query, null where it was not retrieved.

    By query_id, best rank first, documents that were not retrieved last.
    """
    ranks = run.select("query_id", "doc_id", "rank")
    return (
        documents.join(scored.select("query_id"), on="query_id", how="semi")
        .join(ranks, on=["query_id", "doc_id"], how="left")
        .sort("query_id", "rank", "doc_id", nulls_last=True)
    )


def shares(
    values: pl.DataFrame, places: pl.DataFrame, metric: str, cutoffs: Sequence[int]
) -> pl.DataFrame:
    """Values by query, with the share of each query's named documents in its top k.

    Null for a query that names none.

    Raises
    ------
    OptionError
        No scored query names any.
    """
    if places.height == 0:
        raise OptionError(
            f"{metric}@k cannot be computed: the documents were named for no query that was scored"
        )
    by_query = places.group_by("query_id").agg(
        ((pl.col("rank") <= k).fill_null(False).mean()).alias(f"{metric}@{k}") for k in cutoffs
    )
    return values.join(by_query, on="query_id", how="left", maintain_order="left")


def _listed(docs: Any, argument: str) -> Iterable[Any]:
    if isinstance(docs, str) or not isinstance(docs, Iterable):
        raise ColumnError(f"{argument} holds {docs!r:.80}: give {{query_id: [doc_id, …]}}")
    return docs
