"""The laws of a closer look at samples: the plain counts, nobody lost, every text escaped."""

from __future__ import annotations

import html
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe.errors import ColumnError, EmptyError, MetricError, OptionError
from evalframe.samples import covering as covering_room
from evalframe.samples import differing as differing_room
from evalframe.samples import (
    explain_sample,
    passage_coverage,
    per_sample,
    token_differences,
    two_by_two,
)
from evalframe.samples.marking import marked, matched_spans, spans_of
from evalframe.text import PROFILES, Profile, tokens

from .benchmarks import rag as plain
from .test_samples import SAMPLES, WORDS, frame_of, references_of

FEW_WORDS = st.lists(st.sampled_from(["x", "y", "Z!", "the"]), max_size=5).map(" ".join)
DENSE = st.lists(
    st.fixed_dictionaries(
        {
            "response": FEW_WORDS,
            "reference": st.none(),
            "references": st.lists(FEW_WORDS, min_size=1, max_size=3),
            "retrieved_contexts": st.lists(FEW_WORDS, max_size=3),
            "reference_contexts": st.lists(FEW_WORDS, max_size=3),
            "retrieved_context_ids": st.none(),
            "reference_context_ids": st.none(),
        }
    ),
    min_size=1,
    max_size=8,
)
"""Samples whose texts share most of their words."""
TEXT = WORDS | st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(SAMPLES | DENSE, st.sampled_from(PROFILES))
def test_differences_are_those_of_bags(rows: list[dict[str, Any]], profile: Profile) -> None:
    """Missing and extra tokens are the two bags' differences; F1 and index are `per_sample`'s."""
    frame = frame_of(rows)
    found = token_differences(frame, profile=profile)
    scored = per_sample(frame, "token_f1", profile=profile)
    assert found["query_id"].equals(scored["query_id"])
    assert found["token_f1"].equals(scored["token_f1"])
    assert found["best_reference"].equals(scored["best_reference"])
    for row, got in zip(rows, found.to_dicts(), strict=True):
        ours = Counter(tokens(row["response"] or "", profile))
        text = got["best_reference_text"]
        if got["token_f1"] is None:
            assert [got[name] for name in ("missing", "extra", "n_shared", "n_extra")] == [None] * 4
            assert text is None
            continue
        assert text in references_of(row, profile)
        theirs = Counter(tokens(text, profile))
        assert Counter(got["missing"]) == theirs - ours
        assert Counter(got["extra"]) == ours - theirs
        assert got["n_shared"] == (ours & theirs).total()
        assert got["n_missing"] == len(got["missing"])
        assert got["n_extra"] == len(got["extra"])


def test_differences_by_hand() -> None:
    """In the order of the text; of a token that is there too often the last are extra."""
    row = {"response": "no, yes, no and maybe", "references": ["Lyon", "maybe no, or never no no"]}
    found = token_differences([row]).to_dicts()[0]
    assert found["missing"] == ["or", "never", "no"]
    assert found["extra"] == ["yes", "and"]
    assert (found["n_shared"], found["best_reference"]) == (3, 1)
    silent = token_differences([{"response": None, "reference": "the cat"}]).to_dicts()[0]
    assert (silent["missing"], silent["extra"], silent["token_f1"]) == (["cat"], [], 0.0)


def test_an_unanswerable_question_has_the_empty_reference() -> None:
    """Under SQuAD 2.0 whatever is said to it is extra, and silence is right."""
    rows = [{"response": "a guess", "references": []}, {"response": "", "references": []}]
    found = token_differences(rows, profile="squad_v2")
    assert found["extra"].to_list() == [["guess"], []]
    assert found["missing"].to_list() == [[], []]
    assert found["token_f1"].to_list() == [0.0, 1.0]
    assert found["best_reference"].to_list() == [None, None]
    assert token_differences(rows)["extra"].to_list() == [None, None]


