"""The collection in `data/`: whole, consistent, and with trec_eval's numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evalframe as evf

SYSTEMS = ["bm25", "minilm", "tfidf"]


def test_both_forms_of_everything_hold_the_same(handbook: Path) -> None:
    qrels = evf.read_qrels(handbook / "qrels.parquet").sort("query_id", "doc_id")
    for form in ("qrels/test.tsv", "qrels/test.trec"):
        assert evf.read_qrels(handbook / form).sort("query_id", "doc_id").equals(qrels)
    for system in SYSTEMS:
        run = evf.read_run(handbook / f"runs/{system}.parquet")
        assert evf.read_run(handbook / f"runs/{system}.trec").drop("rank", strict=False).equals(run)
    dataset = evf.read_beir(handbook)
    assert dataset.corpus.height >= 80
    assert dataset.queries.height >= 50


def test_the_top_ten_of_every_run_is_judged(handbook: Path) -> None:
    for system in SYSTEMS:
        report = evf.evaluate(
            handbook / "qrels.parquet", handbook / f"runs/{system}.parquet", ["judged@10"]
        )
        assert report.per_query["judged@10"].min() == 1.0
        assert report.counts.select("missing", "extra").row(0) == (0, 0)


def test_grades_are_0_to_3_and_every_id_exists(handbook: Path) -> None:
    qrels = evf.read_qrels(handbook / "qrels.parquet")
    assert set(qrels["relevance"].unique()) == {0, 1, 2, 3}
    corpus = evf.read_corpus(handbook / "corpus.parquet")
    queries = evf.read_queries(handbook / "queries.parquet")
    assert qrels.join(corpus, on="doc_id", how="anti").height == 0
    assert qrels.join(queries, on="query_id", how="anti").height == 0


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_runs_have_trec_evals_numbers(handbook: Path, system: str) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = evf.read_qrels(handbook / "qrels.parquet")
    run = evf.read_run(handbook / f"runs/{system}.parquet")
    measures = ["map", "ndcg_cut_10", "recall_50", "P_5", "bpref", "Rprec", "recip_rank", "infAP"]
    tool = pytrec_eval.RelevanceEvaluator(
        nested(qrels, "relevance"), {"ndcg_cut.10", "recall.50", "P.5", *measures}
    )
    expected = tool.evaluate(nested(run, "score"))
    frame = evf.per_query(qrels, run, measures, score_dtype=pl.Float32)
    for row in frame.to_dicts():
        for measure in measures:
            assert row[measure] == pytest.approx(expected[row["query_id"]][measure], abs=1e-12)


def nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for query, doc, number in frame.select("query_id", "doc_id", value).iter_rows():
        table.setdefault(query, {})[doc] = number
    return table
