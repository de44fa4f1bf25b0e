"""Test collections: BEIR's folder, the layouts of Hugging Face, ir_datasets."""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path
from typing import Any

import ir_datasets
import polars as pl
import pytest

from evalframe import io as ef
from evalframe.errors import OptionError, ReadError

CORPUS = [
    {"_id": "d1", "title": "T", "text": "one", "metadata": {"url": "u"}},
    {"_id": "002", "title": "", "text": "two", "metadata": {"url": "v"}},
]
QUERIES = [{"_id": "1", "text": "what?"}, {"_id": "q2", "text": "who?"}]
QRELS = "query-id\tcorpus-id\tscore\n1\td1\t2\nq2\t002\t1\n"
JUDGED = [("1", "d1", 2), ("q2", "002", 1)]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def put(path: Path, data: str | pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, str):
        path.write_text(data)
    else:
        data.write_parquet(path)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    root = tmp_path / "beir"
    put(root / "corpus.jsonl", lines(CORPUS))
    put(root / "queries.jsonl", lines(QUERIES))
    put(root / "qrels" / "test.tsv", QRELS)
    return root


def test_a_beir_folder_becomes_three_frames(beir: Path) -> None:
    """Titles, texts and metadata are kept, ids are strings."""
    corpus, queries, qrels = ef.read_beir(beir)
    assert corpus.columns == ["doc_id", "title", "text", "metadata"]
    assert corpus["doc_id"].to_list() == ["d1", "002"]
    assert corpus["metadata"].to_list() == [{"url": "u"}, {"url": "v"}]
    assert queries.rows() == [("1", "what?"), ("q2", "who?")]
    assert qrels.rows() == JUDGED


def test_the_split_is_test_or_the_only_one_or_asked_for(beir: Path) -> None:
    """A split that is not there lists those that are."""
    put(beir / "qrels" / "dev.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n")
    assert ef.read_beir(beir).qrels.rows() == JUDGED
    assert ef.read_beir(beir, "dev").qrels.height == 1
    assert ef.read_beir(beir, qrels="qrels/dev.tsv").qrels.height == 1
    with pytest.raises(OptionError, match="no split 'train'; the splits are 'dev', 'test'"):
        ef.read_beir(beir, "train")
    (beir / "qrels" / "test.tsv").rename(beir / "qrels" / "train.tsv")
    with pytest.raises(OptionError, match="choose one"):
        ef.read_beir(beir)
    (beir / "qrels" / "dev.tsv").unlink()
    assert ef.read_beir(beir).qrels.rows() == JUDGED


