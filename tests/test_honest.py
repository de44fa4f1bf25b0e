"""Honest numbers: bounds that hold, agreement by its definitions, and differences explained."""

from __future__ import annotations

import itertools
import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe.comparing.agreement import (
    kendall_tau,
    metric_agreement,
    rbo,
    run_agreement,
    system_agreement,
    tau_ap,
)
from evalframe.comparing.ap_correlation import tau_ap_b
from evalframe.comparing.compare import compare
from evalframe.comparing.explaining import explain_difference
from evalframe.comparing.honest import tie_sensitivity, unjudged_bounds
from evalframe.comparing.influence import leave_one_out
from evalframe.errors import (
    EmptyError,
    EvalframeError,
    FrameError,
    MetricError,
    OptionError,
    RowError,
)

from .cases import collection, qrels_table, run_table

METRICS = ["ndcg@3", "map", "mrr", "precision@2", "recall@3", "rbp", "err", "bpref", "judged@2"]
SEEDS = st.integers(0, 2**16)
some_collections = settings(max_examples=6, deadline=None)


def tied(seed: int) -> tuple[dict, dict]:
    """A few queries with lists of up to five documents, most of them tied."""
    rng = random.Random(seed)
    docs = "abcdefg"
    qrels = {q: {d: rng.choice([0, 0, 1, 2]) for d in rng.sample(docs, 4)} for q in "xyz"}
    run = {q: {d: rng.choice([0.0, 1.0]) for d in rng.sample(docs, 5)} for q in "xyz"}
    return qrels, run


def in_every_order(docs: dict[str, float]) -> list[list[str]]:
    """All lists that the scores allow."""
    levels = sorted({*docs.values()}, reverse=True)
    tied_docs = [[d for d in docs if docs[d] == level] for level in levels]
    each = [itertools.permutations(group) for group in tied_docs]
    return [[*itertools.chain(*groups)] for groups in itertools.product(*each)]


@some_collections
@given(SEEDS)
def test_worst_best_and_expected_are_those_of_all_orders_of_the_ties(seed: int) -> None:
    qrels, run = tied(seed)
    found = tie_sensitivity(qrels, run, METRICS, orders=400)
    for query, docs in run.items():
        orders = in_every_order(docs)
        lists = pl.concat(
            run_table({query: {d: -float(i) for i, d in enumerate(order)}}).with_columns(
                system=pl.lit(str(number))
            )
            for number, order in enumerate(orders)
        )
        everyone = evf.per_query({query: qrels[query]}, lists, METRICS)
        rows = found.per_query.filter(query_id=query).to_dicts()
        for row in rows:
            values = everyone[row["metric"]]
            assert row["worst"] == pytest.approx(values.min(), abs=1e-12), row
            assert row["best"] == pytest.approx(values.max(), abs=1e-12), row
            assert row["worst"] - 1e-12 <= row["value"] <= row["best"] + 1e-12
            slack = 4.5 * (values.std() or 0.0) / 400**0.5
            assert row["expected"] == pytest.approx(values.mean(), abs=slack + 1e-12), row
    for row in found.summary.to_dicts():
        of_metric = found.per_query.filter(metric=row["metric"])
        assert row["depend_on_ties"] == (of_metric["best"] - of_metric["worst"] > 1e-12).sum()
        for name in ("value", "worst", "best", "expected"):
            assert row[name] == pytest.approx(of_metric[name].mean(), abs=1e-12)


