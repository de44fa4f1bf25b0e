"""A retriever of any make gives one run frame, whatever shape its results have."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import polars as pl
import pytest

from evalframe import calls, hits
from evalframe.errors import EvalframeError, OptionError
from evalframe.evaluation import evaluate_retrieval
from evalframe.evaluation.retrievers import caller, distinct_hits, retrieve
from evalframe.progress import tracked

QUERIES = {f"q{n}": f"text {n}" for n in range(6)}


def answer(query: str) -> list[str]:
    return [f"{query} a", "shared", f"{query} b"]


async def answer_later(query: str, *, limit: int = 10) -> list[str]:
    await asyncio.sleep(0.002 if query.endswith("0") else 0)
    return answer(query)[:limit]


class SearchOnly:
    def search(self, query: str, *, limit: int = 10) -> list[str]:
        return answer(query)[:limit]


class LangChainLike:
    """Has `invoke(input, config=None, **kwargs)`, whose keywords are not ours to fill."""

    def invoke(self, query: str, config: Any = None, **kwargs: Any) -> list[Any]:
        if kwargs:
            raise TypeError("unexpected")
        return [
            SimpleNamespace(id=None, page_content="…", metadata={"source": doc})
            for doc in answer(query)
        ]


class LlamaIndexLike:
    def retrieve(self, query: str) -> list[Any]:
        return [
            SimpleNamespace(
                node=SimpleNamespace(ref_doc_id=doc, node_id="chunk", id_="chunk"),
                score=0.5,
                node_id="chunk",
                id_="chunk",
            )
            for doc in answer(query)
        ]


class AsyncCallable:
    async def __call__(self, query: str) -> list[str]:
        return answer(query)


RETRIEVERS = {
    "without limit": answer,
    "keyword limit": lambda query, *, limit: answer(query)[:limit],
    "top_k": lambda query, top_k=1: answer(query)[:top_k],
    "any keyword": lambda query, **options: answer(query)[: options["limit"]],
    "partial": functools.partial(lambda extra, query: answer(query), None),
    "search": SearchOnly(),
    "bound method": SearchOnly().search,
    "invoke": LangChainLike(),
    "retrieve": LlamaIndexLike(),
    "async": answer_later,
    "async object": AsyncCallable(),
    "gives a coroutine": lambda query: answer_later(query),
    "generator": lambda query: (doc for doc in answer(query)),
    "pairs": lambda query: [(doc, 3.0 - rank) for rank, doc in enumerate(answer(query))],
    "mapping of scores": lambda query: dict(zip(reversed(answer(query)), [1.0, 2.0, 3.0])),  # noqa: B905
    "frame": lambda query: pl.DataFrame({"docno": answer(query)}),
    "lazy frame": lambda query: pl.LazyFrame({"doc_id": answer(query)}),
    "series": lambda query: pl.Series(answer(query)),
    "haystack": lambda query: [
        SimpleNamespace(id="hash", content="…", meta={"source_id": doc}) for doc in answer(query)
    ],
}


@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS.keys())
@pytest.mark.parametrize("workers", [1, 3])
def test_every_retriever_gives_the_same_run(retriever: Any, workers: int) -> None:
    """Shape, signature, async and workers change nothing: the run is in the queries' order."""
    run = retrieve(retriever, QUERIES, limit=3, workers=workers, progress=False).run
    expected = [
        (query_id, doc, rank)
        for query_id, text in QUERIES.items()
        for rank, doc in enumerate(answer(text), start=1)
    ]
    assert run.select("query_id", "doc_id", "rank").rows() == expected
    assert run["score"].to_list() == [-float(rank) for *_, rank in expected]


