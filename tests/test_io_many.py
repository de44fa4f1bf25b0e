"""Patterns and folders: each file is read as what it is, and all are one frame by name."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe import audit
from evalframe import io as ef
from evalframe.engine import collect
from evalframe.errors import ColumnError, ReadError, RowError
from evalframe.io import write_parquet

Contents = str | bytes | pl.DataFrame


def put(path: Path, data: Contents) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, pl.DataFrame):
        data.write_parquet(path)
    else:
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def both(kind: str, path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """The rows of a path, which a plan must give, too."""
    rows = getattr(ef, f"read_{kind}")(path, **options).rows()
    assert collect(getattr(ef, f"scan_{kind}")(path, **options)).rows() == rows
    return rows


def pair(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({name: [value] for name, value in columns.items()})


WRITTEN: dict[str, Callable[[str, str, int], Contents]] = {
    "tsv": lambda q, d, g: f"query-id\tcorpus-id\tscore\n{q}\t{d}\t{g}\n",
    "swapped.tsv": lambda q, d, g: f"corpus-id\tquery-id\tscore\n{d}\t{q}\t{g}\n",
    "headerless.tsv": lambda q, d, g: f"{q}\t0\t{d}\t{g}\n",
    "csv": lambda q, d, g: f'rel,"docno",qid\n{g},"{d}",{q}\n',
    "marked.trec.gz": lambda q, d, g: gzip.compress(f"\ufeff{q} 0 {d} {g}\n".encode()),
    "jsonl": lambda q, d, g: f'{{"qid": "{q}", "docno": "{d}", "rel": {g}}}\n',
    "json": lambda q, d, g: f'{{"{q}": {{"{d}": {g}}}}}',
    "parquet": lambda q, d, g: pair(rel=g, doc_id=d, qid=q),
    "other.parquet": lambda q, d, g: pair(qid=q, docid=d, label=float(g), note="x"),
}
IDS = st.text("ab01", min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*WRITTEN]), IDS, IDS, st.integers(0, 3)),
        min_size=1,
        max_size=6,
        unique_by=lambda row: row[1:3],
    )
)
def test_each_file_of_a_pattern_is_read_by_its_own_header(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, str, str, int]]
) -> None:
    """Whatever stands beside a file, its rows are those that it has by itself."""
    folder = tmp_path_factory.mktemp("many")
    for at, (form, query, doc, grade) in enumerate(files):
        put(folder / f"{at:02}.{form}", WRITTEN[form](query, doc, grade))
    assert both("qrels", folder / "*") == [(q, d, g) for _, q, d, g in files]


def test_parquet_files_of_other_columns_are_united_by_name(tmp_path: Path) -> None:
    """Other names, orders and types; what only some have is left out or null; empty parts count."""
    put(tmp_path / "1.parquet", pair(qid="a", docno="d", score=1.0, rank=1))
    put(tmp_path / "2.parquet", pair(score=2, docid="e", qid="a", extra=1))
    put(tmp_path / "3.parquet", pair(docno="f", score=3.0, qid="a").clear())
    put(tmp_path / "4.parquet", pair(docno=7, score=3.0, qid="b"))
    rows = [("a", "d", 1.0), ("a", "e", 2.0), ("b", "7", 3.0)]
    assert both("run", tmp_path / "*.parquet") == both("run", tmp_path) == rows
    for name, note in (("1", "x"), ("2", None)):
        text = pair(_id=name, text="t", **({"note": note} if note else {}))
        put(tmp_path / "corpus" / f"{name}.parquet", text)
    rows = [("1", "t", "x"), ("2", "t", None)]
    assert both("corpus", tmp_path / "corpus" / "*.parquet") == rows


@pytest.mark.parametrize(
    ("kind", "first", "second", "told"),
    [
        ("run", pair(qid="a", docno="d", score=1.0), pair(qid="a", docno="d", nope=1.0),
         r"2\.parquet: the run frame lacks\n  'score'(.|\n)*found: 'qid', 'docno', 'nope'"),
        ("run", pair(qid="a", docno="d", score=1.0, tag="x"), pair(qid="a", docno="d", score=1.0),
         r"1\.parquet has a column 'system', and .*2\.parquet has none"),
        ("corpus", pair(_id="a", text="t", meta={"x": 1}), pair(_id="b", text="t", meta="s"),
         r"column 'meta' is Struct.* in .*1\.parquet, and String in .*2\.parquet"),
    ],
)  # fmt: skip
def test_the_file_that_differs_is_named(
    tmp_path: Path, kind: str, first: pl.DataFrame, second: pl.DataFrame, told: str
) -> None:
    put(tmp_path / "1.parquet", first)
    put(tmp_path / "2.parquet", second)
    for door in ("read", "scan"):
        with pytest.raises(ColumnError, match=told):
            getattr(ef, f"{door}_{kind}")(tmp_path / "*.parquet")


def test_a_bad_row_is_told_with_the_file_it_stands_in(tmp_path: Path) -> None:
    put(tmp_path / "a.trec", "q 0 d 1\n")
    put(tmp_path / "b.csv", "qid,docno,rel\nq,e,1\nq,f\n")
    with pytest.raises(ReadError, match=r"b\.csv, line 3: 'q,f'"):
        ef.read_qrels(tmp_path / "*")
    put(tmp_path / "b.csv", "qid,docno,rel\nq,d,1\n")
    with pytest.raises(RowError, match=r"\*: the qrels frame has 2 rows whose .* more than once"):
        ef.read_qrels(tmp_path / "*")
    assert ef.read_qrels(tmp_path / "*", duplicates="best").height == 1


@pytest.mark.parametrize("pattern", ["*/*.parquet", "system=*/part.parquet", "**/*.parquet", ""])
def test_folder_keys_are_columns_through_a_pattern(tmp_path: Path, pattern: str) -> None:
    """Below what was named; the keys of the folders above are nobody's columns."""
    root = tmp_path / "run_date=2026" / "cut"
    for system in ("001", "x"):
        put(root / f"system={system}" / "part.parquet", pair(qid="a", docno="d", score=1.0))
    rows = [("001", "a", "d", 1.0), ("x", "a", "d", 1.0)]
    assert both("run", root / pattern) == rows
    assert both("run", root / "system=x" / "*.parquet") == [("a", "d", 1.0)]
    for language in ("de", "en"):
        put(root / "texts" / f"lang={language}" / "part.parquet", pair(_id=language, text="t"))
    texts = ef.read_corpus(root / "texts" / pattern.replace("system", "lang"))
    assert texts.to_dict(as_series=False) == {
        "doc_id": ["de", "en"], "text": ["t", "t"], "lang": ["de", "en"],
    }  # fmt: skip


