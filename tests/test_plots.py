"""The laws of charts: the report's own numbers, few rows, names that stay names, whole files."""

from __future__ import annotations

import json
import math
import random
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe import plots
from evalframe.errors import (
    ColumnError,
    EmptyError,
    FrameError,
    MetricError,
    MissingExtraError,
    OptionError,
)
from evalframe.plots import levels
from evalframe.plots.theme import DASHES, LINES, MOST_SYSTEMS, axis_of, labels_of, ticks

alt = pytest.importorskip("altair")
pytest.importorskip("vl_convert")

FIELDS = {
    *("system", "name", "cutoff", "recall", "value", "n", "low", "high", "count", "mean"),
    *("label", "begin", "end", "query", "queries", "value_a", "value_b", "difference", "winner"),
    *("a", "b", "a_end", "b_end", "row", "slice", "full", "metric", "reason", "scored"),
    *("told_a", "told_b", "better", "shade", "shown"),
}
"""Every field that a chart may name: none has a dot or a bracket."""
HOSTILE = [
    "<b>bold</b>",
    'a"b',
    "x.y[0]",
    "back\\slash'",
    "line\nend",
    "end\\",
    "\u2028a\u2029",
    "",
    "m" * 90,
    "m" * 91,
]
METRICS = ["ndcg@1", "ndcg@5", "ndcg@10", "recall(rel=2)@5", "recall(rel=2)@10", "mrr", "num_ret"]


def runs(n_queries: int, systems: list[str], seed: int = 0) -> tuple[Any, pl.DataFrame]:
    """Qrels of graded documents, and lists that are the better the later the system."""
    rng = random.Random(seed)
    qrels = {
        f"q{i:03}": {f"d{j}": rng.choice([0, 1, 2]) for j in range(8)} | {"d8": 1}
        for i in range(n_queries)
    }
    rows = [
        (system, query, doc, rng.gauss(grade * place / len(systems), 0.7))
        for place, system in enumerate(systems, 1)
        for query, docs in qrels.items()
        for doc, grade in {**docs, "x": 0, "y": 0}.items()
    ]
    schema = ["system", "query_id", "doc_id", "score"]
    return qrels, pl.DataFrame(rows, schema=schema, orient="row")


def report_of(n_queries: int, systems: list[str]) -> evf.Report:
    return evf.evaluate(*runs(n_queries, systems), METRICS)


def values_frame(values: dict[str, list[float | None]], metric: str = "m") -> pl.DataFrame:
    """One metric's values of each system, as a frame."""
    rows = [(s, f"q{i}", v) for s, column in values.items() for i, v in enumerate(column)]
    schema = {"system": pl.String, "query_id": pl.String, metric: pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rows_of(chart: Any) -> list[dict[str, Any]]:
    return list(chart.data.values)


def spec_of(chart: Any) -> dict[str, Any]:
    return dict(chart.to_dict())


def subtitle_of(chart: Any) -> str:
    return " ".join(spec_of(chart)["title"]["subtitle"])


def walk(node: Any) -> Iterator[tuple[str, Any]]:
    """Every key of a specification with its value, down to the data."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in pairs:
        yield str(key), value
        if isinstance(value, dict | list) and key != "data":
            yield from walk(value)


def held_rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows that a specification holds, in any of its layers."""
    found: list[dict[str, Any]] = []
    for node in [spec, *(value for _, value in walk(spec) if isinstance(value, dict))]:
        found += node["data"]["values"] if "values" in node.get("data", {}) else []
    return found


def size_of(image: bytes) -> tuple[int, int]:
    return struct.unpack(">II", image[16:24])  # type: ignore[return-value]


def every_chart(report: evf.Report, a: str, b: str) -> dict[str, Any]:
    """All charts that a report of at least two systems has."""
    ids = report.per_query["query_id"].unique().sort()
    kinds = pl.DataFrame({"query_id": ids}).with_columns(
        pl.Series("level", [["easy", None, "h<i>"][i % 3] for i in range(len(ids))])
    )
    slices = (
        report.per_query.join(kinds, on="query_id")
        .group_by("level", "system", maintain_order=True)
        .agg(n=pl.len(), mean=pl.mean("ndcg@10"))
        .with_columns(metric=pl.lit("ndcg@10"))
    )
    return {
        "curves": plots.curves(report),
        "one curve": plots.curves(report, "ndcg"),
        "precision_recall": plots.precision_recall(report),
        "distribution": plots.distribution(report, "ndcg@10"),
        "counts": plots.distribution(report, "num_ret"),
        "differences": plots.differences(report, "ndcg@10", a, b),
        "scatter": plots.scatter(report, "ndcg@10", a, b),
        "heat_map": plots.heat_map(slices),
    }


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    systems = [*HOSTILE, *(f"system {i}" for i in range(10))]
    return every_chart(report_of(60, systems), HOSTILE[0], HOSTILE[-1])


def test_curves_show_the_means_of_the_report() -> None:
    """A point for each system and cut-off is the summary's value, and nothing else is there."""
    report = report_of(30, ["one", "two"])
    drawn = {
        (row["name"], f"ndcg@{row['cutoff']}"): row["value"]
        for row in rows_of(plots.curves(report, "nDCG"))
    }
    summary = report.summary.filter(pl.col("metric").str.starts_with("ndcg"))
    want = {(s, m): v for s, m, v in summary.select("system", "metric", "value").rows()}
    assert drawn == pytest.approx(want, rel=1e-12)
    panels = plots.curves(report)
    assert [p.title.text for p in panels.vconcat] == [
        "ndcg by cut-off",
        "recall(rel=2) by cut-off",
    ]
    assert {row["n"] for row in rows_of(plots.curves(report, "recall(rel=2)"))} == {30}


def test_curves_sum_up_as_the_metric_does() -> None:
    """Counts are summed, and any alias of a spelling is the same metric."""
    qrels, run = runs(5, ["s"])
    report = evf.evaluate(qrels, run, ["num_rel_ret@1", "hits_5", "P_5"])
    chart = plots.curves(report)
    want = report.summary.filter(pl.col("how") == "sum")["value"].to_list()
    assert [row["value"] for row in rows_of(chart)] == want
    assert "(sum)" in spec_of(chart)["layer"][0]["encoding"]["y"]["axis"]["title"]


@pytest.mark.parametrize(
    ("metrics", "asked", "message"),
    [
        (["mrr", "map"], None, r"the report has none: evaluate with metrics=\['ndcg@1', "),
        (["ndcg@10"], None, r"has ndcg@10: evaluate with metrics=\['ndcg@1', 'ndcg@3'"),
        (["recall@5", "recall@10"], "ndcg", r"a curve needs ndcg at two cut-offs"),
        (["recall@5", "recall@10"], "nonsense!", r"unknown metric 'nonsense!'"),
    ],
)
def test_a_curve_needs_two_cut_offs(metrics: list[str], asked: str | None, message: str) -> None:
    """What is missing is said as what to ask for."""
    report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, metrics)
    with pytest.raises(MetricError, match=message):
        plots.curves(report, asked)