@some_collections
@given(SEEDS)
def test_tie_sensitivity_is_the_same_for_systems_together_and_in_any_row_order(seed: int) -> None:
    qrels, run = collection(seed, 10)
    table = run_table(run)
    both = pl.concat(
        table.with_columns(pl.col("score") * factor, system=pl.lit(name))
        for name, factor in (("x", 1.0), ("y", -1.0))
    )
    together = tie_sensitivity(qrels, both, METRICS, orders=5)
    shuffled = both.sample(fraction=1, shuffle=True, seed=seed)
    again = tie_sensitivity(qrels_table(qrels), shuffled, METRICS, orders=5)
    assert again.summary.equals(together.summary)
    alone = tie_sensitivity(qrels, table, METRICS, orders=5).summary
    columns = ["metric", "value", "worst", "best", "queries", "depend_on_ties"]
    of_x = together.summary.filter(system="x").select(columns)
    assert of_x.equals(alone.select(columns))


def test_the_expected_order_says_how_exact_it_is() -> None:
    qrels = {q: {"a": 1} for q in "uvwxyz"}
    run = {q: dict.fromkeys("abcd", 1.0) for q in qrels}
    row = tie_sensitivity(qrels, run, ["precision@1"], orders=500).summary.row(0, named=True)
    assert (row["worst"], row["best"], row["depend_on_ties"]) == (0, 1, 6)
    assert row["expected_error"] == pytest.approx((0.25 * 0.75 / 500 / 6) ** 0.5, rel=0.1)
    assert abs(row["expected"] - 0.25) < 4 * row["expected_error"]
    untied = tie_sensitivity(qrels, {q: ["a", "b"] for q in qrels}, ["mrr"], orders=3)
    assert untied.summary.select("value", "expected", "expected_error").row(0) == (1, 1, 0)
    assert "3 random orders, seed 0" in repr(untied)
    with pytest.raises(OptionError, match="orders=1 must be a whole number, 2 or more"):
        tie_sensitivity(qrels, run, orders=1)


def test_scores_that_only_float32_ties_are_ties_there() -> None:
    run = {"q": {"a": 1.0, "x": 1.00000001}}
    for dtype, depends in ((pl.Float64, 0), (pl.Float32, 1)):
        found = tie_sensitivity({"q": {"a": 1}}, run, ["mrr"], score_dtype=dtype, orders=4)
        assert found.summary["depend_on_ties"].item() == depends


@some_collections
@given(SEEDS, st.sampled_from([1, 3]))
def test_any_judgement_of_the_unjudged_lies_within_the_bounds(seed: int, highest: int) -> None:
    """For metrics that are not relative to all relevant documents; rbp is where grades are."""
    metrics = ["precision@3", "mrr", "dcg@4", "success@2", "err", *(["rbp"] * (highest == 1))]
    qrels, run = collection(seed, 8)
    qrels = {q: {d: min(max(g, 0), highest) for d, g in of.items()} for q, of in qrels.items()}
    found = unjudged_bounds(qrels, run, metrics, grade=highest).per_query
    rng = random.Random(seed)
    for _ in range(3):
        guessed = {
            q: {d: rng.randint(0, highest) for d in run.get(q, {})} | docs
            for q, docs in qrels.items()
        }
        values = evf.per_query(guessed, run, metrics).unpivot(
            metrics, index="query_id", variable_name="metric"
        )
        both = found.join(values, on=["query_id", "metric"])
        assert both.height == found.height
        assert (both["value"] >= both["none_relevant"] - 1e-12).all()
        assert (both["value"] <= both["all_relevant"] + 1e-12).all()


def test_bounds_by_hand() -> None:
    """x is unjudged at 1, a relevant at 2, n not relevant at 3, y unjudged at 4; b is missed."""
    qrels = {"q": {"a": 1, "b": 1, "n": 0}}
    run = {"q": ["x", "a", "n", "y"]}
    found = unjudged_bounds(qrels, run, ["precision@2", "map", "rbp(p=0.5)", "recall@2"])
    rows = {row["metric"]: row for row in found.summary.to_dicts()}
    wanted = {
        "precision@2": (0.5, 1.0, 0.5, 0.5, 0.5),
        "map": (0.25, (1 + 1 + 3 / 4) / 4, 0.6875 - 0.25, 0.5, 0.5),
        "rbp(p=0.5)": (0.25, 0.5 + 0.25 + 1 / 16, 0.5625, 0.5, 0.5),
        "recall@2": (0.5, 2 / 3, 1 / 6, 0.5, 0.5),
    }
    names = ("none_relevant", "all_relevant", "residual", "condensed", "judged")
    for metric, values in wanted.items():
        assert tuple(rows[metric][name] for name in names) == pytest.approx(values)
    assert "grade 1" in repr(found)


