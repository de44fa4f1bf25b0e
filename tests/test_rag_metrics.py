"""RAG metrics of one list and one row, and `score_rows` over tables."""

from __future__ import annotations

import asyncio
import inspect
import json
from math import log2
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.errors import ColumnError, EmptyError, EvalframeError, OptionError, RowError
from evalframe.evaluation.lists import average_precision, ndcg_at_k, recall_at_k, reciprocal_rank
from evalframe.rag import metrics as m

IDS = st.lists(st.sampled_from("abcdef"), max_size=8)
RELEVANT = st.sets(st.sampled_from("abcdefgh"), max_size=6)
K = st.integers(-1, 9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (m.recall_at_k(["a", "x", "b"], {"a", "b", "c", "d"}, 3), 0.5),
        (m.recall_at_k(["a", "x", "b"], {"a", "b"}, 1), 0.5),
        (m.precision_at_k(["a", "x", "b"], {"a", "b"}, 2), 0.5),
        (m.precision_at_k(["a", "x"], {"a", "b"}, 10), 0.5),
        (m.mrr(["x", "y", "a"], {"a", "b"}), 1 / 3),
        (m.ndcg(["x", "a"], {"a", "b"}, 2), (1 / log2(3)) / (1 + 1 / log2(3))),
        (m.ndcg(["a", "x", "b"], {"a", "b"}, 1), 1.0),
        (m.context_precision(["a", "x", "b"], {"a", "b", "c"}), (1 + 2 / 3) / 3),
        # An id again takes up a place and earns nothing.
        (m.recall_at_k(["a", "a"], {"a", "b"}, 2), 0.5),
        (m.precision_at_k(["a", "a"], {"a"}, 2), 0.5),
        (m.context_precision(["a", "a", "a"], {"a"}), 1.0),
        (m.ndcg(["a", "a"], {"a"}, 2), 1.0),
        (m.mrr(["x", "x", "a"], {"a"}), 1 / 3),
    ],
)
def test_values_worked_by_hand(value: float, expected: float) -> None:
    """The definitions, on lists small enough to count."""
    assert value == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    "function",
    [m.mrr, m.context_precision]
    + [lambda r, g, f=f: f(r, g, 5) for f in (m.ndcg, m.precision_at_k, m.recall_at_k)],
)
def test_undefined_is_zero(function: Any) -> None:
    """Nothing retrieved, nothing relevant, nothing found: 0."""
    assert function([], {"a"}) == function(["a"], set()) == function([], set()) == 0.0
    assert function(["x"], {"a"}) == 0.0


@given(IDS, RELEVANT, K)
def test_values_stay_between_zero_and_one(retrieved: list[str], relevant: set[str], k: int) -> None:
    """Whatever repeats in the list."""
    for value in (
        m.mrr(retrieved, relevant),
        m.context_precision(retrieved, relevant),
        m.ndcg(retrieved, relevant, k),
        m.precision_at_k(retrieved, relevant, k),
        m.recall_at_k(retrieved, relevant, k),
    ):
        assert 0.0 <= value <= 1.0
        assert isinstance(value, float)


@given(st.permutations("abcdef"), RELEVANT, st.integers(1, 9))
def test_without_repeats_they_are_the_ranking_metrics(
    retrieved: list[str], relevant: set[str], k: int
) -> None:
    """On lists of distinct ids these are the functions of `single_list` with grades of 1."""
    grades = dict.fromkeys(sorted(relevant), 1.0)
    assert m.mrr(retrieved, relevant) == reciprocal_rank(retrieved, grades)
    assert m.ndcg(retrieved, relevant, k) == pytest.approx(ndcg_at_k(retrieved, grades, k))
    assert m.recall_at_k(retrieved, relevant, k) == recall_at_k(retrieved, grades, k)
    assert m.context_precision(retrieved, relevant) == average_precision(retrieved, grades)


def test_a_lone_string_is_no_list_of_ids() -> None:
    """Its characters are not ids."""
    with pytest.raises(OptionError, match="relevant_ids='d1'"):
        m.mrr(["d1"], "d1")
    with pytest.raises(OptionError, match="retrieved_ids='d1'"):
        m.recall_at_k("d1", {"d1"}, 3)


