"""The door for samples that are to be scored: checked, and each with an id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.io.any_samples import samples_from_any

__all__ = ["checked_samples"]


def checked_samples(
    data: Any, columns: Mapping[str, str] | None = None, *, check_plans: bool = True
) -> pl.DataFrame | pl.LazyFrame:
    """Samples in any accepted shape as a checked frame with a `query_id`.

    Where the data has no `query_id`, each sample gets the number of its row, from `"0"`. See
    `evalframe.io.any_samples.samples_from_any` for the rest.

    Examples
    --------
    >>> checked_samples([{"answer": "4"}]).rows()
    [('0', '4')]
    """
    frame = samples_from_any(data, columns, check_plans=check_plans)
    if "query_id" in frame.lazy().collect_schema():
        return frame
    return frame.with_row_index("query_id").with_columns(pl.col("query_id").cast(pl.String))
