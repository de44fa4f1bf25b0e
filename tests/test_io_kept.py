"""Nothing is lost, merged or taken for something else without a word, on the way in or out."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from tempfile import NamedTemporaryFile

import hypothesis
import polars as pl
import pytest
from hypothesis import strategies as st

import evalframe.io as ef
from evalframe.engine import collect
from evalframe.errors import (
    ColumnError,
    EmptyError,
    EvalframeError,
    FrameError,
    OptionError,
    ReadError,
    RowError,
)
from evalframe.io import json_lines, trec_writing

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
    for other, why in (("a.trec", "'a.trec' is a path; read it with read_run"), (5, "of int")):
        with pytest.raises(FrameError, match=why):
            ef.write_run(other, tmp_path / "x.trec")
    long = written(tmp_path / "long.json", '{"q1":{"d":1},"z":"' + "x" * 10_000 + '"}')
    with pytest.raises(ColumnError) as told:
        ef.read_run(long)
    assert len(str(told.value)) < 500 + len(str(long))


def test_what_can_be_evaluated_can_be_written(tmp_path: Path) -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    for given in (run, RUN.to_pandas(), RUN.to_arrow(), RUN.to_dicts(), RUN.lazy()):
        for name in ("x.trec", "x.jsonl", "x.parquet"):
            ef.write_run(given, tmp_path / name, overwrite=True)
            assert ef.read_run(tmp_path / name).drop("rank", strict=False).equals(RUN)
    ef.write_qrels({"q": {"a": 1}}, tmp_path / "q.tsv")
    assert ef.read_qrels(tmp_path / "q.tsv").rows() == [("q", "a", 1)]
    ef.write_queries({"q": "what?"}, tmp_path / "q.jsonl")
    assert ef.read_queries(tmp_path / "q.jsonl").rows() == [("q", "what?")]
    ef.write_beir(tmp_path / "beir", {"a": "t"}, {"q": "what?"}, {"q": {"a": 1}})
    assert ef.read_beir(tmp_path / "beir").corpus.rows() == [("a", "", "t")]
    ef.write_samples([{"question": "2?", "contexts": [{"text": "x"}]}], tmp_path / "s.parquet")
    assert ef.read_samples(tmp_path / "s.parquet").rows() == [("2?", ["x"])]


def test_a_failed_write_leaves_no_folder_behind(tmp_path: Path) -> None:
    corpus = pl.DataFrame({"doc_id": ["d"], "text": ["t"]})
    queries = pl.DataFrame({"query_id": ["q"], "text": ["t"]})
    qrels = pl.DataFrame({"query_id": ["q\t"], "doc_id": ["d"], "relevance": [1]})
    (tmp_path / "old").mkdir()
    for name in ("old", "new/deep"):
        with pytest.raises(EvalframeError):
            ef.write_beir(tmp_path / name, corpus, queries, qrels)
    with pytest.raises(EmptyError):
        ef.write_parquet(RUN.clear(), tmp_path / "a" / "b", buckets=2)
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


@pytest.mark.parametrize("suffix", ["trec", "trec.gz"])
@pytest.mark.parametrize(
    "first", ["<html>", "<?xml", "{}", "[]", '{"a":', "PAR1", "ARROW1", "BZh91AY&SY", "%PDF-"]
)
def test_ids_that_begin_another_format_are_refused(tmp_path: Path, first: str, suffix: str) -> None:
    qrels = RUN.select("query_id", "doc_id", relevance=pl.lit(1))
    for kind, frame in (("run", RUN), ("qrels", qrels)):
        odd = frame.with_columns(query_id=pl.lit(first))
        path = tmp_path / f"{kind}.{suffix}"
        with pytest.raises(RowError, match="would be read as something else"):
            getattr(ef, f"write_{kind}")(odd, path)
        assert not path.exists()
        getattr(ef, f"write_{kind}")(pl.concat([frame, odd]), path)
        assert getattr(ef, f"read_{kind}")(path)["query_id"].to_list() == ["q", "q", first, first]


@pytest.mark.parametrize("first", ["ORCHID", "BZh9", "[1]", "%PDF"])
def test_words_that_only_resemble_a_format_are_words(tmp_path: Path, first: str) -> None:
    odd = RUN.with_columns(query_id=pl.lit(first))
    ef.write_run(odd, tmp_path / "x.trec")
    assert ef.read_run(tmp_path / "x.trec").drop("rank").equals(odd)


def test_bad_samples_are_told_by_line_or_left_out(tmp_path: Path) -> None:
    good = '{"id":"a","question":"q","contexts":["x"]}'
    bad = ['{"id":"b","question":3}', "{", '{"question":"q"}', '{"id":"c","contexts":"x"}']
    path = written(tmp_path / "s.jsonl", "\n".join([good, "", *bad, good.replace("a", "d")]))
    told = r"4 lines do not fit.*\n.*s\.jsonl, line 3: .*3 is int.*\n.*line 4: '{'\n.*no query_id"
    with pytest.raises(ReadError, match=told):
        ef.read_samples(path)
    with pytest.warns(ef.SkippedLinesWarning, match=told) as warned:
        left = ef.read_samples(path, on_bad_line="skip")
    assert [warning.message.total for warning in warned] == [4]  # type: ignore[union-attr]
    assert left["query_id"].to_list() == ["a", "d"]
    written(path, "\n".join([good, bad[0]]))
    with pytest.raises(RowError, match=r"row 1, 'question'(?s:.)*s\.jsonl, line 2: "):
        ef.read_samples(path)
    written(path, "\n".join([good, good]))
    with pytest.raises(RowError, match="query_id 'a' stands in row 0 too"):
        ef.read_samples(path, on_bad_line="skip")


@pytest.mark.parametrize("suffix", ["trec", "trec.zst"])
def test_a_plan_is_written_as_trec_as_it_runs(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the frame in memory is, whatever the order of rows and however many are held at once."""
    rows = [(f"q{q}", f"d{(7 * d) % 23}", float((5 * d) % 4)) for q in range(9) for d in range(20)]
    run = pl.DataFrame(rows, schema=RUN.schema, orient="row")
    by_system = pl.concat([run.with_columns(system=pl.lit(name)) for name in "ab"])
    for number, frame in enumerate((run, run.sample(fraction=1, shuffle=True, seed=3), by_system)):
        whole, plan = tmp_path / f"{number}.{suffix}", tmp_path / f"{number}.plan.{suffix}"
        ef.write_run(frame, whole)
        for held in (1, 7, 1000):
            monkeypatch.setattr(trec_writing, "ROWS", held)
            ef.write_run(frame.lazy(), plan, overwrite=True)
            assert ef.read_run(plan, system=True).equals(ef.read_run(whole, system=True))
    for wrong, why in ((run.clear(), "no rows"), (pl.concat([run, run[:1]]), "more than once")):
        with pytest.raises(FrameError, match=why):
            ef.write_run(wrong.lazy(), tmp_path / f"wrong.{suffix}")


