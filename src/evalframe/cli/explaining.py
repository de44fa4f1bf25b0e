"""`evalframe metrics`: the catalogue, and one metric explained."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any

import polars as pl
import typer

from evalframe.cli.arguments import Format, Printed
from evalframe.cli.completing import all_metric_names
from evalframe.cli.printing import as_json, printed
from evalframe.cli.program import command
from evalframe.cli.streams import say
from evalframe.errors import MetricError, did_you_mean
from evalframe.metrics import CATALOGUE, Definition, parse
from evalframe.metrics.rag_catalogue import RagMetric, choose
from evalframe.samples import RAG_METRICS, evaluate_rag

__all__ = ["catalogue_table", "explained", "metrics"]

EXAMPLE = """
evalframe metrics
evalframe metrics ndcg
"""

HEADER = ["metric", "of", "definition", "values", "other names"]


@command(EXAMPLE)
def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="METRIC", help="A metric to explain.", autocompletion=all_metric_names
        ),
    ] = None,
    form: Printed = Format.table,
) -> None:
    """List the metrics of runs and of RAG samples, or explain one."""
    if name is None:
        say(printed(form, catalogue_table()))
        return
    found = _look_up(name)
    if form is Format.table:
        say(_as_text(explained(found)))
    elif form is Format.json:
        say(as_json(explained(found)))
    else:
        say(printed(form, pl.DataFrame([_row(found)], HEADER, orient="row")))


def catalogue_table() -> pl.DataFrame:
    """All metrics: an example of each, what it is of, its definition, values and other names."""
    known: list[Definition | RagMetric] = [*CATALOGUE.values(), *RAG_METRICS.values()]
    rows = [_row(one) for one in known]
    return pl.DataFrame(rows, HEADER, orient="row")


def explained(metric: Definition | RagMetric) -> dict[str, Any]:
    """All that there is to say of a metric, in words."""
    text, _, example = _docstring(metric).partition("\n>>> ")
    title, _, more = text.strip().partition("\n")
    return {
        "metric": metric.name,
        "spelling": _spelling(metric),
        "of": _of(metric),
        "definition": title,
        "details": more.strip(),
        "parameters": _rag_parameters(metric)
        if isinstance(metric, RagMetric)
        else _parameters(metric),
        "values": _values(metric),
        "undefined": metric.undefined if isinstance(metric, RagMetric) else "never null",
        "other_names": _other_names(metric),
        "command": f'evalframe rag samples.jsonl -m "{_spelling(metric)}"'
        if isinstance(metric, RagMetric)
        else f'evalframe evaluate qrels.trec run.trec -m "{_spelling(metric)}"',
        "example": f">>> {example}".strip() if example else _rag_example(metric.name),
    }


def _look_up(name: str) -> Definition | RagMetric:
    """A metric by any spelling, with or without what a spelling needs."""
    bare = name.strip().lower()
    if bare in CATALOGUE:
        return CATALOGUE[bare]
    try:
        return parse(name).definition
    except MetricError as error:
        if "needs a cut-off" in str(error):
            return parse(f"{name}@10").definition
    try:
        (chosen,) = choose(name)
        return chosen.metric
    except MetricError:
        hint = did_you_mean(bare.partition("@")[0], (*CATALOGUE, *RAG_METRICS))
        raise MetricError(
            f"unknown metric {name!r}{hint or '; evalframe metrics lists all of them'}"
        ) from None


def _as_text(facts: dict[str, Any]) -> str:
    """An explanation as a page of plain text."""
    parameters = [
        f"  {one['name']}  default {one['default']}{one['note']}" for one in facts["parameters"]
    ]
    parts = [
        facts["spelling"],
        facts["definition"],
        facts["details"],
        "\n".join(["Parameters:", *parameters]) if parameters else "Parameters: none",
        f"Values: {facts['values']}\nOf: {facts['of']}\nUndefined: {facts['undefined']}\n"
        f"Other names: {', '.join(facts['other_names']) or 'none'}",
        f"Example:\n  {facts['command']}",
        "\n".join(f"  {line}" for line in facts["example"].splitlines()),
    ]
    return "\n\n".join(part for part in parts if part)


def _row(metric: Definition | RagMetric) -> tuple[str, ...]:
    title = metric.summary if isinstance(metric, RagMetric) else metric.title
    names = ", ".join(_other_names(metric))
    return (_spelling(metric), _of(metric), title, _values(metric), names)


def _spelling(metric: Definition | RagMetric) -> str:
    if isinstance(metric, Definition):
        return metric.example
    return metric.name if metric.threshold is None else f"{metric.name}@{metric.threshold:g}"


def _of(metric: Definition | RagMetric) -> str:
    """What is measured: runs, or the columns of samples."""
    if isinstance(metric, Definition):
        return "runs"
    return ", ".join(name for name in (metric.delivered, metric.gold) if name)


def _values(metric: Definition | RagMetric) -> str:
    if isinstance(metric, RagMetric):
        return "0…1"
    low, high = (f"{bound:g}" if bound is not None else "" for bound in metric.bounds)
    unit = "" if metric.unit == "ratio" else f" {metric.unit}"
    how = "" if metric.summary == "mean" else f", {metric.summary.replace('_', ' ')}"
    return f"{low}…{high}{unit}{how}"


def _other_names(metric: Definition | RagMetric) -> list[str]:
    variants = () if isinstance(metric, RagMetric) else metric.variants
    return [*metric.aliases, *variants]


def _docstring(metric: Definition | RagMetric) -> str:
    function = metric.formula if isinstance(metric, RagMetric) else metric.function
    return inspect.getdoc(function) or ""


def _parameters(metric: Definition) -> list[dict[str, str]]:
    """Each parameter's name and default, and how it is written where that is special."""
    found = []
    for name, parameter in metric.parameters.items():
        is_needed = parameter.default is inspect.Parameter.empty
        default = "needed" if is_needed else "none" if parameter.default is None else None
        note = f", written behind the @: {metric.example}" if name == metric.at else ""
        if name == "rel":
            note = (
                ", the lowest grade that gains anything"
                if metric.graded
                else ", the lowest grade that is relevant (none: above 0, or the evaluation's rel)"
            )
        found.append({"name": name, "default": default or str(parameter.default), "note": note})
    return found


def _rag_parameters(metric: RagMetric) -> list[dict[str, str]]:
    if metric.threshold is None:
        return []
    note = f", written behind the @: {_spelling(metric)}"
    return [{"name": "threshold", "default": f"{metric.threshold:g}", "note": note}]


SAMPLE = {
    "response": "It is Paris.",
    "references": ["Paris"],
    "retrieved_contexts": ["Paris is in France.", "Rome."],
    "reference_contexts": ["Paris is in France."],
    "retrieved_context_ids": ["d1", "d9"],
    "reference_context_ids": ["d1", "d2"],
}
"""A sample with all that a RAG metric may look at."""


def _rag_example(name: str) -> str:
    """A metric of samples on one sample, and what comes out."""
    metric = RAG_METRICS[name]
    sample = {key: SAMPLE[key] for key in (metric.delivered, metric.gold) if key}
    value = evaluate_rag([sample], metrics=_spelling(metric)).metrics
    fields = "".join(f"...     {json.dumps(k)}: {json.dumps(v)},\n" for k, v in sample.items())
    return (
        ">>> import evalframe as evf\n"
        f">>> sample = {{\n{fields}... }}\n"
        f'>>> evf.evaluate_rag([sample], metrics="{_spelling(metric)}").metrics\n{value}'
    )
