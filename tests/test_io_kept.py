"""Nothing is lost, merged or taken for something else without a word, on the way in or out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evalframe.io as ef
from evalframe.engine import collect
from evalframe.errors import ColumnError, EmptyError, FrameError, OptionError, ReadError

RUN = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("mark", [",", ";"])
def test_commas_within_the_words_of_trec_are_no_csv(tmp_path: Path, mark: str) -> None:
    tag = mark.join(["bm25", "0.9", "0.4"])
    ef.write_run(RUN, tmp_path / "x.trec", tag=tag)
    read = ef.read_run(tmp_path / "x.trec", system=True)
    assert read.rows() == [(tag, "q", "a", 2.0, 1), (tag, "q", "b", 1.0, 2)]
    assert collect(ef.scan_run(tmp_path / "x.trec")).rows() == read.drop("system").rows()
    plain = written(tmp_path / "plain.trec", f"q1 0 d{mark}x{mark}1 1\nq1 it d{mark}y{mark}1 0\n")
    assert ef.read_qrels(plain)["doc_id"].to_list() == [f"d{mark}x{mark}1", f"d{mark}y{mark}1"]
    with pytest.raises(ReadError, match="five columns"):
        ef.read_qrels(written(tmp_path / "five", f"q1 0 d1 1 note{mark}x{mark}1\n"))
    spaced = written(tmp_path / "spaced.csv", f"my q{mark} d 1{mark} 1\nmy q{mark} d 2{mark} 0\n")
    assert ef.read_qrels(spaced)["doc_id"].to_list() == ["d 1", "d 2"]


def test_json_refuses_the_columns_it_would_lose(tmp_path: Path) -> None:
    queries = pl.DataFrame({"query_id": ["q"], "text": ["t"], "kind": ["k"], "level": [1]})
    with pytest.raises(OptionError, match=r"no place for 'kind', 'level'; write \.jsonl"):
        ef.write_queries(queries, tmp_path / "q.json")
    swapped = RUN.with_columns(rank=pl.Series([2, 1]))
    with pytest.raises(OptionError, match="no place for 'rank'"):
        ef.write_run(swapped, tmp_path / "r.json")
    ef.write_run(RUN.with_columns(rank=pl.Series([1, 2])), tmp_path / "r.json")
    assert ef.read_run(tmp_path / "r.json").rows() == RUN.rows()


def test_half_a_character_is_refused_in_every_json(tmp_path: Path) -> None:
    good = r'{"_id":"b","text":"\ud83d\ude00 \\ud83d"}'
    lines = written(tmp_path / "a.jsonl", r'{"_id":"a\ud83d","text":"x"}' + f"\n{good}\n")
    for read in (ef.read_queries, ef.scan_queries, ef.read_samples):
        with pytest.raises(ReadError, match=r"a\.jsonl: 1 line(?s:.)*half a character"):
            read(lines)
        with pytest.warns(ef.SkippedLinesWarning, match="half a character"):
            left = read(lines, on_bad_line="skip")
        assert collect(left.lazy()).height == 1
    for text in (r'[{"_id":"a\ud83d","text":"x"}]', r'{"a\uDE00":"x"}'):
        with pytest.raises(ReadError, match=r"b\.json: .*half a character"):
            ef.read_queries(written(tmp_path / "b.json", text))
    whole = written(tmp_path / "c.json", f"[{good}]")
    for path in (whole, written(tmp_path / "c.jsonl", f"{good}\n")):
        assert ef.read_queries(path)["text"].to_list() == ["\U0001f600 \\ud83d"]


@pytest.mark.parametrize("name", ["x.trec", "x.csv", "x.jsonl", "x.json", "x.arrow", "x.parquet"])
def test_folders_name_the_systems_in_every_format(tmp_path: Path, name: str) -> None:
    for folder, rows in (("system=a%2Fb", RUN.head(1)), ("system=bm25", RUN.tail(1))):
        ef.write_run(rows, tmp_path / folder / name)
    pattern = tmp_path / "system=*" / name
    wanted = [("a/b", "q", "a", 2.0), ("bm25", "q", "b", 1.0)]
    columns = ["system", "query_id", "doc_id", "score"]
    assert ef.read_run(pattern).select(columns).rows() == wanted
    assert collect(ef.scan_run(pattern).select(columns).sort("system")).rows() == wanted
    assert "system" not in ef.read_run(tmp_path / "system=bm25" / name).columns
    renamed = {"system": "engine"}
    (tmp_path / "system=bm25").rename(tmp_path / "engine=bm25")
    found = ef.read_run(tmp_path / "engine=*" / name, columns=renamed)
    assert found.select(columns).rows() == wanted[1:]


def test_one_line_of_jsonl_is_a_record(tmp_path: Path) -> None:
    text = '{"n":"1","say":"hello"}'
    names = {"query_id": "n", "text": "say"}
    for name in ("q.jsonl", "q.ndjson", "q.json"):
        path = written(tmp_path / name, text)
        assert ef.read_queries(path, columns=names).rows() == [("1", "hello")]
        assert collect(ef.scan_queries(path, columns=names)).rows() == [("1", "hello")]
    with pytest.raises(ColumnError, match="found: 'n', 'say'"):
        ef.read_queries(tmp_path / "q.jsonl")
    assert ef.read_queries(tmp_path / "q.json").rows() == [("n", "1"), ("say", "hello")]


def test_a_file_that_says_it_is_a_run_is_not_read_as_qrels(tmp_path: Path) -> None:
    ef.write_run(RUN, tmp_path / "r.parquet")
    for read in (ef.read_qrels, ef.scan_qrels):
        with pytest.raises(ColumnError, match=r"r\.parquet: this file says that it holds a run"):
            read(tmp_path / "r.parquet")
    meant = ef.read_qrels(tmp_path / "r.parquet", columns={"relevance": "score"})
    assert meant["relevance"].to_list() == [2.0, 1.0]
    with pytest.raises(OptionError, match="kind='zzz' is not offered"):
        ef.write_parquet(RUN, tmp_path / "x.parquet", kind="zzz")
    with pytest.raises(ColumnError, match="kind='qrels': there is no column 'relevance'"):
        ef.write_parquet(RUN, tmp_path / "x.parquet", kind="qrels")
    with pytest.raises(ColumnError, match="kind='run': there is no column 'score'"):
        ef.write_parquet(RUN.drop("score"), tmp_path / "x.parquet", kind="run")


@pytest.mark.parametrize("tag", ["", "a b", "a\nb", "a\tb", "a\x00b"])
def test_a_tag_is_one_word(tmp_path: Path, tag: str) -> None:
    with pytest.raises(OptionError, match="cannot stand in TREC's format"):
        ef.write_run(RUN, tmp_path / "x.trec", tag=tag)


def test_folders_that_nothing_could_read_are_not_made(tmp_path: Path) -> None:
    empty = RUN.with_columns(system=pl.lit("s")).clear()
    for cut in ({"by_system": True}, {"buckets": 3}):
        for frame in (empty, empty.lazy()):
            with pytest.raises(EmptyError, match="the frame to cut has no rows"):
                ef.write_parquet(frame, tmp_path / "cut", **cut)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"buckets=1\.5 must be a whole number"):
        ef.write_parquet(RUN, tmp_path / "cut", buckets=1.5)  # type: ignore[arg-type]
    assert [*tmp_path.iterdir()] == []


def test_mistakes_are_told_in_words_of_the_house(tmp_path: Path) -> None:
    twice = written(tmp_path / "twice.json", '{"q1":{"d1":1,"d1":2}}')
    with pytest.raises(ReadError, match=r"twice\.json: the key 'd1' stands twice"):
        ef.read_qrels(twice)
    with pytest.raises(OptionError, match="columns='foo': a mapping is wanted"):
        ef.read_qrels(twice, columns="foo")  # type: ignore[arg-type]
    deep = written(tmp_path / "deep.jsonl", '{"_id":' + "[" * 100_000 + "\n" + '{"_id":"a"}\n')
    with pytest.raises(ReadError, match=r"deep\.jsonl"):
        ef.read_queries(deep)
    with pytest.raises(OptionError, match="metadata cannot be written as JSON"):
        ef.write_parquet(RUN, tmp_path / "x.parquet", metadata={"a": object()})
    RUN.write_parquet(tmp_path / "null.parquet", metadata={"evalframe": "null"})
    with pytest.raises(ReadError, match=r"null\.parquet: its metadata is damaged"):
        ef.read_metadata(tmp_path / "null.parquet")
    with pytest.raises(FrameError, match="this is dict"):
        ef.write_run({"q": {"a": 1.0}}, tmp_path / "x.trec")  # type: ignore[arg-type]
    long = written(tmp_path / "long.json", '{"q1":{"d":1},"z":"' + "x" * 10_000 + '"}')
    with pytest.raises(ColumnError) as told:
        ef.read_run(long)
    assert len(str(told.value)) < 500 + len(str(long))
