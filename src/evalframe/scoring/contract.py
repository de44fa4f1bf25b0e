"""The contract of an evaluation: what counts, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from evalframe.errors import OptionError, one_of
from evalframe.frames import Duplicates
from evalframe.ranking.judged import Order, OrderSettings
from evalframe.ranking.ties import Ties

__all__ = ["Contract", "Queries", "Settings"]

Queries = Literal["judged", "positive", "both"]


@dataclass(frozen=True)
class Contract:
    """What counts, and how: recorded in every report.

    Attributes
    ----------
    rel
        The lowest grade that counts as relevant, None for any grade above 0. Metrics that state
        their own level keep it; metrics on grades (ndcg, dcg, err, rbp, …) have none.
    queries
        Whose values are averaged: every query of the qrels (`judged`; what the run lacks counts 0),
        those with a relevant document (`positive`), or those that the run has too (`both`).
    ties, score_dtype, judged_only, depth
        See `evalframe.ranking.Order`.
    duplicates
        See `evalframe.frames.Duplicates`.
    """

    rel: float | None = None
    queries: Queries = "judged"
    ties: Ties = "trec"
    score_dtype: Any = pl.Float64
    judged_only: bool = False
    depth: int | None = None
    duplicates: Duplicates = "error"

    def __post_init__(self) -> None:
        """Refuse what is not offered."""
        one_of("queries", self.queries, ("judged", "positive", "both"))
        is_number = isinstance(self.rel, int | float) and not isinstance(self.rel, bool)
        if self.rel is not None and not (is_number and math.isfinite(self.rel)):
            raise OptionError(f"rel must be a number or None, not {self.rel!r}")
        _ = self.order

    @property
    def order(self) -> Order:
        """How the run is put in order."""
        return Order(self.ties, self.score_dtype, self.judged_only, self.depth)

    def settings(self) -> dict[str, Any]:
        """The contract as the arguments of `evaluate` and `per_query`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_dict(self) -> dict[str, Any]:
        """The contract in plain values, as it is written beside results."""
        return self.settings() | {"score_dtype": str(self.score_dtype)}


class Settings(OrderSettings, total=False):
    """The keywords of `per_query` and `evaluate`: those of `Contract`."""

    rel: float | None
    queries: Queries
