"""TSV, CSV, JSON, JSONL, Arrow and Parquet: every frame comes back as it was."""

from __future__ import annotations

import bz2
import csv
import errno
import gzip
import json
import os
import re
import resource
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cbor2
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe import io as ef
from evalframe.engine import collect
from evalframe.errors import ColumnError, FrameError, OptionError, ReadError, RowError
from evalframe.inputs import run_frame, samples_frame
from evalframe.io import SkippedLinesWarning, read_metadata, write_parquet
from evalframe.io.dicts import qrels_to_dict
from evalframe.io.libraries import to_pandas
from evalframe.io.saving import beside

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ANY_ID = TEXT.filter(bool)
PLAIN_ID = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\x00"), min_size=1
).filter(lambda text: text == text.strip(" "))
SCORES = st.floats(allow_nan=False)
RUN_COLUMNS = ["query_id", "doc_id", "score"]


def pairs(ids: Any) -> Any:
    return st.dictionaries(st.tuples(ids, ids), SCORES, min_size=1, max_size=6)


def run_of(rows: dict[tuple[str, str], float]) -> pl.DataFrame:
    return pl.DataFrame(
        [(q, d, s) for (q, d), s in rows.items()],
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
        orient="row",
    )


@settings(max_examples=50, deadline=None)
@given(rows=pairs(ANY_ID))
def test_binary_formats_hold_any_run(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float]
) -> None:
    """Parquet and Arrow give back any ids, any scores, and the order of the rows."""
    frame, folder = run_of(rows), tmp_path_factory.mktemp("trips")
    for name in ("run.parquet", "run.arrow"):
        ef.write_run(frame, folder / name)
        assert ef.read_run(folder / name).equals(frame)
        assert ef.scan_run(folder / name).collect().equals(frame)


@settings(max_examples=50, deadline=None)
@given(rows=pairs(ANY_ID))
def test_json_holds_any_run(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float]
) -> None:
    """JSON and JSONL give back any ids, NUL and line breaks included, and infinite scores."""
    frame, folder = run_of(rows), tmp_path_factory.mktemp("trips")
    for name in ("run.jsonl", "run.jsonl.gz", "run.jsonl.zst", "run.json", "run.json.gz",
                 "run.json.zst"):  # fmt: skip
        ef.write_run(frame, folder / name)
        again = ef.read_run(folder / name)
        assert again.sort("query_id", "doc_id").equals(frame.sort("query_id", "doc_id"))
        assert ef.scan_run(folder / name).collect().equals(again)


@settings(max_examples=80, deadline=None)
@given(rows=pairs(PLAIN_ID))
def test_tables_hold_any_run_without_breaks(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float]
) -> None:
    """TSV and CSV give back quotes, commas, `#` and whatever is no line break or outer blank."""
    frame, folder = run_of(rows), tmp_path_factory.mktemp("trips")
    for name in ("run.tsv", "run.csv", "run.tsv.gz"):
        ef.write_run(frame, folder / name)
        assert ef.read_run(folder / name).equals(frame)
        assert ef.scan_run(folder / name).collect().equals(frame)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(ANY_ID, TEXT, min_size=1, max_size=5))
def test_queries_and_corpus_round_trip(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]
) -> None:
    """Texts of any characters come back from JSONL and Parquet."""
    folder = tmp_path_factory.mktemp("trips")
    frame = pl.DataFrame({"query_id": [*texts], "text": [*texts.values()]}, schema_overrides={})
    for name in ("queries.jsonl", "queries.parquet", "queries.json"):
        ef.write_queries(frame, folder / name)
        assert ef.read_queries(folder / name).equals(frame)
    corpus = frame.rename({"query_id": "doc_id"}).select("doc_id", title="text", text="text")
    for name in ("corpus.jsonl", "corpus.parquet", "corpus.json"):
        ef.write_corpus(corpus, folder / name)
        assert ef.read_corpus(folder / name).equals(corpus)


def test_cells_a_table_would_not_give_back_are_refused(tmp_path: Path) -> None:
    """Tabs, breaks, and ids with outer blanks: nothing is written."""
    for doc in ("a\tb", "a\nb", " a", "a ", "", "a\x00"):
        frame = pl.DataFrame({"query_id": ["q"], "doc_id": [doc], "relevance": [1]})
        with pytest.raises(RowError, match="would not give back"):
            ef.write_qrels(frame, tmp_path / "qrels.tsv")
    assert list(tmp_path.iterdir()) == []


