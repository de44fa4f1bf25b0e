"""`evalframe evaluate`: runs against judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from evalframe.cli.arguments import (
    Ceilings,
    Corpus,
    Counted,
    CountedOption,
    Depth,
    DuplicateRule,
    Duplicates,
    Float32,
    Floors,
    Format,
    Html,
    JudgedOnly,
    Metrics,
    Output,
    Overwrite,
    Printed,
    Qrels,
    Queries,
    Rel,
    Runs,
    Subtopics,
    TieOrder,
    Ties,
    split_metrics,
)
from evalframe.cli.gating import gates_of, judge_gates, with_gated
from evalframe.cli.printing import printed_report
from evalframe.cli.program import command
from evalframe.cli.runs import one_run
from evalframe.cli.saving import (
    refuse_texts_without_page,
    refuse_unknown_suffix,
    save_report,
    save_rows,
)
from evalframe.cli.streams import say
from evalframe.io import read_qrels
from evalframe.metrics import parse
from evalframe.report import Report
from evalframe.report import evaluate as evaluate_run
from evalframe.scoring import DEFAULT_METRICS

__all__ = ["evaluate"]

EXAMPLE = """
evalframe evaluate qrels.trec bm25.trec -m ndcg@10 -m map --min ndcg@10=0.4
evalframe evaluate qrels.trec bm25.trec dense.trec --html report.html
zcat bm25.trec.gz | evalframe evaluate qrels.trec - -f json
"""


@command(EXAMPLE)
def evaluate(
    qrels: Qrels,
    runs: Runs,
    metric: Metrics = None,
    minimum: Floors = None,
    maximum: Ceilings = None,
    rel: Rel = None,
    counted: CountedOption = Counted.judged,
    ties: Ties = TieOrder.trec,
    float32: Float32 = False,
    judged_only: JudgedOnly = False,
    depth: Depth = None,
    duplicates: Duplicates = DuplicateRule.error,
    subtopics: Subtopics = False,
    per_query: Annotated[
        Path | None,
        typer.Option(help="Write each query's values here: .parquet, .csv, .tsv or .jsonl."),
    ] = None,
    output: Output = None,
    html: Html = None,
    queries: Queries = None,
    corpus: Corpus = None,
    overwrite: Overwrite = False,
    progress: Annotated[
        bool | None,
        typer.Option(
            help="A bar on standard error over the rows of a large run "
            "(default: after a second, in a terminal)."
        ),
    ] = None,
    form: Printed = Format.table,
) -> None:
    """Score one or more runs against judgements."""
    gates = gates_of(minimum, maximum)
    asked, gates = with_gated(split_metrics(metric or DEFAULT_METRICS), gates, parse)
    refuse_unknown_suffix(per_query, output, html)
    refuse_texts_without_page(html, queries=queries, corpus=corpus)
    report = evaluate_run(
        read_qrels(qrels, subtopics=True) if subtopics else qrels,
        one_run(runs, duplicates.value),
        asked,
        rel=rel,
        queries=counted.value,
        ties=ties.value,
        score_dtype=pl.Float32 if float32 else pl.Float64,
        judged_only=judged_only,
        depth=depth,
        duplicates=duplicates.value,
        progress=progress,
    )
    if per_query is not None:
        save_rows(report.per_query, per_query, overwrite=overwrite)
    if output is not None:
        save_report(report, output, overwrite=overwrite)
    if html is not None:
        report.to_html(html, corpus=corpus, queries=queries, overwrite=overwrite)
    say(printed_report(form, report))
    judge_gates(gates, _values(report))


def _values(report: Report) -> list[tuple[str, str | None, float | None]]:
    """Metric, system (where there are several) and value."""
    rows = report.summary
    systems = rows["system"].to_list() if "system" in rows.columns else [None] * rows.height
    return [*zip(rows["metric"].to_list(), systems, rows["value"].to_list(), strict=True)]