@settings(max_examples=60, deadline=None)
@given(SAMPLES | DENSE, st.sampled_from(PROFILES), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_coverage_is_that_of_bags(
    rows: list[dict[str, Any]], profile: Profile, threshold: float
) -> None:
    """Each context's share of each passage, and with them the metric's value of the sample."""
    frame = frame_of(rows)
    found = passage_coverage(frame, threshold, profile=profile)
    want = []
    for number, row in enumerate(rows):
        came = [text or "" for text in row["retrieved_contexts"] or []]
        for passage, gold in enumerate(row["reference_contexts"] or []):
            wanted = Counter(tokens(gold or "", profile))
            for context in range(len(came)) if came else [None]:
                held = Counter() if context is None else Counter(tokens(came[context], profile))
                n = (wanted & held).total()
                share = n / wanted.total() if wanted else None
                covered = None if share is None else share >= threshold
                want.append((str(number), passage, context, wanted.total(), n, share, covered))
    assert found.rows() == want
    metric = f"context_coverage@{threshold}"
    scored = dict(per_sample(frame, metric, profile=profile).select("query_id", metric).rows())
    by_passage = found.group_by("query_id", "passage").agg(
        pl.col("covered").any(ignore_nulls=False)
    )
    means = by_passage.drop_nulls().group_by("query_id").agg(pl.col("covered").mean())
    assert dict(means.rows()) == {key: value for key, value in scored.items() if value is not None}


def test_coverage_by_hand() -> None:
    """Passages in order, and in each the contexts; tokens count as often as the passage has them.

    A share that just reaches the threshold covers.
    """
    row = {
        "retrieved_contexts": ["x x x y", "the a!"],
        "reference_contexts": ["x x y z", "!", "b c d e a"],
    }
    assert passage_coverage([row], 0.75).drop("query_id").rows() == [
        (0, 0, 4, 3, 0.75, True),
        (0, 1, 4, 0, 0.0, False),
        (1, 0, 0, 0, None, None),
        (1, 1, 0, 0, None, None),
        (2, 0, 4, 0, 0.0, False),
        (2, 1, 4, 0, 0.0, False),
    ]
    bare = passage_coverage([{**row, "retrieved_contexts": None}]).drop("query_id")
    assert bare.rows() == [
        (0, None, 4, 0, 0.0, False),
        (1, None, 0, 0, None, None),
        (2, None, 4, 0, 0.0, False),
    ]


def test_a_threshold_is_a_share() -> None:
    """Thresholds and frames that cannot be are refused by name."""
    rows = [{"retrieved_contexts": ["x"], "reference_contexts": ["x"]}]
    for threshold in (0, -1, 1.1, "much", None):
        with pytest.raises(MetricError, match="the threshold is a share"):
            passage_coverage(rows, threshold)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="no 'reference_contexts'"):
        passage_coverage([{"retrieved_contexts": ["x"]}])