TABLES = {
    "BEIR": "query-id\tcorpus-id\tscore\n001\t7\t1\nq2\t0010\t0\n",
    "stray spaces": "query-id\tcorpus-id \tscore\n001 \t 7\t 1\nq2\t0010\t0 \n",
    "windows": "query-id\tcorpus-id\tscore\r\n001\t7\t1\r\nq2\t0010\t0\r\n",
    "byte order mark": "\ufeffquery-id\tcorpus-id\tscore\n001\t7\t1\nq2\t0010\t0\n",
    "blank lines": "query-id\tcorpus-id\tscore\n001\t7\t1\n\nq2\t0010\t0\n\n",
    "comma": "qid,docno,label\n001,7,1\nq2,0010,0\n",
    "quoted": '"qid","docno","label"\n"001","7",1\n"q2","0010",0\n',
    "semicolon": "qid;docno;rel\n001;7;1\nq2;0010;0\n",
    "blank": "qid docno rel\n001 7 1\nq2 0010 0\n",
    "more columns": "note\tquery-id\tcorpus-id\tscore\nx\t001\t7\t1\ny\tq2\t0010\t0\n",
    "comma, no header": "001,7,1\nq2,0010,0\n",
    "comment above": "# made by hand\nqid,docno,rel\n001,7,1\nq2,0010,0\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_tables_are_read_with_any_separator_and_header(tmp_path: Path, text: str) -> None:
    """Ids stay strings with their zeros, whichever names and marks the file uses."""
    path = tmp_path / "qrels.txt"
    path.write_text(text, encoding="utf-8", newline="")
    assert ef.read_qrels(path).rows() == [("001", "7", 1), ("q2", "0010", 0)]
    assert ef.scan_qrels(path).collect().rows() == [("001", "7", 1), ("q2", "0010", 0)]


def test_unknown_columns_are_settled_by_naming_them(tmp_path: Path) -> None:
    """The error lists what was found; `columns` maps the house's name to the file's."""
    path = tmp_path / "qrels.csv"
    path.write_text("my_q,my_d,my_g\n1,2,3\n")
    with pytest.raises(ColumnError, match="found: 'my_q', 'my_d', 'my_g'"):
        ef.read_qrels(path)
    names = {"query_id": "my_q", "doc_id": "my_d", "relevance": "my_g"}
    assert ef.read_qrels(path, columns=names).rows() == [("1", "2", 3)]
    assert ef.scan_qrels(path, columns=names).collect().rows() == [("1", "2", 3)]


def test_a_fraction_below_the_sample_makes_grades_fractions(tmp_path: Path) -> None:
    """Whole grades stay whole; one 0.5 on the last line is kept, and fails a lazy plan."""
    path = tmp_path / "qrels.tsv"
    text = "qid\tdocno\trel\n" + "".join(f"q\td{i}\t1\n" for i in range(20_000))
    path.write_text(text)
    assert ef.read_qrels(path).schema["relevance"] == pl.Int64
    path.write_text(text + "q\te\t0.5\n")
    assert ef.read_qrels(path)["relevance"].to_list() == [1.0] * 20_000 + [0.5]
    with pytest.raises(pl.exceptions.PolarsError):
        ef.scan_qrels(path).collect()


def test_fractions_in_the_sample_are_kept(tmp_path: Path) -> None:
    """Grades of 0.5 on the first line are no surprise, eager or lazy."""
    path = tmp_path / "qrels.tsv"
    path.write_text("qid\tdocno\trel\nq\td\t0.5\nq\te\t1\n")
    assert ef.read_qrels(path)["relevance"].to_list() == [0.5, 1.0]
    assert ef.scan_qrels(path).collect()["relevance"].to_list() == [0.5, 1.0]


def test_a_lazy_plan_takes_ids_as_strings_from_the_start(tmp_path: Path) -> None:
    """Ids that are numbers on the first 12,000 lines and words below are strings throughout."""
    path = tmp_path / "queries.jsonl"
    lines = [f'{{"_id": {i}, "text": "t"}}' for i in range(12_000)]
    path.write_text("\n".join([*lines, '{"_id": "007", "text": "t"}']))
    ids = ef.scan_queries(path).collect()["query_id"].to_list()
    assert ids[0] == "0"
    assert ids[-1] == "007"


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        ANY_ID,
        st.dictionaries(ANY_ID, st.integers(-(2**62), 2**62), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_ranx_lz4_of_any_grades(
    tmp_path_factory: pytest.TempPathFactory, qrels: dict[str, dict[str, int]]
) -> None:
    """CBOR inside LZ4 inside LZ4, as ranx writes it, gives the same nested dicts."""
    data = cbor2.dumps(qrels)
    for _ in range(2):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as stream:
            stream.write(data)
        data = bytes(sink.getvalue())
    path = tmp_path_factory.mktemp("lz4") / "qrels.lz4"
    path.write_bytes(data)
    assert qrels_to_dict(ef.read_qrels(path)) == qrels


def test_msmarco_texts_without_a_header(tmp_path: Path) -> None:
    """`id<tab>text`, with quotes and commas left alone."""
    path = tmp_path / "queries.tsv"
    path.write_text('1048585\t"what" is, ndcg\n2\t"quoted"\n3\t\n')
    rows = [("1048585", '"what" is, ndcg'), ("2", '"quoted"'), ("3", "")]
    assert ef.read_queries(path).rows() == rows
    assert ef.scan_queries(path).collect().rows() == rows


def test_jsonl_with_bare_nan_and_mixed_ids(tmp_path: Path) -> None:
    """What Python's json writes is read: NaN, ids that are numbers in some lines, late keys."""
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": 1, "text": "a", "x": NaN}\n{"_id": "02", "text": "b", "y": [1]}\n')
    frame = ef.read_queries(path)
    assert frame.select("query_id", "text").rows() == [("1", "a"), ("02", "b")]
    assert frame["x"].to_list()[1] is None
    assert frame["y"].to_list() == [None, [1]]


def test_jsonl_keys_that_come_late_are_kept(tmp_path: Path) -> None:
    """A key that only the last of 20,000 lines has is a column."""
    path = tmp_path / "queries.jsonl"
    lines = [json.dumps({"_id": str(i), "text": "t"}) for i in range(20_000)]
    path.write_text("\n".join([*lines, '{"_id": "z", "text": "t", "late": 1}']))
    assert ef.read_queries(path)["late"].to_list()[-1] == 1


def test_fields_that_only_a_later_object_has_are_kept(tmp_path: Path) -> None:
    """In JSONL, in lists and in columns, with and without what Polars itself cannot read."""
    records = [{"_id": "1", "text": "t", "m": {"a": 1}, "l": [{"a": 1}]},
               {"_id": "2", "text": "t", "m": {"b": "c"}, "l": [{"b": 2}]}]  # fmt: skip
    columns = {name: [record[name] for record in records] for name in records[0]}
    texts = ["".join(json.dumps(record) + "\n" for record in records), json.dumps(records),
             json.dumps(columns)]  # fmt: skip
    texts += [texts[0].replace('"text": "t"', '"text": "t", "x": NaN')]
    for text in texts:
        (tmp_path / "c.json").write_text(text)
        frame = ef.read_corpus(tmp_path / "c.json")
        assert frame["m"].to_list() == [{"a": 1, "b": None}, {"a": None, "b": "c"}]
        assert frame["l"].to_list() == [[{"a": 1, "b": None}], [{"a": None, "b": 2}]]


def test_one_line_of_json_is_a_record_or_a_map(tmp_path: Path) -> None:
    """A lone record, `{id: text}` and nested dicts are told apart."""
    path = tmp_path / "file"
    path.write_text('{"_id": "1", "text": "a"}')
    assert ef.read_queries(path).rows() == [("1", "a")]
    path.write_text('{"1": "a", "2": "b"}')
    assert ef.read_queries(path).rows() == [("1", "a"), ("2", "b")]
    path.write_text('{"_id": "1",\n "text": "a"\n}')
    assert ef.read_queries(path).rows() == [("1", "a")]
    path.write_text('{"qid": [1, 2], "docno": ["d", "e"], "rel": [1, 0]}')
    assert ef.read_qrels(path).rows() == [("1", "d", 1), ("2", "e", 0)]
    many = {f"q{i}": {"d1": i, "d2": 0} for i in range(9000)}
    for text in (
        json.dumps(many),
        json.dumps(many, separators=(",", ":")),
        json.dumps(many, indent=1),
    ):
        path.write_text(text)
        assert ef.read_qrels(path).height == 18_000
    path.write_text('{"_id": "1", "text": "' + "long " * 40_000 + '"}\n{"_id": "2", "text": "b"}')
    assert ef.read_queries(path)["query_id"].to_list() == ["1", "2"]
    path.write_text('{"q1": {"d1": 1}}')
    assert ef.read_qrels(path).rows() == [("q1", "d1", 1)]
    path.write_text('{"q1": ["d1", "d2"]}')
    assert ef.read_run(path)["score"].to_list() == [-1.0, -2.0]


def test_samples_in_the_shapes_that_files_have(tmp_path: Path) -> None:
    """Contexts as objects, references within an object, a conversation, a `data` list."""
    path = tmp_path / "samples.json"
    samples = {
        "version": "1",
        "data": [
            {"id": 7, "input": [{"speaker": "u", "text": "a?"}, {"speaker": "u", "text": "b?"}],
             "contexts": [{"text": "c", "id": "1"}, "d"], "ground_truths": {"text": ["r"]}},
        ],
    }  # fmt: skip
    path.write_text(json.dumps(samples))
    row = ef.read_samples(path).row(0, named=True)
    assert (row["query_id"], row["user_input"]) == ("7", "b?")
    assert (row["retrieved_contexts"], row["references"]) == (["c", "d"], ["r"])


def test_parquet_says_what_it_is(tmp_path: Path) -> None:
    """Kind, version and the writer's own facts are in the file; foreign files have none."""
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    ef.write_run(frame, tmp_path / "run.parquet")
    assert read_metadata(tmp_path / "run.parquet")["kind"] == "run"
    facts = {"contract": {"ties": "trec", "rel": 1}}
    write_parquet(frame.lazy(), tmp_path / "other.parquet", kind="report", metadata=facts)
    assert read_metadata(tmp_path / "other.parquet")["contract"] == facts["contract"]
    frame.write_parquet(tmp_path / "foreign.parquet")
    assert read_metadata(tmp_path / "foreign.parquet") == {}


def test_parquet_cut_by_system_and_by_query(tmp_path: Path) -> None:
    """A folder of parts reads as the whole; a query is in one part, names may be strange."""
    systems = ["bm25", "a/b=c é%", "001"]
    rows = [(s, f"q{i}", f"d{j}", float(j)) for s in systems for i in range(9) for j in range(3)]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "doc_id", "score"], orient="row")
    write_parquet(frame, tmp_path / "cut", kind="run", by_system=True, buckets=3)
    order = ["system", "query_id", "doc_id"]
    assert ef.read_run(tmp_path / "cut").sort(order).equals(frame.sort(order))
    assert ef.scan_run(tmp_path / "cut").collect().sort(order).equals(frame.sort(order))
    assert read_metadata(tmp_path / "cut")["kind"] == "run"
    parts = [
        set(pl.read_parquet(part)["query_id"])
        for part in (tmp_path / "cut" / "system=bm25").glob("*/*.parquet")
    ]
    assert sum(map(len, parts)) == 9
    samples = pl.DataFrame({"query_id": ["a", "b"], "response": ["x", "y"]})
    write_parquet(samples, tmp_path / "samples", buckets=2)
    assert ef.read_samples(tmp_path / "samples").sort("query_id").equals(samples)
    with pytest.raises(ColumnError, match="'system' is needed"):
        write_parquet(frame.drop("system"), tmp_path / "x", by_system=True)


