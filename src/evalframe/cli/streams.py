"""Standard input as a file, and output to whoever still reads it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer

from evalframe.errors import EvalframeError, OptionError

__all__ = ["complain", "say", "say_bytes", "with_standard_input"]

INPUTS = ("qrels", "runs", "run", "samples", "source", "queries", "corpus", "train_qrels")
"""The arguments that are files to be read."""
STANDARD_INPUT = Path("-")
LONGEST_LINE = 2_000


@contextmanager
def with_standard_input(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments with a file that holds all of it in the place of `-` and of each named pipe.

    Readers look at a file's first bytes, and large ones are read more than once.

    Raises
    ------
    OptionError
        More than one file is `-`.
    """
    paths = [path for name in INPUTS for path in _listed(given.get(name)) if path is not None]
    streams = [path for path in paths if _is_stream(path)]
    if not streams:
        yield dict(given)
        return
    if streams.count(STANDARD_INPUT) > 1:
        raise OptionError("only one of the files can be standard input")
    with tempfile.TemporaryDirectory(prefix="evalframe-") as folder:
        kept = {
            stream: _kept(stream, Path(folder) / str(place))
            for place, stream in enumerate(dict.fromkeys(streams))
        }
        try:
            yield {**given, **{n: _replaced(given[n], kept) for n in INPUTS if n in given}}
        except EvalframeError as error:
            error.args = (_with_names_of_streams(str(error), kept),)
            raise


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_stream(path: Path) -> bool:
    """Whether it can be read only once: standard input, or a pipe that a shell has named."""
    return path == STANDARD_INPUT or path.is_fifo()


def _kept(stream: Path, folder: Path) -> Path:
    """A file of the stream's name that holds all of it."""
    folder.mkdir()
    if stream == STANDARD_INPUT:
        return _copied(sys.stdin.buffer, folder / "stdin")
    with stream.open("rb") as opened:
        return _copied(opened, folder / stream.name)


def _copied(stream: IO[bytes], kept: Path) -> Path:
    with kept.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return kept


def _replaced(value: Any, kept: Mapping[Path, Path]) -> Any:
    if isinstance(value, list | tuple):
        return [kept.get(path, path) for path in value]
    return kept.get(value, value)


def _with_names_of_streams(message: str, kept: Mapping[Path, Path]) -> str:
    for stream, file in kept.items():
        name = "standard input" if stream == STANDARD_INPUT else str(stream)
        message = message.replace(str(file), name)
    return message


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
    line = _in_one_line(message)
    line = line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …"
    typer.echo(f"evalframe: {line}", err=True)


def _in_one_line(message: str) -> str:
    """The lines of a message joined; semicolons follow those of a list, which are indented."""
    joined = ""
    for line in filter(str.strip, message.splitlines()):
        joined += " ".join(line.split()) + ("; " if line.startswith(" ") else " ")
    return joined.rstrip().removesuffix(";")


def _to_nobody() -> None:
    """Let what is still to be printed go nowhere, so that no later flush fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