def test_pieces_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples looked at in pieces, or out of a lazy frame or a report, are looked at alike."""
    frame = plain.samples(60)
    differences, coverage = token_differences(frame), passage_coverage(frame)
    assert differences.height == 60
    report = evf.evaluate_rag(frame, metrics=["exact_match"])
    for source in (frame.lazy(), report):
        assert token_differences(source).equals(differences)
        assert passage_coverage(source).equals(coverage)
    for room in (differing_room, covering_room):
        monkeypatch.setattr(room, "ROWS_TOGETHER", 7)
        monkeypatch.setattr(room, "BYTES_TOGETHER", 10_000)
    assert token_differences(frame).equals(differences)
    assert passage_coverage(frame).equals(coverage)


def test_systems_stay_apart() -> None:
    """Samples of several systems keep their system in every row."""
    rows = [
        {"system": s, "query_id": "q", "response": s, "reference": "a1", "reference_contexts": [s]}
        for s in ("a1", "b1")
    ]
    found = token_differences(rows)
    assert found.columns[:2] == ["system", "query_id"]
    assert found.select("system", "n_missing").rows() == [("a1", 0), ("b1", 1)]
    assert passage_coverage(rows)["system"].to_list() == ["a1", "b1"]
    assert explain_sample(rows, "q", system="b1").response == "b1"
    with pytest.raises(OptionError, match=r"choose one with system=, of \['a1', 'b1'\]"):
        explain_sample(rows, "q")
    with pytest.raises(OptionError, match=r"system='c': sample 'q' is of \['a1', 'b1'\]"):
        explain_sample(rows, "q", system="c")


@settings(max_examples=300, deadline=None)
@given(TEXT, st.sampled_from(PROFILES))
def test_spans_hold_the_tokens(text: str, profile: Profile) -> None:
    """The spans of a text hold its tokens, all of them, in order, and do not overlap."""
    spans = spans_of(text, profile)
    assert [token for span in spans for token in span.tokens] == tokens(text, profile)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert all(span.start < span.end <= len(text) for span in spans)


@settings(max_examples=200, deadline=None)
@given(TEXT | FEW_WORDS, TEXT | FEW_WORDS, st.sampled_from(PROFILES))
def test_marking_changes_no_text(text: str, other: str, profile: Profile) -> None:
    """Without its marks a marked text is the text, escaped; what is marked is what is shared."""
    spans = spans_of(text, profile)
    wanted = Counter(tokens(other, profile))
    matched = matched_spans(spans, wanted)
    shown = marked(text, spans, matched, "color:red")
    assert html.unescape(re.sub(r"</?mark[^>]*>", "", shown)) == text
    assert "<" not in re.sub(r"</?mark[^>]*>", "", shown)
    found = Counter(
        t for span, is_in in zip(spans, matched, strict=True) if is_in for t in span.tokens
    )
    shared = Counter(tokens(text, profile)) & wanted
    assert found <= shared
    if all(len(span.tokens) < 2 for span in spans):
        assert found == shared


def test_marks_by_hand() -> None:
    """Neighbours share a mark, articles between them too; each character of `cjk` stands alone."""

    def shown(text: str, other: str, profile: Profile = "squad_v1") -> str:
        spans = spans_of(text, profile)
        return marked(text, spans, matched_spans(spans, Counter(tokens(other, profile))), "s")

    assert shown("In the Paris, of the north!", "paris north of") == (
        'In the <mark style="s">Paris, of the north!</mark>'
    )
    assert shown("a <b> & c", "b", "unicode") == ('a <mark style="s">&lt;b&gt;</mark> &amp; c')
    assert [span.tokens for span in spans_of("the !? cat", "squad_v1")] == [(), (), ("cat",)]
    assert shown("x x x", "x y x") == '<mark style="s">x x</mark> x'
    assert shown("東京は日本の</div>", "日本", "cjk") == (
        '東京は<mark style="s">日本</mark>の&lt;/div&gt;'
    )


class Page(HTMLParser):
    """Whether elements are closed in order, which there are, and all visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = {
    "query_id": "<script>alert(1)</script>",
    "user_input": '<img src=x onerror="alert(1)">',
    "response": "the </div> <b>capital</b> & a 'city'",
    "references": ["</mark><script>", "capital\" onclick='x'"],
    "retrieved_contexts": ["<iframe src=//x> the capital of the world", None, ""],
    "reference_contexts": ["<style>capital of the world", "!"],
}


def test_a_sample_as_html() -> None:
    """Elements close in order, no script or address is in it, and hostile texts are only text."""
    sample = explain_sample([HOSTILE], HOSTILE["query_id"])  # type: ignore[arg-type]
    page = Page(sample._repr_html_())
    assert page.open == []
    assert page.tags <= {"div", "small", "strong", "mark", "details", "summary", "em"}
    assert page.attributes <= {"style", "open"}
    for text in (
        HOSTILE["query_id"],
        HOSTILE["user_input"],
        HOSTILE["response"],
        *HOSTILE["references"],
        HOSTILE["retrieved_contexts"][0],
        *HOSTILE["reference_contexts"],
    ):
        assert text in page.text
    assert "reference_contexts[1], which has no token" in page.text
    assert "url(" not in sample.to_html()


