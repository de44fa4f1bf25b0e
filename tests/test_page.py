"""Pages: self-contained, well formed, safe whatever ids and texts hold, and true to the frames."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import evalframe as evf
from evalframe.cli import app
from evalframe.page import (
    document,
    listed,
    paragraph,
    section,
    table,
    text_block,
    write_table,
)
from evalframe.page.style import STYLE
from evalframe.report import Report
from evalframe.tables import cells_of

VOID = {"meta", "br", "hr", "img", "input", "link"}
LOADS = {"src", "href", "xlink:href", "action", "data", "poster", "srcset", "background"}
EVIL = "<script>alert('x')</script>"
ATTRIBUTE = '" onmouseover="alert(1)'


class Page(HTMLParser):
    """A page taken apart; tags that do not match are refused."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[list[str]]]] = {}
        self.texts: list[tuple[str, str]] = []
        self.summaries: list[str] = []
        self.declared = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_decl(self, decl: str) -> None:
        self.declared = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute stands twice in {tag}"
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "table":
            self.rows: list[list[str]] = []
            self.caption = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "summary":
            self.summaries.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert tag in VOID or "svg" in self.open, f"{tag} closes itself outside a drawing"

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag
        if tag == "table":
            self.tables.setdefault(self.caption, []).append(self.rows)

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))
        if "summary" in self.open:
            self.summaries[-1] += data
        if "caption" in self.open:
            self.caption += data
        elif "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    @property
    def visible(self) -> str:
        return " ".join(text for tag, text in self.texts if tag not in ("style", "title"))

    def one(self, caption: str) -> list[list[str]]:
        (rows,) = self.tables[caption]
        return rows


def checked(text: str) -> Page:
    """A page that loads nothing, runs nothing, and can be read by anyone."""
    page = Page(text)
    assert page.declared == "doctype html"
    by_tag: dict[str, list[dict[str, str | None]]] = {}
    for tag, attributes in page.tags:
        by_tag.setdefault(tag, []).append(attributes)
        assert not any(name.startswith("on") for name in attributes)
        for name in LOADS & attributes.keys():
            assert (attributes[name] or "").startswith("#"), (tag, attributes)
    assert not {"script", "link", "iframe", "object", "embed", "img", "base"} & by_tag.keys()
    styles = [data for tag, data in page.texts if tag == "style"]
    styles += [value or "" for _, a in page.tags for value in (a.get("style"), a.get("fill"))]
    for style in styles:
        assert "@import" not in style
        assert not re.search(r"url\((?!#)", style)
    assert not re.search(r"url\((?!\"?#)", re.sub(r">[^<]*<", "><", text))
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)\"]+)\)", text):
        assert reference in ids
    assert by_tag["html"] == [{"lang": "en"}]
    metas = {a.get("http-equiv") or a.get("name"): a.get("content") or "" for a in by_tag["meta"]}
    assert "default-src 'none'" in metas["Content-Security-Policy"]
    assert "script-src" not in metas["Content-Security-Policy"]
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings.count(1) == 1
    assert headings[0] == 1
    boxes = [a for tag, a in page.tags if tag == "div" and "scroll" in (a.get("class") or "")]
    assert len(boxes) == len(by_tag.get("table", []))
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in boxes)
    return page


def rows_of(frame: pl.DataFrame) -> list[list[str]]:
    return [list(frame.columns), *cells_of(frame)]


@pytest.fixture(scope="module")
def report(handbook: Path) -> Report:
    metrics = ["ndcg@10", "ndcg@5", "map", "unjudged@10"]
    return evf.evaluate(handbook / "qrels/test.tsv", handbook / "runs/bm25.parquet", metrics)


@pytest.fixture(scope="module")
def runs(handbook: Path) -> dict[str, Path]:
    return {name: handbook / f"runs/{name}.parquet" for name in ("bm25", "tfidf", "minilm")}


def system_run(runs: dict[str, Path]) -> pl.DataFrame:
    return pl.concat(
        evf.read_run(path).select(pl.lit(name).alias("system"), "query_id", "doc_id", "score")
        for name, path in runs.items()
    )


