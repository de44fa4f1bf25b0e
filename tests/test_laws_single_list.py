"""The plain functions of one list and the frames' expressions give the same values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import OptionError
from evalframe.evaluation import RETRIEVAL_METRICS, evaluate_retrieval
from evalframe.evaluation.lists import average_precision, dcg_at_k, ndcg_at_k, reciprocal_rank
from evalframe.scoring import per_query

CUTOFFS = (1, 2, 3, 7, 20)
DOCS = st.sampled_from([f"d{n}" for n in range(12)])
GRADES = st.one_of(st.integers(-1, 4), st.sampled_from([0.25, 0.5, 1.5, 3.75]))
QUERY = st.tuples(
    st.dictionaries(DOCS, GRADES, min_size=1, max_size=8),
    st.lists(DOCS, max_size=14),
)
QUERIES = st.lists(QUERY, min_size=1, max_size=5)


def by_hand(name: str, ranked: list[str], grades: dict[str, float], k: int) -> float:
    return RETRIEVAL_METRICS[name](ranked, grades, k)


@settings(deadline=None, max_examples=60)
@given(QUERIES)
def test_the_frames_give_what_the_lists_give(data: list[Any]) -> None:
    """For ndcg, recall, precision, mrr and map at several cut-offs, on lists of distinct ids."""
    qrels = {f"q{n}": grades for n, (grades, _) in enumerate(data)}
    run = {f"q{n}": list(dict.fromkeys(ranked)) for n, (_, ranked) in enumerate(data)}
    if not any(run.values()):
        return
    keys = [f"{name}@{k}" for name in RETRIEVAL_METRICS for k in CUTOFFS]
    scores = {q: {d: 0.9 - n / 99 for n, d in enumerate(docs)} for q, docs in run.items() if docs}
    for row in per_query(qrels, scores, keys).to_dicts():
        query_id = row.pop("query_id")
        for key, value in row.items():
            name, k = key.split("@")
            expected = by_hand(name, run[query_id], qrels[query_id], int(k))
            assert value == pytest.approx(expected, abs=1e-12), (key, run, qrels)


@settings(deadline=None, max_examples=60)
@given(QUERIES)
def test_evaluate_retrieval_gives_what_the_lists_give(data: list[Any]) -> None:
    """Also where a retriever repeats documents, and for the means over the scored queries."""
    qrels = {f"q{n}": grades for n, (grades, _) in enumerate(data)}
    lists = {f"text {n}": ranked for n, (_, ranked) in enumerate(data)}
    queries = {f"q{n}": f"text {n}" for n in range(len(data))}
    scored = {q: grades for q, grades in qrels.items() if any(g > 0 for g in grades.values())}
    if not scored:
        return
    report = evaluate_retrieval(lists.get, qrels, queries, k_values=CUTOFFS, progress=False)
    assert report.n_queries == len(scored)
    nested = report.to_dict()["per_query"]
    for name in RETRIEVAL_METRICS:
        for k in CUTOFFS:
            values = [by_hand(name, lists[queries[q]], g, k) for q, g in scored.items()]
            found = [nested[q][f"{name}@{k}"] for q in scored]
            assert found == pytest.approx(values, abs=1e-12)
            mean = sum(values) / len(values)
            assert report.metrics[f"{name}@{k}"] == pytest.approx(mean, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(DOCS, min_size=1, max_size=12, unique=True),
    st.dictionaries(DOCS, st.integers(0, 3), min_size=1, max_size=8),
)
def test_the_lists_give_what_trec_eval_gives(ranked: list[str], grades: dict[str, int]) -> None:
    """The same definitions, cut-offs included, as the reference implementation in C."""
    oracle = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    if not any(grades.values()):
        return
    cutoffs = "1,2,3,7,20"
    measures = {f"{name}.{cutoffs}" for name in ("ndcg_cut", "recall", "P", "map_cut")}
    run = {"q": {doc: float(-rank) for rank, doc in enumerate(ranked)}}
    evaluator = oracle.RelevanceEvaluator({"q": grades}, measures | {"recip_rank"})
    expected = evaluator.evaluate(run)["q"]
    theirs = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut"}
    for name, other in theirs.items():
        for k in CUTOFFS:
            value = by_hand(name, ranked, grades, k)
            assert value == pytest.approx(expected[f"{other}_{k}"], abs=1e-12), (name, k)
    assert reciprocal_rank(ranked, grades) == pytest.approx(expected["recip_rank"], abs=1e-12)


@given(st.lists(DOCS, max_size=14), st.dictionaries(DOCS, GRADES, max_size=8), st.integers(-1, 20))
def test_values_have_bounds(ranked: list[str], grades: dict[str, float], k: int) -> None:
    """All but DCG lie between 0 and 1, whatever repeats, and are floats."""
    for function in RETRIEVAL_METRICS.values():
        value = function(ranked, grades, k)
        assert isinstance(value, float)
        assert 0.0 <= value <= 1.0 + 1e-12
    assert dcg_at_k(ranked, grades, k) >= 0.0


def test_the_registry_names_the_functions() -> None:
    """Five names, in alphabetical order."""
    assert [*RETRIEVAL_METRICS] == ["map", "mrr", "ndcg", "precision", "recall"]
    assert RETRIEVAL_METRICS["ndcg"] is ndcg_at_k


def test_the_edges_of_single_lists() -> None:
    """Nothing relevant is 0; `None` looks at the whole list; a repeat counts at its best rank."""
    assert ndcg_at_k(["a"], {"a": 0.0}, 5) == ndcg_at_k([], {"a": 1.0}, 5) == 0.0
    assert ndcg_at_k(["a"], {"a": -2}, 5) == 0.0
    assert average_precision(["x", "y", "a"], {"a": 2}) == 1 / 3
    assert average_precision(["a"], {"a": 1, "b": 1}, k=1) == 0.5
    assert reciprocal_rank(["x", "x", "a"], {"a": 1}) == 0.5
    assert dcg_at_k(["a", "b"], {"a": 3, "b": 1}, 1) == 3.0


def test_lists_that_are_none_are_refused() -> None:
    """One string is no list, and a set has no grades."""
    with pytest.raises(OptionError, match="one string"):
        ndcg_at_k("d1", {"d1": 1.0}, 3)
    with pytest.raises(OptionError, match="give a mapping"):
        reciprocal_rank(["d1"], {"d1"})  # type: ignore[arg-type]