def test_a_sample_with_nothing() -> None:
    """A sample that lacks everything says so."""
    sample = explain_sample([{"query_id": "q", "user_input": "why?"}], "q")
    page = Page(sample.to_html())
    assert page.open == []
    assert page.text.count("none") == 3
    assert sample.references.height == sample.coverage.height == sample.tokens.height == 0
    assert "why?" in repr(sample)
    bare = explain_sample(
        [{"query_id": "q", "response": "x", "reference": "x", "reference_contexts": ["y"]}], "q"
    )
    assert "nothing was retrieved to hold it against" in Page(bare.to_html()).text
    assert bare.passages.rows() == [(0, "y", None, None, None)]


def test_a_sample_without_passages_is_held_against_its_reference() -> None:
    """Then the words of the best reference are marked in the contexts."""
    row = {"response": "x", "reference": "Paris", "retrieved_contexts": ["In Paris.", "Lyon"]}
    shown = explain_sample([row], "0").to_html()
    assert len(re.findall(r"<mark[^>]*>Paris\.</mark>", shown)) == 1


def test_a_sample_as_frames(handbook: Path) -> None:
    """Each reference alone, each token of both sides, and each context with its nearest passage."""
    samples = evf.read_samples(handbook / "samples.parquet")
    report = evf.evaluate_rag(samples, metrics=["token_f1", "context_coverage@0.8"])
    for query_id in ("q03", "q05", "q63", "q59"):
        sample = explain_sample(report, query_id)
        row = report.per_sample.row(by_predicate=pl.col("query_id") == query_id, named=True)
        best = sample.references.filter("best")
        assert best["token_f1"].to_list() == ([] if row["token_f1"] is None else [row["token_f1"]])
        assert best["reference"].to_list() == (
            [] if row["best_reference"] is None else [row["best_reference"]]
        )
        differing = token_differences(report).row(
            by_predicate=pl.col("query_id") == query_id, named=True
        )
        for verdict, sign in (("missing", -1), ("extra", 1)):
            counted = {
                token: sign * (ours - theirs)
                for token, ours, theirs, found in sample.tokens.rows()
                if found == verdict
            }
            if differing[verdict] is not None:
                assert counted == Counter(differing[verdict])
        assert sample.contexts["text"].to_list() == row["retrieved_contexts"]
        assert sample.passages["text"].to_list() == row["reference_contexts"]
        shares = sample.coverage.group_by("context").agg(pl.max("share")).sort("context")
        if sample.coverage.height:
            assert sample.contexts["share"].to_list() == shares["share"].to_list()
            covered = sample.passages["covered"].mean()
            assert covered == row["context_coverage@0.8"]
        assert Page(sample.to_html()).open == []
        assert f"sample {query_id!r}" in repr(sample)
    with pytest.raises(OptionError, match="no sample 'q030': did you mean 'q30'"):
        explain_sample(report, "q030")


def test_a_long_sample_in_plain_text() -> None:
    """Long texts and long tables are cut with a mark and a count."""
    row = {"response": "x", "reference": " ".join(f"w{i}" for i in range(200))}
    lines = repr(explain_sample([row], "0")).splitlines()
    assert max(map(len, lines)) < 200
    assert any("w10 w11" in line and "…" in line for line in lines)
    assert lines[-1] == "… and 141 more rows"


def test_marks_of_a_response_are_its_shared_tokens(handbook: Path) -> None:
    """On every sample the marked words of the response are as many as `n_shared` says."""
    samples = evf.read_samples(handbook / "samples.parquet")
    for row in token_differences(samples).drop_nulls("best_reference_text").to_dicts():
        spans = spans_of(row["response"] or "", "squad_v1")
        wanted = Counter(tokens(row["best_reference_text"]))
        assert sum(matched_spans(spans, wanted)) == row["n_shared"]


