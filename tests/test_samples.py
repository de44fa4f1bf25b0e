"""The laws of RAG samples: the plain functions' values, nobody lost, everyone accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import ColumnError, EmptyError, MetricError, OptionError, RowError
from evalframe.evaluation import pairs as single_pair
from evalframe.metrics.rag_reasons import TAKEN_OUT, is_undelivered
from evalframe.samples import scoring as samples_room
from evalframe.samples.report import RagReport
from evalframe.samples.scoring import DEFAULT_METRICS, RAG_METRICS, evaluate_rag, per_sample
from evalframe.text import PROFILES, Profile

from .benchmarks import rag as plain

ALL = list(RAG_METRICS)
WORDS = st.lists(
    st.sampled_from(["a", "the", "cat", "Cat!", "dog", "東京", "“the”", "é", "-5", "\u0301", " "])
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=4),
    max_size=6,
).map(" ".join)
TEXTS = st.none() | WORDS
LISTS = st.none() | st.lists(TEXTS, max_size=4)
IDS = st.none() | st.lists(st.sampled_from(["1", "2", "01", None]), max_size=4)
SAMPLES = st.lists(
    st.fixed_dictionaries(
        {
            "response": TEXTS,
            "reference": TEXTS,
            "references": LISTS,
            "retrieved_contexts": LISTS,
            "reference_contexts": LISTS,
            "retrieved_context_ids": IDS,
            "reference_context_ids": IDS,
        }
    ),
    min_size=1,
    max_size=20,
)
SCHEMA = {
    "response": pl.String,
    "reference": pl.String,
    **dict.fromkeys(["references", "retrieved_contexts", "reference_contexts"], pl.List(pl.String)),
    **dict.fromkeys(["retrieved_context_ids", "reference_context_ids"], pl.List(pl.String)),
}


def frame_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return (
        pl.DataFrame(rows, schema=SCHEMA).with_row_index("query_id").cast({"query_id": pl.String})
    )


def references_of(row: dict[str, Any], profile: Profile) -> list[str]:
    """What a sample's response is held against, as the documentation has it."""
    listed = [one for one in row["references"] or [] if one is not None]
    if row["reference"] is not None and row["reference"] not in listed:
        listed.append(row["reference"])
    if profile == "squad_v2":
        if row["references"] == [] and row["reference"] is None:
            return [""]
        listed = [one for one in listed if plain.tokens(one, profile)] or listed
    return listed


def plain_values(row: dict[str, Any], profile: Profile) -> dict[str, float | None]:
    """Every metric of one sample from functions of one pair."""
    said, came = row["response"], [text or "" for text in row["retrieved_contexts"] or []]
    against = references_of(row, profile)
    unanswerable = row["references"] == [] and row["reference"] is None
    values: dict[str, float | None] = {"non_empty_rate": float(bool(came))}
    for name, function in (
        ("exact_match", single_pair.exact_match),
        ("token_f1", single_pair.token_f1),
        ("token_precision", plain.token_precision),
        ("token_recall", plain.token_recall),
        ("answer_contains", plain.answer_contains),
    ):
        per_reference = [function(said or "", one, profile=profile) for one in against]
        values[name] = max(per_reference, default=None)
    for name, function in (
        ("context_recall", single_pair.context_recall),
        ("context_precision", single_pair.context_precision),
    ):
        found = [] if unanswerable else [function(one, came, profile=profile) for one in against]
        values[name] = max(found, default=None)
    gold = [text or "" for text in row["reference_contexts"] or []]
    values["context_coverage"] = plain.context_coverage(gold, came, profile=profile)
    values["union_coverage"] = plain.union_coverage(gold, came, profile=profile)
    wanted = {one for one in row["reference_context_ids"] or [] if one is not None}
    taken = {one for one in row["retrieved_context_ids"] or [] if one is not None}
    hits = len(wanted & taken)
    values["id_context_recall"] = hits / len(wanted) if wanted else None
    values["id_context_precision"] = (hits / len(taken) if taken else 0.0) if wanted else None
    return values


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.sampled_from(PROFILES))
def test_values_are_those_of_the_plain_functions(
    rows: list[dict[str, Any]], profile: Profile
) -> None:
    """Whole frames get the value that each sample gets alone; a null says why in its status."""
    scored = per_sample(frame_of(rows), ALL, profile=profile)
    assert scored.height == len(rows)
    for row, got in zip(rows, scored.to_dicts(), strict=True):
        wanted = plain_values(row, profile)
        assert {name: got[name] for name in ALL} == wanted
        for name in ALL:
            assert (got[name] is None) == (got["status"][name] in TAKEN_OUT)