CHUNKS = [m.RetrievedChunk("c2", "Rome is in Italy."), m.RetrievedChunk("c1", "Paris is nice.")]
ROW = {"relevant_doc_ids": ["c1", "c9"], "relevant_content": "Paris is nice in spring today."}
OBJECTS = [
    (m.ContextPrecisionMetric(), "context_precision", 0.25),
    (m.MRRMetric(), "mrr", 0.5),
    (m.NDCGMetric(), "ndcg@5", (1 / log2(3)) / (1 + 1 / log2(3))),
    (m.PrecisionAtKMetric(k=2), "precision@2", 0.5),
    (m.RecallAtKMetric(k=2), "recall@2", 0.5),
    (m.ContentRecallMetric(), "content_recall@5", 1.0),
    (m.ContentMRRMetric(), "content_mrr", 0.5),
]


@pytest.mark.parametrize(("metric", "name", "value"), OBJECTS)
def test_the_objects_read_the_row_and_give_the_functions_value(
    metric: Any, name: str, value: float
) -> None:
    """Every object has a name, keeps the protocol, and needs only the query and the chunks."""
    assert metric.score("?", CHUNKS, None, ROW) == pytest.approx(value, abs=1e-15)
    assert metric.score("?", CHUNKS) == metric.score("?", [], eval_row=ROW) == 0.0
    assert metric.name == name
    assert isinstance(metric, m.RAGMetric)
    assert [*inspect.signature(metric.score).parameters] == [
        "query", "retrieved", "reference", "eval_row",
    ]  # fmt: skip


def test_the_defaults_are_the_documented_ones() -> None:
    """Cut-off 5, threshold 0.5, and the keys."""
    assert m.NDCGMetric() == m.NDCGMetric(k=5, relevant_ids_key="relevant_doc_ids")
    assert m.ContentRecallMetric() == m.ContentRecallMetric(5, "relevant_content", 0.5)
    assert m.ContentMRRMetric() == m.ContentMRRMetric("relevant_content", 0.5)
    judge = SimpleNamespace(evaluate=lambda query: 1)
    assert m.JudgeMetric(judge) == m.JudgeMetric(judge, "score", "\n\n---\n\n")
    chunk = m.RetrievedChunk("c", "text")
    assert (chunk.score, chunk.metadata) == (None, {})


@pytest.mark.parametrize(
    "chunk",
    [
        "c1",
        {"id": "c1", "text": "x"},
        {"_id": "c1"},
        SimpleNamespace(id="c1", source_id="d1"),
        SimpleNamespace(node=SimpleNamespace(id_="c1", text="x"), score=0.4),
        ({"id": "c1"}, 0.3),
        SimpleNamespace(id=None, page_content="x", metadata={"source": "c1"}),
    ],
)
def test_chunks_of_any_library_are_taken(chunk: Any) -> None:
    """The piece's own id comes first."""
    assert m.MRRMetric().score("?", [chunk], eval_row=ROW) == 1.0


@pytest.mark.parametrize(
    "gold", [["c1"], {"c1"}, ("c1",), "c1", {"c1": 1, "c2": 0}, pl.Series(["c1"]), ["c1", None]]
)
def test_gold_ids_may_stand_in_any_collection(gold: Any) -> None:
    """A list, a set, one id, a mapping of grades, a series."""
    assert m.PrecisionAtKMetric(k=2).score("?", CHUNKS, eval_row={"relevant_doc_ids": gold}) == 0.5


@pytest.mark.parametrize("gold", [None, [], "", float("nan")])
def test_no_gold_is_zero(gold: Any) -> None:
    """As the functions have it for an empty set."""
    row = {"relevant_doc_ids": gold, "relevant_content": gold}
    assert m.RecallAtKMetric().score("?", CHUNKS, eval_row=row) == 0.0
    assert m.ContentRecallMetric().score("?", CHUNKS, eval_row=row) == 0.0


def test_whole_number_ids_match_their_strings() -> None:
    """An id is a string; 7 is '7'."""
    assert m.MRRMetric().score("?", [{"id": "7"}], eval_row={"relevant_doc_ids": [7]}) == 1.0


