"""Spellings: what parses, to what, and what is said of the rest."""

from __future__ import annotations

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import MetricError, OptionError
from evalframe.metrics import CATALOGUE, parse

SAME = {
    "ndcg@10": ["nDCG@10", "ndcg_cut_10", "NDCG@10", "ndcg(k=10)", " ndcg@10 "],
    "ndcg(gain=exp)@10": ["ndcg_burges@10", "ndcg(gain='exp')@10", "NDCG( gain = exp )@10"],
    "ndcg(gain={1:3,2:9})": [
        "ndcg.1=3,2=9",
        "ndcg_1=3,2=9",
        "ndcg(gain={2:9,1:3})",
        "ndcg(gain={1=3, 2=9})",
    ],
    "precision@5": ["P_5", "P.5", "P@5", "precision(k=5)", "prec@5"],
    "recall(rel=2)@100": ["R(rel=2)@100", "recall@100-l2", "recall(rel=2,k=100)"],
    "mrr": ["RR", "recip_rank", "MRR", "reciprocal_rank"],
    "mrr@10": ["RR@10", "mrr(k=10)"],
    "map": ["AP", "average_precision"],
    "map@100": ["AP@100", "map_cut_100", "map_cut@100"],
    "success@1": ["hit_rate@1", "success_1", "Success@1"],
    "iprec@0.1": ["iprec_at_recall_0.10", "IPrec@0.1"],
    "iprec_mean": ["11pt_avg"],
    "rprec": ["Rprec", "r-precision", "R-prec"],
    "rprec_mult@0.2": ["Rprec_mult_0.20"],
    "relative_precision@5": ["relative_P_5", "recall_cap@5", "R_cap@5"],
    "rbp(p=0.95)": ["rbp.95", "RBP(p=0.95)"],
    "rbp(p=0.8,rel=1)": ["RBP(rel=1,p=0.8)"],
    "f@10": ["f1@10", "f(beta=1)@10", "f(beta=1.0)@10"],
    "unjudged@5": ["unj_5"],
    "judged@10": ["Judged@10"],
    "infap": ["infAP"],
    "set_f": ["set_F", "SetF"],
    "set_precision": ["set_P", "SetP"],
    "num_rel_ret@10": ["hits@10"],
    "num_q": ["NumQ"],
    "utility": ["utility_1,-1,0,0"],
}


@pytest.mark.parametrize(("canonical", "other"), [(c, o) for c, os in SAME.items() for o in os])
def test_other_tools_names_stand_for_the_same_metric(canonical: str, other: str) -> None:
    assert parse(other) == parse(canonical)
    assert str(parse(other)) == canonical


@pytest.mark.parametrize("definition", CATALOGUE.values(), ids=lambda d: d.name)
def test_a_spelling_and_its_metric_are_each_others_inverse(definition) -> None:
    metric = parse(definition.example)
    assert parse(str(metric)) == metric
    assert parse(metric) is metric


@pytest.mark.parametrize(
    "spelling",
    ["utility(weights='2,-1,-3,0')", "ndcg(gain={1:3,2:9,4:4.5})@10", "map(norm=min,rel=2)@3"],
)
def test_parameters_are_spelt_as_they_are_read(spelling: str) -> None:
    assert str(parse(spelling)) == spelling


