"""Values of several systems side by side, aligned by key, and every pair of them tested."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evalframe.errors import RowError, first_rows
from evalframe.statistics import Procedure
from evalframe.statistics.closed_tests import OF_PAIRS, intervals_of, p_values_of
from evalframe.statistics.contrasts import ROUNDING, differences_of
from evalframe.statistics.corrections import correct
from evalframe.statistics.tukey import TUKEY_NAMES, tukey_p

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Aligned", "align", "contrasted", "difference_of", "pairs_of"]


@dataclass(frozen=True)
class Aligned:
    """The values of all systems, one row for each key.

    Attributes
    ----------
    keys
        The key columns, sorted: every key that any system has.
    frames
        The values of each system as they came: key columns and metrics.
    values
        keys × (systems × metrics), metrics within systems; NaN where there is no value.
    """

    keys: pl.DataFrame
    frames: Mapping[str, pl.DataFrame]
    metrics: list[str]
    values: NDArray[np.float64]

    @property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(self.frames)

    @property
    def labels(self) -> pl.Series:
        """Each key as one string."""
        return self.keys.select(pl.concat_str(pl.all(), separator=", ")).to_series()

    def column(self, system: str, metric: str) -> int:
        """The column of `values` that holds a system's metric."""
        return self.systems.index(system) * len(self.metrics) + self.metrics.index(metric)

    def long(self) -> pl.DataFrame:
        """`system`, the key columns, `metric` and `value`."""
        parts = [
            frame.unpivot(self.metrics, index=self.keys.columns, variable_name="metric").select(
                pl.lit(name).alias("system"), pl.all()
            )
            for name, frame in self.frames.items()
        ]
        return pl.concat(parts)

    def wide(self) -> pl.DataFrame:
        """The key columns, `metric`, and a column for each system; null where it has no value."""
        columns = {s: self.systems.index(s) * len(self.metrics) for s in self.systems}
        parts = [
            self.keys.with_columns(
                pl.lit(metric).alias("metric"),
                *(
                    pl.Series(system, self.values[:, start + m]).fill_nan(None)
                    for system, start in columns.items()
                ),
            )
            for m, metric in enumerate(self.metrics)
        ]
        return pl.concat(parts)


def align(frames: Mapping[str, pl.DataFrame], key: Sequence[str], metrics: list[str]) -> Aligned:
    """Put the values of several systems side by side; a key that is twice in a frame is refused."""
    import numpy as np

    ordered: dict[str, pl.DataFrame] = {}
    for name, frame in frames.items():
        again = frame.filter(pl.struct(key).is_duplicated())
        if again.height:
            raise RowError(
                f"{again.height} rows of {name!r} share their key ({', '.join(key)}) with another "
                "row. Name every column of the key with key=, or keep one system. First rows:\n"
                + first_rows(again.select(key).sort(key))
            )
        finite = [pl.col(m).cast(pl.Float64).fill_nan(None) for m in metrics]
        ordered[name] = frame.select(*key, *finite).sort(key)
        _refuse_infinite(ordered[name], name, metrics)
    keys = pl.concat([frame.select(key) for frame in ordered.values()]).unique().sort(key)
    aligned = [
        keys.join(frame, on=key, how="left", maintain_order="left").select(metrics)
        for frame in ordered.values()
    ]
    values = np.column_stack(
        [column.to_numpy() for frame in aligned for column in frame.fill_null(np.nan)]
    )
    return Aligned(keys, ordered, metrics, values)


def difference_of(a: str, b: str) -> pl.Expr:
    """Column a minus column b; 0 where they are the same but for rounding."""
    ours, theirs = pl.col(a), pl.col(b)
    size = pl.max_horizontal(ours.abs(), theirs.abs())
    difference = ours - theirs
    return pl.when(difference.abs() <= ROUNDING * size).then(0.0).otherwise(difference)


def pairs_of(systems: Sequence[str], baselines: Collection[str]) -> list[tuple[str, str]]:
    """Every pair of systems, or every system against each baseline, which stands second."""
    if not baselines:
        return list(itertools.combinations(systems, 2))
    rest = [name for name in systems if name not in baselines]
    against = [(name, baseline) for name in rest for baseline in baselines]
    return [*against, *itertools.combinations(baselines, 2)]