def test_a_reports_page_says_what_the_report_says(report: Report, handbook: Path) -> None:
    corpus, queries = handbook / "corpus.parquet", handbook / "queries.parquet"
    text = report.to_html(corpus=corpus, queries=queries, worst=4, title="BM25 & friends")
    page = checked(text)
    means = report.summary.join(report.intervals, on="metric", maintain_order="left").select(
        "metric", "value", "low", "high", "queries", "min", "median", "max", "zeros"
    )
    assert page.one("Metrics over all queries") == rows_of(means)
    assert page.one("Values of each query") == rows_of(report.per_query)
    for name, value in report.contract.to_dict().items():
        assert re.search(rf"<dt>{name}</dt><dd>{re.escape(str(value))}</dd>", text)
    for name, value in report.counts.to_dicts()[0].items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        assert f"<dt>{name.replace('_', ' ')}</dt><dd>{shown}</dd>" in text
    assert len([1 for tag, _ in page.tags if tag == "figure"]) == 5
    texts = dict(evf.read_queries(queries).select("query_id", "text").rows())
    worst = report.worst("ndcg@10", 4).select("query_id", "ndcg@10").rows()
    assert page.summaries[:4] == [f"{q} ndcg@10 {v:.4f} · {texts[q]}" for q, v in worst]
    for (query, _), table_ in zip(worst, page.tables["Ranked documents"], strict=True):
        looked = report.query(query, corpus=corpus)
        shown = looked.documents.filter((pl.col("rank") <= 20) | (pl.col("verdict") == "relevant"))
        head = shown.select("rank", "doc_id", "verdict", "relevance", "score")
        assert table_[0] == head.columns
        assert table_[1::2] == cells_of(head)
        for (below,), title, whole in zip(table_[2::2], shown["title"], shown["text"], strict=True):
            assert below.startswith(f"{title} {whole[:350]}")
            cut = re.search(r"(.*) … \((\d+) more characters\)$", below)
            if cut:
                assert len(whole) - int(cut[2]) == 400
            else:
                assert below == f"{title} {whole}"
        left_out = looked.documents.height - shown.height
        assert not left_out or f"… and {left_out} more rows, below rank 20" in page.visible