@some_collections
@given(SEEDS)
def test_none_relevant_and_condensed_are_the_usual_values(seed: int) -> None:
    qrels, run = collection(seed, 10)
    both = pl.concat(run_table(run).with_columns(system=pl.lit(s)) for s in ("x", "y"))
    for queries in ("judged", "both"):
        found = unjudged_bounds(qrels, both, METRICS, queries=queries).summary
        usual = evf.evaluate(qrels, both, METRICS, queries=queries)
        pairs = found.join(usual.summary, on=["system", "metric"])
        assert pairs.height == 2 * len(METRICS)
        assert pairs["none_relevant"].to_list() == pytest.approx(
            pairs["value"].to_list(), abs=1e-12
        )
        assert (pairs["queries"] == pairs["queries_right"]).all()
        every = unjudged_bounds(qrels, both, METRICS, queries=queries).per_query
        assert every.null_count().sum_horizontal().item() == 0
    condensed = evf.evaluate(qrels, run, METRICS, judged_only=True).metrics
    alone = unjudged_bounds(qrels, run, METRICS).summary
    assert dict(alone.select("metric", "condensed").rows()) == pytest.approx(condensed)


def test_residual_of_rbp_is_that_of_its_own_metric() -> None:
    """With a list so long that what follows it weighs nothing."""
    docs = [f"d{i:03}" for i in range(300)]
    qrels = {"q": dict.fromkeys(docs[::3], 1) | dict.fromkeys(docs[1::3], 0)}
    found = unjudged_bounds(qrels, {"q": docs}, ["rbp"]).summary["residual"].item()
    own = evf.evaluate(qrels, {"q": docs}, ["rbp_resid"]).metrics["rbp_resid"]
    assert found == pytest.approx(own, abs=1e-12)


def test_a_grade_below_the_level_of_relevance_is_refused() -> None:
    with pytest.raises(OptionError, match="at least 2"):
        unjudged_bounds({"q": {"a": 1}}, {"q": ["a"]}, ["mrr"], grade=1, rel=2)


def brute_tau_ap(truth: list[float], order: list[int]) -> float:
    total = 0.0
    for i in range(1, len(order)):
        above = [0.5 if truth[j] == truth[order[i]] else truth[j] > truth[order[i]]
                 for j in order[:i]]  # fmt: skip
        total += sum(above) / i
    return 2 * total / (len(order) - 1) - 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tau_ap_is_its_definition_and_the_mean_over_orders_of_ties(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 5))
    values = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    truth, other = data.draw(values), data.draw(values)
    if len({*truth}) < 2 or len({*other}) < 2:
        assert tau_ap(truth, other) is None
        assert kendall_tau(truth, other) is None
        return
    orders = in_every_order(dict(enumerate(other)))
    mean = sum(brute_tau_ap(truth, order) for order in orders) / len(orders)
    assert tau_ap(truth, other) == pytest.approx(mean, abs=1e-12)
    assert tau_ap(truth, truth) == 1 or len({*truth}) < n
    if len({*other}) == n:
        assert tau_ap([-v for v in other], other) == pytest.approx(-1)


def test_tau_ap_b_is_that_of_its_authors() -> None:
    """The example that their package ircor prints: both lists in fifths."""
    x = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
    y = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]
    fifths = [round(value * 5) for value in y]
    assert tau_ap(x, y) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap(x, fifths) == pytest.approx(0.6074515, abs=5e-8)
    found = tau_ap_b([round(value * 5) for value in x], fifths)
    assert found == pytest.approx(0.6269841, abs=5e-8)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=2, max_size=7))
