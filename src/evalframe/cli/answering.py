"""`evalframe rag`: RAG samples scored without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalframe.cli.arguments import (
    Ceilings,
    Floors,
    Format,
    Html,
    Output,
    Overwrite,
    Printed,
    RagMetrics,
    Samples,
    split_metrics,
)
from evalframe.cli.completing import profiles
from evalframe.cli.gating import gates_of, judge_gates, with_gated
from evalframe.cli.printing import as_json, printed, printed_report
from evalframe.cli.program import command
from evalframe.cli.saving import refuse_unknown_suffix, save_report, save_rows
from evalframe.cli.streams import say
from evalframe.metrics.rag_catalogue import choose
from evalframe.samples import DEFAULT_METRICS, evaluate_rag

__all__ = ["rag"]

EXAMPLE = """
evalframe rag samples.jsonl -m token_f1 -m context_recall --min token_f1=0.5
evalframe rag samples.jsonl -m token_f1 --by level --per-sample values.parquet
"""


@command(EXAMPLE)
def rag(
    samples: Samples,
    metric: RagMetrics = None,
    minimum: Floors = None,
    maximum: Ceilings = None,
    profile: Annotated[
        str,
        typer.Option(
            help="What counts as the same words: squad_v1, squad_v2, unicode or cjk.",
            autocompletion=profiles,
        ),
    ] = "squad_v1",
    by: Annotated[
        list[str] | None,
        typer.Option(help="Print the means for each value of a column; may be given again."),
    ] = None,
    per_sample: Annotated[
        Path | None,
        typer.Option(help="Write each sample's values here: .parquet, .csv, .tsv or .jsonl."),
    ] = None,
    output: Output = None,
    html: Html = None,
    overwrite: Overwrite = False,
    form: Printed = Format.table,
) -> None:
    """Score RAG samples by metrics that compare words and ids; no model is asked."""
    gates = gates_of(minimum, maximum)
    asked, gates = with_gated(split_metrics(metric or DEFAULT_METRICS), gates, _same)
    refuse_unknown_suffix(per_sample, output, html)
    report = evaluate_rag(samples, metrics=asked, profile=profile)  # type: ignore[arg-type]
    groups = None if by is None else report.by(*split_metrics(by))
    if per_sample is not None:
        save_rows(report.per_sample, per_sample, overwrite=overwrite)
    if output is not None:
        save_report(report, output, overwrite=overwrite)
    if html is not None:
        report.to_html(html, overwrite=overwrite)
    if groups is None:
        say(printed_report(form, report))
    elif form is Format.json:
        say(as_json(report.to_dict() | {"by": groups.to_dicts()}))
    else:
        say(printed(form, groups))
    judge_gates(gates, [(name, None, value) for name, value in report.metrics.items()])


def _same(name: str) -> object:
    """What two spellings of one metric have in common."""
    (chosen,) = choose(name)
    return chosen.metric.name, chosen.threshold