def test_an_existing_file_needs_overwrite_and_survives_a_failure(tmp_path: Path) -> None:
    """Nothing is replaced unasked, and a failed write leaves the old file and no litter."""
    old = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]})
    bad = old.with_columns(doc_id=pl.lit("a b"))
    broken = old.lazy().select(pl.col("query_id").cast(pl.Int64))
    for name in ("q.trec", "q.tsv", "q.jsonl", "q.parquet"):
        path = tmp_path / name
        ef.write_qrels(old, path)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            ef.write_qrels(old, path)
        ef.write_qrels(old, path, overwrite=True)
    with pytest.raises(RowError):
        ef.write_qrels(bad, tmp_path / "q.trec", overwrite=True)
    for path, how in ((tmp_path / "q.parquet", {}), (tmp_path / "cut", {"buckets": 2})):
        if how:
            write_parquet(old, path, **how)
        with pytest.raises(pl.exceptions.PolarsError):
            write_parquet(broken, path, overwrite=True, **how)
        assert ef.read_qrels(path).equals(old)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "cut", "q.jsonl", "q.parquet", "q.trec", "q.tsv",
    ]  # fmt: skip


def test_a_file_is_renamed_into_place(tmp_path: Path) -> None:
    """Whoever holds the old file open still has it whole: it is replaced, not written over."""
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]})
    ef.write_qrels(frame, tmp_path / "q.trec")
    (tmp_path / "held").hardlink_to(tmp_path / "q.trec")
    ef.write_qrels(frame.with_columns(relevance=2), tmp_path / "q.trec", overwrite=True)
    assert (tmp_path / "held").read_text() == "q 0 d 1\n"
    assert (tmp_path / "q.trec").read_text() == "q 0 d 2\n"