def test_coverage_counts_the_passages_words_with_repeats_and_nothing_else() -> None:
    """At the threshold counts, one word below does not, and a long chunk is not punished."""
    row = {"relevant_content": ["one two two three"]}
    filler = " ".join(f"w{n}" for n in range(500))

    def covered(text: str, threshold: float) -> float:
        metric = m.ContentRecallMetric(overlap_threshold=threshold)
        return metric.score("?", [text + " " + filler], eval_row=row)

    assert covered("one two", 0.5) == 1.0
    assert covered("one two", 0.51) == 0.0
    assert covered("two two three", 0.75) == 1.0
    assert covered("two three", 0.75) == 0.0
    assert covered("ONE, two: two (three)!", 1.0) == 1.0


def test_content_recall_counts_passages_once_and_only_the_first_k_chunks() -> None:
    """Repeated chunks never lift it above 1; passages without words are left out."""
    row = {"relevant_content": ["alpha beta", "gamma delta", "the", ""]}
    chunks = ["alpha beta", "alpha beta", "gamma delta"]
    assert m.ContentRecallMetric(k=2).score("?", chunks, eval_row=row) == 0.5
    assert m.ContentRecallMetric(k=3).score("?", chunks, eval_row=row) == 1.0


def test_another_profile_reads_texts_without_spaces() -> None:
    """Under `cjk` each character is a word."""
    row = {"relevant_content": "東京は首都"}
    assert m.ContentMRRMetric().score("?", ["首都は東京です"], eval_row=row) == 0.0
    assert m.ContentMRRMetric(profile="cjk").score("?", ["首都は東京です"], eval_row=row) == 1.0


def test_gold_sentences_inside_their_chunks_are_found(rag_data: Path) -> None:
    """Real passages: each ground truth that was retrieved whole is covered, at any threshold."""
    lines = (rag_data / "continuous_eval" / "retrieval_sm.jsonl").read_text().splitlines()
    metric = m.ContentRecallMetric(
        k=100, relevant_content_key="ground_truth_contexts", overlap_threshold=1.0
    )
    for row in map(json.loads, lines):
        whole = [
            any(gold in context for context in row["retrieved_contexts"])
            for gold in row["ground_truth_contexts"]
        ]
        value = metric.score(row["question"], row["retrieved_contexts"], eval_row=row)
        assert value >= sum(whole) / len(whole)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan")])
def test_a_threshold_is_a_share(threshold: float) -> None:
    """Anything else is refused when the metric is made."""
    for metric in (m.ContentRecallMetric, m.ContentMRRMetric):
        with pytest.raises(OptionError, match="overlap_threshold"):
            metric(overlap_threshold=threshold)


@pytest.mark.parametrize(
    ("retrieved", "row", "message"),
    [
        ([{"text": "x"}], ROW, "chunk 1 has no id"),
        ("c1", ROW, "no list of chunks"),
        (CHUNKS, {"relevant_doc_ids": 0.5}, "is no list"),
        (CHUNKS, {"relevant_doc_ids": [["c1"], ["c2"]]}, "no id"),
    ],
)
def test_what_is_no_id_is_refused(retrieved: Any, row: Any, message: str) -> None:
    """Rather than counted as a miss."""
    with pytest.raises(RowError, match=message):
        m.MRRMetric().score("?", retrieved, eval_row=row)


class Judge:
    """Answers with whatever it was made with, and remembers what it was given."""

    def __init__(self, answer: Any = 0.5) -> None:
        self.answer, self.given = answer, {}

    def evaluate(self, **given: Any) -> Any:
        self.given = given
        return self.answer


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (0.5, 0.5),
        (1, 1.0),
        (True, 1.0),
        ({"score": 3}, 3.0),
        ({"score": False}, 0.0),
        (SimpleNamespace(score=0.25), 0.25),
    ],
)
def test_a_judge_may_answer_in_many_shapes(answer: Any, value: float) -> None:
    """A number, a mapping or an object with the field."""
    assert m.JudgeMetric(Judge(answer)).score("?", CHUNKS) == value


