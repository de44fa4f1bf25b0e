"""The bridge to Ragas: samples there, and its values back, beside the samples they belong to.

Ragas keeps neither ids nor extra columns, and names a row by its place alone. So what a conversion
leaves behind is told (`ConversionLossWarning`, `ragas_losses`), and values come back checked for
length and order. Ragas itself is imported when a function needs it, with its telemetry switched
off unless the environment variable `RAGAS_DO_NOT_TRACK` says otherwise; `to_ragas_dicts` and
`ragas_values` work without it.
"""

from __future__ import annotations

import copy
import importlib
import math
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalframe import frames, hits, inputs
from evalframe.columns import SAMPLES
from evalframe.errors import (
    ColumnError,
    EmptyError,
    MetricError,
    MissingExtraError,
    RowError,
    first_rows,
)

__all__ = [
    "ConversionLossWarning",
    "as_ragas_dataset",
    "from_ragas_dataset",
    "ragas_losses",
    "ragas_values",
    "to_ragas_dicts",
    "with_unique_names",
]

TEXTS = ("user_input", "response", "reference", "persona_name", "query_style", "query_length")
LISTS = (
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
)
MAPPINGS = ("rubrics",)
FIELDS = (*TEXTS, *LISTS, *MAPPINGS)
"""The fields of Ragas' SingleTurnSample."""

IDS = ("retrieved_context_ids", "reference_context_ids")
PIN = "ragas 0.4.3 can only be imported beside langchain-community<0.4.2, which the extra pins"
LOSS_SCHEMA = {"column": pl.String(), "n_samples": pl.Int64(), "what": pl.String()}


class ConversionLossWarning(UserWarning):
    """Something the samples have has no place in Ragas."""
