"""The dict-shaped door: documented examples, errors, and what `evaluate_retrieval` adds."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe import evaluation as ev
from evalframe.errors import (
    ColumnError,
    EmptyError,
    EvalframeError,
    MetricError,
    OptionError,
    RowError,
)
from evalframe.samples.scoring import per_sample
from evalframe.text import PROFILES, Profile

QRELS = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d3": 1.0}}
TEXTS = {"q1": "first query", "q2": "second query"}
FOUND = {"first query": ["d1", "d9", "d2"], "second query": ["d9", "d3"]}


def retriever(query: str, *, limit: int = 10) -> list[str]:
    return FOUND[query][:limit]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ev.dcg_at_k(["d1", "x", "d2"], {"d1": 1.0, "d2": 1.0}, 3), 1.5),
        (ev.ndcg_at_k(["d1", "d2"], {"d1": 1.0, "d2": 1.0}, 2), 1.0),
        (round(ev.ndcg_at_k(["x", "d1"], {"d1": 1.0}, 2), 4), 0.6309),
        (ev.recall_at_k(["d1", "x", "d2"], {"d1": 1.0, "d2": 1.0}, 2), 0.5),
        (ev.recall_at_k(["d1", "x", "d2"], {"d1": 1.0, "d2": 1.0}, 3), 1.0),
        (ev.precision_at_k(["d1", "x", "d2"], {"d1": 1.0, "d2": 1.0}, 2), 0.5),
        (ev.reciprocal_rank(["x", "d1", "d2"], {"d1": 1.0}), 0.5),
        (ev.reciprocal_rank(["x", "d1"], {"d1": 1.0}, k=1), 0.0),
        (ev.average_precision(["d1", "x", "d2"], {"d1": 1.0, "d2": 1.0}), 0.8333333333333333),
        (ev.exact_match("The Eiffel Tower", "eiffel tower"), 1.0),
        (ev.exact_match("Paris", "London"), 0.0),
        (ev.token_f1("the quick brown fox", "a quick brown fox"), 1.0),
        (round(ev.token_f1("quick brown fox", "quick brown dog"), 4), 0.6667),
        (ev.context_recall("paris france", ["Paris is the capital of France."]), 1.0),
        (ev.context_recall("paris france", ["London is in England."]), 0.0),
        (ev.context_precision("paris", ["Paris is in France.", "Unrelated text."]), 0.5),
    ],
)
def test_the_documented_values(value: float, expected: float) -> None:
    """Every example of the plain functions."""
    assert value == expected
    assert isinstance(value, float)


def test_the_documented_reports() -> None:
    """Both examples of `evaluate_retrieval`, and reports made by hand."""
    report = ev.evaluate_retrieval(retriever, QRELS, TEXTS, k_values=(1, 3))
    assert (report.metrics["recall@3"], round(report.primary_at(1) or 0, 3)) == (1.0, 0.5)
    assert (report.primary, report.n_queries, report.k_values) == (None, 2, (1, 3))
    by_hand = ev.RetrievalEvalReport(
        metrics={"ndcg@10": 0.83}, per_query={}, n_queries=12, k_values=(10,)
    )
    assert (by_hand.primary, by_hand.primary_at(5)) == (0.83, None)
    assert by_hand == ev.RetrievalEvalReport({"ndcg@10": 0.83}, {}, 12, (10,))
    assert by_hand != report
    assert "ndcg@10" in repr(by_hand)


def test_the_signatures_are_the_documented_ones() -> None:
    """Names, order, defaults and what must be given by keyword."""

    def parameters(function: Any) -> dict[str, Any]:
        return {
            name: (p.default if p.default is not p.empty else ..., p.kind is p.KEYWORD_ONLY)
            for name, p in inspect.signature(function).parameters.items()
        }

    given = (..., False)
    for function in (ev.dcg_at_k, ev.ndcg_at_k, ev.recall_at_k, ev.precision_at_k):
        assert parameters(function) == {"ranked": given, "relevant": given, "k": given}
    for function in (ev.reciprocal_rank, ev.average_precision):
        assert parameters(function) == {"ranked": given, "relevant": given, "k": (None, False)}
    retrieval = parameters(ev.evaluate_retrieval)
    assert [*retrieval][:6] == ["retriever", "qrels", "queries", "k_values", "metrics", "limit"]
    assert retrieval["k_values"] == ((1, 5, 10, 100), True)
    assert retrieval["metrics"] == (("ndcg", "recall", "precision", "mrr", "map"), True)
    assert retrieval["limit"] == (None, True)
    assert parameters(ev.read_beir) == {"directory": given, "qrels": (None, True)}
    assert [*parameters(ev.write_beir)][:4] == ["directory", "corpus", "queries", "qrels"]
    assert [*inspect.signature(ev.RetrievalEvalReport).parameters][:4] == [
        "metrics", "per_query", "n_queries", "k_values",
    ]  # fmt: skip


def test_the_report_holds_means_values_and_the_run() -> None:
    """`per_query` is a frame with the keys of `metrics`, and `to_dict` nests it."""
    report = ev.evaluate_retrieval(
        retriever, QRELS, TEXTS, k_values=(1, 3), metrics=("mrr", "recall")
    )
    assert [*report.metrics] == ["mrr@1", "mrr@3", "recall@1", "recall@3"]
    assert isinstance(report.per_query, pl.DataFrame)
    assert report.per_query.columns == ["query_id", *report.metrics]
    assert report.to_dict() == {
        "metrics": {"mrr@1": 0.5, "mrr@3": 0.75, "recall@1": 0.25, "recall@3": 1.0},
        "per_query": {
            "q1": {"mrr@1": 1.0, "mrr@3": 1.0, "recall@1": 0.5, "recall@3": 1.0},
            "q2": {"mrr@1": 0.0, "mrr@3": 0.5, "recall@1": 0.0, "recall@3": 1.0},
        },
        "n_queries": 2,
        "k_values": [1, 3],
    }
    json.dumps(report.to_dict())
    assert report.run.filter(query_id="q2")["doc_id"].to_list() == ["d9", "d3"]


@pytest.mark.parametrize("shape", ["dict", "frame", "lazy", "pandas", "path"])
def test_qrels_and_queries_may_be_frames_or_files(shape: str, tmp_path: Path) -> None:
    """All shapes give the same report."""
    qrels: Any = pl.DataFrame(
        {"query-id": ["q1", "q1", "q2"], "corpus-id": ["d1", "d2", "d3"], "score": [1, 1, 1]}
    )
    queries: Any = pl.DataFrame({"_id": [*TEXTS], "text": [*TEXTS.values()]})
    if shape == "dict":
        qrels, queries = QRELS, TEXTS
    elif shape == "lazy":
        qrels, queries = qrels.lazy(), queries.lazy()
    elif shape == "pandas":
        pytest.importorskip("pandas")
        qrels, queries = qrels.to_pandas(), queries.to_pandas()
    elif shape == "path":
        qrels.write_csv(tmp_path / "qrels.tsv", separator="\t")
        queries.write_ndjson(tmp_path / "queries.jsonl")
        qrels, queries = tmp_path / "qrels.tsv", str(tmp_path / "queries.jsonl")
    assert ev.evaluate_retrieval(retriever, qrels, queries) == ev.evaluate_retrieval(
        retriever, QRELS, TEXTS
    )


def test_queries_that_cannot_count_are_skipped_and_told() -> None:
    """Without a positive judgement, without a text; unjudged queries are not asked."""
    qrels = {**QRELS, "q3": {"d1": 0.0, "d2": -1.0}, "q4": {"d1": 1.0}}
    asked: list[str] = []

    def remembering(query: str) -> list[str]:
        asked.append(query)
        return FOUND[query]

    report = ev.evaluate_retrieval(remembering, qrels, {**TEXTS, "q3": "x", "q9": "unjudged"})
    assert asked == ["first query", "second query"]
    assert report.n_queries == 2
    assert sorted(report.skipped.rows()) == [
        ("q3", "no positive judgement"),
        ("q4", "no query text"),
    ]
    assert "1 not scored: no query text" in repr(report)
    assert "no query text" in report._repr_html_()


def test_a_query_for_which_nothing_is_found_counts_zero() -> None:
    """It stays in the mean, also where nothing at all is found."""
    some = ev.evaluate_retrieval(lambda q: FOUND[q] if q == "first query" else [], QRELS, TEXTS)
    assert some.metrics["recall@100"] == 0.5
    nothing = ev.evaluate_retrieval(lambda q: [], QRELS, TEXTS)
    assert nothing.n_queries == 2
    assert {*nothing.metrics.values()} == {0.0}
    assert nothing.per_query["query_id"].to_list() == ["q1", "q2"]  # type: ignore[index, union-attr]
    assert nothing.notes == ["nothing was retrieved for any query"]


def test_ids_that_never_meet_are_noted() -> None:
    """All zeros because the ids name other things is not the same as a bad retriever."""
    report = ev.evaluate_retrieval(lambda q: ["doc-1#0"], QRELS, TEXTS)
    assert "do they name the same documents?" in report.notes[0]
    assert "'doc-1#0'" in repr(report)
    assert ev.evaluate_retrieval(retriever, QRELS, TEXTS).notes == []


def test_pieces_count_at_their_documents_best_rank_and_limit_reads_deeper() -> None:
    """Three pieces of d9 hide d1 at limit 3, and not at limit 4."""
    pieces = [{"doc_id": doc} for doc in ("d9", "d9", "d9", "d1")]

    def cut(query: str, *, limit: int) -> list[dict[str, str]]:
        return pieces[:limit]

    qrels, queries = {"q": {"d1": 1.0}}, {"q": "x"}
    assert ev.evaluate_retrieval(cut, qrels, queries, k_values=(3,)).metrics["mrr@3"] == 0.0
    deeper = ev.evaluate_retrieval(cut, qrels, queries, k_values=(3,), limit=4)
    assert deeper.metrics["mrr@3"] == 0.5
    whole = ev.evaluate_retrieval(lambda query: pieces, qrels, queries, k_values=(3,))
    assert whole.metrics["mrr@3"] == 0.5


def test_the_limit_asked_for_is_the_largest_cutoff() -> None:
    """Unless it is given."""
    limits: list[int] = []

    def remembering(query: str, *, limit: int) -> list[str]:
        limits.append(limit)
        return []

    ev.evaluate_retrieval(remembering, QRELS, TEXTS, k_values=(3, 7))
    ev.evaluate_retrieval(remembering, QRELS, TEXTS, k_values=(3, 7), limit=20)
    assert limits == [7, 7, 20, 20]


def test_a_failed_query_is_named_or_recorded() -> None:
    """Skipped, it is not scored, and both means are shown."""

    def failing(query: str) -> list[str]:
        if query == "second query":
            raise ConnectionError("no answer")
        return FOUND[query]

    with pytest.raises(EvalframeError, match="'q2'"):
        ev.evaluate_retrieval(failing, QRELS, TEXTS)
    report = ev.evaluate_retrieval(failing, QRELS, TEXTS, on_error="skip")
    assert (report.n_queries, report.metrics["mrr@1"]) == (1, 1.0)
    assert report.metrics_zero_filled["mrr@1"] == 0.5
    assert report.failures.rows() == [("q2", "second query", "ConnectionError: no answer")]
    assert report.skipped.rows() == [("q2", "retriever failed")]
    assert "ConnectionError: no answer" in repr(report)
    assert report.to_dict()["metrics_zero_filled"]["mrr@1"] == 0.5
    with pytest.raises(EmptyError, match="failed on all 2 of them"):
        ev.evaluate_retrieval(lambda q: 1 / 0, QRELS, TEXTS, on_error="skip")


DISTRACTORS = {"q1": ["d9", "d8"], "q5": ["d1"]}


@pytest.mark.parametrize("as_frame", [False, True])
def test_distractors_and_hard_positives_are_found_where_they_landed(as_frame: bool) -> None:
    """The share in the top k, null for a query without any, and a frame of the places."""
    distractors: Any = DISTRACTORS
    if as_frame:
        pairs = [(q, d) for q, docs in DISTRACTORS.items() for d in docs]
        distractors = pl.DataFrame(pairs, schema=["qid", "docno"], orient="row")
    report = ev.evaluate_retrieval(
        retriever, QRELS, TEXTS, k_values=(1, 3), metrics=["mrr"],
        distractors=distractors, hard_positives={"q1": ["d2"], "q2": ["d3"]},
    )  # fmt: skip
    assert report.per_query.select("query_id", "^(fp|hard).*$").rows() == [  # type: ignore[union-attr]
        ("q1", 0.0, 0.5, 0.0, 1.0),
        ("q2", None, None, 0.0, 1.0),
    ]
    assert report.metrics["fp_rate@3"] == 0.5
    assert report.metrics["hard_recall@3"] == 1.0
    assert report.distractors is not None
    assert report.distractors.rows() == [("q1", "d9", 2), ("q1", "d8", None)]
    assert report.hard_positives is not None
    assert report.hard_positives.rows() == [("q1", "d2", 3), ("q2", "d3", 2)]


@pytest.mark.parametrize(
    ("distractors", "error", "message"),
    [
        ({"q1": ["d1"]}, RowError, "may not be relevant"),
        ({"q1": "d1"}, ColumnError, "give {query_id"),
        ({"q1": [0.5]}, ColumnError, "no id"),
        (["d1"], ColumnError, "distractors is a list"),
        (pl.DataFrame({"doc_id": ["d1"]}), ColumnError, "needs the columns"),
        ({"q7": ["d1"]}, OptionError, "for no query that was scored"),
        ({}, OptionError, "for no query that was scored"),
        (
            pl.DataFrame({"query_id": ["q1", None], "doc_id": [None, "d8"]}),
            RowError,
            "rows without an id(.|\\n)*row=1, query_id=None",
        ),
    ],
)
def test_distractors_that_make_no_sense_are_refused(
    distractors: Any, error: type[Exception], message: str
) -> None:
    """Relevant ones, lone strings, no ids, other shapes, other queries."""
    with pytest.raises(error, match=message):
        ev.evaluate_retrieval(retriever, QRELS, TEXTS, distractors=distractors)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": ["ndgc"]}, MetricError, "did you mean 'ndcg'"),
        ({"metrics": []}, MetricError, "metrics is empty"),
        ({"k_values": (0,)}, OptionError, "k_values="),
        ({"k_values": ()}, OptionError, "k_values="),
        ({"k_values": (1.5,)}, OptionError, "k_values="),
        ({"k_values": "10"}, OptionError, "k_values="),
        ({"limit": 0}, OptionError, "limit="),
        ({"metrics": None}, MetricError, "metrics=None: give any of ndcg"),
        ({"hard_positives": {"q1": ["d1", "d9"]}}, RowError, "must be relevant.*\n.*'d9'"),
        ({"hard_positives": {"q1": ["d2"], "q2": ["d1"]}}, RowError, "must be relevant"),
        ({"on_error": "pass"}, OptionError, "on_error="),
    ],
)
def test_options_that_are_not_offered_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Before any query is asked; all are ValueErrors."""
    with pytest.raises(error, match=message) as raised:
        ev.evaluate_retrieval(lambda q: pytest.fail("asked"), QRELS, TEXTS, **options)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("qrels", "queries"),
    [
        ({"q1": {"d1": 0.0}}, TEXTS),
        (QRELS, {"q9": "text"}),
        ({}, TEXTS),
        (QRELS, {}),
    ],
)
def test_nothing_to_score_is_an_error(qrels: Any, queries: Any) -> None:
    """No positive judgement, no text, no qrels, no queries."""
    with pytest.raises(ValueError, match=r"no query can be scored|empty"):
        ev.evaluate_retrieval(retriever, qrels, queries)


