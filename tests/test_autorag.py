"""The laws of AutoRAG's files: what is read is what was written, and losses are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalframe.errors import ColumnError, ReadError, RowError
from evalframe.io.autorag import read_autorag, write_autorag
from evalframe.samples.scoring import per_sample

RETRIEVALS = ("hybrid_retrieval", "lexical_retrieval", "semantic_retrieval")


@pytest.fixture
def autorag(rag_data: Path) -> Path:
    return rag_data / "autorag_en"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two questions: one with alternatives, one with a repeated document and no gold."""
    qa = pl.DataFrame(
        {
            "qid": ["q2", "q1"],
            "query": ["Who?", "What?"],
            "retrieval_gt": [[["d1", "d2"], ["d3"]], None],
            "generation_gt": [["Me", "I"], None],
        }
    )
    found = pl.DataFrame(
        {
            "retrieved_ids": [["d3", "d9"], ["d5", "d6", "d5"]],
            "retrieved_contents": [["three", "nine"], ["five", "six", "five"]],
            "retrieve_scores": [[2.0, 1.0], [3.0, 2.0, 1.0]],
        }
    )
    qa.write_parquet(tmp_path / "qa.parquet")
    found.write_parquet(tmp_path / "found.parquet")
    return tmp_path


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_real_files(autorag: Path, retrieval: str) -> None:
    """AutoRAG's own recall comes out, and its own precision where no document came twice."""
    read = read_autorag(
        autorag / "qa.parquet", autorag / f"{retrieval}.parquet", corpus=autorag / "corpus.parquet"
    )
    scored = per_sample(read.samples, ["id_context_recall", "id_context_precision"])
    assert scored["id_context_recall"].to_list() == scored["retrieval_recall"].to_list()
    ids = pl.col("retrieved_context_ids")
    once = scored.filter(ids.list.n_unique() == ids.list.len())
    assert once["id_context_precision"].to_list() == once["retrieval_precision"].to_list()
    assert read.samples["reference_contexts"].list.len().to_list() == [1] * 10
    assert read.qrels.height == 10
    assert read.run is not None
    assert not read.run.select("query_id", "doc_id").is_duplicated().any()
    repeats = scored.height - once.height
    assert read.losses["n_samples"].to_list() == ([repeats] if repeats else [])


def test_round_trip(autorag: Path, tmp_path: Path) -> None:
    """Written again, real questions and results are what they were, in value and in order."""
    retrieval, generated = autorag / "hybrid_retrieval.parquet", autorag / "generator.parquet"
    read = read_autorag(autorag / "qa.parquet", retrieval, generated)
    qa, results = tmp_path / "qa.parquet", tmp_path / "results.parquet"
    assert write_autorag(read.samples, qa, results=results).height == 0
    before = pl.read_parquet(autorag / "qa.parquet")
    assert pl.read_parquet(qa).select(before.columns).equals(before)
    for file in (retrieval, generated):
        table = pl.read_parquet(file)
        assert pl.read_parquet(results).select(table.columns).equals(table)
    again = read_autorag(qa, results).samples
    assert again.select(read.samples.columns).equals(read.samples)


def test_reading(folder: Path) -> None:
    """Groups become ids, rows become ids and ranks, nulls stay, and what is lost is told."""
    read = read_autorag(folder / "qa.parquet", folder / "found.parquet")
    assert read.samples["query_id"].to_list() == ["q2", "q1"]
    assert read.samples["reference_context_ids"].to_list() == [["d1", "d2", "d3"], None]
    assert read.samples["references"].to_list() == [["Me", "I"], None]
    assert read.qrels.rows() == [("q2", "d1", 1), ("q2", "d2", 1), ("q2", "d3", 1)]
    assert read.run is not None
    assert read.run.rows() == [
        *[("q2", "d3", 2.0, 1), ("q2", "d9", 1.0, 2)],
        *[("q1", "d5", 3.0, 1), ("q1", "d6", 2.0, 2)],
    ]
    assert read.losses.rows() == [
        ("retrieval_gt", 1, "qrels do not say which documents are alternatives"),
        ("retrieved_context_ids", 1, "the run has a repeated document once"),
    ]


def test_simple_gold(tmp_path: Path) -> None:
    """One id or one list of ids, one answer: groups of one, and a list of one."""
    for gold, ids in ((["d1"], ["d1"]), ([["d1", "d2"]], ["d1", "d2"])):
        qa = {"qid": ["q"], "query": ["?"], "retrieval_gt": gold, "generation_gt": ["yes"]}
        pl.DataFrame(qa).write_parquet(tmp_path / "qa.parquet")
        samples = read_autorag(tmp_path / "qa.parquet").samples
        assert samples["retrieval_gt"].to_list() == [[[one] for one in ids]]
        assert samples["reference_context_ids"].to_list() == [ids]
        assert samples["references"].to_list() == [["yes"]]


