"""Laws that every metric of the catalogue keeps, on qrels and runs that hypothesis makes."""

from __future__ import annotations

import io
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe.metrics import CATALOGUE, parse

from .cases import Qrels, Run, collection, qrels_table, run_of, run_table

SHIPPED = [
    definition
    for name, definition in CATALOGUE.items()
    if name in evf.metrics.__all__
    # Those by subtopic have laws of their own.
    and "subtopics" not in parse(definition.example).expression().meta.root_names()
]
ALL = [definition.example for definition in SHIPPED] + [
    *(f"{name}@{k}" for name in ("ndcg", "precision", "recall", "map", "judged") for k in (1, 3)),
    "ndcg(gain=exp)@3",
    "recall(rel=2)@3",
    "map(norm=min)@3",
    "rbp(p=0.5)@3",
]
SEEDS = st.integers(0, 2**16)
some_collections = settings(max_examples=6, deadline=None)


def values(qrels: Qrels, run: Run, metrics: list[str] = ALL) -> pl.DataFrame:
    return evf.per_query(qrels_table(qrels), run_table(run), metrics)


def differ_at_most(one: pl.DataFrame, other: pl.DataFrame, tolerance: float) -> bool:
    difference = one.drop("query_id") - other.drop("query_id")
    same_queries = one["query_id"].equals(other["query_id"])
    return same_queries and max(difference.select(pl.all().abs().max()).row(0)) <= tolerance


def tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = collection(seed)
    return qrels_table(qrels), run_table(run)


@some_collections
@given(SEEDS, SEEDS)
def test_the_order_of_rows_changes_no_bit(made: int, seed: int) -> None:
    qrels, run = tables(made)
    mixed = [frame.sample(fraction=1, shuffle=True, seed=seed) for frame in (qrels, run)]
    assert evf.per_query(*mixed, ALL).equals(evf.per_query(qrels, run, ALL))


@some_collections
@given(SEEDS)
def test_values_are_numbers_within_the_bounds_the_metric_states(made: int) -> None:
    frame = values(*collection(made))
    for name in ALL:
        low, high = parse(name).definition.bounds
        column = frame[name]
        assert column.is_finite().all(), name
        assert low is None or column.min() >= low, name
        assert high is None or column.max() <= high + 1e-12, name