def test_another_field_of_the_answer_can_be_named() -> None:
    """`score_field` reads mappings and objects alike."""
    assert m.JudgeMetric(Judge({"grade": 2}), score_field="grade").score("?", []) == 2.0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("good", "holds no number under 'score'"),
        (None, "holds no number"),
        ({"grade": 1}, "score_field="),
        ({"score": "0.5"}, "holds no number"),
        (float("nan"), "not a finite number"),
        ({"score": float("inf")}, "not a finite number"),
    ],
)
def test_an_answer_without_a_number_is_an_error(answer: Any, message: str) -> None:
    """No value is made up."""
    with pytest.raises(EvalframeError, match=message):
        m.JudgeMetric(Judge(answer)).score("?", CHUNKS)


def test_a_judge_is_given_what_its_parameters_ask_for() -> None:
    """By name, each under any of its names; a default stands where the row has nothing."""
    seen: dict[str, Any] = {}

    class Named:
        def evaluate(
            self, question: str, contexts: list[str], ground_truth: Any, answer: str,
            chunks: Any, lang: str, row: Any, context: str, tone: str = "dry",
        ) -> float:  # fmt: skip
            seen.update(locals())
            return 1

    row = {"answer": "Rome", "lang": "en"}
    m.JudgeMetric(Named(), context_separator="|").score("where?", CHUNKS, "Paris", row)
    assert (seen["question"], seen["ground_truth"], seen["answer"]) == ("where?", "Paris", "Rome")
    assert seen["contexts"] == ["Rome is in Italy.", "Paris is nice."]
    assert seen["context"] == "Rome is in Italy.|Paris is nice."
    assert (seen["lang"], seen["tone"], seen["row"]) == ("en", "dry", row)
    assert seen["chunks"] == CHUNKS


def test_an_open_ended_judge_is_given_the_standard_names() -> None:
    """`**kwargs`: query, context, reference, and the response if there is one."""
    judge = Judge()
    m.JudgeMetric(judge).score("?", CHUNKS[:1], "Paris", {"response": "Rome"})
    assert judge.given == {
        "query": "?", "context": "Rome is in Italy.", "reference": "Paris", "response": "Rome",
    }  # fmt: skip
    positional = SimpleNamespace(evaluate=lambda *given: len(given))
    assert m.JudgeMetric(positional).score("?", CHUNKS) == 3.0
    first = SimpleNamespace(evaluate=lambda query, /, **rest: "query" not in rest)
    assert m.JudgeMetric(first).score("?", CHUNKS) == 1.0


def test_a_judge_that_needs_what_is_not_there_is_refused() -> None:
    """The parameter is named."""
    judge = SimpleNamespace(evaluate=lambda query, answer: 1)
    with pytest.raises(OptionError, match="needs 'answer'"):
        m.JudgeMetric(judge).score("?", CHUNKS, eval_row={})
    with pytest.raises(OptionError, match="no method `evaluate`"):
        m.JudgeMetric(object())


class LateJudge:
    async def evaluate(self, query: str) -> dict[str, float]:
        await asyncio.sleep(0)
        return {"score": len(query) / 10}


def test_an_async_judge_is_awaited_in_and_out_of_a_loop() -> None:
    """As in a notebook and in a script."""

    async def notebook() -> float:
        return m.JudgeMetric(LateJudge()).score("four", [])

    assert asyncio.run(notebook()) == m.JudgeMetric(LateJudge()).score("four", []) == 0.4


ROWS: list[dict[str, Any]] = [
    {"query_id": "q2", "query": "a?", "retrieved": CHUNKS, "relevant_doc_ids": ["c1"]},
    {"query_id": "q1", "query": "b?", "retrieved": [], "relevant_doc_ids": ["c1"]},
    {"query_id": "q3", "query": "c?", "retrieved": None, "relevant_doc_ids": None},
]


@pytest.mark.parametrize("workers", [1, 3])
def test_score_rows_keeps_the_order_and_every_row(workers: int) -> None:
    """One row each, in input order; what a row lacks is null and said."""
    result = m.score_rows(iter(ROWS), [m.MRRMetric(), m.RecallAtKMetric()], workers=workers)
    assert result.columns == ["query_id", "mrr", "recall@5", "error"]
    assert result.rows() == [
        ("q2", 0.5, 1.0, None),
        ("q1", 0.0, 0.0, None),
        ("q3", None, None, "mrr: the row has no 'relevant_doc_ids'; "
                           "recall@5: the row has no 'relevant_doc_ids'"),
    ]  # fmt: skip


