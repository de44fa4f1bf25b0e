"""Reports: who is averaged, what is counted, and the way back to the documents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import EmptyError, FrameError, MetricError, OptionError

from .cases import collection, run_table

QRELS = {
    "q1": {"a": 2, "b": 1},
    "q2": {"a": 1},
    "q3": {"c": 0},
    "q4": {"d": 1, "e": -1},
}
RUN = {
    "q1": {"x": 9.0, "a": 8.0, "y": 7.0},
    "q2": {"a": 1.0},
    "q3": {"c": 1.0},
    "q9": {"z": 1.0},
}


def test_every_query_of_the_qrels_counts_and_a_missing_one_is_0() -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr", "recall@10"])
    assert report.per_query.rows() == [
        ("q1", 0.5, 0.5),
        ("q2", 1.0, 1.0),
        ("q3", 0.0, 0.0),
        ("q4", 0.0, 0.0),
    ]
    assert report.metrics == {"mrr": 0.375, "recall@10": 0.375}


def test_the_counts_say_which_queries_there_were() -> None:
    counts = evf.evaluate(QRELS, RUN, ["mrr", "recall@2", "ndcg@1"]).counts.row(0, named=True)
    assert counts == {
        "queries_in_qrels": 4,
        "queries_in_run": 4,
        "scored": 4,
        "missing": 1,
        "extra": 1,
        "without_positive": 1,
        "judged@2": (1 / 2 + 1 + 1 + 0) / 4,
    }


@pytest.mark.parametrize(
    ("queries", "scored", "mean"),
    [("judged", 4, 1.5 / 4), ("positive", 3, 1.5 / 3), ("both", 3, 1.5 / 3)],
)
def test_whose_values_are_averaged_is_one_argument(queries: str, scored: int, mean: float) -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr"], queries=queries)
    assert report.per_query.height == scored
    assert report.counts["scored"].item() == scored
    assert report.metrics["mrr"] == pytest.approx(mean)
    lazy = evf.per_query(frame(QRELS).lazy(), frame(RUN, "score").lazy(), "mrr", queries=queries)
    assert lazy.collect().equals(report.per_query)


def frame(nested: dict[str, dict[str, float]], value: str = "relevance") -> pl.DataFrame:
    rows = [(q, d, v) for q, docs in nested.items() for d, v in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


def test_the_level_reaches_the_metrics_that_have_none_of_their_own() -> None:
    report = evf.evaluate(QRELS, RUN, ["recall@10", "recall(rel=1)@10", "ndcg@10"], rel=2)
    assert report.per_query.filter(query_id="q1").row(0)[1:3] == (1.0, 0.5)
    assert report.metrics["ndcg@10"] == evf.evaluate(QRELS, RUN, "ndcg@10").metrics["ndcg@10"]


def test_sums_and_geometric_means_are_summarised_as_their_metric_says() -> None:
    report = evf.evaluate(QRELS, RUN, ["num_ret", "gm_map", "map"])
    summary = {row["metric"]: row for row in report.summary.to_dicts()}
    assert summary["num_ret"]["value"] == 5.0
    assert summary["num_ret"]["how"] == "sum"
    expected = math.exp((math.log(0.25) + math.log(1.0) + 2 * math.log(1e-5)) / 4)
    assert summary["gm_map"]["value"] == pytest.approx(expected)
    assert summary["map"] | {"value": None} == {
        "metric": "map",
        "value": None,
        "how": "mean",
        "queries": 4,
        "min": 0.0,
        "median": 0.125,
        "max": 1.0,
        "zeros": 2,
    }


def test_a_report_prints_its_means_counts_and_contract() -> None:
    text = repr(evf.evaluate(QRELS, RUN, ["mrr", "judged@2"]))
    assert text.splitlines()[:4] == [
        "metric     value",
        "--------  ------",
        "mrr       0.3750",
        "judged@2  0.6250",
    ]
    assert "queries in qrels 4" in text
    assert "missing 1" in text
    assert "ties=trec" in text
    html = evf.evaluate(QRELS, RUN, ["mrr"])._repr_html_()
    assert "<td" in html
    assert "0.3750" in html
    assert "missing 1" in html


def test_several_systems_stand_side_by_side() -> None:
    run = pl.concat(
        [
            frame(RUN, "score").with_columns(system=pl.lit("one")),
            frame({"q2": {"a": 1.0}}, "score").with_columns(system=pl.lit("two")),
        ]
    )
    report = evf.evaluate(QRELS, run, ["mrr", "recall@10"])
    assert report.table().rows() == [("one", 0.375, 0.375), ("two", 0.25, 0.25)]
    assert report.counts.select("system", "missing", "extra").rows() == [
        ("one", 1, 1),
        ("two", 3, 0),
    ]
    assert report.per_query.height == 8
    assert report.worst("mrr", n=1).select("system", "query_id").rows() == [
        ("one", "q3"),
        ("two", "q1"),
    ]
    assert report.documents("q1", system="two")["verdict"].to_list() == ["missed", "missed"]
    with pytest.raises(OptionError, match="several systems"):
        _ = report.metrics
    with pytest.raises(OptionError, match="the run has the systems"):
        report.documents("q1")


def test_the_worst_queries_come_lowest_first() -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr", "map"])
    assert report.worst("mrr", n=3)["query_id"].to_list() == ["q3", "q4", "q1"]
    with pytest.raises(MetricError, match=r"no metric 'mrrr': did you mean 'mrr'\?"):
        report.worst("mrrr")


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_a_query_without_a_value_is_not_among_the_worst_and_none_is_better(nothing) -> None:
    value = pl.when(pl.col("rank") == 2).then(nothing).otherwise(1 / pl.col("rank")).max()
    qrels = {q: {"a": 1} for q in "1234"}
    run = {"1": ["a"], "2": ["x", "a"], "3": ["x", "y", "a"], "4": ["x", "a"]}
    report = evf.evaluate(qrels, run, [value.alias("v")])
    assert report.worst("v")["query_id"].to_list() == ["3", "1", "2", "4"]
    assert report.query("3").values["share_better"].item() == 0.5
    looked = report.query("2").values.select("value", "share_better").row(0)
    assert looked == (None, None)


def test_the_documents_of_a_query_are_listed_with_what_was_missed() -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr"])
    corpus = {"a": "about a", "b": "about b", "x": "about x", "y": "about y"}
    documents = report.documents("q1", corpus=corpus)
    assert documents.select("rank", "doc_id", "relevance", "verdict", "text").rows() == [
        (1, "x", None, "unjudged", "about x"),
        (2, "a", 2, "relevant", "about a"),
        (3, "y", None, "unjudged", "about y"),
        (None, "b", 1, "missed", "about b"),
    ]
    assert report.documents("q3")["verdict"].to_list() == ["not relevant"]
    assert report.documents("q9")["verdict"].to_list() == ["unjudged"]
    with pytest.raises(OptionError, match=r"no query 'q11': did you mean 'q1'\?"):
        report.documents("q11")


def test_the_list_of_a_query_keeps_to_the_contract() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    by_default = evf.evaluate({"q": {"a": 1}}, run, "mrr").documents("q")
    assert by_default["doc_id"].to_list() == ["b", "a", "c"]
    ascending = evf.evaluate({"q": {"a": 1}}, run, "mrr", ties="doc_asc", depth=2).documents("q")
    assert ascending["doc_id"].to_list() == ["a", "b"]
    level = evf.evaluate({"q": {"a": 1, "z": 2}}, run, "mrr", rel=2).documents("q")
    assert level.filter(doc_id="a")["verdict"].item() == "not relevant"
    assert level["doc_id"].to_list()[-1] == "z"


def test_ten_evaluations_of_shuffled_copies_give_the_same_bits() -> None:
    qrels = frame({f"q{i}": {f"d{j}": (i * j) % 4 for j in range(30)} for i in range(50)})
    run = frame(
        {f"q{i}": {f"d{j}": float((i + j * 7) % 11) for j in range(0, 60, 2)} for i in range(50)},
        "score",
    )
    metrics = ["ndcg@10", "map", "rbp", "err@20", "bpref", "ndcg_rel", "G"]
    first = evf.evaluate(qrels, run, metrics)
    for seed in range(10):
        shuffled = run.sample(fraction=1, shuffle=True, seed=seed)
        again = evf.evaluate(qrels.sample(fraction=1, shuffle=True, seed=seed), shuffled, metrics)
        assert again.metrics == first.metrics
        assert again.per_query.equals(first.per_query)


def test_prepared_qrels_stand_for_qrels_everywhere() -> None:
    prepared = evf.prepare(QRELS)
    assert evf.prepare(prepared) is prepared
    plain = evf.evaluate(QRELS, RUN, ["map"])
    assert evf.evaluate(prepared, RUN, ["map"]).per_query.equals(plain.per_query)
    assert evf.judge(prepared, RUN).equals(evf.judge(QRELS, RUN))
    lazy_run = frame(RUN, "score").lazy()
    assert evf.per_query(prepared, lazy_run, "map").collect().equals(plain.per_query)


def test_a_run_without_any_query_of_the_qrels_is_refused() -> None:
    with pytest.raises(EmptyError, match=r"the run has no query of the qrels: .*'q1'.*'1'"):
        evf.evaluate({"q1": {"a": 1}}, {"1": {"a": 1.0}}, "mrr")


def test_arguments_in_each_others_place_are_said() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.73, "b": 0.21}}
    with pytest.raises(FrameError, match="swapped"):
        evf.evaluate(run, qrels, "mrr")
    with pytest.raises(FrameError, match="swapped"):
        evf.evaluate(frame(run, "score"), frame(qrels), "mrr")


def test_fractional_grades_are_grades_and_prepared_qrels_are_believed() -> None:
    fractions = {"q": {"a": 0.5, "b": 1.0}}
    assert evf.evaluate(fractions, {"q": {"a": 2.0, "b": 1.0}}, "mrr").metrics == {"mrr": 1.0}
    with pytest.raises(FrameError, match="prepare"):
        evf.evaluate({"q": {"a": 12, "b": 11}}, {"q": {"a": 1, "b": 0}}, "mrr")
    prepared = evf.prepare({"q": {"a": 12, "b": 11}})
    assert evf.evaluate(prepared, {"q": {"a": 1, "b": 0}}, "mrr").metrics == {"mrr": 1.0}


def test_a_metric_as_an_expression_is_that_metric() -> None:
    """Its level and its summary are those of its spelling."""
    asked = [evf.metrics.recall(k=10), evf.metrics.gm_map(), evf.metrics.num_ret()]
    spelt = ["recall@10", "gm_map", "num_ret"]
    by_expression = evf.evaluate(QRELS, RUN, asked, rel=2)
    assert by_expression.metrics == evf.evaluate(QRELS, RUN, spelt, rel=2).metrics


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([pl.col("rank").min(), pl.col("rank").max()], "two different metrics are named 'rank'"),
        ([pl.col("n_retrieved").first()], "cannot be named 'n_retrieved'"),
        ([pl.col("rank").alias("x")], r"metric 'x' gives List\(UInt32\) for a query"),
        ([pl.col("doc_id").first().alias("x")], "metric 'x' gives String for a query"),
        ([pl.col("nothing").sum().alias("x")], "cannot be worked out on the judged frame"),
        (None, "metrics=None"),
    ],
)
def test_an_expression_that_is_no_metric_is_refused(metrics: object, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        evf.evaluate(QRELS, RUN, metrics)


def test_the_list_of_a_query_leaves_out_what_has_no_judgement_where_the_values_do() -> None:
    report = evf.evaluate(QRELS, RUN, "mrr", judged_only=True)
    assert report.documents("q1").select("rank", "doc_id").row(0) == (1, "a")


def test_the_worst_of_a_metric_of_which_less_is_better_is_the_highest() -> None:
    report = evf.evaluate(QRELS, RUN, ["unjudged@2"])
    assert report.worst("unjudged@2", n=1)["query_id"].item() == "q1"
    with pytest.raises(OptionError, match="n=-1 must be a whole number, 1 or more"):
        report.worst("unjudged@2", n=-1)


@pytest.mark.parametrize("metric", [None, 3, "mrx"])
def test_what_is_no_metric_of_the_report_is_refused(metric: Any) -> None:
    report = evf.evaluate(QRELS, RUN, ["mrr"])
    with pytest.raises(MetricError, match=f"no metric {metric!r}.*it has mrr"):
        report.worst(metric)


def test_a_title_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="title=None: a text is wanted"):
        evf.evaluate(QRELS, RUN, ["mrr"]).to_html(tmp_path / "page.html", title=None)
    assert not list(tmp_path.iterdir())


def test_a_table_says_which_values_are_sums() -> None:
    assert evf.evaluate(QRELS, RUN, ["mrr"]).table().columns == ["metric", "value"]
    table = evf.evaluate(QRELS, RUN, ["mrr", "num_ret"]).table()
    assert table["how"].to_list() == ["mean", "sum"]


def test_no_metric_at_all_is_refused() -> None:
    with pytest.raises(MetricError, match="no metric was asked for"):
        evf.evaluate(QRELS, RUN, [])
    with pytest.raises(MetricError, match="cannot be named 'query_id'"):
        evf.evaluate(QRELS, RUN, [pl.col("rank").min().alias("query_id")])
    with pytest.raises(MetricError, match="named by a string, not by int"):
        evf.evaluate(QRELS, RUN, [10])
    with pytest.raises(OptionError, match="rel must be a number"):
        evf.evaluate(QRELS, RUN, "mrr", rel="2")
    with pytest.raises(OptionError, match="rel must be a number"):
        evf.evaluate(QRELS, RUN, "mrr", rel=float("nan"))
    with pytest.raises(OptionError, match="queries='all' is not offered"):
        evf.evaluate(QRELS, RUN, "mrr", queries="all")


@pytest.mark.parametrize("n_systems", [0, 1, 3])
def test_the_mean_of_an_interval_is_that_of_the_summary_to_the_last_bit(n_systems: int) -> None:
    metrics = ["ndcg@10", "map", "mrr"]
    for seed in range(5):
        qrels, run = collection(seed)
        named = pl.concat(
            run_table(run).with_columns(system=pl.lit(f"s{number}"))
            for number in range(max(n_systems, 1))
        )
        report = evf.evaluate(qrels, named if n_systems else run, metrics)
        assert report.intervals["mean"].equals(report.summary["value"])
        assert report.intervals["metric"].equals(report.summary["metric"])
        if not n_systems:
            assert report.metrics == dict(report.intervals.select("metric", "mean").rows())


def test_of_two_bad_inputs_the_qrels_are_told_first() -> None:
    """They are made ready while the run is read."""
    good, bad = {"q": {"a": 1}}, {"q": {"a": None}}
    with pytest.raises(evf.EvalframeError, match="qrels"):
        evf.evaluate(bad, bad)
    with pytest.raises(evf.EvalframeError, match="the run frame"):
        evf.evaluate(good, bad)