@some_collections
@given(SEEDS)
def test_new_names_for_queries_and_documents_change_nothing(made: int) -> None:
    """Document names keep their order, which settles ties."""
    qrels, run = collection(made)
    docs = sorted({d for table in (qrels, run) for docs in table.values() for d in docs})
    new_doc = {doc: f"d{number:03}" for number, doc in enumerate(docs)}
    queries = sorted({*qrels, *run})
    new_query = {query: f"q{number:03}" for number, query in enumerate(queries)}

    def renamed(table: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        return {new_query[q]: {new_doc[d]: v for d, v in docs.items()} for q, docs in table.items()}

    before = values(qrels, run)
    after = values(renamed(qrels), renamed(run))
    assert after.drop("query_id").equals(before.drop("query_id"))


@some_collections
@given(SEEDS, SEEDS)
def test_moving_a_relevant_document_above_another_never_hurts(made: int, seed: int) -> None:
    qrels, run = collection(made)
    rng = random.Random(seed)
    before: Run = {}
    after: Run = {}
    for query in qrels.keys() & run.keys():
        grades = qrels[query]
        ranked = sorted(run[query], key=lambda d: (run[query][d], d), reverse=True)
        swaps = [
            i
            for i in range(len(ranked) - 1)
            if grades.get(ranked[i], 0) == 0 < grades.get(ranked[i + 1], 0)
        ]
        if swaps:
            i = rng.choice(swaps)
            better = [*ranked[:i], ranked[i + 1], ranked[i], *ranked[i + 2 :]]
            before |= run_of(ranked, query)
            after |= run_of(better, query)
    swapped = {query: qrels[query] for query in sorted(before)}
    change = values(swapped, after).drop("query_id") - values(swapped, before).drop("query_id")
    for name in ALL:
        gain = change[name] if parse(name).definition.better == "higher" else -change[name]
        assert gain.min() >= -1e-12, name


@some_collections
@given(SEEDS, st.integers(1, 30))
def test_an_unjudged_tail_changes_nothing_that_does_not_count_the_retrieved(
    made: int, length: int
) -> None:
    qrels, run = collection(made)
    longer = {
        query: docs | {f"unjudged {i:02}": -100.0 - i for i in range(length)}
        for query, docs in run.items()
    }
    blind = [m for m in ALL if "n_retrieved" not in parse(m).expression().meta.root_names()]
    assert len(blind) > 20
    assert values(qrels, longer, blind).equals(values(qrels, run, blind))


@some_collections
@given(SEEDS)
def test_a_cutoff_below_the_end_of_every_list_is_no_cutoff(made: int) -> None:
    cut = [d.name for d in SHIPPED if d.at == "k" and "k" in d.parameters and not d.needs_cutoff]
    assert {"ndcg", "map", "mrr", "recall"} <= set(cut)
    frame = values(*collection(made), [*cut, *(f"{name}@1000" for name in cut)])
    for name in cut:
        assert frame[name].equals(frame[f"{name}@1000"]), name


@some_collections
@given(SEEDS, st.integers(2, 4))
def test_systems_in_one_frame_score_as_they_do_alone(made: int, n: int) -> None:
    qrels, run = tables(made)
    systems = {f"s{i}": run.with_columns(pl.col("score").shuffle(i)) for i in range(n)}
    together = pl.concat(r.with_columns(system=pl.lit(name)) for name, r in systems.items())
    frame = evf.per_query(qrels, together.sample(fraction=1, shuffle=True, seed=n), ALL)
    for name, alone in systems.items():
        of_one = frame.filter(system=name).drop("system")
        assert differ_at_most(of_one, evf.per_query(qrels, alone, ALL), 1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_means_of_systems_have_the_bits_that_they_have_alone(seed: int) -> None:
    qrels, run = tables(seed)
    systems = {f"s{i}": run.with_columns(pl.col("score").shuffle(i)) for i in range(3)}
    together = pl.concat(r.with_columns(system=pl.lit(name)) for name, r in systems.items())
    found = evf.evaluate(qrels, together, ["ndcg@10", "map", "mrr"]).summary
    for name, alone in systems.items():
        of_one = evf.evaluate(qrels, alone, ["ndcg@10", "map", "mrr"]).summary
        assert found.filter(system=name).drop("system").equals(of_one)


@some_collections
@given(SEEDS)
def test_lazy_frames_give_the_same_values_as_one_plan(made: int) -> None:
    qrels, run = tables(made)
    plan = evf.per_query(qrels.lazy(), run.lazy(), ALL)
    assert isinstance(plan, pl.LazyFrame)
    eager = evf.per_query(qrels, run, ALL)
    assert differ_at_most(plan.collect(), eager, 1e-12)


POSITIVES_ONLY = [name for name in ALL if parse(name).positives_only()]


def long_lists(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Some hundred judgements for each query, beyond which sums are taken in blocks."""
    chance = random.Random(seed)
    docs = [f"d{number:03}" for number in range(700)]
    queries = [f"q{number}" for number in range(3)]
    qrels = {q: {d: chance.choice([-1, 0, 0, 1, 2, 3]) for d in docs[:600]} for q in queries}
    qrels["q none"] = {"d001": 0, "d002": -1}
    run = {q: {d: chance.choice([0.5, chance.random()]) for d in docs[100:]} for q in qrels}
    return qrels_table(qrels), run_table(run)


@some_collections
@given(SEEDS)
def test_documents_without_a_positive_grade_touch_no_bit_of_what_says_so(made: int) -> None:
    assert {"ndcg@10", "map@10", "recall@1"} < set(POSITIVES_ONLY)
    for qrels, run in (tables(made), long_lists(made)):
        alone = evf.evaluate(qrels, run, POSITIVES_ONLY)
        beside = evf.evaluate(qrels, run, [*POSITIVES_ONLY, "judged@10"])
        assert alone.per_query.equals(beside.per_query.drop("judged@10"))
        assert alone.counts.equals(beside.counts)


def test_levels_and_gains_that_reach_down_to_grade_0_are_told_apart() -> None:
    assert parse("recall(rel=1)@10").positives_only()
    assert not parse("recall(rel=0)@10").positives_only()
    assert not parse("recall@10").positives_only(rel=0)
    assert not parse("ndcg(gain={0:1,1:3})").positives_only()
    assert not parse("bpref").positives_only()


def test_a_plan_can_be_sent_elsewhere() -> None:
    qrels = pl.LazyFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    run = pl.LazyFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    sent = evf.per_query(qrels, run, ALL).serialize()
    assert pl.LazyFrame.deserialize(io.BytesIO(sent)).collect().height == 1


def test_no_metric_says_minus_zero() -> None:
    """One query is answered well, one ill, one not at all; one has nothing to find."""
    qrels = {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 1}, "d": {"x": 0}}
    run = {"a": {"x": 1.0}, "b": {"z": 1.0}, "d": {"x": 1.0}}
    judged = pl.DataFrame(
        [(q, d, r, "1") for q, docs in qrels.items() for d, r in docs.items()],
        schema=["query_id", "doc_id", "relevance", "subtopic"],
        orient="row",
    )
    names = [definition.example for definition in CATALOGUE.values()]
    values = evf.per_query(judged, run, names)
    signs = (
        values.unpivot(index="query_id").filter(pl.col("value") == 0).select(1 / pl.col("value"))
    )
    assert signs.height > 100
    assert signs.to_series().min() == float("inf")


@pytest.mark.parametrize("queries", ["judged", "positive", "both"])
@pytest.mark.parametrize("judged_only", [False, True])
def test_a_plan_counts_the_queries_that_a_frame_counts(queries: Any, judged_only: bool) -> None:
    """`q1` has a judged document, `q2` others only, `q3` nothing, `q4` nothing to find."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 0}}
    run = run_table({"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q4": {"a": 1.0}})
    how: Any = {"queries": queries, "judged_only": judged_only}
    eager = evf.per_query(qrels, run, "map", **how)
    assert_frame_equal(evf.per_query(qrels, run.lazy(), "map", **how).collect(), eager)
    counted = {"judged": 4, "positive": 3, "both": 3}
    assert eager.height == counted[queries]
