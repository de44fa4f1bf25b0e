"""The next question is one line: a query, a slice, a bin, two lists side by side."""

from __future__ import annotations

import random
import typing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalframe as evf
from evalframe.comparing.comparison_report import Comparison
from evalframe.errors import ColumnError, FrameError, MetricError, OptionError
from evalframe.report import QueryReport, Report, side_by_side
from evalframe.report.lists import judged_lists
from evalframe.report.spread import t_quantile
from evalframe.statistics import mean_interval

METRICS = ["ndcg@10", "mrr", "unjudged@50"]
SYSTEMS = ["bm25", "tfidf", "minilm"]


@pytest.fixture(scope="module")
def report(handbook: Path) -> Report:
    return evf.evaluate(handbook / "qrels/test.tsv", handbook / "runs/bm25.parquet", METRICS)


@pytest.fixture(scope="module")
def systems(handbook: Path) -> Report:
    frames = [evf.read_run(handbook / f"runs/{name}.parquet") for name in SYSTEMS]
    run = pl.concat(
        frame.select("query_id", "doc_id", "score").with_columns(system=pl.lit(name))
        for name, frame in zip(SYSTEMS, frames, strict=True)
    )
    return evf.evaluate(handbook / "qrels/test.tsv", run, METRICS)


@pytest.fixture(scope="module")
def queries(handbook: Path) -> pl.DataFrame:
    return evf.read_queries(handbook / "queries.parquet")