def test_tau_ap_b_is_symmetric_and_1_for_a_list_beside_itself(pairs: list) -> None:
    """And without ties the mean of tau_ap both ways."""
    x, y = ([*side] for side in zip(*pairs, strict=True))
    assert tau_ap_b(x, y) == tau_ap_b(y, x)
    if len({*x}) < 2 or len({*y}) < 2:
        assert tau_ap_b(x, y) is None
        return
    assert tau_ap_b(x, x) == 1
    assert tau_ap_b(x, [-value for value in x]) == -1
    places = [*range(len(y))]
    order = sorted(places, key=lambda i: (y[i], i))
    there, back = tau_ap(places, order), tau_ap(order, places)
    assert tau_ap_b(places, order) == pytest.approx((there + back) / 2)


def brute_rbo(first: list, second: list, p: float) -> float:
    """Equation 32 of Webber, Moffat and Zobel, term by term."""
    short, long = sorted([first, second], key=len)
    s, l = len(short), len(long)  # noqa: E741
    x = [len({*long[:d]} & {*short[:d]}) for d in range(l + 1)]
    agreed = sum(x[d] / d * p**d for d in range(1, l + 1))
    beyond = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (agreed + beyond) + ((x[l] - x[s]) / l + x[s] / s) * p**l


LISTS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=10, unique=True)