def test_writing_other_samples(tmp_path: Path) -> None:
    """Samples from elsewhere: each gold id is needed, both reference columns are answers."""
    samples = pl.DataFrame(
        {
            "query_id": ["q1", "q2"],
            "user_input": ["?", "!"],
            "reference": ["yes", None],
            "references": [["sure"], None],
            "reference_context_ids": [["d1", "d2"], None],
            "reference_contexts": [["one", "two"], None],
            "lang": ["en", "fr"],
        }
    )
    losses = write_autorag(samples, tmp_path / "qa.parquet")
    assert losses.select("column", "n_samples").rows() == [("lang", 2), ("reference_contexts", 1)]
    assert pl.read_parquet(tmp_path / "qa.parquet").to_dict(as_series=False) == {
        "qid": ["q1", "q2"],
        "query": ["?", "!"],
        "retrieval_gt": [[["d1"], ["d2"]], None],
        "generation_gt": [["sure", "yes"], None],
    }


def test_nothing_is_overwritten(folder: Path) -> None:
    """An existing file stays unless told otherwise, and then none of the files is written."""
    samples = read_autorag(folder / "qa.parquet").samples
    before = (folder / "found.parquet").read_bytes()
    with pytest.raises(FileExistsError, match=r"found\.parquet"):
        write_autorag(samples, folder / "new.parquet", results=folder / "found.parquet")
    assert not (folder / "new.parquet").exists()
    assert (folder / "found.parquet").read_bytes() == before
    write_autorag(samples, folder / "qa.parquet", overwrite=True)
    assert read_autorag(folder / "qa.parquet").samples.equals(samples)


def test_errors(folder: Path) -> None:
    """Files that do not go together are refused by name."""
    qa, found = folder / "qa.parquet", folder / "found.parquet"
    with pytest.raises(ColumnError, match="lacks qid, query"):
        read_autorag(found)
    pl.read_parquet(found).head(1).write_parquet(folder / "short.parquet")
    with pytest.raises(RowError, match="1 rows and there are 2 questions"):
        read_autorag(qa, folder / "short.parquet")
    with pytest.raises(ColumnError, match="retrieved_ids, retrieved_contents"):
        read_autorag(qa, found, found)
    corpus = pl.DataFrame({"doc_id": ["d1", "d2"], "contents": ["one", "two"]})
    corpus.write_parquet(folder / "corpus.parquet")
    with pytest.raises(RowError, match=r"1 gold documents are not in .*\n.*doc_id='d3'"):
        read_autorag(qa, corpus=folder / "corpus.parquet")
    (folder / "text.parquet").write_text("no parquet", encoding="utf-8")
    with pytest.raises(ReadError, match="cannot be read as Parquet"):
        read_autorag(folder / "text.parquet")
    with pytest.raises(FileNotFoundError):
        read_autorag(folder / "nowhere.parquet")
    with pytest.raises(ColumnError, match="user_input"):
        write_autorag(pl.DataFrame({"query_id": ["q"], "response": ["x"]}), folder / "x.parquet")


def test_edited_gold_is_told(folder: Path) -> None:
    """`retrieval_gt` is what is written: other ids beside it are a loss."""
    samples = read_autorag(folder / "qa.parquet").samples
    edited = samples.with_columns(reference_context_ids=pl.lit(["d7"]))
    told = "dropped: retrieval_gt has other ids"
    losses = write_autorag(edited, folder / "new.parquet")
    assert losses.rows() == [("reference_context_ids", 1, told)]
    assert write_autorag(samples, folder / "same.parquet").height == 0


def test_several_systems_are_refused(folder: Path) -> None:
    """A question stands in AutoRAG's file once."""
    rows = [{"system": s, "query_id": "q", "user_input": "?"} for s in "ab"]
    with pytest.raises(RowError, match=r"one system(.|\n)*row=1, system='b'"):
        write_autorag(rows, folder / "new.parquet")
    assert not (folder / "new.parquet").exists()


@pytest.mark.parametrize("scores", [[[2.0], [3.0, 2.0, 1.0]], [None, [3.0, 2.0, 1.0]]])
def test_scores_that_are_not_the_documents_are_named(folder: Path, scores: list[Any]) -> None:
    """Each retrieved document has one."""
    found = pl.read_parquet(folder / "found.parquet")
    changed = found.with_columns(retrieve_scores=pl.Series(scores, dtype=pl.List(pl.Float64)))
    changed.write_parquet(folder / "changed.parquet")
    with pytest.raises(RowError, match="query_id='q2', n_ids=2"):
        read_autorag(folder / "qa.parquet", folder / "changed.parquet")
