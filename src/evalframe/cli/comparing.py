"""`evalframe compare`: runs side by side, and a gate for regressions."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
import typer

from evalframe.cli.arguments import (
    Counted,
    CountedOption,
    Depth,
    DuplicateRule,
    Duplicates,
    Float32,
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
from evalframe.cli.completing import corrections, test_names
from evalframe.cli.printing import printed_report
from evalframe.cli.program import command, refuse
from evalframe.cli.runs import one_run
from evalframe.cli.saving import refuse_texts_without_page, refuse_unknown_suffix, save_report
from evalframe.cli.streams import say
from evalframe.comparing import Comparison, assert_no_regression
from evalframe.comparing import compare as compare_runs
from evalframe.errors import OptionError, RegressionError
from evalframe.frames import collected
from evalframe.inputs import run_frame
from evalframe.io import read_qrels
from evalframe.scoring import DEFAULT_METRICS
from evalframe.statistics import TESTS, between_0_and_1
from evalframe.statistics.closed_tests import OF_PAIRS

__all__ = ["compare"]

EXAMPLE = """
evalframe compare qrels.trec bm25.trec dense.trec -m ndcg@10
evalframe compare qrels.trec old.trec new.trec -m ndcg@10 --max-drop 0.01
"""


@command(EXAMPLE)
def compare(
    qrels: Qrels,
    runs: Runs,
    metric: Metrics = None,
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
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="Test all others against this run only; may be given again."),
    ] = None,
    test: Annotated[
        str, typer.Option(help="The paired test, e.g. t or sign.", autocompletion=test_names)
    ] = "randomisation",
    correction: Annotated[
        str,
        typer.Option(help="How p-values allow for being many.", autocompletion=corrections),
    ] = "holm",
    resamples: Annotated[int, typer.Option(help="Draws of tests and intervals.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed draws the same numbers.")] = 0,
    rel: Rel = None,
    counted: CountedOption = Counted.judged,
    ties: Ties = TieOrder.trec,
    float32: Float32 = False,
    judged_only: JudgedOnly = False,
    depth: Depth = None,
    duplicates: Duplicates = DuplicateRule.error,
    subtopics: Subtopics = False,
    output: Output = None,
    html: Html = None,
    queries: Queries = None,
    overwrite: Overwrite = False,
    form: Printed = Format.table,
) -> None:
    """Compare runs with paired tests; with --max-drop, fail where one is worse than the first."""
    asked = split_metrics(metric or DEFAULT_METRICS)
    _refuse_unusable_gate(max_drop, alpha, test)
    refuse_unknown_suffix(None, output, html)
    refuse_texts_without_page(html, queries=queries)
    frame = one_run(runs, duplicates.value)
    if len(runs) == 1:
        frame = collected(run_frame(frame, duplicates=duplicates.value), "run")
    if "system" not in frame.columns:
        raise OptionError("name two runs or more to compare them")
    found = compare_runs(
        read_qrels(qrels, subtopics=True) if subtopics else qrels,
        frame,
        asked,
        baseline=baseline,
        test=test,  # type: ignore[arg-type]
        correction=correction,  # type: ignore[arg-type]
        resamples=resamples,
        seed=seed,
        rel=rel,
        queries=counted.value,
        ties=ties.value,
        score_dtype=pl.Float32 if float32 else pl.Float64,
        judged_only=judged_only,
        depth=depth,
        duplicates=duplicates.value,
    )
    if output is not None:
        save_report(found, output, overwrite=overwrite)
    if html is not None:
        found.to_html(html, queries=queries, overwrite=overwrite)
    say(printed_report(form, found))
    if max_drop is not None:
        order = frame["system"].unique(maintain_order=True).to_list()
        _judge_drops(found, order, asked, max_drop, alpha)


def _refuse_unusable_gate(max_drop: float | None, alpha: float | None, test: str) -> None:
    """Refuse what no drop can be held against, before anything is worked out."""
    if max_drop is not None and not max_drop >= 0:
        raise OptionError(f"--max-drop must be a number of at least 0, not {max_drop:g}")
    if alpha is None:
        return
    if max_drop is None:
        raise OptionError("--alpha says which drops count: add --max-drop, for example 0.01")
    between_0_and_1("--alpha", alpha)
    if test in TESTS and test not in OF_PAIRS:
        raise OptionError(
            f"--test {test} looks at all runs at once, and drops are tested pair by pair: with "
            f"--alpha, choose one of {', '.join(OF_PAIRS)}"
        )


def _judge_drops(
    found: Comparison, systems: list[str], metrics: list[str], max_drop: float, alpha: float | None
) -> None:
    """Stop with 1 where a later system is worse than the first."""
    values = found.per_query.pivot("metric", index=["system", "query_id"], values="value")
    first, *others = (values.filter(system=name).drop("system") for name in systems)
    complaints = []
    # Without alpha no test decides, so that the gate may follow one that it does not have.
    asked = () if alpha is None else ("test", "correction", "resamples", "seed")
    how: dict[str, Any] = {name: getattr(found.procedure, name) for name in asked}
    for name, other in zip(systems[1:], others, strict=True):
        try:
            assert_no_regression(other, first, metrics, max_drop=max_drop, alpha=alpha, **how)
        except RegressionError as error:
            complaints.append(f"{name} against {systems[0]}: {error}")
    if complaints:
        refuse("; ".join(complaints), 1)