@settings(max_examples=20, deadline=None)
@given(SAMPLES, st.randoms(use_true_random=False))
def test_order_is_only_order(rows: list[dict[str, Any]], random: Any) -> None:
    """Shuffled samples give the same rows in their new order, and the same report to the bit."""
    frame = frame_of(rows)
    order = list(range(len(rows)))
    random.shuffle(order)
    once, again = evaluate_rag(frame, metrics=ALL), evaluate_rag(frame[order], metrics=ALL)
    assert again.per_sample.equals(once.per_sample[order])
    assert again.summary.equals(once.summary)


def test_means_do_not_depend_on_order() -> None:
    """Many values in any order have the same mean to the last bit."""
    frame = plain.samples(400)
    report = evaluate_rag(frame, metrics=ALL)
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert evaluate_rag(shuffled, metrics=ALL).summary.equals(report.summary)


def test_pieces_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples scored in pieces by several threads, or lazily, have the values of one piece."""
    frame = plain.samples(60)
    whole = per_sample(frame, ALL)
    monkeypatch.setattr(samples_room, "ROWS_TOGETHER", 7)
    assert per_sample(frame, ALL).equals(whole)
    monkeypatch.setattr(samples_room, "BYTES_TOGETHER", 10_000)
    assert len(list(samples_room._pieces(frame))) > 10
    assert per_sample(frame, ALL).equals(whole)
    lazy = per_sample(frame.lazy(), ALL)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == whole.schema
    assert lazy.collect().sort(pl.col("query_id").cast(pl.Int64)).equals(whole)


def test_larger_than_memory_is_the_same(tmp_path: Path) -> None:
    """A lazy frame's report is that of the frame, without the passages."""
    frame = plain.samples(300).with_columns(lang=pl.lit("en"))
    frame.write_parquet(tmp_path / "samples.parquet", row_group_size=50)
    eager = evaluate_rag(frame, metrics=ALL)
    lazy = evaluate_rag(pl.scan_parquet(tmp_path / "samples.parquet"), metrics=ALL)
    assert lazy.summary.equals(eager.summary)
    kept = eager.per_sample.drop("retrieved_contexts", "reference_contexts")
    assert lazy.per_sample.equals(kept)


def test_squad_1(rag_data: Path) -> None:
    """Official exact match and F1 of SQuAD 1.1 on every row; missing predictions count as empty."""
    squad = rag_data / "squad"
    questions = pl.read_parquet(squad / "xquad_en_questions.parquet").drop("context")
    every = pl.read_parquet(squad / "xquad_en_predictions_with_official_scores.parquet")
    missing = 0
    for _, official in every.rename({"exact_match": "em", "token_f1": "f1"}).group_by("system"):
        joined = questions.join(official, on="query_id", how="left", maintain_order="left")
        report = evaluate_rag(joined, metrics=["exact_match", "token_f1"])
        scored = report.per_sample
        given = scored.filter(pl.col("response").is_not_null())
        assert given.select("exact_match", "token_f1").equals(
            given.select(exact_match="em", token_f1="f1")
        )
        n_missing = questions.height - official.height
        missing += n_missing
        for name, column in (("exact_match", "em"), ("token_f1", "f1")):
            assert report.reasons[name].get("missing_response", 0) == n_missing
            total = official[column].sum()
            assert report.metrics[name] == pytest.approx(total / questions.height)
            assert report.mean_delivered[name] == pytest.approx(total / official.height)
        summary = report.summary.row(0, named=True)
        assert (summary["n_delivered"], summary["n_total"]) == (official.height, questions.height)
    assert missing == 2


def test_squad_2(rag_data: Path) -> None:
    """Official values of SQuAD 2.0 on every row, unanswerable questions among them."""
    file = rag_data / "squad" / "squad_v2_sample_predictions_with_official_scores.parquet"
    official = pl.read_parquet(file)
    assert official["references"].list.len().min() == 0
    scored = per_sample(official, ["exact_match", "token_f1"], profile="squad_v2")
    assert scored["exact_match"].equals(official["exact_v2"].alias("exact_match"))
    assert scored["token_f1"].equals(official["f1_v2"].alias("token_f1"))


def test_official_edge_cases(rag_data: Path) -> None:
    """Where punctuation, articles and empty texts meet, both scripts' values come out."""
    file = rag_data / "squad" / "normalisation_edge_cases_official.json"
    cases = pl.DataFrame(json.loads(file.read_text(encoding="utf-8")))
    for version in ("v1", "v2"):
        scored = per_sample(
            cases.select("prediction", "reference"),
            ["exact_match", "token_f1"],
            profile=f"squad_{version}",  # type: ignore[arg-type]
        )
        assert scored["exact_match"].to_list() == cases[f"em_{version}"].to_list()
        assert scored["token_f1"].to_list() == cases[f"f1_{version}"].to_list()


