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

from evalframe import metrics, plots
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
    read_dataset,
    read_ir_dataset,
    read_metadata,
    read_qrels,
    read_queries,
    read_run,
    read_samples,
    scan_corpus,
    scan_qrels,
    scan_queries,
    scan_run,
    scan_samples,
    write_beir,
    write_corpus,
    write_qrels,
    write_queries,
    write_run,
    write_samples,
)
from evalframe.ranking.judged import judge
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.report import Report, evaluate, side_by_side
from evalframe.samples import (
    ExplainedSample,
    TwoByTwo,
    explain_sample,
    passage_coverage,
    token_differences,
    two_by_two,
)
from evalframe.samples.report import RagReport
from evalframe.samples.scoring import evaluate_rag, per_sample
from evalframe.scoring import Contract, per_query
from evalframe.stored import read_report, write_parquet, write_report

__version__ = _version("evalframe")

__all__ = [
    "Comparison",
    "Contract",
    "EvalframeError",
    "ExplainedSample",
    "PreparedQrels",
    "RagReport",
    "Report",
    "TwoByTwo",
    "__version__",
    "assert_no_regression",
    "audit",
    "compare",
    "compare_frames",
    "evaluate",
    "evaluate_rag",
    "explain_difference",
    "explain_sample",
    "fuse",
    "judge",
    "metrics",
    "passage_coverage",
    "per_query",
    "per_sample",
    "plots",
    "prepare",
    "read_beir",
    "read_corpus",
    "read_dataset",
    "read_ir_dataset",
    "read_metadata",
    "read_qrels",
    "read_queries",
    "read_report",
    "read_run",
    "read_samples",
    "scan_corpus",
    "scan_qrels",
    "scan_queries",
    "scan_run",
    "scan_samples",
    "side_by_side",
    "tie_sensitivity",
    "token_differences",
    "tune",
    "two_by_two",
    "unjudged_bounds",
    "write_beir",
    "write_corpus",
    "write_parquet",
    "write_qrels",
    "write_queries",
    "write_report",
    "write_run",
    "write_samples",
]
