"""What `evaluate_rag` returns: means beside what they are means of."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from evalframe.metrics.rag_reasons import OK
from evalframe.text import Profile

__all__ = ["RagReport", "report_of"]

SUMMARY_SCHEMA = {
    "metric": pl.String,
    "mean": pl.Float64,
    "mean_with_rest_as_0": pl.Float64,
    "n_scored": pl.Int64,
    "n_total": pl.Int64,
    "reasons": pl.String,
}


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
    metric       mean    rest as 0  scored  reasons
    exact_match  0.5000  0.2500     2/4
    """

    metrics: dict[str, float | None]
    coverage: dict[str, int]
    n_samples: int
    mean_zero_filled: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)
    per_sample: pl.DataFrame = field(default_factory=pl.DataFrame)
    profile: Profile = "squad_v1"

    def __post_init__(self) -> None:
        """Derive the second mean where only the first is given."""
        for metric, mean in self.metrics.items():
            share = self.coverage.get(metric, 0) / self.n_samples if self.n_samples else 0.0
            self.mean_zero_filled.setdefault(metric, (mean or 0.0) * share)

    @property
    def summary(self) -> pl.DataFrame:
        """One row for each metric: both means, what they are means of, and the reasons as text."""
        rows = [
            {
                "metric": metric,
                "mean": mean,
                "mean_with_rest_as_0": self.mean_zero_filled[metric],
                "n_scored": self.coverage.get(metric, 0),
                "n_total": self.n_samples,
                "reasons": _as_text(self.reasons.get(metric, {})),
            }
            for metric, mean in self.metrics.items()
        ]
        return pl.DataFrame(rows, schema=SUMMARY_SCHEMA)

    def __repr__(self) -> str:
        """The summary as a table of plain text."""
        rows = [("metric", "mean", "rest as 0", "scored", "reasons")]
        rows += [
            (
                row["metric"],
                "-" if row["mean"] is None else f"{row['mean']:.4f}",
                f"{row['mean_with_rest_as_0']:.4f}",
                f"{row['n_scored']}/{row['n_total']}",
                row["reasons"],
            )
            for row in self.summary.to_dicts()
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"RagReport: {self.n_samples} samples, profile {self.profile}", *lines])


def report_of(scored: pl.DataFrame, metrics: list[str], profile: Profile) -> RagReport:
    """The report on a frame that `per_sample` gave."""
    # Sums over sorted values do not depend on the order of the samples, to the last bit.
    values = {metric: scored[metric].drop_nulls().sort() for metric in metrics}
    return RagReport(
        metrics={m: _mean(column, column.len()) for m, column in values.items()},
        coverage={m: column.len() for m, column in values.items()},
        n_samples=scored.height,
        mean_zero_filled={m: _mean(c, scored.height) or 0.0 for m, c in values.items()},
        reasons={m: _reasons(scored["status"].struct.field(m)) for m in metrics},
        per_sample=scored,
        profile=profile,
    )


def _mean(values: pl.Series, n: int) -> float | None:
    return float(values.sum()) / n if n else None


def _reasons(status: pl.Series) -> dict[str, int]:
    counts = status.value_counts(name="n").sort("n", status.name, descending=[True, False])
    return {reason: n for reason, n in counts.iter_rows() if reason != OK}


def _as_text(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in reasons.items())
