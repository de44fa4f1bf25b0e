"""Gates on the command line: floors and ceilings, their exit codes, and what they say."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import evalframe as evf
from evalframe.cli import app
from evalframe.cli.gating import Gate, gates_of


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two queries; `good` finds both documents first, `poor` one of them second."""
    (tmp_path / "qrels.trec").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "good.trec").write_text("1 Q0 a 1 2.0 t\n2 Q0 b 1 2.0 t\n")
    (tmp_path / "poor.trec").write_text("1 Q0 x 1 2.0 t\n1 Q0 a 2 1.0 t\n2 Q0 y 1 1.0 t\n")
    return tmp_path / "qrels.trec", tmp_path / "good.trec", tmp_path / "poor.trec"


def test_a_value_below_its_floor_is_exit_code_1_with_value_and_floor(
    files: tuple[Path, Path, Path],
) -> None:
    qrels, _, poor = files
    result = call("evaluate", qrels, poor, "-m", "mrr", "--min", "mrr=0.4")
    assert result.exit_code == 1
    assert result.stderr == "evalframe: mrr is 0.2500, below its floor of 0.4000\n"
    assert "mrr     0.2500" in result.stdout
    assert call("evaluate", qrels, poor, "-m", "mrr", "--min", "mrr=0.25").exit_code == 0


def test_every_failing_gate_is_told_and_each_system_is_judged(
    files: tuple[Path, Path, Path],
) -> None:
    words = ("--min", "mrr=0.4", "--min", "P_1=0.9", "--max", "unjudged@1=0.5")
    result = call("evaluate", *files, "-m", "mrr", *words)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "evalframe: mrr of poor is 0.2500, below its floor of 0.4000",
        "evalframe: P_1 of poor is 0.0000, below its floor of 0.9000",
        "evalframe: unjudged@1 of poor is 1.0000, above its ceiling of 0.5000",
    ]


def test_a_gated_metric_that_was_not_asked_for_is_computed_once(
    files: tuple[Path, Path, Path],
) -> None:
    qrels, good, _ = files
    words = ("-f", "csv", "--min", "map=0.5", "--min", "precision@1=1", "--max", "map=1")
    result = call("evaluate", qrels, good, "-m", "P_1", *words)
    assert result.exit_code == 0
    assert pl.read_csv(result.stdout.encode())["metric"].to_list() == ["P_1", "map"]


def test_without_metrics_the_gates_come_beside_the_usual_ones(
    files: tuple[Path, Path, Path],
) -> None:
    qrels, good, _ = files
    result = call("evaluate", qrels, good, "-f", "csv", "--min", "success@5=1")
    metrics = pl.read_csv(result.stdout.encode())["metric"].to_list()
    assert metrics == ["ndcg@10", "map", "mrr", "precision@10", "recall@100", "success@5"]