@settings(max_examples=40, deadline=None)
@given(LISTS, LISTS, st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_its_equation(first: list[str], second: list[str], p: float) -> None:
    assert rbo(first, second, p) == pytest.approx(brute_rbo(first, second, p), abs=1e-12)
    assert rbo(first, second, p) == pytest.approx(rbo(second, first, p), abs=1e-12)
    assert rbo(first, first, p) == pytest.approx(1)
    found = run_agreement({"q": first}, {"q": second}, p=p)
    common = len({*first} & {*second})
    assert found.row(0) == ("q", len(first), len(second), common, pytest.approx(
        brute_rbo(first, second, p), abs=1e-12))  # fmt: skip


def test_runs_agree_by_query_and_a_query_that_one_lacks_agrees_in_nothing() -> None:
    a = {"1": {"a": 1.0, "b": 1.0}, "2": {"x": 1.0}}
    found = run_agreement(a, {"1": ["b", "a", "c"], "3": ["x"]}, depth=2)
    assert found.select("query_id", "n_a", "n_b", "common").rows() == [
        ("1", 2, 2, 2), ("2", 1, 0, 0), ("3", 0, 1, 0)]  # fmt: skip
    assert found["rbo"].to_list() == pytest.approx([1, 0, 0])


def compared(**options):
    qrels = {str(q): {"a": 1, "b": 1} for q in range(6)}
    lists = {"x": ["a", "b"], "y": ["n", "a", "b"], "z": ["b", "n", "m", "a"]}
    runs = {name: dict.fromkeys(qrels, docs) for name, docs in lists.items()}
    return compare(qrels, runs, ["mrr", "map", "num_nonrel_judged_ret"], resamples=50, **options)


def test_metrics_agree_as_they_order_systems() -> None:
    """mrr: x = z > y; map: x > z > y."""
    found = metric_agreement(compared(), ["mrr", "map"]).row(0, named=True)
    assert found["kendall_tau"] == pytest.approx((2 / 6**0.5), abs=1e-12)
    assert found["n"] == 3
    assert found["rbo"] == pytest.approx(rbo("xzy", "xzy"))
    assert metric_agreement(compared(), over="queries")["n"].to_list() == [18] * 3
    alike = system_agreement(compared(), compared())
    assert alike["tau_ap"].to_list()[:2] == [0.5, 1]
    with pytest.raises(OptionError, match="a Comparison is needed, not dict"):
        metric_agreement({})
    with pytest.raises(MetricError, match="no metric 'mpa': did you mean 'map'"):
        metric_agreement(compared(), ["mpa"])


@some_collections
@given(SEEDS)
def test_leaving_a_query_out_gives_the_mean_of_the_others(seed: int) -> None:
    qrels, run = collection(seed, 12)
    report = evf.evaluate(qrels, run, ["map", "mrr"])
    for row in leave_one_out(report).to_dicts():
        others = report.per_query.filter(pl.col("query_id") != row["query_id"])
        if others.height:
            assert row["without"] == pytest.approx(others[row["metric"]].mean(), abs=1e-12)
            assert row["influence"] == pytest.approx(row["mean"] - row["without"], abs=1e-12)
    influence = leave_one_out(report).filter(metric="map")["influence"].abs()
    assert influence.is_sorted(descending=True)


def test_one_query_can_decide_which_system_is_ahead() -> None:
    qrels = {str(q): {"a": 1} for q in range(4)}
    good = {q: ["a"] for q in qrels}
    runs = {
        "x": good | {"1": ["n", "a"], "2": ["n", "a"], "3": ["n", "a"]},
        "y": good | {"0": ["n"]} | {"1": ["n", "a"], "2": ["n", "a"], "3": ["a"]},
    }
    found = leave_one_out(compare(qrels, runs, ["mrr"], resamples=50))
    assert found.filter("flips")["query_id"].to_list() == ["0"]
    assert found["difference"].unique().to_list() == [0.125]
    assert found.row(0, named=True)["without"] == pytest.approx(-0.5 / 3)


RUN = {
    "1": {"a": 2.0, "x": 2.0, "b": 1.0},
    "2": {"m": 2.0, "c": 1.00000001, "d": 1.0},
    "3": {"y": 1.0, "e": 0.5},
}
QRELS = {"1": {"a": 1, "b": 3}, "2": {"d": 1, "c": 0}, "3": {"e": 2, "z": 0}, "4": {"f": 1}}


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"ties": "doc_asc"}, ["ties"]),
        ({"score_dtype": pl.Float32}, ["score_dtype"]),
        ({"queries": "both"}, ["queries"]),
        ({"rel": 2}, ["rel"]),
        ({"depth": 1, "judged_only": True}, ["judged_only", "depth"]),
        (
            {"rel": 2, "ties": "doc_asc", "score_dtype": pl.Float32, "queries": "positive"},
            ["rel", "ties", "score_dtype", "queries"],
        ),
    ],
)
def test_settings_that_differ_are_named_and_their_changes_add_up(options, steps) -> None:
    metrics = ["mrr", "ndcg@2", "map"]
    a, b = evf.evaluate(QRELS, RUN, metrics), evf.evaluate(QRELS, RUN, metrics, **options)
    found = explain_difference(a, b)
    assert found.steps["step"].unique(maintain_order=True).to_list() == steps
    for metric in metrics:
        changes = found.steps.filter(metric=metric)["change"].sum()
        assert changes == pytest.approx(b.metrics[metric] - a.metrics[metric], abs=1e-12)
        of_queries = found.per_query.filter(metric=metric)
        for row in of_queries.drop_nulls("difference").to_dicts():
            assert sum(row[s] for s in steps) == pytest.approx(row["difference"], abs=1e-12)
            assert (row["reason"] is None) == (abs(row["difference"]) < 1e-12)
            assert row["reason"] is None or row["reason"] in steps
    assert found.summary["left_over"].abs().max() < 1e-12
    assert found.candidates is None


def test_reasons_are_given_by_query() -> None:
    a = evf.evaluate(QRELS, RUN, ["mrr"])
    b = evf.evaluate(QRELS, RUN, ["mrr"], ties="doc_asc", score_dtype=pl.Float32, queries="both")
    reasons = dict(explain_difference(a, b).per_query.select("query_id", "reason").rows())
    assert reasons == {"1": "ties", "2": None, "3": None, "4": "only in a"}
    by_trec = evf.evaluate(QRELS, RUN, ["mrr"], score_dtype=pl.Float32)
    reasons = dict(explain_difference(a, by_trec).per_query.select("query_id", "reason").rows())
    assert reasons["2"] == "score_dtype"