@pytest.mark.parametrize("contract", [{}, {"rel": 2}, {"depth": 3}, {"queries": "positive"}])
def test_precision_over_recall_keeps_the_contract(contract: dict[str, Any]) -> None:
    """Scored once more, it gives what evaluate gives for the eleven metrics themselves."""
    qrels, run = runs(20, ["one", "two"])
    qrels["none"] = {"d": 0}
    names = [f"iprec(rounding=up)@{tenth / 10:.1f}" for tenth in range(11)]
    given = evf.evaluate(qrels, run, names, **contract)
    asked = evf.evaluate(qrels, run, ["mrr"], **contract)
    rows = rows_of(plots.precision_recall(asked))
    assert rows == rows_of(plots.precision_recall(given))
    want = {(s, m): v for s, m, v in given.summary.select("system", "metric", "value").rows()}
    found = {(r["name"], f"iprec(rounding=up)@{r['recall']:.1f}"): r["value"] for r in rows}
    assert found == pytest.approx(want, rel=1e-12)


def test_precisions_that_are_there_are_not_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that was asked for all eleven needs no run."""
    names = [f"IPrec(rounding=up)@{tenth / 10}" for tenth in range(11)]
    report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, names)
    monkeypatch.setattr(levels, "score", None)
    assert [row["value"] for row in rows_of(plots.precision_recall(report))] == [0.5] * 11


def test_precision_is_that_at_the_recall_or_beyond_it() -> None:
    """Short of a recall nothing counts for it, even where the nearest document is found."""
    run = {"q": {"a": 100.0, "b": 1.0, **{f"x{i}": 50.0 - i for i in range(8)}}}
    nearest = [f"iprec@{tenth / 10}" for tenth in range(11)]
    report = evf.evaluate({"q": {"a": 1, "b": 1}}, run, nearest)
    rows = rows_of(plots.precision_recall(report))
    assert [row["value"] for row in rows] == [1.0] * 6 + [0.2] * 5
    assert report.metrics["iprec@0.7"] == 1.0


def test_a_stored_report_says_what_it_lacks(tmp_path: Path) -> None:
    """Without a run nothing can be scored; what to ask for before storing is said."""
    report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"])
    evf.write_report(report, tmp_path / "r.parquet")
    stored = evf.read_report(tmp_path / "r.parquet")
    with pytest.raises(OptionError, match=r"iprec\(rounding=up\)@0\.0"):
        plots.precision_recall(stored)  # type: ignore[arg-type]
    assert len(rows_of(plots.distribution(stored, "mrr"))) == 20


NUMBERS = (
    st.floats(-1e300, 1e300)
    | st.floats(-100, 100)
    | st.integers(-50, 50).map(float)
    | st.floats(0, 1)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_a_distribution_counts_every_value_once(values: list[float]) -> None:
    """Each value is counted in the bar that it lies in; bars adjoin, are few and enclose all."""
    rows = rows_of(plots.distribution(values_frame({"s": list(values)}), "m"))
    assert len(rows) <= 40
    edges = [row["low"] for row in rows] + [rows[-1]["high"]]
    assert [row["high"] for row in rows] == edges[1:]
    width = edges[1] - edges[0]
    for row in rows:
        slack = 1e-6 * width
        inside = [v for v in values if row["low"] - slack <= v < row["high"] - slack]
        last = row is rows[-1]
        at_end = [v for v in values if last and v >= row["high"] - slack]
        assert abs(row["count"] - len(inside) - len(at_end)) <= sum(
            min(abs(v - row["low"]), abs(v - row["high"])) <= 2e-6 * width for v in values
        )
    assert sum(row["count"] for row in rows) == len(values)
    assert edges[0] <= min(values) + 1e-6 * width
    assert max(values) <= edges[-1] + 1e-6 * width


def test_a_distribution_by_hand() -> None:
    """Shares in steps of 0.05 with 1 in the last; whole numbers in the middle of their bars."""
    rows = rows_of(plots.distribution(values_frame({"s": [0.0, 0.15, 0.3, 1.0, 0.05]}), "m"))
    counted = {row["low"]: row["count"] for row in rows if row["count"]}
    assert counted == {0.0: 1, 0.05: 1, 0.15: 1, 0.3: 1, 0.95: 1}
    assert {row["mean"] for row in rows} == {0.3}
    whole = rows_of(plots.distribution(values_frame({"s": [2.0, 2.0, 5.0]}), "m"))
    assert {(row["low"], row["high"]): row["count"] for row in whole} == {
        (1.5, 2.5): 2,
        (2.5, 3.5): 0,
        (3.5, 4.5): 0,
        (4.5, 5.5): 1,
        **{pair: 0 for pair in [(0.5, 1.5)] if len(whole) > 4},
    } | {(r["low"], r["high"]): 0 for r in whole if r["low"] > 5}


def test_differences_are_those_of_the_comparison() -> None:
    """The bars are the paired differences by falling size, and the subtitle counts the wins."""
    pytest.importorskip("scipy")
    qrels, run = runs(30, ["one", "two"])
    frames = {name: part for (name,), part in run.group_by("system", maintain_order=True)}
    compared = evf.compare(qrels, {k: v.drop("system") for k, v in frames.items()}, ["ndcg@10"])
    for source in (compared, evf.evaluate(qrels, run, ["ndcg@10"])):
        chart = plots.differences(source, "ndcg@10", "two", "one")
        wide = compared.per_query_wide.select("query_id", d=pl.col("two") - pl.col("one"))
        want = wide.sort("d", "query_id", descending=[True, False]).rows()
        assert [(row["query"], row["difference"]) for row in rows_of(chart)] == want
        pair = compared.pair("two", "one").row(0, named=True)
        assert subtitle_of(chart) == (
            f"two is better on {pair['wins']}, one on {pair['losses']}, equal on {pair['ties']} of "
            f"30 queries; mean difference {pair['difference']:+.4f}"
        )
    back = rows_of(plots.differences(compared, "ndcg@10", "one", "two"))
    assert [row["difference"] for row in back] == [-d for _, d in reversed(want)]


def test_where_less_is_better_the_colours_turn() -> None:
    """The system with the lower value wins, in the bars, the points and the words."""

    class Compared:
        per_query = values_frame({"a": [1.0, 2.0], "b": [3.0, 2.0]}, "latency")
        lower_is_better = frozenset({"latency"})

    chart = plots.differences(Compared(), "latency")
    assert [row["winner"] for row in rows_of(chart)] == ["equal", "a"]
    assert subtitle_of(chart).startswith("a is better on 1, b on 0, equal on 1 of 2")
    assert {r["winner"] for r in rows_of(plots.scatter(Compared(), "latency"))} == {"equal", "a"}


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 2000), st.randoms(use_true_random=False))
def test_grouped_bars_lose_nobody(n: int, rng: Any) -> None:
    """Bars adjoin from 0 to n, count every query, and keep the mean of all differences."""
    frame = values_frame({"a": [rng.random() for _ in range(n)], "b": [0.0] * n})
    chart = plots.differences(frame, "m")
    rows = rows_of(chart)
    assert len(rows) <= 300
    assert sum(row["queries"] for row in rows) == n
    assert [row["begin"] for row in rows] == [0, *(row["end"] for row in rows[:-1])]
    total = sum(row["difference"] * row["queries"] for row in rows)
    assert total == pytest.approx(frame["m"].sum())
    assert ("bars is the mean of" in subtitle_of(chart)) == (n > 300)


@pytest.mark.parametrize("n", [10, 2000])
def test_a_scatter_counts_every_query_once(n: int) -> None:
    """As points or as squares, the counts add up, and every square holds its queries."""
    rng = random.Random(n)
    values = {name: [round(rng.random(), 6) for _ in range(n)] for name in "ab"}
    chart = plots.scatter(values_frame(values), "m", "b", "a")
    rows = rows_of(chart)
    assert sum(row["count"] for row in rows) == n
    if n == 10:
        assert {(r["a"], r["b"]) for r in rows} == set(zip(values["b"], values["a"], strict=True))
        return
    for row in rows:
        inside = [
            1
            for across, up in zip(values["b"], values["a"], strict=True)
            if row["a"] <= across < row["a_end"] and row["b"] <= up < row["b_end"]
        ]
        assert abs(row["count"] - len(inside)) <= 1
    assert "30 × 30 squares" in subtitle_of(chart)


def test_equal_points_are_one_with_a_count() -> None:
    """Queries that share both values are one larger point."""
    rows = rows_of(plots.scatter(values_frame({"a": [0.5, 0.5, 0.0], "b": [1.0, 1.0, 0.0]}), "m"))
    assert [(r["a"], r["b"], r["count"], r["winner"]) for r in rows] == [
        (0.0, 0.0, 1, "equal"),
        (0.5, 1.0, 2, "b"),
    ]


def test_a_heat_map_has_the_means_of_the_slices() -> None:
    """A cell for each system and slice; null slices are one; a missing cell stays empty."""
    slices = pl.DataFrame(
        [
            ("easy", "en", "a", "mrr", 3, 0.5),
            (None, "en", "a", "mrr", 2, 0.25),
            ("easy", "en", "b", "mrr", 3, 1.0),
            (None, "en", "b", "mrr", 0, None),
            ("easy", "en", "a", "map", 3, 0.1),
        ],
        schema=["level", "lang", "system", "metric", "n", "mean"],
        orient="row",
    )
    chart = plots.heat_map(slices, "mrr")
    assert {(r["name"], r["slice"]): r["mean"] for r in rows_of(chart)} == {
        ("a", "easy, en (3)"): 0.5,
        ("b", "easy, en (3)"): 1.0,
        ("a", "(none), en (2)"): 0.25,
    }
    assert "empty: no value" in subtitle_of(chart)
    assert spec_of(chart)["title"]["text"] == ["mrr by level, lang"]
    with pytest.raises(MetricError, match="choose one with metric=: mrr, map"):
        plots.heat_map(slices)
    with pytest.raises(ColumnError, match="lack a column to slice by"):
        plots.heat_map(slices.drop("level", "lang"), "mrr")
    with pytest.raises(ColumnError, match="lack n, mean"):
        plots.heat_map(slices.drop("n", "mean"), "mrr")
    with pytest.raises(MetricError, match="did you mean 'map'"):
        plots.heat_map(slices, "mapp")
    with pytest.raises(EmptyError, match="no slice has a mean"):
        plots.heat_map(slices.with_columns(mean=pl.lit(None, pl.Float64)), "mrr")


def test_slices_of_a_report_are_drawn() -> None:
    """What `Report.slices` gives is taken as it is, its intervals left aside."""
    report = report_of(12, ["one", "two"])
    ids = report.per_query["query_id"].unique().sort()
    queries = pl.DataFrame({"query_id": ids, "text": ids}).with_columns(
        level=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("easy")).otherwise(pl.lit("hard"))
    )
    slices = report.slices("level", queries)
    rows = rows_of(plots.heat_map(slices, "mrr"))
    want = slices.filter(pl.col("metric") == "mrr").select("system", "n", "mean").rows()
    assert sorted((r["name"], r["n"], r["mean"]) for r in rows) == sorted(want)
    alone = evf.evaluate(*runs(12, ["one"]), ["mrr", "ndcg@5"])
    one = alone.slices("level", queries).drop("system", strict=False)
    assert {r["name"] for r in rows_of(plots.heat_map(one))} == {"mrr", "ndcg@5"}


def test_coverage_accounts_for_every_sample() -> None:
    """The parts of each bar add up to all samples; what has a value is what the report scored."""
    samples = [
        {"response": "x", "reference": "x", "retrieved_contexts": ["x"]},
        {"response": None, "reference": "x", "retrieved_contexts": None},
        {"response": "x", "reference": None, "retrieved_contexts": []},
        {"response": "", "reference": "!", "retrieved_contexts": ["x"]},
    ]
    report = evf.evaluate_rag(samples, metrics=["token_f1", "context_recall", "non_empty_rate"])
    rows = rows_of(plots.coverage(report))
    for metric, n in report.coverage.items():
        parts = {row["reason"]: row["n"] for row in rows if row["name"] == metric}
        assert sum(parts.values()) == report.n_samples
        assert sum(k for reason, k in parts.items() if reason.startswith("scored")) == n
        said = {reason.split(": ")[1] for reason in parts if ": " in reason}
        assert said == {reason.replace("_", " ") for reason in report.reasons[metric]}
    bars = [(row["begin"], row["end"]) for row in rows if row["name"] == "token_f1"]
    assert bars == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_coverage_without_reasons() -> None:
    """Samples that a report says nothing about are shown as that."""
    report = evf.RagReport(metrics={"m": 0.5}, coverage={"m": 3}, n_samples=5)
    rows = rows_of(plots.coverage(report))
    assert [(row["reason"], row["n"]) for row in rows] == [
        ("scored", 3),
        ("not scored, no reason given", 2),
    ]
    assert [(row["begin"], row["end"]) for row in rows] == [(0, 3), (3, 5)]
    with pytest.raises(EmptyError, match="no metric or no sample"):
        plots.coverage(evf.RagReport(metrics={}, coverage={}, n_samples=0))


def test_values_that_are_none_are_left_out_and_counted() -> None:
    """Null, NaN and infinity are in no chart, and every subtitle says how many there were."""
    odd = values_frame(
        {"a": [0.1, None, math.nan, math.inf, 0.5], "b": [0.2, 0.4, 0.3, -math.inf, 0.5]}
    )
    chart = plots.distribution(odd, "m")
    assert sum(row["count"] for row in rows_of(chart)) == 6
    assert "n = 2 to 4 queries of each system; 4 missing or not finite" in subtitle_of(chart)
    assert len(rows_of(plots.differences(odd, "m"))) == 2
    assert "2 left out, of which only one has a value" in subtitle_of(plots.differences(odd, "m"))
    json.loads(json.dumps(spec_of(chart), allow_nan=False))
    with pytest.raises(EmptyError, match="no value of 'm' is a finite number"):
        plots.distribution(values_frame({"a": [None, math.nan]}), "m")


def test_no_chart_holds_more_than_5000_rows() -> None:
    """Whatever the number of queries and systems; what is not shown is said."""
    rng = random.Random(1)
    systems = [f"s{i}" for i in range(60)]
    n = 400
    frame = pl.DataFrame(
        {
            "system": [s for s in systems for _ in range(n)],
            "query_id": [f"q{i}" for _ in systems for i in range(n)],
            **{f"P@{k}": [rng.random() for _ in range(n * 60)] for k in (1, 10, 100)},
        }
    )
    slices = pl.DataFrame(
        [(f"k{i}", s, "mrr", i + 1, rng.random()) for i in range(200) for s in systems],
        schema=["kind", "system", "metric", "n", "mean"],
        orient="row",
    )
    long = pl.DataFrame({"query_id": [str(i) for i in range(30_000)]}).with_columns(
        P=pl.Series([rng.random() for _ in range(30_000)])
    )
    both = pl.concat(
        [
            long.with_columns(system=pl.lit("a")),
            long.with_columns(pl.col("P") ** 2, system=pl.lit("b")),
        ]
    )
    charts = {
        "curves": (plots.curves(frame), f"the {MOST_SYSTEMS} best of 60 systems"),
        "distribution": (plots.distribution(frame, "P@1"), f"the {MOST_SYSTEMS} best of 60"),
        "heat_map": (plots.heat_map(slices), "the 24 largest of 200 slices the 40 best of 60"),
        "differences": (plots.differences(both, "P"), "is the mean of 100 queries"),
        "scatter": (plots.scatter(both, "P"), "30 × 30 squares"),
    }
    for name, (chart, said) in charts.items():
        assert 0 < len(held_rows(spec_of(chart))) <= 5000, name
        assert said in subtitle_of(chart), name
    best = frame.group_by("system").agg(pl.mean("P@1")).sort("P@1", descending=True)["system"]
    shown = {row["name"] for row in rows_of(plots.distribution(frame, "P@1"))}
    assert shown == set(best.head(MOST_SYSTEMS))
    kept = {row["full"] for row in rows_of(plots.heat_map(slices))}
    assert kept == {f"k{i}" for i in range(176, 200)}
    chosen = plots.distribution(frame, "P@1", systems=["s3", "s1"])
    assert list(dict.fromkeys(row["name"] for row in rows_of(chosen))) == ["s3", "s1"]


def test_names_are_never_fields(hostile: dict[str, Any]) -> None:
    """Metrics and systems with dots, brackets and quotes are values: no field has their name."""
    for name, chart in hostile.items():
        spec = spec_of(chart)
        fields = {value for key, value in walk(spec) if key == "field"}
        assert fields, name
        assert fields <= FIELDS, name
        assert held_rows(spec), name
        assert all(set(row) <= FIELDS for row in held_rows(spec)), name


def test_hostile_names_are_text(hostile: dict[str, Any]) -> None:
    """SVG parses as XML, and names stand in it as text, told apart even where they are cut."""
    for name, chart in hostile.items():
        root = ElementTree.fromstring(plots.svg(chart))
        texts = [text for text in root.itertext() if text.strip()]
        assert not any(node.tag.endswith(("}b", "}script")) for node in root.iter()), name
        if name != "counts":
            assert any("<b>bold</b>" in text for text in texts), name
    drawn = ElementTree.fromstring(plots.svg(hostile["precision_recall"]))
    texts = [text for text in drawn.itertext() if text.strip()]
    assert {"line\\nend", "(no name)", 'a"b', "x.y[0]"} <= set(texts)
    assert len([text for text in texts if text.startswith("mmmm")]) == 2


def test_no_name_is_part_of_a_script() -> None:
    """Systems, metrics, queries and slices are data of what is drawn, and in no expression."""
    import vl_convert

    frame = values_frame({"NAMED a": [0.1, 0.2], "NAMED b": [0.2, 0.1]}, "NAMED m")
    frame = frame.with_columns("NAMED " + pl.col("query_id"))
    many = [i / 1000 for i in range(1000)]
    crowd = values_frame({"NAMED a": many, "NAMED b": many[::-3] + many[:666]}, "NAMED m")
    slices = {"NAMED k": ["NAMED 1", "NAMED 2"], "metric": ["NAMED m", "n"], "n": 1, "mean": 0.5}
    covered = evf.RagReport(metrics={"NAMED": 0.5}, coverage={"NAMED": 3}, n_samples=5)
    report = report_of(5, ["NAMED a", "NAMED b"])
    charts = [
        *(
            draw(f, "NAMED m")
            for f in (frame, crowd)
            for draw in (plots.differences, plots.scatter)
        ),
        *(plots.distribution(frame, "NAMED m"), plots.heat_map(pl.DataFrame(slices))),
        *(plots.coverage(covered), plots.curves(report), plots.precision_recall(report)),
    ]
    for chart in charts:
        compiled = vl_convert.vegalite_to_vega(spec_of(chart))
        scripts = [v for k, v in walk(compiled) if k in ("signal", "expr", "update", "test")]
        assert scripts
        assert "NAMED" not in json.dumps(scripts)


@pytest.mark.parametrize("name", ["end\\", 'q"x\\', "\u2028a\u2029", "`${x}'", "</script><b>"])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """As a system, a metric, a slice and its column; and no name ends a page's script."""
    frame = values_frame({name: [0.1, 0.2], "other": [0.2, 0.1]}, name)
    slices = pl.DataFrame({name: [name, "y"], "metric": name, "n": [1, 2], "mean": [0.5, 0.7]})
    charts = [
        *(draw(frame, name) for draw in (plots.differences, plots.scatter, plots.distribution)),
        plots.heat_map(slices),
    ]
    seen = name.translate({0x2028: "\\u2028", 0x2029: "\\u2029"})
    for chart in charts:
        root = ElementTree.fromstring(plots.svg(chart))
        assert any(seen in text for text in root.itertext())
    plots.save(charts[0], tmp_path / "chart.html")
    assert "</script><b>" not in (tmp_path / "chart.html").read_text(encoding="utf-8")


