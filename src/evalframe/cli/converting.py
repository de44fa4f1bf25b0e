"""`evalframe convert`: from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from evalframe.cli.arguments import DuplicateRule, Duplicates, Overwrite, Subtopics
from evalframe.cli.kinds import kind_of, read_kind_name
from evalframe.cli.program import command
from evalframe.cli.tables import FORMATS, write_to
from evalframe.columns import KINDS, Kind
from evalframe.errors import OptionError
from evalframe.inputs import LARGE
from evalframe.io.reading import read_kind, scan_kind

__all__ = ["convert"]

EXAMPLE = """
evalframe convert bm25.trec bm25.parquet
zcat bm25.trec.gz | evalframe convert - - --to jsonl > bm25.jsonl
evalframe convert mine.csv qrels.trec --kind qrels --column query_id=q --column doc_id=d
"""


@command(EXAMPLE)
def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="A file in any format."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Its suffix says the format.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help=f"What it holds: {', '.join(KINDS)}. Guessed where the columns tell.",
            autocompletion=lambda: [*KINDS],
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"The format, whatever the suffix: {', '.join(FORMATS)}.",
            autocompletion=lambda: [*FORMATS],
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=THEIRS",
            help="The file's own name of a column, e.g. doc_id=url; may be given again.",
        ),
    ] = None,
    duplicates: Duplicates = DuplicateRule.error,
    subtopics: Subtopics = False,
    system: Annotated[
        bool, typer.Option("--system", help="Make the tag of TREC lines a system column.")
    ] = False,
    tag: Annotated[
        str, typer.Option(help="The last word of TREC lines that have no system.")
    ] = "evalframe",
    overwrite: Overwrite = False,
) -> None:
    """Convert qrels, a run, queries, a corpus or RAG samples from one format to another."""
    what = kind_of(source) if kind is None else read_kind_name(kind)
    frame = _frame(source, out, what, _names(column), duplicates, subtopics, system)
    write_to(frame, out, what, to, overwrite=overwrite, tag=tag)


def _frame(
    source: Path,
    out: Path,
    kind: Kind,
    columns: dict[str, str],
    duplicates: DuplicateRule,
    subtopics: bool,
    system: bool,
) -> pl.DataFrame | pl.LazyFrame:
    """What the file holds; as a plan where it is too large to be held, and Parquet can stream."""
    large = source.is_file() and source.stat().st_size >= LARGE
    if large and out.suffix == ".parquet" and duplicates is DuplicateRule.error:
        return scan_kind(source, kind, columns=columns, system=system, subtopics=subtopics)
    return read_kind(
        source,
        kind,
        columns=columns,
        duplicates=duplicates.value,
        system=system,
        subtopics=subtopics,
    )


def _names(given: list[str] | None) -> dict[str, str]:
    """`query_id=qid` as a dict."""
    pairs = [word.partition("=") for word in given or ()]
    wrong = ["".join(pair) for pair in pairs if not all(pair)]
    if wrong:
        raise OptionError(f"--column {wrong[0]!r}: write it like query_id=qid")
    return {name: theirs for name, _, theirs in pairs}
