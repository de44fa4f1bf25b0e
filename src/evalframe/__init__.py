"""Evaluate retrieval and RAG in dataframes."""

from evalframe import metrics
from evalframe.errors import EvalframeError
from evalframe.prepared import PreparedQrels, prepare
from evalframe.ranking import judge
from evalframe.report import Report, evaluate
from evalframe.scoring import Contract, per_query

__all__ = [
    "Contract",
    "EvalframeError",
    "PreparedQrels",
    "Report",
    "evaluate",
    "judge",
    "metrics",
    "per_query",
    "prepare",
]
