"""Run the numbered notebooks, each from a clean kernel, and keep what they show.

python notebooks/run.py                             # all of them
python notebooks/run.py 1_first_evaluation.ipynb    # some of them
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

HERE = Path(__file__).resolve().parent
NUMBERED = sorted(HERE.glob("[0-9]_*.ipynb"))
KEPT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""The metadata of a notebook: nothing of the machine it was run on."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run from a clean kernel in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as own:
        # A profile of its own, so that nobody's start-up files have a say.
        environment = {**os.environ, "IPYTHONDIR": own}
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
            config=Config(KernelManager=_private(own)),
        )
        client.execute(env=environment)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined([output for output in cell.outputs if not is_a_bar(output)])
    notebook.metadata = nbformat.from_dict(KEPT)
    return notebook


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Outputs where what a cell printed is in one piece; a slow kernel sends it in several."""
    whole: list[nbformat.NotebookNode] = []
    for output in outputs:
        stream = output.get("name")
        if stream and whole and whole[-1].get("name") == stream:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def is_a_bar(output: nbformat.NotebookNode) -> bool:
    """Whether an output is a progress bar, which shows itself where a cell takes long."""
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def lacks_what_it_needs(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is tagged `needs-…` by a package that is not here."""
    needed = [tag.removeprefix("needs-") for tag in cell.metadata.get("tags", ())]
    return any(find_spec(name) is None for name in needed)


def _private(folder: str) -> dict[str, str]:
    """A connection that nobody else can listen to, where the system has such; else kernels warn."""
    sockets = {} if os.name == "nt" else {"transport": "ipc"}
    return {"connection_file": os.path.join(folder, "kernel.json"), **sockets}


def main(names: list[str]) -> None:
    """Run the notebooks that are named, or all, and write them with their outputs.

    A cell that lacks what it needs keeps the outputs that it has.
    """
    for path in [HERE / Path(name).name for name in names] or NUMBERED:
        before, notebook = nbformat.read(path, as_version=4), executed(path)
        for cell, now in zip(before.cells, notebook.cells, strict=True):
            if lacks_what_it_needs(cell) and cell.outputs:
                now.outputs = cell.outputs
        path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