@pytest.fixture(scope="module")
def stored(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Report:
    file = tmp_path_factory.mktemp("stored") / "r.parquet"
    evf.write_report(report, file)
    again = evf.read_report(file)
    assert isinstance(again, Report)
    return again


# One query


def test_a_query_is_its_documents_taken_apart(report: Report) -> None:
    """The list, what was missed, and a first relevant rank that is the reciprocal of MRR."""
    for query_id, mrr in report.per_query.select("query_id", "mrr").rows():
        looked, documents = report.query(query_id), report.documents(query_id)
        missed = documents.filter(verdict="missed")
        assert_frame_equal(looked.documents, documents.filter(pl.col("verdict") != "missed"))
        assert_frame_equal(looked.missed, missed.select("doc_id", "relevance"))
        first = looked.first_relevant
        assert mrr == (0.0 if first is None else 1 / first)


def test_values_stand_beside_those_of_the_other_queries(report: Report) -> None:
    """The mean is the report's, and the share is counted: above, or below where less is better."""
    for row in report.per_query.iter_rows(named=True):
        values = report.query(row["query_id"]).values
        assert values["metric"].to_list() == METRICS
        for metric, value, mean, how, share in values.rows():
            assert how == "mean"
            others = report.per_query[metric].to_list()
            better = [x < value if metric == "unjudged@50" else x > value for x in others]
            assert value == row[metric]
            assert mean == pytest.approx(report.metrics[metric], abs=1e-15)
            assert share == pytest.approx(sum(better) / len(better), abs=1e-15)


def test_a_query_of_one_system_is_held_against_that_system(systems: Report) -> None:
    looked = systems.query("q18", system="minilm")
    alone = systems.per_query.filter(system="minilm")
    assert looked.system == "minilm"
    assert looked.values["value"].to_list() == list(alone.filter(query_id="q18").row(0)[2:])
    assert looked.values["overall"][0] == alone["ndcg@10"].mean()
    with pytest.raises(OptionError, match="the run has the systems"):
        systems.query("q18")
    with pytest.raises(OptionError, match=r"no query 'q99': did you mean"):
        systems.query("q99", system="bm25")


def test_a_system_is_refused_where_there_is_none(report: Report) -> None:
    for look in (report.query, report.documents):
        with pytest.raises(OptionError, match="system='bm25': the run has no column `system`"):
            look("q18", system="bm25")


def test_values_stand_beside_what_the_report_prints() -> None:
    """The geometric mean and the sum, where these are the metric's own, and of this system."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"one": {"q1": ["a"], "q2": ["x", "a"]}, "two": {"q1": ["a"], "q2": ["a", "x", "y"]}}
    metrics = ["mrr", "gm_map", "num_ret"]
    both = evf.evaluate(qrels, runs, metrics)
    for system, sizes in (("one", 3), ("two", 4)):
        values = both.query("q2", system=system).values.select("metric", "overall", "how")
        printed = both.summary.filter(system=system).select("metric", "value", "how")
        assert values.rows() == printed.rows()
        assert values.row(2) == ("num_ret", sizes, "sum")
    alone = evf.evaluate(qrels, runs["one"], metrics).query("q2").values
    assert alone.row(1)[1:4] == (0.5, pytest.approx(0.5**0.5), "geometric_mean")


@pytest.mark.parametrize(
    "kind", ["frame", "lazy", "columns", "dicts", "generator", "pandas", "parquet", "jsonl"]
)
def test_slices_need_no_texts(kind: str, tmp_path: Path) -> None:
    report = evf.evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"1": ["a"], "2": ["x", "a"]}, ["mrr"])
    frame = pl.DataFrame({"query_id": [1, 2], "level": ["easy", "hard"]})
    frame.write_parquet(tmp_path / "queries.parquet")
    frame.write_ndjson(tmp_path / "queries.jsonl")
    queries = {
        "frame": lambda: frame,
        "lazy": frame.lazy,
        "columns": lambda: frame.to_dict(as_series=False),
        "dicts": frame.to_dicts,
        "generator": lambda: iter(frame.to_dicts()),
        "pandas": frame.to_pandas,
        "parquet": lambda: tmp_path / "queries.parquet",
        "jsonl": lambda: tmp_path / "queries.jsonl",
    }[kind]
    found = report.slices("level", queries()).select("level", "n", "mean")
    assert found.rows() == [("easy", 1, 1.0), ("hard", 1, 0.5)]
    joined = report.join(queries())
    assert joined.columns == ["query_id", "mrr", "level"]
    assert joined["level"].to_list() == ["easy", "hard"]


def test_queries_without_texts_are_checked_as_others_are() -> None:
    report = evf.evaluate({"1": {"a": 1}}, {"1": ["a"]}, ["mrr"])
    with pytest.raises(FrameError, match="more than once"):
        report.join(pl.DataFrame({"query_id": ["1", "1"], "level": ["a", "b"]}))
    with pytest.raises(ColumnError, match="'query_id'"):
        report.join(pl.DataFrame({"level": ["a", "b"]}))


@pytest.mark.parametrize("rows", [-1, 2.5, "x", True])
def test_rows_are_a_whole_number(report: Report, rows: typing.Any) -> None:
    for write in (report.to_markdown, report.to_latex):
        with pytest.raises(OptionError, match=r"rows=.* must be a whole number, 0 or more"):
            write(rows=rows)


def test_more_is_asked_for_than_there_is(report: Report) -> None:
    assert report.worst("mrr", 10**20).height == report.per_query.height


def test_of_many_systems_the_counts_are_cut_and_counted() -> None:
    runs = {f"s{n:03}": {"q": ["a"]} for n in range(300)}
    report = evf.evaluate({"q": {"a": 1}}, runs, ["mrr"])
    lines = repr(report).splitlines()
    assert len(lines) == 2 + 60 + 1 + 60 + 1 + 1
    assert lines[-3].startswith("s059: queries in qrels 1")
    assert lines[-2] == "… and 240 more rows of counts"
    assert "… and 295 more rows of counts" in report.to_markdown(rows=5)
    assert report.to_latex(rows=None).count("% s") == 300


def test_texts_are_found_where_they_are(report: Report, handbook: Path) -> None:
    corpus, queries = handbook / "corpus.parquet", handbook / "queries.parquet"
    looked = report.query("q18", corpus=corpus, queries=queries)
    assert looked.text == "is the gain real or just luck"
    texts = dict(evf.read_corpus(corpus).select("doc_id", "text").rows())
    assert looked.documents["text"].to_list() == [texts[d] for d in looked.documents["doc_id"]]
    assert report.query("q18", queries={"other": "x"}).text is None


def test_a_query_that_does_not_count_has_a_list_and_no_values() -> None:
    report = evf.evaluate({"q": {"a": 1}}, {"q": ["a"], "extra": ["x", "y"]}, ["mrr"])
    looked = report.query("extra")
    assert looked.values.height == 0
    assert looked.values.schema["share_better"] == pl.Float64
    assert looked.documents["doc_id"].to_list() == ["x", "y"]
    assert looked.first_relevant is None


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_where_the_order_of_ties_moves_a_value_there_is_a_near_tie(rng: random.Random) -> None:
    """And where no two neighbours of equal score differ in worth, no order of ties moves it."""
    documents = [f"d{n}" for n in range(8)]
    qrels = {"q": {d: rng.choice([-1, 0, 1, 2]) for d in rng.sample(documents, 4)}}
    run = {"q": {d: float(rng.randrange(4)) for d in rng.sample(documents, 6)}}
    metrics = ["dcg", "map", "rbp"]
    one, other = (evf.evaluate(qrels, run, metrics, ties=ties) for ties in ("trec", "doc_asc"))
    near = one.query("q", epsilon=0).near_ties
    if one.metrics != other.metrics:
        assert near.height
    for row in near.iter_rows(named=True):
        assert row["score"] == row["next_score"]
        assert row["gap"] == 0
        swapped = {d: s + 0.5 * (d == row["next_doc_id"]) for d, s in run["q"].items()}
        lifted = evf.evaluate(qrels, {"q": swapped}, metrics)
        assert lifted.metrics["dcg"] != one.metrics["dcg"]


def test_near_ties_end_where_the_gap_is_greater_than_epsilon() -> None:
    qrels = {"q": {"a": 1, "c": 2, "e": 1, "f": -1}}
    run = {"q": {"x": 100.0, "a": 99.0, "b": 0.0, "c": 0.0, "d": -1.0, "e": -1.01, "f": -50.0}}
    report = evf.evaluate(qrels, run, ["mrr"])
    rows = report.query("q", epsilon=0.01).near_ties.select("rank", "doc_id", "next_doc_id", "gap")
    assert rows.rows() == [
        (1, "x", "a", pytest.approx(0.01)),
        (3, "c", "b", 0.0),
        (5, "d", "e", pytest.approx(0.01 / 1.01)),
    ]
    assert report.query("q", epsilon=0.0099).near_ties["doc_id"].to_list() == ["c"]
    with pytest.raises(OptionError, match="epsilon=2 is a share"):
        report.query("q", epsilon=2)


def test_a_query_reads_well() -> None:
    run = {"q": {f"d{n:02}": 50.0 - n for n in range(30)}, "r": {"<script>": 1.0}}
    texts = {"d00": "long " * 40, "<script>": "<b>bold</b>"}
    report = evf.evaluate({"q": {"d01": 1, "lost": 1}, "r": {"z": 1}}, run, ["mrr"])
    looked = report.query("q", corpus=texts, queries={"q": "what?"}, epsilon=1)
    shown = repr(looked)
    assert shown.splitlines()[0] == "query q: what?"
    assert "first relevant at rank 2; 30 retrieved, 1 of them relevant, 1 missed" in shown
    assert "… and 20 more rows" in shown
    assert "near ties (relative gap up to 1)" in shown
    assert max(map(len, shown.splitlines())) < 140
    page = report.query("r", corpus=texts)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;bold" in page


# Slices


def test_slices_are_means_of_their_queries(report: Report, queries: pl.DataFrame) -> None:
    """By another way: join, group, and the t interval of the statistics."""
    found = report.slices(["level", "kind"], queries)
    assert found.columns == [
        "level", "kind", "metric", "n", "mean", "low", "high", "difference", "interval",
        "confidence",
    ]  # fmt: skip
    joined = report.per_query.join(queries, on="query_id")
    expected = {
        (level, kind, metric): rows[metric].to_list()
        for (level, kind), rows in joined.group_by("level", "kind")
        for metric in METRICS
    }
    assert {row[:3] for row in found.rows()} == expected.keys()
    assert found.height == len(expected)
    for row in found.iter_rows(named=True):
        values = expected[row["level"], row["kind"], row["metric"]]
        assert row["n"] == len(values)
        assert row["mean"] == pytest.approx(sum(values) / len(values), abs=1e-14)
        overall = report.metrics[row["metric"]]
        assert row["difference"] == pytest.approx(row["mean"] - overall, abs=1e-14)
        assert (row["interval"], row["confidence"]) == ("t", 0.95)
        if len(values) == 1:
            assert row["low"] is row["high"] is None
            continue
        interval = mean_interval(values, "t")
        assert row["low"] == pytest.approx(interval.low, abs=1e-9)
        assert row["high"] == pytest.approx(interval.high, abs=1e-9)
    assert found.select("level", "kind").equals(found.sort("level", "kind").select("level", "kind"))
    assert found["metric"].head(3).to_list() == METRICS


def test_slices_of_every_system_add_up_to_it(systems: Report, queries: pl.DataFrame) -> None:
    found = systems.slices("level", queries)
    whole = found.group_by("system", "metric").agg(
        n=pl.col("n").sum(), mean=(pl.col("mean") * pl.col("n")).sum() / pl.col("n").sum()
    )
    summary = systems.summary.select("system", "metric", n="queries", mean="value")
    assert_frame_equal(whole, summary, check_row_order=False, check_exact=False, check_dtypes=False)
    both = found.filter(metric="mrr").group_by("system").agg(pl.col("level"))
    assert {tuple(levels) for levels in both["level"]} == {("easy", "hard", "medium")}


def test_an_expression_makes_slices(report: Report, queries: pl.DataFrame) -> None:
    long = (pl.col("text").str.len_chars() > 40).alias("long")
    found = report.slices(long, queries).filter(metric="mrr")
    counts = queries.select(long).to_series().value_counts().sort("long")["count"].to_list()
    assert found.select("long", "n").rows() == list(zip([False, True], counts, strict=True))
    by_id = report.slices(pl.col("query_id").str.head(2).alias("tens"))
    assert by_id["tens"].unique().sort().to_list() == [f"q{n}" for n in range(7)]
    assert_frame_equal(report.slices(["level"], queries), report.slices("level", queries))


def test_the_order_of_the_queries_does_not_matter(report: Report, queries: pl.DataFrame) -> None:
    shuffled = queries.sample(fraction=1, shuffle=True, seed=1)
    assert_frame_equal(report.slices("kind", shuffled), report.slices("kind", queries))


def test_queries_without_a_row_are_a_slice_and_are_counted(
    report: Report, queries: pl.DataFrame
) -> None:
    some = queries.head(60).with_columns(mrr=pl.lit(1)).rename({"mrr": "cost"})
    with pytest.warns(UserWarning, match=r"4 of 64 queries have no row .*'q61', 'q62'") as caught:
        found = report.slices("level", some)
    assert caught[0].filename == __file__
    assert found.filter(pl.col("level").is_null())["n"].to_list() == [4, 4, 4]
    assert found["level"].to_list()[-3:] == [None, None, None]
    with pytest.warns(UserWarning, match="4 of 64") as caught:
        joined = report.join(some)
    assert caught[0].filename == __file__
    assert joined.columns == ["query_id", *METRICS, "text", "kind", "level", "cost"]
    assert_frame_equal(joined.select(report.per_query.columns), report.per_query)
    assert joined["cost"].to_list() == [1] * 60 + [None] * 4


def test_what_makes_no_slices_is_refused_and_mended(report: Report, queries: pl.DataFrame) -> None:
    frame = queries.with_columns(
        length=pl.col("text").str.len_chars(), tags=pl.lit(["a"]), system=pl.lit("x")
    )
    with pytest.raises(ColumnError, match="no column 'levle': did you mean 'level'"):
        report.slices("levle", frame)
    with pytest.raises(ColumnError, match="hand over their frame or path as queries="):
        report.slices("level")
    with pytest.raises(OptionError, match=r"by='length' has \d+ different numbers") as refused:
        report.slices("length", frame)
    advice = str(refused.value).split("by=")[-2].split(", or")[0]
    bins = report.slices(eval(advice), frame)
    assert 2 <= bins["length"].n_unique() <= 8
    with pytest.raises(ColumnError, match=r"by='tags' holds List\(String\)"):
        report.slices("tags", frame)
    with pytest.raises(ColumnError, match="has a column of its own of that name"):
        report.slices(pl.col("level").alias("mean"), frame)
    with pytest.raises(ColumnError, match="has a column of its own of that name"):
        report.slices("system", frame)
    with pytest.raises(OptionError, match="1 values for 64 queries"):
        report.slices(pl.col("length").mean(), frame)
    with pytest.raises(ColumnError, match="cannot be worked out on the queries"):
        report.slices(pl.col("nothing") > 1, frame)
    for nothing in ([], [3]):
        with pytest.raises(OptionError, match="name a column of the queries"):
            report.slices(nothing, frame)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="the queries have a column 'mrr'"):
        report.join(frame.rename({"length": "mrr"}))


def test_a_slice_may_be_named_like_a_metric(report: Report, queries: pl.DataFrame) -> None:
    found = report.slices(pl.col("level").alias("mrr"), queries)
    assert_frame_equal(found.rename({"mrr": "level"}), report.slices("level", queries))


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_quantile_is_students(confidence: float) -> None:
    for degrees in [*range(1, 260), 500, 1000, 10_000, 1_000_000]:
        expected = scipy.stats.t.ppf((1 + confidence) / 2, degrees)
        assert t_quantile(degrees, confidence) == pytest.approx(expected, rel=1e-9)


def test_intervals_stand_beside_the_means(systems: Report) -> None:
    assert systems.intervals.columns[:6] == ["system", "metric", "n", "mean", "low", "high"]
    for row in systems.intervals.iter_rows(named=True):
        values = systems.per_query.filter(system=row["system"])[row["metric"]]
        interval = mean_interval(values.to_list(), "t")
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=1e-9)


# Bins


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-20, 40).map(lambda n: n / 20), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_a_histogram_counts_every_value_in_bins_of_numpys_width(
    values: list[float], bins: int
) -> None:
    qrels = {f"q{n:02}": {"a": 1} for n in range(len(values))}
    grades = {q: {"a": v} for q, v in zip(qrels, values, strict=True)}
    run = {q: {"a": 1.0} for q in qrels}
    metric = pl.col("relevance").sum().alias("value")
    report = evf.evaluate(grades, run, [metric])
    found = report.histogram("value", bins)
    inside = min(values) >= 0 and max(values) <= 1
    edges = np.histogram_bin_edges(values, bins, (0, 1) if inside else None)
    for place, (low, high, count) in enumerate(found.rows()):
        last = place == bins - 1
        assert count == sum(low <= x <= high if last else low <= x < high for x in values)
    assert found["count"].sum() == len(values)
    assert found["low"].to_list() == pytest.approx(edges[:-1].tolist(), abs=1e-12)
    assert found["high"].to_list() == pytest.approx(edges[1:].tolist(), abs=1e-12)


def test_systems_share_their_bins(systems: Report) -> None:
    found = systems.histogram("mrr", bins=4)
    assert found["system"].to_list() == sorted(SYSTEMS * 4)
    assert found["low"].to_list() == [0.0, 0.25, 0.5, 0.75] * 3
    assert found.group_by("system").agg(pl.col("count").sum())["count"].to_list() == [64] * 3
    with pytest.raises(MetricError, match="no metric 'mr': did you mean 'mrr'"):
        systems.histogram("mr")
    with pytest.raises(OptionError, match="bins=0 must be a whole number"):
        systems.histogram("mrr", bins=0)


# Side by side


def test_every_document_of_either_list_stands_once(systems: Report) -> None:
    for query_id in systems.per_query["query_id"].unique():
        found = systems.moved(query_id, "bm25", "minilm")
        for side, system in (("a", "bm25"), ("b", "minilm")):
            listed = systems.query(query_id, system=system).documents
            ours = found.filter(pl.col(f"rank_{side}").is_not_null()).sort(f"rank_{side}")
            assert ours["doc_id"].to_list() == listed["doc_id"].to_list()
            assert ours[f"rank_{side}"].to_list() == listed["rank"].to_list()
            assert ours[f"score_{side}"].to_list() == listed["score"].to_list()
            assert ours["verdict"].to_list() == listed["verdict"].to_list()
            assert ours["relevance"].to_list() == listed["relevance"].to_list()
        both = found.filter(pl.col("move").is_not_null())
        assert both["move"].to_list() == (both["rank_a"] - both["rank_b"]).to_list()
        assert found["doc_id"].n_unique() == found.height


def test_what_changes_the_gain_most_comes_first() -> None:
    qrels = {"q": {"top": 1, "low": 1, "best": 3, "same": 3}}
    a = ["same", "top", "x", "y", "z", "low", "w", "best"]
    b = ["same", "x", "best", "top", "z", "w", "y", "low", "v"]
    found = evf.evaluate(qrels, {"a": {"q": a}, "b": {"q": b}}, ["mrr"]).moved("q", "a", "b")
    assert found["doc_id"].to_list()[:4] == ["best", "top", "low", "v"]
    assert found["doc_id"].to_list()[-1] in {"same", "z"}
    assert found.filter(doc_id="best").row(0)[1:4] == (8, 3, 5)
    assert found.filter(doc_id="v").row(0)[1:4] == (None, 9, None)


def test_two_reports_stand_side_by_side_as_two_systems_do(systems: Report, handbook: Path) -> None:
    qrels = evf.prepare(handbook / "qrels/test.tsv")
    a, b = (evf.evaluate(qrels, handbook / f"runs/{n}.parquet", METRICS) for n in SYSTEMS[:2])
    assert_frame_equal(side_by_side(a, b, "q18"), systems.moved("q18", "bm25", "tfidf"))
    mixed = side_by_side(a, systems, "q18", system_b="tfidf", corpus=handbook / "corpus.parquet")
    assert_frame_equal(mixed.drop("title", "text"), systems.moved("q18", "bm25", "tfidf"))
    assert mixed["text"].null_count() == 0
    with pytest.raises(OptionError, match="a single system"):
        a.moved("q18", "bm25", "tfidf")
    with pytest.raises(OptionError, match="system='bm52'"):
        systems.moved("q18", "bm52", "tfidf")


def test_reports_by_other_qrels_are_not_put_side_by_side() -> None:
    run = {"q": ["a", "b"]}
    one = evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["mrr"])
    for other in (
        evf.evaluate({"q": {"a": 2, "b": 1}}, run, ["mrr"]),
        evf.evaluate({"q": {"b": 1}}, run, ["mrr"]),
        evf.evaluate({"q": {"a": 1, "b": 1}}, run, ["mrr"], rel=2),
    ):
        with pytest.raises(FrameError, match=r"judge [12] documents of this query differently"):
            side_by_side(one, other, "q")
    missing = evf.evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, ["mrr"])
    assert side_by_side(one, missing, "q")["doc_id"].to_list() == ["b", "a"]


# Reports of every sort


def test_a_stored_report_says_what_it_cannot_do(
    stored: Report, report: Report, queries: pl.DataFrame
) -> None:
    assert_frame_equal(stored.slices("level", queries), report.slices("level", queries))
    assert_frame_equal(stored.join(queries), report.join(queries))
    assert_frame_equal(stored.histogram("mrr"), report.histogram("mrr"))
    assert_frame_equal(stored.intervals, report.intervals)
    assert stored.to_markdown() == report.to_markdown()
    with pytest.raises(OptionError, match="a stored report has no documents"):
        stored.query("q18")
    with pytest.raises(OptionError, match="a stored report has no documents"):
        side_by_side(stored, report, "q18")


@pytest.mark.parametrize("ties", ["trec", "doc_asc", "given"])
def test_a_plan_gives_the_lists_that_a_frame_gives(ties: str) -> None:
    rng = random.Random(5)
    rows = [
        (system, f"q{q}", f"d{d}", float(rng.randrange(4)))
        for system in ("a", "b")
        for q in range(3)
        for d in rng.sample(range(30), 12)
    ]
    run = pl.DataFrame(rows, ["system", "query_id", "doc_id", "score"], orient="row")
    qrels = {f"q{q}": {f"d{d}": d % 3 for d in range(0, 30, 2)} for q in range(3)}
    for settings_ in ({}, {"depth": 5}, {"judged_only": True}):
        eager = evf.evaluate(qrels, run, ["mrr"], ties=ties, **settings_)
        lazy = evf.evaluate(qrels, run.lazy(), ["mrr"], ties=ties, **settings_)
        for system in ("a", "b"):
            for query in qrels:
                listed = eager.documents(query, system=system)
                assert_frame_equal(lazy.documents(query, system=system), listed)
                first = eager.query(query, system=system).first_relevant
                mrr = eager.per_query.filter(system=system, query_id=query)["mrr"].item()
                assert mrr == (0.0 if first is None else 1 / first)


@pytest.mark.parametrize("settings_", [{}, {"depth": 7}, {"judged_only": True}])
def test_lists_looked_up_together_are_those_looked_up_alone(
    systems: Report, settings_: dict[str, object]
) -> None:
    report = evf.evaluate(systems.qrels, systems.run, ["mrr"], **settings_)
    wanted = report.per_query.select("system", "query_id").sample(40, seed=3, shuffle=True)
    together = judged_lists(report.qrels, report.run, report.contract, wanted)
    alone = [
        report.documents(query, system=system).select(
            pl.lit(system).alias("system"), pl.lit(query).alias("query_id"), pl.all()
        )
        for system, query in wanted.rows()
    ]
    assert_frame_equal(together, pl.concat(alone))
    deepest = together["rank"].max()
    assert deepest == 7 if "depth" in settings_ else deepest > 10


def test_an_editor_completes_everything() -> None:
    """Every public property and method says what it returns, and none says Any."""
    for kind in (Report, QueryReport, Comparison, evf.RagReport):
        for name in dir(kind):
            member = getattr(kind, name)
            function = getattr(member, "fget", getattr(member, "func", member))
            if name.startswith("_") or not callable(function):
                continue
            hints = typing.get_type_hints(function)
            assert hints.get("return", typing.Any) is not typing.Any, (kind, name)
        for name, hint in typing.get_type_hints(kind).items():
            assert hint is not typing.Any, (kind, name)