def contrasted(
    aligned: Aligned,
    pairs: Sequence[tuple[str, str]],
    procedure: Procedure,
    lower_is_better: Collection[str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The two frames of a comparison: `summary` and `pairs` (see `evalframe.Comparison`)."""
    import numpy as np

    wanted = [(a, b, metric) for metric in aligned.metrics for a, b in pairs]
    n_means = aligned.values.shape[1]
    left = [*range(n_means), *(aligned.column(a, m) for a, _, m in wanted)]
    right = [-1] * n_means + [aligned.column(b, m) for _, b, m in wanted]
    contrasts = np.array(left), np.array(right)
    low, high = np.full(len(left), np.nan), np.full(len(left), np.nan)
    for rows, part in _by_rows(aligned.values, *contrasts):
        if len(rows):
            low[part], high[part] = intervals_of(
                *_columns(aligned.values[rows], *(side[part] for side in contrasts)),
                method=procedure.interval,
                confidence=procedure.confidence,
                resamples=procedure.resamples,
                seed=procedure.seed,
            )
    summary = _summary(aligned, low[:n_means], high[:n_means], procedure)
    of_pairs = contrasts[0][n_means:], contrasts[1][n_means:]
    frame = _described(aligned, wanted, *of_pairs, lower_is_better).with_columns(
        pl.Series("low", low[n_means:]).fill_nan(None),
        pl.Series("high", high[n_means:]).fill_nan(None),
        *(
            _p_of_pairs(aligned, *of_pairs, procedure)
            if procedure.test in OF_PAIRS
            else _p_of_all_systems(aligned, wanted, procedure)
        ),
    )
    return summary, _with_procedure(frame, procedure)


def _by_rows(
    values: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Contrasts whose two sides have values on the same rows: those rows, and the contrasts."""
    import numpy as np

    there = np.isfinite(values)
    if there.all():
        yield np.arange(len(values)), np.arange(len(left))
        return
    both = there[:, left] & (there[:, right] | (right < 0))
    groups: dict[bytes, list[int]] = {}
    for number in range(len(left)):
        groups.setdefault(np.packbits(both[:, number]).tobytes(), []).append(number)
    for members in groups.values():
        yield np.flatnonzero(both[:, members[0]]), np.array(members)


def _columns(
    values: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """The columns that are asked for alone, and where the contrasts find them now."""
    import numpy as np

    used = np.unique(np.concatenate([left, right[right >= 0]]))
    moved = np.where(right < 0, -1, np.searchsorted(used, right))
    return values[:, used], np.searchsorted(used, left), moved


def _summary(
    aligned: Aligned,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    procedure: Procedure,
) -> pl.DataFrame:
    rows = [
        {
            "system": system,
            "metric": metric,
            "mean": frame[metric].mean(),
            "sd": frame[metric].std() if frame[metric].count() > 1 else 0.0,
            "n": frame[metric].count(),
        }
        for system, frame in aligned.frames.items()
        for metric in aligned.metrics
    ]
    schema = dict.fromkeys(("system", "metric"), pl.String()) | {
        "mean": pl.Float64(),
        "sd": pl.Float64(),
        "n": pl.Int64(),
    }
    drawn = procedure.interval != "t"
    return pl.DataFrame(rows, schema=schema).select(
        "system",
        "metric",
        "mean",
        pl.Series("low", low).fill_nan(None),
        pl.Series("high", high).fill_nan(None),
        "n",
        "sd",
        pl.lit(procedure.interval).alias("interval"),
        pl.lit(procedure.confidence).alias("confidence"),
        pl.lit(procedure.resamples if drawn else None, dtype=pl.Int64).alias("resamples"),
        pl.lit(procedure.seed if drawn else None, dtype=pl.Int64).alias("seed"),
    )


def _described(
    aligned: Aligned,
    wanted: Sequence[tuple[str, str, str]],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    lower_is_better: Collection[str],
) -> pl.DataFrame:
    """What is seen of each pair without any test."""
    import numpy as np

    there = np.isfinite(aligned.values)
    labels = aligned.labels
    rows = []
    for (a, b, metric), i, j in zip(wanted, left, right, strict=True):
        both = there[:, i] & there[:, j]
        dropped = np.flatnonzero(there[:, i] ^ there[:, j])
        ours, theirs = aligned.values[both, i], aligned.values[both, j]
        sides = np.column_stack([ours, theirs])
        difference = differences_of(sides, np.array([0]), np.array([1]))[:, 0]
        gain = -difference if metric in lower_is_better else difference
        n = len(difference)
        rows.append(
            (
                *(a, b, metric),
                *(_mean(ours), _mean(theirs), _mean(difference)),
                *_spread(difference),
                *(int(found.sum()) for found in (gain > 0, gain == 0, gain < 0)),
                *(n, len(dropped), labels.gather(dropped).to_list()),
            )
        )
    schema: dict[str, pl.DataType] = {
        **dict.fromkeys(("a", "b", "metric"), pl.String()),
        **dict.fromkeys(("mean_a", "mean_b", "difference", "sd", "effect_size"), pl.Float64()),
        **dict.fromkeys(("wins", "ties", "losses", "n", "n_dropped"), pl.Int64()),
        "dropped": pl.List(pl.String()),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(pl.Series(values).mean()) if len(values) else None  # type: ignore[arg-type]


def _spread(difference: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Standard deviation, and the mean in its units: 0 or nothing where the deviation is 0."""
    if len(difference) == 0:
        return None, None
    sd = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
    mean = float(difference.mean())
    if sd <= ROUNDING * float(abs(difference).max()):
        return 0.0, 0.0 if mean == 0 else None
    return sd, mean / sd


def _p_of_pairs(
    aligned: Aligned, left: NDArray[np.intp], right: NDArray[np.intp], procedure: Procedure
) -> list[pl.Series]:
    import numpy as np

    p = np.full(len(left), np.nan)
    methods: list[str | None] = [None] * len(left)
    drawn: list[int | None] = [None] * len(left)
    for rows, part in _by_rows(aligned.values, left, right):
        if not len(rows):
            continue
        p[part], how, resamples = p_values_of(
            *_columns(aligned.values[rows], left[part], right[part]),
            test=procedure.test,
            resamples=procedure.resamples,
            seed=procedure.seed,
        )
        for place, method, number in zip(part, how, resamples, strict=True):
            methods[place], drawn[place] = method, number
    return _p_columns(p, methods, drawn)


def _p_of_all_systems(
    aligned: Aligned, wanted: Sequence[tuple[str, str, str]], procedure: Procedure
) -> list[pl.Series]:
    """Tukey's tests look at the queries that every system has a value on."""
    import numpy as np

    n_systems, n_metrics = len(aligned.systems), len(aligned.metrics)
    blocks = aligned.values.reshape(-1, n_systems, n_metrics)
    whole: NDArray[np.bool_] = np.isfinite(blocks).min(axis=1)
    found: dict[str, NDArray[np.float64]] = {}
    for m, metric in enumerate(aligned.metrics):
        block = blocks[np.flatnonzero(whole[:, m])][:, :, m : m + 1]
        if len(block):
            found[metric] = tukey_p(
                block, procedure.test, resamples=procedure.resamples, seed=procedure.seed
            )[:, :, 0]
    number = {system: i for i, system in enumerate(aligned.systems)}
    p = np.array(
        [found[m][number[a], number[b]] if m in found else np.nan for a, b, m in wanted],
        dtype=np.float64,
    )
    drawn = procedure.resamples if procedure.test == "randomised_tukey" else None
    return _p_columns(p, [TUKEY_NAMES[procedure.test]] * len(p), [drawn] * len(p))


def _p_columns(
    p: NDArray[np.float64], methods: Iterable[str | None], drawn: Iterable[int | None]
) -> list[pl.Series]:
    return [
        pl.Series("p", p).fill_nan(None),
        pl.Series("test", list(methods), dtype=pl.String),
        pl.Series("test_resamples", list(drawn), dtype=pl.Int64),
    ]


def _with_procedure(frame: pl.DataFrame, procedure: Procedure) -> pl.DataFrame:
    """Correct the p-values, and write beside each row how it came about."""
    of_pairs = procedure.test in OF_PAIRS
    by = {"all": [], "metric": ["metric"], "pair": ["a", "b"]}[procedure.family]
    corrected = pl.Series("p_corrected", [None] * frame.height, dtype=pl.Float64)
    families = frame.with_row_index("row").partition_by(by) if by else [frame.with_row_index("row")]
    for family in families:
        values = correct(family["p"].to_list(), procedure.correction) if of_pairs else family["p"]
        if family.height:
            corrected = corrected.scatter(family["row"], pl.Series(values, dtype=pl.Float64))
    drawn = procedure.interval != "t"
    return frame.with_columns(
        corrected.alias("p_corrected"),
        pl.lit(procedure.correction if of_pairs else "Tukey HSD").alias("correction"),
        pl.lit(procedure.family if of_pairs else "metric").alias("family"),
        pl.lit(procedure.interval).alias("interval"),
        pl.lit(procedure.resamples if drawn else None, dtype=pl.Int64).alias("interval_resamples"),
        pl.lit(procedure.confidence).alias("confidence"),
        pl.lit(procedure.seed, dtype=pl.Int64).alias("seed"),
    ).select(
        *("a", "b", "metric", "mean_a", "mean_b", "difference", "low", "high"),
        *("effect_size", "sd", "wins", "ties", "losses", "p", "p_corrected"),
        (pl.col("p_corrected") < procedure.alpha).alias("significant"),
        *("n", "n_dropped", "dropped", "test", "test_resamples", "correction", "family"),
        *("interval", "interval_resamples", "confidence", "seed"),
    )


def _refuse_infinite(frame: pl.DataFrame, name: str, metrics: list[str]) -> None:
    wrong = frame.filter(pl.any_horizontal(pl.col(m).is_infinite() for m in metrics))
    if wrong.height:
        raise RowError(
            f"{wrong.height} rows of {name!r} hold infinite values. First rows:\n"
            + first_rows(wrong)
        )
