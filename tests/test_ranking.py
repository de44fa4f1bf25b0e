"""Ranks: every road gives the order that sorting the whole list gives."""

from __future__ import annotations

import random

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import OptionError, RowError
from evalframe.ranking import matching, packing, ties

from .cases import Run, collection, qrels_table, run_table


def sorted_ranks(run: Run, tie_rule: str, dtype: pl.DataType) -> dict[tuple[str, str], int]:
    """Rank by sorting each list in plain Python."""
    ranks = {}
    for query, docs in run.items():
        numbers = pl.Series(docs.values(), dtype=pl.Float64).cast(dtype).to_list()
        rows = list(zip(docs, numbers, range(len(docs)), strict=True))
        rows.sort(key=lambda row: row[0].encode(), reverse=tie_rule == "trec")
        if tie_rule == "given":
            rows.sort(key=lambda row: row[2])
        rows.sort(key=lambda row: row[1], reverse=True)
        ranks |= {(query, doc): place for place, (doc, _, _) in enumerate(rows, start=1)}
    return ranks


def found_ranks(judged: pl.DataFrame) -> dict[tuple[str, str], int]:
    found = judged.filter(pl.col("rank").is_not_null())
    return {(q, d): r for q, d, r in found.select("query_id", "doc_id", "rank").iter_rows()}


