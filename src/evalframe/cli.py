"""The command line: `evalframe evaluate QRELS RUN… -m ndcg@10`, and others.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 2 the call or
its input cannot be used. `compare` has 1 for a drop, `audit` 1 for warnings and 3 for errors among
its findings.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import polars as pl
import typer

from evalframe import __version__
from evalframe.auditing import audit as audit_frames
from evalframe.auditing.auditor import CUTOFFS
from evalframe.comparing import assert_no_regression
from evalframe.comparing import compare as compare_runs
from evalframe.errors import EvalframeError, OptionError, RegressionError
from evalframe.frames import collected
from evalframe.inputs import run_frame
from evalframe.io.delimited import write_table
from evalframe.io.json import write_jsonl
from evalframe.io.parquet import write_parquet
from evalframe.metrics import CATALOGUE, Definition, parse
from evalframe.report import Report
from evalframe.report import evaluate as evaluate_run
from evalframe.scoring import DEFAULT_METRICS
from evalframe.tables import markdown_table, text_table

__all__ = ["app", "main"]

Arguments = ParamSpec("Arguments")

SEVERITY_CODES = {"info": 0, "warning": 1, "error": 3}
"""The exit code of the worst finding; 2 is for input that cannot be used."""

app = typer.Typer(
    help="Evaluate retrieval and RAG in dataframes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Counted(StrEnum):
    """Whose values are averaged."""

    judged = "judged"
    positive = "positive"
    both = "both"


class TieOrder(StrEnum):
    """What stands first among equal scores."""

    trec = "trec"
    doc_asc = "doc_asc"
    given = "given"


def one_line_errors(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Report a mistake in the input on standard error, and exit with 2."""

    @functools.wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (EvalframeError, OSError) as error:
            typer.echo(f"evalframe: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None

    return run


def print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        typer.echo(f"evalframe {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Evaluate retrieval and RAG in dataframes."""


@app.command()
@one_line_errors
def evaluate(
    qrels: Annotated[Path, typer.Argument(help="Judgements: TREC, TSV, JSON or Parquet.")],
    runs: Annotated[list[Path], typer.Argument(help="One or more runs.", metavar="RUN...")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A metric, e.g. ndcg@10; may be given again."),
    ] = None,
    rel: Annotated[
        float | None, typer.Option(help="Lowest grade that is relevant (default: above 0).")
    ] = None,
    queries: Annotated[Counted, typer.Option(help="Whose values are averaged.")] = Counted.judged,
    ties: Annotated[TieOrder, typer.Option(help="Order of equal scores.")] = TieOrder.trec,
    float32: Annotated[
        bool, typer.Option("--float32", help="Compare scores as 32-bit floats (trec_eval 9).")
    ] = False,
    judged_only: Annotated[
        bool, typer.Option("--judged-only", help="Leave out documents without a judgement.")
    ] = False,
    depth: Annotated[int | None, typer.Option(help="Documents of each query to look at.")] = None,
    per_query: Annotated[
        Path | None,
        typer.Option(help="Write each query's values here (.parquet, .csv, .tsv or .jsonl)."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file of --per-query.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", "-f")] = Format.table,
) -> None:
    """Score one or more runs against judgements."""
    report = evaluate_run(
        qrels,
        _one_frame(runs),
        [name for given in metric or DEFAULT_METRICS for name in _split(given)],
        rel=rel,
        queries=queries.value,
        ties=ties.value,
        score_dtype=pl.Float32 if float32 else pl.Float64,
        judged_only=judged_only,
        depth=depth,
    )
    if per_query is not None:
        _write(report.per_query, per_query, overwrite=overwrite)
    typer.echo(_printed(report, output))


@app.command()
@one_line_errors
def compare(
    qrels: Annotated[Path, typer.Argument(help="Judgements: TREC, TSV, JSON or Parquet.")],
    runs: Annotated[list[Path], typer.Argument(help="Two or more runs.", metavar="RUN...")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A metric, e.g. ndcg@10; may be given again."),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 where a later run's mean is lower than the first's by more."
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="With --max-drop: only where the drop is also significant."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", "-f")] = Format.table,
) -> None:
    """Compare runs with paired tests; with --max-drop, fail where one is worse than the first."""
    frame = _one_frame(runs)
    if "system" not in frame.columns:
        raise OptionError("name two runs or more to compare them")
    asked = [name for given in metric or DEFAULT_METRICS for name in _split(given)]
    found = compare_runs(qrels, frame, asked)
    typer.echo(repr(found) if output is Format.table else _as(output, found.pairs.drop("dropped")))
    if max_drop is None:
        return
    values = found.per_query.pivot("metric", index=["system", "query_id"], values="value")
    first, *others = (
        values.filter(system=name).drop("system")
        for name in frame["system"].unique(maintain_order=True)
    )
    try:
        for other in others:
            assert_no_regression(other, first, asked, max_drop=max_drop, alpha=alpha)
    except RegressionError as error:
        typer.echo(f"evalframe: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from None


@app.command()
@one_line_errors
def audit(
    qrels: Annotated[Path, typer.Argument(help="Judgements: TREC, TSV, JSON or Parquet.")],
    run: Annotated[Path, typer.Argument(help="A run.")],
    queries: Annotated[Path | None, typer.Option(help="The queries' texts.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="The documents.")] = None,
    cutoff: Annotated[
        list[int] | None,
        typer.Option("--cutoff", "-k", help="Where ties are looked at; may be given again."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", "-f")] = Format.table,
) -> None:
    """Report what is wrong or odd with judgements and a run, before they are evaluated.

    Exit code 0: nothing was found, or things that are good to know only (info). 1: warnings, and
    no errors. 2: the call or a file cannot be used, so that nothing was looked at. 3: errors.
    """
    found = audit_frames(qrels, run, queries, corpus, cutoffs=cutoff or CUTOFFS)
    typer.echo(_findings(found, output))
    raise typer.Exit(max((SEVERITY_CODES[one] for one in found["severity"]), default=0))


@app.command()
@one_line_errors
def metrics(
    name: Annotated[str | None, typer.Argument(help="A metric to explain.")] = None,
    output: Annotated[Format, typer.Option("--format", "-f")] = Format.table,
) -> None:
    """List the metrics, or explain one."""
    if name is not None:
        definition = parse(name if "@" in name else _with_example_cutoff(name)).definition
        text = inspect.getdoc(definition.function) or ""
        aliases = ", ".join((*definition.aliases, *definition.variants)) or "none"
        typer.echo(f"{definition.example}\n\n{text}\n\nOther names: {aliases}")
        return
    typer.echo(_as(output, catalogue_table()))


def catalogue_table() -> pl.DataFrame:
    """The catalogue: an example of each metric, its definition, its values and its other names."""
    rows = [
        (
            definition.example,
            definition.title,
            _values_of(definition),
            ", ".join((*definition.aliases, *definition.variants)),
        )
        for definition in CATALOGUE.values()
    ]
    return pl.DataFrame(rows, ["metric", "definition", "values", "other names"], orient="row")


def _values_of(definition: Definition) -> str:
    low, high = (f"{bound:g}" if bound is not None else "" for bound in definition.bounds)
    unit = "" if definition.unit == "ratio" else f" {definition.unit}"
    how = "" if definition.summary == "mean" else f", {definition.summary.replace('_', ' ')}"
    return f"{low}…{high}{unit}{how}"


def main() -> None:
    """Run the command line."""
    app(prog_name="evalframe")


def _with_example_cutoff(name: str) -> str:
    definition = CATALOGUE.get(name)
    return definition.example if definition is not None else name


def _split(given: str) -> list[str]:
    """`-m ndcg@10,map` names two metrics; a comma inside brackets separates parameters."""
    if re.fullmatch(r"[\w.]+[_.][\d.]+=.*", given):
        return [given]
    return [name for name in re.split(r",(?![^({]*[)}])", given) if name]


def _one_frame(paths: list[Path]) -> Any:
    """One run as it is; several with their file names as systems."""
    if len(paths) == 1:
        return run_frame(paths[0])
    names = [path.name.removesuffix(".gz").rsplit(".", 1)[0] for path in paths]
    if max(Counter(names).values()) > 1:
        names = [str(path) for path in paths]
    if max(Counter(names).values()) > 1:
        raise OptionError("the same run is named twice")
    frames = []
    for path, name in zip(paths, names, strict=True):
        frame = collected(run_frame(path), "run")
        if "system" in frame.columns:
            raise OptionError(f"{path} holds several systems already: evaluate it by itself")
        frames.append(frame.with_columns(system=pl.lit(name)))
    ranked = all("rank" in frame.columns for frame in frames)
    columns = ["system", "query_id", "doc_id", "score", *(["rank"] if ranked else [])]
    frames = [frame.select(columns) for frame in frames]
    return pl.concat(frames)


def _write(frame: pl.DataFrame, path: Path, *, overwrite: bool) -> None:
    if path.suffix == ".parquet":
        write_parquet(frame, path, overwrite=overwrite)
    elif path.suffix in (".csv", ".tsv"):
        write_table(frame, path, mark="," if path.suffix == ".csv" else "\t", overwrite=overwrite)
    elif path.suffix in (".jsonl", ".ndjson"):
        write_jsonl(frame, path, overwrite=overwrite)
    else:
        raise OptionError(f"cannot write {path}: name it .parquet, .csv, .tsv or .jsonl")


def _printed(report: Report, output: Format) -> str:
    if output is Format.table:
        return repr(report)
    if output is Format.json:
        found = {
            "summary": report.summary.to_dicts(),
            "counts": report.counts.to_dicts(),
            "contract": report.contract.to_dict(),
        }
        return json.dumps(found, indent=2, ensure_ascii=False)
    return _as(output, report.table() if output is Format.markdown else report.summary)


def _findings(found: pl.DataFrame, output: Format) -> str:
    """Findings as they are printed: a paragraph for each, or a table."""
    if output is Format.json:
        return _as(output, found)
    if output is Format.table:
        return "\n\n".join(map(_paragraph, found.to_dicts())) or "nothing was found"
    return _as(output, found.with_columns(pl.col("examples").list.join("; ")))


def _paragraph(row: dict[str, Any]) -> str:
    lines = [f"{row['severity']}: {row['what']}  [{row['kind']}: {row['where']}]"]
    lines += [f"  such as  {one}" for one in row["examples"]]
    return "\n".join([*lines, f"  {row['what_to_do']}"])


def _as(output: Format, frame: pl.DataFrame) -> str:
    printed: dict[Format, Callable[[pl.DataFrame], str]] = {
        Format.table: text_table,
        Format.markdown: markdown_table,
        Format.csv: lambda table: table.write_csv().rstrip("\n"),
        Format.json: lambda table: json.dumps(table.to_dicts(), indent=2, ensure_ascii=False),
    }
    return printed[output](frame)
