"""`evalframe fuse`: several runs as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalframe.cli.arguments import (
    DuplicateRule,
    Duplicates,
    Overwrite,
    Rel,
    Runs,
    TieOrder,
    Ties,
)
from evalframe.cli.completing import method_names, norms
from evalframe.cli.program import command
from evalframe.cli.runs import names_of
from evalframe.cli.tables import FORMATS, write_to
from evalframe.errors import OptionError
from evalframe.fusion import METHODS
from evalframe.fusion import fuse as fuse_runs
from evalframe.inputs import run_frame

__all__ = ["fuse"]

EXAMPLE = """
evalframe fuse bm25.trec dense.trec -o fused.trec --method rrf -p k=60
evalframe fuse bm25.trec dense.trec --method wsum --weight bm25=0.3 --weight dense=0.7 \\
  | evalframe evaluate qrels.trec -
"""


@command(EXAMPLE)
def fuse(
    runs: Runs,
    method: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(METHODS)}.", autocompletion=method_names),
    ] = "rrf",
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME=VALUE",
            help="A parameter of the method, e.g. k=60; may be given again.",
        ),
    ] = None,
    norm: Annotated[
        str,
        typer.Option(help="How scores are made comparable first; or none.", autocompletion=norms),
    ] = "min_max",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN=VALUE",
            help="The weight of a run, by its file's name without suffix; may be given again.",
        ),
    ] = None,
    train_qrels: Annotated[
        Path | None,
        typer.Option(help="Judgements that trained methods learn from."),
    ] = None,
    rel: Rel = None,
    ties: Ties = TieOrder.trec,
    depth: Annotated[int | None, typer.Option(help="Documents of each query to give.")] = None,
    duplicates: Duplicates = DuplicateRule.error,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The fused run; without it, TREC on standard output."),
    ] = Path("-"),
    to: Annotated[
        str | None,
        typer.Option(
            help=f"The format, whatever the suffix: {', '.join(FORMATS)}.",
            autocompletion=lambda: [*FORMATS],
        ),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(help="The last word of TREC lines (default: the method).")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Fuse several runs into one run."""
    fused = fuse_runs(
        run_frame(runs[0]) if len(runs) == 1 else dict(zip(names_of(runs), runs, strict=True)),
        method,
        norm=None if norm == "none" else norm,
        weights=_pairs(weight, "--weight bm25=0.3") or None,
        train_qrels=train_qrels,
        rel=rel,
        ties=ties.value,
        depth=depth,
        duplicates=duplicates.value,
        **_pairs(parameter, "-p k=60"),
    )
    form = "trec" if to is None and str(output) == "-" else to
    write_to(fused, output, "run", form, overwrite=overwrite, tag=tag or method)


def _pairs(given: list[str] | None, example: str) -> dict[str, Any]:
    """`name=value` words, with numbers as numbers."""
    found = {}
    for word in given or ():
        name, equals, value = word.rpartition("=")
        if not equals or not name or not value:
            raise OptionError(f"{word!r}: write it like {example}")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