def test_a_metric_that_fails_loses_its_value_alone() -> None:
    """The other metrics of the row keep theirs, and the error names the metric."""

    class Flaky:
        name = "flaky"

        def score(self, query: str, retrieved: Any, reference: Any = None, eval_row: Any = None):
            if query == "b?":
                raise TimeoutError("late")
            return float("nan") if query == "c?" else 1

    result = m.score_rows(ROWS, [Flaky(), m.JudgeMetric(LateJudge())])
    assert result["flaky"].to_list() == [1.0, None, None]
    assert result["judge"].to_list() == [0.2, 0.2, 0.2]
    assert result["error"].to_list() == [
        None,
        "flaky: TimeoutError: late",
        "flaky: it gave NaN",
    ]


def test_score_rows_takes_samples_frames_under_their_own_names() -> None:
    """Contexts and ids become chunks, reference ids and contexts the gold standard."""
    samples = pl.DataFrame(
        {
            "user_input": ["a?", "b?"],
            "retrieved_contexts": [["Rome is big", "Paris is big"], []],
            "retrieved_context_ids": [["c2", "c1"], []],
            "reference_context_ids": [["c1"], ["c1"]],
            "reference_contexts": [["Paris is big"], None],
        }
    )
    metrics = [m.MRRMetric(), m.ContentRecallMetric(overlap_threshold=1.0)]
    expected = [("0", 0.5, 1.0, None), ("1", 0.0, None, result_error("content_recall@5"))]
    assert m.score_rows(samples, metrics).rows() == expected
    assert m.score_rows(samples.lazy(), metrics).rows() == expected
    assert m.score_rows(samples.to_arrow(), metrics).rows() == expected


def result_error(name: str) -> str:
    return f"{name}: the row has no 'relevant_content'"


def test_a_row_that_cannot_be_read_is_kept_with_its_error() -> None:
    """A row of another type, lists of two lengths, a string for a list."""
    rows = [
        3,
        {"contexts": ["a", "b"], "retrieved_ids": ["c1"], "relevant_doc_ids": ["c1"]},
        {"retrieved": "c1", "relevant_doc_ids": ["c1"]},
        {"contexts": ["a"], "relevant_doc_ids": ["c1"]},
    ]
    result = m.score_rows(rows, m.MRRMetric())
    assert result["mrr"].to_list() == [None] * 4
    assert [error.split(":")[0] for error in result["error"]] == [
        "the row is a int, not a mapping",
        "retrieved_contexts has 2 entries, retrieved_context_ids 1",
        "retrieved is a str, not a list",
        "mrr",
    ]


def test_the_rows_given_are_not_changed() -> None:
    """Names are looked up, never written back."""
    row = {"question": "?", "contexts": ["x"], "reference_ids": ["c1"]}
    before = dict(row)
    m.score_rows([row], m.MRRMetric())
    assert row == before


def test_columns_get_names_of_their_own() -> None:
    """A name that stands again gets a number, and a mapping names columns as one likes."""
    judges = [m.JudgeMetric(Judge(n)) for n in (1, 2, 3)]
    assert m.score_rows(ROWS[:1], judges).select(pl.exclude("query_id", "error")).to_dicts() == [
        {"judge": 1.0, "judge_2": 2.0, "judge_3": 3.0}
    ]
    assert m.score_rows(ROWS[:1], {"strict": judges[0]}).columns == ["query_id", "strict", "error"]


@pytest.mark.parametrize(
    ("rows", "metrics", "error", "message"),
    [
        ([], [m.MRRMetric()], EmptyError, "no rows"),
        ("rows.jsonl", [m.MRRMetric()], ColumnError, "rows is a str"),
        (ROWS, [], OptionError, "metrics is empty"),
        (ROWS, ["mrr"], OptionError, "no object with a method `score`"),
        (ROWS, [m.MRRMetric], OptionError, "no object"),
        (ROWS, {"error": m.MRRMetric()}, OptionError, "that column is taken"),
    ],
)
def test_score_rows_refuses_what_is_no_row_and_no_metric(
    rows: Any, metrics: Any, error: type[Exception], message: str
) -> None:
    """Each with its own words."""
    with pytest.raises(error, match=message):
        m.score_rows(rows, metrics)