def test_correct_answers_hold_the_reference(rag_data: Path) -> None:
    """All answers that people judged correct hold the reference, though none equals it."""
    file = rag_data / "continuous_eval" / "correctness_sm.jsonl"
    report = evaluate_rag(file, metrics=["exact_match", "answer_recall", "answer_contains"])
    correct = report.per_sample.filter(annotation="correct")
    assert correct.height == 7
    assert correct["answer_recall"].to_list() == correct["answer_contains"].to_list() == [1.0] * 7
    assert correct["exact_match"].sum() == 0


@pytest.mark.parametrize(
    ("sample", "metric", "value", "status"),
    [
        ({"response": "Paris"}, "token_f1", None, "missing_reference"),
        ({"response": "x", "references": [None]}, "token_f1", None, "missing_reference"),
        ({"response": None, "reference": "x"}, "token_f1", 0.0, "missing_response"),
        ({"response": "the", "reference": "x"}, "token_f1", 0.0, "empty_response"),
        ({"response": "x", "reference": "The!"}, "exact_match", 0.0, "empty_reference"),
        ({"response": "x", "reference": "x"}, "exact_match", 1.0, "ok"),
        ({"reference": "x"}, "context_recall", 0.0, "missing_contexts"),
        ({"reference": "x", "retrieved_contexts": []}, "context_recall", 0.0, "empty_contexts"),
        ({"retrieved_contexts": ["x"]}, "context_precision", None, "missing_reference"),
        ({"retrieved_contexts": [None]}, "non_empty_rate", 1.0, "ok"),
        ({"response": "x"}, "non_empty_rate", 0.0, "missing_contexts"),
        ({"reference_contexts": ["x"]}, "union_coverage", 0.0, "missing_contexts"),
        ({"retrieved_contexts": ["x"]}, "union_coverage", None, "missing_reference_contexts"),
        ({"reference_contexts": ["!"]}, "context_coverage", None, "empty_reference_contexts"),
        ({"reference_context_ids": [1]}, "id_context_recall", 0.0, "missing_retrieved_ids"),
        ({"retrieved_context_ids": [1]}, "id_context_recall", None, "missing_reference_ids"),
        ({"reference_context_ids": []}, "id_context_precision", None, "empty_reference_ids"),
    ],
)
def test_status(sample: dict[str, Any], metric: str, value: float | None, status: str) -> None:
    """What the gold lacks leaves no value; what the system did not deliver counts as empty."""
    scored = per_sample([sample], metric)
    assert scored[metric].to_list() == [value]
    assert scored["status"].struct.field(metric).to_list() == [status]


def test_unanswerable() -> None:
    """Under SQuAD 2.0 no references mean no answer: silence is right, and contexts do not count."""
    rows = [{"response": "", "references": []}, {"response": "x", "references": []}]
    scored = per_sample(rows, ["exact_match", "context_recall"], profile="squad_v2")
    assert scored["exact_match"].to_list() == [1.0, 0.0]
    assert scored["best_reference"].to_list() == [None, None]
    assert scored["context_recall"].to_list() == [None, None]
    assert scored["status"].struct.field("context_recall").to_list() == ["unanswerable"] * 2
    assert per_sample(rows, "exact_match")["exact_match"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("response", "references", "reference", "best"),
    [
        ("cat sat", ["sat cat", "dog", "cat sat"], None, 2),
        ("the cat", ["dog", "A cat!", "cat"], None, 1),
        ("x", ["a b", "c"], None, 0),
        ("cat", [None, "cat"], None, 1),
        ("cat", ["dog"], "cat", 1),
        ("cat", None, "cat", 0),
    ],
)
def test_best_reference(
    response: str, references: list[str] | None, reference: str | None, best: int
) -> None:
    """The best reference has both maxima, and the first of equals is named."""
    row = {"response": response, "references": references, "reference": reference}
    assert per_sample([row], ["token_f1"])["best_reference"].to_list() == [best]


def test_each_maximum_is_its_own() -> None:
    """Precision and recall may be best for different references."""
    row = {"response": "a big red cat", "references": ["cat", "big red cat ran far away"]}
    scored = per_sample([row], ["token_precision", "token_recall", "token_f1"])
    assert scored.row(0)[3:6] == (1.0, 1.0, 2 / 3)