def test_a_folder_comes_back_if_its_successor_cannot_be_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old folder is set aside last and put back when the rename fails."""
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]})
    write_parquet(frame, tmp_path / "cut", buckets=2)
    rename = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise PermissionError("no")
        rename(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(PermissionError):
        write_parquet(frame.with_columns(relevance=2), tmp_path / "cut", buckets=2, overwrite=True)
    assert ef.read_qrels(tmp_path / "cut").equals(frame)
    assert [p.name for p in tmp_path.iterdir()] == ["cut"]


def test_a_suffix_without_a_format_is_refused(tmp_path: Path) -> None:
    """The error lists the suffixes there are."""
    frame = pl.DataFrame({"query_id": ["q"], "text": ["t"]})
    for name in ("queries", "queries.xlsx", "queries.trec", "queries.parquet.gz"):
        with pytest.raises(OptionError, match=r"\.parquet, \.arrow, \.jsonl"):
            ef.write_queries(frame, tmp_path / name)


def test_a_folder_of_other_things_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of it")
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0], "system": ["s"]})
    with pytest.raises(FileExistsError, match=r"it holds 'thesis.txt'"):
        ef.write_parquet(run, folder, by_system=True, overwrite=True)
    assert (folder / "thesis.txt").read_text() == "years of it"
    ef.write_parquet(run, tmp_path / "new", by_system=True)
    ef.write_parquet(run, tmp_path / "new", by_system=True, overwrite=True)


def test_nothing_is_written_to_a_uri_as_if_it_were_a_folder(tmp_path: Path) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    for uri in ("s3://bucket/run.parquet", "hf://datasets/run.trec"):
        with pytest.raises(OptionError, match="only files of this machine are written"):
            ef.write_run(run, uri)


def test_a_link_is_followed_when_its_file_is_replaced(tmp_path: Path) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    (tmp_path / "link.parquet").symlink_to(tmp_path / "real.parquet")
    ef.write_run(run, tmp_path / "link.parquet")
    assert (tmp_path / "link.parquet").is_symlink()
    assert ef.read_run(tmp_path / "real.parquet").equals(run)


def test_quotes_that_are_part_of_a_text_stay(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text('query_id\ttext\n1\t"to be" or "not to be"\n2\t"a ""b"" c"\n')
    texts = ef.read_queries(tmp_path / "q.tsv")["text"].to_list()
    assert texts == ['"to be" or "not to be"', 'a "b" c']


def test_a_key_that_stands_twice_in_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"q1": {"d1": 1}, "q1": {"d2": 2}}')
    with pytest.raises(ReadError, match="the key 'q1' stands twice"):
        ef.read_qrels(tmp_path / "q.json")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(PLAIN_ID, st.text("a,\"\n;\r\ufeff'"), st.booleans()), min_size=1, max_size=6
    )
)
def test_bad_rows_of_a_csv_are_counted_whatever_is_quoted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, bool]]
) -> None:
    """Each is told once, by the line that it begins on; the good ones are read."""
    path = tmp_path_factory.mktemp("csv") / "queries.csv"
    text, wanted, bad = "query_id,text\n", [], []
    for at, (query, words, good) in enumerate(rows):
        cells = [f"{at} {query}", words]
        first = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
        if good:
            wanted.append((f"{at} {query}".strip(" \t\r"), words))
        else:
            bad.append(text.count("\n") + 1)
        text += first + ("\n" if good else ",further\n")
    path.write_text(text, encoding="utf-8", newline="")
    if bad:
        with pytest.raises(ReadError, match=f"{len(bad)} lines? do(es)? not fit") as error:
            ef.read_queries(path)
        assert all(f"line {line}: " in str(error.value) for line in bad)
    if wanted and bad:
        with pytest.warns(SkippedLinesWarning):
            assert ef.read_queries(path, on_bad_line="skip").rows() == wanted
        with pytest.warns(SkippedLinesWarning):
            assert ef.scan_queries(path, on_bad_line="skip").collect().rows() == wanted
    elif wanted:
        assert ef.read_queries(path).rows() == wanted


def test_a_plan_of_a_table_names_file_line_and_text(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    text = "# head\nqid\tdocno\trel\n" + "".join(f"q\td{i}\t1\n" for i in range(9000))
    path.write_text(text + "\nq\te\n")
    with pytest.raises(ReadError) as error:
        collect(ef.scan_qrels(path))
    told = "qrels.tsv, line 9004: not what or how the first lines are: q\te"
    assert str(error.value).endswith(told)


BAD_LINES = {
    3: '{"qid":"q","docno":"e","score":"high"}',
    4: '{"qid":"q","score":1}',
    5: '{"qid":"q","docno":"f","score":null}',
    6: '{"qid":"q","docno":"g"',
    7: "[1]",
    9: '{"qid":null,"docno":"i","score":2}',
}


@pytest.mark.parametrize("far", [0, 25_000])
def test_bad_values_of_jsonl_are_told_by_line_or_left_out(tmp_path: Path, far: int) -> None:
    """Whatever is bad about them, whole or as a plan."""
    path = tmp_path / "run.jsonl"
    first = [f'{{"qid":"p","docno":"d{i}","score":1}}' for i in range(far)]
    lines = ["", '{"qid":"q","docno":"d","score":1.5}', *(BAD_LINES[at] for at in (3, 4, 5, 6, 7)),
             '{"qid":"q","docno":"h","score":2}', BAD_LINES[9]]  # fmt: skip
    path.write_text("\n".join([*first, *lines]))
    for door in (ef.read_run, ef.scan_run):
        with pytest.raises(ReadError, match="6 lines do not fit") as error:
            door(path)
        for at, line in BAD_LINES.items():
            assert f"run.jsonl, line {far + at}: {line!r}" in str(error.value)
        with pytest.warns(SkippedLinesWarning, match="6 lines do not fit"):
            rows = door(path, on_bad_line="skip").lazy().collect().rows()
        assert rows[far:] == [("q", "d", 1.5), ("q", "h", 2.0)]
    path.write_text("\n".join([*first, lines[1], *lines[2:5], lines[7]]))
    with pytest.warns(SkippedLinesWarning, match="3 lines do not fit"):
        plan = ef.scan_run(path, on_bad_line="skip")
    assert plan.collect().rows()[far:] == [("q", "d", 1.5), ("q", "h", 2.0)]


def test_a_plan_of_jsonl_knows_late_keys_and_types(tmp_path: Path) -> None:
    """A fraction, a key and an object's field that only the last of 25,000 lines has."""
    path = tmp_path / "queries.jsonl"
    lines = [f'{{"_id": {i}, "text": "t", "x": 1, "m": {{"a": 1}}}}' for i in range(25_000)]
    last = '{"_id": "z", "text": "t", "x": 0.5, "m": {"b": "c"}, "late": [1]}'
    for mark in ("", "\ufeff"):
        path.write_text(mark + "\n".join([*lines, last]), encoding="utf-8")
        frame = ef.scan_queries(path).collect()
        assert frame.equals(ef.read_queries(path))
        assert frame.row(-1) == ("z", "t", 0.5, {"a": None, "b": "c"}, [1])
        assert frame.row(0) == ("0", "t", 1.0, {"a": 1, "b": None}, None)


