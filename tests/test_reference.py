"""The reference: its pages are what the docstrings say, complete, and linked to each other."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import types
from functools import cache
from pathlib import Path

from evalframe.metrics import CATALOGUE
from evalframe.samples import RAG_METRICS

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "notebooks" / "reference.py"
FOLDER = ROOT / "notebooks" / "reference"
FILES = sorted(FOLDER.rglob("*.md"))


@cache
def script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("reference_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def text_of(page: Path) -> str:
    """A page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_the_pages_are_what_the_script_writes() -> None:
    """After a change of a docstring: python notebooks/reference.py."""
    command = [sys.executable, str(SCRIPT), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.stdout == "", checked.stderr
    assert checked.returncode == 0


def test_every_public_name_has_a_page_that_the_index_leads_to() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", index))
    there = {file.relative_to(FOLDER).as_posix() for file in FILES} - {"README.md"}
    assert there == listed - {"../coming_from.md"}
    objects = {id(name.value) for name in script().public_names()}
    paths = {name.path for name in script().public_names()}
    for module_name in script().MODULES:
        module = importlib.import_module(module_name)
        for name in script().ONLY.get(module_name, module.__all__):
            value = getattr(module, name)
            is_metric = module_name == "evalframe.metrics" and name in CATALOGUE
            is_own = isinstance(value, types.ModuleType) or name == "__version__" or is_metric
            assert is_own or id(value) in objects or f"{module_name}.{name}" in paths, name
    for metric in (*CATALOGUE, *RAG_METRICS):
        assert f"metrics/{metric}.md" in there


def test_the_front_door_is_whole() -> None:
    """Each group names something, and no name of the front door is left to a later module."""
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for heading in script().GROUPS:
        section = index.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        assert "- [`evalframe." in section
    front = importlib.import_module("evalframe")
    for name in front.__all__:
        if name not in ("metrics", "plots", "__version__"):
            assert index.count(f"[`evalframe.{name}`](evalframe/{name}.md)") == 1


def test_links_lead_to_files() -> None:
    dead = [
        (page.name, target)
        for page in (*FILES, ROOT / "notebooks" / "coming_from.md")
        for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page))
        if not re.match(r"https?://|#", target)
        and not (page.parent / target.partition("#")[0]).resolve().exists()
    ]
    assert dead == []


def test_every_page_says_something_and_is_sound_markdown() -> None:
    for page in FILES:
        text = page.read_text(encoding="utf-8")
        fences = [line.strip() for line in text.splitlines() if line.strip().startswith("```")]
        assert [bool(line.strip("`")) for line in fences] == [True, False] * (len(fences) // 2)
        head, title, *rest = [part for part in text.split("\n\n") if part]
        assert head.startswith("<!--")
        assert re.fullmatch(r"# \S.*", title)
        assert "A constant." not in text
        assert " at 0x" not in text
        assert not re.search(r"^>>> ", text_of(page), flags=re.MULTILINE)
        assert not re.search(r"^-{4,}$", text, flags=re.MULTILINE)
        assert any(re.match(r"[A-Z0-9`]", part) for part in rest), page
        assert not re.search(r"[ \t]$", text, flags=re.MULTILINE)


DOCSTRING = """Fuse several runs.

More about it, see `evalframe.tune`.

Parameters
----------
runs, names
    What is fused; `evaluate` takes it too:

    - one,
    - two.
k
    A number.

Returns
-------
Report
    With values.

Raises
------
ColumnError, RowError
    What is wrong.

Examples
--------
>>> f(
...     1
... )
2

Then:

>>> f(2)
3
"""

PAGE = """Fuse several runs.

More about it, see `evalframe.tune`.

## Parameters

- **`runs`**, **`names`**: What is fused; `evaluate` takes it too:

  - one,
  - two.
- **`k`**: A number.

## Returns

- `Report`: With values.

## Raises

- `ColumnError`, `RowError`: What is wrong.

## Examples

```pycon
>>> f(
...     1
... )
2
```

Then:

```pycon
>>> f(2)
3
```"""


def test_a_docstring_becomes_markdown() -> None:
    assert script().markdown_of(DOCSTRING.rstrip()) == PAGE


def test_names_in_the_text_become_links_and_those_in_code_do_not() -> None:
    names = {name.path: name for name in script().public_names()}
    linked = script().with_links(PAGE, names["evalframe.fuse"], names)
    assert "see [`evalframe.tune`](tune.md)" in linked
    assert "[`evaluate`](evaluate.md) takes it too" in linked
    assert "- [`Report`](Report.md): With values" in linked
    assert "[`ColumnError`](../evalframe.errors/ColumnError.md), [`RowError`]" in linked
    assert "**`runs`**, **`names`**: What" in linked
    assert linked.count("```pycon") == 2


def test_a_signature_is_shown_as_it_is_written() -> None:
    def short(a: int, *rest: str, key: str = "x", **more: int) -> list[int]:
        return []

    text = script().signature_of("f", short)
    assert text == 'f(a: int, *rest: str, key: str = "x", **more: int) -> list[int]'

    def long(first: dict[str, float], /, second: str | None = None, *, third_argument: int) -> None:
        return None

    shown = script().signature_of("module.long", long)
    assert shown.splitlines() == [
        "module.long(",
        "    first: dict[str, float],",
        "    /,",
        "    second: str | None = None,",
        "    *,",
        "    third_argument: int,",
        ") -> None",
    ]


def test_a_constant_is_described_by_the_string_below_it() -> None:
    assert script().constant_doc("evalframe.ranking", "Ties").startswith("What stands first")
    assert script().constant_doc("evalframe.fusion", "METHODS") == "Every way to fuse by its name."
