"""The notebooks run from a clean kernel, and show what they are kept with.

`python notebooks/run.py` runs them and writes their outputs back.
"""

from __future__ import annotations

import html
import importlib.util
import re
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NEEDED = (
    "nbclient", "ipykernel", "ipywidgets", "altair", "vl_convert", "pandas", "duckdb", "scipy",
)  # fmt: skip
ABSENT = [name for name in NEEDED if importlib.util.find_spec(name) is None]
FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9]_*.ipynb"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(ABSENT),
        reason=f"not installed: {', '.join(ABSENT)}; "
        'pip install "evalframe[notebooks,stats,pandas,duckdb]" runs these tests',
    ),
]
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@cache
def runner() -> ModuleType:
    """`notebooks/run.py` as a module."""
    spec = importlib.util.spec_from_file_location("run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


@cache
def fresh(path: Path) -> Any:
    """The notebook, run now."""
    return runner().executed(path)


def texts_of(output: Any) -> dict[str, str]:
    """What a reader sees of an output, by its kind: of HTML and pictures the words alone.

    Numbers count to twelve decimals, since the last bit may differ between processors.
    """
    if output.output_type == "stream":
        return {output.name: words_of("text/plain", output.text)}
    if output.output_type == "error":
        return {"error": f"{output.ename}: {output.evalue}"}
    return {kind: words_of(kind, data) for kind, data in output.data.items()}


def words_of(kind: str, data: str) -> str:
    if kind.startswith("image/") and kind != "image/svg+xml":
        return "a picture"
    data = re.sub(r"\d+\.\d{12,}", lambda number: f"{float(number[0]):.12f}", data)
    if kind not in ("text/html", "image/svg+xml"):
        return data
    seen = re.sub(r"<(style|script)\b.*?</\1>", "", data, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", seen)).split())


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_five_stories() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5"]


@each_notebook
def test_nothing_fails_and_nothing_warns(path: Path) -> None:
    """A cell that raises has stopped the run already; none speaks on standard error."""
    for cell in code_cells(fresh(path)):
        for output in cell.outputs:
            seen = texts_of(output)
            assert {"stderr", "error"} & seen.keys() == set(), seen
            assert not re.search(r"warning:|Traceback", "\n".join(seen.values()), re.IGNORECASE)


@each_notebook
def test_the_outputs_that_are_kept_are_those_of_a_run(path: Path) -> None:
    """Every text, of charts too; `python notebooks/run.py` mends what is out of date."""
    for before, now in zip(code_cells(kept(path)), code_cells(fresh(path)), strict=True):
        if not runner().lacks_what_it_needs(before):
            assert list(map(texts_of, now.outputs)) == list(map(texts_of, before.outputs)), (
                before.source
            )
        assert now.execution_count == before.execution_count


@each_notebook
def test_a_kept_notebook_says_nothing_of_the_machine(path: Path) -> None:
    """No paths, addresses, times or settings of an editor; and it is small."""
    notebook, text = kept(path), path.read_text(encoding="utf-8")
    assert notebook.metadata == runner().KEPT
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}
    outputs = "\n".join(
        value
        for cell in code_cells(notebook)
        for output in cell.outputs
        for value in texts_of(output).values()
    )
    places = "|".join(
        map(re.escape, (tempfile.gettempdir(), str(Path.home()), str(Path(__file__).parents[1])))
    )
    found = re.findall(rf"(?:{places})\b|[A-Z]:\\|\b0x[0-9a-f]{{6,}}|\b\d\d:\d\d:\d\d\b", outputs)
    assert found == []
    assert str(Path.home()) not in text
    assert len(text) < 400_000


@each_notebook
def test_charts_are_kept_as_still_pictures(path: Path) -> None:
    """What a notebook shows needs no network and no script."""
    for cell in code_cells(kept(path)):
        for output in cell.outputs:
            data = output.get("data", {})
            assert not any("vega" in kind or "javascript" in kind for kind in data)
            assert not re.search(r"<script|<link|src=.https?:", data.get("text/html", ""))
            drawn = "alt." in data.get("text/plain", "")
            assert drawn == ("image/svg+xml" in data)


@pytest.mark.parametrize(
    ("kind", "data", "seen"),
    [
        ("text/html", "<style>b {}</style><b>a &lt; b</b> c", "a < b c"),
        ("image/svg+xml", '<svg><text x="1">nDCG</text></svg>', "nDCG"),
        ("image/png", "iVBORw0", "a picture"),
        ("text/plain", "0.6504 at 3.0000000000000004", "0.6504 at 3.000000000000"),
    ],
)
def test_what_is_compared_is_what_is_seen(kind: str, data: str, seen: str) -> None:
    assert words_of(kind, data) == seen


def test_what_a_cell_prints_is_one_output_however_the_kernel_sent_it() -> None:
    import nbformat

    def output(name: str, text: str) -> Any:
        return nbformat.v4.new_output("stream", name=name, text=text)

    sent = [output("stdout", "a\n"), output("stdout", "b\n"), output("stderr", "c\n")]
    sent.append(nbformat.v4.new_output("display_data", {"text/plain": "d"}))
    sent += [output("stdout", "e\n"), output("stdout", "f\n")]
    assert [list(texts_of(one).values()) for one in runner().joined(sent)] == [
        ["a\nb\n"], ["c\n"], ["d"], ["e\nf\n"],
    ]  # fmt: skip