@dataclass
class Hit:
    source_id: Any = None
    doc_id: Any = None
    id: Any = None
    segment: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("hit", "doc_id"),
    [
        ("d1", "d1"),
        (17, "17"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (("d1", 0.3), "d1"),
        ((Hit(id="d1"), 0.3), "d1"),
        (Hit(source_id="s", doc_id="d", id="i", segment=Hit(id="g")), "s"),
        (Hit(doc_id="d", id="i"), "d"),
        (Hit(id="i", segment=Hit(source_id="s")), "i"),
        (Hit(segment=Hit(source_id="s"), metadata={"source": "m"}), "s"),
        (Hit(segment="s"), "s"),
        (Hit(metadata={"source": "m"}), "m"),
        (Hit(metadata={"source": Path("a") / "b.txt"}), str(Path("a") / "b.txt")),
        (Hit(source_id="", id="i"), "i"),
        (Hit(id=0), "0"),
        (Hit(id="i", metadata={"source": "m"}), "i"),
        (Hit(id="i", metadata={"source_id": "s"}), "s"),
        ({"doc_id": "d", "id": "i"}, "d"),
        ({"_id": "d"}, "d"),
        ({"corpus-id": "d"}, "d"),
        ({"payload": {"doc_id": "d"}, "id": 3}, "d"),
        (SimpleNamespace(id_="n", node_id="n"), "n"),
        (Hit(), None),
        (Hit(id=True), None),
        ({"title": "x"}, None),
        (0.5, None),
    ],
)
def test_an_id_is_found_in_the_documented_order(hit: Any, doc_id: str | None) -> None:
    """The source of a piece comes before the piece, and metadata's `source` comes last."""
    assert hits.doc_id_of(hit) == doc_id


def test_numpy_scalars_and_string_enums_are_ids_and_scores() -> None:
    """What `operator.index` and `numbers.Real` know need not be Python's own types."""
    np = pytest.importorskip("numpy")
    assert hits.doc_id_of(np.int64(7)) == "7"
    assert hits.doc_id_of(np.str_("d")) == "d"
    assert hits.score_of(("d", np.float32(0.5))) == 0.5


def test_a_document_counts_at_its_best_rank() -> None:
    """Later pieces of a document are passed over, and ranks have no gaps."""
    assert distinct_hits(["a", "b", "a", "c", "b"]) == [("a", None), ("b", None), ("c", None)]
    assert distinct_hits([("a", 2.0), ("a", 1.0)]) == [("a", 2.0)]


def test_truth_values_are_no_scores() -> None:
    """True is not 1 here."""
    assert hits.score_of({"id": "d", "score": True}) is None
    assert hits.doc_id_of(("d", True)) is None


def test_the_limit_counts_hits_and_keep_counts_documents() -> None:
    """Pieces of one document use the limit up; `keep` reads on until there are enough documents."""
    pieces = ["a", "a", "b", "c", "d"]
    assert [doc for doc, _ in distinct_hits(pieces, n_hits=3)] == ["a", "b"]
    assert [doc for doc, _ in distinct_hits(pieces, n_documents=3)] == ["a", "b", "c"]
    endless = iter(int, 1)
    assert distinct_hits(endless, n_hits=5) == [("0", None)]


def test_the_retrievers_own_scores_are_kept() -> None:
    """`retriever_score` is what the hit said; `score` is minus the rank."""
    run = retrieve({"text": [("a", 0.2), "b"]}.get, {"q": "text"}, limit=2).run
    assert run["retriever_score"].to_list() == [0.2, None]
    assert run["score"].to_list() == [-1.0, -2.0]


def test_a_pandas_frame_of_results_is_read_by_its_rows() -> None:
    """Not by the names of its columns, which iterating it would give."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [2.0, 1.0]})
    assert distinct_hits(table) == [("a", 2.0), ("b", 1.0)]


def test_a_query_without_results_leaves_no_rows() -> None:
    """Nothing found is no error."""
    assert retrieve(lambda query: [], QUERIES, limit=3).run.height == 0
    assert retrieve(lambda query: [], {}, limit=3).run.columns[:2] == ["query_id", "doc_id"]


def failing(query: str) -> list[str]:
    if query in ("text 2", "text 4"):
        raise ConnectionError("no answer")
    return answer(query)


async def failing_later(query: str) -> list[str]:
    return failing(query)


@pytest.mark.parametrize("retriever", [failing, failing_later])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_failure_names_its_query(retriever: Any, workers: int) -> None:
    """The first failing query in the queries' order is named, and the cause is kept."""
    with pytest.raises(EvalframeError, match=r"'q2' \('text 2'\): ConnectionError: no answer") as e:
        retrieve(retriever, QUERIES, limit=3, workers=workers)
    assert isinstance(e.value.__cause__, ConnectionError)


