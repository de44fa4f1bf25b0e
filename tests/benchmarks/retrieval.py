"""Run evalframe and its peers in turn, each in a process of its own, and print a table.

python tests/benchmarks/retrieval.py [W1 W2 W3 W4 W5 W2d] [--rounds 3] [--folder DIR] [--out FILE]

Workloads are made on first use. The table gives medians of seconds, the ratio to evalframe on the
same source, and peak memory; it is written as Markdown to --out where that is given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from workloads import WORKLOADS, write

PLAN: dict[str, list[tuple[str, str]]] = {
    "W1": [
        ("memory", "evalframe prepared pytrec_eval"),
        ("parquet", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
        ("trec", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
    ],
    "W2": [
        ("memory", "evalframe prepared shuffled pytrec_eval"),
        ("parquet", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
        ("trec", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
    ],
    "W2d": [("memory", "evalframe"), ("parquet", "evalframe")],
    "W3": [
        ("memory", "evalframe prepared shuffled pytrec_eval"),
        ("parquet", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
        ("trec", "evalframe bare pytrec_eval ranx ir_measures duckdb"),
    ],
    "W4": [("parquet", "evalframe bare duckdb")],
    "W5": [("memory", "evalframe shuffled pytrec_eval")],
}
MODES = ("prepared", "shuffled")


def once(tool: str, source: str, stem: Path) -> dict[str, float]:
    """One process: seconds and peak memory."""
    name, mode = ("evalframe", tool) if tool in MODES else (tool, source)
    script = Path(__file__).with_name("tools.py")
    command = [sys.executable, str(script), name, mode, str(stem)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tool} on {stem.name} from {source} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, folder: Path, rounds: int) -> list[str]:
    """The table's rows for one workload."""
    write(WORKLOADS[name], folder)
    lines = []
    for source, tools in PLAN[name]:
        seconds: dict[str, list[float]] = defaultdict(list)
        peak: dict[str, list[float]] = defaultdict(list)
        for _ in range(rounds):
            for tool in tools.split():
                found = once(tool, source, folder / name)
                seconds[tool].append(found["seconds"])
                peak[tool].append(found["peak_mb"])
        own = statistics.median(seconds["evalframe"])
        for tool in tools.split():
            median = statistics.median(seconds[tool])
            memory = statistics.median(peak[tool])
            row = (
                f"| {name} | {source} | {tool} | {median:.4f} | {median / own:.2f} | {memory:.0f} |"
            )
            print(row, flush=True)
            lines.append(row)
    return lines


def main() -> None:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["W1", "W2", "W3", "W5"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "evalframe")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    head = [
        "| workload | source | tool | seconds | ratio to evalframe | peak MB |",
        "|---|---|---|--:|--:|--:|",
    ]
    print("\n".join(head), flush=True)
    rows = [row for name in given.workloads for row in measure(name, given.folder, given.rounds)]
    if given.out:
        given.out.write_text("\n".join([*head, *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
