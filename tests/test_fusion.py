"""Fusion: ranx's numbers, a restatement list by list, and what every method keeps."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
import random
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe.errors import FrameError, OptionError, RowError
from evalframe.fusion.fusing import METHODS, fuse

from .cases import run_table

Runs = dict[str, dict[str, dict[str, float]]]
Scores = dict[tuple[str, str], float]
SEEDS = st.integers(0, 2**16)
some = settings(max_examples=8, deadline=None)
WEIGHTS = {"s0": 0.5, "s1": 0.3, "s2": 0.2}


def scores_of(frame: pl.DataFrame | pl.LazyFrame) -> Scores:
    return {(q, d): s for q, d, s in frame.lazy().collect().rows()}


def collection(
    seed: int, all_queries: bool = False, ties: bool = True
) -> tuple[dict[str, Any], Runs]:
    """Qrels, and three runs that lack queries and documents of each other."""
    rng = random.Random(seed)
    docs = [f"d{i:02}" for i in range(14)]

    def scored() -> dict[str, float]:
        some_docs = rng.sample(docs, rng.randint(1, 14))
        return {d: float(rng.randint(-3, 6)) if ties else rng.uniform(-3, 6) for d in some_docs}

    runs: Runs = {f"s{i}": {f"q{i % 2}": scored()} for i in range(3)}
    for run in runs.values():
        for query in ("q0", "q1", "q2", "q3"):
            if query not in run and (all_queries or rng.random() < 0.7):
                run[query] = scored()
    qrels = {
        q: {d: rng.choice([0, 1, 2]) for d in rng.sample(docs, 7)} | {"d00": 1}
        for q in ("q0", "q1", "q2", "q3")
    }
    return qrels, runs


def expected_fusions(folder: Path) -> dict[str, Any]:
    packed = (folder / "expected" / "ranx_fusion.json.gz").read_bytes()
    data: dict[str, Any] = json.loads(gzip.decompress(packed))
    return data


def test_scores_are_those_of_ranx_on_real_runs(retrieval_data: Path) -> None:
    """All of its methods but condorcet, which has a test of its own."""
    data = expected_fusions(retrieval_data)
    for key, by_query in data["fuse"].items():
        norm, method, parameters = key.split("|")
        if method == "condorcet":
            continue
        fused = fuse(
            data["runs"], method, norm=None if norm == "None" else norm, **json.loads(parameters)
        )
        expected = {(q, d): s for q, docs in by_query.items() for d, s in docs.items()}
        assert scores_of(fused) == pytest.approx(expected, abs=1e-12), key


def test_condorcet_goes_against_fewer_majorities_than_the_order_ranx_ends_with(
    retrieval_data: Path,
) -> None:
    """Its order depends on how Python's sets are ordered, so that it is not one number to equal."""
    data = expected_fusions(retrieval_data)
    fused = scores_of(fuse(data["runs"], "condorcet"))
    for query, theirs in data["fuse"]["None|condorcet|{}"].items():
        ours = {doc: score for (q, doc), score in fused.items() if q == query}
        assert ours.keys() == theirs.keys()
        places = [placed(run[query]) for run in data["runs"].values()]
        against = {"ours": 0, "theirs": 0}
        for one in ours:
            for other in ours:
                if net(one, other, places, [1.0] * 3) > 0:
                    against["ours"] += ours[one] < ours[other]
                    against["theirs"] += theirs[one] < theirs[other]
        assert against["ours"] < against["theirs"] / 4
        assert max(ours, key=ours.__getitem__) == max(theirs, key=theirs.__getitem__)


def test_condorcet_scores_are_those_of_ranx_where_majorities_leave_one_place_only(
    retrieval_data: Path,
) -> None:
    """Where a majority decides about each other document, and all of those above over those below.

    Then a document has the same place in every order that goes against no majority. In lists with
    as many draws as these it is true of 3 documents of 262, and of any order of ranx.
    """
    data = expected_fusions(retrieval_data)
    fused = scores_of(fuse(data["runs"], "condorcet"))
    found = []
    for query, theirs in data["fuse"]["None|condorcet|{}"].items():
        places = [placed(run[query]) for run in data["runs"].values()]
        for doc in theirs:
            votes = {o: net(doc, o, places, [1.0] * 3) for o in theirs if o != doc}
            above = [other for other, vote in votes.items() if vote < 0]
            below = [other for other, vote in votes.items() if vote > 0]
            if len(above) + len(below) == len(votes) and all(
                net(a, b, places, [1.0] * 3) > 0 for a in above for b in below
            ):
                found.append((fused[query, doc], theirs[doc]))
    assert len(found) == 3
    assert all(ours == scored for ours, scored in found)


