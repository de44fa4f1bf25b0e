"""Samples go to Ragas and its values come back; what has no place is told.

The tests of the conversion run everywhere, with a stand-in for the package. Those of the last part
run the real Ragas, with a made-up model and no network, and are skipped where it is not installed.
"""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import socket
import subprocess
import sys
import warnings
from dataclasses import make_dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from evalframe import ragas as bridge
from evalframe.errors import ColumnError, EmptyError, MetricError, MissingExtraError, RowError

SAMPLES: list[dict[str, Any]] = [
    {
        "user_input": "capital of France?",
        "response": "Paris",
        "reference": "Paris",
        "retrieved_contexts": ["Paris is the capital of France."],
        "reference_contexts": ["Paris is the capital."],
    },
    {"user_input": "2 + 2?", "response": "five", "reference": "four", "retrieved_contexts": []},
]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module `ragas` that keeps what it is given."""
    module = ModuleType("ragas")
    module.EvaluationDataset = SimpleNamespace(from_list=lambda rows: rows)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ragas", module)


@pytest.mark.usefixtures("stand_in")
def test_samples_of_the_documented_shape_go_through_unchanged() -> None:
    """Nothing is lost, so nothing is told (a warning would be an error here)."""
    assert bridge.as_ragas_dataset(SAMPLES) == SAMPLES
    assert bridge.as_ragas_dataset(iter(SAMPLES)) == SAMPLES
    assert bridge.ragas_losses(SAMPLES).height == 0


def test_frames_lose_their_nulls_and_keep_their_order() -> None:
    """Eager, lazy and Arrow frames give the same mappings as the list."""
    frame = pl.DataFrame(SAMPLES)
    assert frame["reference_contexts"].null_count() == 1
    for given in (frame, frame.lazy(), frame.to_arrow()):
        assert bridge.to_ragas_dicts(given) == SAMPLES


def test_files_are_taken_with_bare_nan_for_nothing(tmp_path: Any) -> None:
    """JSONL as Python writes it."""
    path = tmp_path / "samples.jsonl"
    path.write_text(
        '{"question": "2 + 2?", "answer": "four", "ground_truth": NaN}\n'
        '{"question": "3 + 3?", "answer": NaN, "ground_truth": "six"}\n'
    )
    assert bridge.to_ragas_dicts(path) == [
        {"user_input": "2 + 2?", "response": "four"},
        {"user_input": "3 + 3?", "reference": "six"},
    ]


def test_foreign_names_are_understood_and_ids_become_strings() -> None:
    """The names of other tools; the first name that has something counts."""
    sample = {
        "qid": "q1", "question": "?", "answer": "a", "ground_truth": "b", "contexts": ("c",),
        "retrieved_ids": [7, "d8"], "reference": None, "rubrics": {"1": "bad", "2": None},
    }  # fmt: skip
    assert bridge.to_ragas_dicts([sample]) == [
        {
            "user_input": "?", "response": "a", "reference": "b", "retrieved_contexts": ["c"],
            "retrieved_context_ids": ["7", "d8"], "rubrics": {"1": "bad"},
        }
    ]  # fmt: skip


LOSSY: list[dict[str, Any]] = [
    {"response": "a", "references": ["x", "y"], "lang": "en", "retrieved_contexts": ["c", None]},
    {"response": "b", "references": ["x"], "lang": "de", "topic": "sums"},
    {"response": "c", "reference": "z", "references": ["z"], "lang": None},
]


def test_what_has_no_place_is_told() -> None:
    """Extra columns, further references, nulls in lists: as a frame, and as a warning."""
    assert bridge.ragas_losses(LOSSY).rows() == [
        ("lang", 2, "dropped"),
        ("references", 1, "only one is kept"),
        ("retrieved_contexts", 1, "nulls in the list left out"),
        ("topic", 1, "dropped"),
    ]
    with pytest.warns(bridge.ConversionLossWarning, match=r"lang: dropped \(2\)") as told:
        converted = bridge.to_ragas_dicts(LOSSY)
    assert told[0].filename == __file__
    assert [row["reference"] for row in converted] == ["x", "x", "z"]
    assert converted[0]["retrieved_contexts"] == ["c"]


@pytest.mark.usefixtures("stand_in")
def test_the_warning_points_at_the_caller_of_the_dataset_function_too() -> None:
    """However the conversion was reached."""
    with pytest.warns(bridge.ConversionLossWarning) as told:
        bridge.as_ragas_dataset(LOSSY)
    assert told[0].filename == __file__


def test_the_query_id_is_no_loss() -> None:
    """It comes back with the values."""
    assert bridge.ragas_losses([{"query_id": "q1", "response": "a"}]).height == 0


def test_everything_that_ragas_would_refuse_is_told_at_once() -> None:
    """With row, field and type."""
    bad = [
        {"user_input": 3, "response": "a"},
        {"user_input": "?", "retrieved_contexts": "one string"},
        {"user_input": ["a", "list"], "retrieved_contexts": [1]},
        {"reference_context_ids": [0.5]},
    ]
    with pytest.raises(RowError) as raised:
        bridge.to_ragas_dicts(bad)
    for part in (
        "row 0, 'user_input': 3 is int",
        "row 1, 'retrieved_contexts': 'one string' is a string where a list",
        "row 2, 'user_input': ['a', 'list'] is list",
        "row 2, 'retrieved_contexts': at 0: 1 is int",
        "row 3, 'reference_context_ids': at 0: 0.5 is float",
    ):
        assert part in str(raised.value)
    with pytest.raises(RowError, match="row=0, field='rubrics', problem='str, not a mapping'"):
        bridge.to_ragas_dicts([{"response": "a", "rubrics": "x", "multi_responses": [1]}])


@pytest.mark.parametrize(
    ("samples", "error"),
    [([], EmptyError), ({"user_input": "?"}, ColumnError), (3, ColumnError), ([3], RowError)],
)
def test_what_is_no_list_of_samples_is_refused(samples: Any, error: type[Exception]) -> None:
    """Nothing at all, one sample alone, other things."""
    with pytest.raises(error):
        bridge.to_ragas_dicts(samples)


@pytest.mark.parametrize("broken", [ModuleNotFoundError("vertexai"), AttributeError("pydantic")])
def test_a_missing_or_broken_ragas_names_the_extra_and_the_pin(
    monkeypatch: pytest.MonkeyPatch, broken: Exception
) -> None:
    """An ImportError with the way out; the mappings are still to be had."""

    def refuse(name: str, *_: Any) -> Any:
        raise broken

    monkeypatch.delitem(sys.modules, "ragas", raising=False)
    monkeypatch.setattr(bridge.importlib, "import_module", refuse)
    with pytest.raises(ImportError, match=r"langchain-community<0\.4\.2.*evalframe\[ragas\]") as e:
        bridge.as_ragas_dataset(SAMPLES)
    assert isinstance(e.value, MissingExtraError)
    assert str(broken) in str(e.value)
    assert bridge.to_ragas_dicts(SAMPLES) == SAMPLES


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("said", [None, "false"])
def test_telemetry_stays_off_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    """The variable is set where it is not, and left where it is."""
    monkeypatch.setattr(os, "environ", {"RAGAS_DO_NOT_TRACK": said} if said else {})
    bridge.as_ragas_dataset(SAMPLES)
    assert os.environ["RAGAS_DO_NOT_TRACK"] == (said or "true")


def test_importing_the_bridge_does_not_import_ragas() -> None:
    """Nor anything heavy: it is looked for when it is used."""
    code = "import sys, evalframe.ragas, evalframe.evaluation; print('ragas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_samples_come_back_as_a_frame() -> None:
    """Every field that some sample has, ids as strings, numbered or with the ids given."""
    rows = [
        SimpleNamespace(model_dump=lambda: {"user_input": "?", "retrieved_context_ids": [1, "b"]}),
        {"user_input": "!", "reference": None, "rubrics": {"1": "bad"}},
    ]
    frame = bridge.from_ragas_dataset(rows)
    assert frame.columns == ["query_id", "user_input", "retrieved_context_ids", "rubrics"]
    assert frame["query_id"].to_list() == ["0", "1"]
    assert frame["retrieved_context_ids"].to_list() == [["1", "b"], None]
    assert bridge.from_ragas_dataset(rows, ["x", 7])["query_id"].to_list() == ["x", "7"]
    assert bridge.to_ragas_dicts(frame)[1] == {"user_input": "!", "rubrics": {"1": "bad"}}
    assert bridge.to_ragas_dicts(bridge.from_ragas_dataset(SAMPLES)) == SAMPLES


@pytest.mark.parametrize(
    ("dataset", "ids", "error", "message"),
    [
        ([], None, EmptyError, "no samples"),
        ([{"user_input": [{"type": "human"}]}], None, RowError, "multi-turn"),
        (SAMPLES, ["q1"], RowError, "1 query_ids for 2 samples"),
    ],
)
def test_datasets_that_do_not_fit_are_refused(
    dataset: Any, ids: Any, error: type[Exception], message: str
) -> None:
    """No samples, conversations, too few ids."""
    with pytest.raises(error, match=message):
        bridge.from_ragas_dataset(dataset, ids)


KEYED = pl.DataFrame(
    {"query_id": ["q1", "q2"], "user_input": ["?", "!"], "response": ["a", "b"], "lang": ["en"] * 2}
)
NAN = float("nan")


def test_values_stand_beside_the_samples_they_belong_to() -> None:
    """NaN is null with a status, and every column of the samples stays."""
    scores = [{"faithfulness": 0.5, "pass": 1}, {"faithfulness": NAN, "pass": 0}]
    for result in (scores, SimpleNamespace(scores=scores), pl.DataFrame(scores)):
        frame = bridge.ragas_values(result, KEYED)
        assert frame.columns == [
            *KEYED.columns, "faithfulness", "faithfulness_status", "pass", "pass_status",
        ]  # fmt: skip
        assert frame["faithfulness"].to_list() == [0.5, None]
        assert frame["faithfulness_status"].to_list() == ["ok", "judge_error"]
        assert frame["pass"].to_list() == [1.0, 0.0]
        assert frame.select(KEYED.columns).equals(KEYED)


def test_a_metric_missing_from_a_row_is_null_there() -> None:
    """Rows are read by name, not by place."""
    frame = bridge.ragas_values([{"b": 1.0}, {"a": 0.5, "b": None}], KEYED)
    assert frame.select("a", "b").rows() == [(None, 1.0), (0.5, None)]


def test_words_and_reasons_are_kept() -> None:
    """The results of the newer metrics: a value that may be a word, and its reason."""
    scores = [
        {"tone": SimpleNamespace(value="pass", reason="polite")},
        {"tone": SimpleNamespace(value=None, reason=None)},
    ]
    frame = bridge.ragas_values(scores, KEYED)
    assert frame.select("^tone.*$").rows() == [
        ("pass", "ok", "polite"),
        (None, "judge_error", None),
    ]


def test_names_stay_unique() -> None:
    """A metric named as a column of the samples gets a prefix, as any may."""
    assert "ragas_lang" in bridge.ragas_values([{"lang": 1}, {"lang": 0}], KEYED).columns
    assert "r1_f" in bridge.ragas_values([{"f": 1}, {"f": 0}], KEYED, prefix="r1_").columns
    twice = bridge.ragas_values([{"f": 1}] * 2, bridge.ragas_values([{"f": 0}] * 2, KEYED))
    assert twice.select("f", "ragas_f").rows() == [(0.0, 1.0)] * 2


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        ([{"f": 1.0}], RowError, "1 values of Ragas for 2 samples"),
        ([{}, {}], EmptyError, "no metric"),
        (3, ColumnError, "is no result of Ragas"),
        ([{"f": [1]}, {"f": 2}], MetricError, "neither numbers nor words"),
        (
            SimpleNamespace(
                scores=[{"f": 1.0}] * 2,
                dataset=[
                    {"user_input": "!", "response": "b"},
                    {"user_input": "?", "response": "a"},
                ],
            ),
            RowError,
            "another order",
        ),
    ],
)
def test_results_that_do_not_belong_to_the_samples_are_refused(
    result: Any, error: type[Exception], message: str
) -> None:
    """Too few, none, no result, other samples or another order."""
    with pytest.raises(error, match=message):
        bridge.ragas_values(result, KEYED)


def test_samples_in_every_shape_go_to_ragas(tmp_path: Any) -> None:
    """Columns, dataclasses, frames and files give the mappings of the list; unknown ones do not."""
    sample = make_dataclass("Sample", [(name, Any, None) for name in SAMPLES[0]])
    columns = {name: [row.get(name) for row in SAMPLES] for name in SAMPLES[0]}
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(SAMPLES))
    shapes = [columns, [sample(**row) for row in SAMPLES], path, str(path)]
    for given in (*shapes, pl.DataFrame(SAMPLES).to_pandas()):
        assert bridge.to_ragas_dicts(given) == SAMPLES
        assert bridge.ragas_losses(given).height == 0
    for convert in (bridge.to_ragas_dicts, bridge.ragas_losses):
        with pytest.raises(ColumnError, match="no known column"):
            convert([{"foo": 1}])
        with pytest.raises(RowError, match="row 1: query_id 'a' stands in row 0 too"):
            convert([{"query_id": "a", "response": "x"}] * 2)


def test_values_with_ids_go_by_them() -> None:
    """In any order, as mappings or as a table; the id is no metric."""
    rows = [{"query_id": "q2", "f": 0.2}, {"query_id": "q1", "f": 0.1}]
    for result in (rows, pl.DataFrame(rows), pl.DataFrame(rows).to_pandas()):
        frame = bridge.ragas_values(result, KEYED)
        assert frame.columns == [*KEYED.columns, "f", "f_status"]
        assert frame["f"].to_list() == [0.1, 0.2]
    assert [row["query_id"] for row in rows] == ["q2", "q1"]


@pytest.mark.parametrize("ids", [["q1", "q3"], ["q1", "q1"], ["q1", None], ["q1", 1.5]])
def test_ids_that_do_not_go_together_are_refused(ids: list[Any]) -> None:
    """Unknown, twice, missing, or no id at all; of values and of a dataset."""
    with pytest.raises(RowError, match=r"'q3'|stands 2 times|is no id"):
        bridge.ragas_values([{"query_id": i, "f": 1.0} for i in ids], KEYED)
    if "q3" not in ids:
        with pytest.raises(RowError, match="query_ids must tell the samples apart"):
            bridge.from_ragas_dataset(SAMPLES, ids)


def test_a_table_of_other_samples_is_refused() -> None:
    """`result.to_pandas()` carries the texts, which must be those of the samples, in order."""
    table = KEYED.select("user_input", "response").with_columns(f=pl.Series([0.1, 0.2]))
    for given in (table, table.to_pandas()):
        assert bridge.ragas_values(given, KEYED)["f"].to_list() == [0.1, 0.2]
    for given in (table.reverse(), table.reverse().to_pandas(), table.reverse().to_dicts()):
        with pytest.raises(RowError, match="another order"):
            bridge.ragas_values(given, KEYED)


def test_metrics_of_one_name_are_told_apart_without_touching_them() -> None:
    """Numbers are given around names that are taken, and only to copies."""
    metrics = [SimpleNamespace(name=name) for name in ("r", "r", "r_2", "r", "s")]
    named = bridge.with_unique_names(metrics)
    assert [metric.name for metric in named] == ["r", "r_3", "r_2", "r_4", "s"]
    assert [metric.name for metric in metrics] == ["r", "r", "r_2", "r", "s"]
    assert named[0] is metrics[0]


# ---------------------------------------------------------------------------------------------
# The real package, offline.


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The real Ragas, which may reach nothing and write only to a temporary folder."""
    if importlib.util.find_spec("ragas") is None:
        pytest.skip('ragas is not installed: pip install "evalframe[ragas]" runs these tests')
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("RAGAS_DO_NOT_TRACK", "true")
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("ragas")))

        def no_network(*_: Any) -> None:
            raise RuntimeError("no network in tests")

        patch.setattr(socket.socket, "connect", no_network)
        bridge.as_ragas_dataset(SAMPLES)
        yield sys.modules["ragas"]


