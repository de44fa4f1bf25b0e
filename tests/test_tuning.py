"""Tuning: the best setting on some queries, its value on the others, the same for the same seed."""

from __future__ import annotations

from html import escape
from typing import Any

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import OptionError
from evalframe.fusion.fusing import fuse
from evalframe.fusion.tuning import tune

from .test_fusion import collection

QRELS = {f"q{i}": {"a": 1} for i in range(8)}
GOOD = {q: {"a": 2.0, "x": 1.0} for q in QRELS}
BAD = {q: {"x": 2.0, "a": 1.0} for q in QRELS}


def test_the_better_system_gets_the_weight() -> None:
    found = tune(QRELS, {"good": GOOD, "bad": BAD}, "wsum", "mrr")
    assert found.best["weights"]["good"] > found.best["weights"]["bad"]
    assert (found.train, found.test) == (1.0, 1.0)
    assert found.tried.height == 11
    assert found.tried.columns == ["weight of good", "weight of bad", "value"]
    assert found.fuse({"good": GOOD, "bad": BAD}).height == 16


def test_values_are_those_of_fusing_and_evaluating_each_part() -> None:
    qrels, runs = collection(11)
    for method, grid in (("rrf", {"k": [1, 60]}), ("probfuse", {"n_segments": [1, 3]})):
        found = tune(qrels, runs, method, "ndcg@5", grid=grid, seed=3)
        train, test = (
            {q: qrels[q] for q in part} for part in (found.train_queries, found.test_queries)
        )
        learn: dict[str, Any] = {"train_qrels": train} if method == "probfuse" else {}
        for setting, value in zip(found.tried.to_dicts(), found.tried["value"], strict=True):
            del setting["value"]
            fused = fuse(runs, method, **learn, **setting)
            assert evf.evaluate(train, fused, "ndcg@5").metrics["ndcg@5"] == value
        best = found.fuse(runs)
        assert evf.evaluate(test, best, "ndcg@5").metrics["ndcg@5"] == found.test
        assert found.train == found.tried["value"].max()


def test_the_split_is_by_query_and_the_same_for_the_same_seed() -> None:
    runs = {"good": GOOD, "bad": BAD}
    one, same, other = (tune(QRELS, runs, "rrf", "mrr", seed=s) for s in (1, 1, 2))
    assert one.test_queries == same.test_queries != other.test_queries
    assert one.tried.equals(same.tried)
    assert sorted(one.train_queries + one.test_queries) == sorted(QRELS)
    assert len(tune(QRELS, runs, "rrf", "mrr", test=0.25).test_queries) == 2


def test_without_a_test_part_there_is_no_test_value() -> None:
    found = tune(QRELS, {"good": GOOD, "bad": BAD}, "comb_sum", "mrr", test=0)
    assert found.test is None
    assert found.train_queries == sorted(QRELS)
    assert "8 training queries" in repr(found)


def test_a_metric_of_which_less_is_better_is_made_least() -> None:
    found = tune(QRELS, {"good": GOOD, "bad": BAD}, "wsum", "unjudged@1")
    assert found.train == found.tried["value"].min() == 0


def test_plans_are_tuned_too() -> None:
    table = pl.DataFrame(
        [(q, "a", 1.0) for q in QRELS], schema=["qid", "docno", "score"], orient="row"
    )
    assert tune(QRELS, {"s": table.lazy(), "t": GOOD}, "rrf", "mrr").train == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"phi": [0.5]}}, "no parameter 'phi' to tune; it has weights"),
        ({"grid": {"weights": []}}, "no value for 'weights'"),
        ({"grid": {"weights": [(1, 2, 3)]}}, "3 weights in the grid for 2 runs"),
        ({"test": 1.0}, "share of the queries"),
    ],
)
def test_what_is_not_offered_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tune(QRELS, {"good": GOOD, "bad": BAD}, "wsum", "mrr", **options)


def test_a_grid_too_large_to_try_is_refused() -> None:
    with pytest.raises(OptionError, match="name those to try"):
        tune(QRELS, {str(i): GOOD for i in range(10)}, "wsum", "mrr")


def test_judgements_by_subtopic_stay_so_in_both_parts() -> None:
    """Values are those of evaluating each part of the qrels with their subtopics."""
    qrels = pl.DataFrame(
        [(q, d, 1, s) for q in QRELS for d, s in (("a", "1"), ("a", "2"), ("x", "3"))],
        schema=["query_id", "doc_id", "relevance", "subtopic"],
        orient="row",
    )
    runs = {"good": GOOD, "bad": BAD}
    for given in (qrels, evf.prepare(qrels)):
        found = tune(given, runs, "wsum", "st_recall@1")
        assert found.train == found.test == pytest.approx(2 / 3)
        test = qrels.filter(pl.col("query_id").is_in(found.test_queries))
        fused = found.fuse(runs)
        assert evf.evaluate(test, fused, "st_recall@1").metrics["st_recall@1"] == found.test


def test_a_tuning_is_shown_in_notebooks_as_it_is_printed() -> None:
    """The settings best first, those of equal value as they were tried, and both values."""
    found = tune(QRELS, {"good": GOOD, "bad": BAD}, "wsum", "mrr")
    lines = repr(found).splitlines()
    shown = found._repr_html_()
    assert found.best["weights"] == {"good": 0.6, "bad": 0.4}
    assert [float(line.split()[0]) for line in lines[2:7]] == [0.6, 0.7, 0.8, 0.9, 1.0]
    for text in ("weight of good", "0.6000", *lines[7:]):
        assert escape(text) in shown
    single = tune({"q0": {"a": 1}}, {"good": GOOD, "bad": BAD}, "rrf", "mrr", grid={"k": [60]})
    assert "on 1 training query, none on 0 others (seed 0); 1 setting tried" in repr(single)
