"""Frames of values that users hand over: their keys looked for, their metrics chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import (
    ColumnError,
    EmptyError,
    FrameError,
    MetricError,
    OptionError,
    did_you_mean,
)
from evalframe.frames import is_tabular, to_polars
from evalframe.metrics import parse

__all__ = [
    "keys_of",
    "lower_is_better_of",
    "metrics_in_common",
    "metrics_of",
    "values_of",
    "with_lower_is_better",
    "with_string_ids",
]

OF_LONG_FRAMES = ("system", "metric", "value")


def keys_of(key: str | Sequence[str]) -> list[str]:
    """The names of the key columns, none of which a comparison's own frames need."""
    keys = [key] if isinstance(key, str) else list(key)
    for name in keys:
        if name in OF_LONG_FRAMES:
            raise OptionError(
                f"key={name!r}: a comparison has a column of its own of that name; rename the key"
            )
    if not keys:
        raise OptionError("key names no column")
    return keys


def values_of(data: Any, keys: Sequence[str], name: str) -> pl.DataFrame:
    """The frame of values that a report or a frame holds, with its key columns looked for.

    Of a report these are its keys and its own metrics, and no other number that stands beside.
    """
    for attribute, metrics in (("per_query", "how"), ("per_sample", "metrics")):
        held, own = getattr(data, attribute, None), getattr(data, metrics, None)
        if isinstance(held, pl.DataFrame):
            kept = [c for c in held.columns if c in keys or own is None or c in own]
            data = held.select(kept).with_columns(pl.col(pl.Null).cast(pl.Float64))
            break
    if not is_tabular(data) and type(data).__module__.partition(".")[0] != "pandas":
        raise FrameError(
            f"{name!r} must be a frame with a row for each query, or a report, "
            f"not {type(data).__name__}"
        )
    frame = to_polars(data)
    table = collect(frame) if isinstance(frame, pl.LazyFrame) else frame
    for key in keys:
        if key not in table.columns:
            raise ColumnError(
                f"{name!r} has no column {key!r}{did_you_mean(key, table.columns)}; it has "
                f"{', '.join(table.columns)}. Name the key with key="
            )
        if table.schema[key].is_nested():
            raise ColumnError(f"the key {key!r} of {name!r} is {table.schema[key]}, no id")
    if table.height == 0:
        raise EmptyError(f"{name!r} has no rows")
    if table.select(pl.any_horizontal(pl.col(keys).is_null().any())).item():
        raise ColumnError(f"the key of {name!r} ({', '.join(keys)}) holds nulls")
    return table


def metrics_of(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Every column of numbers but the key."""
    return [c for c in frame.columns if c not in keys and _is_value(frame.schema[c])]


def metrics_in_common(
    frames: Mapping[str, pl.DataFrame],
    keys: Sequence[str],
    metrics: str | Iterable[str] | None,
) -> list[str]:
    """The metrics asked for, which every frame must have; all that the frames share without."""
    if metrics is None:
        first, *others = [metrics_of(frame, keys) for frame in frames.values()]
        found = [c for c in first if all(c in other for other in others)]
        if not found:
            raise MetricError("the frames have no column of numbers in common but their key")
        return found
    asked = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    for name, frame in frames.items():
        for metric in asked:
            if metric not in frame.columns or metric in keys:
                raise MetricError(
                    f"{name!r} has no metric {metric!r}{did_you_mean(str(metric), frame.columns)}"
                )
            if not _is_value(frame.schema[metric]):
                raise MetricError(f"{metric!r} of {name!r} is {frame.schema[metric]}, no number")
    if not asked:
        raise MetricError("no metric was asked for")
    return asked


def lower_is_better_of(metrics: Iterable[str]) -> list[str]:
    """Those of the names that the catalogue knows as metrics of which less is better."""
    return [name for name in metrics if _better(name) == "lower"]


def with_lower_is_better(named: str | Collection[str], metrics: Collection[str]) -> frozenset[str]:
    """The metrics of which less is better: those of the catalogue, and those named."""
    names = [named] if isinstance(named, str) else list(named)
    for name in names:
        if name not in metrics:
            raise MetricError(
                f"lower_is_better names {name!r}, which is not compared"
                f"{did_you_mean(str(name), metrics)}"
            )
    return frozenset({*names, *lower_is_better_of(metrics)})


def with_string_ids(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Ids are Strings, so that 7 and "7" are the same query whichever file they came from."""
    return frame.with_columns(pl.col(keys).cast(pl.String))


def _better(name: str) -> str:
    try:
        return parse(name).definition.better
    except MetricError:
        return "higher"


def _is_value(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean
