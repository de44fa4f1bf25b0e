"""trec_eval's own code, through pytrec_eval, agrees on inputs that hypothesis makes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings

import evalframe as evf

from .cases import Qrels, Run, collection, qrels_and_runs, qrels_table, run_table

pytrec_eval = pytest.importorskip("pytrec_eval")

CUTOFFS = "1,2,3,5,10,100"
FAMILIES = {
    f"{family}.{CUTOFFS}"
    for family in ("P", "recall", "map_cut", "ndcg_cut", "success", "relative_P")
} | {
    "map",
    "ndcg",
    "Rprec",
    "recip_rank",
    "bpref",
    "infAP",
    "binG",
    "G",
    "ndcg_rel",
    "Rndcg",
    "set_P",
    "set_recall",
    "set_map",
    "set_relative_P",
    "set_F",
    "utility",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "num_nonrel_judged_ret",
    "Rprec_mult.0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0",
    "iprec_at_recall.0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0",
    "11pt_avg",
}


def as_trec_eval_9(name: str) -> str:
    """trec_eval 9, which pytrec_eval holds, rounds recall levels up."""
    if name == "11pt_avg":
        return "iprec_mean(rounding=up)"
    return name.replace("iprec_at_recall_", "iprec(rounding=up)@")


def trec_eval(qrels: Qrels, run: Run, level: int = 1) -> dict[str, dict[str, float]]:
    # A query whose grades are all negative reads memory that trec_eval has not set.
    sound = {q: docs for q, docs in qrels.items() if max(docs.values()) >= 0}
    return pytrec_eval.RelevanceEvaluator(sound, FAMILIES, relevance_level=level).evaluate(run)


def assert_agree(qrels: Qrels, run: Run, expected: dict[str, dict[str, float]], **how) -> None:
    measured = sorted({name for values in expected.values() for name in values})
    if not measured:
        return
    frame = evf.per_query(
        qrels_table(qrels),
        run_table(run),
        [as_trec_eval_9(name) for name in measured],
        score_dtype=pl.Float32,
        **how,
    )
    rows = {row["query_id"]: row for row in frame.to_dicts()}
    for query, values in expected.items():
        for name, value in values.items():
            if name in ("runid", "relstring"):
                continue
            assert rows[query][as_trec_eval_9(name)] == pytest.approx(value, abs=1e-9), (
                query,
                name,
            )


@settings(max_examples=120, deadline=None)
@given(qrels_and_runs())
def test_values_are_trec_evals_on_ties_negative_grades_and_any_unicode(
    made: tuple[Qrels, Run],
) -> None:
    qrels, run = made
    assert_agree(qrels, run, trec_eval(qrels, run))


@settings(max_examples=40, deadline=None)
@given(qrels_and_runs())
def test_values_are_trec_evals_at_relevance_level_2(made: tuple[Qrels, Run]) -> None:
    qrels, run = made
    assert_agree(qrels, run, trec_eval(qrels, run, level=2), rel=2)


def test_values_are_trec_evals_on_many_queries_at_once() -> None:
    for seed in range(20):
        qrels, run = collection(seed)
        assert_agree(qrels, run, trec_eval(qrels, run))


@settings(max_examples=40, deadline=None)
@given(qrels_and_runs())
def test_queries_that_the_run_lacks_score_0_and_extra_ones_are_left_out(
    made: tuple[Qrels, Run],
) -> None:
    qrels, run = made
    frame = evf.per_query(qrels_table(qrels), run_table(run), ["ndcg@3", "map", "P_2", "num_ret"])
    assert frame["query_id"].to_list() == sorted(qrels)
    lacking = frame.filter(~pl.col("query_id").is_in(list(run)))
    assert lacking.select(pl.exclude("query_id")).sum_horizontal().sum() == 0


def test_recall_levels_count_the_documents_that_trec_eval_counts() -> None:
    """The i-th of R documents stands at rank i(i + 1)/2, so that each count has its own value."""
    levels = [f"{percent / 100:.2f}" for percent in range(0, 101, 5)]
    qrels, run = {}, {}
    for n in range(1, 31):
        places = {i * (i + 1) // 2: f"d{i}" for i in range(1, n + 1)}
        qrels[f"q{n}"] = dict.fromkeys(places.values(), 1)
        run[f"q{n}"] = {places.get(p, f"x{p}"): -float(p) for p in range(1, max(places) + 1)}
    wanted = {f"iprec_at_recall.{','.join(levels)}"}
    expected = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    assert_agree(qrels, run, expected)
    assert expected["q3"]["iprec_at_recall_0.70"] == pytest.approx(2 / 3)


def test_precision_has_the_bits_of_the_quotient() -> None:
    """In memory and as a plan, for one query and for many."""
    qrels = {f"q{n}": {f"d{i}": 1 for i in range(n)} for n in range(1, 11)}
    run = run_table({q: {f"d{i}": 10.0 - i for i in range(10)} for q in qrels})
    for frame in (run, run.lazy(), run.filter(pl.col("query_id") == "q3")):
        values = evf.per_query(qrels, frame, ["precision@10"]).lazy().collect()
        found = {q: value for q, value in values.iter_rows() if value}
        assert found == {q: int(q[1:]) / 10 for q in found}
