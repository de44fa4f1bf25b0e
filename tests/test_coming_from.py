"""The page for those who come from another tool is true: its pairs of blocks give the same."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import math
import re
import shlex
import shutil
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from evalframe.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "notebooks" / "coming_from.md").read_text(encoding="utf-8")
NEEDED = {
    "pytrec_eval": "pytrec_eval",
    "ranx": "ranx",
    "ir_measures": "ir_measures",
    "Ragas": "ragas",
    "Hugging Face evaluate": "evaluate",
}
"""Section → the package that its blocks need."""


def sections(text: str, mark: str) -> dict[str, str]:
    """What stands below each heading of a level."""
    parts = re.split(rf"^{mark} (.+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


TOOLS = sections(PAGE, "##")
PYTHON = [
    pytest.param(tool, title, marks=[pytest.mark.slow] if tool == "ranx" else [])
    for tool in NEEDED
    for title, text in sections(TOOLS[tool], "###").items()
    if blocks(text, "python")
]
SHELL = sections(TOOLS["trec_eval's command line"], "###")


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a block as a notebook's cell: the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "coming_from.md", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "coming_from.md", "eval"), names)


def plain(value: Any) -> Any:
    """Any tool's values as nested dicts, lists and floats."""
    if isinstance(value, pl.DataFrame):
        return from_frame(value)
    if isinstance(value, list) and value and hasattr(value[0], "measure"):
        found: dict[str, dict[str, float]] = {}
        for one in value:
            found.setdefault(one.query_id, {})[str(one.measure)] = float(one.value)
        return found
    if type(value).__module__.startswith("ranx"):
        value = value.to_dict()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def from_frame(frame: pl.DataFrame) -> dict[str, Any]:
    if frame.columns == ["query_id", "doc_id", "score"]:
        parts = frame.partition_by("query_id", as_dict=True)
        return {str(q): dict(part.select("doc_id", "score").rows()) for (q,), part in parts.items()}
    return {row.pop("query_id"): row for row in frame.to_dicts()}


