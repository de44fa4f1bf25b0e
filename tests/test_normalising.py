"""Normalised scores: ranx's numbers, and what every normalisation keeps."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import OptionError, RowError
from evalframe.fusion.normalising import NORMALISATIONS, normalise

from .cases import run_table

SCORES = st.dictionaries(
    st.sampled_from([f"d{i}" for i in range(9)]),
    st.sampled_from([-3.5, -0.0, 0.0, 0.25, 1.0, 7.0, 1e6]),
    min_size=1,
)
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), SCORES, min_size=1)
some_runs = settings(max_examples=40, deadline=None)


def scores_of(frame: pl.DataFrame | pl.LazyFrame) -> dict[tuple[str, str], float]:
    return {(q, d): s for q, d, s in frame.lazy().collect().rows()}


@pytest.mark.parametrize("method", ["min-max", "max", "sum", "zmuv", "rank"])
def test_scores_are_those_of_ranx(retrieval_data: Path, method: str) -> None:
    packed = (retrieval_data / "expected" / "ranx_fusion.json.gz").read_bytes()
    data = json.loads(gzip.decompress(packed))
    for system, run in data["runs"].items():
        expected = {
            (query, doc): score
            for query, docs in data["norm"][method][system].items()
            for doc, score in docs.items()
        }
        assert scores_of(normalise(run, method)) == pytest.approx(expected, abs=1e-12)


def by_hand(method: str, scores: dict[str, float]) -> dict[str, float]:
    """A list's new scores, said once more in plain Python."""
    values, n = list(scores.values()), len(scores)
    low, high, mean = min(values), max(values), sum(values) / n
    deviation = (sum((v - mean) ** 2 for v in values) / n) ** 0.5
    place = {
        doc: i for i, doc in enumerate(sorted(scores, key=lambda d: (scores[d], d), reverse=True))
    }
    new = {
        "min_max": lambda d: (scores[d] - low) / max(high - low, 1e-9),
        "min_max_inverted": lambda d: (high - scores[d]) / max(high - low, 1e-9),
        "max": lambda d: scores[d] / max(high, 1e-9),
        "sum": lambda d: (scores[d] - low) / max(sum(values) - n * low, 1e-9),
        "zmuv": lambda d: (scores[d] - mean) / max(deviation, 1e-9),
        "rank": lambda d: 1 - place[d] / n,
        "borda": lambda d: 1 - place[d] / n,
    }
    return {doc: new[method](doc) for doc in scores}


@some_runs
@given(RUNS)
def test_each_list_is_normalised_by_its_own_scores(run: dict[str, Any]) -> None:
    for method in NORMALISATIONS:
        expected = {
            (query, doc): score
            for query, scores in run.items()
            for doc, score in by_hand(method, scores).items()
        }
        assert scores_of(normalise(run, method)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@some_runs
@given(RUNS, st.integers(0, 99))
def test_the_order_of_rows_changes_no_bit_and_the_run_stays_as_it_is(
    run: dict[str, Any], seed: int
) -> None:
    table = run_table(run)
    mixed = table.sample(fraction=1, shuffle=True, seed=seed)
    before = mixed.clone()
    for method in ("min_max", "rank", "borda", "max", "sum", "zmuv"):
        assert normalise(mixed, method).equals(normalise(table, method))
    assert mixed.equals(before)


@some_runs
@given(RUNS)
def test_a_plan_stays_a_plan_with_the_same_values(run: dict[str, Any]) -> None:
    table = run_table(run)
    for method in NORMALISATIONS:
        plan = normalise(table.lazy(), method)
        assert isinstance(plan, pl.LazyFrame)
        assert scores_of(plan) == pytest.approx(scores_of(normalise(table, method)), abs=1e-12)


def test_systems_of_one_frame_have_their_own_lists() -> None:
    table = pl.concat(
        [
            run_table({"q": {"a": 1.0, "b": 3.0}}).with_columns(system=pl.lit("s")),
            run_table({"q": {"a": 9.0, "c": 5.0}}).with_columns(system=pl.lit("t")),
        ]
    )
    rows = normalise(table, "min_max").rows()
    assert rows == [
        ("s", "q", "b", 1.0),
        ("s", "q", "a", 0.0),
        ("t", "q", "a", 1.0),
        ("t", "q", "c", 0.0),
    ]


def test_under_borda_every_system_gets_the_documents_of_all() -> None:
    """Of three candidates, s has the first two; t found c alone, and r has nothing for q2."""
    table = pl.DataFrame(
        [("s", "q", "a", 2.0), ("s", "q", "b", 1.0), ("t", "q", "c", 1.0), ("r", "p", "a", 1.0)],
        schema=["system", "query_id", "doc_id", "score"],
        orient="row",
    )
    scores = {row[:3]: row[3] for row in normalise(table, "borda").rows()}
    assert scores["s", "q", "a"] == 1
    assert scores["s", "q", "b"] == pytest.approx(2 / 3)
    assert scores["s", "q", "c"] == pytest.approx(1 / 2 - 1 / 6)
    assert scores["t", "q", "a"] == scores["t", "q", "b"] == 1 / 2
    assert scores["r", "q", "a"] == pytest.approx(1 / 2 + 1 / 6)
    assert len(scores) == 3 * 4


def test_an_unknown_normalisation_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match="did you mean 'min_max'"):
        normalise({"q": {"a": 1.0}}, "min_mx")


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(RowError, match="NaN"):
        normalise({"q": {"a": float("nan")}})