@pytest.fixture(params=["small", "large by counting", "large by sorting", "large in order"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send small inputs down each of the roads."""
    if request.param.startswith("large"):
        monkeypatch.setattr(matching, "SMALL", 0)
        monkeypatch.setattr(matching, "MANY_RISES", 0 if "by" in request.param else 1)
        monkeypatch.setattr(matching, "FEW_PASS", 2)
        monkeypatch.setattr(matching, "SHALLOW", 0 if "sorting" in request.param else 1000)
    return request.param


@pytest.mark.parametrize("comparisons", [0, 1000])
@pytest.mark.parametrize("tie_rule", ["trec", "doc_asc", "given"])
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
def test_every_road_ranks_as_sorting_does(
    road: str,
    tie_rule: str,
    dtype: pl.DataType,
    comparisons: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for room in (ties, packing):
        monkeypatch.setattr(room, "COMPARISONS_PER_ROW", comparisons)
    for seed in range(6):
        qrels, run = collection(seed, n_queries=12)
        if road == "large in order":
            run = {q: dict(sorted(d.items(), key=lambda row: -row[1])) for q, d in run.items()}
        judged = evf.judge(qrels_table(qrels), run_table(run), ties=tie_rule, score_dtype=dtype)
        expected = sorted_ranks(run, tie_rule, dtype)
        kept = {pair: rank for pair, rank in expected.items() if pair[1] in qrels.get(pair[0], {})}
        assert found_ranks(judged) == kept
        lazy = evf.judge(
            qrels_table(qrels).lazy(), run_table(run).lazy(), ties=tie_rule, score_dtype=dtype
        )
        assert lazy.collect().equals(judged)


def test_a_query_in_two_places_of_the_run_is_one_list() -> None:
    run = pl.DataFrame(
        {"query_id": ["a", "b", "a"], "doc_id": ["x", "y", "z"], "score": [3.0, 2.0, 1.0]}
    )
    qrels = pl.DataFrame({"query_id": ["a"], "doc_id": ["z"], "relevance": [1]})
    assert evf.judge(qrels, run)["rank"].to_list() == [2]


def test_equal_scores_on_both_sides_of_a_border_are_no_tie() -> None:
    run = {"a": {"x": 2.0, "y": 1.0}, "b": {"w": 1.0, "z": 0.5}}
    judged = evf.judge({"a": {"y": 1}, "b": {"w": 1}}, run)
    assert judged["rank"].to_list() == [2, 1]


def test_ties_follow_the_rank_column_where_the_order_is_given() -> None:
    run = pl.DataFrame(
        {
            "query_id": ["q"] * 3,
            "doc_id": ["a", "b", "c"],
            "score": [1.0, 1.0, 1.0],
            "rank": [3, 1, 2],
        }
    )
    judged = evf.judge({"q": {"a": 1, "b": 1, "c": 1}}, run, ties="given")
    assert dict(judged.select("doc_id", "rank").iter_rows()) == {"a": 3, "b": 1, "c": 2}


def test_a_run_of_ranks_without_scores_is_ordered_by_rank() -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2, 1]})
    judged = evf.judge({"q": {"a": 1, "b": 1}}, run)
    assert dict(judged.select("doc_id", "rank").iter_rows()) == {"a": 2, "b": 1}


def test_one_tied_query_with_many_judgements_is_ranked_by_document() -> None:
    """A plateau as long as the list is sorted once, not compared pair by pair."""
    docs = [f"d{i:05}" for i in range(20_000)]
    random.Random(1).shuffle(docs)
    run = pl.DataFrame({"query_id": "q", "doc_id": docs, "score": 1.0})
    qrels = pl.DataFrame({"query_id": "q", "doc_id": docs, "relevance": 1})
    judged = evf.judge(qrels, run)
    assert judged.sort("rank")["doc_id"].to_list() == sorted(docs, reverse=True)


def test_the_judged_frame_says_what_was_missed() -> None:
    judged = evf.judge({"q": {"a": 1, "b": 3, "n": -1}}, {"q": {"x": 2.0, "a": 1.0}})
    assert judged.select("doc_id", "rank", "ideal_rank", "n_retrieved").rows() == [
        ("b", None, 1, 2),
        ("a", 2, 2, 2),
        ("n", None, 3, 2),
    ]


def test_the_depth_counts_before_unjudged_documents_are_left_out() -> None:
    """As in trec_eval, where -M comes before -J."""
    qrels, run = {"q": {"a": 1, "b": 1, "c": 0}}, {"q": {"x": 4.0, "a": 3.0, "c": 2.0, "b": 1.0}}
    judged = evf.judge(qrels, run, judged_only=True, depth=3).sort("doc_id")
    assert judged.select("doc_id", "rank", "n_retrieved").rows() == [
        ("a", 1, 2),
        ("b", None, 2),
        ("c", 2, 2),
    ]
    plan = evf.judge(qrels_table(qrels).lazy(), run_table(run).lazy(), judged_only=True, depth=3)
    assert plan.collect().sort("doc_id").equals(judged)


def test_a_judged_document_found_twice_is_refused_whatever_the_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalframe.frames.CHECKED_WHOLE", 0)
    run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "x", "a"], "score": [3.0, 2.0, 1.0]})
    with pytest.raises(RowError, match=r"2 rows .* more than once(.|\n)*doc_id='a', score=3.0"):
        evf.judge({"q": {"a": 1}}, run)
    kept = evf.judge({"q": {"a": 1}}, run, duplicates="best")
    assert kept.select("rank", "n_retrieved").row(0) == (1, 2)


@pytest.mark.parametrize(
    "wrong", [{"ties": "random"}, {"score_dtype": pl.Int64}, {"depth": 0}, {"duplicates": "drop"}]
)
def test_an_option_that_is_not_offered_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        evf.judge({"q": {"a": 1}}, {"q": {"a": 1.0}}, **wrong)


def test_the_input_is_left_as_it_was() -> None:
    made = collection(1)
    qrels, run = qrels_table(made[0]), run_table(made[1])
    before = qrels.clone(), run.clone()
    evf.evaluate(qrels, run, ["ndcg@10"], duplicates="best", score_dtype=pl.Float32)
    assert qrels.equals(before[0])
    assert run.equals(before[1])


@pytest.mark.parametrize("shallow", [0, 1000])
@pytest.mark.parametrize("lazy", [False, True])
def test_equal_rows_of_a_judged_document_are_found_on_every_road(
    shallow: int, lazy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalframe.frames.CHECKED_WHOLE", 0)
    monkeypatch.setattr(matching, "SMALL", 0)
    monkeypatch.setattr(matching, "MANY_RISES", 0)
    monkeypatch.setattr(matching, "SHALLOW", shallow)
    run = run_table({"p": {"x": 1.0, "a": 2.0}, "q": {"a": 1.0, "y": 3.0}})
    twice = pl.concat([run, run])
    with pytest.raises(RowError, match="more than once for their query"):
        evf.evaluate({"p": {"a": 1}, "q": {"a": 1}}, twice.lazy() if lazy else twice, "map")


@pytest.mark.parametrize("lazy", [False, True])
def test_a_row_without_a_rank_is_refused_where_ranks_decide(lazy: bool) -> None:
    run = run_table({"q": {"a": 1.0, "b": 1.0}}).with_columns(rank=pl.Series([None, 1]))
    assert evf.judge({"q": {"a": 1}}, run)["rank"].to_list() == [2]
    with pytest.raises(RowError, match="1 rows of the run have no rank"):
        evf.evaluate({"q": {"a": 1}}, run.lazy() if lazy else run, "mrr", ties="given")
    plan = evf.judge(qrels_table({"q": {"a": 1}}).lazy(), run.lazy(), ties="given")
    with pytest.raises(pl.exceptions.PolarsError, match="has no rank"):
        plan.collect()


@pytest.mark.parametrize(("length", "pays"), [(1, True), (1000, False)])
def test_counting_is_weighed_by_the_length_of_each_list(length: int, pays: bool) -> None:
    """Nine matches in five lists are few; five of them in one long list are not."""
    matched = pl.DataFrame({"block": [0, 0, 0, 0, 0, 1, 2, 3, 4]}, schema={"block": pl.UInt32})
    groups = pl.DataFrame({"n_retrieved": [length, 1, 1, 1, 1]}, schema={"n_retrieved": pl.UInt32})
    assert matching.counting_pays(matched, groups) == pays


@pytest.mark.parametrize("n_judged", [1, 300, 5000])
def test_every_judged_document_is_let_through_and_few_others_are(n_judged: int) -> None:
    qrels = pl.DataFrame({"query_id": "q", "doc_id": [f"d{i}" for i in range(n_judged)]})
    lookup = evf.prepare(qrels.with_columns(relevance=1)).lookup
    others = pl.DataFrame({"doc_id": [f"x{i}" for i in range(100_000)]})
    may_hold = lookup.may_hold(pl.col("doc_id"))
    assert qrels.select(may_hold.all()).item()
    assert others.select(may_hold.mean()).item() < 0.02


@pytest.mark.parametrize("least", [-(2**63), -5, -1.5])
def test_the_least_grade_stands_last_however_low_it_is(least: float) -> None:
    grades = pl.Series([1, least, 0], strict=False)
    qrels = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "relevance": grades})
    run = run_table({"q": {"a": 2.0, "b": 1.0}})
    judged = evf.judge(qrels, run)
    assert judged["doc_id"].to_list() == ["a", "c", "b"]
    assert judged.equals(evf.judge(qrels.lazy(), run.lazy()).collect())
    assert evf.evaluate(qrels, run, ["ndcg@1", "bpref"]).metrics["ndcg@1"] == 1.0