def test_a_function_gives_the_expression_of_its_spelling() -> None:
    judged = evf.judge({"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}})
    values = judged.group_by("query_id").agg(
        evf.metrics.ndcg(k=10), evf.metrics.recall(1, rel=2), evf.metrics.ndcg(gain={1: 5})
    )
    assert values.columns == ["query_id", "ndcg@10", "recall(rel=2)@1", "ndcg(gain={1:5})"]
    assert values.row(0)[1:3] == (pytest.approx(0.859719, abs=1e-6), 0.0)


def test_values_are_keyed_by_the_spelling_that_was_asked_for() -> None:
    asked = ["P_5", "precision@5", "nDCG@3", "map@100-l2"]
    report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, asked)
    assert list(report.metrics) == asked
    assert report.per_query.columns == ["query_id", *asked]


WRONG = {
    "ndgc@10": r"unknown metric 'ndgc@10': did you mean 'ndcg@10'\?",
    "recal@5": r"unknown metric 'recal@5': did you mean 'recall@5'\?",
    "zzz": r"unknown metric 'zzz'; evalframe.metrics.CATALOGUE lists all",
    "ndcg@0": r"a cut-off must be a whole number of at least 1, not 0 \(in 'ndcg@0'\)",
    "ndcg@1.5": "a cut-off must be a whole number",
    "precision": r"needs a cut-off, for example 'precision@10'",
    "P_0": "a cut-off must be",
    "P@99999999999999999999": "a cut-off must be",
    "ndcg_cut.5,10": "a cut-off must be a whole number of at least 1, not '5,10'",
    "recall(rel=nan)@5": "rel must be a number",
    "ndcg(gain={1:nan})@5": "the gain of grade 1 must be a finite number",
    "err(max_grade=inf)@5": "max_grade must be a number",
    "bpref@10": "'bpref' has no cut-off, but 'bpref@10' gives one",
    "ndcg(p=3)@10": "'ndcg' has no parameter 'p'; it has k, gain, rel",
    "ndcg(gain=log)@10": "gain must be 'linear', 'exp' or grade:gain pairs",
    "ndcg(gain=)@10": "cannot read the parameters of",
    "ndcg(k=5)@10": "gives the parameter 'k' twice",
    "rbp(p=1)": "p must lie between 0 and 1",
    "rbp(p=2)": "p must be a number between 0 and 1",
    "iprec@1.5": "recall must be a number between 0 and 1",
    "map(norm=x)@3": "norm of map is 'R' or 'min'",
    "recall(rel=high)@3": "rel must be a number",
    "utility(weights='1,2')": "utility takes four weights",
    "": "cannot read the metric ''",
    "ndcg@10@20": "cannot read the metric",
}


@pytest.mark.parametrize(("spelling", "message"), WRONG.items(), ids=WRONG)
def test_what_cannot_be_read_is_said_with_what_could(spelling: str, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        parse(spelling)


def test_a_metric_of_ones_own_is_asked_for_like_the_others() -> None:
    @evf.metrics.metric(aliases=("first_{k}",))
    def is_first(k: int = 1) -> pl.Expr:
        """Whether a relevant document stands within the first places."""
        return ((pl.col("relevance") > 0) & (pl.col("rank") <= k)).any()

    run = {"q": {"x": 2.0, "a": 1.0}}
    report = evf.evaluate({"q": {"a": 1}}, run, ["is_first", "first_2", is_first(k=2)])
    assert report.metrics == {"is_first": 0.0, "first_2": 1.0, "is_first@2": 1.0}
    with pytest.raises(MetricError, match="'ndcg' already stands for the metric 'ndcg'"):

        @evf.metrics.metric(aliases=("ndcg",))
        def another() -> pl.Expr:
            """Whatever."""
            return pl.lit(1.0)


def test_an_expression_of_ones_own_is_a_metric() -> None:
    found = pl.col("rank").is_not_null().sum().alias("found")
    report = evf.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0}}, ["mrr", found])
    assert report.metrics == {"mrr": 1.0, "found": 1.0}


@pytest.mark.parametrize("wrong", [{"summary": "median"}, {"better": "faster"}])
def test_a_registration_that_means_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="is not offered"):

        @evf.metrics.metric(**wrong)
        def nothing() -> pl.Expr:
            """Nothing."""
            return pl.lit(1.0)


def test_a_cutoff_may_be_any_integer_type() -> None:
    import numpy as np

    assert evf.metrics.ndcg(k=np.int64(10)).meta.output_name() == "ndcg@10"