@pytest.mark.parametrize("name", ["x.parquet", "x.trec", "x.jsonl", "x.arrow"])
def test_a_plan_with_unusable_rows_is_not_written(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "nan.trec", "q Q0 a 1 2 t\nq Q0 b 2 nan t\n")
    spoilt = RUN.with_columns(score=float("nan")).lazy()
    for plan, where in ((ef.scan_run(path), r"nan\.trec.*"), (spoilt, "")):
        with pytest.raises(RowError, match=f"{where}null or NaN"):
            ef.write_run(plan, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_words_in_the_place_of_numbers_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "words.parquet"
    RUN.with_columns(score=pl.lit("high")).write_parquet(path)
    with pytest.raises(
        ColumnError, match=r"words\.parquet: a column holds no numbers: .*'score'"
    ) as no:
        ef.read_run(path)
    assert str(no.value).count(str(path)) == 1
    with pytest.raises(ColumnError, match=r"x\.parquet was not written: .*'score'"):
        ef.write_run(ef.scan_run(path), tmp_path / "x.parquet")


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.json", "x.arrow", "x.parquet"])
def test_a_folder_and_a_column_of_one_name_say_the_same(tmp_path: Path, name: str) -> None:
    """Otherwise one of them would be taken silently."""
    own = {"a": RUN.with_columns(system=pl.lit("a")), "b": RUN.with_columns(system=pl.lit("b"))}
    for folder, rows in own.items():
        ef.write_run(rows, tmp_path / f"system={folder}" / name)
    pattern = tmp_path / "system=*" / name
    assert sorted({*ef.read_run(pattern)["system"]}) == ["a", "b"]
    assert collect(ef.scan_run(pattern)).height == 4
    spoilt = own["b"].with_columns(system=pl.Series(["b", "zz"]))
    ef.write_run(spoilt, tmp_path / "system=b" / name, overwrite=True)
    why = r"folder says system=b, and the file's own column 'system' says something else"
    with pytest.raises(ColumnError, match=rf"{why}.*'zz'"):
        ef.read_run(pattern)
    with pytest.raises((ColumnError, ReadError), match=rf"system=.*{why}"):
        collect(ef.scan_run(pattern))


def test_a_number_is_what_the_folder_says_however_it_is_written(tmp_path: Path) -> None:
    texts = pl.DataFrame({"_id": ["d"], "text": ["x"], "month": [1], "day": [date(2024, 1, 1)]})
    folder = tmp_path / "month=01" / "day=1st"
    folder.mkdir(parents=True)
    texts.write_parquet(folder / "x.parquet")
    assert ef.read_corpus(tmp_path)["month"].to_list() == ["01"]
    texts.with_columns(month=2).write_parquet(folder / "x.parquet")
    with pytest.raises(ColumnError, match=r"the folder says month=01.*such as 2"):
        ef.read_corpus(tmp_path)


@pytest.mark.parametrize("spaced", ["", " "])
def test_a_key_that_stands_twice_is_refused_in_every_json(tmp_path: Path, spaced: str) -> None:
    """Wherever it stands, whatever other keys the lines lack; a value may be called like a key."""
    good = '{"query_id":"score","doc_id":"\\"score\\"","score":3}'
    twice = f'{{"query_id":"q","doc_id":"d","score"{spaced}:1,"score"{spaced}:2}}'
    why = r"line 2: (?s:.)*the key 'score' stands twice"
    for more in ("", '{"query_id":"q","doc_id":"e","score":1,"rank":2}\n'):
        path = written(tmp_path / "run.jsonl", f"{good}\n{twice}\n{more}")
        for read in (ef.read_run, ef.scan_run):
            with pytest.raises(ReadError, match=why):
                read(path)
            with pytest.warns(ef.SkippedLinesWarning, match=why):
                left = collect(read(path, on_bad_line="skip").lazy())
            assert left.rows()[0][:3] == ("score", '"score"', 3.0)
            assert left.height == (2 if more else 1)
    for read in (ef.read_run, ef.scan_run):
        kept = read(written(tmp_path / "good.jsonl", good + "\n"))
        assert collect(kept.lazy()).rows() == [("score", '"score"', 3.0)]
    with pytest.raises(ReadError, match="the key 'score' stands twice"):
        ef.read_run(written(tmp_path / "run.json", f"[{twice}]"))


def test_a_key_within_an_object_may_be_called_like_one_of_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without all lines being looked at once more."""
    monkeypatch.setattr(json_lines, "what_is_lost", None)
    line = '{"_id":"d","title":"t","text":"x","metadata":[{"title":"u"}]}'
    corpus = ef.read_corpus(written(tmp_path / "corpus.jsonl", f"{line}\n"))
    assert corpus.rows() == [("d", "t", "x", [{"title": "u"}])]


def test_a_sample_with_a_key_twice_is_told_by_it(tmp_path: Path) -> None:
    path = written(tmp_path / "samples.jsonl", '{"question":"a","question":"b"}\n')
    for on_bad_line in ("error", "skip"):
        with pytest.raises(ReadError, match=r"line 1: .*the key 'question' stands twice"):
            ef.read_samples(path, on_bad_line=on_bad_line)


@hypothesis.given(
    st.lists(
        st.none()
        | st.integers(-(2**70), 2**70)
        | st.sampled_from([2**53 + 1, 0.5, 1e300])
        | st.floats(allow_nan=False, allow_infinity=False),
        min_size=1,
    )
)
def test_numbers_of_samples_are_never_rounded(values: list[float | None]) -> None:
    """A further column is numbers as they are, or else their JSON."""
    rows = [{"response": "x", "n": value} for value in values]
    with NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        read = ef.read_samples(file.name)["n"].to_list()
    assert [json.loads(v) if isinstance(v, str) else v for v in read] == values


@pytest.mark.parametrize("values", [[2**53 + 1, 0.5], [0.5, 2**53 + 1]])
def test_numbers_of_sample_dicts_are_not_rounded(values: list[float]) -> None:
    rows = [{"response": "x", "n": value} for value in values]
    with pytest.raises(ColumnError, match=r"'n' of the samples holds (what no|whole numbers that)"):
        ef.write_samples(rows, "never.jsonl")


def test_an_empty_id_is_none(tmp_path: Path) -> None:
    """Whether it is quoted, padded or simply not there."""
    for name, mark, cells in (
        ("x.tsv", "\t", ["", "  ", '""']),
        ("x.csv", ",", ["", "  ", '""', '"  "']),
        ("y.csv", ";", ["", '""']),
    ):
        for cell in cells:
            rows = [["query_id", "doc_id", "score"], ["q", cell, "1"], ["q", "d", "2"]]
            path = written(tmp_path / name, "".join(mark.join(row) + "\n" for row in rows))
            with pytest.raises(ReadError, match=r"1 line does not fit(?s:.)*line 2"):
                ef.read_run(path)
            with pytest.raises(ReadError, match=r"(line|row) 2"):
                collect(ef.scan_run(path))
            with pytest.warns(ef.SkippedLinesWarning, match="1 line does not fit"):
                assert ef.read_run(path, on_bad_line="skip").rows() == [("q", "d", 2.0)]


def test_of_two_names_of_one_column_the_first_known_is_taken(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", "docno,qid,query_id,doc_id,score\ne,p,q,d,1\n")
    assert ef.read_run(path).rows() == [("q", "d", 1.0)]
    assert ef.read_run(path, columns={"query_id": "qid"}).rows() == [("p", "d", 1.0)]