def test_one_name_and_repeated_cutoffs_are_taken_once() -> None:
    """A lone string is one metric; the order of the cut-offs stays."""
    report = ev.evaluate_retrieval(retriever, QRELS, TEXTS, metrics="ndcg", k_values=[3, 1, 3])
    assert [*report.metrics] == ["ndcg@3", "ndcg@1"]


CORPUS = {"d1": "Paris is in France.", "d2": "Zürich\nliegt\t“da”", "007": ""}
ASKED = {"q1": "where?", "q2": "wo, bitte?"}
GRADES = {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"007": 1.0}}


@pytest.mark.parametrize("grades", [GRADES, {"q1": {"d1": 0.5}}, {"q1": {"d1": 1}}])
def test_what_is_written_reads_back(tmp_path: Path, grades: Any) -> None:
    """Texts with any character, ids that look like numbers, whole and broken grades."""
    folder = tmp_path / "new" / "folder"
    ev.write_beir(str(folder), CORPUS, ASKED, grades)
    assert sorted(p.name for p in folder.iterdir()) == [
        "corpus.jsonl", "qrels.tsv", "queries.jsonl",
    ]  # fmt: skip
    corpus, queries, qrels = ev.read_beir(str(folder))
    assert (corpus, queries, qrels) == (CORPUS, ASKED, grades)
    assert all(isinstance(grade, float) for row in qrels.values() for grade in row.values())


