"""Speed that cannot rot unseen: what is done is counted, not how long it takes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import polars as pl
import pytest

import evalframe as evf
from evalframe import engine
from evalframe.ranking import matching, streaming

from .cases import qrels_of, qrels_table, run_of, run_table

METRICS = ["ndcg@10", "ndcg@100", "recall@100", "precision@10", "mrr@10", "map", "success@10"]


def made(n_queries: int, n_docs: int = 20) -> tuple[pl.DataFrame, pl.DataFrame]:
    docs = [f"d{i:03}" for i in range(n_docs)]
    qrels, run = {}, {}
    for number in range(n_queries):
        query = f"q{number:05}"
        qrels |= qrels_of("d003:2 d007:1 d011:0 nowhere:1", query)
        run |= run_of(docs, query)
    return qrels_table(qrels), run_table(run)


def python_calls(work: Callable[[], object]) -> int:
    """How many Python functions are called while the work is done."""
    calls: Counter[str] = Counter()

    def count(frame: object, event: str, _: object) -> None:
        calls[event] += 1

    work()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls["call"]


def test_no_python_is_called_for_a_row_or_a_query() -> None:
    few, many, long = made(10), made(1000), made(10, n_docs=900)
    calls = [
        python_calls(lambda qrels=qrels, run=run: evf.evaluate(qrels, run, METRICS).metrics)
        for qrels, run in (few, many, long)
    ]
    assert max(calls) - min(calls) <= 5


@pytest.fixture
def collects(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often plans are run, by the function that runs them."""
    counted: Counter[str] = Counter()

    def counting(name: str) -> None:
        original = getattr(engine, name)

        def run(*args: object, **how: object) -> object:
            counted[name] += 1
            return original(*args, **how)

        for room in (engine, matching, streaming):
            if hasattr(room, name):
                monkeypatch.setattr(room, name, run)

    for name in ("collect", "collect_all", "batches"):
        counting(name)
    return counted


def test_an_evaluation_in_memory_runs_its_plans_once(collects: Counter[str]) -> None:
    evf.evaluate(*made(50), METRICS)
    # One look at the run, and one at what was found in it.
    assert collects == {"collect_all": 1, "collect": 1}


def test_a_streamed_evaluation_reads_an_ordered_run_once(collects: Counter[str]) -> None:
    qrels, run = made(50)
    evf.evaluate(qrels, run.lazy(), METRICS)
    assert collects["batches"] == 1
    # One look at each of the two parts of the batch in memory; one for the queries that it holds,
    # and one at what was found.
    assert (collects["collect_all"], collects["collect"]) == (2, 4)


def test_an_unordered_stream_is_read_three_times(
    collects: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "SMALL", 0)
    qrels, run = made(200)
    evf.evaluate(qrels, run.sample(fraction=1, shuffle=True, seed=1).lazy(), METRICS)
    assert collects["batches"] == 1
    assert collects["collect"] == 3


def test_an_ordered_run_is_never_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = made(300, n_docs=100)
    sorted_heights = []
    original = pl.LazyFrame.sort

    def watched(self: pl.LazyFrame, *args: object, **how: object) -> pl.LazyFrame:
        sorted_heights.append(self.select(pl.len()).collect().item())
        return original(self, *args, **how)

    monkeypatch.setattr(pl.LazyFrame, "sort", watched)
    evf.evaluate(qrels, run, METRICS)
    assert 0 < max(sorted_heights) < run.height


def test_the_lazy_plan_holds_no_python() -> None:
    qrels, run = made(3)
    plan = evf.per_query(qrels.lazy(), run.lazy(), METRICS)
    assert "python" not in plan.explain().lower()
    by_subtopic = qrels.with_columns(subtopic=pl.lit("1")).lazy()
    for definition in evf.metrics.CATALOGUE.values():
        text = evf.per_query(by_subtopic, run.lazy(), definition.example).explain().lower()
        assert "python" not in text
        assert "map_elements" not in text
