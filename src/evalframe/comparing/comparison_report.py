"""What a comparison found: frames, and a table with marks where a difference is significant."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalframe.comparing.pairing import Aligned
from evalframe.comparing.summaries import note_of_arithmetic_means
from evalframe.errors import MetricError, OptionError, did_you_mean
from evalframe.statistics import Procedure
from evalframe.statistics.closed_tests import OF_PAIRS
from evalframe.statistics.power import minimum_detectable_difference, queries_needed
from evalframe.tables import html_table, latex_table, text_table

__all__ = ["Comparison"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
OVER = {
    "all": "over all pairs and metrics",
    "metric": "over the pairs of each metric",
    "pair": "over the metrics of each pair",
}


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
    contract: Any = None
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
            means = self._means(metric)
            if not means:
                continue
            sign = -1 if metric in self.lower_is_better else 1
            system = max(means, key=lambda name: sign * means[name])
            beaten = self._beaten(system, metric)
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
        for system in (a, b):
            if system not in self.systems:
                raise OptionError(f"no system {system!r}{did_you_mean(system, self.systems)}")
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

    def table(self) -> pl.DataFrame:
        """The means as they are printed: a row for each system, a column for each metric.

        Behind a mean stand the letters of the systems that it is significantly better than; with
        one baseline, ▲ or ▼ says that it is significantly better or worse than the baseline.
        """
        return self._table(lambda mean, marks, _: f"{mean} {marks}".rstrip())

    def to_markdown(self) -> str:
        """The table in Markdown: the best means in bold, marks raised, notes below."""

        def cell(mean: str, marks: str, is_best: bool) -> str:
            shown = f"**{mean}**" if is_best else mean
            return f"{shown}<sup>{marks}</sup>" if marks else shown

        frame = self._table(cell)
        head, *rows = [list(frame.columns), *(list(map(str, row)) for row in frame.rows())]
        escaped = [[text.replace("|", "\\|") for text in row] for row in (head, *rows)]
        rule = ["---", *(["--:"] * (frame.width - 1))]
        lines = [f"| {' | '.join(row)} |" for row in (escaped[0], rule, *escaped[1:])]
        return "\n".join([*lines, "", *(f"{note}  " for note in self._notes())])

    def to_latex(self) -> str:
        r"""The table as a LaTeX `tabular` with booktabs rules: the best means in bold.

        The notes follow as a comment. `\usepackage{booktabs}` is needed.
        """
        marks_of = {"▲": r"\blacktriangle", "▼": r"\blacktriangledown"}

        def cell(mean: str, marks: str, is_best: bool) -> str:
            shown = rf"\textbf{{{mean}}}" if is_best else mean
            raised = marks_of.get(marks, rf"\mathrm{{{marks}}}")
            return f"{shown}$^{{{raised}}}$" if marks else shown

        return latex_table(self._table(cell), self._notes())

    def __repr__(self) -> str:
        """The table with marks, and how it came about."""
        return "\n".join([text_table(self.table()), *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(self.table(), self._notes())

    def _table(self, cell: Any) -> pl.DataFrame:
        best = dict(self.best.select("metric", "mean").rows())
        letters = self._letters()
        columns: dict[str, list[str]] = {
            "system": [
                _in_one_line(name) + (f" ({letters[name]})" if name in letters else "")
                for name in self.systems
            ]
        }
        for metric in self.metrics:
            means = self._means(metric)
            columns[metric if metric != "system" else "system "] = [
                cell(f"{means[s]:.4f}", self._marks(s, metric), means[s] == best[metric])
                if s in means
                else "-"
                for s in self.systems
            ]
        return pl.DataFrame(columns)

    def _letters(self) -> dict[str, str]:
        """A letter for each system that others are marked as better than; aa follows z."""
        named = self.baselines or self.systems
        if len(self.baselines) == 1 or len(self.systems) < 2:
            return {}
        return {
            name: (LETTERS[i // 26 - 1] if i >= 26 else "") + LETTERS[i % 26]
            for i, name in enumerate(named)
        }

    def _marks(self, system: str, metric: str) -> str:
        beaten = self._beaten(system, metric)
        if len(self.baselines) == 1:
            (baseline,) = self.baselines
            if baseline in beaten:
                return "▲"
            return "▼" if system in self._beaten(baseline, metric) else ""
        letters = self._letters()
        marks = [letters[name] for name in beaten if name in letters]
        return (" " if any(len(mark) > 1 for mark in marks) else "").join(marks)

    @functools.cached_property
    def _means_of_metrics(self) -> dict[str, dict[str, float]]:
        rows = self.summary.select("metric", "system", "mean").rows()
        return {
            metric: {s: mean for m, s, mean in rows if m == metric and mean is not None}
            for metric in self.metrics
        }

    def _means(self, metric: str) -> dict[str, float]:
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

    def _beaten(self, system: str, metric: str) -> list[str]:
        beaten = self._wins.get((system, metric), [])
        return [name for name in self.systems if name in beaten]

    def _tested_against(self, system: str, metric: str) -> list[str]:
        rows = self.pairs.filter((pl.col("metric") == metric) & pl.col("p").is_not_null())
        others = {b if a == system else a for a, b in rows.select("a", "b").rows()
                  if system in (a, b)}  # fmt: skip
        return [name for name in self.systems if name in others]

    def _notes(self) -> list[str]:
        notes = []
        if len(self.systems) > 1:
            marks = (
                f"▲ ▼: significantly better or worse than {_in_one_line(self.baselines[0])}"
                if len(self.baselines) == 1
                else "a letter: significantly better than the system of that letter"
            )
            notes = [f"{marks}, p < {self.procedure.alpha}", self._how(), self._paired()]
        notes += note_of_arithmetic_means(self.metrics)
        if self.contract is not None:
            notes.append(", ".join(f"{k}={v}" for k, v in self.contract.to_dict().items()))
        return notes

    def _how(self) -> str:
        """The test, the correction and the draws."""
        done = self.procedure
        tests = ", ".join(self.pairs["test"].drop_nulls().unique().sort().to_list())
        if done.test not in OF_PAIRS:
            corrected = "allows for all pairs of each metric"
        elif done.correction == "none":
            corrected = "no correction"
        else:
            corrected = f"{done.correction} correction {OVER[done.family]}"
        drawn = self.pairs["test_resamples"].drop_nulls().len() > 0
        draws = f", {done.resamples} resamples, seed {done.seed}" if drawn else ""
        return f"{tests}{draws}; {corrected}"

    def _paired(self) -> str:
        """How many queries were paired, and who was dropped."""
        counts = self.pairs["n"].unique().sort().to_list()
        n = f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")
        named = self.pairs["dropped"].explode().drop_nulls().unique().sort().to_list()
        if not named:
            return f"{n} paired queries"
        listed = ", ".join(named[:5]) + (", …" if len(named) > 5 else "")
        return f"{n} paired queries; dropped, as only one of a pair has a value: {listed}"

    def require(self, metric: str) -> None:
        """Refuse a metric that was not compared."""
        if metric not in self.metrics:
            raise MetricError(
                f"the comparison has no metric {metric!r}{did_you_mean(metric, self.metrics)}; "
                f"it has {', '.join(self.metrics)}"
            )


def _in_one_line(name: str) -> str:
    """A name as a table can show it."""
    return name.replace("\r", "\\r").replace("\n", "\\n")
