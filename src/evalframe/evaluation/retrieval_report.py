"""What scoring a retriever found: means, values by query, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalframe.tables import counted, notebook_table, text_table

__all__ = ["SKIPPED_SCHEMA", "RetrievalEvalReport"]

SKIPPED_SCHEMA = {"query_id": pl.String(), "reason": pl.String()}


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalEvalReport:
    """What `evaluate_retrieval` found.

    Attributes
    ----------
    metrics
        `<name>@<k>` → its mean over the scored queries.
    per_query
        A frame with `query_id` and a column for each key of `metrics`, by query_id; or, in a report
        made by hand, a mapping of query id to such values.
    n_queries
        How many queries were scored.
    k_values
        The cut-offs.
    metrics_zero_filled
        As `metrics`, with every query on which the retriever failed counted as 0. Without
        `fp_rate@k` and `hard_recall@k`, which not every query has.
    skipped
        `query_id` and `reason` of every judged query that was not scored: `no positive judgement`,
        `no query text` or `retriever failed`.
    failures
        `query_id`, `text` and `error`, for each query on which the retriever failed.
    run
        What was retrieved: see `evalframe.evaluation.retrievers.Retrieved`.
    distractors, hard_positives
        `query_id`, `doc_id` and `rank` of each named document of a scored query; the rank is null
        where the document was not retrieved. None where no documents were named.
    notes
        What looks wrong, in words.

    Examples
    --------
    >>> report = RetrievalEvalReport(
    ...     metrics={"ndcg@10": 0.83}, per_query={}, n_queries=12, k_values=(10,)
    ... )
    >>> report.primary, report.primary_at(5)
    (0.83, None)
    """

    metrics: Mapping[str, float]
    per_query: pl.DataFrame | Mapping[str, Mapping[str, float]]
    n_queries: int
    k_values: Sequence[int]
    metrics_zero_filled: Mapping[str, float] = field(default_factory=dict)
    skipped: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SKIPPED_SCHEMA))
    failures: pl.DataFrame = field(default_factory=pl.DataFrame)
    run: pl.DataFrame = field(default_factory=pl.DataFrame)
    distractors: pl.DataFrame | None = None
    hard_positives: pl.DataFrame | None = None
    notes: Sequence[str] = ()

    @property
    def primary(self) -> float | None:
        """The mean nDCG@10, or None where it was not computed."""
        return self.primary_at(10)

    def primary_at(self, k: int) -> float | None:
        """The mean nDCG at a cut-off, or None where it was not computed."""
        return self.metrics.get(f"ndcg@{k}")

    def to_dict(self) -> dict[str, Any]:
        """The report as nested plain values.

        Returns
        -------
        dict
            `metrics`, `per_query` (query id → metric → value), `n_queries` and `k_values`; and
            `metrics_zero_filled`, `skipped`, `failures` and `notes` where there are any.

        Examples
        --------
        >>> values = pl.DataFrame({"query_id": ["q1"], "recall@5": [1.0]})
        >>> report = RetrievalEvalReport({"recall@5": 1.0}, values, n_queries=1, k_values=(5,))
        >>> report.to_dict()["per_query"]["q1"]["recall@5"]
        1.0
        """
        values = self.per_query
        if isinstance(values, pl.DataFrame):
            names = [name for name in values.columns if name != "query_id"]
            nested = {row.pop("query_id"): {n: row[n] for n in names} for row in values.to_dicts()}
        else:
            nested = {query_id: dict(row) for query_id, row in values.items()}
        plain: dict[str, Any] = {
            "metrics": dict(self.metrics),
            "per_query": nested,
            "n_queries": self.n_queries,
            "k_values": list(self.k_values),
        }
        if self.failures.height:
            plain["metrics_zero_filled"] = dict(self.metrics_zero_filled)
            plain["failures"] = self.failures.to_dicts()
        if self.skipped.height:
            plain["skipped"] = dict(self.skipped.rows())
        return plain | ({"notes": list(self.notes)} if self.notes else {})

    def __eq__(self, other: object) -> bool:
        """Whether two reports say the same."""
        if not isinstance(other, RetrievalEvalReport):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The means, how many queries they are of, and what was left out."""
        return "\n".join([text_table(self._table()), *self._footnotes()])

    def _repr_html_(self) -> str:
        return notebook_table(self._table(), self._footnotes())

    def _table(self) -> pl.DataFrame:
        means = {"metric": [*self.metrics], "mean": [*self.metrics.values()]}
        if self.failures.height:
            means["failed as 0"] = [self.metrics_zero_filled.get(m) for m in self.metrics]
        return pl.DataFrame(means, schema_overrides={"mean": pl.Float64})

    def _footnotes(self) -> list[str]:
        counts = self.skipped.group_by("reason").len().sort("reason").rows()
        left_out = [f"{n} not scored: {reason}" for reason, n in counts]
        failed = [
            f"  {query_id!r}: {error}" for query_id, _, error in self.failures.head(5).iter_rows()
        ]
        scored = counted(self.n_queries, "query", "queries")
        return [f"{scored} scored", *left_out, *failed, *self.notes]
