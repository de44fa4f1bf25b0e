"""RAG metrics one list or one row at a time, for any pipeline: see `evalframe.rag.metrics`."""

from __future__ import annotations

from evalframe.rag import metrics

__all__ = ["metrics"]
