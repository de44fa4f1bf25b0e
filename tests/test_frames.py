"""The door of frames: what is coerced, and what is refused with its rows."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import evalframe as evf
from evalframe import hashes
from evalframe.errors import ColumnError, EmptyError, EvalframeError, RowError
from evalframe.frames import conform, to_polars
from evalframe.hashes import all_differ

RUN = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
QRELS = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 0]})


@pytest.mark.parametrize(
    "names",
    [
        ("query-id", "corpus-id", "score"),
        ("qid", "docno", "label"),
        ("q_id", "doc_id", "rel"),
        ("query_id", "doc_id", "grade"),
    ],
)
def test_foreign_names_become_the_houses(names: tuple[str, str, str]) -> None:
    table = QRELS.rename(dict(zip(QRELS.columns, names, strict=True)))
    assert conform(table, "qrels").equals(QRELS)
    assert conform(table.lazy(), "qrels").collect().equals(QRELS)


def test_a_column_of_any_name_can_be_pointed_at() -> None:
    table = RUN.rename({"score": "cosine"})
    assert conform(table, "run", columns={"score": "cosine"}).equals(RUN)
    with pytest.raises(ColumnError, match="there is no column 'sine'; found: 'query_id'"):
        conform(table, "run", columns={"score": "sine"})
    with pytest.raises(ColumnError, match="run have no column 'value'; they have system"):
        conform(table, "run", columns={"value": "cosine"})


def test_ids_are_strings_and_keep_their_zeros() -> None:
    table = QRELS.with_columns(query_id=pl.Series([1, 2]), doc_id=pl.Series(["001", "01"]))
    assert conform(table, "qrels").select("query_id", "doc_id").rows() == [
        ("1", "001"),
        ("2", "01"),
    ]
    as_enum = QRELS.with_columns(pl.col("doc_id").cast(pl.Enum(["a", "b"])))
    assert conform(as_enum, "qrels").equals(QRELS)


def test_numbers_are_taken_in_any_width_and_grades_stay_whole() -> None:
    narrow = QRELS.with_columns(pl.col("relevance").cast(pl.Int8))
    assert conform(narrow, "qrels").equals(QRELS)
    assert conform(QRELS.with_columns(pl.col("relevance") > 0), "qrels").equals(QRELS)
    assert conform(QRELS.cast({"relevance": pl.String}), "qrels").equals(QRELS)
    graded = conform(QRELS.with_columns(pl.col("relevance") / 2), "qrels")
    assert graded["relevance"].to_list() == [0.5, 0.0]
    assert conform(RUN.cast({"score": pl.Float32}), "run").equals(RUN)
    assert conform(RUN.cast({"score": pl.String}), "run").equals(RUN)


def test_pandas_and_arrow_frames_are_taken_as_they_come() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "docno": ["a", "b"], "score": [2.0, 1.0]})
    assert conform(to_polars(frame), "run").rows() == [("1", "a", 2.0), ("1", "b", 1.0)]
    indexed = frame.set_index(["qid", "docno"])
    assert conform(to_polars(indexed), "run").rows() == [("1", "a", 2.0), ("1", "b", 1.0)]
    assert conform(to_polars(RUN.to_arrow()), "run").equals(RUN)


MISSING = r"the run frame lacks\n  'score', which may also be called 'sim'(.|\n)*found: 'query_id'"
WRONG = {
    "missing column": (RUN.drop("score"), ColumnError, MISSING),
    "float ids": (
        RUN.with_columns(query_id=pl.lit(1.5)),
        ColumnError,
        "column 'query_id' of the run frame is Float64; 'query_id' needs strings or whole numbers",
    ),
    "text scores": (
        RUN.with_columns(score=pl.lit("high")),
        ColumnError,
        'cannot be read as numbers(.|\n)*"high"',
    ),
    "NaN score": (
        RUN.with_columns(score=pl.Series([1.0, float("nan")])),
        RowError,
        r"1 in 'score'(.|\n)*row=1, query_id='q', doc_id='b', score=nan",
    ),
    "null score": (
        RUN.with_columns(score=pl.Series([None, 1.0])),
        RowError,
        "1 in 'score'(.|\n)*row=0",
    ),
    "null id": (
        RUN.with_columns(doc_id=pl.Series(["a", None])),
        RowError,
        "1 in 'doc_id'(.|\n)*row=1, query_id='q', doc_id=None",
    ),
    "duplicate": (
        pl.concat([RUN, RUN.head(1)]),
        RowError,
        r"2 rows whose \(query_id, doc_id\) stands more than once(.|\n)*row=0(.|\n)*row=2",
    ),
    "no rows": (RUN.clear(), EmptyError, "the run frame has no rows"),
}


@pytest.mark.parametrize(("table", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_evaluated_is_refused_with_its_rows(
    table: pl.DataFrame, error: type[EvalframeError], message: str
) -> None:
    with pytest.raises(error, match=message):
        evf.evaluate(QRELS, table, "mrr")


def test_qrels_given_as_a_run_are_recognised() -> None:
    with pytest.raises(ColumnError, match="These columns look like qrels: were the arguments"):
        evf.evaluate(RUN, QRELS, "mrr")


@pytest.mark.parametrize("bad", [None, float("nan")])
def test_a_lazy_plan_fails_on_a_score_that_is_no_number(bad: float | None) -> None:
    run = RUN.with_columns(score=pl.Series([1.0, bad], dtype=pl.Float64)).lazy()
    plan = evf.per_query(QRELS.lazy(), run, "mrr")
    with pytest.raises(pl.exceptions.PolarsError, match="null or NaN in column score of the run"):
        plan.collect()


def test_the_best_of_duplicates_is_kept_on_request() -> None:
    table = pl.concat([RUN, RUN.head(1).with_columns(score=pl.lit(9.0))])
    kept = conform(table, "run", duplicates="best")
    assert sorted(kept.rows()) == [("q", "a", 9.0), ("q", "b", 1.0)]
    assert table.height == 3


def test_duplicates_in_a_large_run_are_looked_for_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalframe.frames.CHECKED_WHOLE", 0)
    table = pl.concat([RUN, RUN.head(1)])
    assert conform(table, "run").height == 3
    with pytest.raises(RowError, match="2 rows"):
        conform(table, "run", duplicates="check")


def test_infinite_scores_are_scores() -> None:
    run = RUN.with_columns(score=pl.Series([float("-inf"), float("inf")]))
    assert evf.evaluate(QRELS, run, "mrr").metrics == {"mrr": 0.5}


DOUBLED = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [2.0, 1.5, 1.0]})


def test_a_lazy_plan_fails_on_a_judged_document_found_twice() -> None:
    plan = evf.per_query(QRELS.lazy(), DOUBLED.lazy(), "mrr")
    with pytest.raises(pl.exceptions.PolarsError, match="a judged document stands more than once"):
        plan.collect()
    plan = evf.per_query(pl.concat([QRELS, QRELS]).lazy(), RUN.lazy(), "mrr")
    with pytest.raises(pl.exceptions.PolarsError, match="a judged document stands more than once"):
        plan.collect()


def test_a_lazy_plan_keeps_the_best_of_duplicates_or_looks_for_them_on_request() -> None:
    plan = evf.per_query(QRELS.lazy(), DOUBLED.lazy(), ["num_ret", "mrr"], duplicates="best")
    assert plan.collect().row(0) == ("q", 2.0, 1.0)
    unjudged = DOUBLED.with_columns(doc_id=pl.Series(["x", "a", "x"]))
    assert evf.per_query(QRELS.lazy(), unjudged.lazy(), "mrr").collect().height == 1
    plan = evf.per_query(QRELS.lazy(), unjudged.lazy(), "mrr", duplicates="check")
    with pytest.raises(pl.exceptions.PolarsError, match="stands more than once in the run frame"):
        plan.collect()


@pytest.mark.parametrize("extra", [{}, {"rank": [1, 2]}, {"system": ["s", "s"]}])
def test_a_run_given_as_qrels_is_refused(extra: dict[str, list[object]]) -> None:
    whole = RUN.with_columns(**{name: pl.Series(values) for name, values in extra.items()})
    run = whole if extra else RUN.with_columns(score=pl.Series([0.9, 0.2]))
    with pytest.raises(ColumnError, match="these qrels look like a run"):
        evf.evaluate(run, RUN, "mrr")
    named = run.rename({"score": "relevance"})
    assert conform(named, "qrels")["relevance"].to_list() == run["score"].to_list()


def test_infinite_grades_are_refused() -> None:
    with pytest.raises(RowError, match="null, NaN or infinite values: 1 in 'relevance'"):
        evf.prepare(QRELS.with_columns(relevance=pl.Series([float("inf"), 1.0])))


def test_a_column_that_only_happens_to_be_called_name_is_no_system() -> None:
    assert conform(RUN.with_columns(name=pl.lit("title")), "run").columns == RUN.columns


def test_a_pandas_column_of_mixed_types_is_named() -> None:
    frame = pd.DataFrame({"qid": ["q", 1], "docno": ["a", "b"], "score": [2.0, 1.0]})
    with pytest.raises(ColumnError, match="mixes types"):
        to_polars(frame)


def test_pandas_columns_that_stand_twice_are_named() -> None:
    frame = pd.DataFrame([["q", "d", 1, 2]], columns=["query_id", "doc_id", "score", "score"])
    with pytest.raises(ColumnError, match=r"stand twice in the pandas frame: 'score'\."):
        conform(to_polars(frame), "run")


@pytest.mark.parametrize("n_rows", [10, 150_000, 300_000])
@pytest.mark.parametrize("again", [[], [0], [-1], [3, 3], [5, 6, 7]])
def test_rows_that_stand_twice_are_found_among_many(n_rows: int, again: list[int]) -> None:
    once = pl.DataFrame({"key": pl.int_range(n_rows, eager=True).cast(pl.String)})
    rows = pl.concat([once, once[[row % n_rows for row in again]]])
    assert all_differ(rows, ["key"]) == (not again)
    assert all_differ(rows.sample(fraction=1, shuffle=True, seed=1), ["key"]) == (not again)


@pytest.mark.parametrize("n_rows", [150_000, 300_000])
def test_hashes_that_share_a_place_are_compared(
    n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All hashes end alike, so that every row but one has lost its place."""
    monkeypatch.setattr(hashes, "pair_hash", lambda keys: pl.col(*keys))
    numbers = pl.int_range(n_rows, dtype=pl.UInt64, eager=True).rename("key") * 2**40
    assert all_differ(numbers.to_frame(), ["key"])
    assert not all_differ(numbers.extend(numbers.head(1)).to_frame(), ["key"])