def test_two_by_two_of_the_handbook(handbook: Path) -> None:
    """The four cells by their definition, and whom they leave out."""
    samples = evf.read_samples(handbook / "samples.parquet")
    crossed = two_by_two(samples)
    scored = per_sample(samples, ["context_coverage", "token_f1"])
    both = scored.drop_nulls(["context_coverage", "token_f1"])
    for found, right, n, share in crossed.table.rows():
        if found is None or right is None:
            continue
        want = both.filter(
            (pl.col("context_coverage") == 1) == found, (pl.col("token_f1") >= 0.5) == right
        )
        assert crossed.cell(found=found, right=right)["query_id"].equals(want["query_id"])
        assert (n, share) == (want.height, want.height / both.height)
    assert crossed.table["n"].to_list() == [25, 19, 5, 8, 3]
    assert crossed.table.row(4) == (None, None, 3, None)
    assert (
        crossed.cell(found=None, right=None)["found_status"].to_list()
        == ["empty_reference_contexts"] * 3
    )
    assert crossed.samples.columns[: samples.width] == samples.columns
    shown = repr(crossed)
    assert "25 (43.9%)" in shown
    assert "right is undefined for 3: missing_reference 3" in shown
    page = Page(crossed._repr_html_())
    assert page.open == []
    assert "found: context_coverage >= 1, right: token_f1 >= 0.5" in page.text


@settings(max_examples=40, deadline=None)
@given(SAMPLES, st.sampled_from([0.2, 0.5, 1.0]))
def test_two_by_two_loses_nobody(rows: list[dict[str, Any]], least: float) -> None:
    """Every sample is in one cell, shares of the four add up to 1, None marks the undefined."""
    frame = frame_of(rows)
    settings_ = {"found": "context_recall", "found_from": least, "right_from": least}
    scored = per_sample(frame, ["context_recall", "token_f1"])
    if scored.drop_nulls(["context_recall", "token_f1"]).height == 0:
        with pytest.raises(EmptyError, match="no sample has both values: found is undefined"):
            two_by_two(frame, **settings_)  # type: ignore[arg-type]
        return
    crossed = two_by_two(frame, **settings_)  # type: ignore[arg-type]
    assert crossed.table["n"].sum() == len(rows)
    assert crossed.table["share"].sum() == pytest.approx(1)
    cells = [crossed.cell(found=f, right=r) for f, r, *_ in crossed.table.rows()]
    assert [cell.height for cell in cells] == crossed.table["n"].to_list()
    assert sorted(pl.concat(cells)["query_id"]) == sorted(frame["query_id"])
    for name, value in (("found", "context_recall"), ("right", "token_f1")):
        want = [None if v is None else v >= least for v in scored[value]]
        assert crossed.samples[name].to_list() == want


def test_two_by_two_refuses_a_threshold_that_no_value_can_have() -> None:
    rows = [{"response": "4", "reference": "4", "hit": 3, "verdict": True}]
    report = evf.evaluate_rag(rows, metrics=["token_f1"])
    for samples, right in ((rows, "token_f1"), (report, "token_f1"), (rows, "verdict")):
        for least in (2, -0.5):
            with pytest.raises(OptionError, match=rf"right_from={least}: every value of {right}"):
                two_by_two(samples, found="hit", right=right, right_from=least)
    with pytest.raises(OptionError, match=r"found_from=1\.5: every value of token_recall"):
        two_by_two(rows, found="token_recall", found_from=1.5)
    assert two_by_two(rows, found="hit", found_from=2).table["n"].to_list() == [1, 0, 0, 0]
    with pytest.raises(MetricError):
        two_by_two(rows, found="hit", right="nope", right_from=2)