def test_rows_with_ids_alone_have_no_texts() -> None:
    """Content metrics say so instead of scoring empty texts; id metrics go on."""
    row = {"retrieved_ids": ["c1"], "relevant_doc_ids": ["c1"], "relevant_content": "Paris"}
    result = m.score_rows([row], [m.MRRMetric(), m.ContentRecallMetric()])
    assert result.select("mrr", "content_recall@5").rows() == [(1.0, None)]
    assert "chunk 1 has no text" in result["error"][0]


def test_chunks_within_contexts_keep_their_ids() -> None:
    """Without a column of ids the items speak for themselves; plain texts have no id."""
    row = {
        "contexts": [{"id": "c2", "text": "Rome"}, {"id": "c1", "text": "Paris"}],
        "relevant_doc_ids": ["c1"],
        "relevant_content": "Paris",
    }
    result = m.score_rows([row], [m.MRRMetric(), m.ContentMRRMetric()])
    assert result.rows() == [("0", 0.5, 0.5, None)]


class Echo:
    """Scores 1 when the reference is what the row has first."""

    name = "echo"

    def score(self, query: str, retrieved: Any, reference: Any = None, eval_row: Any = None):
        return float(reference == eval_row["wanted"])


@pytest.mark.parametrize(
    "row",
    [
        {"references": ["a", "b"], "wanted": "a"},
        {"references": [None, "b"], "wanted": "b"},
        {"ground_truths": "a", "wanted": "a"},
        {"references": ["a"], "reference": "c", "wanted": "c"},
        {"references": [], "wanted": None},
    ],
)
def test_the_first_of_several_references_is_given(row: dict[str, Any]) -> None:
    """Where there is no single one."""
    assert m.score_rows([row], Echo())["echo"].to_list() == [1.0]


def test_pandas_frames_may_hold_chunks() -> None:
    """Objects in cells are taken row by row."""
    rows = [{"retrieved": [m.RetrievedChunk("c1", "x")], "relevant_doc_ids": ["c1"]}]
    assert m.score_rows(pd.DataFrame(rows), m.MRRMetric())["mrr"].to_list() == [1.0]


def test_arrays_are_lists_of_chunks() -> None:
    """Of ids and of texts, to metrics and judges; one string is none."""
    for array in (pl.Series(["c2", "c1"]), pl.Series(["c2", "c1"]).to_numpy()):
        assert m.MRRMetric().score("?", array, eval_row={"relevant_doc_ids": ["c1"]}) == 0.5
        assert m.JudgeMetric(Judge(0.5)).score("?", array) == 0.5
    with pytest.raises(RowError, match="no list of chunks"):
        m.JudgeMetric(Judge()).score("?", "abc")


@pytest.mark.parametrize("metric", [m.NDCGMetric, m.PrecisionAtKMetric, m.RecallAtKMetric])
@pytest.mark.parametrize("k", [0, -1, None, 1.5, "5", True])
def test_a_cutoff_is_a_whole_number_from_1(metric: Any, k: Any) -> None:
    """It is checked when the metric is made; numpy's are taken, and the functions check theirs."""
    for made in (metric, m.ContentRecallMetric):
        with pytest.raises(OptionError, match="k="):
            made(k=k)
    assert metric(k=pl.Series([3]).to_numpy()[0]).name.endswith("@3")
    if not isinstance(k, int) or k is True:
        for function in (m.ndcg, m.precision_at_k, m.recall_at_k):
            with pytest.raises(OptionError, match="k="):
                function(["a"], {"a"}, k)


def test_options_of_content_metrics_are_checked() -> None:
    """A threshold that is no number, a profile that is not known."""
    for made in (m.ContentRecallMetric, m.ContentMRRMetric):
        for threshold in ("0.5", None, True):
            with pytest.raises(OptionError, match="overlap_threshold"):
                made(overlap_threshold=threshold)
        with pytest.raises(OptionError, match="profile="):
            made(profile="squad")
