"""RAG samples: checked, scored one value per sample and metric, and reported with coverage."""

from evalframe.samples.report import RagReport
from evalframe.samples.scoring import DEFAULT_METRICS, RAG_METRICS, evaluate_rag, per_sample

__all__ = ["DEFAULT_METRICS", "RAG_METRICS", "RagReport", "evaluate_rag", "per_sample"]
