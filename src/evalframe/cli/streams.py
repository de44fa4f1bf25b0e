"""Standard input as a file, and output to whoever still reads it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from evalframe.errors import EvalframeError, OptionError

__all__ = ["complain", "say", "say_bytes", "with_standard_input"]

INPUTS = ("qrels", "runs", "run", "samples", "source", "queries", "corpus", "train_qrels")
"""The arguments that are files to be read."""
LONGEST_LINE = 2_000


@contextmanager
def with_standard_input(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments with a file that holds all of standard input in the place of `-`.

    Readers look at a file's first bytes, and large ones are read more than once.

    Raises
    ------
    OptionError
        More than one file is `-`.
    """
    named = [name for name in INPUTS for path in _listed(given.get(name)) if str(path) == "-"]
    if not named:
        yield dict(given)
        return
    if len(named) > 1:
        raise OptionError("only one of the files can be standard input")
    with tempfile.TemporaryDirectory(prefix="evalframe-") as folder:
        kept = Path(folder) / "stdin"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield {name: _replaced(value, kept, name in named) for name, value in given.items()}
        except EvalframeError as error:
            error.args = (str(error).replace(str(kept), "standard input"),)
            raise


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _replaced(value: Any, kept: Path, is_named: bool) -> Any:
    if not is_named:
        return value
    if isinstance(value, list | tuple):
        return [kept if str(path) == "-" else path for path in value]
    return kept


def say(text: str) -> None:
    """Print to standard output; that its reader has gone (`| head`) is no mistake."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        _to_nobody()


def say_bytes(path: Path) -> None:
    """Print a file as it is."""
    out = sys.stdout.buffer
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)
        out.flush()
    except BrokenPipeError:
        _to_nobody()


def complain(message: str) -> None:
    """Say something in one line on standard error; rows may hold long texts."""
    line = " ".join(message.split())
    line = line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …"
    typer.echo(f"evalframe: {line}", err=True)


def _to_nobody() -> None:
    """Let what is still to be printed go nowhere, so that no later flush fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