def test_missing_parts_are_named(beir: Path) -> None:
    """FileNotFoundError says which file is missing and what the folder holds."""
    (beir / "queries.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"queries\.jsonl is missing; .*corpus\.jsonl"):
        ef.read_beir(beir)
    (beir / "qrels" / "test.tsv").unlink()
    with pytest.raises(FileNotFoundError, match="neither"):
        ef.read_beir(beir)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ef.read_beir(beir / "none")


def test_beir_round_trips(beir: Path, tmp_path: Path) -> None:
    """What is read is written and read again; existing files need `overwrite`."""
    first = ef.read_beir(beir)
    ef.write_beir(tmp_path / "new" / "copy", *first, split="dev")
    again = ef.read_beir(tmp_path / "new" / "copy", "dev")
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    with pytest.raises(FileExistsError):
        ef.write_beir(tmp_path / "new" / "copy", *first)
    ef.write_beir(tmp_path / "new" / "copy", *first, overwrite=True)
    assert sorted(p.name for p in (tmp_path / "new" / "copy").rglob("*") if p.is_file()) == [
        "corpus.jsonl", "dev.tsv", "queries.jsonl", "test.tsv",
    ]  # fmt: skip


def test_a_single_qrels_file_beside_the_texts(beir: Path) -> None:
    """`qrels.tsv` in the folder itself is read where there is no folder of splits."""
    (beir / "qrels" / "test.tsv").rename(beir / "qrels.tsv")
    (beir / "qrels").rmdir()
    assert ef.read_beir(beir).qrels.rows() == JUDGED


def frames() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    qrels = pl.DataFrame(JUDGED, schema=["query-id", "corpus-id", "score"], orient="row")
    return pl.DataFrame(CORPUS), pl.DataFrame(QUERIES), qrels


def hub_layouts(root: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """One folder per layout, and the arguments that read it."""
    corpus, queries, qrels = frames()
    shard = "-00000-of-00001.parquet"
    beir = root / "nfcorpus"
    put(beir / "corpus" / f"corpus{shard}", corpus)
    put(beir / "queries" / f"queries{shard}", queries)
    put(root / "nfcorpus-qrels" / "test.tsv", QRELS)
    mteb = root / "mteb"
    put(mteb / "corpus" / "corpus-00000-of-00002.parquet", corpus[:1])
    put(mteb / "corpus" / "corpus-00001-of-00002.parquet", corpus[1:])
    put(mteb / "queries" / f"queries{shard}", queries)
    put(mteb / "data" / f"test{shard}", qrels)
    named = root / "named"
    put(named / "corpus" / f"test{shard}", corpus.rename({"_id": "id"}))
    put(named / "corpus" / f"dev{shard}", corpus[:1])
    put(named / "query" / f"test{shard}", queries.rename({"_id": "id"}))
    put(named / "qrels" / f"test{shard}", qrels)
    many = root / "many"
    for language in ("de", "en"):
        put(many / f"{language}-corpus" / f"test{shard}", corpus)
        put(many / f"{language}-queries" / f"test{shard}", queries)
        put(many / f"{language}-qrels" / f"test{shard}", qrels)
    converted = root / "converted"
    put(converted / "corpus" / "corpus" / "0000.parquet", corpus)
    put(converted / "queries" / "queries" / "0000.parquet", queries)
    put(converted / "default" / "test" / "0000.parquet", qrels)
    old = root / "old"
    put(old / "corpus.jsonl", lines(CORPUS))
    put(old / "queries.jsonl", lines(QUERIES))
    put(old / "qrels" / "test.jsonl", lines(qrels.to_dicts()))
    return {
        "BEIR with a sibling": (beir, {}),
        "MTEB": (mteb, {}),
        "MTEB, named": (named, {}),
        "MTEB, languages": (many, {"language": "de"}),
        "converted to Parquet": (converted, {}),
        "older JSONL": (old, {}),
    }


def test_every_layout_of_the_hub_gives_the_same_frames(tmp_path: Path) -> None:
    """Folders and URIs; ids are strings in every one."""
    for name, (root, options) in hub_layouts(tmp_path).items():
        for where in (root, f"file://{root}"):
            corpus, queries, qrels = ef.read_dataset(where, **options)
            assert corpus["doc_id"].to_list() == ["d1", "002"], name
            assert queries["query_id"].to_list() == ["1", "q2"], name
            assert qrels.rows() == JUDGED, name


def test_a_split_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    """In the folder and in the sibling repository, local or by URI."""
    for name, (root, options) in hub_layouts(tmp_path).items():
        for where in (root, f"file://{root}"):
            with pytest.raises(OptionError, match=r"no split 'dev'.*the splits are 'test'"):
                ef.read_dataset(where, "dev", **options)
        assert name


def test_a_dataset_without_its_parts_says_so(tmp_path: Path) -> None:
    """No folder, no corpus, no qrels: each is named."""
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ef.read_dataset(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no corpus are there"):
        ef.read_dataset(tmp_path)
    put(tmp_path / "corpus.jsonl", lines(CORPUS))
    put(tmp_path / "queries.jsonl", lines(QUERIES))
    with pytest.raises(FileNotFoundError, match="no qrels are there"):
        ef.read_dataset(tmp_path)


Doc = namedtuple("Doc", ["doc_id", "title", "body", "default_text"])


class Collection:
    """What `ir_datasets.load` gives, with two documents."""

    has_docs = has_queries = has_qrels = staticmethod(lambda: True)

    def docs_iter(self) -> Any:
        return iter([Doc("d1", "t", "b", lambda: "t b"), Doc("d2", "u", "c", lambda: "u c")])

    def queries_iter(self) -> Any:
        return iter([namedtuple("Q", ["query_id", "text"])("7", "what?")])

    def qrels_iter(self) -> Any:
        row = namedtuple("J", ["query_id", "doc_id", "relevance", "iteration"])
        return iter([row("7", "d1", 2, "0"), row("7", "d2", 0, "0")])


def test_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of the package becomes three frames; an unknown name is an error."""
    monkeypatch.setattr(ir_datasets, "load", lambda name: Collection())
    found = ef.read_ir_dataset("some/collection")
    assert found.corpus.select("doc_id", "text").rows() == [("d1", "t b"), ("d2", "u c")]
    assert found.queries.rows() == [("7", "what?")]
    assert found.qrels.rows() == [("7", "d1", 2), ("7", "d2", 0)]
    monkeypatch.undo()
    with pytest.raises(OptionError, match="knows no collection"):
        ef.read_ir_dataset("no/such/collection")


def test_a_collection_that_ir_datasets_reads_itself(tmp_path: Path) -> None:
    """The package's own classes over local files, registered as its own collections are."""
    put(tmp_path / "docs.tsv", "d1\tone\nd2\ttwo\n")
    put(tmp_path / "queries.tsv", "7\twhat?\n8\twho?\n")
    put(tmp_path / "qrels.txt", "7 0 d1 2\n8 0 d2 1\n")
    made = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels.txt"),
    )
    name = f"evalframe-test/{tmp_path.name}"
    ir_datasets.registry.register(name, made)
    found = ef.read_ir_dataset(name)
    assert found.corpus.rows() == [("d1", "one"), ("d2", "two")]
    assert found.queries.rows() == [("7", "what?"), ("8", "who?")]
    assert found.qrels.select("query_id", "doc_id", "relevance").rows() == [
        ("7", "d1", 2), ("8", "d2", 1),
    ]  # fmt: skip
    assert ef.read_ir_dataset(name, with_corpus=False).corpus.height == 0
    part = ir_datasets.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"))
    ir_datasets.registry.register(f"{name}/docs", part)
    with pytest.raises(OptionError, match="has no queries"):
        ef.read_ir_dataset(f"{name}/docs")


def test_a_dataset_of_several_languages_lists_them(tmp_path: Path) -> None:
    root, _ = hub_layouts(tmp_path)["MTEB, languages"]
    for where in (root, f"file://{root}"):
        with pytest.raises(FileNotFoundError, match=r"languages 'de', 'en' \(language=\)"):
            ef.read_dataset(where)
        with pytest.raises(FileNotFoundError, match="languages 'de', 'en'"):
            ef.read_dataset(where, language="fr")


RANX = ["qrels.json", "qrels.trec", "qrels.trec.gz", "qrels.parquet"]


def test_ranx_files_agree_in_every_format(retrieval_data: Path) -> None:
    """The toy set gives one frame from JSON, TREC, gzip, LZ4 and Parquet."""
    folder = retrieval_data / "ranx"
    qrels = [ef.read_qrels(folder / name) for name in RANX]
    assert all(frame.equals(qrels[0]) for frame in qrels)
    names = ["run.json", "run.trec", "run.trec.gz", "run.lz4", "run.parquet"]
    runs = [ef.read_run(folder / name).drop("rank", strict=False) for name in names]
    assert all(frame.equals(runs[0]) for frame in runs)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("trec_eval/qrels.test", 3681),
        ("trec_eval/qrels.rel_level", 3681),
        ("trec_eval/qrels.test.with-comments", 3681),
        ("trec_eval/results.test", 1500),
        ("trec_eval/results.trunc", 584),
        ("trectools/qrel1.txt", 30),
        ("trectools/r4.run", 9),
        ("pyserini/nfcorpus-qrels.tsv", 234),
        ("pyserini/simple_trec_run_fusion_1.txt", 3),
        ("ir_measures/compat.run", 1927),
        ("ir_measures/cwl.qrels", 23),
        ("treccast2021/trec-cast-qrels-docs.2021.qrel.gz", 19334),
        ("treccast2021/org_manual_bm25.run.gz", 18570),
        ("../rag/mtrag/fiqa_qrels_dev.tsv", 535),
    ],
)
def test_public_files_load(retrieval_data: Path, name: str, rows: int) -> None:
    """Every row of the files that other tools ship with, none more, none less."""
    read = ef.read_qrels if "qrel" in name else ef.read_run
    assert read(retrieval_data / name).height == rows