def test_a_byte_order_mark_belongs_to_an_id_unless_it_begins_the_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["\ufeffq"], "doc_id": ["\ufeffd"], "relevance": [1]})
    for name in ("q.tsv", "q.csv", "q.tsv.gz", "q.jsonl", "q.json", "q.parquet"):
        ef.write_qrels(frame, tmp_path / name)
        assert ef.read_qrels(tmp_path / name).equals(frame), name
        assert ef.scan_qrels(tmp_path / name).collect().equals(frame), name
    (tmp_path / "m.csv").write_text('\ufeff"1","d",1\n"2","d",1\n', encoding="utf-8")
    assert ef.read_qrels(tmp_path / "m.csv").rows() == [("1", "d", 1), ("2", "d", 1)]


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_what_a_cell_cannot_hold_is_refused(tmp_path: Path, suffix: str) -> None:
    """A null text would come back empty; lists have no place. Other nulls come back."""
    path = tmp_path / f"q.{suffix}"
    queries = pl.DataFrame({"query_id": ["1", "2"], "text": ["a", ""], "note": [None, "b"]})
    with pytest.raises(RowError, match="a null text"):
        ef.write_queries(queries.with_columns(text=pl.lit(None, pl.String)), path)
    with pytest.raises(ColumnError, match="'tags'"):
        ef.write_queries(queries.with_columns(tags=pl.lit(["x"])), path)
    assert not path.exists()
    ef.write_queries(queries, path)
    assert ef.read_queries(path).equals(queries)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_a_named_column_that_is_not_there_is_an_error(tmp_path: Path, suffix: str) -> None:
    """It lists what was found, in every format; nothing named is passed over in silence."""
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]})
    ef.write_qrels(frame, tmp_path / f"q.{suffix}")
    for door in (ef.read_qrels, ef.scan_qrels):
        with pytest.raises(
            ColumnError, match="no column 'my_q'; found: 'query_id', 'doc_id', 'rel"
        ):
            door(tmp_path / f"q.{suffix}", columns={"query_id": "my_q"})
        swapped = {"query_id": "doc_id", "doc_id": "query_id"}
        frame = door(tmp_path / f"q.{suffix}", columns=swapped).lazy().collect()
        assert frame.rows() == [("d", "q", 1)]


