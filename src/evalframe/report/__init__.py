"""The report of an evaluation: means, values by query, and the way back to the documents."""

from evalframe.report.evaluating import evaluate
from evalframe.report.moving import side_by_side
from evalframe.report.one_query import QueryReport
from evalframe.report.report import Report

__all__ = ["QueryReport", "Report", "evaluate", "side_by_side"]
