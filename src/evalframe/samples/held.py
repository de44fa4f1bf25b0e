"""What a closer look begins with: the samples of a report, or samples as users have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalframe.columns import DTYPES, SAMPLES
from evalframe.engine import collect
from evalframe.errors import EmptyError, OptionError, one_of
from evalframe.samples.checks import checked_samples
from evalframe.samples.report import RagReport
from evalframe.text import PROFILES, Profile

__all__ = ["held_samples", "keys_of", "with_row"]


def held_samples(
    source: Any, profile: Profile | None, columns: Mapping[str, str] | None
) -> tuple[pl.DataFrame, Profile]:
    """The samples in memory, and the profile that says which words are the same.

    Parameters
    ----------
    source
        A `RagReport`, whose samples and profile these are, or samples in any shape that
        `per_sample` takes; lazy frames are read.
    profile
        What counts as the same words; None for that of the report, and `squad_v1` without one.
    columns
        The house's name → the data's own name.

    Raises
    ------
    EmptyError
        The report has no samples.
    OptionError
        A profile that is not known, or another than the report's.
    """
    if not isinstance(source, RagReport):
        chosen: Profile = "squad_v1" if profile is None else profile
        one_of("profile", chosen, PROFILES)
        samples = checked_samples(source, columns)
        return (collect(samples) if isinstance(samples, pl.LazyFrame) else samples), chosen
    if profile is not None and profile != source.profile:
        raise OptionError(
            f"profile={profile!r}: the report was made with {source.profile!r}; leave profile out, "
            "or give the samples themselves"
        )
    if source.per_sample.height == 0:
        raise EmptyError("the report holds no samples; give the samples themselves")
    return source.per_sample, source.profile


def keys_of(samples: pl.DataFrame) -> list[str]:
    """The columns that name a sample: `system`, if there is one, and `query_id`."""
    return [name for name in SAMPLES.key if name in samples.columns]


def with_row(samples: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """`row` (0, 1, …) and some of the house's columns, null where the samples have none."""
    return samples.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        *(
            pl.col(name)
            if name in samples.columns
            else pl.lit(None, DTYPES[SAMPLES.roles[name]]).alias(name)
            for name in columns
        ),
    )
