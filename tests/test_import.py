"""Importing the package is cheap and does nothing else; what is not installed is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

OF_THE_STANDARD_LIBRARY = {
    "difflib",
    "email",
    "html",
    "statistics",
    "textwrap",
    "unicodedata",
}
"""What the package itself imports of it, beyond what Polars has imported already."""

BEHIND_THESE = {"_statistics", "fractions", "numbers", "_decimal", "decimal", "_markupbase"}
"""What those import in turn, in some version of Python."""

SNAPSHOT = """
import json, locale, logging, os, signal, sys, threading, warnings
import polars as pl

def seen():
    loggers = logging.Logger.manager.loggerDict
    return {
        "environment": dict(os.environ),
        "threads": threading.active_count(),
        "handlers": [len(logging.getLogger(name).handlers) for name in [None, *sorted(loggers)]],
        "levels": [logging.getLogger(name).level for name in [None, *sorted(loggers)]],
        "loggers": sorted(loggers),
        "filters": [str(one) for one in warnings.filters],
        "showwarning": str(warnings.showwarning),
        "excepthook": str(sys.excepthook),
        "signals": [str(signal.getsignal(one)) for one in signal.valid_signals()],
        "polars": pl.Config.state(),
        "path": list(sys.path),
        "folder": os.getcwd(),
        "files": sorted(os.listdir()),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion": sys.getrecursionlimit(),
    }

before = seen()
import evalframe
after = seen()
print(json.dumps([key for key in before if before[key] != after[key]]))
"""


def python(code: str, cwd: Path | None = None) -> str:
    command = [sys.executable, "-B", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd).stdout


def test_importing_loads_polars_and_a_few_small_modules_only() -> None:
    """No clock: what may be loaded is pinned, so that the time cannot creep up unseen."""
    code = (
        "import sys, json, polars; before = set(sys.modules); import evalframe; "
        "print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))"
    )
    loaded = set(json.loads(python(code))) - {"evalframe"}
    assert loaded - OF_THE_STANDARD_LIBRARY - BEHIND_THESE == set()


def test_importing_loads_no_door_but_the_front_one() -> None:
    doors = ("cli", "ragas", "evaluation", "rag", "spark", "executor")
    code = (
        f"import sys, evalframe; print([d for d in {doors} if f'evalframe.{{d}}' in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_importing_changes_nothing_and_writes_nothing(tmp_path: Path) -> None:
    """No logging, no environment, no threads, no warning filters, no files, no Polars settings."""
    assert json.loads(python(SNAPSHOT, cwd=tmp_path)) == []
    assert [*tmp_path.iterdir()] == []


def test_evaluating_configures_nothing_either(tmp_path: Path) -> None:
    call = "evalframe.evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}, ['ndcg@10'])"
    code = SNAPSHOT.replace("import evalframe\n", f"import evalframe\n{call}\n")
    changed = set(json.loads(python(code, cwd=tmp_path)))
    assert changed <= {"threads"}
    assert [*tmp_path.iterdir()] == []


FRAMES = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
import tempfile, pathlib
import polars as pl
import evalframe as evf
import evalframe.comparing, evalframe.fusion, evalframe.io.libraries as libraries
import evalframe.statistics as statistics
import evalframe.plots as plots
import evalframe.ragas as ragas
qrels = {{str(q): {{"a": 1, "b": 0}} for q in range(6)}}
good = {{str(q): {{"a": 2.0, "b": 1.0}} for q in range(6)}}
poor = {{str(q): {{"b": 2.0, "a": 1.0}} for q in range(6)}}
metrics = ["mrr", "recall@1", "recall@3"]
report = evf.evaluate(qrels, good, metrics)
other = evf.evaluate(qrels, poor, metrics)
both = evf.evaluate(qrels, {{"good": good, "poor": poor}}, metrics)
samples = [{{"user_input": "?", "response": "x", "reference": "x"}}]
answers = evf.evaluate_rag(samples, metrics="token_f1")
slices = pl.DataFrame({{"part": ["x", "y"], "metric": "mrr", "n": 3, "mean": [0.5, 1.0]}})
folder = pathlib.Path(tempfile.mkdtemp())
frame = pl.DataFrame({{"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}})
def tried(name, door):
    try:
        door()
    except evf.errors.MissingExtraError as error:
        assert isinstance(error, ImportError)
        print(name, "|", error)
    except BaseException as error:
        print(name, "|", "OTHER", type(error).__name__, error)
    else:
        print(name, "|", "NOTHING WAS MISSING")
{calls}
"""

STATISTICS = {
    "compare": "evf.compare(qrels, {'good': good, 'poor': poor}, ['mrr'])",
    "compare_frames": "evf.compare_frames(report, other)",
    "assert_no_regression": "evf.assert_no_regression(report, other)",
    "paired_test": "statistics.paired_test([0.1, 0.2], [0.3, 0.1])",
    "mean_interval": "statistics.mean_interval([0.1, 0.2, 0.3])",
    "difference_interval": "statistics.difference_interval([0.1, 0.2, 0.3], [0.2, 0.1, 0.4])",
    "kendall_tau": "evalframe.comparing.kendall_tau([1, 2, 3], [1, 3, 2])",
}
PLOTS = {
    "curves": "plots.curves(report)",
    "precision_recall": "plots.precision_recall(report)",
    "distribution": "plots.distribution(report, 'mrr')",
    "coverage": "plots.coverage(answers)",
    "heat_map": "plots.heat_map(slices)",
    "differences": "plots.differences(both, 'mrr')",
    "scatter": "plots.scatter(both, 'mrr')",
}
DOORS: dict[str, tuple[str, dict[str, str]]] = {
    "numpy": ("stats", STATISTICS),
    "scipy": ("stats", STATISTICS),
    "altair": ("plots", PLOTS),
    "vl_convert": ("plots", {"svg": "plots.svg(plots.distribution(report, 'mrr'))",
                             "png": "plots.png(plots.distribution(report, 'mrr'))"}),
    "pandas": ("pandas", {"to_pandas": "libraries.to_pandas(frame)",
                          "to_ir_measures": "libraries.to_ir_measures(frame)",
                          "to_pyterrier": "libraries.to_pyterrier(frame)"}),
    "duckdb": ("duckdb", {"to_duckdb": "libraries.to_duckdb(frame)"}),
    "ranx": ("oracles", {"to_ranx": "libraries.to_ranx(frame)"}),
    "ir_datasets": ("datasets", {"read_ir_dataset": "evalframe.io.read_ir_dataset('vaswani')"}),
    "ragas": ("ragas", {"as_ragas_dataset": "ragas.as_ragas_dataset(samples)"}),
}  # fmt: skip


@pytest.mark.parametrize("package", DOORS)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package: str) -> None:
    """At every door that needs it, as an error that is an ImportError too."""
    extra, doors = DOORS[package]
    calls = "\n".join(f"tried({name!r}, lambda: {call})" for name, call in doors.items())
    printed = python(FRAMES.format(hidden=[package], calls=calls))
    found = dict(line.split(" | ", 1) for line in printed.splitlines())
    assert found.keys() == doors.keys()
    wrong = {
        n: text for n, text in found.items() if f'pip install "evalframe[{extra}]"' not in text
    }
    assert wrong == {}


def test_without_any_optional_package_everything_else_works() -> None:
    """Evaluation, reports as text, Markdown, LaTeX and HTML, RAG samples, fusion, files."""
    hidden = ["numpy", "scipy", "altair", "vl_convert", "great_tables", "pandas", "duckdb",
              "ranx", "ragas", "ir_datasets", "IPython", "rapidfuzz", "pyspark"]  # fmt: skip
    calls = """
print({name: report.metrics[name] for name in ("mrr", "recall@1")})
print(len(repr(report)) > 10, len(report._repr_html_()) > 10)
print(report.to_markdown().startswith("| metric"), "tabular" in report.to_latex())
report.to_html(folder / "report.html")
page = (folder / "report.html").read_text()
print("evalframe[plots]" in page, "mrr" in page)
print(evf.evaluate_rag(samples, metrics="token_f1").metrics)
evf.write_parquet(report, folder / "report.parquet")
print(evf.read_report(folder / "report.parquet").metrics == report.metrics)
print(evf.fuse({"a": good, "b": poor}).height, evf.audit(qrels, good).columns[0])
"""
    assert python(FRAMES.format(hidden=hidden, calls=calls)).splitlines() == [
        "{'mrr': 1.0, 'recall@1': 1.0}",
        "True True",
        "True True",
        "True True",
        "{'token_f1': 1.0}",
        "True",
        "12 severity",
    ]