def test_two_by_two_of_a_report_or_a_column() -> None:
    """A report's own values are used, and a judge's verdict may be a column."""
    rows = [
        {"response": "4", "reference": "4", "verdict": True, "hit": 1},
        {"response": "four", "reference": "4", "verdict": True, "hit": None},
        {"response": "5", "reference": "4", "verdict": False, "hit": 0},
    ]
    crossed = two_by_two(rows, found="hit", right="verdict", right_from=1)
    assert crossed.table.rows() == [
        (True, True, 1, 0.5),
        (True, False, 0, 0.0),
        (False, True, 0, 0.0),
        (False, False, 1, 0.5),
        (None, True, 1, None),
    ]
    assert crossed.samples["found_status"].to_list() == ["ok", "no value", "ok"]
    nan = pl.DataFrame(
        {"response": ["4", "4"], "reference": ["4", "4"], "hit": [1.0, float("nan")]}
    )
    assert two_by_two(nan, found="hit").samples["found"].to_list() == [True, None]
    report = evf.evaluate_rag(rows, metrics=["token_f1"])
    of_report = two_by_two(report, found="hit")
    assert of_report.table.equals(two_by_two(rows, found="hit").table)
    assert of_report.samples["right_status"].to_list() == ["ok"] * 3
    more = two_by_two(report, found="hit", right="exact_match", right_from=1.0)
    assert more.table["n"].to_list() == [1, 0, 0, 1, 1]


def test_two_by_two_refuses() -> None:
    """Names, thresholds and columns that cannot be."""
    rows = [{"response": "x", "reference": "x", "hit": 1.0, "note": "x"}]
    with pytest.raises(MetricError, match="unknown RAG metric 'token_f2': did you mean 'token_f1'"):
        two_by_two(rows, found="hit", right="token_f2")
    with pytest.raises(ColumnError, match="column 'note' is String"):
        two_by_two(rows, found="note")
    with pytest.raises(OptionError, match="right_from='much' must be a number"):
        two_by_two(rows, found="hit", right_from="much")  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="already have columns called 'found'"):
        two_by_two([{**rows[0], "found": 1}], found="hit")
    with pytest.raises(EmptyError, match="found is undefined for 1: missing_reference_contexts 1"):
        two_by_two(rows)
    with pytest.raises(OptionError, match="found='yes': it is True, False or None"):
        two_by_two(rows, found="hit").cell(found="yes", right=True)  # type: ignore[arg-type]


def test_what_a_report_holds() -> None:
    """A report keeps its profile, and one without samples, or without contexts, says so."""
    rows = [{"response": "The “x”", "reference": "x", "reference_contexts": ["x"]}]
    report = evf.evaluate_rag(rows, metrics=["token_f1"], profile="unicode")
    assert token_differences(report)["extra"].to_list() == [["the"]]
    assert token_differences(report, profile="unicode")["extra"].to_list() == [["the"]]
    with pytest.raises(OptionError, match="the report was made with 'unicode'"):
        token_differences(report, profile="squad_v1")
    with pytest.raises(OptionError, match="profile='latin' is not offered"):
        token_differences(rows, profile="latin")  # type: ignore[arg-type]
    with pytest.raises(EmptyError, match="the report holds no samples"):
        token_differences(evf.RagReport(metrics={}, coverage={}, n_samples=0))
    lazy = evf.evaluate_rag(pl.DataFrame(rows).lazy(), metrics=["token_f1"])
    with pytest.raises(ColumnError, match="a report on a lazy frame does not keep them"):
        passage_coverage(lazy)


def test_squad(rag_data: Path) -> None:
    """On real answers the counts give the official F1 back, to the last bit."""
    squad = rag_data / "squad"
    questions = pl.read_parquet(squad / "xquad_en_questions.parquet").drop("context")
    every = pl.read_parquet(squad / "xquad_en_predictions_with_official_scores.parquet")
    for _, official in every.rename({"token_f1": "f1"}).group_by("system", maintain_order=True):
        joined = questions.join(official, on="query_id", maintain_order="left")
        found = token_differences(joined.drop("system"))
        assert found["token_f1"].equals(joined["f1"].alias("token_f1"))
        n_response, n_reference = (pl.col("n_shared") + pl.col(n) for n in ("n_extra", "n_missing"))
        precision, recall = pl.col("n_shared") / n_response, pl.col("n_shared") / n_reference
        again = found.filter(pl.col("n_shared") > 0).select(
            "token_f1", again=2 * precision * recall / (precision + recall)
        )
        assert again.height > 500
        assert again["again"].equals(again["token_f1"].alias("again"))
