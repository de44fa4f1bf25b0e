"""What an evaluation found: the values, what they sum up to, and what was counted."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import polars as pl
from polars.dataframe.group_by import GroupBy

from evalframe.errors import MetricError, OptionError, did_you_mean
from evalframe.ranking.prepared import PreparedQrels
from evalframe.report.spread import moments, with_t_intervals
from evalframe.scoring import Asked, Contract, Scored

__all__ = ["Evaluated"]


@dataclass(frozen=True, repr=False, eq=False)
class Evaluated:
    """The numbers of a report; see `evalframe.Report`."""

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

    @property
    def systems(self) -> list[str]:
        """The systems by name; none where the run has no column `system`."""
        return self.counts["system"].to_list() if self._system else []

    @functools.cached_property
    def how(self) -> dict[str, str]:
        """Each metric's name, and how its values become one: mean, sum or geometric_mean."""
        return {metric.name: metric.how for metric in self.scored.asked}

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """A row for each metric (of each system), with the spread of its values."""
        system = self._system
        values = {name: pl.col(name).cast(pl.Float64) for name in self.how}
        frames = [
            _grouped(self.per_query, system).agg(
                pl.lit(name).alias("metric"),
                _summarised(value, self.how[name]).alias("value"),
                pl.lit(self.how[name]).alias("how"),
                value.count().alias("queries"),
                value.min().alias("min"),
                value.median().alias("median"),
                value.max().alias("max"),
                (value == 0).sum().alias("zeros"),
            )
            for name, value in values.items()
        ]
        return pl.concat(frames).select(
            *system, "metric", "value", "how", "queries", "min", "median", "max", "zeros"
        )

    @functools.cached_property
    def intervals(self) -> pl.DataFrame:
        """The arithmetic mean of each metric (of each system), and its 95% t interval.

        `metric`, `n`, `mean`, `low`, `high` (null below two queries), `interval` and `confidence`.
        An interval may reach beyond what the metric can be; `evalframe.statistics` has others.
        """
        # Grouped as in `summary`, since a mean's last bit hangs on it.
        found = pl.concat(
            _grouped(self.per_query, self._system).agg(pl.lit(name).alias("metric"), *moments(name))
            for name in self.how
        )
        return with_t_intervals(found, [*self._system, "metric"])

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

    def table(self) -> pl.DataFrame:
        """The means as they are printed: a row for each metric, or for each system."""
        if not self._system:
            plain = all(how == "mean" for how in self.how.values())
            return self.summary.select("metric", "value", *([] if plain else ["how"]))
        wide = self.summary.pivot("metric", index="system", values="value", maintain_order=True)
        return wide.sort("system")

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


def _summarised(values: pl.Expr, how: str) -> pl.Expr:
    if how == "geometric_mean":
        return values.log().mean().exp()
    return values.sum() if how == "sum" else values.mean()


def _grouped(frame: pl.DataFrame, keys: list[str]) -> GroupBy:
    return frame.group_by(keys or pl.lit(0).alias("all"), maintain_order=True)