def test_what_was_to_be_written_is_written_before_the_gate_closes(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    qrels, _, poor = files
    out = tmp_path / "report.parquet"
    result = call("evaluate", qrels, poor, "-m", "mrr", "--min", "mrr=0.9", "-o", out)
    assert result.exit_code == 1
    read = evf.read_report(out)
    assert isinstance(read, evf.Report)
    assert read.metrics == {"mrr": 0.25}


def test_samples_are_gated_and_a_mean_of_nothing_fails(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text('{"response": "Paris", "reference": "Paris"}\n{"response": "x y"}\n')
    assert call("rag", file, "-m", "token_f1", "--min", "token_f1=1").exit_code == 0
    result = call("rag", file, "-m", "token_f1", "--min", "id_context_recall=0.1")
    assert result.exit_code == 1
    assert "id_context_recall has no value" in result.stderr
    words = ("--min", "token_recall=1", "--min", "context_coverage@0.5=0.5")
    assert call("rag", file, "-m", "answer_recall", *words).exit_code == 1


def test_whether_a_drop_is_significant_is_tested_as_was_asked(tmp_path: Path) -> None:
    queries = range(8)
    (tmp_path / "qrels.trec").write_text("".join(f"{q} 0 a 1\n" for q in queries))
    (tmp_path / "old.trec").write_text("".join(f"{q} Q0 a 1 2 t\n" for q in queries))
    (tmp_path / "new.trec").write_text(
        "".join(f"{q} Q0 a 2 1 t\n{q} Q0 x 1 2 t\n" for q in queries)
    )
    words = [
        "compare",
        *(tmp_path / f"{name}.trec" for name in ("qrels", "old", "new")),
        "-m",
        "mrr",
    ]
    how = ("--test", "sign", "--correction", "none", "--max-drop", 0.1)
    result = call(*words, *how, "--alpha", 0.05)
    assert result.exit_code == 1
    assert f"(p = {1 / 2**8:.4g}, one-sided sign, exact)" in result.stderr
    assert call(*words, *how, "--alpha", 0.001).exit_code == 0
    assert call(*words, "--test", "tukey", "--max-drop", 0.1).exit_code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--alpha", 0.05), "add --max-drop"),
        (("--max-drop", -1), "--max-drop must be a number of at least 0, not -1"),
        (("--max-drop", "nan"), "--max-drop must be a number of at least 0, not nan"),
        (("--max-drop", 0, "--alpha", 2), "--alpha must be a number between 0 and 1"),
        (("--max-drop", 0, "--alpha", 0.1, "--test", "tukey"), "--test tukey looks at all runs"),
        (("-o", "same.html", "--html", "same.html"), "same.html would be written twice"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_is_done(
    files: tuple[Path, Path, Path], words: tuple[object, ...], message: str
) -> None:
    result = call("compare", *files, "-m", "mrr", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert not Path("same.html").exists()


def test_a_complaint_is_one_line_whose_rows_are_told_apart(files: tuple[Path, Path, Path]) -> None:
    result = call("compare", *files, "-m", "mrr", "--max-drop", 0.1)
    assert result.stderr == (
        "evalframe: poor against good: mrr fell from 1.0000 to 0.2500, by 0.7500 where 0.1000 is "
        "allowed. Queries that dropped most: query_id='2', old=1.0000, new=0.0000, "
        "change=-1.0000; query_id='1', old=1.0000, new=0.5000, change=-0.5000\n"
    )
    unknown = call("rag", files[0], "-m", "nope")
    assert "unknown RAG metric 'nope' (RAG metrics: exact_match, " in unknown.stderr
    assert "evalframe metrics lists all" in call("evaluate", *files, "-m", "zzz").stderr


@given(
    value=st.floats(-2, 2, allow_nan=False),
    bound=st.floats(-2, 2, allow_nan=False),
    is_floor=st.booleans(),
)
def test_a_gate_complains_where_the_bound_is_missed_by_more_than_rounding(
    value: float, bound: float, is_floor: bool
) -> None:
    missed = bound - value if is_floor else value - bound
    assert (Gate("m", bound, is_floor).complaint(value, "") is not None) == (missed > 1e-12)


def test_a_value_that_would_be_rounded_to_its_floor_is_shown_whole() -> None:
    (gate,) = gates_of(["ndcg@10=0.4"], None)
    assert gate.complaint(0.39999, "") == "ndcg@10 is 0.39999, below its floor of 0.40000"


@given(st.floats(-2, 2), st.floats(1e-11, 1), st.booleans())
def test_value_and_bound_never_look_alike(bound: float, missed: float, is_floor: bool) -> None:
    value = bound - missed if is_floor else bound + missed
    told = Gate("m", bound, is_floor).complaint(value, "")
    assert told is not None
    shown, limit = (float(number) for number in re.findall(r"-?\d\.\d+", told))
    assert shown < limit if is_floor else shown > limit


def test_a_metric_with_parameters_keeps_its_own_equals_signs() -> None:
    (gate,) = gates_of(["ndcg(gain={1:3,2:9},rel=1)@5=0.25"], None)
    assert (gate.metric, gate.bound) == ("ndcg(gain={1:3,2:9},rel=1)@5", 0.25)