def placed(scores: dict[str, float]) -> dict[str, int]:
    """The rank of each document of a list."""
    ranked = sorted(scores, key=lambda d: (scores[d], d), reverse=True)
    return {doc: i for i, doc in enumerate(ranked, 1)}


def net(one: str, other: str, places: list[dict[str, int]], weights: list[float]) -> float:
    """Votes for one document over another, less those against."""
    total = 0.0
    for place, weight in zip(places, weights, strict=True):
        a, b = place.get(one, math.inf), place.get(other, math.inf)
        total += weight * ((a < b) - (a > b))
    return total


def by_hand(runs: Runs, weights: dict[str, float]) -> dict[str, Scores]:
    """Every untrained method once more, document by document; scores as they are."""
    fused: dict[str, Scores] = {}
    for query in {q for run in runs.values() for q in run}:
        lists = {s: run.get(query, {}) for s, run in runs.items()}
        for doc in {d for scores in lists.values() for d in scores}:
            for method, score in worth(doc, lists, weights).items():
                fused.setdefault(method, {})[query, doc] = score
    return fused


def worth(doc: str, lists: dict[str, Any], weights: dict[str, float]) -> dict[str, float]:
    """What each method gives to a document of these lists, one list for each system."""
    places = {s: placed(scores) for s, scores in lists.items()}
    candidates = {d for scores in lists.values() for d in scores}
    c = len(candidates)
    having = [s for s in lists if doc in lists[s]]
    scores = [lists[s][doc] for s in having]
    weighted = [weights[s] * lists[s][doc] for s in having]
    ranks = [places[s][doc] for s in having]
    squares = sum(1 / r**2 for r in ranks)
    n = len(having)
    points = {s: c - p[doc] + 1 if doc in p else (c - len(p) + 1) / 2 for s, p in places.items()}
    duels = [
        round(net(doc, other, [*places.values()], [*weights.values()]), 9)
        for other in candidates - {doc}
    ]
    return {
        "rrf": sum(1 / (60 + r) for r in ranks),
        "isr": squares * n,
        "log_isr": squares * math.log(n),
        "logn_isr": squares * math.log(n + 0.01),
        "comb_sum": sum(scores),
        "comb_mnz": sum(scores) * n,
        "comb_anz": sum(scores) / n,
        "comb_gmnz": sum(scores) * n,
        "comb_max": max(scores),
        "comb_min": min(scores),
        "comb_med": median(scores),
        "wsum": sum(weighted),
        "wmnz": sum(scores) * sum(weights[s] for s in having),
        "mixed": sum(weighted) * math.sqrt(n),
        "rbc": sum(0.2 * 0.8 ** (r - 1) for r in ranks),
        "borda": sum(weights[s] * points[s] for s in lists),
        "condorcet": 1 + sum(1.0 if votes > 0 else 0.5 * (votes == 0) for votes in duels),
    }


UNTRAINED = [name for name, method in METHODS.items() if not method.trained]
TRAINED = [name for name, method in METHODS.items() if method.trained]
WEIGHTED = [name for name in UNTRAINED if METHODS[name].weighted]


@some
@given(SEEDS)
def test_scores_are_those_worked_out_document_by_document(made: int) -> None:
    """Queries and documents that a system lacks are lacking in its list only."""
    _, runs = collection(made)
    expected, weighted = by_hand(runs, dict.fromkeys(runs, 1.0)), by_hand(runs, WEIGHTS)
    assert expected.keys() == {*UNTRAINED}
    for method in UNTRAINED:
        fused = scores_of(fuse(runs, method, norm=None))
        assert fused == pytest.approx(expected[method], abs=1e-9), method
    for method in WEIGHTED:
        fused = scores_of(fuse(runs, method, norm=None, weights=WEIGHTS))
        assert fused == pytest.approx(weighted[method], abs=1e-9), method


