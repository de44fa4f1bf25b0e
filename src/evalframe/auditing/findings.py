"""A finding: how bad, what, where, how often, the first examples, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

import polars as pl

__all__ = [
    "FINDINGS",
    "SEVERITIES",
    "SHOWN",
    "Finding",
    "Severity",
    "examples_of",
    "named",
    "table_of",
]

Severity = Literal["error", "warning", "info"]
"""`error`: no evaluation can use it, or its values would mean nothing. `warning`: values would
mean something else than they seem to. `info`: good to know."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

SHOWN = 5
"""Examples of each finding."""

FINDINGS = pl.Schema(
    {
        "severity": pl.String(),
        "kind": pl.String(),
        "where": pl.String(),
        "count": pl.Int64(),
        "what": pl.String(),
        "examples": pl.List(pl.String()),
        "what_to_do": pl.String(),
    }
)
"""The columns of a frame of findings."""


@dataclass(frozen=True)
class Finding:
    """One row of what `audit` gives."""

    severity: Severity
    kind: str
    where: str
    count: int
    what: str
    examples: Sequence[str]
    what_to_do: str


def table_of(findings: Iterable[Finding]) -> pl.DataFrame:
    """Findings as a frame: errors first, otherwise in their order."""
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return pl.DataFrame([astuple(finding) for finding in ordered], FINDINGS, orient="row")


def examples_of(rows: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The first rows by their order as text: the value itself, or `name=value` of several."""
    found = rows.select(columns).bottom_k(SHOWN, by=columns).sort(*columns, nulls_last=True)
    if len(columns) == 1:
        return [str(value) for value in found.to_series()]
    return [named(row) for row in found.iter_rows(named=True)]


def named(row: dict[str, Any]) -> str:
    """A row as `name=value, …`."""
    return ", ".join(f"{name}={value!r}" for name, value in row.items())