@pytest.mark.parametrize("retriever", [failing, failing_later])
def test_a_failure_can_be_skipped_and_is_recorded(retriever: Any) -> None:
    """The other queries are answered, and the failures stand in a frame."""
    found = retrieve(retriever, QUERIES, limit=3, workers=2, on_error="skip")
    assert found.failures.rows() == [
        ("q2", "text 2", "ConnectionError: no answer"),
        ("q4", "text 4", "ConnectionError: no answer"),
    ]
    assert found.run["query_id"].unique().sort().to_list() == ["q0", "q1", "q3", "q5"]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (None, "it gave None"),
        ("d1", "it gave 'd1' \\(a str\\)"),
        ([{"title": "x"}], "hit 1 has no document id"),
        (["a", None], "hit 2 has no document id"),
        ({"documents": ["a"]}, "a dict\\), not a sequence"),
    ],
)
def test_results_that_are_no_hits_are_refused(results: Any, message: str) -> None:
    """What cannot be read is a failure of that query, said in words."""
    with pytest.raises(EvalframeError, match=message):
        retrieve(lambda query: results, {"q": "text"}, limit=3)


@pytest.mark.parametrize("retriever", [3, None, SimpleNamespace(), SearchOnly])
def test_what_cannot_be_asked_is_no_retriever(retriever: Any) -> None:
    """Neither callable nor with a known method; a class is not its object."""
    with pytest.raises(OptionError, match="is no retriever"):
        caller(retriever, 3)


def test_a_signature_that_does_not_fit_is_refused_before_any_query() -> None:
    """A second parameter without a default and with an unknown name cannot be filled."""
    with pytest.raises(OptionError, match="its signature is"):
        caller(lambda query, index: [], 3)


@pytest.mark.parametrize("workers", [0, -1, True, "2", 1.5])
def test_workers_are_counted_in_whole_numbers(workers: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(OptionError, match="workers="):
        retrieve(answer, QUERIES, limit=3, workers=workers)


def test_on_error_offers_two_ways() -> None:
    """Anything else is refused."""
    with pytest.raises(OptionError, match="on_error="):
        retrieve(answer, QUERIES, limit=3, on_error="ignore")  # type: ignore[arg-type]


def test_workers_run_beside_each_other() -> None:
    """With n workers n queries wait together: a barrier of n lets them pass."""
    first, barrier = next(iter(QUERIES.values())), threading.Barrier(5, timeout=10)

    def waiting(query: str) -> list[str]:
        if query != first:
            barrier.wait()
        return answer(query)

    assert retrieve(waiting, QUERIES, limit=3, workers=5).run.height == 18


def test_a_single_worker_stays_on_the_callers_thread() -> None:
    """Some retrievers, such as a database's cursor, may not be used on another."""
    threads: set[int] = set()

    def noting(query: str) -> list[str]:
        threads.add(threading.get_ident())
        return answer(query)

    retrieve(noting, QUERIES, limit=3)
    assert threads == {threading.get_ident()}


def test_async_workers_run_beside_each_other_and_no_more_than_asked() -> None:
    """The event loop has at most as many queries under way as there are workers."""
    under_way, most = 0, 0

    async def counting(query: str) -> list[str]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.002)
        under_way -= 1
        return answer(query)

    retrieve(counting, QUERIES, limit=3, workers=3)
    assert most == 3


