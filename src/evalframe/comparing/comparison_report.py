"""What a comparison found: frames, and a table with marks where a difference is significant."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from typing import Any, overload

import polars as pl

from evalframe.comparing.as_page import page_of
from evalframe.comparing.marks import marked_table, notes_of
from evalframe.comparing.pairing import Aligned, difference_of
from evalframe.comparing.printed_pairs import PAIRS_SHOWN, printed_pairs
from evalframe.errors import MetricError, OptionError, did_you_mean, whole_number
from evalframe.page import write_document
from evalframe.scoring import Contract
from evalframe.statistics import Procedure
from evalframe.statistics.power import minimum_detectable_difference, queries_needed
from evalframe.tables import (
    ROWS_SHOWN,
    latex_table,
    markdown_notes,
    markdown_text,
    more_rows,
    notebook_table,
    rows_kept,
    text_table,
)

__all__ = ["Comparison"]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Systems compared on the same queries.

    Attributes
    ----------
    summary
        A row for each system and metric: `system`, `metric`, `mean`, `low` and `high` (its
        interval; null where one query has a value), `n` (queries with a value), `sd`, and how the
        interval was made: `interval`, `confidence`, `resamples`, `seed`. Means
        are arithmetic, whatever a metric's own summary is; a note below the table names the metrics
        that `evaluate` sums up otherwise.
    pairs
        A row for each pair of systems and metric: `a`, `b`, `metric`, `mean_a`, `mean_b`,
        `difference` (a - b, over the queries that both have), `low`, `high`, `effect_size` (the
        difference in standard deviations of the differences; null where they are all the same, but
        not 0), `sd`, `wins` (queries on which a is better), `ties`, `losses`, `p`, `p_corrected`,
        `significant`, `n` (paired queries), `n_dropped` and `dropped` (queries that only one of the
        two has), and how it was done: `test`, `test_resamples`, `correction`, `family`,
        `interval`, `interval_resamples`, `confidence`, `seed`.
    procedure
        How systems were compared.
    counts
        How many queries each system had; see `evalframe.scoring.Scored`. None where values were
        compared, and not runs.
    contract
        What counted; see `evalframe.Contract`. None where values were compared.
    """

    summary: pl.DataFrame
    pairs: pl.DataFrame
    procedure: Procedure
    baselines: tuple[str, ...] = ()
    lower_is_better: frozenset[str] = frozenset()
    counts: pl.DataFrame | None = None
    contract: Contract | None = None
    aligned: Aligned = field(repr=False, kw_only=True)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order given."""
        return self.aligned.systems

    @property
    def metrics(self) -> list[str]:
        """The metrics, in the order given."""
        return self.aligned.metrics

    @functools.cached_property
    def per_query(self) -> pl.DataFrame:
        """`system`, `query_id` (the key), `metric` and `value`."""
        return self.aligned.long()

    @functools.cached_property
    def per_query_wide(self) -> pl.DataFrame:
        """`query_id` (the key), `metric`, and a column for each system."""
        return self.aligned.wide()

    @functools.cached_property
    def best(self) -> pl.DataFrame:
        """Which system has the best mean, and whether that says anything.

        Returns
        -------
        pl.DataFrame
            `metric`, `system` (the first of those with the best mean), `mean`, `better_than` (the
            systems that it is significantly better than) and `not_separated` (those that it was
            tested against without significance).
        """
        rows = []
        for metric in self.metrics:
            means = self.means(metric)
            if not means:
                continue
            sign = -1 if metric in self.lower_is_better else 1
            system = max(means, key=lambda name: sign * means[name])
            beaten = self.beaten(system, metric)
            against = self._tested_against(system, metric)
            rows.append(
                (metric, system, means[system], beaten, [s for s in against if s not in beaten])
            )
        schema = {
            "metric": pl.String(),
            "system": pl.String(),
            "mean": pl.Float64(),
            "better_than": pl.List(pl.String()),
            "not_separated": pl.List(pl.String()),
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def pair(self, a: str, b: str) -> pl.DataFrame:
        """The rows of `pairs` for two systems, a first, whichever way they were tested.

        >>> from evalframe.comparing.compare import compare_frames
        >>> import polars as pl
        >>> old = pl.DataFrame({"query_id": ["1", "2"], "f1": [0.5, 0.25]})
        >>> found = compare_frames(old, old.with_columns(f1=1.0), names=("old", "new"))
        >>> found.pair("new", "old")["difference"].to_list()
        [0.625]
        """
        self._require_systems(a, b)
        forward = self.pairs.filter((pl.col("a") == a) & (pl.col("b") == b))
        if forward.height:
            return forward
        backward = self.pairs.filter((pl.col("a") == b) & (pl.col("b") == a))
        if not backward.height:
            raise OptionError(f"{a!r} and {b!r} were not tested against each other")
        return backward.with_columns(
            a="b", b="a", mean_a="mean_b", mean_b="mean_a", wins="losses", losses="wins",
            difference=-pl.col("difference"), effect_size=-pl.col("effect_size"),
            low=-pl.col("high"), high=-pl.col("low"),
        )  # fmt: skip

    def power(self, power: float = 0.8) -> pl.DataFrame:
        """What these queries can show, and how many the differences found would need.

        Parameters
        ----------
        power
            The chance with which a true difference shall be found by a paired t-test at
            `procedure.alpha`, without a correction.

        Returns
        -------
        pl.DataFrame
            `a`, `b`, `metric`, `n`, `sd`, `difference`, `detectable` (the smallest true difference
            that so many queries find), `queries_needed` (to find a true difference as large as
            the one seen; null where it is 0), `alpha` and `power`.
        """
        alpha = self.procedure.alpha
        rows = self.pairs.select("a", "b", "metric", "n", "sd", "difference").rows(named=True)
        found = [
            row
            | {
                "detectable": minimum_detectable_difference(
                    row["sd"], row["n"], alpha=alpha, power=power
                )
                if row["n"] > 1
                else None,
                "queries_needed": queries_needed(
                    row["difference"], row["sd"], alpha=alpha, power=power
                )
                if row["n"] > 1
                else None,
            }
            for row in rows
        ]
        schema = self.pairs.select("a", "b", "metric", "n", "sd", "difference").schema
        return pl.DataFrame(
            found, schema={**schema, "detectable": pl.Float64(), "queries_needed": pl.Int64()}
        ).with_columns(alpha=pl.lit(alpha), power=pl.lit(power))

    def by_query(self, metric: str, a: str, b: str) -> pl.DataFrame:
        """Who won where: two systems' values of one metric, query by query.

        Returns
        -------
        pl.DataFrame
            The key, `value_a`, `value_b`, `difference` (a - b; 0 where they are the same but for
            rounding) and `winner` (null for a tie), of the queries of which both have a value; the
            greatest difference first, whoever won.

        Examples
        --------
        >>> from evalframe.comparing.compare import compare_frames
        >>> import polars as pl
        >>> old = pl.DataFrame({"query_id": ["1", "2"], "f1": [0.5, 0.25]})
        >>> found = compare_frames(old, old.with_columns(f1=0.5), names=("old", "new"))
        >>> found.by_query("f1", "old", "new").row(0)
        ('2', 0.25, 0.5, -0.25, 'new')
        """
        self.require(metric)
        self._require_systems(a, b)
        sides = {
            name: pl.Series(self.aligned.values[:, self.aligned.column(system, metric)])
            for name, system in (("value_a", a), ("value_b", b))
        }
        found = self.aligned.keys.with_columns(
            series.fill_nan(None).alias(name) for name, series in sides.items()
        ).drop_nulls(list(sides))
        gain = pl.col("difference") * (-1 if metric in self.lower_is_better else 1)
        largest_first = [True, *[False] * self.aligned.keys.width]
        winner = pl.when(gain > 0).then(pl.lit(a)).when(gain < 0).then(pl.lit(b))
        return (
            found.with_columns(difference=difference_of("value_a", "value_b"))
            .with_columns(winner=winner, size=pl.col("difference").abs())
            .sort("size", *self.aligned.keys.columns, descending=largest_first)
            .drop("size")
        )

    def table(self) -> pl.DataFrame:
        """The means as they are printed: a row for each system, a column for each metric.

        Behind a mean stand the letters of the systems that it is significantly better than; with
        one baseline, ▲ or ▼ says that it is significantly better or worse than the baseline.
        """
        return marked_table(self, lambda mean, marks, _: f"{mean} {marks}".rstrip())

    def to_markdown(self, *, rows: int | None = ROWS_SHOWN) -> str:
        """The table in Markdown: the best means in bold, marks raised, notes below."""

        def cell(mean: str, marks: str, is_best: bool) -> str:
            shown = f"**{mean}**" if is_best else mean
            return f"{shown}<sup>{marks}</sup>" if marks else shown

        frame = marked_table(self, cell)
        head = [markdown_text(name) for name in frame.columns]
        shown = frame.head(rows_kept(frame, rows)).iter_rows()
        body = [[markdown_text(system), *cells] for system, *cells in shown]
        rule = ["---", *(["--:"] * (frame.width - 1))]
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
        notes = markdown_notes(self.notes)
        return "\n".join([*lines, "", *(f"{more}  " for more in more_rows(frame, rows)), *notes])

    def to_latex(self, *, rows: int | None = ROWS_SHOWN) -> str:
        r"""The table as a LaTeX `tabular` with booktabs rules: the best means in bold.

        The notes follow as a comment. `\usepackage{booktabs}` is needed.
        """
        marks_of = {"▲": r"\blacktriangle", "▼": r"\blacktriangledown"}

        def cell(mean: str, marks: str, is_best: bool) -> str:
            shown = rf"\textbf{{{mean}}}" if is_best else mean
            raised = marks_of.get(marks, rf"\mathrm{{{marks}}}")
            return f"{shown}$^{{{raised}}}$" if marks else shown

        return latex_table(marked_table(self, cell), self.notes, rows, ready=True)

    @overload
    def to_html(
        self, path: None = ..., *, queries: Any = ..., worst: int = ..., title: str = ...
    ) -> str: ...
    @overload
    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        queries: Any = ...,
        worst: int = ...,
        title: str = ...,
        overwrite: bool = ...,
    ) -> None: ...
    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        queries: Any = None,
        worst: int = 10,
        title: str = "Comparison",
        overwrite: bool = False,
    ) -> str | None:
        """One page to hand on: means with marks, every pair with its test, and who won where.

        It loads nothing and runs nothing, so it opens anywhere, without a network.

        Parameters
        ----------
        path
            The file; without it, the page is given back as text.
        queries
            Where the texts of the queries are (frame, dict, path). A warning says where none is
            found.
        worst
            How many queries of each pair are named: those that differ most by the first metric.
        title
            What the page is called.
        overwrite
            Replace what is there.

        Raises
        ------
        FileExistsError
            Something is there and `overwrite` is not set.
        """
        notes = notes_of(self, width=None)
        page = page_of(self, title, notes, whole_number("worst", worst, 0), queries)
        if path is None:
            return page
        write_document(page, path, overwrite=overwrite)
        return None

    def __repr__(self) -> str:
        """The table with marks, every pair with its interval, and how they came about."""
        tables = [text_table(self.table(), ROWS_SHOWN)]
        if self.pairs.height:
            tables += ["", text_table(printed_pairs(self.pairs), PAIRS_SHOWN), ""]
        return "\n".join([*tables, *self.notes])

    def _repr_html_(self) -> str:
        return notebook_table(self.table(), self.notes)

    @functools.cached_property
    def _means_of_metrics(self) -> dict[str, dict[str, float]]:
        rows = self.summary.select("metric", "system", "mean").rows()
        return {
            metric: {s: mean for m, s, mean in rows if m == metric and mean is not None}
            for metric in self.metrics
        }

    def means(self, metric: str) -> dict[str, float]:
        """System → its mean, of those that have one."""
        return self._means_of_metrics[metric]

    @functools.cached_property
    def _wins(self) -> dict[tuple[str, str], list[str]]:
        """(system, metric) → the systems that it is significantly better than."""
        found: dict[tuple[str, str], list[str]] = {}
        rows = self.pairs.filter("significant").select("a", "b", "metric", "difference").rows()
        for a, b, metric, difference in rows:
            is_a = (difference > 0) != (metric in self.lower_is_better)
            found.setdefault((a if is_a else b, metric), []).append(b if is_a else a)
        return found

    def beaten(self, system: str, metric: str) -> list[str]:
        """The systems that one is significantly better than, in the order given."""
        beaten = self._wins.get((system, metric), [])
        return [name for name in self.systems if name in beaten]

    def _tested_against(self, system: str, metric: str) -> list[str]:
        rows = self.pairs.filter((pl.col("metric") == metric) & pl.col("p").is_not_null())
        others = {b if a == system else a for a, b in rows.select("a", "b").rows()
                  if system in (a, b)}  # fmt: skip
        return [name for name in self.systems if name in others]

    @property
    def notes(self) -> list[str]:
        """What the marks mean, how was tested and corrected, who was paired, and what counted."""
        return notes_of(self)

    def _require_systems(self, *names: str) -> None:
        for system in names:
            if system not in self.systems:
                raise OptionError(f"no system {system!r}{did_you_mean(system, self.systems)}")

    def require(self, metric: str) -> None:
        """Refuse a metric that was not compared."""
        if metric not in self.metrics:
            raise MetricError(
                f"the comparison has no metric {metric!r}{did_you_mean(metric, self.metrics)}; "
                f"it has {', '.join(self.metrics)}"
            )