def test_pages_of_one_count_in_the_singular() -> None:
    """No page or note says "1 metrics"; what is left out is counted the same way."""
    qrels, run = {"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}
    cutoffs = [f"P_{k}" for k in range(1, 8)]
    one = evf.compare(qrels, {"s": run, "t": run}, ["mrr"])
    answered = evf.evaluate_rag([{"response": "Paris", "reference": "Paris"}], "token_f1")
    table = checked(evf.evaluate(qrels, {"s": run}, ["mrr"]).to_html())
    pages = {
        "1 query, 1 metric": evf.evaluate(qrels, run, ["mrr"]).to_html(),
        "1 query, 7 metrics": evf.evaluate(qrels, run, cutoffs).to_html(),
        "2 systems, 1 metric, 1 query": one.to_html(),
        "1 sample, 1 metric, profile squad_v1": answered.to_html(),
    }
    for lede, text in pages.items():
        page = checked(text)
        assert ("p", lede) in page.texts
        assert "1 row" in page.summaries
        assert not re.search(
            r"\b1 (more )?(row|tie|text|pair|system|distribution)s\b", page.visible
        )
    assert "… and 1 more distribution" in checked(pages["1 query, 7 metrics"]).visible
    assert "s against t 0 to 0, 1 tie" in checked(pages["2 systems, 1 metric, 1 query"]).summaries
    assert "n = 1 paired query" in repr(one).splitlines()
    assert repr(answered).startswith("RagReport: 1 sample,")
    assert ("p", "1 system, 1 query, 1 metric") in table.texts


def test_missed_documents_and_near_ties_stand_with_their_query() -> None:
    run = {"q": {"x": 2.0, "a": 2.0, "y": 1.0}, "r": {"b": 1.0}}
    qrels = {"q": {"a": 1, "lost": 3, "gone": 2}, "r": {"b": 1}}
    report = evf.evaluate(qrels, run, ["mrr"])
    page = checked(report.to_html())
    assert page.one("Relevant but missed") == rows_of(report.query("q").missed)
    assert page.one("Relevant but missed")[1:] == [["lost", "3"], ["gone", "2"]]
    assert page.one("Near ties (relative gap up to 0.001)") == rows_of(report.query("q").near_ties)
    assert page.summaries[:2] == ["q mrr 0.5000", "r mrr 1.0000"]


def test_a_page_of_several_systems(runs: dict[str, Path], handbook: Path) -> None:
    report = evf.evaluate(handbook / "qrels/test.tsv", system_run(runs), ["ndcg@10", "recall@50"])
    page = checked(report.to_html(worst=2))
    assert page.one("Metrics of each system over all queries") == rows_of(report.table())
    assert page.one("Queries of each system") == rows_of(report.counts)
    spread = page.one("Metrics of each system")
    assert [row[:3] for row in spread[1:]] == cells_of(
        report.summary.select("system", "metric", "value")
    )
    headings = [text for tag, text in page.texts if tag == "h3"]
    assert headings == ["bm25", "minilm", "tfidf"]
    worst = report.worst("ndcg@10", 2).rows(named=True)
    lists = page.tables["Ranked documents"]
    assert len(lists) == len(worst) == 6
    for row, shown in zip(worst, lists, strict=True):
        looked = report.query(row["query_id"], system=row["system"]).documents
        assert shown[1][:2] == ["1", looked["doc_id"][0]]


def test_ids_and_texts_that_are_markup_stay_text(tmp_path: Path) -> None:
    """All that a user can name is hostile here, and the parser sees none of it as tags."""
    ids = [EVIL, ATTRIBUTE, "</style><b>", "&amp;", "two\nlines", "</svg><i>"]
    qrels = {q: dict.fromkeys(ids, 1) for q in ids}
    run = {q: {d: float(len(d)) for d in ids[:3]} for q in ids}
    name = f"</title>{EVIL}"
    metric = pl.col("rank").min().cast(pl.Float64).alias(f"{EVIL}@10")
    report = evf.evaluate(qrels, run, ["ndcg@10", "ndcg@5", metric])
    texts = {key: f"{EVIL} & {key}" for key in ids}
    page = checked(report.to_html(corpus=texts, queries=texts, title=name))
    assert EVIL in page.visible
    assert ("title", name) in page.texts
    assert {row[1] for rows in page.tables["Ranked documents"] for row in rows[1::2]} == {*ids[:3]}
    systems = {EVIL: run, ATTRIBUTE: {q: [*reversed(ids)] for q in ids}, "</option>": run}
    several = evf.evaluate(qrels, systems, ["ndcg@10", "ndcg@5"])
    assert EVIL in checked(several.to_html(corpus=texts, queries=texts)).visible
    compared = evf.compare(qrels, systems, ["ndcg@10"], resamples=50)
    assert EVIL in checked(compared.to_html(queries=texts)).visible
    samples = [
        {"query_id": q, "user_input": EVIL, "response": q, "references": [q, EVIL],
         "retrieved_contexts": [q, EVIL], "retrieved_context_ids": [EVIL, ATTRIBUTE]}
        for q in ids
    ]  # fmt: skip
    rag = evf.evaluate_rag(samples, metrics=["token_f1"])
    assert EVIL in checked(rag.to_html()).visible
    frame = pl.DataFrame({EVIL: [EVIL], "nested": [[ATTRIBUTE, "</td>"]]})
    write_table(frame, tmp_path / "t.html", title=name, lede=EVIL)
    page = checked((tmp_path / "t.html").read_text())
    assert page.one(name) == [[EVIL, "nested"], [EVIL, f"{ATTRIBUTE}, </td>"]]
    for shown in (report, several, compared, rag):
        assert EVIL not in shown._repr_html_()
        assert EVIL not in shown.to_markdown()


def test_a_rag_page_says_what_the_report_says(handbook: Path) -> None:
    samples = evf.read_samples(handbook / "samples.parquet")
    report = evf.evaluate_rag(samples, metrics=["token_f1", "context_recall"])
    page = checked(report.to_html(worst=3))
    means = page.one("Metrics over all samples")
    low_high = report.per_sample.unpivot(["token_f1", "context_recall"]).drop_nulls("value")
    assert [[row[0], row[1], *row[4:]] for row in means[1:]] == cells_of(
        report.table().drop("reasons")
    )
    for row, metric in zip(means[1:], report.metrics, strict=True):
        values = low_high.filter(variable=metric)["value"].to_list()
        interval = evf.statistics.mean_interval(values, "t")  # type: ignore[attr-defined]
        assert row[2:4] == [f"{interval.low:.4f}", f"{interval.high:.4f}"]
    assert len([1 for tag, _ in page.tags if tag == "figure"]) == 3
    reasons = [
        [metric, reason, str(n)]
        for metric, named in report.reasons.items()
        for reason, n in named.items()
    ]
    assert [row[:3] for row in page.one("Reasons, by metric")[1:]] == reasons
    worst = report.worst("token_f1", 3)
    lowest = report.per_sample["token_f1"].drop_nulls().sort().head(3)
    assert worst["token_f1"].to_list() == lowest.to_list()
    for row, values in zip(worst.iter_rows(named=True), page.tables["Values"], strict=True):
        assert values[1][:2] == ["token_f1", f"{row['token_f1']:.4f}"]
        for told in (row["user_input"], row["response"], *row["references"]):
            assert told is None or told in page.visible
        for context in row["retrieved_contexts"]:
            assert context[:1500] in page.visible


def test_a_comparisons_page_says_what_it_found(runs: dict[str, Path], handbook: Path) -> None:
    found = evf.compare(handbook / "qrels/test.tsv", runs, ["ndcg@10", "map"], resamples=200)
    page = checked(found.to_html(queries=handbook / "queries.parquet", worst=5))
    assert page.one("Means of each system") == rows_of(found.table())
    pairs = page.one("Pairs of systems")
    assert pairs == rows_of(found.pairs.select(pairs[0]))
    assert {"p_corrected", "significant", "difference", "low", "high"} <= {*pairs[0]}
    spread = page.one("Means and their intervals")
    assert spread == rows_of(found.summary.select(spread[0]))
    for (a, b), rows in zip(
        [("bm25", "tfidf"), ("bm25", "minilm"), ("tfidf", "minilm")],
        page.tables["The greatest differences in ndcg@10"],
        strict=True,
    ):
        wanted = found.by_query("ndcg@10", a, b).drop_nulls("winner").head(5)
        assert rows[1::2] == cells_of(wanted)
    for note in found.notes:
        assert note in page.visible
    assert found.procedure.test in page.visible


def test_who_won_where_is_what_was_counted(runs: dict[str, Path], handbook: Path) -> None:
    metrics = ["ndcg@10", "unjudged@50"]
    found = evf.compare(handbook / "qrels/test.tsv", runs, metrics, resamples=50)
    for a, b, metric, wins, losses in found.pairs.select(
        "a", "b", "metric", "wins", "losses"
    ).iter_rows():
        rows = found.by_query(metric, a, b)
        assert (rows["winner"] == a).sum() == wins
        assert (rows["winner"] == b).sum() == losses
        assert rows["difference"].abs().to_list() == sorted(rows["difference"].abs(), reverse=True)
        turned = found.by_query(metric, b, a)
        assert turned["difference"].to_list() == (-rows["difference"]).to_list()


def test_what_is_long_is_cut_with_a_count() -> None:
    n = 1500
    run = {f"q{i}": {"a": 1.0} for i in range(n)}
    report = evf.evaluate({q: {"a": 1} for q in run}, run, ["mrr"])
    page = checked(report.to_html(worst=3))
    assert len(page.one("Values of each query")) == 1001
    assert "… and 500 more rows" in page.visible
    long = {"q": {f"d{i:03}": float(-i) for i in range(200)}}
    page = checked(evf.evaluate({"q": {"d150": 1}}, long, ["mrr"]).to_html())
    assert [row[0] for row in page.one("Ranked documents")[1:]] == [*map(str, range(1, 21)), "151"]
    assert "… and 179 more rows, below rank 20 and not relevant" in page.visible
    many = {f"system{i:03}": run_ for i in range(80) for run_ in [{"q": {"a": 1.0}}]}
    several = evf.evaluate({"q": {"a": 1}}, many, ["mrr"])
    for shown in (repr(several), several._repr_html_(), several.to_markdown(), several.to_latex()):
        assert "… and 20 more rows" in shown
        assert "system059" in shown
    assert "more rows" not in several.to_markdown(rows=None)


def test_a_page_without_the_extra_says_which_one_brings_the_charts(
    report: Report, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    rag = evf.evaluate_rag(evf.read_samples(handbook / "samples.parquet"), metrics="token_f1")
    for shown in (report, rag):
        page = checked(shown.to_html())
        assert 'pip install "evalframe[plots]"' in page.visible
        assert "svg" not in {tag for tag, _ in page.tags}


def test_a_chart_that_cannot_be_drawn_says_why() -> None:
    page = checked(evf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["mrr"]).to_html())
    assert re.search("Metrics by cut-off: not drawn, since .*cut-off", page.visible)


def test_a_stored_report_has_a_page_without_lists(report: Report, tmp_path: Path) -> None:
    evf.write_report(report, tmp_path / "r.parquet")
    stored = evf.read_report(tmp_path / "r.parquet")
    page = checked(stored.to_html(worst=2))
    assert "a stored report has no qrels" in page.visible
    assert page.one("Worst by ndcg@10") == rows_of(report.worst("ndcg@10", 2))
    assert page.one("Metrics over all queries") == checked(report.to_html(worst=2)).one(
        "Metrics over all queries"
    )


def test_a_page_is_written_beside_and_never_over_another(tmp_path: Path) -> None:
    report = evf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["mrr"])
    file = tmp_path / "report.html"
    report.to_html(file, worst=1)
    first = file.read_bytes()
    assert first.decode() == report.to_html(worst=1)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report.to_html(file, worst=0)
    assert file.read_bytes() == first
    report.to_html(file, worst=0, overwrite=True)
    assert "Worst queries" not in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_findings_are_a_page_too(tmp_path: Path) -> None:
    findings = evf.audit({"q": {"a": 1}, "z": {"a": 1}}, {"q": {"b": 1.0}})
    write_table(findings, tmp_path / "audit.html", title="Audit", rows=1)
    page = checked((tmp_path / "audit.html").read_text())
    assert page.one("Audit") == rows_of(findings.head(1))
    assert f"… and {findings.height - 1} more rows" in page.visible


