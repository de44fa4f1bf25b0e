"""How much faster resampling many columns at once is than scipy, column by column and all at once.

    python tests/benchmarks/resampling.py [queries] [metrics] [systems] [resamples]

7,000 queries, 8 metrics, 3 systems and 10,000 resamples unless said otherwise. evalframe does the
whole comparison: intervals of every mean and of every difference, the randomisation test of every
pair, and the correction. scipy does its parts on the same values in the same process, with a tenth
of the resamples for `permutation_test`, whose time is scaled up.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from evalframe.comparing.pairing import align, contrasted, pairs_of
from evalframe.statistics import Procedure


def made_values(n: int, n_metrics: int, n_systems: int) -> np.ndarray:
    """queries × systems × metrics in [0, 1], systems alike on most queries."""
    rng = np.random.default_rng(0)
    first = rng.beta(0.3, 1, (n, 1, n_metrics))
    moved = rng.normal(0, 0.1, (n, n_systems, n_metrics)) * (rng.random((n, n_systems, 1)) < 0.3)
    return np.clip(first + moved, 0, 1)


def peak() -> int:
    """Highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timed(name: str, call: Callable[[], Any], scale: float = 1.0) -> tuple[Any, float]:
    """Run once, and print the time (scaled up where only a part was run)."""
    start = time.perf_counter()
    result = call()
    seconds = (time.perf_counter() - start) * scale
    print(f"{name:58s} {seconds:8.2f} s   peak {peak():5d} MB", flush=True)
    return result, seconds


def main(n: int = 7_000, n_metrics: int = 8, n_systems: int = 3, resamples: int = 10_000) -> None:
    """Compare, print, and check that both say the same."""
    values = made_values(n, n_metrics, n_systems)
    metrics = [f"m{i}" for i in range(n_metrics)]
    ids = pl.Series("query_id", [str(i) for i in range(n)])
    frames = {
        f"s{s}": pl.DataFrame(values[:, s], schema=metrics).insert_column(0, ids)
        for s in range(n_systems)
    }
    print(f"{n} queries, {n_metrics} metrics, {n_systems} systems, {resamples} resamples")
    print(f"{'start':58s} {'':10s}   peak {peak():5d} MB")
    spent = {}
    for interval in ("percentile", "bca", "studentised"):
        procedure = Procedure(interval=interval, resamples=resamples)

        def whole(procedure: Procedure = procedure) -> Any:
            aligned = align(frames, ["query_id"], metrics)
            return contrasted(aligned, pairs_of(list(frames), ()), procedure, ())

        (_, pairs), spent[interval] = timed(f"evalframe: all, {interval} intervals", whole)
        if interval == "percentile":
            of_percentile = pairs
    a, b = (np.array(side) for side in zip(*combinations(range(n_systems), 2), strict=True))
    differences = (values[:, a] - values[:, b]).reshape(n, -1)
    columns = np.column_stack([values.reshape(n, -1), differences])
    rng = np.random.default_rng(1)
    found, bootstrap = timed(
        "scipy.stats.bootstrap, percentile, batch of 50",
        lambda: stats.bootstrap(
            (columns,), np.mean, n_resamples=resamples, batch=50, method="percentile", axis=0,
            vectorized=True, rng=rng,
        ),
    )  # fmt: skip
    few = max(resamples // 10, 1)
    tested, permutation = timed(
        f"scipy.stats.permutation_test, batch of 50 ({few}, scaled up)",
        lambda: stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=few, batch=50,
            axis=0, vectorized=True, rng=rng,
        ),
        resamples / few,
    )  # fmt: skip
    ratio = (bootstrap + permutation) / spent["percentile"]
    print(f"evalframe is {ratio:.0f} times as fast as scipy (percentile intervals and tests)")
    order = of_percentile.sort("a", "b", "metric")
    width = (order["high"] - order["low"]).to_numpy()
    low = found.confidence_interval.low[-differences.shape[1] :]
    apart = np.abs(order["low"].to_numpy() - low) / width
    print(f"lower ends differ by at most {apart.max():.3f} of an interval's width")
    p_apart = np.abs(order["p"].to_numpy() - tested.pvalue).max()
    print(f"p-values differ by at most {p_apart:.4f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
