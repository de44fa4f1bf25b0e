"""Results as files: the suffix decides the format."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evalframe.cli.arguments import Format
from evalframe.cli.printing import AnyReport, flat, printed_report, rows_of
from evalframe.errors import OptionError
from evalframe.io.json_writing import write_jsonl
from evalframe.io.parquet import write_parquet
from evalframe.io.saving import beside
from evalframe.stored import write_report

__all__ = [
    "refuse_texts_without_page",
    "refuse_unknown_suffix",
    "save_report",
    "save_rows",
    "save_text",
]

ROWS = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
REPORTS = (*ROWS, ".json", ".md", ".tex", ".html", ".txt")
PAGES = (".html", ".htm")


def refuse_unknown_suffix(rows: Path | None, report: Path | None, page: Path | None = None) -> None:
    """Refuse a name that says no format, or is given twice, before anything is worked out."""
    named = [path.resolve() for path in (rows, report, page) if path is not None]
    if len({*named}) < len(named):
        raise OptionError(f"{named[-1].name} would be written twice: give each file its own name")
    for path, offered in ((rows, ROWS), (report, REPORTS), (page, PAGES)):
        if path is not None and path.suffix.lower() not in offered:
            raise OptionError(f"cannot write {path}: name it {', '.join(offered)}")


def refuse_texts_without_page(page: Path | None, **texts: Path | None) -> None:
    """Refuse texts that nothing would show, by the option that names them."""
    for option, path in texts.items():
        if path is not None and page is None:
            raise OptionError(f"--{option} gives the texts of a page: add --html PAGE.html")


def save_rows(frame: pl.DataFrame, path: Path, *, overwrite: bool) -> None:
    """Write a frame as `.parquet`, `.csv`, `.tsv` or `.jsonl`."""
    refuse_unknown_suffix(path, None)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        write_parquet(frame, path, overwrite=overwrite)
    elif suffix in (".csv", ".tsv"):
        with beside(path, overwrite=overwrite) as part:
            flat(frame).write_csv(part, separator="," if suffix == ".csv" else "\t")
    else:
        write_jsonl(frame, path, overwrite=overwrite)


def save_report(report: AnyReport, path: Path, *, overwrite: bool) -> None:
    """Write a report: whole as `.parquet`, its rows or its text as anything else."""
    refuse_unknown_suffix(None, path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        write_report(report, path, overwrite=overwrite)
    elif suffix in ROWS:
        save_rows(rows_of(report), path, overwrite=overwrite)
    elif suffix == ".html":
        report.to_html(path, overwrite=overwrite)
    elif suffix == ".tex":
        save_text(report.to_latex(), path, overwrite=overwrite)
    else:
        output = {".json": Format.json, ".md": Format.markdown}.get(suffix, Format.table)
        save_text(printed_report(output, report), path, overwrite=overwrite)


def save_text(text: str, path: Path, *, overwrite: bool) -> None:
    """Write a text and a line end."""
    with beside(path, overwrite=overwrite) as part:
        part.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