def differences(theirs: Any, ours: Any, where: str = "") -> list[str]:
    """Where two values differ by more than 1e-9."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if theirs.keys() != ours.keys():
            return [f"{where}: {sorted(theirs.keys() ^ ours.keys())[:5]} in one of them only"]
        return [d for key in theirs for d in differences(theirs[key], ours[key], f"{where}.{key}")]
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return [f"{where}: {len(theirs)} against {len(ours)}"]
        pairs = enumerate(zip(theirs, ours, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(theirs, int | float) and isinstance(ours, int | float):
        same = math.isclose(theirs, ours, rel_tol=0, abs_tol=1e-9)
        return [] if same else [f"{where}: {theirs!r} against {ours!r}"]
    return [] if theirs == ours else [f"{where}: {theirs!r} against {ours!r}"]


def count(value: Any) -> int:
    """How many numbers or texts there are in a value."""
    if isinstance(value, dict):
        return sum(map(count, value.values()))
    return sum(map(count, value)) if isinstance(value, list) else 1


@cache
def results_of(tool: str) -> dict[str, tuple[Any, Any]]:
    """What both blocks of each heading give; theirs is an error where it cannot be had."""
    text = TOOLS[tool]
    names: dict[str, Any] = {}
    is_there = importlib.util.find_spec(NEEDED[tool]) is not None
    found: dict[str, tuple[Any, Any]] = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        if is_there or NEEDED[tool] in ("ragas", "evaluate"):
            run(blocks(text.partition("\n### ")[0], "python")[0], names)
        for title, part in sections(text, "###").items():
            theirs, ours = blocks(part, "python")
            their_value: Any = ImportError(f"{NEEDED[tool]} is not installed")
            if is_there:
                try:
                    their_value = plain(run(theirs, names))
                except (ImportError, ConnectionError, FileNotFoundError) as error:
                    their_value = error
            elif NEEDED[tool] not in ("ragas", "evaluate"):
                found[title] = (their_value, None)
                continue
            found[title] = (their_value, plain(run(ours, names)))
    return found


@pytest.mark.parametrize(("tool", "title"), PYTHON, ids=lambda word: word.replace(" ", "-"))
def test_both_blocks_give_the_same(tool: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    theirs, ours = results_of(tool)[title]
    if isinstance(theirs, Exception):
        pytest.skip(f"{tool}: {theirs}")
    assert count(theirs) == count(ours) > 0
    assert differences(theirs, ours) == []


OURS_ALONE = {
    ("Ragas", "Recall and precision of ids"): {
        "id_context_recall": 0.75,
        "id_context_precision": 0.75,
    },
    ("Ragas", "Exact match"): 0.5,
    ("Hugging Face evaluate", "SQuAD's exact match and F1"): {"exact_match": 0.5, "token_f1": 0.7},
    ("Hugging Face evaluate", "SQuAD 2, with questions that have no answer"): {
        "exact_match": 0.5,
        "token_f1": 5 / 6,
    },
}
"""Worked out by hand, for where the other tool is not installed."""


@pytest.mark.parametrize(("tool", "title"), OURS_ALONE, ids=str)
def test_our_block_gives_what_was_worked_out_by_hand(
    tool: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, ours = results_of(tool)[title]
    assert differences(OURS_ALONE[tool, title], ours) == []


DATASETS = {"qrels.test": "trec_eval.test", "qrels.rel_level": "trec_eval.rel_level"}


def expected_of(folder: Path, command: str) -> dict[tuple[str, str], float]:
    """(query, measure) → what trec_eval 10 printed when it was called so."""
    words = shlex.split(command)
    assert words[0] == "trec_eval"
    *options, qrels, run_name = words[1:]
    measures = []
    for at, word in enumerate(options):
        if word == "-m":
            name, _, cutoffs = options[at + 1].partition(".")
            measures += [f"{name}_{cutoff}" for cutoff in cutoffs.split(",") if cutoff] or [name]
    flags = " ".join(word for word in options if re.fullmatch(r"-c|-J|-[lM]\d+", word))
    values = pl.read_csv(
        folder / "expected" / "trec_eval_10.0.tsv.gz",
        separator="\t",
        infer_schema=False,
        quote_char=None,
    ).filter(dataset=DATASETS[qrels], run=run_name, flags=flags)
    asked = values.filter(pl.col("measure").is_in(measures))
    assert set(asked["measure"]) == set(measures)
    return {(q, m): float(v) for q, m, v in asked.select("query", "measure", "value").rows()}


@pytest.mark.parametrize("title", SHELL, ids=lambda word: word.replace(" ", "-"))
def test_the_command_gives_what_trec_eval_printed(
    title: str, retrieval_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = blocks(SHELL[title], "sh")
    for file in ("qrels.test", "qrels.rel_level", "results.test", "results.trunc"):
        shutil.copy(retrieval_data / "trec_eval" / file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    expected = expected_of(retrieval_data, theirs)
    program, *words = shlex.split(ours)
    assert program == "evalframe"
    called = CliRunner().invoke(app, words)
    assert called.exit_code == 0, called.stderr
    found = {("all", row["metric"]): row["value"] for row in json.loads(called.stdout)["summary"]}
    if "-q" in theirs.split():
        for row in pl.read_csv("values.csv", schema_overrides={"query_id": pl.String}).to_dicts():
            query = row.pop("query_id")
            found |= {(query, metric): value for metric, value in row.items()}
    else:
        expected = {key: value for key, value in expected.items() if key[0] == "all"}
    assert found.keys() == expected.keys()
    wrong = {k: (v, found[k]) for k, v in expected.items() if not abs(v - found[k]) <= 1e-9}
    assert wrong == {}


def test_every_heading_has_a_pair_of_blocks_and_links_lead_somewhere() -> None:
    for tool, text in TOOLS.items():
        for title, part in sections(text, "###").items():
            language = "sh" if tool.startswith("trec_eval") else "python"
            assert len(blocks(part, language)) == 2, (tool, title)
    anchors = {re.sub(r"[^\w -]", "", tool.lower()).replace(" ", "-") for tool in TOOLS}
    for anchor in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert anchor in anchors