def test_little_data_makes_a_page_too(tmp_path: Path) -> None:
    """No query that counts, values that are no floats or missing, one system, no samples kept."""
    unjudged = evf.evaluate({"q": {"a": 0}}, {"q": ["a"]}, ["mrr"], queries="positive")
    assert checked(unjudged.to_html()).one("Metrics over all queries")[1][:2] == ["mrr", "-"]
    first = pl.col("rank").min().alias("first")
    found = (pl.col("rank") == 1).any().alias("found")
    report = evf.evaluate({"q": {"a": 1}, "p": {"b": 1}}, {"q": ["a"]}, ["mrr", first, found])
    page = checked(report.to_html())
    assert page.one("Values of each query")[1:] == [
        ["p", "0.0000", "-", "False"], ["q", "1.0000", "1", "True"],
    ]  # fmt: skip
    assert [row[:2] for row in page.one("Metrics over all queries")[1:]] == [
        ["mrr", "0.5000"], ["first", "1.0000"], ["found", "0.5000"],
    ]  # fmt: skip
    assert report.query("p").values["value"].to_list() == [0.0, None, 0.0]
    assert report.query("p").values["share_better"].to_list() == [0.5, None, 0.5]
    alone = evf.compare({"q": {"a": 1}}, {"one": {"q": ["a"]}}, ["mrr"])
    assert checked(alone.to_html()).one("Means of each system")[1] == ["one", "1.0000"]
    by_hand = evf.RagReport(metrics={"m": 0.5}, coverage={"m": 2}, n_samples=4)
    assert checked(by_hand.to_html()).one("Metrics over all samples")[1][:2] == ["m", "0.5000"]
    nothing = evf.evaluate_rag([{"response": "x"}], metrics="token_f1")
    assert checked(nothing.to_html()).one("Reasons, by metric")[1] == [
        "token_f1", "missing_reference", "1", "no value",
    ]  # fmt: skip
    evf.write_report(nothing, tmp_path / "r.parquet")
    assert evf.read_report(tmp_path / "r.parquet").to_html() == nothing.to_html()