def test_other_runs_qrels_and_formulas_are_steps_of_their_own() -> None:
    a = evf.evaluate(QRELS, RUN, ["ndcg@2"])
    b = evf.evaluate(
        QRELS | {"4": {"g": 1}, "5": {"h": 1}}, RUN | {"3": {"e": 1.0}}, ["ndcg(gain=exp)@2"]
    )
    found = explain_difference(a, b)
    assert found.steps.select("step", "from", "to").rows() == [
        ("run", "8 rows", "7 rows"),
        ("qrels", "PreparedQrels(4 queries, 7 judgements)",
         "PreparedQrels(5 queries, 8 judgements)"),
        ("formula", "ndcg@2", "ndcg(gain=exp)@2"),
    ]  # fmt: skip
    reasons = dict(found.per_query.select("query_id", "reason").rows())
    assert reasons["3"] == "run"
    assert reasons["5"] == "only in b"
    assert found.summary["left_over"].item() == pytest.approx(0)
    same = explain_difference(a, a)
    assert same.steps.height == 0
    assert same.per_query["reason"].null_count() == 4


BOTH = {"queries": "both", "ties": "doc_asc"}


@pytest.mark.parametrize(
    ("options", "asked", "changed", "shape"),
    [
        ({"queries": "both"}, "map", "queries=both", "means"),
        ({"ties": "doc_asc"}, "mrr", "ties=doc_asc", "means"),
        ({"score_dtype": pl.Float32}, "mrr", "score_dtype=Float32", "nested"),
        ({"rel": 2}, "map", "rel=2", "means"),
        ({}, "ndcg(gain=exp)@2", "ndcg@2 as ndcg(gain=exp)@2", "means"),
        ({}, "ndcg(gain=exp)@2", "ndcg@2 as ndcg(gain=exp)@2", "long"),
        (BOTH, "mrr", "queries=both, ties=doc_asc", "means"),
        (BOTH, "mrr", "queries=both, ties=doc_asc", "wide"),
        (BOTH, "mrr", "queries=both, ties=doc_asc", "long"),
        ({}, "mrr", "nothing", "wide"),
    ],
)
def test_numbers_of_another_tool_are_traced_to_its_settings(options, asked, changed, shape) -> None:
    name = "ndcg@2" if asked.startswith("ndcg") else asked
    ours = evf.evaluate(QRELS, RUN, [name, "precision@2"])
    other = evf.evaluate(QRELS, RUN, [asked, "P_2"], **options)
    wide = other.per_query.rename({asked: name}, strict=False)
    numbers = {
        "means": {name: other.metrics[asked], "P_2": other.metrics["P_2"]},
        "nested": {r.pop("query_id"): r for r in wide.to_dicts()},
        "wide": wide.rename({"query_id": "qid"}).to_pandas(),
        "long": wide.unpivot(index="query_id", variable_name="metric").lazy(),
    }[shape]
    found = explain_difference(ours, numbers)
    best = found.candidates.row(0, named=True)
    assert best["changed"] == changed
    assert best["fitting"] == best["numbers"]
    assert found.summary["left_over"].abs().max() < 1e-9
    assert found.summary["metric"].to_list() == [name, "P_2"]


def test_rounded_numbers_are_the_same_within_their_decimals() -> None:
    ours = evf.evaluate(QRELS, RUN, ["ndcg@2", "map"])
    rounded = {name: round(value, 4) for name, value in ours.metrics.items()}
    found = explain_difference(ours, rounded)
    assert found.candidates["changed"].first() == "nothing"
    assert "numbers within 5e-05 count as the same" in repr(found)
    assert explain_difference(ours, {"map": 0.9}).candidates["fitting"].max() == 0
    off = explain_difference(ours, rounded | {"map": rounded["map"] + 1e-3}, tolerance=1e-6)
    assert off.candidates["fitting"].max() < 2
    assert off.summary.filter(metric="map")["left_over"].item() != 0


