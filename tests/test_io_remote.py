"""Files behind a URI: fetched, listed and told apart from what cannot be reached."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

import polars as pl
import pytest

import evalframe as evf
from evalframe import io as ef
from evalframe.errors import ColumnError, OptionError, ReadError

QRELS = [("1", "d1", 2), ("q2", "002", 1)]
CORPUS = pl.DataFrame({"_id": ["d1", "002"], "title": ["T", ""], "text": ["one", "two"]})
QUERIES = pl.DataFrame({"_id": ["1", "q2"], "text": ["what?", "who?"]})
JUDGED = pl.DataFrame(QRELS, schema=["query-id", "corpus-id", "score"], orient="row")
SHARD = "-00000-of-00001.parquet"


class Bucket(BaseHTTPRequestHandler):
    """As much of S3 as reading needs: lists of keys, whole objects and ranges of them."""

    protocol_version = "HTTP/1.1"
    root: Path
    key: str

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = dict(parse_qsl(url.query))
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        if f"Credential={self.key}/" not in self.headers.get("Authorization", ""):
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif not key and "list-type" in asked:
            self.answer(200, self.listed(bucket, asked.get("prefix", "")))
        elif (self.root / bucket / key).is_file():
            self.give((self.root / bucket / key).read_bytes())
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def listed(self, bucket: str, prefix: str) -> bytes:
        files = {
            path.relative_to(self.root / bucket).as_posix(): path.stat().st_size
            for path in (self.root / bucket).rglob("*")
            if path.is_file()
        }
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>1</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in sorted(files.items())
            if key.startswith(prefix)
        )
        head = f"<Name>{bucket}</Name><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{head}{contents}</ListBucketResult>".encode()

    def give(self, data: bytes) -> None:
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if not first and not last:
            self.answer(200, data)
            return
        start = int(first) if first else max(len(data) - int(last), 0)
        stop = min(int(last) + 1, len(data)) if first and last else len(data)
        where = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
        self.answer(206, data[start:stop], where)

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        fixed = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "ETag": '"1"'}
        fixed |= {"Content-Length": str(len(data)), **(headers or {})}
        for name, value in fixed.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder that is served as the bucket `b`, and the options by which it is reached."""
    handler = type("Handler", (Bucket,), {"root": tmp_path, "key": "k"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    options = {
        "aws_endpoint_url": f"http://127.0.0.1:{server.server_port}",
        "aws_access_key_id": "k",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
        "max_retries": 0,
    }
    yield tmp_path / "b", options
    server.shutdown()
    server.server_close()
    thread.join()


def put(path: Path, data: str | pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, str):
        path.write_text(data)
    else:
        data.write_parquet(path)


def test_every_format_is_read_from_a_bucket(bucket: tuple[Path, dict[str, Any]]) -> None:
    """Whole and as a plan, as from a local file; `storage_options` are handed on."""
    root, options = bucket
    qrels = pl.DataFrame(QRELS, schema=["query_id", "doc_id", "relevance"], orient="row")
    root.mkdir()
    for name in ("q.trec", "q.trec.gz", "q.tsv", "q.csv", "q.jsonl", "q.jsonl.gz", "q.json",
                 "q.parquet", "q.arrow"):  # fmt: skip
        ef.write_qrels(qrels, root / name)
        assert ef.read_qrels(f"s3://b/{name}", storage_options=options).equals(qrels), name
        plan = ef.scan_qrels(f"s3://b/{name}", storage_options=options)
        assert plan.collect().equals(qrels), name


def test_samples_are_read_from_a_bucket_as_from_a_disk(
    bucket: tuple[Path, dict[str, Any]], handbook: Path
) -> None:
    root, options = bucket
    root.mkdir()
    for name in ("samples.jsonl", "samples.parquet"):
        (root / name).write_bytes((handbook / name).read_bytes())
        found = ef.read_samples(f"s3://b/{name}", storage_options=options)
        assert found.equals(ef.read_samples(handbook / name))


def test_the_files_of_a_remote_pattern_are_read_by_their_own_headers(
    bucket: tuple[Path, dict[str, Any]],
) -> None:
    root, options = bucket
    put(root / "x" / "a.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")
    put(root / "x" / "b.tsv", "corpus-id\tquery-id\tscore\n002\tq2\t1\n")
    put(root / "x" / "c.tsv", "3\t0\td3\t1\n")
    rows = [*QRELS, ("3", "d3", 1)]
    assert ef.read_qrels("s3://b/x/*.tsv", storage_options=options).rows() == rows
    assert ef.scan_qrels("s3://b/x/*.tsv", storage_options=options).collect().rows() == rows
    put(root / "p" / "system=001" / "0.parquet", JUDGED.cast({"score": pl.Float64}))
    other = JUDGED.select(docno="corpus-id", qid="query-id", score="score", extra="score")
    put(root / "p" / "system=x" / "0.parquet", other)
    wanted = [(s, q, d, float(g)) for s in ("001", "x") for q, d, g in QRELS]
    for name in ("s3://b/p/", "s3://b/p/*/*.parquet", "s3://b/p/system=*/0.parquet"):
        assert ef.read_run(name, storage_options=options).rows() == wanted
        assert ef.scan_run(name, storage_options=options).collect().rows() == wanted
    with pytest.raises(ColumnError, match=r"a\.tsv: .* there is no column 'my_q'"):
        ef.read_qrels("s3://b/x/*.tsv", columns={"query_id": "my_q"}, storage_options=options)


def test_absence_and_refusal_are_told_apart(bucket: tuple[Path, dict[str, Any]]) -> None:
    """What is not there is FileNotFoundError; a place that lets nobody in, or is down, is not."""
    root, options = bucket
    put(root / "x" / "a.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")
    for name in ("s3://b/x/z.tsv", "s3://b/x/z*.tsv", "s3://b/x/z.parquet", "s3://b/z/"):
        with pytest.raises(FileNotFoundError, match=r"s3://b"):
            ef.read_qrels(name, storage_options=options)
    refused = options | {"aws_access_key_id": "other"}
    down = options | {"aws_endpoint_url": "http://127.0.0.1:9"}
    for wrong, why in ((refused, "403|AccessDenied|Forbidden"), (down, "onnect")):
        for name in ("s3://b/x/a.tsv", "s3://b/x/*.tsv", "s3://b/x/a.jsonl", "s3://b/x/a.parquet"):
            with pytest.raises(ReadError, match=why) as error:
                ef.read_qrels(name, storage_options=wrong)
            assert error.value.__cause__ is not None
        with pytest.raises(ReadError, match=why) as error:
            ef.read_dataset("s3://b/x", storage_options=wrong)
        assert "what is there is not known" in str(error.value)
        assert error.value.__cause__ is not None


def test_a_dataset_is_read_from_a_bucket(bucket: tuple[Path, dict[str, Any]]) -> None:
    """MTEB's layout and BEIR's, with a sibling; the splits that exist are listed, whatever names
    they have."""
    root, options = bucket
    put(root / "mteb" / "corpus" / "corpus-00000-of-00002.parquet", CORPUS[:1])
    put(root / "mteb" / "corpus" / "corpus-00001-of-00002.parquet", CORPUS[1:])
    put(root / "mteb" / "queries" / f"queries{SHARD}", QUERIES)
    put(root / "mteb" / "data" / f"test{SHARD}", JUDGED)
    put(root / "mteb" / "data" / f"fold_7{SHARD}", JUDGED)
    lines = [json.dumps(row) + "\n" for row in CORPUS.to_dicts()]
    put(root / "beir" / "corpus.jsonl", "".join(lines))
    put(root / "beir" / "queries" / f"queries{SHARD}", QUERIES)
    put(root / "beir-qrels" / "test.tsv", JUDGED.write_csv(separator="\t"))
    put(root / "beir-qrels" / "fold_7.tsv", JUDGED.write_csv(separator="\t"))
    for name in ("mteb", "beir"):
        found = evf.read_dataset(f"s3://b/{name}", storage_options=options)
        assert found.corpus["doc_id"].to_list() == ["d1", "002"]
        assert found.queries["query_id"].to_list() == ["1", "q2"]
        assert found.qrels.rows() == QRELS
        with pytest.raises(OptionError, match=r"no split 'dev'.*the splits are 'fold_7', 'test'"):
            ef.read_dataset(f"s3://b/{name}", "dev", storage_options=options)
    with pytest.raises(FileNotFoundError, match="no corpus are there"):
        ef.read_dataset("s3://b/none", storage_options=options)


def test_a_remote_run_is_evaluated_and_a_report_read_back(
    bucket: tuple[Path, dict[str, Any]], handbook: Path
) -> None:
    root, options = bucket
    run = ef.read_run(handbook / "runs" / "bm25.parquet")
    qrels = ef.read_qrels(handbook / "qrels" / "test.tsv")
    root.mkdir()
    ef.write_run(run, root / "run.parquet")
    plan = ef.scan_run("s3://b/run.parquet", storage_options=options)
    report = evf.evaluate(qrels, plan, ["ndcg@10"])
    assert report.metrics == evf.evaluate(qrels, run, ["ndcg@10"]).metrics
    evf.write_report(report, root / "report.parquet")
    again = evf.read_report("s3://b/report.parquet", storage_options=options)
    assert isinstance(again, evf.Report)
    assert again.metrics == report.metrics
