"""The program around the commands: its name, its version, and how it reports a mistake."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, NoReturn, ParamSpec

import polars as pl
import typer

from evalframe import __version__
from evalframe.cli.streams import complain, with_standard_input
from evalframe.errors import EvalframeError
from evalframe.io.lines import first_line

__all__ = ["app", "command", "main", "refuse"]

Arguments = ParamSpec("Arguments")

EXIT_CODES = """\b
Exit codes:
  0  done
  1  a value is below --min, above --max, or dropped by more than --max-drop;
     audit: warnings
  2  the call or its input cannot be used
  3  audit: errors

A file may be '-', which is standard input or standard output.
"""

IN_SHELL_WORDS = {
    "overwrite=True": "--overwrite",
    "read_qrels(…, subtopics=True)": "--subtopics",
    "duplicates='best'": "--duplicates best",
    'duplicates="best"': "--duplicates best",
    "evalframe.metrics.CATALOGUE lists": "evalframe metrics lists",
    "evf.prepare(qrels)": "by using them in Python: evf.prepare(qrels)",
}
"""What a message says to a caller of the functions → what it says here."""

app = typer.Typer(
    help="Evaluate retrieval and RAG in dataframes.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def command(
    example: str, name: str | None = None
) -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """Add a command, with an example below its help; its mistakes are told in one line."""

    def add(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
        lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
        epilog = f"\b\nExample:\n{lines}"
        registered: Callable[Arguments, None] = app.command(name, epilog=epilog)(
            _one_line_errors(function)
        )
        return registered

    return add


def refuse(message: str, code: int) -> NoReturn:
    """Say what is wrong on standard error, and stop with an exit code."""
    complain(message)
    raise typer.Exit(code)


def _one_line_errors(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Report a mistake in the input on standard error, and exit with 2."""

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with with_standard_input(kwargs) as given:
                function(*args, **given)  # type: ignore[arg-type]
        except pl.exceptions.PolarsError as error:
            refuse(_in_shell_words(first_line(error)), 2)
        except (EvalframeError, OSError) as error:
            refuse(_in_shell_words(str(error)), 2)

    return run


def _in_shell_words(message: str) -> str:
    """A message with the options' names in the place of the arguments'."""
    for python, shell in IN_SHELL_WORDS.items():
        message = message.replace(python, shell)
    return message


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"evalframe {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Evaluate retrieval and RAG in dataframes."""


def main() -> None:
    """Run the command line."""
    warnings.showwarning = lambda message, *_, **__: complain(str(message))  # type: ignore[assignment]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="evalframe")