def test_coverage_by_hand() -> None:
    """Tokens count as often as the passage has them; a context that came twice counts once."""
    rows = [
        {"reference_contexts": ["a b c d e"], "retrieved_contexts": ["b c d x"]},
        {"reference_contexts": ["b c d e f", "x y"], "retrieved_contexts": ["B, c d e!", "x"]},
        {"reference_contexts": ["b b"], "retrieved_contexts": ["b", "b"]},
        {"reference_contexts": ["b b"], "retrieved_contexts": ["b", "b c"]},
    ]
    names = ["context_coverage", "context_coverage@0.5", "context_coverage@1", "union_coverage"]
    assert per_sample(rows, names).select(names).rows() == [
        (0.0, 1.0, 0.0, 0.75),
        (0.5, 1.0, 0.0, 5 / 7),
        (0.0, 1.0, 0.0, 0.5),
        (0.0, 1.0, 0.0, 1.0),
    ]


def test_columns_are_kept() -> None:
    """Extra columns, the ids and the order stay; rows without ids are numbered; input is left."""
    frame = pl.DataFrame({"lang": ["fr", "en"], "answer": ["x", None], "ground_truth": ["X", "y"]})
    before = frame.clone()
    scored = per_sample(frame, "exact_match")
    assert scored.columns == [
        *("query_id", "response", "reference", "lang", "exact_match", "best_reference", "status")
    ]
    assert scored["query_id"].to_list() == ["0", "1"]
    assert scored["lang"].to_list() == ["fr", "en"]
    assert frame.equals(before)


def test_every_shape_is_taken(tmp_path: Path) -> None:
    """Frames of both kinds, columns, rows, generators and files give the same values."""
    rows = [
        {"query_id": "q2", "response": "x y", "reference": "x", "retrieved_contexts": ["x"]},
        {"query_id": "q1", "response": None, "reference": None, "retrieved_contexts": []},
    ]
    frame = pl.DataFrame(rows, schema_overrides={"retrieved_contexts": pl.List(pl.String)})
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    shapes = [frame, frame.to_arrow(), frame.to_dict(as_series=False), rows, iter(rows)]
    shapes += [pd.DataFrame(rows), tmp_path / "s.jsonl", str(tmp_path / "s.jsonl")]
    wanted = per_sample(frame)
    for shape in shapes:
        assert per_sample(shape).equals(wanted)
    named = per_sample(frame.rename({"response": "said"}), columns={"response": "said"})
    assert named.equals(wanted)


