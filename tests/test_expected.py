"""Expected values under ties are the means over all orders of equal scores."""

from __future__ import annotations

import itertools
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf

from .cases import qrels_table, run_table

METRICS = [
    *(f"{m}@{k}" for m in ("precision", "recall", "success", "dcg", "ndcg", "map") for k in (1, 3)),
    "recall",
    "map",
    "mrr",
    "ndcg(gain=exp)@4",
    "map(rel=2)",
]
DOCS = "abcdef"
QRELS = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 2), min_size=1)
SCORES = st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0.0, -0.0, 1.0]), min_size=1)


def all_orders(scores: dict[str, float]) -> list[dict[str, float]]:
    """Every run without ties whose order agrees with these scores."""
    groups = [
        list(itertools.permutations(docs))
        for _, docs in itertools.groupby(sorted(scores, key=lambda d: -scores[d]), scores.get)
    ]
    orders = ([d for group in order for d in group] for order in itertools.product(*groups))
    return [{doc: -float(i) for i, doc in enumerate(order)} for order in orders]


@settings(max_examples=30, deadline=None)
@given(QRELS, SCORES)
def test_expected_values_are_means_over_all_orders(
    grades: dict[str, int], scores: dict[str, float]
) -> None:
    orders = {f"q{i}": docs for i, docs in enumerate(all_orders(scores))}
    qrels = qrels_table(dict.fromkeys(orders, grades))
    one_by_one = evf.per_query(qrels, run_table(orders), METRICS)
    expected = [f"expected_{metric}" for metric in METRICS]
    values = evf.evaluate({"q": grades}, {"q": scores}, expected).metrics
    for metric in METRICS:
        mean = fmean(one_by_one[metric])
        assert values[f"expected_{metric}"] == pytest.approx(mean, abs=1e-12), metric


def test_no_tie_rule_moves_an_expected_value() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    values = {
        evf.evaluate(qrels, run, "expected_mrr", ties=t).metrics["expected_mrr"]
        for t in ("trec", "doc_asc", "given")
    }
    (value,) = values
    assert value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_the_evaluations_depth_and_judged_only_hold() -> None:
    """Within depth 2 two of the three tied are left; judged ones alone are a and c."""
    qrels, run = {"q": {"a": 1, "c": 0}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    shallow = evf.evaluate(qrels, run, "expected_precision@1", ties="doc_asc", depth=2)
    assert shallow.metrics["expected_precision@1"] == 1 / 2
    judged = evf.evaluate(qrels, run, "expected_precision@1", judged_only=True)
    assert judged.metrics["expected_precision@1"] == 1 / 2
    whole = evf.evaluate(qrels, run, "expected_precision@1")
    assert whole.metrics["expected_precision@1"] == pytest.approx(1 / 3)


def test_zero_and_negative_zero_are_one_score() -> None:
    run = {"q": {"a": 0.0, "b": -0.0}}
    assert evf.evaluate({"q": {"a": 1}}, run, "expected_mrr").metrics["expected_mrr"] == 3 / 4


def test_plans_and_systems_give_the_same_values() -> None:
    qrels = qrels_table({"q": {"a": 1, "b": 2}, "p": {"a": 1}})
    run = run_table({"q": {"a": 1.0, "b": 1.0, "x": 1.0}, "p": {"y": 2.0, "a": 2.0}})
    eager = evf.per_query(qrels, run, ["expected_ndcg@2", "expected_map"])
    plan = evf.per_query(qrels.lazy(), run.lazy(), ["expected_ndcg@2", "expected_map"])
    assert plan.collect().equals(eager)
    both = pl.concat([run.with_columns(system=pl.lit(s)) for s in "st"])
    of_both = evf.per_query(qrels, both, ["expected_ndcg@2", "expected_map"])
    assert of_both.filter(system="t").drop("system").equals(eager)