def test_a_name_with_brackets_is_a_name(tmp_path: Path) -> None:
    """A file that is there is read, and not what its name would match."""
    for name in ("run[1].trec", "run[1].jsonl", "run[1].parquet", "run[1].csv", "run[1].arrow"):
        for path, doc in ((tmp_path / name, "mine"), (tmp_path / name.replace("[1]", "1"), "not")):
            ef.write_run(pair(query_id="q", doc_id=doc, score=1.5), path)
        assert ef.read_run(tmp_path / name)["doc_id"].to_list() == ["mine"]
        assert ef.scan_run(tmp_path / name).collect()["doc_id"].to_list() == ["mine"]
    assert ef.read_metadata(tmp_path / "run[1].parquet")["kind"] == "run"


def test_an_audit_takes_a_pattern(tmp_path: Path) -> None:
    put(tmp_path / "a.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    put(tmp_path / "b.csv", "docno,rel,qid\nd2,1,q2\n")
    assert audit(tmp_path / "*", {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}).height == 0


def test_rows_keep_their_order_within_the_parts_of_a_folder(tmp_path: Path) -> None:
    """Parts follow each other by name; within a part rows stand as they stood."""
    n = pl.int_range(200_000, eager=True)
    run = pl.DataFrame(
        {"system": "s" + (n * 7919 % 3).cast(pl.String), "query_id": (n // 10).cast(pl.String),
         "doc_id": (n % 10).cast(pl.String), "score": -n.cast(pl.Float64)}
    )  # fmt: skip
    for data, name in ((run, "eager"), (run.lazy(), "lazy")):
        write_parquet(data, tmp_path / name, kind="run", by_system=True)
        assert ef.read_run(tmp_path / name).equals(run.sort("system", maintain_order=True))


def test_a_users_own_column_is_not_taken_for_a_folders(tmp_path: Path) -> None:
    queries = pair(query_id="1", text="a", query_bucket=5)
    ef.write_queries(queries, tmp_path / "q.parquet")
    assert ef.read_queries(tmp_path / "q.parquet").equals(queries)
    with pytest.raises(ColumnError, match="query_bucket"):
        write_parquet(queries, tmp_path / "cut", buckets=2)


def test_objects_without_a_field_become_nulls_in_parquet(tmp_path: Path) -> None:
    """BEIR's `"metadata": {}`, which Parquet cannot hold, at any depth."""
    line = '{{"_id": "{0}", "text": "t", "metadata": {{}}, "more": {{"x": {{}}, "y": {0}}}}}\n'
    put(tmp_path / "c.jsonl", line.format(1) + line.format(2))
    corpus = ef.read_corpus(tmp_path / "c.jsonl")
    ef.write_corpus(corpus, tmp_path / "c.parquet")
    again = ef.read_corpus(tmp_path / "c.parquet")
    assert again["metadata"].to_list() == [None, None]
    assert again["more"].to_list() == [{"x": None, "y": 1}, {"x": None, "y": 2}]
    ef.write_corpus(corpus, tmp_path / "again.jsonl")
    assert ef.read_corpus(tmp_path / "again.jsonl").equals(corpus)
