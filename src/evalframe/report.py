"""The report of an evaluation: means, values by query, and the way back to the documents."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.dataframe.group_by import GroupBy

from evalframe.engine import collect
from evalframe.errors import MetricError, OptionError, did_you_mean
from evalframe.frames import Duplicates
from evalframe.inputs import corpus_frame, run_or_plan
from evalframe.ranking.judged import rank_in_list
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import TieRule, Ties
from evalframe.scoring import (
    DEFAULT_METRICS,
    Asked,
    Contract,
    MetricLike,
    Queries,
    Scored,
    listed,
    refuse_swapped,
    score,
)
from evalframe.tables import html_table, text_table

__all__ = ["Report", "evaluate"]


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What an evaluation found, as frames.

    Attributes
    ----------
    per_query
        `query_id` (after `system`, where the run has one) and a column for each metric.
    summary
        A row for each metric (of each system): `metric`, `value` (the mean, or what the metric's
        `how` says: sum, geometric_mean), `how`, `queries`, `min`, `median`, `max`, `zeros`.
    counts
        `queries_in_qrels`, `queries_in_run`, `scored`, `missing` (in the qrels, not in the run),
        `extra` (in the run, not in the qrels), `without_positive`, and the mean of `judged@k` for
        the largest cut-off; a row for each system.
    contract
        What counted, and how.
    """

    scored: Scored
    contract: Contract
    qrels: PreparedQrels
    run: pl.DataFrame | pl.LazyFrame

    @property
    def per_query(self) -> pl.DataFrame:
        """A row for each query (of each system) and a column for each metric."""
        return self.scored.per_query

    @property
    def counts(self) -> pl.DataFrame:
        """How many queries there were of each sort."""
        return self.scored.counts

    @functools.cached_property
    def how(self) -> dict[str, str]:
        """Each metric's name, and how its values become one: mean, sum or geometric_mean."""
        return {metric.name: metric.how for metric in self.scored.asked}

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """A row for each metric (of each system), with the spread of its values."""
        system = self._system
        frames = [
            _grouped(self.per_query, system).agg(
                pl.lit(name).alias("metric"),
                _summarised(pl.col(name), how).alias("value"),
                pl.lit(how).alias("how"),
                pl.len().alias("queries"),
                pl.col(name).min().alias("min"),
                pl.col(name).median().alias("median"),
                pl.col(name).max().alias("max"),
                (pl.col(name) == 0).sum().alias("zeros"),
            )
            for name, how in self.how.items()
        ]
        return pl.concat(frames).select(
            *system, "metric", "value", "how", "queries", "min", "median", "max", "zeros"
        )

    @functools.cached_property
    def metrics(self) -> dict[str, float]:
        """Each metric's name, as it was asked for, and its mean over the scored queries.

        Raises
        ------
        OptionError
            The run has several systems; their means are in `summary`.
        """
        if self._system:
            raise OptionError("the run has several systems: their values are in report.summary")
        values = self.per_query.select(
            _summarised(pl.col(name), how) for name, how in self.how.items()
        )
        return values.row(0, named=True)

    def worst(self, metric: str, n: int = 10) -> pl.DataFrame:
        """The queries on which a metric is worst: lowest first, or highest where less is better.

        Parameters
        ----------
        metric
            A metric of this report, by the name it was asked for.
        n
            How many rows (of each system).

        Examples
        --------
        >>> import evalframe as evf
        >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
        >>> report = evf.evaluate(qrels, {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, ["mrr"])
        >>> report.worst("mrr", n=1).row(0)
        ('q1', 0.5)
        """
        asked = self._asked(metric)
        if not isinstance(n, int) or n < 1:
            raise OptionError(f"n must be a whole number of at least 1, not {n!r}")
        worst_first = [False for _ in self._system] + [asked.better == "lower", False]
        ordered = self.per_query.sort(*self._system, metric, "query_id", descending=worst_first)
        return (
            ordered.group_by(self._system, maintain_order=True).head(n)
            if self._system
            else (ordered.head(n))
        )

    def documents(
        self, query_id: str, *, system: str | None = None, corpus: Any = None
    ) -> pl.DataFrame:
        """What was retrieved for a query, judged, and what was relevant but missed.

        Parameters
        ----------
        query_id
            A query of the qrels or of the run.
        system
            Whose list, where the run has several systems.
        corpus
            A corpus (frame, dict, path), whose title and text are put beside each document.

        Returns
        -------
        pl.DataFrame
            `rank`, `doc_id`, `score`, `relevance` (null: no judgement) and `verdict`: `relevant`,
            `not relevant`, `unjudged` or `missed`. By rank; missed documents follow, without a
            rank, by falling grade.

        Examples
        --------
        >>> import evalframe as evf
        >>> report = evf.evaluate({"q": {"a": 1, "b": 2}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
        >>> report.documents("q").select("rank", "doc_id", "verdict").rows()
        [(1, 'x', 'unjudged'), (2, 'a', 'relevant'), (None, 'b', 'missed')]
        """
        query_id = str(query_id)
        listed_documents = self._ranked_list(query_id, system)
        judged = self.qrels.qrels.filter(pl.col("query_id") == query_id).drop("query_id")
        if listed_documents.height == 0 and judged.height == 0:
            known = self.per_query["query_id"].unique().to_list()
            raise OptionError(f"no query {query_id!r}{did_you_mean(query_id, known)}")
        relevant = (
            pl.col("relevance") > 0
            if self.contract.rel is None
            else pl.col("relevance") >= self.contract.rel
        )
        retrieved = pl.col("rank").is_not_null()
        both = (
            listed_documents.join(judged, on="doc_id", how="full", coalesce=True)
            .with_columns(
                verdict=pl.when(pl.col("relevance").is_null() | (pl.col("relevance") < 0))
                .then(pl.lit("unjudged"))
                .when(~relevant)
                .then(pl.lit("not relevant"))
                .when(retrieved)
                .then(pl.lit("relevant"))
                .otherwise(pl.lit("missed"))
            )
            .filter(retrieved | (pl.col("verdict") == "missed"))
            .sort("rank", "relevance", "doc_id", descending=[False, True, True], nulls_last=True)
            .select("rank", "doc_id", "score", "relevance", "verdict")
        )
        if corpus is None:
            return both
        texts = corpus_frame(corpus).lazy().join(both.lazy(), on="doc_id", how="semi")
        return both.join(collect(texts), on="doc_id", how="left", maintain_order="left")

    def _ranked_list(self, query_id: str, system: str | None) -> pl.DataFrame:
        rows = collect(self.run.lazy().filter(pl.col("query_id") == query_id))
        if self._system:
            names = self.counts["system"].to_list()
            if system not in names:
                raise OptionError(f"system={system!r}: the run has the systems {names}")
            rows = rows.filter(pl.col("system") == system)
        rule = TieRule.of(self.contract.ties, rows.columns)
        ranked = (
            rows.with_columns(pl.col("score").cast(self.contract.score_dtype))
            .drop("rank" if rule.column != "rank" else [], strict=False)
            .with_row_index("row")
            .with_columns(place=rank_in_list(rule, ["query_id"]))
            .sort("place")
            .select("doc_id", "score", rank="place")
        )
        if self.contract.depth is not None:
            ranked = ranked.filter(pl.col("rank") <= self.contract.depth)
        if not self.contract.judged_only:
            return ranked
        judged = self.qrels.qrels.filter(pl.col("query_id") == query_id, pl.col("relevance") >= 0)
        kept = ranked.join(judged, on="doc_id", how="semi", maintain_order="left")
        return kept.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32))

    @property
    def _system(self) -> list[str]:
        return ["system"] if "system" in self.per_query.columns else []

    def _asked(self, metric: str) -> Asked:
        found = [asked for asked in self.scored.asked if asked.name == metric]
        if not found:
            raise MetricError(
                f"the report has no metric {metric!r}{did_you_mean(metric, self.how)}; "
                f"it has {', '.join(self.how)}"
            )
        return found[0]

    def table(self) -> pl.DataFrame:
        """The means as they are printed: a row for each metric, or for each system."""
        if not self._system:
            plain = all(how == "mean" for how in self.how.values())
            return self.summary.select("metric", "value", *([] if plain else ["how"]))
        wide = self.summary.pivot("metric", index="system", values="value", maintain_order=True)
        return wide.sort("system")

    def __repr__(self) -> str:
        """The means and the counts as a small table."""
        return "\n".join([text_table(self.table()), *self._footnotes()])

    def _repr_html_(self) -> str:
        return html_table(self.table(), self._footnotes())

    def _footnotes(self) -> list[str]:
        lines = [
            (f"{row['system']}: " if self._system else "")
            + ", ".join(
                f"{name.replace('_', ' ')} {value:.3f}"
                if isinstance(value, float)
                else f"{name.replace('_', ' ')} {value}"
                for name, value in row.items()
                if name != "system"
            )
            for row in self.counts.to_dicts()
        ]
        settings = ", ".join(f"{k}={v}" for k, v in self.contract.to_dict().items())
        return [*lines, settings]


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
    prepared = prepare(qrels)
    read = run_or_plan(run, duplicates=duplicates, ranks=ties == "given")
    if prepared is not qrels:
        refuse_swapped(prepared, read)
    return Report(score(prepared, read, asked, contract, progress), contract, prepared, read)


def _summarised(values: pl.Expr, how: str) -> pl.Expr:
    if how == "geometric_mean":
        return values.log().mean().exp()
    return values.sum() if how == "sum" else values.mean()


def _grouped(frame: pl.DataFrame, keys: list[str]) -> GroupBy:
    return frame.group_by(keys or pl.lit(0).alias("all"), maintain_order=True)
