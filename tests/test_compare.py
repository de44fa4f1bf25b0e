"""Comparisons: aligned by query whatever the rows' order, worked by hand with scipy, gated."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import evalframe as evf
from evalframe.comparing.compare import compare, compare_frames
from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.influence import leave_one_out
from evalframe.comparing.regression import assert_no_regression
from evalframe.errors import (
    ColumnError,
    EmptyError,
    EvalframeError,
    FrameError,
    MetricError,
    OptionError,
    RegressionError,
    RowError,
)
from evalframe.samples.scoring import evaluate_rag

from .cases import collection, qrels_table, run_table

METRICS = ["ndcg@10", "map", "mrr", "precision@5"]
SYSTEMS = ["org_convdr", "org_manual_ance", "org_manual_bm25"]
PAIRS = [(0, 1), (0, 2), (1, 2)]
quick = {"resamples": 200}


def frame(values: dict[str, float | None], metric: str = "m") -> pl.DataFrame:
    rows = {"query_id": list(values), metric: list(values.values())}
    return pl.DataFrame(rows, schema={"query_id": pl.String, metric: pl.Float64})


@pytest.fixture(scope="module")
def cast(retrieval_data: Path) -> tuple[Path, dict[str, Path]]:
    folder = retrieval_data / "treccast2021"
    qrels = folder / "trec-cast-qrels-docs.2021.qrel.gz"
    return qrels, {name: folder / f"{name}.run.gz" for name in SYSTEMS}


def by_hand(qrels: Path, runs: dict[str, Path], metric: str) -> np.ndarray:
    """queries × systems, put together by a dict."""
    reports = [evf.evaluate(qrels, run, [metric]).per_query for run in runs.values()]
    values = [dict(report.rows()) for report in reports]
    return np.array([[of[query] for of in values] for query in sorted(values[0])])


def holm_by_hand(p: list[float]) -> list[float]:
    corrected, worst = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1, (len(p) - rank) * p[place]))
        corrected[place] = worst
    return corrected


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_three_real_runs_give_the_table_that_scipy_gives_by_hand(cast, test: str) -> None:
    qrels, runs = cast
    found = compare(qrels, runs, METRICS, test=test, interval="t", family="metric")
    assert found.pairs.select("a", "b", "metric").rows() == [
        (SYSTEMS[i], SYSTEMS[j], metric) for metric in METRICS for i, j in PAIRS
    ]
    for metric in METRICS:
        values = by_hand(qrels, runs, metric)
        n = len(values)
        rows = found.pairs.filter(metric=metric)
        p = []
        for (i, j), row in zip(PAIRS, rows.to_dicts(), strict=True):
            a, b = values[:, i], values[:, j]
            difference = a - b
            p.append(
                {
                    "t": lambda a=a, b=b: stats.ttest_rel(a, b).pvalue,
                    "wilcoxon": lambda a=a, b=b: stats.wilcoxon(a, b).pvalue,
                    "sign": lambda a=a, b=b: (
                        stats.binomtest(int((a > b).sum()), int((a != b).sum())).pvalue
                    ),
                }[test]()
            )
            low, high = stats.t.interval(
                0.95, n - 1, loc=difference.mean(), scale=stats.sem(difference)
            )
            wanted = {
                "mean_a": a.mean(),
                "mean_b": b.mean(),
                "difference": difference.mean(),
                "low": low,
                "high": high,
                "effect_size": difference.mean() / difference.std(ddof=1),
                "p": p[-1],
            }
            assert {key: row[key] for key in wanted} == pytest.approx(wanted, abs=1e-12)
            counts = [int(c.sum()) for c in (a > b, a == b, a < b)]
            assert [row["wins"], row["ties"], row["losses"]] == counts
            assert (row["n"], row["n_dropped"], row["dropped"]) == (n, 0, [])
        assert rows["p_corrected"].to_list() == pytest.approx(holm_by_hand(p), abs=1e-12)
        assert (rows["significant"] == (rows["p_corrected"] < 0.05)).all()


def test_resampled_numbers_of_real_runs_lie_by_scipys(cast) -> None:
    qrels, runs = cast
    found = compare(qrels, runs, ["map"], seed=4)
    values = by_hand(qrels, runs, "map")
    for (i, j), row in zip(PAIRS, found.pairs.to_dicts(), strict=True):
        pair = values[:, i], values[:, j]
        theirs = stats.permutation_test(
            pair, lambda a, b, axis: (a - b).mean(axis=axis), vectorized=True,
            permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(0),
        ).pvalue  # fmt: skip
        assert row["p"] == pytest.approx(theirs, abs=4 * (theirs / 10_000) ** 0.5 + 2e-4)
        boot = stats.bootstrap(
            (values[:, i] - values[:, j],), np.mean, rng=np.random.default_rng(0)
        ).confidence_interval
        width = boot.high - boot.low
        assert (row["low"], row["high"]) == pytest.approx(boot, abs=0.03 * width)
    assert found.pairs["test"].unique().to_list() == ["randomisation, Monte Carlo"]
    how = found.pairs.select("test_resamples", "interval", "interval_resamples", "seed").unique()
    assert how.rows() == [(10_000, "bca", 10_000, 4)]
    summary = found.summary.select("interval", "confidence", "resamples", "seed").unique()
    assert summary.rows() == [("bca", 0.95, 10_000, 4)]


def test_means_are_those_of_evaluate(cast) -> None:
    qrels, runs = cast
    found = compare(qrels, runs, METRICS, **quick)
    for name, run in runs.items():
        report = evf.evaluate(qrels, run, METRICS)
        assert dict(found.summary.filter(system=name).select("metric", "mean").rows()) == (
            report.metrics
        )
        wide = found.per_query_wide.select("query_id", "metric", name)
        assert wide.pivot("metric", index="query_id", values=name).equals(report.per_query)


def scattered(seed: int) -> tuple[dict, list[dict]]:
    """Qrels, and runs of the same documents with queries missing, extra and in any order."""
    rng = random.Random(seed)
    qrels, run = collection(seed)
    shared = next(iter(qrels))
    runs = []
    for number in range(3):
        kept = {q: dict(d) for q, d in run.items() if q == shared or rng.random() < 0.7}
        for docs in kept.values():
            docs |= {doc: rng.random() for doc in docs}
        kept[f"extra {number}"] = {"d1": 1.0}
        runs.append({q: kept[q] for q in rng.sample(list(kept), len(kept))})
    return qrels, runs


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from(["judged", "both", "positive"]))
def test_shuffled_missing_and_extra_queries_never_misalign(seed: int, queries: str) -> None:
    """Every pair is what a dict from query to value gives, and row order changes no bit."""
    qrels, runs = scattered(seed)
    named = {f"s{i}": run_table(run) for i, run in enumerate(runs)}
    together = pl.concat(r.with_columns(system=pl.lit(name)) for name, r in named.items())
    shuffled = together.sample(fraction=1, shuffle=True, seed=seed)
    judged = qrels_table(qrels)
    options = {"queries": queries, **quick}
    found = compare(judged, named, METRICS, **options)
    mixed = compare(judged.sample(fraction=1, shuffle=True), shuffled, METRICS, **options)
    assert mixed.pairs.equals(found.pairs)
    assert mixed.summary.equals(found.summary)
    for row in found.pairs.to_dicts():
        a, b = (
            dict(evf.per_query(judged, named[row[side]], [row["metric"]], queries=queries).rows())
            for side in ("a", "b")
        )
        both = sorted(a.keys() & b.keys())
        difference = [a[q] - b[q] for q in both]
        assert row["n"] == len(both)
        assert row["dropped"] == sorted(a.keys() ^ b.keys())
        assert row["n_dropped"] == len(row["dropped"])
        if both:
            assert row["difference"] == pytest.approx(np.mean(difference), abs=1e-12)
            assert row["wins"] == sum(d > 0 for d in difference)
            assert row["p"] is not None


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**16))
def test_frames_are_paired_by_key_and_what_one_lacks_is_dropped_by_metric(seed: int) -> None:
    rng = random.Random(seed)

    def values(n: int) -> dict[str, float | None]:
        ids = rng.sample([str(i) for i in range(40)], n)
        return {q: rng.choice([None, rng.random(), rng.random()]) for q in ids}

    a, b = values(30), values(25)
    other = {q: rng.random() for q in a.keys() & b.keys()}
    both = frame(other, "other")
    found = compare_frames(
        frame(a).join(both, on="query_id", how="left").sample(fraction=1, shuffle=True),
        frame(b).join(both, on="query_id", how="left").sample(fraction=1, shuffle=True),
        **quick,
    ).pairs
    have_a = {q for q, v in a.items() if v is not None}
    have_b = {q for q, v in b.items() if v is not None}
    row = found.filter(metric="m").row(0, named=True)
    paired = have_a & have_b
    assert row["n"] == len(paired)
    assert set(row["dropped"]) == have_a ^ have_b
    if paired:
        assert row["mean_a"] == pytest.approx(np.mean([a[q] for q in paired]))
        assert row["difference"] == pytest.approx(np.mean([a[q] - b[q] for q in paired]))
    alike = found.filter(metric="other").row(0, named=True)
    assert (alike["n"], alike["difference"], alike["p"]) == (len(other), 0, 1)


def test_rag_values_are_compared_sample_by_sample() -> None:
    gold = {"reference": "four", "user_input": "2 + 2?"}
    old = [{"query_id": str(i), "response": "five", **gold} for i in range(6)]
    new = [{"query_id": str(i), "response": "four", **gold} for i in range(6)]
    reports = [evaluate_rag(rows, metrics=["token_f1"]) for rows in (new, old)]
    row = compare_frames(*reports, names=("new", "old")).pairs.row(0, named=True)
    assert (row["metric"], row["difference"], row["p"]) == ("token_f1", 1, 2 / 2**6)


def test_several_keys_and_numbers_as_ids() -> None:
    a = pl.DataFrame({"lang": ["de", "en"], "id": [1, 1], "m": [1.0, 0.5]})
    b = pl.DataFrame({"lang": ["en", "fr"], "id": ["1", "1"], "m": [0.25, 0.0]})
    row = compare_frames(a, b, key=["lang", "id"], **quick).pairs.row(0, named=True)
    assert (row["n"], row["difference"], row["dropped"]) == (1, 0.25, ["de, 1", "fr, 1"])


def three(**options) -> Comparison:
    """x is best, y in the middle, z worst, on each of 12 queries."""
    qrels = {str(q): {"a": 1} for q in range(12)}
    runs = {
        name: {q: [*(f"n{i}" for i in range(place)), "a"] for q in qrels}
        for name, place in (("y", 1), ("z", 3), ("x", 0))
    }
    return compare(qrels, runs, ["mrr", "num_nonrel_judged_ret", "precision@1"], **options)


def test_the_best_system_says_whom_it_beats() -> None:
    best = three(correction="none").best.rows(named=True)
    assert best[0] == {
        "metric": "mrr",
        "system": "x",
        "mean": 1.0,
        "better_than": ["y", "z"],
        "not_separated": [],
    }
    assert best[1]["not_separated"] == ["z", "x"]


def test_the_table_marks_what_is_significant() -> None:
    found = three(**quick)
    assert found.table().columns == ["system", "mrr", "num_nonrel_judged_ret", "precision@1"]
    assert found.table()["system"].to_list() == ["y (a)", "z (b)", "x (c)"]
    assert found.table()["mrr"].to_list() == ["0.5000 b", "0.2500", "1.0000 ab"]
    assert "p < 0.05" in repr(found)
    assert "randomisation, exact; holm correction over all pairs and metrics" in repr(found)
    assert "n = 12 paired queries" in found._repr_html_()
    assert found.to_markdown().splitlines()[:3] == [
        "| system | mrr | num_nonrel_judged_ret | precision@1 |",
        "| --- | --: | --: | --: |",
        "| y (a) | 0.5000<sup>b</sup> | **0.0000** | 0.0000 |",
    ]
    assert found.to_latex().splitlines()[2:6] == [
        r"system & mrr & num\_nonrel\_judged\_ret & precision@1 \\",
        r"\midrule",
        r"y (a) & 0.5000$^{\mathrm{b}}$ & \textbf{0.0000} & 0.0000 \\",
        r"z (b) & 0.2500 & \textbf{0.0000} & 0.0000 \\",
    ]


def test_what_is_printed_of_each_pair(handbook: Path) -> None:
    """Difference, interval, p as it is and corrected, queries, and who won; under 100 columns."""
    runs = {name: handbook / "runs" / f"{name}.parquet" for name in ("bm25", "tfidf", "minilm")}
    found = compare(handbook / "qrels" / "test.tsv", runs, ["ndcg@10", "map"], seed=3, **quick)
    lines = repr(found).splitlines()
    assert max(map(len, lines)) < 100
    row = found.pairs.row(1, named=True)
    ends = f"{row['low']:.4f} … {row['high']:.4f}"
    numbers = [f"{row[name]:.4f}" for name in ("p", "p_corrected")]
    won = f"{row['wins']}/{row['ties']}/{row['losses']}"
    printed = ["bm25", "minilm", "ndcg@10", f"{row['difference']:.4f}", *ends.split(), *numbers]
    assert [*printed, str(row["n"]), won] in [line.split() for line in lines]
    assert "intervals of a - b: 95%, bca, 200 resamples, seed 3; each by itself" in lines
    assert sum(
        line.startswith("randomisation, Monte Carlo, 200 resamples, seed 3") for line in lines
    )
    t = compare(handbook / "qrels" / "test.tsv", runs, "map", test="t", interval="t")
    assert "intervals of a - b: 95%, t; each by itself" in repr(t)


def test_of_many_pairs_the_first_are_printed_and_the_rest_counted() -> None:
    qrels = {str(query): {"a": 1} for query in range(5)}
    names = ["a name of many signs", *"bcdefgh"]
    runs = {
        name: {query: [*"xyz"[: (place + int(query)) % 4], "a"] for query in qrels}
        for place, name in enumerate(names)
    }
    found = compare(qrels, runs, "mrr", **quick)
    assert found.pairs.height == 28
    assert "… and 8 more rows" in repr(found)
    assert "a name of m…  b" in repr(found)


def test_with_a_baseline_every_system_is_tested_against_it_alone() -> None:
    found = three(baseline="y", **quick)
    assert found.pairs.filter(metric="mrr").select("a", "b", "difference").rows() == [
        ("z", "y", -0.25),
        ("x", "y", 0.5),
    ]
    assert found.table()["mrr"].to_list() == ["0.5000", "0.2500 ▼", "1.0000 ▲"]
    assert r"$^{\blacktriangle}$" in found.to_latex()
    several = three(baseline=["y", "z"], **quick)
    assert several.pairs.filter(metric="mrr").select("a", "b").rows() == [
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
    ]
    assert several.table()["system"].to_list() == ["y (a)", "z (b)", "x"]
    with pytest.raises(OptionError, match="baseline='w' is none of the systems"):
        three(baseline="w")


def test_less_is_better_where_the_metric_says_so() -> None:
    a = frame({str(i): 1.0 for i in range(6)}, "unjudged@10")
    b = frame({str(i): 0.5 for i in range(6)}, "unjudged@10")
    found = compare_frames(a, b)
    assert found.pairs.select("difference", "wins", "losses").row(0) == (0.5, 0, 6)
    assert found.best["system"].item() == "b"
    assert found.table()["unjudged@10"].to_list() == ["1.0000", "0.5000 a"]
    named = compare_frames(
        a.rename({"unjudged@10": "latency"}),
        b.rename({"unjudged@10": "latency"}),
        lower_is_better=["latency"],
    )
    assert named.best["system"].item() == "b"


def test_the_family_says_which_p_values_are_corrected_together() -> None:
    rng = np.random.default_rng(0)
    qrels = {str(q): {"a": 1, "b": 1} for q in range(30)}
    runs = {
        name: {q: {d: rng.random() for d in "abcdef"} for q in qrels} for name in ("x", "y", "z")
    }
    found = {
        family: compare(qrels, runs, ["mrr", "map"], test="t", family=family, interval="t").pairs
        for family in ("all", "metric", "pair")
    }
    p = found["all"]["p"].to_list()
    wanted = {
        "all": holm_by_hand(p),
        "metric": [*holm_by_hand(p[:3]), *holm_by_hand(p[3:])],
        "pair": [holm_by_hand([p[i], p[i + 3]])[m] for m in range(2) for i in range(3)],
    }
    for family, pairs in found.items():
        assert pairs["p_corrected"].to_list() == pytest.approx(wanted[family], abs=1e-15)
        assert pairs["family"].unique().to_list() == [family]


def test_tukey_takes_no_further_correction_and_looks_at_whole_queries() -> None:
    rng = np.random.default_rng(1)
    qrels = {str(q): {"a": 1} for q in range(20)}
    runs = {name: {q: {d: rng.random() for d in "abcd"} for q in qrels} for name in ("x", "y", "z")}
    found = compare(qrels, runs, ["mrr"], test="tukey_unblocked", interval="t")
    wide = found.per_query_wide
    theirs = stats.tukey_hsd(*(wide[name].to_numpy() for name in runs)).pvalue
    assert found.pairs["p"].to_list() == pytest.approx([theirs[i, j] for i, j in PAIRS])
    assert found.pairs["p_corrected"].equals(found.pairs["p"].alias("p_corrected"))
    assert found.pairs["correction"].unique().to_list() == ["Tukey HSD"]
    del runs["x"]["3"]
    one_less = compare(qrels, runs, ["mrr"], test="tukey", interval="t", queries="both").pairs
    without_it = compare(
        {q: d for q, d in qrels.items() if q != "3"}, runs, ["mrr"], test="tukey", interval="t"
    ).pairs
    assert one_less["p"].to_list() == pytest.approx(without_it["p"].to_list(), abs=1e-12)
    shuffled = compare(qrels, runs, ["mrr"], test="randomised_tukey", interval="t", **quick)
    assert shuffled.pairs["test_resamples"].unique().to_list() == [200]


@pytest.mark.parametrize("test", ["randomisation", "t", "wilcoxon", "sign", "mcnemar", "tukey"])
@pytest.mark.parametrize("n", [1, 5])
def test_systems_that_are_alike_and_single_queries_have_defined_answers(test: str, n: int) -> None:
    qrels = {str(q): {"a": 1} for q in range(n)}
    alike = {q: ["x", "y"] for q in qrels}
    found = compare(
        qrels, {"x": alike, "y": alike, "z": alike}, ["success@5", "mrr"], test=test, **quick
    )
    pairs = found.pairs.select("difference", "low", "high", "effect_size", "sd", "p", "p_corrected")
    end = None if n == 1 else 0
    assert pairs.unique().rows() == [(0, end, end, 0, 0, 1, 1)]
    summary = found.summary.select("mean", "low", "high", "sd")
    assert summary.unique().rows() == [(0, end, end, 0)]
    assert found.power()["queries_needed"].null_count() == found.pairs.height
    assert not found.pairs["significant"].any()


def test_systems_without_a_query_in_common_are_not_tested() -> None:
    found = compare_frames(frame({"1": 0.5}), frame({"2": 0.5}), **quick)
    row = found.pairs.row(0, named=True)
    assert (row["n"], row["difference"], row["p"], row["significant"]) == (0, None, None, None)
    assert row["dropped"] == ["1", "2"]
    assert found.best["not_separated"].item().to_list() == []


def test_one_system_alone_has_intervals_and_no_pairs() -> None:
    found = compare({"q": {"a": 1}}, {"x": {"q": ["a"]}}, ["mrr"], **quick)
    assert found.pairs.height == 0
    assert found.summary.select("mean", "low", "high").row(0) == (1, None, None)
    assert "x" in repr(found)


def test_a_pair_can_be_read_from_either_side() -> None:
    found = three(**quick)
    forward, backward = found.pair("y", "x").row(0, named=True), found.pair("x", "y")
    assert forward["difference"] == -0.5
    row = backward.row(0, named=True)
    assert (row["difference"], row["wins"], row["mean_a"], row["low"]) == (0.5, 12, 1.0, 0.5)
    with pytest.raises(OptionError, match="no system 'w'"):
        found.pair("w", "x")


def test_power_says_how_many_queries_a_difference_needs() -> None:
    rng = np.random.default_rng(0)
    a = frame({str(i): float(v) for i, v in enumerate(rng.normal(0.55, 0.1, 50))})
    b = frame({str(i): float(v) for i, v in enumerate(rng.normal(0.50, 0.1, 50))})
    row = compare_frames(a, b, **quick).power().row(0, named=True)
    power = stats.nct.sf(
        stats.t.ppf(0.975, 49), 49, row["detectable"] / row["sd"] * 50**0.5
    )  # fmt: skip
    assert power == pytest.approx(0.8, abs=1e-6)
    assert row["queries_needed"] > 1
    assert (row["alpha"], row["power"]) == (0.05, 0.8)


def test_what_cannot_be_compared_is_refused_with_a_reason() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(OptionError, match="one query's list"):
        compare(qrels, run)
    with pytest.raises(OptionError, match="runs by name"):
        compare(qrels, run_table(run))
    with pytest.raises(EmptyError, match="no runs"):
        compare(qrels, {})
    two = pl.concat(run_table(run).with_columns(system=pl.lit(s)) for s in "xy")
    with pytest.raises(OptionError, match="holds 2 systems"):
        compare(qrels, {"both": two})
    assert compare(qrels, two, **quick).systems == ["x", "y"]
    with pytest.raises(OptionError, match="cannot be called 'query_id'"):
        compare(qrels, {"query_id": run})
    with pytest.raises(OptionError, match="test='chi2' is not offered"):
        compare(qrels, {"x": run}, test="chi2")
    with pytest.raises(MetricError, match="did you mean 'ndcg@10'"):
        compare(qrels, {"x": run}, ["ndgc@10"])
    good = frame({"1": 0.5})
    with pytest.raises(RowError, match="2 rows of 'b' share their key"):
        compare_frames(good, pl.concat([good, good]))
    with pytest.raises(ColumnError, match="no column 'qid'"):
        compare_frames(good, good, key="qid")
    with pytest.raises(MetricError, match="no metric 'n'"):
        compare_frames(good, good, metrics=["n"])
    with pytest.raises(RowError, match="infinite"):
        compare_frames(good, frame({"1": float("inf")}))
    with pytest.raises(FrameError, match="not dict"):
        compare_frames({}, good)


def dropped(n: int, by: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    old = frame({f"{i:02}": 0.5 for i in range(n)}, "mrr")
    fell = pl.col("mrr") - by * (pl.col("query_id") < "04")
    return old.with_columns(fell), old


def test_a_regression_names_the_queries_that_dropped_most() -> None:
    new, old = dropped(10, 0.25)
    with pytest.raises(AssertionError, match=r"by 0\.1000 where 0\.0000 is allowed") as caught:
        assert_no_regression(new, old, ["mrr"], shown=2)
    assert isinstance(caught.value, RegressionError)
    assert isinstance(caught.value, EvalframeError)
    assert str(caught.value).splitlines()[1:] == [
        "  query_id='00', old=0.5000, new=0.2500, change=-0.2500",
        "  query_id='01', old=0.5000, new=0.2500, change=-0.2500",
        "  … and 2 more",
    ]
    assert assert_no_regression(new, old, max_drop=0.1).pairs.height == 1
    assert assert_no_regression(old, new).systems == ["new", "old"]
    with pytest.raises(RegressionError):
        assert_no_regression(new, old, max_drop={"mrr": 0.05})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10), st.integers(3, 11), st.sampled_from([0.0, 0.01, 0.25]))
def test_a_gate_that_fails_never_shows_equal_numbers(n: int, digits: int, allowed: float) -> None:
    """However small the drop beyond what is allowed; and no number has digits that say nothing."""
    old = frame({str(i): 1 / 1.5 for i in range(n)}, "mrr")
    new = old.with_columns(pl.col("mrr") - allowed - 10.0**-digits)
    with pytest.raises(RegressionError) as caught:
        assert_no_regression(new, old, max_drop=allowed)
    first, *rows = str(caught.value).splitlines()
    before, after, by, limit = re.findall(r"\d\.\d+", first)
    assert float(before) > float(after)
    assert float(by) > float(limit)
    pairs = [re.findall(r"(?:old|new)=([\d.]+)", row) for row in rows[: min(n, 5)]]
    assert all(float(old) > float(new) for old, new in pairs)
    longest = max(len(number) for pair in pairs for number in (*pair, before, after, by, limit))
    assert longest <= 2 + max(4, digits + 1)


def test_with_alpha_a_drop_must_be_significant_to_count() -> None:
    new, old = dropped(10, 0.25)
    assert assert_no_regression(new, old, alpha=0.05)
    with pytest.raises(RegressionError, match=r"\(p = 0.0625, one-sided randomisation, exact;"):
        assert_no_regression(new, old, alpha=0.1)
    with pytest.raises(RegressionError):
        assert_no_regression(new, old, alpha=0.05, test="t")


def test_a_query_that_is_lost_is_a_regression() -> None:
    old = frame({"1": 0.0, "2": 1.0}, "mrr")
    new = frame({"2": 1.0, "3": 1.0}, "mrr")
    with pytest.raises(RegressionError, match="mrr: no value now for 1 query that had one"):
        assert_no_regression(new, old)
    assert assert_no_regression(new, old, missing="drop").pairs["n"].item() == 1
    worse = old.rename({"mrr": "unjudged@10"})
    with pytest.raises(RegressionError, match=r"unjudged@10 rose from 0\.5000 to 1\.0000"):
        assert_no_regression(worse.with_columns(pl.lit(1.0).alias("unjudged@10")), worse)


def test_a_rise_of_what_should_be_low_is_tested_in_its_own_direction() -> None:
    old = frame({str(i): 0.5 for i in range(10)}, "unjudged@10")
    higher = old.with_columns(pl.col("unjudged@10") + 0.25)
    with pytest.raises(RegressionError, match=r"\(p = 0\.0009766, one-sided"):
        assert_no_regression(higher, old, alpha=0.05)
    assert assert_no_regression(old, higher, alpha=0.05)


def test_the_gate_takes_reports_and_refuses_what_it_does_not_know() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    old = evf.evaluate(qrels, {"1": ["a"], "2": ["a"]}, ["mrr"])
    new = evf.evaluate(qrels, {"1": ["a"], "2": ["x", "a"]}, ["mrr"])
    with pytest.raises(RegressionError, match=r"query_id='2', old=1\.0000, new=0\.5000"):
        assert_no_regression(new, old)
    with pytest.raises(MetricError, match="max_drop names 'map'"):
        assert_no_regression(new, old, max_drop={"map": 0.1})
    with pytest.raises(OptionError, match="max_drop must be a number of at least 0"):
        assert_no_regression(new, old, max_drop=-0.1)


@pytest.mark.parametrize("test", ["randomisation", "t", "wilcoxon", "sign"])
def test_rounding_wins_no_query(test: str) -> None:
    """0.1 + 0.2 and 0.3 are the same value, in the counts, the test, the gate and the influence."""
    a, b = frame({str(i): 0.1 + 0.2 for i in range(30)}), frame({str(i): 0.3 for i in range(30)})
    found = compare_frames(a, b, test=test, **quick)
    wanted = {"difference": 0.0, "wins": 0, "ties": 30, "losses": 0, "p": 1.0, "effect_size": 0.0}
    assert {name: found.pairs[name].item() for name in wanted} == wanted
    assert not leave_one_out(found)["flips"].any()
    assert assert_no_regression(b, a, alpha=0.05, test=test).pairs["p"].item() == 1.0
    real = a.with_columns(pl.col("m") + 1e-9)
    assert compare_frames(real, b, **quick).pairs["wins"].item() == 30


def test_a_gate_that_compared_nothing_fails() -> None:
    old, new = frame({"1": 0.5}, "mrr"), frame({"2": 0.5}, "mrr")
    with pytest.raises(RegressionError, match="mrr: no query has a value in both"):
        assert_no_regression(new, old, missing="drop")
    never = pl.lit(None, dtype=pl.Float64).alias("other")
    both = old.with_columns(never)
    assert assert_no_regression(both, both).pairs["n"].to_list() == [1, 0]
    with pytest.raises(RegressionError, match="other: no query"):
        assert_no_regression(both, both, ["mrr", "other"])


def test_a_metric_that_is_lost_is_a_regression() -> None:
    old = frame({"1": 0.5}, "mrr").with_columns(map=0.5)
    with pytest.raises(RegressionError, match="map: old has this metric and new has none"):
        assert_no_regression(old.drop("map"), old)
    assert assert_no_regression(old, old.drop("map")).metrics == ["mrr"]
    assert assert_no_regression(old.drop("map"), old, missing="drop").metrics == ["mrr"]
    assert assert_no_regression(old.drop("map"), old, ["mrr"]).metrics == ["mrr"]


def test_of_a_rag_report_its_own_metrics_alone_are_compared() -> None:
    gold = {"reference": "four", "response": "four"}
    rows = [{"query_id": str(i), "latency": float(i), **gold} for i in range(3)]
    old = evaluate_rag(rows, metrics=["token_f1", "exact_match"])
    slower = [row | {"latency": 9.0} for row in rows]
    new = evaluate_rag(slower, metrics=["token_f1", "exact_match"])
    assert sorted(assert_no_regression(old, new).metrics) == ["exact_match", "token_f1"]
    assert sorted(compare_frames(new, old, **quick).metrics) == ["exact_match", "token_f1"]
    fewer = evaluate_rag(rows, metrics=["token_f1"])
    with pytest.raises(RegressionError, match="exact_match: old has this metric"):
        assert_no_regression(fewer, old)


def test_a_metric_named_as_low_is_one_name_and_must_be_compared() -> None:
    old, new = frame({"1": 1.0, "2": 1.0}, "latency"), frame({"1": 2.0, "2": 2.0}, "latency")
    assert compare_frames(new, old, lower_is_better="latency", **quick).best["system"][0] == "b"
    with pytest.raises(RegressionError, match="latency rose"):
        assert_no_regression(new, old, lower_is_better="latency")
    with pytest.raises(MetricError, match=r"lower_is_better names 'latncy'.*mean 'latency'"):
        compare_frames(new, old, lower_is_better=["latncy"])


def test_the_gate_says_how_its_p_came_about() -> None:
    old = frame({str(i): 0.5 + i / 100 for i in range(20)}, "mrr").with_columns(map=0.5)
    new = old.with_columns(mrr=pl.col("mrr") - 0.25)
    how = "one-sided randomisation, Monte Carlo, 500 resamples, seed 3; holm correction, metrics: 2"
    with pytest.raises(RegressionError) as caught:
        assert_no_regression(new, old, alpha=0.05, resamples=500, seed=3)
    assert how in str(caught.value)
    assert f"(p = {2 / 501:.4g}, " in str(caught.value)
    with pytest.raises(RegressionError, match=r"\(p = .*, one-sided sign, exact\)"):
        assert_no_regression(new, old, alpha=0.05, test="sign", correction="none")


def test_names_keys_and_metrics_that_would_lose_something_are_refused() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(OptionError, match="two runs have the same name"):
        compare(qrels, {1: run, "1": run})
    with pytest.raises(OptionError, match="baseline must be the name"):
        compare(qrels, {"1": run, "2": run}, baseline=1)
    one = frame({"1": 0.5})
    for key in ("system", "metric", "value"):
        with pytest.raises(OptionError, match=f"key='{key}'"):
            compare_frames(*[one.rename({"query_id": key})] * 2, key=key)
    with pytest.raises(ColumnError, match="no id"):
        compare_frames(*[one.with_columns(pl.concat_list("query_id").alias("k"))] * 2, key="k")
    with pytest.raises(OptionError, match="seed="):
        compare(qrels, {"x": run}, seed=2**70)
    both = {"x": run, "y": run}
    assert compare(qrels, both, (m for m in ["mrr", "map"]), **quick).metrics == ["mrr", "map"]


def test_a_name_of_two_lines_is_shown_in_one() -> None:
    found = compare({"q": {"a": 1}}, {"two\nlines": {"q": ["a"]}, "x": {"q": ["a"]}}, ["mrr"])
    assert found.systems[0] == "two\nlines"
    assert found.table()["system"].to_list() == ["two\\nlines (a)", "x (b)"]
