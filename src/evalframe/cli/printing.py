"""Results as text: a table to read, or JSON, CSV and Markdown for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from evalframe.cli.arguments import Format
from evalframe.comparing import Comparison
from evalframe.report import Report
from evalframe.samples import RagReport
from evalframe.tables import markdown_table, text_table

__all__ = ["AnyReport", "as_json", "printed", "printed_report", "rows_of"]

AnyReport = Report | RagReport | Comparison


def printed(output: Format, frame: pl.DataFrame) -> str:
    """A small frame in one of the formats; lists are words with semicolons where cells are flat."""
    ways: dict[Format, Callable[[pl.DataFrame], str]] = {
        Format.table: lambda table: text_table(flat(table)),
        Format.markdown: lambda table: markdown_table(flat(table)),
        Format.csv: lambda table: flat(table).write_csv().rstrip("\n"),
        Format.json: lambda table: as_json(table.to_dicts()),
    }
    return ways[output](frame)


def printed_report(output: Format, report: AnyReport) -> str:
    """A report in one of the formats: CSV is its rows, JSON all but the single values."""
    if output is Format.table:
        return repr(report)
    if output is Format.json:
        return as_json(facts_of(report))
    if output is Format.markdown:
        return report.to_markdown() if isinstance(report, Comparison) else _markdown(report)
    return printed(output, rows_of(report))


def rows_of(report: AnyReport) -> pl.DataFrame:
    """A report's rows: each metric's mean and spread, or each pair's difference."""
    return report.pairs.drop("dropped") if isinstance(report, Comparison) else report.summary


def facts_of(report: AnyReport) -> Any:
    """A report as JSON can hold it."""
    if isinstance(report, Comparison):
        return rows_of(report).to_dicts()
    if isinstance(report, RagReport):
        return report.to_dict()
    return {
        "summary": report.summary.to_dicts(),
        "counts": report.counts.to_dicts(),
        "contract": report.contract.to_dict(),
    }


def _markdown(report: Report | RagReport) -> str:
    return markdown_table(report.table() if isinstance(report, Report) else report.summary)


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as text, and a struct's fields as columns, for formats that have neither."""
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Struct):
            fields = [f"{name}_{field.name}" for field in dtype.fields]
            frame = frame.with_columns(pl.col(name).struct.rename_fields(fields)).unnest(name)
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    return frame.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join("; "))


def as_json(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