def test_names_are_known_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("Query_ID,DocNo,REL\n1,d,2\n")
    assert ef.read_qrels(tmp_path / "q.csv").rows() == [("1", "d", 2)]
    both = pl.DataFrame({"Score": [9.0], "query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    both.write_parquet(tmp_path / "r.parquet")
    assert ef.read_run(tmp_path / "r.parquet").rows() == [("q", "d", 1.0)]


def test_a_csv_without_a_header_holds_ids_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("q 1,my doc,1\nq 1,d 2,0\n")
    assert ef.read_qrels(tmp_path / "q.csv").rows() == [("q 1", "my doc", 1), ("q 1", "d 2", 0)]


def test_an_overwritten_file_keeps_who_may_read_it(tmp_path: Path) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0], "system": ["s"]})
    for name, how in (("r.trec", {}), ("r.parquet", {}), ("cut", {"by_system": True})):
        write: Any = partial(write_parquet, **how) if how else ef.write_run
        path = tmp_path / name
        for mode in (0o700 if how else 0o640, 0o750 if how else 0o600):
            write(run, path, overwrite=True)
            path.chmod(mode)
            write(run, path, overwrite=True)
            assert path.stat().st_mode & 0o777 == mode


TARGETS = ["r.parquet", "r.trec", "r.trec.gz", "r.tsv", "r.csv.gz", "r.jsonl", "r.json", "r.arrow"]


