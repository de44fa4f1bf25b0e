"""Evaluate retrieval and RAG in dataframes.

Qrels, runs and RAG samples are Polars frames, metrics are expressions grouped by query, and results
are frames again.

>>> import evalframe as evf
>>> qrels = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
>>> run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 3.0}}
>>> evf.evaluate(qrels, run, ["mrr", "recall@10"]).metrics
{'mrr': 0.75, 'recall@10': 0.75}
"""

from importlib.metadata import version as _version

from evalframe import metrics
from evalframe.auditing import audit
from evalframe.comparing import (
    Comparison,
    assert_no_regression,
    compare,
    compare_frames,
    explain_difference,
    tie_sensitivity,
    unjudged_bounds,
)
from evalframe.errors import EvalframeError
from evalframe.fusion import fuse, tune
from evalframe.io import (
    read_beir,
    read_corpus,
    read_qrels,
    read_queries,
    read_run,
    read_samples,
    scan_qrels,
    scan_run,
    write_beir,
    write_qrels,
    write_run,
)
from evalframe.ranking.judged import judge
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.report import Report, evaluate
from evalframe.samples.report import RagReport
from evalframe.samples.scoring import evaluate_rag, per_sample
from evalframe.scoring import Contract, per_query
from evalframe.stored import read_report, write_parquet, write_report

__version__ = _version("evalframe")

__all__ = [
    "Comparison",
    "Contract",
    "EvalframeError",
    "PreparedQrels",
    "RagReport",
    "Report",
    "__version__",
    "assert_no_regression",
    "audit",
    "compare",
    "compare_frames",
    "evaluate",
    "evaluate_rag",
    "explain_difference",
    "fuse",
    "judge",
    "metrics",
    "per_query",
    "per_sample",
    "prepare",
    "read_beir",
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_report",
    "read_run",
    "read_samples",
    "scan_qrels",
    "scan_run",
    "tie_sensitivity",
    "tune",
    "unjudged_bounds",
    "write_beir",
    "write_parquet",
    "write_qrels",
    "write_report",
    "write_run",
]
