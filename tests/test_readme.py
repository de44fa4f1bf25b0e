"""The README is true: its commands, its examples, its table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evalframe.metrics import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    CATALOGUE._definitions.pop("hit_share")
    printed = capsys.readouterr().out
    assert re.search(r"ndcg@10 +0.6504", printed)
    assert "queries in qrels 64" in printed


def test_the_metric_table_is_the_catalogues() -> None:
    written = re.search(r"<!-- metrics: .*? -->\n(.*?)\n<!-- end", README, flags=re.DOTALL)
    assert written is not None
    command = [sys.executable, "-m", "evalframe", "metrics", "--format", "markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    assert written[1] == printed.stdout.strip()


def test_the_floor_plan_names_every_room() -> None:
    plan = next(block for block in blocks("") if block.startswith("src/evalframe/"))
    rooms = {
        path.name + ("/" if path.is_dir() else "")
        for path in (ROOT / "src/evalframe").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {room for room in rooms if room not in plan} == set()


def test_the_set_up_commands_are_two_and_ci_runs_the_second() -> None:
    commands = blocks("sh")[:2]
    assert "evalframe evaluate data/" in commands[0]
    assert commands[1].strip().endswith("-m pytest")
    assert "README.md" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_the_first_command_names_files_that_exist() -> None:
    for word in blocks("sh")[0].split():
        if word.startswith("data/"):
            assert list(ROOT.glob(word)), word