def test_an_async_retriever_works_inside_a_running_loop() -> None:
    """As in a notebook: the loop that runs is not entered a second time."""

    async def notebook() -> int:
        return retrieve(answer_later, QUERIES, limit=3, workers=2).run.height

    assert asyncio.run(notebook()) == 18


def test_stopping_early_cancels_what_waits() -> None:
    """After the first failure no further query is started, and no thread is left."""
    asked: list[str] = []

    async def failing_first(query: str) -> list[str]:
        asked.append(query)
        await asyncio.sleep(0.005)
        raise ValueError("down")

    with pytest.raises(EvalframeError, match="'q0'"):
        retrieve(failing_first, {f"q{n}": str(n) for n in range(200)}, limit=1)
    assert len(asked) < 200
    deadline = time.monotonic() + 5
    while any(t.name.startswith("evalframe") for t in threading.enumerate()):
        assert time.monotonic() < deadline


def test_settled_passes_on_values_and_errors() -> None:
    """Awaitables are awaited with and without a running loop; their errors are raised."""

    async def broken() -> None:
        raise KeyError("x")

    async def inside() -> Any:
        with pytest.raises(KeyError):
            calls.settled(broken())
        return calls.settled(answer_later("t"))

    assert calls.settled(4) == 4
    assert asyncio.run(inside()) == answer("t")
    with pytest.raises(KeyError):
        calls.settled(broken())


@pytest.mark.parametrize("terminal", [False, True])
def test_the_bar_appears_when_asked_and_never_when_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    """True shows it at once, False never, None not on quick work."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    for progress, shown in ((True, True), (False, False), (None, False)):
        assert list(tracked(range(3), 3, "query", progress)) == [0, 1, 2]
        assert ("3/3" in capsys.readouterr().err) is shown


def test_langchain_documents_work_as_they_come() -> None:
    """Real LangChain documents: their id, else where they come from."""
    documents = pytest.importorskip("langchain_core.documents", reason="langchain-core is absent")
    document = documents.Document
    assert hits.doc_id_of(document(page_content="x", id="d1")) == "d1"
    assert hits.doc_id_of(document(page_content="x", metadata={"source": "a.txt"})) == "a.txt"
    assert hits.doc_id_of((document(page_content="x", id="d1"), 0.5)) == "d1"
    assert hits.content_of(document(page_content="x")) == "x"


def test_llamaindex_nodes_work_as_they_come() -> None:
    """Real LlamaIndex nodes with scores: the document a node was cut from, else the node."""
    schema = pytest.importorskip("llama_index.core.schema", reason="llama-index is absent")
    source = {schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id="d1")}
    cut = schema.NodeWithScore(
        node=schema.TextNode(id_="n1", text="x", relationships=source), score=0.5
    )
    whole = schema.NodeWithScore(node=schema.TextNode(id_="n1", text="x"), score=0.5)
    assert [hits.doc_id_of(node) for node in (cut, whole)] == ["d1", "n1"]
    assert (hits.piece_id_of(cut), hits.content_of(cut), hits.score_of(cut)) == ("n1", "x", 0.5)


def test_haystack_documents_work_as_they_come() -> None:
    """Real Haystack documents: the document they were split from, else their id."""
    haystack = pytest.importorskip("haystack", reason="haystack is absent")
    split = haystack.Document(id="h", content="x", meta={"source_id": "d1"}, score=0.5)
    whole = haystack.Document(id="h", content="x")
    assert [hits.doc_id_of(document) for document in (split, whole)] == ["d1", "h"]
    assert (hits.piece_id_of(split), hits.content_of(split), hits.score_of(split)) == (
        "h",
        "x",
        0.5,
    )


def by_source(query: str) -> list[Any]:
    """Chunks with ids that a store made up, and the file that they were cut from."""
    names = ["d1", "d1", "d2"] if query == "text 0" else ["d3"]
    return [{"id": f"uuid-{n}", "metadata": {"source": doc}} for n, doc in enumerate(names)]


@pytest.mark.parametrize("workers", [1, 3])
def test_ids_are_those_that_the_qrels_know(workers: int) -> None:
    """The first place of an id that names judged documents counts, for every hit of the run."""
    found = retrieve(by_source, QUERIES, limit=3, judged={"d1"}, workers=workers)
    assert found.ids_from == "metadata['source']"
    assert found.run.filter(query_id="q0").select("doc_id", "rank").rows() == [("d1", 1), ("d2", 2)]
    assert found.run.filter(query_id="q1")["doc_id"].to_list() == ["d3"]
    for judged in ({"uuid-0", "d1"}, {"else"}, None):
        first = retrieve(by_source, QUERIES, limit=3, judged=judged, workers=workers)
        assert first.ids_from is None
        assert first.run["doc_id"][0] == "uuid-0"
    kept = retrieve(by_source, QUERIES, limit=3, keep=1, judged={"d1"}).run
    assert kept["rank"].max() == 1


def test_every_id_of_a_hit_is_found_by_its_place() -> None:
    """In the order in which one of them would be taken."""
    node = SimpleNamespace(ref_doc_id="d", id_="n", metadata={"source": "f"})
    assert hits.doc_ids_of((SimpleNamespace(node=node, id_="c"), 0.5)) == {
        "node.ref_doc_id": "d",
        "node.id_": "n",
        "node.metadata['source']": "f",
        "id_": "c",
    }
    assert hits.doc_ids_of({"document": "d7"}) == {"document": "d7"}


class Store:
    """A vector store's `search` wants more than a query."""

    def search(self, query: str, search_type: str, **kwargs: Any) -> list[str]:
        raise AssertionError("not to be called")

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[str]:
        return answer(query)[:k]


