"""Novelty and diversity: ndeval's numbers, a plain restatement, and the laws of the catalogue."""

from __future__ import annotations

import io
import json
import math
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe.errors import MetricError, RowError
from evalframe.metrics import CATALOGUE, parse

from .cases import run_of, run_table, subtopic_qrels_of

BY_SUBTOPIC = [
    d.example
    for name, d in CATALOGUE.items()
    if name in evf.metrics.__all__
    and "subtopics" in parse(d.example).expression().meta.root_names()
]
VARIED = [
    *BY_SUBTOPIC,
    *(f"{m}@{k}" for m in ("alpha_dcg", "err_ia", "p_ia", "st_recall") for k in (1, 3)),
    *(f"{m}(alpha=0.9)@{k}" for m in ("alpha_ndcg", "nerr_ia") for k in (1, 4)),
    "alpha_ndcg(rel=2)@5",
    "ap_ia(rel=2)",
    "nnrbp(alpha=0.2,beta=0.8)",
]
SEEDS = st.integers(0, 2**16)
some = settings(max_examples=12, deadline=None)


def collection(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A few queries judged by subtopic, and a run with strangers, gaps and ties."""
    rng = random.Random(seed)
    docs = [f"d{i:02}" for i in range(12)]
    rows, run = [], {}
    for query in ("q1", "q2", "q3"):
        n_subtopics = rng.randint(1, 4)
        judged = rng.sample(docs, rng.randint(1, 12))
        pairs = [(doc, s) for doc in judged for s in range(n_subtopics) if rng.random() < 0.6]
        pairs = pairs or [(judged[0], 0)]
        rows += [(query, doc, str(s), rng.choice([-1, 0, 1, 1, 2])) for doc, s in pairs]
        if query == "q1" or rng.random() < 0.8:
            seen = rng.sample([*docs, "x1", "x2", "x3"], rng.randint(1, 15))
            run[query] = {doc: float(rng.randint(0, 20)) for doc in seen}
    schema = ["query_id", "doc_id", "subtopic", "relevance"]
    return pl.DataFrame(rows, schema=schema, orient="row"), run_table(run)


def test_values_are_those_of_ir_measures(retrieval_data: Path) -> None:
    cases = json.loads((retrieval_data / "expected" / "ir_measures.json").read_text())["cases"]
    (case,) = (one for one in cases if one["name"] == "diversity")
    schema = ["query_id", "doc_id", "relevance", "subtopic"]
    qrels = pl.DataFrame(case["qrels"], schema=schema, orient="row")
    run = pl.DataFrame(case["run"], schema=["query_id", "doc_id", "score"], orient="row")
    values = evf.per_query(qrels, run, list(case["expected"]))
    for metric, by_query in case["expected"].items():
        assert dict(values.select("query_id", metric).rows()) == pytest.approx(by_query, abs=1e-12)


Topics = dict[str, set[str]]


def gained(order: list[str], topics: Topics, alpha: float) -> list[float]:
    """What is new at each rank."""
    seen: dict[str, int] = {}
    gains = []
    for doc in order:
        has = topics.get(doc, set())
        gains.append(sum((1 - alpha) ** seen.get(s, 0) for s in sorted(has)))
        seen |= {s: seen.get(s, 0) + 1 for s in has}
    return gains


def best_list(topics: Topics, alpha: float) -> list[str]:
    """The greedy list: at each rank what gains most, the greater doc_id among equals."""
    order: list[str] = []
    while left := sorted(topics.keys() - {*order}, reverse=True):
        gain = {doc: gained([*order, doc], topics, alpha)[-1] for doc in left}
        order.append(max(left, key=lambda doc: gain[doc]))
    return order


def by_hand(
    rows: list[tuple[str, str, int]], order: list[str], alpha: float, k: int
) -> dict[str, float]:
    relevant = [(doc, s) for doc, s, grade in rows if grade > 0]
    topics = {doc: {s for d, s in relevant if d == doc} for doc, _ in relevant}
    subtopics = sorted({s for _, s in relevant})
    n = len(subtopics) or 1

    def discounted(docs: list[str], discount: list[float]) -> float:
        return sum(g * d for g, d in zip(gained(docs, topics, alpha), discount, strict=False))

    def precision(subtopic: str) -> float:
        hits, total = 0, 0.0
        for i, doc in enumerate(order, 1):
            if subtopic in topics.get(doc, set()):
                hits += 1
                total += hits / i
        return total / sum(s == subtopic for _, s in relevant)

    log = [1 / math.log2(i + 1) for i in range(1, k + 1)]
    one = [1 / i for i in range(1, k + 1)]
    fading = [0.5 ** (i - 1) for i in range(1, 200)]
    most = [(1 - alpha) ** (i - 1) for i in range(1, k + 1)]
    ideal = best_list(topics, alpha)
    top = set().union(*(topics.get(doc, set()) for doc in order[:k]))
    whole = {
        name: discounted(ideal, d) or 1
        for name, d in (("log", log), ("one", one), ("fading", fading))
    }
    return {
        f"alpha_dcg(alpha={alpha})@{k}": discounted(order, log)
        / n
        / sum(a * b for a, b in zip(most, log, strict=True)),
        f"alpha_ndcg(alpha={alpha})@{k}": discounted(order, log) / whole["log"],
        f"err_ia(alpha={alpha})@{k}": discounted(order, one)
        / n
        / sum(a * b for a, b in zip(most, one, strict=True)),
        f"nerr_ia(alpha={alpha})@{k}": discounted(order, one) / whole["one"],
        f"nrbp(alpha={alpha})": discounted(order, fading) * (1 - (1 - alpha) * 0.5) / n,
        f"nnrbp(alpha={alpha})": discounted(order, fading) / whole["fading"],
        "ap_ia": sum(map(precision, subtopics)) / n,
        f"p_ia@{k}": sum(len(topics.get(doc, set())) for doc in order[:k]) / k / n,
        f"st_recall@{k}": len(top) / n,
    }


@some
@given(SEEDS, st.sampled_from([0.5, 0.25, 1.0, 0.0]), st.sampled_from([1, 2, 5, 20]))
def test_values_are_those_worked_out_document_by_document(seed: int, alpha: float, k: int) -> None:
    qrels, run = collection(seed)
    for (query,), of_query in qrels.group_by("query_id"):
        docs = run.filter(query_id=query)
        order = docs.sort("score", "doc_id", descending=True)["doc_id"].to_list()
        expected = by_hand(
            of_query.select("doc_id", "subtopic", "relevance").rows(), order, alpha, k
        )
        values = evf.per_query(qrels, run, list(expected)).filter(query_id=query)
        assert values.drop("query_id").row(0, named=True) == pytest.approx(expected, abs=1e-12)


@some
@given(SEEDS, SEEDS)
def test_the_order_of_rows_and_the_names_of_subtopics_change_no_bit(made: int, seed: int) -> None:
    qrels, run = collection(made)
    values = evf.per_query(qrels, run, VARIED)
    mixed = [frame.sample(fraction=1, shuffle=True, seed=seed) for frame in (qrels, run)]
    assert evf.per_query(*mixed, VARIED).equals(values)
    renamed = qrels.with_columns(pl.format("intent {}", 9 - pl.col("subtopic").cast(pl.Int64)))
    renamed = renamed.select("query_id", "doc_id", "relevance", subtopic_id="literal")
    other = evf.per_query(renamed, run, VARIED)
    difference = (other.drop("query_id") - values.drop("query_id")).select(pl.all().abs().max())
    assert max(difference.row(0)) < 1e-12


@some
@given(SEEDS)
def test_values_are_numbers_within_the_bounds_the_metric_states(made: int) -> None:
    values = evf.per_query(*collection(made), VARIED)
    for metric in VARIED:
        low, high = parse(metric).definition.bounds
        assert values[metric].is_between(low, high or math.inf).all(), metric


@settings(max_examples=4, deadline=None)
@given(SEEDS)
def test_plans_prepared_qrels_and_systems_give_the_same_values(made: int) -> None:
    qrels, run = collection(made)
    values = evf.per_query(qrels, run, BY_SUBTOPIC)
    prepared = evf.prepare(qrels)
    assert evf.per_query(prepared, run, BY_SUBTOPIC).equals(values)
    for given_qrels in (qrels.lazy(), prepared):
        plan = evf.per_query(given_qrels, run.lazy(), BY_SUBTOPIC)
        assert isinstance(plan, pl.LazyFrame)
        difference = plan.collect().drop("query_id") - values.drop("query_id")
        assert max(difference.select(pl.all().abs().max()).row(0)) < 1e-12
    both = pl.concat([run.with_columns(system=pl.lit(name)) for name in "st"])
    alone = evf.per_query(qrels, both, BY_SUBTOPIC).filter(system="s").drop("system")
    assert alone.equals(values)


def test_the_greater_document_goes_first_where_two_gain_the_same() -> None:
    """The greedy list is c, then b; a and b together cover more, so that their list exceeds 1."""
    qrels = subtopic_qrels_of("a/1:1 a/2:1 b/3:1 b/4:1 c/2:1 c/3:1")
    values = evf.evaluate(qrels, run_of("a b c"), "alpha_ndcg(alpha=1)@2").metrics
    expected = (2 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert values["alpha_ndcg(alpha=1)@2"] == pytest.approx(expected)


def test_a_plan_can_be_sent_elsewhere() -> None:
    qrels, run = collection(1)
    sent = evf.per_query(qrels.lazy(), run.lazy(), ["alpha_ndcg@3", "ap_ia"]).serialize()
    plan = pl.LazyFrame.deserialize(io.BytesIO(sent))
    assert plan.collect().height == 3


def test_other_metrics_take_the_highest_grade_over_the_subtopics() -> None:
    by_subtopic = subtopic_qrels_of("a/1:2 a/2:1 b/1:0 b/2:1 c/1:-1")
    plain = {"q": {"a": 2, "b": 1, "c": -1}}
    metrics = ["ndcg@10", "map", "judged@3", "infap", "num_rel"]
    run = run_of("c b x a")
    got, expected = (evf.evaluate(qrels, run, metrics).metrics for qrels in (by_subtopic, plain))
    assert got == expected


def test_the_judged_frame_lists_a_documents_judgements() -> None:
    judged = evf.judge(subtopic_qrels_of("a/2:1 a/1:0"), run_of("a"))
    assert judged["relevance"].to_list() == [1]
    assert judged["subtopics"].to_list() == [
        [{"subtopic": "1", "relevance": 0}, {"subtopic": "2", "relevance": 1}]
    ]


@pytest.mark.parametrize("metric", BY_SUBTOPIC)
def test_qrels_without_subtopics_are_refused(metric: str) -> None:
    for qrels in ({"q": {"a": 1}}, pl.LazyFrame({"qid": ["q"], "docno": ["a"], "rel": [1]})):
        with pytest.raises(MetricError, match=r"needs qrels that judge by subtopic.*'subtopic'"):
            evf.per_query(qrels, {"q": {"a": 1.0}}, metric)


def test_a_judgement_that_stands_twice_for_a_subtopic_is_refused() -> None:
    qrels = subtopic_qrels_of("a/1:1 a/1:0")
    with pytest.raises(RowError, match="subtopic"):
        evf.evaluate(qrels, run_of("a"), "ap_ia")


@pytest.mark.parametrize("metric", ["alpha_ndcg(alpha=2)@5", "alpha_dcg", "nrbp(beta=1)", "p_ia"])
def test_impossible_parameters_are_refused(metric: str) -> None:
    with pytest.raises(MetricError):
        parse(metric)


def test_a_metric_by_subtopic_reads_the_subtopics_of_trec_qrels(tmp_path: Path) -> None:
    """Without being told: the second column is read for it, and stays unread for other metrics."""
    by_subtopic = tmp_path / "by_subtopic.trec"
    by_subtopic.write_text("1 a d1 1\n1 b d1 1\n1 b d2 1\n1 c d3 0\n")
    run = {"1": {"d2": 3.0, "d1": 2.0}}
    told = evf.read_qrels(by_subtopic, subtopics=True)
    metrics = ["alpha_ndcg@10", "map"]
    wanted = evf.evaluate(told, run, metrics).metrics
    assert wanted["alpha_ndcg@10"] < 1
    assert evf.evaluate(by_subtopic, run, metrics).metrics == wanted
    scored = evf.per_query(by_subtopic, run, metrics)
    assert scored.row(0) == ("1", *wanted.values())
    compared = evf.compare(by_subtopic, {"a": run, "b": {"1": ["d1"]}}, metrics, resamples=50)
    assert compared.means("alpha_ndcg@10")["a"] == wanted["alpha_ndcg@10"]
    with pytest.raises(RowError, match="subtopics=True"):
        evf.evaluate(by_subtopic, run, "map")
