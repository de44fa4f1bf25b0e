"""What `evaluate_rag` returns: means beside what they are means of."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypedDict, overload

import polars as pl

from evalframe.errors import ColumnError, MetricError, did_you_mean, whole_number
from evalframe.metrics.rag_reasons import OK, is_undelivered
from evalframe.page import write_document
from evalframe.samples.as_page import page_of
from evalframe.samples.groups import SUMMARY_SCHEMA, summary_by
from evalframe.tables import (
    ROWS_SHOWN,
    cells_of,
    counted,
    latex_table,
    markdown_table,
    more_rows,
    notebook_table,
)
from evalframe.text import Profile

__all__ = ["RagReport", "report_of"]


class RagDict(TypedDict):
    """A report as plain values."""

    metrics: dict[str, float | None]
    mean_zero_filled: dict[str, float]
    mean_delivered: dict[str, float | None]
    coverage: dict[str, int]
    reasons: dict[str, dict[str, int]]
    n_samples: int
    profile: Profile


@dataclass(frozen=True, repr=False)
class RagReport:
    """Means of RAG metrics over samples, and how many samples stand behind each.

    Attributes
    ----------
    metrics
        Metric → mean over the samples that it applied to; None where it applied to none.
    coverage
        Metric → how many samples that was.
    n_samples
        How many samples there were.
    mean_zero_filled
        Metric → mean over all samples, those without a value counted as 0.
    mean_delivered
        Metric → mean over the scored samples for which the evaluated system delivered something:
        those with a response (or contexts, or ids) that is not null. Where something is missing,
        `metrics` counts it as empty, as SQuAD's first script does, and this leaves it out, as its
        second does.
    reasons
        Metric → reason → how many samples. It holds both the samples without a value and those
        scored with something missing (`missing_response`, `empty_contexts`, …).
    per_sample
        The frame that `per_sample` gives: one row for each sample.
    profile
        What counted as the same words.

    Examples
    --------
    >>> report = RagReport(metrics={"exact_match": 0.5}, coverage={"exact_match": 2}, n_samples=4)
    >>> report.mean_zero_filled
    {'exact_match': 0.25}
    >>> report
    RagReport: 4 samples, profile squad_v1
    metric       mean    rest as 0  if delivered  scored  reasons
    exact_match  0.5000  0.2500     0.5000        2/4
    """

    metrics: dict[str, float | None]
    coverage: dict[str, int]
    n_samples: int
    mean_zero_filled: dict[str, float] = field(default_factory=dict)
    mean_delivered: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)
    per_sample: pl.DataFrame = field(default_factory=pl.DataFrame, compare=False)
    profile: Profile = "squad_v1"

    def __post_init__(self) -> None:
        """Derive the other means where only the first is given."""
        share = {m: n / self.n_samples if self.n_samples else 0.0 for m, n in self.coverage.items()}
        filled = {m: (mean or 0.0) * share.get(m, 0.0) for m, mean in self.metrics.items()}
        object.__setattr__(self, "mean_zero_filled", {**filled, **self.mean_zero_filled})
        object.__setattr__(self, "mean_delivered", {**self.metrics, **self.mean_delivered})

    @property
    def summary(self) -> pl.DataFrame:
        """One row for each metric: its means, what they are means of, and the reasons as text."""
        rows = [
            {
                "metric": metric,
                "mean": mean,
                "mean_with_rest_as_0": self.mean_zero_filled[metric],
                "mean_delivered": self.mean_delivered[metric],
                "n_scored": self.coverage.get(metric, 0),
                "n_delivered": self.coverage.get(metric, 0) - self._n_missing(metric),
                "n_total": self.n_samples,
                "reasons": _as_text(self.reasons.get(metric, {})),
            }
            for metric, mean in self.metrics.items()
        ]
        return pl.DataFrame(rows, schema=SUMMARY_SCHEMA)

    def to_dict(self) -> RagDict:
        """Everything but the samples, as JSON can hold it."""
        return {
            "metrics": self.metrics,
            "mean_zero_filled": self.mean_zero_filled,
            "mean_delivered": self.mean_delivered,
            "coverage": self.coverage,
            "reasons": self.reasons,
            "n_samples": self.n_samples,
            "profile": self.profile,
        }

    def by(self, *columns: str) -> pl.DataFrame:
        """The means for each value of some of the samples' columns, such as `system`.

        Returns
        -------
        polars.DataFrame
            The columns, sorted; then what `summary` has, of each group by itself.

        Raises
        ------
        ColumnError
            The samples have no such column, or one of the names is also one of the summary's.

        Examples
        --------
        >>> from evalframe import evaluate_rag
        >>> samples = [
        ...     {"response": "x", "reference": "x", "lang": "en"},
        ...     {"response": None, "reference": "y", "lang": "en"},
        ... ]
        >>> groups = evaluate_rag(samples, metrics="exact_match").by("lang")
        >>> groups.select("lang", "mean", "mean_delivered", "n_scored", "reasons").rows()
        [('en', 0.5, 1.0, 2, 'missing_response 1')]
        """
        unknown = [name for name in columns if name not in self.per_sample.columns]
        if unknown or not columns:
            raise ColumnError(
                f"by({', '.join(map(repr, columns))}): name columns of the samples, which are "
                + ", ".join(self.per_sample.columns)
            )
        taken = [name for name in columns if name in SUMMARY_SCHEMA]
        if taken:
            raise ColumnError(
                f"by({', '.join(map(repr, columns))}): the result has columns of its own called "
                f"{', '.join(map(repr, taken))}; rename those of the samples"
            )
        return summary_by(self.per_sample, list(dict.fromkeys(columns)), list(self.metrics))

    def worst(self, metric: str, n: int = 10) -> pl.DataFrame:
        """The samples on which a metric is lowest, with every column they have.

        Parameters
        ----------
        metric
            A metric of this report. Samples without a value are passed over.
        n
            How many rows.

        Examples
        --------
        >>> from evalframe import evaluate_rag
        >>> samples = [
        ...     {"response": "x", "reference": "x"},
        ...     {"response": "no", "reference": "y"},
        ... ]
        >>> report = evaluate_rag(samples, metrics="token_f1")
        >>> report.worst("token_f1", n=1).select("query_id", "response", "token_f1").row(0)
        ('1', 'no', 0.0)
        """
        if metric not in self.metrics:
            raise MetricError(
                f"the report has no metric {metric!r}{did_you_mean(metric, self.metrics)}; "
                f"it has {', '.join(self.metrics)}"
            )
        keys = [name for name in ("system", "query_id") if name in self.per_sample.columns]
        scored = self.per_sample.filter(pl.col(metric).is_not_null())
        return scored.sort(metric, *keys, maintain_order=True).head(whole_number("n", n))

    def table(self) -> pl.DataFrame:
        """The means as they are printed: a row for each metric."""
        return self.summary.select(
            "metric",
            "mean",
            pl.col("mean_with_rest_as_0").alias("rest as 0"),
            pl.col("mean_delivered").alias("if delivered"),
            pl.format("{}/{}", "n_scored", "n_total").alias("scored"),
            "reasons",
        )

    def to_markdown(self, *, rows: int | None = ROWS_SHOWN) -> str:
        """The means as a Markdown table; further rows are counted."""
        return f"{markdown_table(self.table(), rows)}\n\n{self._note()}"

    def to_latex(self, *, rows: int | None = ROWS_SHOWN) -> str:
        r"""The means as a LaTeX `tabular` (`\usepackage{booktabs}`), the rest as comments."""
        return latex_table(self.table(), [self._note()], rows)

    @overload
    def to_html(self, path: None = ..., *, worst: int = ..., title: str = ...) -> str: ...
    @overload
    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        worst: int = ...,
        title: str = ...,
        overwrite: bool = ...,
    ) -> None: ...
    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        worst: int = 10,
        title: str = "RAG evaluation",
        overwrite: bool = False,
    ) -> str | None:
        """One page to hand on: means, what they are means of, charts, and the worst samples.

        It loads nothing and runs nothing, so it opens anywhere, without a network.

        Parameters
        ----------
        path
            The file; without it, the page is given back as text.
        worst
            How many samples are shown with their texts: the worst by the first metric.
        title
            What the page is called.
        overwrite
            Replace what is there.

        Raises
        ------
        FileExistsError
            Something is there and `overwrite` is not set.
        """
        page = page_of(self, title, whole_number("worst", worst, 0))
        if path is None:
            return page
        write_document(page, path, overwrite=overwrite)
        return None

    def _n_missing(self, metric: str) -> int:
        """How many samples were scored as empty because nothing was delivered."""
        reasons = self.reasons.get(metric, {}).items()
        return sum(n for reason, n in reasons if is_undelivered(reason))

    def _note(self) -> str:
        return f"{counted(self.n_samples, 'sample')}, profile {self.profile}"

    def __repr__(self) -> str:
        """The summary as a table of plain text."""
        table = self.table()
        rows = [table.columns, *cells_of(table, ROWS_SHOWN)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"RagReport: {self._note()}", *lines, *more_rows(table, ROWS_SHOWN)])

    def _repr_html_(self) -> str:
        return notebook_table(self.table(), [self._note()])


def report_of(scored: pl.DataFrame, metrics: list[str], profile: Profile) -> RagReport:
    """The report on a frame that `per_sample` gave."""
    # Sums over sorted values do not depend on the order of the samples, to the last bit.
    values = {metric: scored[metric].drop_nulls().sort() for metric in metrics}
    delivered = {metric: _delivered(scored, metric) for metric in metrics}
    return RagReport(
        metrics={m: _mean(column, column.len()) for m, column in values.items()},
        coverage={m: column.len() for m, column in values.items()},
        n_samples=scored.height,
        mean_zero_filled={m: _mean(c, scored.height) or 0.0 for m, c in values.items()},
        mean_delivered={m: _mean(c, c.len()) for m, c in delivered.items()},
        reasons={m: _reasons(scored["status"].struct.field(m)) for m in metrics},
        per_sample=scored,
        profile=profile,
    )


def _delivered(scored: pl.DataFrame, metric: str) -> pl.Series:
    status = scored["status"].struct.field(metric)
    undelivered = [reason for reason in status.unique() if is_undelivered(reason)]
    return scored[metric].filter(~status.is_in(undelivered)).drop_nulls().sort()


def _mean(values: pl.Series, n: int) -> float | None:
    return float(values.sum()) / n if n else None


def _reasons(status: pl.Series) -> dict[str, int]:
    counts = status.value_counts(name="n").sort("n", status.name, descending=[True, False])
    return {reason: n for reason, n in counts.iter_rows() if reason != OK}


def _as_text(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in reasons.items())
