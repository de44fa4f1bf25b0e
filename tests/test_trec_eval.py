"""What trec_eval 9.0.8 and 10.0 print, per query and over all, on real runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest

import evalframe as evf

QRELS = {
    "trec_eval.test": "trec_eval/qrels.test",
    "trec_eval.rel_level": "trec_eval/qrels.rel_level",
    "trec_eval.302": "trec_eval/qrels-302.test",
    "cast2021": "treccast2021/trec-cast-qrels-docs.2021.qrel.gz",
}
CASES = [
    ("cast2021", "org_convdr", "-c"),
    ("cast2021", "org_manual_ance", "-c"),
    ("cast2021", "org_manual_bm25", "-c"),
    ("trec_eval.302", "results-302.test", "-c"),
    ("trec_eval.rel_level", "results.test", "-c"),
    ("trec_eval.rel_level", "results.test", "-c -l2"),
    ("trec_eval.test", "results.test", "-c"),
    ("trec_eval.test", "results.test", "-c -J"),
    ("trec_eval.test", "results.trunc", "-c"),
    ("trec_eval.test", "results.trunc", "-c -M100"),
]
FLAGS = {"-l2": {"rel": 2}, "-J": {"judged_only": True}, "-M100": {"depth": 100}}

# With -c and -l2, trec_eval counts every grade above 0 as relevant in the sum of num_rel, although
# it counts grades from 2 in each query's.
KNOWN_DIFFERENCES = {("trec_eval.rel_level", "-c -l2", "all", "num_rel")}


@cache
def expected_values(folder: Path, version: str) -> pl.DataFrame:
    file = folder / "expected" / f"trec_eval_{version}.tsv.gz"
    text = pl.read_csv(file, separator="\t", infer_schema=False, quote_char=None)
    return text.with_columns(pl.col("value").cast(pl.Float64))


def run_file(folder: Path, dataset: str, run: str) -> Path:
    if dataset == "cast2021":
        return folder / "treccast2021" / f"{run}.run.gz"
    return folder / "trec_eval" / run


def asked_as(measure: str, version: str) -> str:
    """trec_eval 9 rounds recall levels up."""
    if version == "9.0.8" and measure == "11pt_avg":
        return "iprec_mean(rounding=up)"
    if version == "9.0.8":
        return measure.replace("iprec_at_recall_", "iprec(rounding=up)@")
    return measure


@pytest.mark.parametrize("version", ["10.0", "9.0.8"])
@pytest.mark.parametrize(("dataset", "run", "flags"), CASES)
def test_every_value_is_what_trec_eval_prints(
    retrieval_data: Path, version: str, dataset: str, run: str, flags: str
) -> None:
    expected = expected_values(retrieval_data, version).filter(
        dataset=dataset, run=run, flags=flags
    )
    measures = expected["measure"].unique().sort().to_list()
    options = {key: value for flag in flags.split() for key, value in FLAGS.get(flag, {}).items()}
    report = evf.evaluate(
        retrieval_data / QRELS[dataset],
        run_file(retrieval_data, dataset, run),
        [asked_as(measure, version) for measure in measures],
        score_dtype=pl.Float64 if version == "10.0" else pl.Float32,
        **options,
    )
    rows = {row["query_id"]: row for row in report.per_query.to_dicts()} | {"all": report.metrics}
    compared = 0
    for _, _, _, _, query, measure, value in expected.iter_rows():
        if (dataset, flags, query, measure) in KNOWN_DIFFERENCES:
            continue
        got = rows[query][asked_as(measure, version)]
        assert got == pytest.approx(value, rel=1e-9, abs=1e-9), (query, measure)
        compared += 1
    assert compared >= 180


def test_the_cases_are_all_there_are(retrieval_data: Path) -> None:
    found = expected_values(retrieval_data, "10.0").select("dataset", "run", "flags").unique()
    assert sorted(found.rows()) == sorted(CASES)


def test_parameters_on_the_command_line_of_trec_eval(retrieval_data: Path) -> None:
    """The values that trec_eval prints, to four decimals, for measures with parameters."""
    printed = (retrieval_data / "trec_eval/out_v10.0/out.test.meas_params").read_text().split("\n")
    lines = [line.split() for line in printed if line.strip()]
    kept = [line for line in lines if not line[0].startswith("11pt_avg_")]
    report = evf.evaluate(
        retrieval_data / QRELS["trec_eval.test"],
        retrieval_data / "trec_eval/results.test",
        list(dict.fromkeys(measure for measure, _, _ in kept)),
    )
    rows = {row["query_id"]: row for row in report.per_query.to_dicts()} | {"all": report.metrics}
    for measure, query, value in kept:
        assert rows[query][measure] == pytest.approx(float(value), abs=5.1e-5), (query, measure)
