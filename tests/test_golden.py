"""Every metric has rows in golden.csv whose values were worked out by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import evalframe as evf
from evalframe.metrics import CATALOGUE, parse

from .cases import qrels_of, run_of, subtopic_qrels_of

GOLDEN = Path(__file__).parent / "golden.csv"
ROWS = list(csv.DictReader(GOLDEN.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['metric']}|{row['run']}")
def test_a_metric_has_the_value_worked_out_by_hand(row: dict[str, str]) -> None:
    qrels = subtopic_qrels_of if "/" in row["qrels"] else qrels_of
    report = evf.evaluate(qrels(row["qrels"]), run_of(row["run"]), row["metric"])
    assert report.metrics[row["metric"]] == pytest.approx(float(row["value"]), abs=1e-12)


def test_no_metric_is_without_a_golden_row() -> None:
    golden = {parse(row["metric"]).definition.name for row in ROWS}
    shipped = set(CATALOGUE) & set(evf.metrics.__all__)
    assert shipped - golden == set()
    assert len(shipped) >= 37


def test_every_golden_row_says_where_its_value_comes_from() -> None:
    assert all(row["source"].startswith(("by hand: ", "trec_eval")) for row in ROWS)