def test_what_differs_in_the_middle_of_names_is_seen() -> None:
    """In titles, subtitles, axes and legends alike."""
    a, b = (f"a-very-long-system-name_{n}-finetuned-on-msmarco-v2" for n in ("00", "01"))
    frame = values_frame({a: [0.1, 0.2], b: [0.2, 0.1]})
    for draw in (plots.differences, plots.scatter):
        chart = draw(frame, "m")
        for text in (spec_of(chart)["title"]["text"][0], subtitle_of(chart), plots.svg(chart)):
            assert "ame_00-fine" in text
            assert "ame_01-fine" in text
    labels = labels_of([a, b, a.replace("very", "quite")])
    assert [part for label in labels.values() for part in ("_00", "_01") if part in label]
    assert not any("(2)" in label for label in labels.values())
    assert all(len(label) <= 34 for label in labels.values())


def test_each_metric_has_its_own_scale_of_colour() -> None:
    """A count beside a share leaves the share's differences visible."""
    slices = pl.DataFrame(
        {
            "level": ["x", "y"] * 2,
            "metric": ["ndcg", "ndcg", "num_rel_ret", "num_rel_ret"],
            "n": 2,
            "mean": [0.2, 0.8, 7.3, 14.6],
        }
    )
    chart = plots.heat_map(slices.lazy())
    assert [(r["shade"], r["shown"]) for r in rows_of(chart)] == [
        (0.0, "0.20"),
        (1.0, "0.80"),
        (0.0, "7"),
        (1.0, "15"),
    ]
    colour = spec_of(chart)["layer"][0]["encoding"]["color"]
    assert (colour["field"], colour["scale"]["domain"]) == ("shade", [0, 1])
    assert "each metric has its own scale of colour" in subtitle_of(chart)