def test_a_query_that_no_setting_explains_is_left_over() -> None:
    ours = evf.evaluate(QRELS, RUN, ["mrr"])
    theirs = {q: {"mrr": v} for q, v in ours.per_query.rows()} | {"all": {"mrr": 0.0}}
    theirs["3"]["mrr"] = 0.123
    theirs["9"] = {"mrr": 1.0}
    found = explain_difference(ours, theirs)
    reasons = dict(found.per_query.select("query_id", "reason").rows())
    assert reasons == {"1": None, "2": None, "3": "left over", "4": None, "9": "only in b"}


def test_what_cannot_be_explained_is_refused() -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr"])
    with pytest.raises(MetricError, match="no metric in common"):
        explain_difference(report, evf.evaluate(QRELS, RUN, ["map", "ndcg"]))
    with pytest.raises(MetricError, match="none of quality is a metric's name here"):
        explain_difference(report, {"quality": 0.5})
    assert explain_difference(report, {"quality": 0.5}, {"quality": "mrr"}).summary.height == 1
    with pytest.raises(FrameError, match="is no number: 'x'"):
        explain_difference(report, {"mrr": "x"})
    with pytest.raises((EmptyError, FrameError)):
        explain_difference(report, {})
    with pytest.raises(OptionError, match="report_a must be a Report"):
        explain_difference({"mrr": 1.0}, report)
    with pytest.raises(EvalframeError, match="no query_id"):
        explain_difference(report, pl.DataFrame({"mrr": [1.0]}))


def test_a_report_explains_its_own_numbers_whatever_their_summary() -> None:
    """A geometric mean or a sum pasted back leaves nothing over, of reports too."""
    qrels, run = collection(3)
    names = ["gm_map", "gm_bpref", "num_rel_ret", "map"]
    report = evf.evaluate(qrels, run, names)
    found = explain_difference(report, report.metrics)
    assert found.candidates["changed"][0] == "nothing"
    assert found.candidates["fitting"][0] == 4
    assert dict(found.summary.select("metric", "value_a").rows()) == pytest.approx(report.metrics)
    assert found.summary["left_over"].to_list() == pytest.approx([0.0] * 4, abs=1e-12)
    other = evf.evaluate(qrels, run, names, ties="doc_asc", queries="both")
    steps = explain_difference(report, other).steps.filter(step="queries")
    assert dict(steps.select("metric", "after").rows()) == pytest.approx(other.metrics)
    formula = explain_difference(report, other, {"map": "gm_map"}).summary.row(0, named=True)
    assert formula["value_a"] == pytest.approx(report.metrics["map"])
    assert formula["value_b"] == pytest.approx(other.metrics["gm_map"])
    assert formula["left_over"] == 0.0


def test_arithmetic_means_of_other_summaries_are_said_to_be_so() -> None:
    qrels, run = tied(1)
    note = "means are arithmetic, also of what evaluate sums up otherwise: gm_map (geometric mean)"
    assert note in tie_sensitivity(qrels, run, ["gm_map", "map"], orders=2).notes
    assert note in repr(unjudged_bounds(qrels, run, ["gm_map", "map"]))
    assert note in repr(compare(qrels, {"x": run}, ["gm_map", "map"]))
    assert "arithmetic" not in repr(compare(qrels, {"x": run}, ["map"]))