def test_what_has_no_content_has_no_heading() -> None:
    page = checked(document("t", "", [section("empty"), section("full", paragraph("x"))]))
    assert [text for tag, text in page.texts if tag == "h2"] == ["full"]
    empty = table(pl.DataFrame(schema={"a": pl.String}), "none")
    assert "no rows" in empty


def test_every_text_can_be_read_in_light_and_in_dark() -> None:
    """The contrast of text to what it stands on is 4.5 to 1 or more, as WCAG 2 asks."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
    ]
    assert len(schemes) == 2
    for colours in schemes:
        pairs = [("ink", "paper"), ("ink", "raised"), ("soft", "paper"), ("soft", "raised")]
        pairs += [(kind, f"{kind}-paper") for kind in ("good", "bad", "missed")]
        for text, ground in pairs:
            lighter, darker = sorted((luminance(colours[text]), luminance(colours[ground])))[::-1]
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, ground)


def test_a_chart_that_fails_is_a_sentence_and_the_page_is_whole(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("no such field\nand a long story")

    monkeypatch.setattr("evalframe.report.as_page.curves", broken)
    page = checked(report.to_html())
    wanted = "Metrics by cut-off: could not be drawn (TypeError: no such field)"
    assert wanted in page.visible
    assert page.visible.count("could not be drawn") == 1
    assert sum(tag == "figure" for tag, _ in page.tags) == len(report.how)
    assert page.one("Metrics over all queries")


def test_a_failing_drawing_is_no_failed_gate(
    handbook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise ValueError("no fonts")

    monkeypatch.setattr("evalframe.page.charts.svg", broken)
    files = [str(handbook / "qrels/test.tsv"), str(handbook / "runs/bm25.parquet")]
    words = ["evaluate", *files, "-m", "mrr", "--html", str(tmp_path / "r.html")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "mrr of each query: could not be drawn" in (tmp_path / "r.html").read_text()


def test_signs_that_no_page_may_hold_are_spelt_out() -> None:
    bad = "\x00\x1b[31m\x85"
    qrels = {f"q{bad}": {f"d{bad}": 1, f"m{bad}": 1}}
    runs = {f"s{bad}": {f"q{bad}": [f"d{bad}"]}, f"t{bad}": {f"q{bad}": [f"x{bad}"]}}
    texts = {"queries": {f"q{bad}": f"why{bad}"}}
    both = evf.evaluate(qrels, runs, ["mrr"])
    alone = evf.evaluate(qrels, runs[f"s{bad}"], ["mrr"])
    compared = evf.compare(qrels, runs, ["mrr"])
    pages = [
        alone.to_html(corpus={f"d{bad}": f"text{bad}"}, title=f"A{bad}", **texts),
        both.to_html(**texts),
        compared.to_html(**texts),
        document(f"t{bad}", f"l{bad}", [section("s", text_block("x", bad), listed("y", [bad]))]),
    ]
    for page in pages:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
        assert r"\x00\x1b[31m\x85" in checked(page).visible
    assert checked(pages[0]).summaries[0].startswith(r"q\x00\x1b[31m\x85 mrr 1.0000")
    looked = both.query(f"q{bad}", system=f"s{bad}", **texts)
    for shown in (looked._repr_html_(), repr(looked), repr(both), both._repr_html_()):
        assert not re.search("[\x00\x1b\x85]", shown)


def test_a_text_keeps_its_lines() -> None:
    assert ">one\n\ttwo<" in text_block("text", "one\n\ttwo")


def test_texts_of_which_none_is_found_are_warned_of() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"one": {"q1": ["a"], "q2": ["x"]}, "two": {"q1": ["x"], "q2": ["a"]}}
    report, compared = evf.evaluate(qrels, runs["one"], ["mrr"]), evf.compare(qrels, runs, ["mrr"])
    no_query = r"none of the 2 queries that are shown has a row in the queries.*'q"
    with pytest.warns(UserWarning, match=no_query) as told:
        report.to_html(queries={"1": "x"})
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=r"none of the 2 documents .* in the corpus.*'x'") as told:
        report.to_html(corpus={"1": "x"})
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=no_query) as told:
        compared.to_html(queries={"1": "x"})
    assert told[0].filename == __file__
    assert "why" in report.to_html(queries={"q1": "why"}, corpus={"x": "y"})
    assert "why" in compared.to_html(queries={"q1": "why"})


def test_what_counted_is_one_paragraph_of_a_comparison() -> None:
    compared = evf.compare({"q": {"a": 1}}, {"one": {"q": ["a"]}, "two": {"q": ["a"]}}, ["mrr"])
    (note,) = [text for tag, text in checked(compared.to_html()).texts if "judged_only=" in text]
    assert note.startswith("rel=None, ")
    assert note.endswith("depth=None, duplicates=error")


def test_more_is_asked_of_a_page_than_there_is(report: Report) -> None:
    compared = evf.compare({"q": {"a": 1}}, {"one": {"q": ["a"]}, "two": {"q": ["x"]}}, ["mrr"])
    assert checked(compared.to_html(worst=10**20)).one("The greatest differences in mrr")
    assert table(pl.DataFrame({"a": ["x"]}), "t", 10**20).count("<tr>") == 2