def test_a_curve_stays_within_what_its_metric_can_be() -> None:
    """No axis of a share goes beyond 1."""
    run = {f"q{i}": {"a": 2.0, "b": 1.0} if i else {"b": 2.0, "a": 1.0} for i in range(12)}
    report = evf.evaluate({q: {"a": 1} for q in run}, run, ["ndcg@1", "ndcg@2"])
    domain = spec_of(plots.curves(report))["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert domain[0] > 0
    assert domain[1] == 1.0


def test_what_is_no_source_is_refused_by_its_kind() -> None:
    """Each says what it is made of."""
    with pytest.raises(FrameError, match=r"report\.slices\(by=…\) gave, not of NoneType"):
        plots.heat_map(None)  # type: ignore[arg-type]
    with pytest.raises(FrameError, match="evaluate_rag gave, not of DataFrame"):
        plots.coverage(values_frame({"a": [0.5]}))  # type: ignore[arg-type]
    for draw in (plots.png, plots.svg):
        with pytest.raises(FrameError, match=r"a chart of Altair.*not str"):
            draw("x")  # type: ignore[arg-type]
    with pytest.raises(FrameError, match="not NoneType"):
        plots.save(None, "x.svg")  # type: ignore[arg-type]


def test_labels_are_short_and_all_different() -> None:
    """Long names keep both ends; names that would look alike are numbered."""
    labels = labels_of(["x" * 90, "x" * 91, "x" * 92, "a\tb", ""])
    assert len(set(labels.values())) == 5
    assert all(len(label) <= 34 and label.isprintable() for label in labels.values())
    assert labels["a\tb"] == "a\\tb"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_axes_enclose_their_values(values: list[float]) -> None:
    """Every value lies on its axis, whose ticks go from end to end and are few."""
    low, high = axis_of(values)
    slack = 1e-9 * max(abs(low), abs(high))
    assert low < high
    assert low - slack <= min(values)
    assert max(values) <= high + slack
    shown = ticks(low, high)
    assert (shown[0], shown[-1]) == pytest.approx((low, high))
    assert 3 <= len(shown) <= 14


@pytest.mark.parametrize("n_queries", [3, 300])
@pytest.mark.parametrize("n_systems", [2, 20])
def test_charts_say_what_they_show_and_fit(n_queries: int, n_systems: int) -> None:
    """A title, a subtitle with n, titles of axes, a white ground, and a notebook's width."""
    systems = [f"a system with a long name, number {i}" for i in range(n_systems)]
    report = report_of(n_queries, systems)
    for name, chart in every_chart(report, systems[0], systems[1]).items():
        spec = spec_of(chart)
        assert spec["title"]["text"], name
        assert spec["background"] == "white"
        assert spec["description"].startswith(spec["title"]["text"][0])
        inner = [chart] if name != "curves" else chart.vconcat
        for one in inner:
            told = one.to_dict()["title"]["subtitle"] if name == "curves" else [subtitle_of(one)]
            assert re.search(
                rf"\b{n_queries} quer|\b{n_queries // 3} quer(y|ies) a cell", " ".join(told)
            ), name
        titles = [
            value for key, value in walk(spec) if key == "axis" for value in [value.get("title")]
        ]
        assert any(titles), name
        width, height = size_of(plots.png(chart, scale=1))
        assert 250 <= width <= 720, name
        assert 150 <= height <= 1200, name


def test_colours_are_those_of_okabe_and_ito(hostile: dict[str, Any]) -> None:
    """Twenty systems differ by colour and dash together, and keep theirs in every chart."""
    okabe_ito = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"}
    assert set(LINES) == okabe_ito
    ranges = []
    for name in ("one curve", "precision_recall"):
        encoding = spec_of(hostile[name])["layer"][0]["encoding"]
        colours, dashes = (encoding[c]["scale"]["range"] for c in ("color", "strokeDash"))
        assert encoding["color"]["scale"]["domain"] == encoding["strokeDash"]["scale"]["domain"]
        assert len(set(zip(colours, map(tuple, dashes), strict=True))) == 20
        ranges.append((encoding["color"]["scale"]["domain"], colours))
    assert ranges[0] == ranges[1]
    assert len(DASHES) * len(LINES) == MOST_SYSTEMS


def test_one_query_and_equal_values() -> None:
    """The smallest reports have charts too, and their axes have a length."""
    one = values_frame({"a": [0.25], "b": [0.75]})
    assert "of 1 query;" in subtitle_of(plots.differences(one, "m"))
    assert "n = 1 query;" in subtitle_of(plots.distribution(one, "m", systems=["a"]))
    equal = values_frame({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    spec = spec_of(plots.differences(equal, "m"))
    assert spec["encoding"]["y"]["scale"]["domain"] == [-1.0, 1.0]
    assert size_of(plots.png(plots.scatter(equal, "m"), scale=1)) > (400, 400)


def test_the_same_report_gives_the_same_bits() -> None:
    """Charts, SVG and PNG do not depend on the order of rows."""
    report = report_of(150, ["one", "two"])
    for draw in (
        lambda source: plots.curves(source, "ndcg"),
        lambda source: plots.distribution(source, "ndcg@10"),
        lambda source: plots.differences(source, "ndcg@10"),
        lambda source: plots.scatter(source, "ndcg@10"),
    ):
        once = draw(report)
        for seed in range(5):
            again = draw(report.per_query.sample(fraction=1, shuffle=True, seed=seed))
            assert spec_of(once) == spec_of(again)
        assert plots.svg(once) == plots.svg(again)
        assert plots.png(once) == plots.png(again)


def test_charts_of_one_page_share_no_id() -> None:
    """Each SVG has its own ids, and refers to them by them."""
    slices = pl.DataFrame({"k": ["x", "y"], "metric": "mrr", "n": [1, 2], "mean": [0.5, 0.7]})
    found = []
    for frame in (slices, slices.with_columns(pl.col("mean") / 2)):
        text = plots.svg(plots.heat_map(frame))
        assert text == plots.svg(plots.heat_map(frame))
        ids = set(re.findall(r'\bid="([^"]*)"', text))
        used = set(re.findall(r"url\(#([^)]*)\)", text))
        assert ids
        assert used <= ids
        found.append(ids)
    assert found[0] & found[1] == set()
    named = slices.with_columns(k=pl.Series(['id="x" y', "url(#x)"]))
    texts = list(ElementTree.fromstring(plots.svg(plots.heat_map(named))).itertext())
    assert {'id="x" y (1)', "url(#x) (2)"} <= set(texts)


def test_files_by_suffix(tmp_path: Path) -> None:
    """Four formats, nothing replaced unasked, nothing left behind by a failure."""
    chart = plots.distribution(values_frame({"s": [0.5, 1.0]}), "m")
    for suffix in (".png", ".svg", ".html", ".json"):
        plots.save(chart, tmp_path / f"chart{suffix}")
    read = {path.suffix: path.read_bytes() for path in tmp_path.iterdir()}
    assert read[".png"] == plots.png(chart)
    assert read[".svg"].decode() == plots.svg(chart)
    assert json.loads(read[".json"]) == spec_of(chart)
    html = read[".html"].decode()
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=", html)
    assert "vegaEmbed" in html
    assert len(html) > 500_000
    with pytest.raises(FileExistsError, match="overwrite=True"):
        plots.save(chart, tmp_path / "chart.svg")
    plots.save(chart, tmp_path / "chart.svg", overwrite=True)
    with pytest.raises(OptionError, match=r"\.png, \.svg, \.html, \.json"):
        plots.save(chart, tmp_path / "chart.pdf")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == sorted(read)
    with pytest.raises(OptionError, match="scale=0"):
        plots.png(chart, scale=0)
    assert size_of(plots.png(chart, scale=2)) == tuple(
        2 * side for side in size_of(plots.png(chart, scale=1))
    )


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("on", "two", "a='on' is no system here: did you mean 'one'"),
        ("one", "one", "a and b are both 'one'"),
        (None, None, "a=None is no system here; there is 'one', 'three', 'two'"),
    ],
)
def test_two_systems_are_named(a: str | None, b: str | None, message: str) -> None:
    """Which two is asked for where there are more."""
    frame = values_frame({"one": [0.1], "two": [0.2], "three": [0.3]})
    for draw in (plots.differences, plots.scatter):
        with pytest.raises(OptionError, match=re.escape(message)):
            draw(frame, "m", a, b)


def test_sources_that_are_none() -> None:
    """What cannot be drawn is refused by name."""
    frame = values_frame({"one": [0.1]})
    with pytest.raises(OptionError, match="two systems are needed"):
        plots.differences(frame, "m")
    with pytest.raises(MetricError, match="no metric 'n' here; there is m"):
        plots.distribution(frame, "n")
    with pytest.raises(FrameError, match="not of dict"):
        plots.distribution({}, "m")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no system 'tow'"):
        plots.distribution(frame, "m", systems=["tow"])
    with pytest.raises(OptionError, match="names 0 systems"):
        plots.distribution(frame, "m", systems=[])
    apart = pl.DataFrame({"system": ["a", "b"], "query_id": ["1", "2"], "m": [0.1, 0.2]})
    with pytest.raises(EmptyError, match="no query has a value of 'm' for both"):
        plots.scatter(apart, "m")
    twice = pl.concat([apart, apart.with_columns(query_id=pl.lit("1"))])
    with pytest.raises(OptionError, match="query '1' has several values"):
        plots.scatter(twice, "m")


def test_samples_are_drawn_as_samples() -> None:
    """A RAG report's values are of samples, system by system where it has systems."""
    rows = [
        {"system": s, "query_id": q, "response": r, "reference": "x y"}
        for s, q, r in [("a", "1", "x"), ("a", "2", "x y"), ("b", "1", "x y"), ("b", "2", None)]
    ]
    report = evf.evaluate_rag(rows, metrics=["token_f1"])
    chart = plots.differences(report, "token_f1")
    values = report.per_sample.pivot("system", index="query_id", values="token_f1")
    want = dict(values.select("query_id", d=pl.col("a") - pl.col("b")).rows())
    assert {row["query"]: row["difference"] for row in rows_of(chart)} == want
    assert "of 2 samples" in subtitle_of(chart)
    assert spec_of(plots.distribution(report, "token_f1"))["title"]["text"] == [
        "token_f1 of each sample"
    ]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Altair, or without vl-convert, the error says what brings it."""
    frame = values_frame({"s": [0.5]})
    chart = plots.distribution(frame, "m")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "altair", None)
        with pytest.raises(MissingExtraError, match=r'altair.*pip install "evalframe\[plots\]"'):
            plots.distribution(frame, "m")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "vl_convert", None)
        with pytest.raises(MissingExtraError, match=r"evalframe\[plots\]"):
            plots.svg(chart)


def test_importing_plots_imports_no_altair() -> None:
    """The package opens late: only a chart needs Altair."""
    code = "import sys, evalframe.plots; print('altair' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
