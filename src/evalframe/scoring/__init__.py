"""Scoring: every metric of every query, in one plan."""

from evalframe.scoring.asked import DEFAULT_METRICS, Asked, MetricLike, listed
from evalframe.scoring.contract import Contract, Queries
from evalframe.scoring.refusals import refuse_swapped
from evalframe.scoring.scored import Scored
from evalframe.scoring.scoring import make_ready, per_query, score

__all__ = [
    "DEFAULT_METRICS",
    "Asked",
    "Contract",
    "MetricLike",
    "Queries",
    "Scored",
    "listed",
    "make_ready",
    "per_query",
    "refuse_swapped",
    "score",
]
