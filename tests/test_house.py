"""The rules of the house: who may import whom, where plans run, how long a room is."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evalframe

SOURCE = Path(evalframe.__file__).parent
ROOMS = sorted(SOURCE.rglob("*.py"))

FLOORS = [
    {"columns", "engine", "errors", "hashes", "progress"},
    {"frames", "tables", "calls"},
    {"io", "hits"},
    {"inputs"},
    {"ranking", "text"},
    {"metrics"},
    {"scoring"},
    {"plots", "page"},
    {"report", "samples"},
    {"fusion", "statistics", "comparing", "auditing", "stored"},
]
DOORS = {"__init__", "__main__", "evaluation", "rag", "cli", "ragas", "spark", "executor"}


def name_of(room: Path) -> str:
    return room.relative_to(SOURCE).with_suffix("").parts[0]


def module_of(room: Path) -> str:
    parts = room.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(room: Path) -> set[str]:
    """The rooms of the house that a room imports, by their first name."""
    tree = ast.parse(room.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            first, *rest = node.module.split(".")
            if first == "evalframe":
                found |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("evalframe.")
            }
    return {name for name in found if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


@pytest.mark.parametrize("room", ROOMS, ids=module_of)
def test_a_room_tells_what_it_offers(room: Path) -> None:
    """`__all__` is true (that it is sorted, the linter sees to)."""
    module = importlib.import_module(module_of(room))
    offered = module.__all__
    assert len(set(offered)) == len(offered)
    assert [name for name in offered if not hasattr(module, name)] == []


@pytest.mark.parametrize("room", ROOMS, ids=module_of)
def test_a_room_holds_one_thought(room: Path) -> None:
    assert len(room.read_text(encoding="utf-8").splitlines()) <= 400
    assert room.stem not in {"utils", "base", "common", "helpers"}


@pytest.mark.parametrize("room", ROOMS, ids=module_of)
def test_users_mistakes_are_not_asserted_and_nothing_is_left_undone(room: Path) -> None:
    tree = ast.parse(room.read_text(encoding="utf-8"))
    kinds = {type(node) for node in ast.walk(tree)}
    assert ast.Assert not in kinds
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "NotImplementedError" not in names
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", room.read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", ROOMS, ids=module_of)
def test_plans_run_in_one_place_only(room: Path) -> None:
    if name_of(room) == "engine":
        return
    attributes = {
        node.func.attr
        for node in ast.walk(ast.parse(room.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if ast.unparse(node.func.value) != "engine"
    }
    assert "collect" not in attributes
    assert "collect_batches" not in attributes
    assert "map_elements" not in attributes


@pytest.mark.parametrize("room", ROOMS, ids=module_of)
def test_imports_go_down_only(room: Path) -> None:
    own, imported = name_of(room), imports_of(room)
    if own in DOORS:
        return
    assert imported & DOORS == set()
    level = {name: number for number, floor in enumerate(FLOORS) for name in floor}
    unknown = ({own} | imported) - level.keys()
    assert unknown == set(), "a new room: write down its floor"
    assert {name for name in imported if level[name] > level[own]} == set()


def test_optional_packages_are_not_imported_with_the_package() -> None:
    code = (
        "import sys, evalframe; print(*sorted({m.partition('.')[0] for m in sys.modules} & "
        "{'numpy', 'pandas', 'scipy', 'altair', 'ragas', 'great_tables', 'pyspark', 'duckdb'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_every_room_is_found() -> None:
    found = {module.name for module in pkgutil.walk_packages([str(SOURCE)], "evalframe.")}
    assert {module_of(room) for room in ROOMS} - {"evalframe"} == found