def test_report() -> None:
    """Means, coverage and reasons of a few samples, worked by hand, and by group."""
    rows = [
        {"system": "a", "response": "x y", "reference": "x", "retrieved_contexts": ["x", "z"]},
        {"system": "a", "response": None, "reference": "y", "retrieved_contexts": None},
        {"system": "b", "response": "w", "reference": None, "retrieved_contexts": ["w"]},
        {"system": "b", "response": "v", "reference": "v", "retrieved_contexts": []},
    ]
    report = evaluate_rag(rows)
    assert list(report.metrics) == list(DEFAULT_METRICS)
    assert report.coverage == {**dict.fromkeys(DEFAULT_METRICS, 3), "non_empty_rate": 4}
    assert report.metrics["token_f1"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert report.mean_zero_filled["token_f1"] == pytest.approx((2 / 3 + 0 + 1) / 4)
    assert report.mean_delivered["token_f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert report.reasons["token_f1"] == {"missing_reference": 1, "missing_response": 1}
    assert report.metrics["non_empty_rate"] == 0.5
    assert report.by("system").filter(metric="exact_match").rows() == [
        ("a", "exact_match", 0.0, 0.0, 0.0, 2, 1, 2, "missing_response 1"),
        ("b", "exact_match", 1.0, 0.5, 1.0, 1, 1, 2, "missing_reference 1"),
    ]
    with pytest.raises(ColumnError, match="'sistem'"):
        report.by("sistem")
    assert "missing_response" in repr(report)
    assert json.loads(json.dumps(report.to_dict()))["coverage"] == report.coverage


def test_report_without_a_value() -> None:
    """A metric that applied to no sample has no mean, and 0 with the rest as 0."""
    report = evaluate_rag([{"response": "x"}], metrics="token_f1")
    assert (report.metrics, report.coverage) == ({"token_f1": None}, {"token_f1": 0})
    assert report.mean_zero_filled == {"token_f1": 0.0}
    assert report.summary["mean"].to_list() == [None]


def test_report_by_hand() -> None:
    """A report is made of three values, and the others are derived."""
    report = RagReport(metrics={"exact_match": 0.5}, coverage={"exact_match": 3}, n_samples=4)
    assert report.mean_zero_filled == {"exact_match": 0.375}
    assert report.reasons == {}
    assert report == RagReport({"exact_match": 0.5}, {"exact_match": 3}, 4)
    assert is_undelivered("missing_response")
    assert not is_undelivered("missing_reference")


BAD_ROWS = [
    {"query_id": "a", "response": "x", "retrieved_contexts": "x y"},
    {"query_id": "a", "response": 3, "references": [1]},
    {"response": float("nan"), "retrieved_contexts": ["x", 3]},
    7,
    {"query_id": "c", "response": "half \ud83d"},
]


def test_all_problems_at_once() -> None:
    """Each wrong value is named with its row, in one message."""
    with pytest.raises(RowError) as caught:
        evaluate_rag(BAD_ROWS)
    for part in (
        "row 3: 7 is no mapping",
        "row 0, 'retrieved_contexts': 'x y' is a string where a list is wanted",
        "row 1, 'response': 3 is int; a string is wanted",
        "row 1, 'references': at 0: 1 is int",
        "row 2, 'retrieved_contexts': at 1: 3 is int",
        "row 4, 'response': 'half \\ud83d' holds half a character",
        "row 1: query_id 'a' stands in row 0 too",
        "row 2: no query_id",
    ):
        assert part in str(caught.value)


def test_all_problems_of_a_frame_at_once() -> None:
    """Column types and ids of a frame are looked at together; pandas objects row by row."""
    frame = pl.DataFrame(
        {"query_id": ["a", None, "a"], "contexts": ["x", "y", "z"], "reference": [1, 2, 3]}
    )
    with pytest.raises(RowError) as caught:
        evaluate_rag(frame)
    for part in (
        "'contexts' is String",
        "'reference' is Int64",
        "row 1: no",
        "row 2: query_id 'a'",
    ):
        assert part in str(caught.value)
    with pytest.raises(RowError, match="row 1, 'answer': 3 is int"):
        evaluate_rag(pd.DataFrame({"answer": ["x", 3]}))
    with pytest.raises(ColumnError, match="'contexts' is String"):
        per_sample(pl.LazyFrame({"contexts": ["x"]}))


@pytest.mark.parametrize(
    ("samples", "options", "error", "message"),
    [
        ([], {}, EmptyError, "no samples"),
        (pl.DataFrame({"response": []}), {}, EmptyError, "no rows"),
        ([{"foo": 1}], {}, ColumnError, "no known column"),
        ({"response": "x"}, {}, ColumnError, "one sample by itself goes into a list"),
        ({"response": ["x"], "contexts": ["x"]}, {}, RowError, "row 0, 'contexts'.*put it into"),
        (pl.DataFrame({"foo": [1]}), {}, ColumnError, "no known column"),
        ([{"response": "x"}], {"metrics": ["token_f2"]}, MetricError, "mean 'token_f1'"),
        ([{"response": "x"}], {"metrics": ["token_f1@3"]}, MetricError, "takes no @threshold"),
        ([{"response": "x"}], {"metrics": "context_coverage@0"}, MetricError, "above 0"),
        ([{"response": "x"}], {"metrics": []}, MetricError, "no metric was asked for"),
        ([{"response": "x"}], {"profile": "squad"}, OptionError, "'squad_v2', 'unicode'"),
        ([{"response": "x", "token_f1": 1.0}], {}, ColumnError, "already have .*'token_f1'"),
        (pl.LazyFrame({"id": ["a", "a"], "answer": ["x", "y"]}), {}, RowError, "row 1: query_id"),
    ],
)
def test_errors(samples: Any, options: dict[str, Any], error: type, message: str) -> None:
    """Each mistake has its own error, which says how to mend it."""
    with pytest.raises(error, match=message):
        evaluate_rag(samples, **options)


def test_all_unknown_metrics_at_once() -> None:
    """Several unknown names are named together, with all that are known."""
    with pytest.raises(MetricError) as caught:
        per_sample([{"response": "x"}], ["exact_mach", "token_f1", "f9"])
    assert "'exact_match'" in str(caught.value)
    assert "'f9'" in str(caught.value)
    assert "union_coverage" in str(caught.value)


def test_catalogue_says_what_it_does() -> None:
    """Every metric has a summary, says when it is undefined, and stays between 0 and 1."""
    frame = plain.samples(20)
    scored = per_sample(frame, ALL)
    for name, metric in RAG_METRICS.items():
        assert metric.name == name
        assert metric.summary.endswith(".")
        assert metric.undefined
        assert scored[name].drop_nulls().is_between(0, 1).all()
