"""What scoring gives: the values of every query, and how many queries there were."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from evalframe.scoring.asked import JUDGED, POSITIVE, Asked, largest_cutoff
from evalframe.scoring.contract import Queries

__all__ = ["Scored", "counted"]


@dataclass(frozen=True, eq=False)
class Scored:
    """The values of every query, and how many queries there were.

    `judged_later` looks up how much of each list was judged, where `values` does not say it.
    """

    values: pl.DataFrame
    groups: pl.DataFrame
    asked: list[Asked]
    queries: Queries
    judged_later: Callable[[], pl.Series] | None = None

    @functools.cached_property
    def per_query(self) -> pl.DataFrame:
        """The queries that count: `system` (if any), `query_id`, and a column for each metric."""
        names = [metric.name for metric in self.asked]
        every = self.queries == "judged"
        values = self.values if every else self.values.filter(counted(self.queries))
        return values[[*self._keys, *names]]

    @functools.cached_property
    def counts(self) -> pl.DataFrame:
        """How many queries there were of each sort, one row for each system.

        `queries_in_qrels`, `queries_in_run`, `scored`, `missing` (in the qrels, not in the run),
        `extra` (in the run, not in the qrels), `without_positive`, and the mean of `judged@k` over
        the scored queries, for the largest cut-off asked for.
        """
        system = self._keys[:-1]
        by = system or ["all"]
        one = [] if system else [pl.lit(0).alias("all")]
        shares = [self.judged_later()] if self.judged_later else []
        values = self.values.with_columns(*one, *shares)
        groups = self.groups.with_columns(one)
        k = largest_cutoff(self.asked)
        of_qrels = values.group_by(by, maintain_order=True).agg(
            queries_in_qrels=pl.len(),
            missing=(pl.col("n_retrieved") == 0).sum(),
            without_positive=(~pl.col(POSITIVE)).sum(),
        )
        of_run = groups.group_by(by).agg(queries_in_run=pl.len())
        of_scored = (
            values.filter(counted(self.queries))
            .group_by(by, maintain_order=True)
            .agg(pl.len().alias("scored"), pl.col(JUDGED).mean())
        )
        found = pl.col("queries_in_qrels") - pl.col("missing")
        return (
            of_qrels.join(of_run, on=by, how="left", maintain_order="left")
            .join(of_scored, on=by, how="left", maintain_order="left")
            .select(
                *system,
                "queries_in_qrels",
                "queries_in_run",
                pl.col("scored").fill_null(0),
                "missing",
                (pl.col("queries_in_run") - found).alias("extra"),
                "without_positive",
                pl.col(JUDGED).alias("judged" if k is None else f"judged@{k}"),
            )
        )

    @property
    def _keys(self) -> list[str]:
        return [key for key in ("system", "query_id") if key in self.values.columns]


def counted(queries: Queries) -> pl.Expr:
    """Whether a query is one of those whose values are averaged."""
    offered = {
        "judged": pl.lit(True),
        "positive": pl.col(POSITIVE),
        "both": pl.col("n_retrieved") > 0,
    }
    return offered[queries]