@pytest.mark.parametrize(
    ("numbers", "error"),
    [
        (pl.DataFrame({"query_id": ["q"], "mrr": [None]}, schema={"query_id": pl.String,
          "mrr": pl.Float64}), "no numbers"),
        ({"q": {"mrr": 1.0}, "mrr": 1.0}, "mix metric"),
        ({"mrr": float("nan")}, "no finite number"),
        ({"q": {"mrr": float("inf")}}, "no finite number"),
        (pl.DataFrame({"query_id": ["q"], "mrr": [float("nan")]}), "NaN or infinite"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(numbers, error: str) -> None:
    report = evf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["mrr"])
    with pytest.raises(EvalframeError, match=error):
        explain_difference(report, numbers)
    with pytest.raises(OptionError, match="tolerance"):
        explain_difference(report, {"mrr": 1.0}, tolerance=float("nan"))


def test_trec_evals_means_are_read_as_means() -> None:
    report = evf.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]}, ["mrr"])
    found = explain_difference(report, {"all": {"mrr": 0.5}})
    assert found.summary.select("value_b", "left_over").row(0) == (0.5, 0.0)


def by_subtopic() -> pl.DataFrame:
    rows = [("q", "a", "1", 1), ("q", "b", "2", 1), ("q", "c", "1", 2), ("r", "a", "1", 1)]
    schema = ["query_id", "doc_id", "subtopic", "relevance"]
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize("metric", ["st_recall@2", "alpha_ndcg@3"])
def test_orders_of_ties_are_weighed_by_subtopic(metric: str) -> None:
    """Of prepared qrels too; the bounds and the mean are those of all orders."""
    qrels = by_subtopic()
    run = {"q": dict.fromkeys("abcx", 1.0), "r": {"a": 1.0}}
    every = [
        evf.evaluate(qrels, {"q": list(order), "r": ["a"]}, [metric]).metrics[metric]
        for order in itertools.permutations("abcx")
    ]
    found = tie_sensitivity(evf.prepare(qrels), run, (m for m in [metric]), orders=400)
    assert found.summary.equals(tie_sensitivity(qrels, run, [metric], orders=400).summary)
    row = found.summary.row(0, named=True)
    assert (row["worst"], row["best"]) == pytest.approx((min(every), max(every)))
    assert abs(row["expected"] - sum(every) / len(every)) < 5 * row["expected_error"]
    assert (row["queries"], row["depend_on_ties"]) == (2, 1)


def test_an_unjudged_document_has_no_subtopic() -> None:
    run = {"q": {"x": 2.0, "a": 1.0}, "r": {"a": 1.0}}
    for qrels in (by_subtopic(), evf.prepare(by_subtopic())):
        with pytest.raises(MetricError, match="st_recall@2 counts subtopics"):
            unjudged_bounds(qrels, run, ["mrr", "st_recall@2"])
        row = unjudged_bounds(qrels, run, ["mrr"]).summary.row(0, named=True)
        assert (row["none_relevant"], row["all_relevant"]) == (0.75, 1.0)


def test_the_grade_of_the_unjudged_may_be_a_fraction() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": ["x", "a"]}
    for metrics in (["dcg@2"], (m for m in ["dcg@2"])):
        row = unjudged_bounds(qrels, run, metrics, grade=1.5).summary.row(0, named=True)
        assert row["all_relevant"] == pytest.approx(1.5 + 1 / math.log2(3))
    with pytest.raises(OptionError, match="grade must be"):
        unjudged_bounds(qrels, run, ["dcg@2"], grade=float("nan"))


@pytest.mark.parametrize("value", [None, float("nan"), "a"])
def test_rankings_are_of_numbers_and_of_ids(value: object) -> None:
    for measure in (kendall_tau, tau_ap):
        with pytest.raises(RowError, match="finite numbers"):
            measure([1.0, 2.0, 3.0], [1.0, value, 3.0])
    with pytest.raises(RowError, match="holds ids"):
        rbo([[1]], [[1]])


def test_tau_ap_of_a_list_with_ties_lies_below_1_beside_itself() -> None:
    assert tau_ap([3, 2, 2, 1], [3, 2, 2, 1]) == pytest.approx(5 / 6)
