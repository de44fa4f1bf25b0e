"""Files that are damaged or something else: each has its own error, soon and in little memory."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import evalframe as evf
from evalframe import io as ef
from evalframe.engine import collect
from evalframe.errors import EvalframeError, ReadError
from evalframe.io import files, json_lines

LINES = [f"q1 Q0 d{i} {i} {50000 - i}.5 t\n" for i in range(1, 50_001)]
RUN = "".join(LINES).encode()
JUDGED = [f"q1 0 d{i} 1\n" for i in range(50_000)]


def parquet() -> bytes:
    buffer = io.BytesIO()
    ids = [str(i) for i in range(2000)]
    pl.DataFrame({"query_id": ids, "doc_id": ids, "score": 1.0}).write_parquet(buffer)
    return buffer.getvalue()


def arrow() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]}).write_ipc(buffer)
    return buffer.getvalue()


def lz4(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


PARQUET = parquet()
FILES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a gzip cut short": ("run", lambda: gzip.compress(RUN)[:-3000], "gzip data is damaged or cut"),
    "a gzip cut in its head": ("run", lambda: gzip.compress(RUN)[:12], "gzip data is damaged or"),
    "a zstd with other bytes": ("run", lambda: b"\x28\xb5\x2f\xfdgarbage", "zstd data is damaged"),
    "an lz4 cut short": ("run", lambda: lz4(RUN)[:200], "lz4 data is damaged or cut short"),
    "an lz4 inside an lz4, cut": ("run", lambda: lz4(lz4(b"\xa1")), "CBOR data in it is damaged"),
    "a Parquet without its end": ("run", lambda: PARQUET[:-60], "Parquet file is cut short"),
    "a Parquet's first bytes": ("run", lambda: b"PAR1PAR1", "Parquet file is cut short"),
    "a Parquet of broken pages": (
        "run",
        lambda: PARQUET[:200] + b"\xff" * 600 + PARQUET[800:],
        "the file is damaged",
    ),
    "a Parquet of a broken footer": (
        "run",
        lambda: PARQUET[:-30] + b"x" * 26 + b"PAR1",
        "this Parquet cannot be read",
    ),
    "an Arrow file cut short": ("run", lambda: arrow()[:-100], "this Arrow file cannot be read"),
    "a short line far down": (
        "run",
        lambda: "".join([*LINES[:39_999], "q1 Q0 d\n", *LINES[40_000:]]).encode(),
        "line 40000: 'q1 Q0 d'",
    ),
    "a long line far down": (
        "qrels",
        lambda: "".join([*JUDGED[:39_999], "q1 0 x 1 1\n", *JUDGED[40_000:]]).encode(),
        "line 40000: 'q1 0 x 1 1'",
    ),
    "a NUL in the first lines": ("run", lambda: b"q1 Q0 d\x00 1 2 t\n" + RUN, "line 1: a NUL byte"),
    "a NUL far down": ("run", lambda: RUN + b"q1 Q0 d\x00 1 2 t\n", "line 50001: 'q1 Q0 d"),
    "UTF-16": ("run", lambda: "q Q0 d 1 2 t\n".encode("utf-16"), "the text is UTF-16"),
    "UTF-16 without a mark": ("run", lambda: "q Q0 d 1 2 t\n".encode("utf-16-le"), "UTF-16 text"),
    "UTF-32": ("run", lambda: "q Q0 d 1 2 t\n".encode("utf-32"), "the text is UTF-32"),
    "line ends of old": ("run", lambda: RUN.replace(b"\n", b"\r"), "a lone carriage return"),
    "latin-1 far down": (
        "run",
        lambda: RUN + "q1 Q0 dé 1 2 t\n".encode("latin-1"),
        "line 50001: not UTF-8 .*dé",
    ),
    "latin-1 in JSONL": (
        "queries",
        lambda: '{"_id":"1","text":"a"}\n{"_id":"2","text":"é"}\n'.encode("latin-1"),
        "line 2: not UTF-8",
    ),
    "100 MB in one line": ("run", lambda: b"x" * 100_000_000, "no line ends in the first"),
    "a header and no rows": ("qrels", lambda: b"query-id\tcorpus-id\tscore\n", "header .* no rows"),
    "nothing": ("run", lambda: b"", "the file is empty"),
    "white space": ("run", lambda: b"\n \n\t\n", "only white space"),
    "comments": ("qrels", lambda: b"# one\n# two\n", "only comments or blank lines"),
    "a score that is none": ("run", lambda: RUN + b"q Q0 d 1 high t\n", "'q Q0 d 1 high t'"),
    "a score that is NaN": ("run", lambda: RUN + b"q Q0 d 1 nan t\n", "NaN values: 1 in 'score'"),
    "a pair twice": ("run", lambda: RUN + LINES[5].encode(), "more than once"),
    "unknown columns": ("qrels", lambda: b"foo\tbar\tbaz\nq\td\t1\n", "found: 'foo', 'bar', 'baz'"),
    "columns that stand twice": ("qrels", lambda: b"qid\tdocid\tqid\nq\td\t1\n", "stand twice"),
    "cells too few and too many": (
        "qrels",
        lambda: b"qid\tdocno\trel\nq\td\t1\nq\te\nq\tf\t1\t1\n",
        r"2 lines do not fit(.|\n)*line 3: 'q..e'(.|\n)*line 4",
    ),
    "a grade that is none": ("qrels", lambda: b"qid,docno,rel\nq,d,1\nq,e,x\n", "line 3: 'q,e,x'"),
    "a quote left open": ("qrels", lambda: b'qid,docno,rel\nq,"d,1\nq,e,1\n', "line 2: a quote op"),
    "JSON cut short": ("qrels", lambda: b'{"q1": {"d1": 1, "d2"', "this JSON is damaged or cut"),
    "JSON nested deeply": ("run", lambda: b'[{"a":' * 200_000, "nested too deeply"),
    "JSON of other things": ("run", lambda: b'[{"a": 1}, 2]', "list of objects is wanted"),
    "JSON of words": ("run", lambda: b'{"q1": {"d1": "high"}}', "numbers are wanted"),
    "empty JSON": ("run", lambda: b"{}", "an empty JSON object"),
    "a JSONL line cut short": (
        "queries",
        lambda: b'{"_id":"1","text":"a"}\n{"_id":"2",\n{"_id":"3","text":"c"}\n',
        """line 2: '{"_id":"2",'""",
    ),
    "a JSONL line that is a list": (
        "queries",
        lambda: b'{"_id":"1","text":"a"}\n[1]\n',
        r"line 2: '\[1\]'",
    ),
    "JSONL without ids": (
        "queries",
        lambda: b'{"_id":"1","text":"a"}\n{"text":"b"}\n',
        """line 2: '{"text":"b"}'""",
    ),
    "latin-1 in a gzip": (
        "run",
        lambda: gzip.compress(RUN + "q1 Q0 dé 1 2 t\n".encode("latin-1")),
        "line 50001: not UTF-8 .*dé",
    ),
    "100 MB of a cell": ("corpus", lambda: b"x y" * 33_000_000, "no line ends in the first"),
    "a Git LFS pointer": (
        "run",
        lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
        "a Git LFS pointer.*git lfs pull",
    ),
    "a CSV line of quotes": (
        "qrels",
        lambda: b'qid,docno,rel\n"q","d\ne",1\nq,"f"\n\n"q,1","g",x\nq,"h",1\n',
        '2 lines do not fit(.|\\n)*line 4: \'q,"f"\'(.|\\n)*line 6: \'"q,1","g",x\'',
    ),
    "a JSONL score that is none": (
        "run",
        lambda: b'{"qid":"q","docno":"d","score":1.5}\n\n{"qid":"q","docno":"e","score":"x"}\n',
        """line 3: '{"qid":"q","docno":"e","score":"x"}'""",
    ),
    "gzip within gzip": (
        "run",
        lambda: gzip.compress(gzip.compress(RUN)),
        "gzip data within compressed data: decompress it once",
    ),
    "a quote left open for 100 MB": (
        "qrels",
        lambda: b'qid,docno,rel\nq,"d,1\n' + b"q,e,1\n" * 16_000_000,
        "line 2: a quote opens here and does not close.*'q,\"d,1'",
    ),
    "a JSONL line of 100 MB cut short": (
        "queries",
        lambda: b'{"_id":"a","text":"b"}\n{"_id":"c","text":"' + b"x y" * 33_000_000 + b"\n",
        """line 2: '{"_id":"c","text":"x yx y""",
    ),
    "a zip": ("run", lambda: b"PK\x03\x04....", "a zip archive"),
    "a pickle": ("run", lambda: b"\x80\x04\x95....", "pickle, which is never loaded"),
    "a web page": (
        "run",
        lambda: b"<!DOCTYPE html>\n<html> 404 </html>\n",
        "this is a web page or XML, perhaps sent in place of the file",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_malformed_file_has_its_own_error(tmp_path: Path, name: str) -> None:
    """The error names the file and what is wrong with it, within seconds."""
    kind, make, message = FILES[name]
    path = tmp_path / "file.dat"
    path.write_bytes(make())
    start = time.perf_counter()
    with pytest.raises(EvalframeError, match=message) as error:
        getattr(ef, f"read_{kind}")(path)
    assert time.perf_counter() - start < 5
    assert "file.dat" in str(error.value)
    assert len(str(error.value)) < 3000


def test_no_two_malformed_files_share_an_error(tmp_path: Path) -> None:
    """At least thirty kinds of damage are told apart."""
    assert len({message for _, _, message in FILES.values()}) >= 30


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder of mixed files says what it holds; BEIR's says how to read it."""
    (tmp_path / "a.trec").write_bytes(RUN)
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(EvalframeError, match=r"this is a folder.*'a\.trec', 'b\.txt'"):
        ef.read_run(tmp_path)
    (tmp_path / "corpus.jsonl").write_text("{}")
    with pytest.raises(EvalframeError, match="read_beir"):
        ef.read_qrels(tmp_path)


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    """FileNotFoundError, with what is there instead; a pattern without files too."""
    (tmp_path / "run.trec").write_bytes(RUN)
    with pytest.raises(FileNotFoundError, match=r"holds 'run\.trec'"):
        ef.read_run(tmp_path / "runs.trec")
    with pytest.raises(FileNotFoundError, match="nor is there a folder"):
        ef.read_run(tmp_path / "none" / "run.trec")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        ef.scan_run(tmp_path / "*.nope")


def test_what_is_no_path_is_refused() -> None:
    """With an error of the house, whoever the reader is."""
    for nothing in (None, 5, b"run.trec"):
        with pytest.raises(EvalframeError, match="is no path"):
            ef.read_run(nothing)  # type: ignore[arg-type]


LARGE = [name for name in FILES if "100 MB" in name]
MEASURED = """
import sys
import evalframe.io as ef
from evalframe.errors import EvalframeError
for read in (f"read_{sys.argv[2]}", f"scan_{sys.argv[2]}"):
    try:
        getattr(ef, read)(sys.argv[1])
    except EvalframeError:
        continue
    raise SystemExit(f"{read} took it")
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has /proc")
@pytest.mark.parametrize("name", LARGE)
def test_a_large_malformed_file_is_refused_in_little_memory(tmp_path: Path, name: str) -> None:
    """100 MB that are no table, in less than half a gigabyte in all."""
    kind, make, _ = FILES[name]
    path = tmp_path / "file.dat"
    path.write_bytes(make())
    command = [sys.executable, "-c", MEASURED, str(path), kind]
    measured = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(measured.stdout) < 500_000


def test_a_quote_in_a_comment_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text('# 5" disks\nqid,docno,rel\nq,"d,1",1\n')
    assert ef.read_qrels(path).rows() == [("q", "d,1", 1)]
    path.write_text('# 5" disks\nqid,docno,rel\nq,"d,1\n')
    with pytest.raises(EvalframeError, match="line 3: a quote opens"):
        ef.read_qrels(path)


def test_a_broken_line_does_not_have_all_others_read_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard library reads no more than the lines around it."""
    monkeypatch.setattr(json_lines, "line_records", None)
    path = tmp_path / "file.jsonl"
    path.write_text('{"_id":"a","text":"some words"}\n' * 30_000 + '{"_id":\n')
    with pytest.raises(EvalframeError, match=r"1 line does not fit(?s:.)*line 30001: "):
        ef.read_queries(path)


def test_a_giant_line_is_left_out_by_the_same_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine, which makes copies of it, does not see it, nor is it kept whole to be shown."""
    monkeypatch.setattr(files, "GIANT", 1 << 12)
    monkeypatch.setattr(json_lines, "GIANT", 1 << 12)
    monkeypatch.setattr(json_lines, "_plan", None)
    path = tmp_path / "run.jsonl"
    good = '{"query_id":"q","doc_id":"d","score":1}\n'
    path.write_text(good + '{"query_id":"' + "x" * (1 << 15) + "\n")
    for read in (ef.read_run, ef.scan_run):
        with pytest.raises(ReadError, match=r"1 line does not fit(?s:.)*line 2: "):
            read(path)
        with pytest.warns(ef.SkippedLinesWarning, match=r"1 line does not fit(?s:.)*line 2: "):
            left = read(path, on_bad_line="skip")
        assert collect(left.lazy()).rows() == [("q", "d", 1)]
    found = evf.audit({"q": {"d": 1}}, path)
    assert found.select("kind", "count").rows() == [("bad_lines", 1)]


LATE: dict[str, tuple[Callable[[pl.DataFrame, Path], None], str, str]] = {
    "gzip cut short": (
        lambda run, path: path.write_bytes(gzip.compress(trec(run))[:-1000]),
        "run.trec.gz",
        r"the gzip data is damaged or cut short",
    ),
    "gzip of a table cut short": (
        lambda run, path: path.write_bytes(gzip.compress(run.write_csv().encode())[:-1000]),
        "run.csv.gz",
        r"the gzip data is damaged or cut short",
    ),
    "latin-1": (
        lambda run, path: path.write_bytes(trec(run) + b"q9 Q0 d\xe9 1 2 t\n"),
        "run.trec",
        r"line 50001: not UTF-8 .*'q9 Q0 d\xe9 1 2 t'",
    ),
    "latin-1 in a table": (
        lambda run, path: path.write_bytes(
            run.write_csv(separator="\t").encode() + b"q9\td\xe9\t1\n"
        ),
        "run.tsv",
        r"line 50002: not UTF-8 .*'q9\\td\xe9\\t1'",
    ),
    "a page of Parquet": (
        lambda run, path: spoilt(run.write_parquet, path),
        "run.parquet",
        "the file is damaged: ",
    ),
    "one of many Parquet files": (
        lambda run, path: spoilt(run.write_parquet, path),
        "run.parquet/1.parquet",
        "the file is damaged: ",
    ),
    "a batch of Arrow": (
        lambda run, path: spoilt(partial(run.write_ipc, compression="zstd"), path),
        "run.arrow",
        "the file is damaged: ",
    ),
}


def trec(run: pl.DataFrame) -> bytes:
    lines = run.select(pl.format("{} Q0 {} 1 {} t", "query_id", "doc_id", "score"))
    return ("\n".join(lines.to_series()) + "\n").encode()


def spoilt(write: Callable[[Path], None], path: Path) -> None:
    """A file whose beginning and end are whole; of a folder, all others are."""
    for place in [path.with_name("0.parquet"), path, path.with_name("2.parquet")]:
        if place == path or path.parent.suffix == ".parquet":
            place.parent.mkdir(exist_ok=True)
            write(place)
    data = bytearray(path.read_bytes())
    data[2_000:3_000] = b"\x07" * 1_000
    path.write_bytes(data)


@pytest.mark.parametrize("name", LATE)
def test_a_plan_that_fails_late_names_its_file(tmp_path: Path, name: str) -> None:
    """Whoever of the house runs it: a report, a file to write, a frame."""
    make, file, message = LATE[name]
    ids = [str(i) for i in range(50_000)]
    run = pl.DataFrame(
        {"query_id": "q", "doc_id": ids, "score": pl.Series(range(50_000), dtype=pl.Float64)}
    )
    make(run, tmp_path / file)
    path = tmp_path / file.partition("/")[0]
    told = f"{re.escape(str(tmp_path / file))}.*{message}"
    with pytest.raises(ReadError, match=told) as error:
        evf.evaluate({"q": {"7": 1}}, ef.scan_run(path), ["mrr"])
    assert len(str(error.value)) < 600
    for target in ("x.parquet", "x.trec", "x.jsonl"):
        with pytest.raises(ReadError, match=told):
            ef.write_run(ef.scan_run(path), tmp_path / target)
    with pytest.raises(ReadError, match=told):
        ef.read_run(path)
    with pytest.raises(ReadError, match=told):
        collect(pl.concat([ef.scan_run(path).select("doc_id"), run.lazy().select("doc_id")]))


def test_a_plan_that_fails_for_another_reason_names_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(RUN)
    plan = ef.scan_run(path).with_columns(pl.col("doc_id").str.json_decode(pl.Int64))
    with pytest.raises(ReadError, match=r"run\.trec: the plan that reads this could not be run"):
        collect(plan)
    with pytest.raises(pl.exceptions.ComputeError):
        collect(pl.LazyFrame({"a": ["b"]}).select(pl.col("a").str.json_decode(pl.Int64)))


def test_a_lazy_plan_fails_rather_than_give_wrong_rows(tmp_path: Path) -> None:
    """Damage below the sample fails the plan when it is collected."""
    for name in (
        "a short line far down",
        "a NUL far down",
        "latin-1 far down",
        "a score that is none",
    ):
        path = tmp_path / "file.trec"
        path.write_bytes(FILES[name][1]())
        with pytest.raises(pl.exceptions.PolarsError):
            ef.scan_run(path).collect()


def test_a_file_of_single_words_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("one\ntwo\n")
    for read in (evf.read_run, evf.scan_run, evf.read_qrels):
        with pytest.raises(ReadError, match=r"words\.txt"):
            read(path)
