"""Time against rows: evaluations from Parquet at growing sizes, as a table and as a chart.

python tests/benchmarks/rows.py [--rounds 3] [--folder DIR]

Each tool reads and evaluates in a process of its own, and its second call is timed. Writes
`rows.csv` and `rows.svg` beside this script; the chart needs the extra `plots`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import polars as pl
from retrieval import once
from workloads import Workload, write

HERE = Path(__file__).parent
QUERIES = (30, 100, 300, 1_000, 3_000, 10_000, 30_000)
DEPTH = 1_000
ROWS_UP_TO = {
    "evalframe": 30_000_000,
    "bare": 30_000_000,
    "duckdb": 30_000_000,
    "pytrec_eval": 10_000_000,
    "ranx": 10_000_000,
    "ir_measures": 1_000_000,
}
SHOWN = {"bare": "bare scan"}
COLOURS = ("#D55E00", "#999999", "#009E73", "#0072B2", "#CC79A7", "#E69F00")


def measured(folder: Path, rounds: int) -> pl.DataFrame:
    """Median seconds for each tool and number of rows."""
    rows = []
    for n_queries in QUERIES:
        workload = Workload(f"R{n_queries}", n_queries, DEPTH, (1, 1))
        write(workload, folder)
        for tool, most in ROWS_UP_TO.items():
            if workload.n_rows > most:
                continue
            times = [
                once(tool, "parquet", folder / workload.name)["seconds"] for _ in range(rounds)
            ]
            seconds = statistics.median(times)
            print(f"{workload.n_rows:>12,}  {tool:<12} {seconds:8.4f} s", flush=True)
            rows.append({"tool": tool, "rows": workload.n_rows, "seconds": seconds})
    return pl.DataFrame(rows)


def draw(found: pl.DataFrame, path: Path) -> None:
    """A line for each tool on logarithmic axes, named at its end."""
    import altair as alt
    import vl_convert

    table = found.with_columns(name=pl.col("tool").replace(SHOWN))
    base = alt.Chart(table).encode(
        x=alt.X("rows:Q", title="rows of the run")
        .scale(type="log", domain=[20_000, 400_000_000])
        .axis(values=[10**n for n in range(5, 9)], format="~s"),
        y=alt.Y("seconds:Q", title="seconds, reading included")
        .scale(type="log", domain=[0.001, 100])
        .axis(values=[10**n for n in range(-3, 3)], format="~g"),
        color=alt.Color("tool:N", legend=None).scale(domain=[*ROWS_UP_TO], range=[*COLOURS]),
    )
    ends = base.transform_joinaggregate(last="max(rows)", groupby=["tool"])
    names = ends.transform_filter("datum.rows == datum.last").mark_text(align="left", dx=6)
    chart = (base.mark_line(point=True) + names.encode(text="name:N")).properties(
        width=560,
        height=340,
        title={
            "text": "Eight metrics for each query, from Parquet",
            "subtitle": "1,000 documents a query, about one judgement each; two cores",
        },
        background="white",
    )
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()), encoding="utf-8")


def main() -> None:
    """Read the command line, measure, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "evalframe")
    parser.add_argument("--draw-only", action="store_true")
    given = parser.parse_args()
    if not given.draw_only:
        measured(given.folder, given.rounds).write_csv(HERE / "rows.csv", float_precision=4)
    draw(pl.read_csv(HERE / "rows.csv"), HERE / "rows.svg")


if __name__ == "__main__":
    main()