def test_public_samples_load(rag_data: Path) -> None:
    """SQuAD, AutoRAG, continuous-eval and MTRAG as they are published."""
    heights = {
        "autorag_en/qa.parquet": 10,
        "autorag_en/hybrid_retrieval.parquet": 10,
        "squad/squad_v2_sample.json": 14,
        "squad/xquad_en_questions.parquet": 1190,
        "squad/xquad_en_predictions_with_official_scores.parquet": 3568,
        "squad/normalisation_edge_cases_official.json": 21,
        "mtrag/responses-10.jsonl": 10,
        "mtrag/taskb_input.jsonl": 10,
        "mtrag/reference_subset_responses.parquet": 477,
        "mtrag/reference_subset_tasks.parquet": 159,
        "continuous_eval/retrieval_sm.jsonl": 10,
    }
    found = {name: ef.read_samples(rag_data / name).height for name in heights}
    assert found == heights
    assert ef.read_queries(rag_data / "mtrag/fiqa_questions.jsonl").height == 180
    assert ef.read_corpus(rag_data / "autorag_en/corpus.parquet").height == 30


def test_trec_eval_refuses_what_the_readers_refuse(retrieval_data: Path) -> None:
    """Preference files have five columns, and are no qrels."""
    with pytest.raises(ReadError, match="five columns"):
        ef.read_qrels(retrieval_data / "trec_eval/prefs.test")