def made_up_model(ragas: Any, fails_on: str = "never") -> Any:
    """A model that finds every other statement of a reference supported, and fails where told."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms.base import BaseRagasLLM

    verdicts = [{"statement": f"s{n}", "reason": "r", "attributed": n % 2} for n in range(2)]

    class Model(BaseRagasLLM):  # type: ignore[misc]
        def generate_text(self, prompt: Any, n: int = 1, *_: Any, **__: Any) -> Any:
            if fails_on in prompt.to_string():
                raise TimeoutError("made-up outage")
            text = json.dumps({"classifications": verdicts})
            return LLMResult(generations=[[Generation(text=text)] * (n or 1)])

        async def agenerate_text(self, prompt: Any, n: int = 1, *_: Any, **__: Any) -> Any:
            return self.generate_text(prompt, n)

        def is_finished(self, response: Any) -> bool:
            return True

    model = Model()
    model.set_run_config(ragas.RunConfig(max_retries=1, max_wait=1, timeout=5))
    return model


def made_up_embeddings(ragas: Any) -> Any:
    """Letters counted."""
    from ragas.embeddings.base import BaseRagasEmbeddings

    class Letters(BaseRagasEmbeddings):  # type: ignore[misc]
        def embed_query(self, text: str) -> list[float]:
            return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        async def aembed_query(self, text: str) -> list[float]:
            return self.embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.embed_documents(texts)

    letters = Letters()
    letters.set_run_config(ragas.RunConfig())
    return letters


def run(ragas: Any, dataset: Any, metrics: list[Any], **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = ragas.RunConfig(max_retries=1, max_wait=1, timeout=5, max_workers=2)
        return ragas.evaluate(
            dataset, metrics=metrics, run_config=settings, show_progress=False, **options
        )


def metric(kind: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module("ragas.metrics"), kind)(**options)


IDENTIFIED = [
    {
        "query_id": f"q{n}",
        "user_input": f"question {n}",
        "response": "Paris",
        "reference": ["Paris", "Rome"][n % 2],
        "retrieved_contexts": ["Paris is in France."],
        "retrieved_context_ids": ["d1", "d2"],
        "reference_context_ids": ["d1"],
        "reference_contexts": ["Paris is in France."],
    }
    for n in range(3)
]


def test_the_dataset_is_a_real_one_and_comes_back(real: Any) -> None:
    """Nothing is lost there and back but what was told."""
    dataset = bridge.as_ragas_dataset(IDENTIFIED)
    assert isinstance(dataset, real.EvaluationDataset)
    back = bridge.from_ragas_dataset(dataset, [sample["query_id"] for sample in IDENTIFIED])
    assert back.equals(pl.DataFrame(IDENTIFIED).select(back.columns))
    assert {*back.columns} == {*IDENTIFIED[0]}
    assert bridge.as_ragas_dataset(back) == dataset


def test_real_values_come_back_by_query_id(real: Any) -> None:
    """Metrics without a model, with one, and with embeddings."""
    metrics = [
        metric("ExactMatch"), metric("IDBasedContextPrecision"), metric("IDBasedContextRecall"),
        metric("LLMContextRecall"), metric("SemanticSimilarity"),
    ]  # fmt: skip
    result = run(
        real,
        bridge.as_ragas_dataset(IDENTIFIED),
        metrics,
        llm=made_up_model(real),
        embeddings=made_up_embeddings(real),
    )
    frame = bridge.ragas_values(result, IDENTIFIED)
    assert frame["query_id"].to_list() == ["q0", "q1", "q2"]
    assert frame["exact_match"].to_list() == [1.0, 0.0, 1.0]
    assert frame["id_based_context_precision"].to_list() == [0.5] * 3
    assert frame["id_based_context_recall"].to_list() == [1.0] * 3
    assert frame["context_recall"].to_list() == [0.5] * 3
    assert frame["semantic_similarity"].to_list()[0] == pytest.approx(1.0)
    with pytest.raises(RowError, match="another order"):
        bridge.ragas_values(result, IDENTIFIED[::-1])


def test_a_row_on_which_the_model_fails_is_null_with_a_status(real: Any) -> None:
    """Ragas' own mean leaves it out; here it can be seen and counted."""
    result = run(
        real,
        bridge.as_ragas_dataset(IDENTIFIED),
        [metric("LLMContextRecall")],
        llm=made_up_model(real, fails_on="question 1"),
    )
    frame = bridge.ragas_values(result, IDENTIFIED)
    assert frame["context_recall"].to_list() == [0.5, None, 0.5]
    assert frame["context_recall_status"].to_list() == ["ok", "judge_error", "ok"]


def test_two_metrics_of_one_name_both_come_back(real: Any) -> None:
    """Given unique names first, neither overwrites the other."""
    same = [metric("ExactMatch"), metric("StringPresence", name="exact_match")]
    dataset = bridge.as_ragas_dataset([{**IDENTIFIED[0], "response": "Paris!"}])
    assert len(run(real, dataset, same).scores[0]) == 1
    result = run(real, dataset, bridge.with_unique_names(same))
    assert result.scores == [{"exact_match": 0.0, "exact_match_2": 1.0}]


def test_results_of_the_newer_metrics_come_back(real: Any) -> None:
    """A `MetricResult` has a value and may have a reason."""
    results = importlib.import_module("ragas.metrics.result")
    scores = [{"tone": results.MetricResult(value=0.5, reason="so so")}] * 3
    frame = bridge.ragas_values(scores, IDENTIFIED)
    assert frame.select("^tone.*$").row(0) == (0.5, "ok", "so so")


def test_real_telemetry_is_off(real: Any) -> None:
    """As Ragas itself sees it."""
    assert importlib.import_module("ragas._analytics").do_not_track()
    assert builtins.__import__("ragas") is real
