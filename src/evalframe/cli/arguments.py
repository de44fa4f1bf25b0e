"""The arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from evalframe.cli.completing import metric_names, rag_metric_names

__all__ = [
    "Ceilings",
    "Corpus",
    "Counted",
    "CountedOption",
    "Depth",
    "DuplicateRule",
    "Duplicates",
    "Float32",
    "Floors",
    "Format",
    "Html",
    "JudgedOnly",
    "Metrics",
    "Output",
    "Overwrite",
    "Printed",
    "Qrels",
    "Queries",
    "RagMetrics",
    "Rel",
    "Runs",
    "Samples",
    "Subtopics",
    "TieOrder",
    "Ties",
    "split_metrics",
]


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


class DuplicateRule(StrEnum):
    """What to do about a document that stands more than once in a list."""

    error = "error"
    check = "check"
    best = "best"


Qrels = Annotated[
    Path,
    typer.Argument(metavar="QRELS", help="Judgements: TREC, TSV, CSV, JSON or Parquet."),
]
Runs = Annotated[
    list[Path],
    typer.Argument(help="One or more runs.", metavar="RUN"),
]
Samples = Annotated[
    Path,
    typer.Argument(metavar="SAMPLES", help="RAG samples: JSONL, JSON, CSV or Parquet."),
]

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric, e.g. ndcg@10; may be given again, or several with commas.",
        autocompletion=metric_names,
    ),
]
RagMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric, e.g. token_f1; may be given again, or several with commas.",
        autocompletion=rag_metric_names,
    ),
]
Floors = Annotated[
    list[str] | None,
    typer.Option(
        "--min",
        metavar="METRIC=VALUE",
        help="Exit with 1 where the metric is lower, e.g. ndcg@10=0.4; may be given again.",
    ),
]
Ceilings = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="METRIC=VALUE",
        help="Exit with 1 where the metric is higher, e.g. unjudged@10=0.1; may be given again.",
    ),
]
Printed = Annotated[Format, typer.Option("--format", "-f", help="How the result is printed.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the report here too: .parquet (evf.read_report opens it), .json, .jsonl, .csv, "
        ".tsv, .md, .tex, .html or .txt.",
    ),
]
Html = Annotated[
    Path | None, typer.Option(help="Write the report as one HTML page that needs no network.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the files that are written.")]
Queries = Annotated[Path | None, typer.Option(help="The queries' texts.")]
Corpus = Annotated[Path | None, typer.Option(help="The documents' texts.")]

Rel = Annotated[
    float | None, typer.Option(help="Lowest grade that is relevant (default: above 0).")
]
CountedOption = Annotated[Counted, typer.Option("--counted", help="Whose values are averaged.")]
Ties = Annotated[TieOrder, typer.Option(help="Order of equal scores.")]
Float32 = Annotated[
    bool, typer.Option("--float32", help="Compare scores as 32-bit floats (trec_eval 9).")
]
JudgedOnly = Annotated[
    bool, typer.Option("--judged-only", help="Leave out documents without a judgement.")
]
Depth = Annotated[int | None, typer.Option(help="Documents of each query to look at.")]
Duplicates = Annotated[
    DuplicateRule, typer.Option(help="A document that stands more than once in a list.")
]
Subtopics = Annotated[
    bool, typer.Option("--subtopics", help="The second column of TREC qrels is the subtopic.")
]


def split_metrics(given: Iterable[str]) -> list[str]:
    """`-m ndcg@10,map` names two metrics; a comma inside brackets separates parameters.

    >>> split_metrics(["ndcg@10,map", "recall(rel=2,k=5)", "iprec.0.1,0.2"])
    ['ndcg@10', 'map', 'recall(rel=2,k=5)', 'iprec.0.1', '0.2']
    """
    return [name for word in given for name in _split(word)]


def _split(word: str) -> list[str]:
    if re.fullmatch(r"[\w.]+[_.][\d.]+=.*", word):
        return [word]
    return [name for name in re.split(r",(?![^({]*[)}])", word) if name]