@pytest.mark.parametrize("first", [0, 1])
def test_a_set_of_shards_is_read_whole_or_not_at_all(tmp_path: Path, first: int) -> None:
    """The missing shard is named, be it of a collection, a folder or a pattern, local or by URI."""
    corpus, queries, qrels = frames()
    root = tmp_path / "set"
    shards = [root / "corpus" / f"corpus-0000{n + first}-of-00003.parquet" for n in range(3)]
    for shard, rows in zip(shards, (corpus[:1], corpus.clear(), corpus[1:]), strict=True):
        put(shard, rows)
    put(root / "queries" / "queries-00000-of-00001.parquet", queries)
    put(root / "data" / "test-00000-of-00001.parquet", qrels)
    for where in (root, f"file://{root}"):
        assert ef.read_dataset(where).corpus["doc_id"].to_list() == ["d1", "002"]
    shards[1].unlink()
    missing = rf"of a set of files {shards[1].name} is not there"
    folder = root / "corpus"
    for where in (root, f"file://{root}"):
        with pytest.raises(ReadError, match=missing):
            ef.read_dataset(where)
    for where in (folder, f"file://{folder}", folder / "*", folder / "corpus-*.parquet"):
        for read in (ef.read_corpus, ef.scan_corpus):
            with pytest.raises(ReadError, match=missing):
                read(where)
    assert ef.read_corpus(shards[0])["doc_id"].to_list() == ["d1"]
    meant = folder / f"corpus-0000[{first}{first + 2}]*"
    assert ef.read_corpus(meant)["doc_id"].to_list() == ["d1", "002"]


def test_files_that_are_not_one_set_of_shards_are_read_as_they_are(tmp_path: Path) -> None:
    corpus = frames()[0]
    put(tmp_path / "test-00000-of-00002.parquet", corpus[:1])
    put(tmp_path / "more.parquet", corpus[1:])
    assert ef.read_corpus(tmp_path).height == 2
    (tmp_path / "more.parquet").rename(tmp_path / "dev-00000-of-00002.parquet")
    assert ef.read_corpus(tmp_path).height == 2