def test_the_files_are_those_of_beir(tmp_path: Path) -> None:
    """Keys, header, and whole numbers for whole grades."""
    ev.write_beir(tmp_path, {"d1": "Paris"}, {"q1": "?"}, {"q1": {"d1": 1.0}})
    first = (tmp_path / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first) == {"_id": "d1", "title": "", "text": "Paris"}
    assert json.loads((tmp_path / "queries.jsonl").read_text()) == {"_id": "q1", "text": "?"}
    assert (tmp_path / "qrels.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t1\n"


def test_titles_and_texts_are_joined_and_the_qrels_file_can_be_chosen(tmp_path: Path) -> None:
    """`qrels/test.tsv` comes first; another file is named relative to the directory."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Paris", "text": "A city."}\n{"_id": "d2", "text": "No title."}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "?"}\n')
    for name, doc in (("test", "d1"), ("dev", "d2")):
        (tmp_path / "qrels" / f"{name}.tsv").write_text(
            f"query-id\tcorpus-id\tscore\nq1\t{doc}\t1\n"
        )
    corpus, _, qrels = ev.read_beir(tmp_path)
    assert corpus == {"d1": "Paris A city.", "d2": "No title."}
    assert qrels == {"q1": {"d1": 1.0}}
    assert ev.read_beir(tmp_path, qrels="qrels/dev.tsv")[2] == {"q1": {"d2": 1.0}}
    with pytest.raises(FileExistsError, match="judgements already"):
        ev.write_beir(tmp_path, CORPUS, ASKED, GRADES)


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    """As is a missing directory."""
    ev.write_beir(tmp_path, CORPUS, ASKED, GRADES)
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=missing.partition(".")[0]):
        ev.read_beir(tmp_path)
    with pytest.raises(FileNotFoundError):
        ev.read_beir(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        ev.read_beir(tmp_path, qrels="other.tsv")


def test_writing_again_replaces_and_a_failure_leaves_the_old_data(tmp_path: Path) -> None:
    """All three files are replaced, or, when something fails or the caller says so, none."""
    ev.write_beir(tmp_path, CORPUS, ASKED, GRADES)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ev.write_beir(tmp_path, {"x": "y"}, ASKED, GRADES, overwrite=False)
    with pytest.raises(ValueError, match=r"tab|line|cell|format"):
        ev.write_beir(tmp_path, {"x": "y"}, ASKED, {"q\t1": {"d1": 1.0}})
    assert ev.read_beir(tmp_path) == (CORPUS, ASKED, GRADES)
    assert len([*tmp_path.iterdir()]) == 3
    ev.write_beir(tmp_path, {"x": "y"}, ASKED, {"q1": {"x": 1}})
    assert ev.read_beir(tmp_path) == ({"x": "y"}, ASKED, {"q1": {"x": 1.0}})


def test_the_shipped_collection_is_scored_through_dicts(handbook: Path) -> None:
    """From folder to report: a retriever that gives the best order scores 1."""
    corpus, queries, qrels = ev.read_beir(handbook)
    texts = {text: query_id for query_id, text in queries.items()}

    def perfect(query: str) -> list[str]:
        grades = qrels.get(texts[query], {})
        return sorted(grades, key=grades.__getitem__, reverse=True)

    report = ev.evaluate_retrieval(perfect, qrels, queries)
    assert corpus
    assert report.primary == pytest.approx(1.0)


SAMPLES: list[ev.RagSample] = [
    {
        "user_input": "capital of France?",
        "response": "Paris",
        "reference": "Paris",
        "retrieved_contexts": ["Paris is the capital of France."],
    },
    {"user_input": "2 + 2?", "response": "five", "reference": "four", "retrieved_contexts": []},
]


def test_the_documented_rag_reports() -> None:
    """The example of `evaluate_rag` from a list, a generator and a frame; a report made by hand."""
    for samples in (SAMPLES, iter(SAMPLES), pl.DataFrame(SAMPLES)):
        report = ev.evaluate_rag(samples)
        assert (report.metrics["exact_match"], report.metrics["non_empty_rate"]) == (0.5, 0.5)
        assert (report.n_samples, report.coverage["token_f1"]) == (2, 2)
    by_hand = ev.RagEvalReport(
        metrics={"exact_match": 0.5}, coverage={"exact_match": 4}, n_samples=4
    )
    assert by_hand.metrics["exact_match"] == 0.5
    assert isinstance(report, ev.RagEvalReport)
    names = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")
    assert inspect.signature(ev.evaluate_rag).parameters["metrics"].default == names


def test_a_sample_without_a_reference_leaves_the_metrics_that_need_one() -> None:
    """Coverage says how many samples a mean is of; a missing response counts as an empty one."""
    samples = [*SAMPLES, {"user_input": "?", "response": "a"}, {"reference": "b"}]
    report = ev.evaluate_rag(samples)
    assert report.coverage["exact_match"] == 3
    assert report.metrics["exact_match"] == pytest.approx(1 / 3)
    assert report.coverage["non_empty_rate"] == 4


@pytest.mark.parametrize(
    ("samples", "metrics"), [([], ("exact_match",)), (SAMPLES, ("exact_mach",))]
)
def test_no_samples_and_unknown_metrics_are_value_errors(samples: Any, metrics: Any) -> None:
    """As the document has it."""
    with pytest.raises(ValueError, match=r"no samples|did you mean 'exact_match'"):
        ev.evaluate_rag(samples, metrics=metrics)


TEXT = st.text(max_size=30) | st.lists(
    st.sampled_from(["the", "a", "Paris", "paris.", "İ", "ﬀ", "東京", "café", "3.14", "\x1c"]),
    max_size=6,
).map(" ".join)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3)), min_size=1, max_size=40),
    st.sampled_from(PROFILES),
)
def test_the_frames_give_what_the_plain_functions_give(
    made_up: list[tuple[str, str, list[str]]], profile: Profile
) -> None:
    """One pair of texts at a time or all in one frame: the same values, on any Unicode."""
    frame = pl.DataFrame(
        made_up,
        schema={
            "response": pl.String, "reference": pl.String, "retrieved_contexts": pl.List(pl.String)
        },
        orient="row",
    )  # fmt: skip
    names = ["exact_match", "token_f1", "context_recall", "context_precision"]
    for row in per_sample(frame, names, profile=profile).to_dicts():
        for name in names:
            given = row["retrieved_contexts"]
            pair = (
                (row["reference"], given)
                if name.startswith("context")
                else (row["response"], row["reference"])
            )
            expected = getattr(ev, name)(*pair, profile=profile)
            if row[name] is not None:
                assert row[name] == pytest.approx(expected, abs=1e-15), (name, row)


def test_the_plain_functions_of_texts_at_their_edges() -> None:
    """Missing texts are empty ones; both empty agree, and v2.0 gives F1 a point for it."""
    assert ev.exact_match(None, "") == ev.exact_match("the", "") == 1.0
    assert ev.token_f1("", "") == ev.token_f1("a", None) == 0.0
    assert ev.token_f1("", "", profile="squad_v2") == 1.0
    assert ev.token_f1("x", "y") == 0.0
    assert ev.context_recall("", ["a"]) == ev.context_recall("x", []) == 0.0
    assert ev.context_precision("x", None) == ev.context_precision("", ["x"]) == 0.0
    with pytest.raises(ColumnError, match="one string"):
        ev.context_recall("x", "x y")


class Words(str):
    """A string of another class."""


@pytest.mark.parametrize("bad", [5, {"text": "x"}, ["x"], b"x"])
def test_what_is_no_text_is_refused_by_its_argument(bad: Any) -> None:
    """NaN is missing, as None is; a string of any class is a text."""
    for function in (ev.exact_match, ev.token_f1):
        with pytest.raises(ColumnError, match="response is"):
            function(bad, "x")
        with pytest.raises(ColumnError, match="reference is"):
            function("x", bad)
        assert function(Words("x"), "x") == 1.0
        assert function(float("nan"), "x") == 0.0
    for function in (ev.context_recall, ev.context_precision):
        with pytest.raises(ColumnError, match="reference is"):
            function(bad, ["x"])
        with pytest.raises(ColumnError, match="a text in retrieved_contexts is"):
            function("x", [bad])
        assert function("x", float("nan")) == 0.0
        assert function("x", [float("nan"), None, "x"]) > 0
        with pytest.raises(ColumnError, match="retrieved_contexts=7 is a int"):
            function("x", 7)


def test_contexts_may_be_arrays() -> None:
    """A Polars column and a numpy array are lists of passages."""
    for array in (pl.Series(["x y", "z"]), pl.Series(["x y", "z"]).to_numpy()):
        assert ev.context_recall("x y", array) == 1.0
        assert ev.context_precision("x", array) == 0.5


def test_cutoffs_may_be_whole_numbers_of_any_library() -> None:
    """And nothing else, in the functions of one list too."""
    two = pl.Series([2, 3]).to_numpy()
    report = ev.evaluate_retrieval(retriever, QRELS, TEXTS, k_values=two, limit=two[1])
    assert report.k_values == (2, 3)
    assert ev.recall_at_k(["a", "b"], {"b": 1.0}, two[0]) == 1.0
    for k in (None, 1.5, "2", True):
        for function in (ev.precision_at_k, ev.recall_at_k, ev.ndcg_at_k, ev.dcg_at_k):
            with pytest.raises(OptionError, match="k="):
                function(["a"], {"a": 1.0}, k)


def test_a_report_names_the_ids_it_went_by() -> None:
    """Made-up ids give way to the sources that the qrels judge, and the note says so."""

    def chunks(query: str) -> list[dict[str, Any]]:
        return [{"id": f"u{n}", "metadata": {"source": doc}} for n, doc in enumerate(("d1", "d2"))]

    report = ev.evaluate_retrieval(chunks, {"q1": {"d1": 1.0}}, {"q1": "?"}, k_values=(1,))
    assert report.metrics["ndcg@1"] == 1.0
    assert "metadata['source'] ('d1'" in report.notes[0]


@pytest.mark.parametrize(
    "triple",
    [
        ({"d1": " blanks\n", "d2": ""}, {"q1": " ? "}, {"q1": {"d1": 1.0}}),
        ({"d1": "x"}, {"q1": "?"}, {}),
        ({}, {}, {}),
        ({"d1": "x"}, {"q1": "?"}, {"q1": {"d1": 0.25, "d2": float(2**53 - 1)}}),
    ],
)
def test_a_triple_reads_back_as_it_was(tmp_path: Path, triple: Any) -> None:
    """Outer blanks, nothing judged, nothing at all; over an older data set too."""
    ev.write_beir(tmp_path, CORPUS, ASKED, GRADES)
    ev.write_beir(tmp_path, *triple)
    assert ev.read_beir(tmp_path) == triple


@pytest.mark.parametrize(
    ("corpus", "qrels", "message"),
    [
        (CORPUS, {"q1": {"d1": float("inf")}}, "inf|null or NaN"),
        (CORPUS, {"q1": {"d1": 1e300}}, r"beyond 2\*\*53"),
        (CORPUS, {"q1": {"d1": 2**63}}, r"beyond 2\*\*53"),
        (CORPUS, {"q1": {"d1": -(2**70)}}, r"beyond 2\*\*53"),
        ({"d1": "half \ud83d"}, GRADES, "half a character"),
        (CORPUS, {"q\ud83d": {"d1": 1}}, "half a character"),
    ],
)
def test_what_a_file_cannot_give_back_is_refused(
    tmp_path: Path, corpus: Any, qrels: Any, message: str
) -> None:
    """By name, before anything is written."""
    with pytest.raises(EvalframeError, match=message):
        ev.write_beir(tmp_path / "new", corpus, ASKED, qrels)
    assert not (tmp_path / "new").exists()
