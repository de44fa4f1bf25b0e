"""The catalogue of ranking metrics, each a function that returns a Polars expression.

A metric is asked for by its spelling (`evaluate(qrels, run, ["ndcg@10"])`) or used as an expression
over the judged frame:

>>> import evalframe as evf
>>> judged = evf.judge({"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}})
>>> judged.group_by("query_id").agg(evf.metrics.mrr(), evf.metrics.recall(k=1)).row(0)
('q', 1.0, 0.5)
"""

from evalframe.metrics.catalogue import CATALOGUE, Definition, Metric, metric
from evalframe.metrics.pools import (
    bpref,
    gm_bpref,
    infap,
    judged,
    num_nonrel_judged_ret,
    rbp_resid,
    unjudged,
)
from evalframe.metrics.ranked import (
    G,
    binG,
    dcg,
    err,
    gm_map,
    iprec,
    iprec_mean,
    map,
    mrr,
    ndcg,
    ndcg_rel,
    rbp,
    rndcg,
)
from evalframe.metrics.sets import (
    f,
    num_q,
    num_rel,
    num_rel_ret,
    num_ret,
    precision,
    recall,
    relative_precision,
    rprec,
    rprec_mult,
    set_f,
    set_map,
    set_precision,
    set_recall,
    set_relative_precision,
    success,
    utility,
)
from evalframe.metrics.spelling import parse

__all__ = [
    "CATALOGUE",
    "Definition",
    "G",
    "Metric",
    "binG",
    "bpref",
    "dcg",
    "err",
    "f",
    "gm_bpref",
    "gm_map",
    "infap",
    "iprec",
    "iprec_mean",
    "judged",
    "map",
    "metric",
    "mrr",
    "ndcg",
    "ndcg_rel",
    "num_nonrel_judged_ret",
    "num_q",
    "num_rel",
    "num_rel_ret",
    "num_ret",
    "parse",
    "precision",
    "rbp",
    "rbp_resid",
    "recall",
    "relative_precision",
    "rndcg",
    "rprec",
    "rprec_mult",
    "set_f",
    "set_map",
    "set_precision",
    "set_recall",
    "set_relative_precision",
    "success",
    "unjudged",
    "utility",
]
