"""RAG samples: scored one by one, reported with coverage, and looked at closely."""

from evalframe.samples.covering import passage_coverage
from evalframe.samples.crossing import TwoByTwo, two_by_two
from evalframe.samples.differing import token_differences
from evalframe.samples.explaining import ExplainedSample, explain_sample
from evalframe.samples.report import RagReport
from evalframe.samples.scoring import DEFAULT_METRICS, RAG_METRICS, evaluate_rag, per_sample

__all__ = [
    "DEFAULT_METRICS",
    "RAG_METRICS",
    "ExplainedSample",
    "RagReport",
    "TwoByTwo",
    "evaluate_rag",
    "explain_sample",
    "passage_coverage",
    "per_sample",
    "token_differences",
    "two_by_two",
]