def test_a_method_that_needs_more_than_a_query_is_passed_over() -> None:
    """The next one is asked; where there is none, the first is named."""
    assert retrieve(Store(), QUERIES, limit=2).run.filter(query_id="q1").height == 2

    class Demanding:
        search = Store.search

    with pytest.raises(OptionError, match="missing a required argument: 'search_type'"):
        retrieve(Demanding(), QUERIES, limit=2)


def test_a_score_that_is_no_number_has_no_place() -> None:
    """NaN among a mapping's scores fails its query, which can be skipped."""

    def scored(query: str) -> dict[str, float]:
        return {"a": 0.1, "b": float("nan") if query == "text 2" else 0.5, "c": 0.9}

    with pytest.raises(EvalframeError, match=r"'q2'.*NaN as the score of 'b'"):
        retrieve(scored, QUERIES, limit=3)
    found = retrieve(scored, QUERIES, limit=3, on_error="skip")
    assert found.failures["query_id"].to_list() == ["q2"]
    assert found.run.filter(query_id="q1")["doc_id"].to_list() == ["c", "b", "a"]


def test_a_real_langchain_store_is_scored_by_its_sources() -> None:
    """InMemoryVectorStore makes up ids; the qrels name sources. As a store and as a retriever."""
    stores = pytest.importorskip("langchain_core.vectorstores", reason="langchain-core is absent")
    fakes = pytest.importorskip("langchain_core.embeddings.fake")
    documents = pytest.importorskip("langchain_core.documents")
    store = stores.InMemoryVectorStore(fakes.DeterministicFakeEmbedding(size=8))
    texts = ("alpha", "beta", "gamma")
    made = [documents.Document(page_content=t, metadata={"source": f"{t}.txt"}) for t in texts]
    store.add_documents(made)
    qrels = {"q1": {"alpha.txt": 1.0}, "q2": {"gamma.txt": 1.0}}
    for retriever in (store, store.as_retriever()):
        report = evaluate_retrieval(retriever, qrels, {"q1": "alpha", "q2": "gamma"}, k_values=(1,))
        assert report.metrics["ndcg@1"] == 1.0
        assert "metadata['source']" in report.notes[0]
