"""Files behind a URI: fetched, listed and told apart from what cannot be reached."""

from __future__ import annotations

import json
import shutil
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalframe as evf
from evalframe import io as ef
from evalframe.errors import ColumnError, OptionError, ReadError
from tests.object_stores import NOWHERE, Hub, Store, azure, google, s3, served

QRELS = [("1", "d1", 2), ("q2", "002", 1)]
CORPUS = pl.DataFrame({"_id": ["d1", "002"], "title": ["T", ""], "text": ["one", "two"]})
QUERIES = pl.DataFrame({"_id": ["1", "q2"], "text": ["what?", "who?"]})
JUDGED = pl.DataFrame(QRELS, schema=["query-id", "corpus-id", "score"], orient="row")
SHARD = "-00000-of-00001.parquet"


@pytest.fixture(params=[s3, google, azure], ids=["s3", "gs", "az"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A bucket of each kind of store."""
    with request.param(tmp_path) as store:
        store.root.mkdir()
        yield store


@pytest.fixture(scope="module")
def served_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, set[str]]]:
    """One for all tests: Polars keeps connections open and asks for the proxy once."""
    trustme = pytest.importorskip("trustme")
    if sys.platform != "linux":
        pytest.skip("certificates are trusted by the system alone")
    home = tmp_path_factory.mktemp("hub")
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("huggingface.co").configure_cert(context)
    authority.cert_pem.write_to_path(home / "ca.pem")
    root, tokens = home / "datasets", set[str]()
    with (
        served(Hub, root, context=context, tokens=tokens) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SSL_CERT_FILE", str(home / "ca.pem"))
        patch.setenv("HTTPS_PROXY", url)
        patch.setenv("HF_HOME", str(home))
        yield root, tokens


@pytest.fixture
def hub(served_hub: tuple[Path, set[str]]) -> tuple[Path, set[str]]:
    """An empty folder that is served as `hf://datasets`, and the tokens that are sent along."""
    root, tokens = served_hub
    shutil.rmtree(root, ignore_errors=True)
    tokens.clear()
    return root, tokens


def put(path: Path, data: str | pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, str):
        path.write_text(data)
    else:
        data.write_parquet(path)


def put_datasets(root: Path, inside: str = "") -> None:
    """A test collection in MTEB's layout and in BEIR's, with two splits each."""
    put(root / f"mteb/{inside}corpus/corpus-00000-of-00002.parquet", CORPUS[:1])
    put(root / f"mteb/{inside}corpus/corpus-00001-of-00002.parquet", CORPUS[1:])
    put(root / f"mteb/{inside}queries/queries{SHARD}", QUERIES)
    lines = [json.dumps(row) + "\n" for row in CORPUS.to_dicts()]
    put(root / f"beir/{inside}corpus.jsonl", "".join(lines))
    put(root / f"beir/{inside}queries/queries{SHARD}", QUERIES)
    for split in ("test", "fold_7"):
        put(root / f"mteb/{inside}data/{split}{SHARD}", JUDGED)
        put(root / f"beir-qrels/{inside}{split}.tsv", JUDGED.write_csv(separator="\t"))


def check_dataset(uri: str, options: dict[str, Any]) -> None:
    """The collection is read, and a split that is not there lists those that are."""
    found = evf.read_dataset(uri, storage_options=options)
    assert found.corpus["doc_id"].to_list() == ["d1", "002"]
    assert found.queries["query_id"].to_list() == ["1", "q2"]
    assert found.qrels.rows() == QRELS
    with pytest.raises(OptionError, match=r"no split 'dev'.*the splits are 'fold_7', 'test'"):
        ef.read_dataset(uri, "dev", storage_options=options)


def test_every_format_is_read_from_a_bucket(store: Store) -> None:
    """Whole and as a plan, as from a local file; `storage_options` are handed on."""
    root, options = store.root, store.options
    qrels = pl.DataFrame(QRELS, schema=["query_id", "doc_id", "relevance"], orient="row")
    for name in ("q.trec", "q.trec.gz", "q.tsv", "q.csv", "q.jsonl", "q.jsonl.gz", "q.json",
                 "q.parquet", "q.arrow"):  # fmt: skip
        ef.write_qrels(qrels, root / name)
        assert ef.read_qrels(f"{store.uri}/{name}", storage_options=options).equals(qrels), name
        plan = ef.scan_qrels(f"{store.uri}/{name}", storage_options=options)
        assert plan.collect().equals(qrels), name


def test_samples_are_read_from_a_bucket_as_from_a_disk(store: Store, handbook: Path) -> None:
    root, options = store.root, store.options
    for name in ("samples.jsonl", "samples.parquet"):
        (root / name).write_bytes((handbook / name).read_bytes())
        found = ef.read_samples(f"{store.uri}/{name}", storage_options=options)
        assert found.equals(ef.read_samples(handbook / name))


def test_the_files_of_a_remote_pattern_are_read_by_their_own_headers(
    store: Store,
) -> None:
    root, options = store.root, store.options
    put(root / "x" / "a.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")
    put(root / "x" / "b.tsv", "corpus-id\tquery-id\tscore\n002\tq2\t1\n")
    put(root / "x" / "c.tsv", "3\t0\td3\t1\n")
    rows = [*QRELS, ("3", "d3", 1)]
    assert ef.read_qrels(f"{store.uri}/x/*.tsv", storage_options=options).rows() == rows
    assert ef.scan_qrels(f"{store.uri}/x/*.tsv", storage_options=options).collect().rows() == rows
    put(root / "p" / "system=001" / "0.parquet", JUDGED.cast({"score": pl.Float64}))
    other = JUDGED.select(docno="corpus-id", qid="query-id", score="score", extra="score")
    put(root / "p" / "system=x" / "0.parquet", other)
    wanted = [(s, q, d, float(g)) for s in ("001", "x") for q, d, g in QRELS]
    for name in (
        f"{store.uri}/p/",
        f"{store.uri}/p/*/*.parquet",
        f"{store.uri}/p/system=*/0.parquet",
    ):
        assert ef.read_run(name, storage_options=options).rows() == wanted
        assert ef.scan_run(name, storage_options=options).collect().rows() == wanted
    with pytest.raises(ColumnError, match=r"a\.tsv: .* there is no column 'my_q'"):
        ef.read_qrels(f"{store.uri}/x/*.tsv", columns={"query_id": "my_q"}, storage_options=options)


def test_absence_and_refusal_are_told_apart(store: Store) -> None:
    """What is not there is FileNotFoundError; a place that lets nobody in, or is down, is not."""
    root, options = store.root, store.options
    put(root / "x" / "a.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")
    for name in (
        f"{store.uri}/x/z.tsv",
        f"{store.uri}/x/z*.tsv",
        f"{store.uri}/x/z.parquet",
        f"{store.uri}/z/",
    ):
        with pytest.raises(FileNotFoundError, match=store.uri):
            ef.read_qrels(name, storage_options=options)
    for wrong, why in ((store.refused, "403|privileges"), (store.down, "sending request")):
        for name in (
            f"{store.uri}/x/a.tsv",
            f"{store.uri}/x/*.tsv",
            f"{store.uri}/x/a.jsonl",
            f"{store.uri}/x/a.parquet",
        ):
            with pytest.raises(ReadError, match=why) as error:
                ef.read_qrels(name, storage_options=wrong)
            assert error.value.__cause__ is not None
        with pytest.raises(ReadError, match=why) as error:
            ef.read_dataset(f"{store.uri}/x", storage_options=wrong)
        assert "what is there is not known" in str(error.value)
        assert error.value.__cause__ is not None


def test_a_dataset_is_read_from_a_bucket(store: Store) -> None:
    """MTEB's layout and BEIR's, with a sibling; the splits that exist are listed, whatever names
    they have."""
    root, options = store.root, store.options
    put_datasets(root)
    for name in ("mteb", "beir"):
        check_dataset(f"{store.uri}/{name}", options)
    with pytest.raises(FileNotFoundError, match="no corpus are there"):
        ef.read_dataset(f"{store.uri}/none", storage_options=options)


def test_a_remote_run_is_evaluated_and_a_report_read_back(store: Store, handbook: Path) -> None:
    root, options = store.root, store.options
    run = ef.read_run(handbook / "runs" / "bm25.parquet")
    qrels = ef.read_qrels(handbook / "qrels" / "test.tsv")
    ef.write_run(run, root / "run.parquet")
    plan = ef.scan_run(f"{store.uri}/run.parquet", storage_options=options)
    report = evf.evaluate(qrels, plan, ["ndcg@10"])
    assert report.metrics == evf.evaluate(qrels, run, ["ndcg@10"]).metrics
    evf.write_report(report, root / "report.parquet")
    again = evf.read_report(f"{store.uri}/report.parquet", storage_options=options)
    assert isinstance(again, evf.Report)
    assert again.metrics == report.metrics


def test_every_format_is_read_from_the_hub(hub: tuple[Path, set[str]]) -> None:
    """Files, patterns and folders by `hf://`, with the token that the options hold."""
    root, tokens = hub
    qrels = pl.DataFrame(QRELS, schema=["query_id", "doc_id", "relevance"], orient="row")
    for name in ("q.trec", "q.tsv.gz", "q.jsonl", "a b/q.parquet", "q.arrow"):
        ef.write_qrels(qrels, root / "owner" / "name" / "main" / name)
        tokens.clear()
        uri = f"hf://datasets/owner/name/{name}"
        assert ef.read_qrels(uri, storage_options={"token": "secret"}).equals(qrels), name
        assert "Bearer secret" in tokens
        assert ef.scan_qrels(uri).collect().equals(qrels), name
    put(root / "owner" / "name" / "v2" / "p" / "system=x" / "0.parquet", JUDGED)
    put(root / "owner" / "name" / "v2" / "p" / "system=y" / "0.parquet", JUDGED.reverse())
    wanted = [("x", *row) for row in QRELS] + [("y", *row) for row in QRELS[::-1]]
    for name in ("p/", "p/*/*.parquet", "p/system=*/0.parquet"):
        assert ef.read_run(f"hf://datasets/owner/name@v2/{name}").rows() == wanted
    report = evf.evaluate(qrels, {"1": {"d1": 1.0}}, ["mrr"])
    evf.write_report(report, root / "owner" / "name" / "main" / "report.parquet")
    again = evf.read_report("hf://datasets/owner/name/report.parquet")
    assert isinstance(again, evf.Report)
    assert again.metrics == report.metrics


def test_a_dataset_is_read_from_the_hub(hub: tuple[Path, set[str]]) -> None:
    """MTEB's layout and BEIR's with its sibling, of a revision too."""
    root, _ = hub
    put_datasets(root / "o", "main/")
    for name in ("mteb", "beir", "mteb@main", "beir@main"):
        check_dataset(f"hf://datasets/o/{name}", {})
    put(root / "o" / "none" / "main" / "y.tsv", "1\td1\t2\n")
    with pytest.raises(FileNotFoundError, match=r"o/none/x\.tsv: there is no such object"):
        ef.read_qrels("hf://datasets/o/none/x.tsv")
    with pytest.raises(FileNotFoundError, match="no corpus are there"):
        ef.read_dataset("hf://datasets/o/none")
    for name in ("x.tsv", "x.parquet", "*.tsv"):
        with pytest.raises(ReadError, match=r"it cannot be fetched: .*Invalid username"):
            ef.read_qrels(f"hf://datasets/o/nobody/{name}")
    with pytest.raises(ReadError, match=r"what is there is not known: .*Invalid username"):
        ef.read_dataset("hf://datasets/o/nobody")


def test_a_hub_that_does_not_answer_is_no_absence(
    hub: tuple[Path, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", NOWHERE)
    for name in ("x.tsv", "x.parquet", "x.jsonl", "*.tsv", "x/"):
        with pytest.raises(ReadError, match="it cannot be fetched: error sending request"):
            ef.read_qrels(f"hf://datasets/o/mteb/{name}")