@pytest.mark.parametrize("name", [*TARGETS, "plan.parquet", "plan.trec", "cut"])
def test_a_disk_that_is_full_is_told_with_the_path(tmp_path: Path, name: str) -> None:
    """Whatever an engine calls it: a limit on the size of files stands for the full disk."""
    limit = 1 << 16
    n = 20_000
    run = pl.DataFrame({"query_id": [f"q{i}" for i in range(n)]})
    run = run.with_columns(doc_id="query_id", score=pl.int_range(n).hash() / 7)
    run.write_parquet(tmp_path / "source.parquet")
    given = pl.scan_parquet(tmp_path / "source.parquet") if name.startswith("plan") else run
    write: Any = partial(write_parquet, buckets=2) if name == "cut" else ef.write_run
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match=re.escape(f"{str(tmp_path / name)!r}")) as refused:
            write(given, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert refused.value.errno == errno.EFBIG
    assert refused.value.filename == str(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["source.parquet"]


def test_a_folder_that_takes_no_file_is_told_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the name of the hidden folder that was to be made first."""

    def denied(prefix: str, dir: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/{prefix}hidden")

    monkeypatch.setattr(tempfile, "mkdtemp", denied)
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    with pytest.raises(PermissionError) as refused:
        ef.write_run(run, tmp_path / "new" / "run.trec")
    assert refused.value.filename == str(tmp_path / "new" / "run.trec")
    assert [*tmp_path.iterdir()] == []


def test_what_is_wrong_with_a_source_is_not_laid_upon_the_target(tmp_path: Path) -> None:
    missing = pl.scan_parquet(tmp_path / "none.parquet", schema=dict(run_of({}).schema))
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        write_parquet(missing, tmp_path / "new.parquet")
    with pytest.raises(IsADirectoryError, match="mine"), beside(tmp_path / "new"):
        raise IsADirectoryError(errno.EISDIR, "no", "mine")


@pytest.mark.parametrize("uri", ["s3://b/x.parquet", "hf://datasets/a/b/x.trec"])
def test_a_storage_option_that_is_no_text_is_told_as_one(uri: str) -> None:
    options = {"nonsense": 1}
    why = r"storage_options: .*'nonsense'.*keys and values are strings"
    for read in (ef.read_run, ef.scan_run, ef.read_dataset):
        with pytest.raises(OptionError, match=why):
            read(uri, storage_options=options)


def test_a_series_of_pandas_is_a_table_by_its_index() -> None:
    index = pd.MultiIndex.from_tuples([("q", "a"), ("q", "b")], names=["query_id", "doc_id"])
    series = pd.Series([1.0, 0.5], index, name="score")
    assert run_frame(series).rows() == [("q", "a", 1.0), ("q", "b", 0.5)]
    with pytest.raises(ColumnError, match="lacks\n  'score'"):
        run_frame(series.rename(None))
    with pytest.raises(ColumnError, match="no known column of samples"):
        samples_frame(pd.Series([1.0]))


def test_to_pandas_says_what_it_takes() -> None:
    with pytest.raises(FrameError, match="collect it first"):
        to_pandas(pl.LazyFrame({"a": [1]}))  # type: ignore[arg-type]
    with pytest.raises(FrameError, match="it is 3"):
        to_pandas(3)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(rows=pairs(PLAIN_ID.filter(lambda text: "\r" not in text)), header=st.booleans())
def test_a_tsv_with_quotes_around_all_cells_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[str, str], float], header: bool
) -> None:
    """As Python's csv writer makes it, with a header or with the columns named by position."""
    path = tmp_path_factory.mktemp("quoted") / "run.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("query_id", "doc_id", "score")] if header else [])
        writer.writerows((q, d, repr(s)) for (q, d), s in rows.items())
    by_position = {column: f"column_{at}" for at, column in enumerate(RUN_COLUMNS)}
    columns = None if header else by_position
    assert ef.read_run(path, columns=columns).equals(run_of(rows))
    assert collect(ef.scan_run(path, columns=columns), "in-memory").equals(run_of(rows))


def test_a_tsv_of_quotes_and_no_header_is_told_by_position(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text('"q"\t"a ""b"""\t"1.5"\n"q"\t"c"\t"0.5"\n')
    for read in (ef.read_run, ef.scan_run):
        assert collect(read(path).lazy()).rows() == [("q", 'a "b"', 1.5), ("q", "c", 0.5)]
    path.write_text('"q"\t"0"\t"d"\t"1"\n')
    assert ef.read_qrels(path).rows() == [("q", "d", 1)]


@pytest.mark.parametrize("query", ["x^2", "x\x01"])
@pytest.mark.parametrize("second", [" Q0 d2 2 1.0 t", "  Q0 d2 2 1.0 t", " Q0 d2 2 1.0 t u"])
@pytest.mark.parametrize("pack", [None, bz2.compress, gzip.compress])
def test_text_that_begins_like_zlib_is_text(
    query: str, second: str, pack: Callable[[bytes], bytes] | None, tmp_path: Path
) -> None:
    text = f"{query} Q0 d1 1 2.0 t\n{query}{second}\n".encode()
    path = tmp_path / "run.trec"
    path.write_bytes(pack(text) if pack else text)
    rows = [(query, "d1", 2.0), (query, "d2", 1.0)]
    assert evf.read_run(path)[["query_id", "doc_id", "score"]].rows() == rows
    assert evf.scan_run(path).select("query_id", "doc_id", "score").collect().rows() == rows
    assert evf.evaluate({query: {"d2": 1}}, path, ["mrr"]).metrics == {"mrr": 0.5}


def test_a_header_that_begins_like_zlib_is_a_header(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("x^,doc_id,score\nq,d,1\n")
    assert evf.read_run(path, columns={"query_id": "x^"}).rows() == [("q", "d", 1.0)]
