"""The command line: `evalframe evaluate QRELS RUN… -m ndcg@10`, and others.

Results go to standard output, everything else to standard error. Exit codes: 0 done; 1 a value is
below its floor (`--min`), above its ceiling (`--max`) or dropped (`--max-drop`), or `audit` found
warnings; 2 the call or its input cannot be used; 3 `audit` found errors.
"""

# Each module adds its command; this is the order in which help lists them.
# isort: off
from evalframe.cli.evaluating import evaluate
from evalframe.cli.answering import rag
from evalframe.cli.comparing import compare
from evalframe.cli.fusing import fuse
from evalframe.cli.auditing import audit
from evalframe.cli.converting import convert
from evalframe.cli.explaining import metrics

# isort: on
from evalframe.cli.program import app, main

__all__ = ["app", "audit", "compare", "convert", "evaluate", "fuse", "main", "metrics", "rag"]