def learnt_by_hand(method: str, qrels: dict[str, Any], runs: Runs) -> Scores:
    """Every trained method once more, with two segments and a window of one."""
    fused: Scores = {}
    least = math.log(0.001 / 0.999)
    borders = [0, 5, 10, 15, 20, 30, 100]
    halves = [0, 5, 15, 35]
    for run in runs.values():
        hits = {
            q: [float(qrels[q].get(d, 0) > 0) for d in sorted(docs, key=placed(docs).__getitem__)]
            for q, docs in run.items()
        }
        deepest = max(map(len, hits.values()))
        at = [[h[i] for h in hits.values() if i < len(h)] for i in range(deepest)]
        share = [sum(column) / len(column) for column in at]
        size = {q: math.ceil(len(h) / 2) for q, h in hits.items()}
        halved = [
            sum(
                sum(part) / len(part)
                for q, h in hits.items()
                if (part := h[k * size[q] :][: size[q]])
            )
            / len(qrels)
            for k in range(2)
        ]

        def between(edges: list[int], i: int, hits: Any = hits) -> float:
            a, b = next((a, b) for a, b in itertools.pairwise(edges) if a <= i < b)
            return sum(sum(h[a:b]) / (b - a) for h in hits.values()) / len(qrels)

        mean_ap = sum(
            sum(sum(h[: i + 1]) / (i + 1) for i in range(len(h)) if h[i])
            / sum(g > 0 for g in qrels[q].values())
            for q, h in hits.items()
        ) / len(qrels)
        for query, docs in run.items():
            n = len(docs)
            for doc, rank in placed(docs).items():
                i = rank - 1
                window = share[max(i - 1, 0) : min(i + 1, n - 1) + 1]
                p = between(borders, i) or 0.001
                value = {
                    "posfuse": share[i],
                    "slidefuse": sum(window) / (min(i + 1, n - 1) - max(i - 1, 0) + 1),
                    "probfuse": halved[i // size[query]] / (i // size[query] + 1),
                    "segfuse": between(halves, i) * (docs[doc] + 1),
                    "bayesfuse": math.log(p / ((1 - p) or 0.001)) - least,
                    "mapfuse": mean_ap / rank,
                }[method]
                start = least * len(runs) if method == "bayesfuse" else 0.0
                fused[query, doc] = fused.get((query, doc), start) + value
    return fused


OPTIONS: dict[str, Any] = {"slidefuse": {"w": 1}, "probfuse": {"n_segments": 2}}


@some
@given(SEEDS)
def test_trained_methods_learn_how_good_each_system_is_at_each_rank(made: int) -> None:
    qrels, runs = collection(made)
    for method in TRAINED:
        fused = fuse(runs, method, norm=None, train_qrels=qrels, **OPTIONS.get(method, {}))
        expected = learnt_by_hand(method, qrels, runs)
        assert scores_of(fused) == pytest.approx(expected, abs=1e-9), method


def test_what_is_learnt_comes_from_the_training_queries_alone() -> None:
    qrels, runs = collection(3, all_queries=True)
    some_qrels = {q: qrels[q] for q in ("q0", "q1")}
    shorter = {s: {q: run[q] for q in ("q0", "q1")} for s, run in runs.items()}
    for method in TRAINED:
        fused = fuse(runs, method, train_qrels=some_qrels)
        apart = fuse(runs, method, train_qrels=some_qrels, train_runs=shorter)
        assert fused.equals(apart)
        assert fused["query_id"].n_unique() == 4


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(SEEDS)
def test_scores_are_those_of_ranx_on_made_runs(made: int) -> None:
    """Without ties, which it orders by chance, and without queries missing, which it refuses."""
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    qrels, runs = collection(made, all_queries=True, ties=False)
    weights = list(WEIGHTS.values())
    cases: list[tuple[str, dict[str, Any]]] = [
        ("gmnz", {"gamma": 0.3}),
        ("mixed", {"weights": weights}),
        ("w_bordafuse", {"weights": weights}),
        ("probfuse", {"n_segments": 3}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, options in cases:
            theirs = [ranx.Run(run, name=name) for name, run in runs.items()]
            ours = {**options}
            if METHODS.get(method) and METHODS[method].trained:
                train = getattr(ranx.fusion, f"{method}_train")
                normalised = [ranx.normalization.min_max_norm(run) for run in theirs]
                learnt = train(ranx.Qrels(qrels), normalised, *options.values())
                expected = getattr(ranx.fusion, method)(normalised, learnt).to_dict()
                ours |= {"train_qrels": qrels}
            else:
                expected = ranx.fuse(theirs, "min-max", method, options).to_dict()
            flat = {(q, d): s for q, docs in expected.items() for d, s in docs.items()}
            assert scores_of(fuse(runs, method, **ours)) == pytest.approx(flat, abs=1e-9), method


def fused_by(method: str, runs: Any, qrels: Any, **options: Any) -> Any:
    learn = {"train_qrels": qrels} if METHODS[method].trained else {}
    return fuse(runs, method, **learn, **options)


@some
@given(SEEDS, SEEDS)
def test_neither_the_order_of_rows_nor_that_of_systems_changes_a_bit(made: int, seed: int) -> None:
    qrels, runs = collection(made)
    tables = {name: run_table(run) for name, run in runs.items()}
    names = random.Random(seed).sample(sorted(tables), 3)
    mixed = {n: tables[n].sample(fraction=1, shuffle=True, seed=seed) for n in names}
    before = {name: table.clone() for name, table in mixed.items()}
    for method in METHODS:
        for norm in ("min_max", "zmuv") if method == "comb_sum" else ("min_max",):
            one, other = (fused_by(method, runs, qrels, norm=norm) for runs in (mixed, tables))
            assert one.equals(other), method
    assert all(mixed[name].equals(before[name]) for name in mixed)


@settings(max_examples=4, deadline=None)
@given(SEEDS)
def test_plans_and_one_frame_of_systems_give_the_same_run(made: int) -> None:
    qrels, runs = collection(made)
    tables = {name: run_table(run) for name, run in runs.items()}
    plans = {name: table.lazy() for name, table in tables.items()}
    whole = pl.concat(t.with_columns(system=pl.lit(name)) for name, t in tables.items())
    for method in METHODS:
        for norm in ("min_max", "borda"):
            fused = scores_of(fused_by(method, tables, qrels, norm=norm))
            plan = fused_by(method, plans, qrels, norm=norm)
            assert isinstance(plan, pl.LazyFrame)
            assert scores_of(plan) == pytest.approx(fused, abs=1e-12), method
            one = fused_by(method, whole, qrels, norm=norm)
            assert scores_of(one) == pytest.approx(fused, abs=1e-12), method


def test_a_plan_can_be_sent_elsewhere() -> None:
    _, runs = collection(5)
    plan = fuse({name: run_table(run).lazy() for name, run in runs.items()}, "comb_mnz")
    sent = pl.LazyFrame.deserialize(io.BytesIO(plan.serialize()))
    assert scores_of(sent) == scores_of(fuse(runs, "comb_mnz"))


def test_the_fused_run_stands_in_order_and_can_be_cut() -> None:
    _, runs = collection(7)
    fused = fuse(runs, "comb_max")
    in_order = fused.sort("query_id", "score", "doc_id", descending=[False, True, True])
    assert fused.equals(in_order)
    top = fused.group_by("query_id", maintain_order=True).head(3)
    assert fuse(runs, "comb_max", depth=3).equals(top.select(fused.columns))


def test_documents_at_the_same_ranks_of_different_systems_are_tied() -> None:
    lists = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    runs = {f"s{i}": {"q": docs} for i, docs in enumerate(lists)}
    assert fuse(runs, "rrf")["score"].n_unique() == 1


def test_distances_are_turned_round_for_methods_that_read_ranks_too() -> None:
    near = {"q": {"a": 0.1, "b": 0.9}}
    fused = fuse({"s": near, "t": near}, "rrf", norm="min_max_inverted")
    assert fused["doc_id"].to_list() == ["a", "b"]


def test_weights_go_by_name_or_by_the_order_of_runs() -> None:
    _, runs = collection(2)
    named = fuse(runs, "wsum", weights=WEIGHTS)
    assert fuse(runs, "wsum", weights=list(WEIGHTS.values())).equals(named)
    assert fuse(list(runs.values()), "wsum", weights=[0.5, 0.3, 0.2]).equals(named)


def test_a_fused_run_is_evaluated_like_any_run() -> None:
    qrels, runs = collection(4)
    assert 0 < evf.evaluate(qrels, fuse(runs), "ndcg@10").metrics["ndcg@10"] <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rff"}, "did you mean 'rrf'"),
        ({"method": "rrf", "norm": "minmx"}, "did you mean 'minmax'"),
        ({"method": "rrf", "phi": 0.8}, "no parameter 'phi'; it has k"),
        ({"method": "rrf", "k": -1}, "k must be"),
        ({"method": "rrf", "depth": 0}, "depth=0 must be"),
        ({"method": "rbc", "phi": 1.5}, "phi must be"),
        ({"method": "rrf", "weights": [1, 2]}, "has no weights; those with weights are wsum"),
        ({"method": "wsum", "weights": [1]}, "1 weights for 2 runs"),
        ({"method": "wsum", "weights": {"s": 1}}, "lack \\['t'\\]"),
        ({"method": "wsum", "weights": {"s": 1, "t": 1, "u": 1}}, "name \\['u'\\]"),
        ({"method": "probfuse"}, "give train_qrels"),
        ({"method": "probfuse", "n_segments": 0, "train_qrels": {"q": {"a": 1}}}, "n_segments"),
    ],
)
def test_what_is_not_offered_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        fuse({"s": {"q": {"a": 1.0}}, "t": {"q": {"b": 1.0}}}, **options)


def test_runs_that_cannot_be_fused_are_refused() -> None:
    with pytest.raises(FrameError, match="fusion needs several runs"):
        fuse(run_table({"q": {"a": 1.0}}))
    with pytest.raises(FrameError, match="no runs"):
        fuse({})
    with pytest.raises(RowError, match=r"run 't'.*NaN"):
        fuse({"s": {"q": {"a": 1.0}}, "t": {"q": {"a": float("nan")}}})
    several = run_table({"q": {"a": 1.0, "b": 2.0}}).with_columns(system=pl.Series(["x", "y"]))
    with pytest.raises(FrameError, match="holds several systems"):
        fuse({"s": several, "t": {"q": {"a": 1.0}}})
