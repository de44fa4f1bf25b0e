"""`evalframe audit`: what is wrong before anything is scored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from evalframe.auditing import audit as audit_frames
from evalframe.auditing.auditor import CUTOFFS
from evalframe.cli.arguments import Corpus, Format, Html, Overwrite, Printed, Qrels, Queries
from evalframe.cli.printing import printed
from evalframe.cli.program import command
from evalframe.cli.runs import names_of
from evalframe.cli.saving import refuse_unknown_suffix, save_rows
from evalframe.cli.streams import say
from evalframe.page import write_table

__all__ = ["audit"]

SEVERITY_CODES = {"info": 0, "warning": 1, "error": 3}
"""The exit code of the worst finding; 2 is for input that cannot be used."""

EXAMPLE = "evalframe audit qrels.trec bm25.trec --corpus corpus.jsonl"


@command(EXAMPLE)
def audit(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run.")],
    queries: Queries = None,
    corpus: Corpus = None,
    cutoff: Annotated[
        list[int] | None,
        typer.Option("--cutoff", "-k", help="Where ties are looked at; may be given again."),
    ] = None,
    html: Html = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the findings here too: .parquet, .csv, .tsv or .jsonl."
        ),
    ] = None,
    overwrite: Overwrite = False,
    form: Printed = Format.table,
) -> None:
    """Report what is wrong or odd with judgements and a run, before they are evaluated.

    Exit code 0: nothing was found, or things that are good to know only (info). 1: warnings, and
    no errors. 2: the call or a file cannot be used, so that nothing was looked at. 3: errors.
    """
    refuse_unknown_suffix(output, None, html)
    found = audit_frames(qrels, run, queries, corpus, cutoffs=cutoff or CUTOFFS)
    if output is not None:
        save_rows(found, output, overwrite=overwrite)
    if html is not None:
        title = f"Audit of {names_of([run])[0]} against {names_of([qrels])[0]}"
        write_table(found, html, title=title, rows=None, overwrite=overwrite)
    say(_findings(found, form))
    raise typer.Exit(max((SEVERITY_CODES[one] for one in found["severity"]), default=0))


def _findings(found: pl.DataFrame, form: Format) -> str:
    """Findings as they are printed: a paragraph for each, or a table."""
    if form is Format.table:
        return "\n\n".join(map(_paragraph, found.to_dicts())) or "nothing was found"
    return printed(form, found)


def _paragraph(row: dict[str, Any]) -> str:
    lines = [f"{row['severity']}: {row['what']}  [{row['kind']}: {row['where']}]"]
    lines += [f"  such as  {one}" for one in row["examples"]]
    return "\n".join([*lines, f"  {row['what_to_do']}"])
