"""The same evaluation on Spark: Spark frames in, Spark frames out.

The qrels and the run meet in buckets of queries, and each bucket is scored by the code that scores
a local run, so that every value is the same to the last bit. It works on PySpark 4 and later, with
a JVM or through Spark Connect. The workers need evalframe and Polars in the same versions as the
caller (`pip install "evalframe[spark]"` there too).

>>> per_query(qrels, run, ["ndcg@10", "map"]).write.parquet("values")  # doctest: +SKIP
>>> print(evaluate(qrels, run, ["ndcg@10", "map"]))  # doctest: +SKIP
"""

from __future__ import annotations

from evalframe.spark.comparison import compare
from evalframe.spark.fusion import fuse
from evalframe.spark.report import SparkReport
from evalframe.spark.retrieval import evaluate, per_query
from evalframe.spark.samples import per_sample

__all__ = ["SparkReport", "compare", "evaluate", "fuse", "per_query", "per_sample"]
