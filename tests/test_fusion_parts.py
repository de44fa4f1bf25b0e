"""Fusion some queries at a time: the same bits whatever the parts, and never more than a part."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.io.plugins import register_io_source

import evalframe as evf
from evalframe.errors import OptionError, RowError
from evalframe.fusion import METHODS, fuse, parts
from evalframe.fusion.normalising import NORMALISATIONS

WEIGHTS = {"s0": 0.5, "s1": 0.3, "s2": 0.2}
TRAINED = [name for name, method in METHODS.items() if method.trained]


def made(seed: int, n_queries: int = 9, n_docs: int = 12) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Qrels, and three runs in no order that lack queries and documents of each other."""
    rng = random.Random(seed)
    docs = [f"d{i:02}" for i in range(n_docs)]
    queries = [f"q{i}" for i in range(n_queries)]

    def run(queries: list[str]) -> pl.DataFrame:
        rows = [
            (query, doc, float(rng.randint(-3, 6)))
            for query in queries
            for doc in rng.sample(docs, rng.randint(1, n_docs))
        ]
        rng.shuffle(rows)
        return pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")

    runs: dict[str, Any] = {f"s{i}": run(rng.sample(queries, n_queries - 3 * i)) for i in range(3)}
    judged = [(q, d, rng.randint(0, 2)) for q in queries[2:6] for d in rng.sample(docs, 6)]
    return pl.DataFrame(judged, ["query_id", "doc_id", "relevance"], orient="row"), runs


def in_parts_of(monkeypatch: pytest.MonkeyPatch, rows: int) -> list[int]:
    """Parts of so many rows; gives the rows of each part that was worked out."""
    seen: list[int] = []
    monkeypatch.setattr(parts, "PART", rows)
    collected = parts._collected

    def counted(plan: pl.LazyFrame, height: int) -> pl.DataFrame:
        seen.append(height)
        return collected(plan, height)

    monkeypatch.setattr(parts, "_collected", counted)
    return seen


@pytest.mark.parametrize("method", METHODS)
def test_the_size_of_the_parts_changes_no_bit(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """In memory, as plans, mixed, and as a column of systems."""
    known = METHODS[method]
    qrels, runs = made(len(method))
    column = pl.concat(run.with_columns(system=pl.lit(name)) for name, run in runs.items())
    lazy = {name: run.lazy() for name, run in runs.items()}
    options: dict[str, Any] = {"train_qrels": qrels} if known.trained else {}
    options |= {"weights": WEIGHTS} if known.weighted else {}
    shapes = [(runs, 1), (lazy, 30), ({**runs, "s1": lazy["s1"]}, 50), (column.lazy(), 70)]
    for norm, ties in (("min_max", "given"), ("borda", "trec")):
        wanted: dict[str, Any] = {"norm": norm, "ties": ties, "depth": 5, **options}
        whole = fuse(runs, method, **wanted)
        for shape, rows in shapes:
            with monkeypatch.context() as patched:
                seen = in_parts_of(patched, rows)
                assert fuse(shape, method, **wanted).lazy().collect().equals(whole)
            assert len(seen) > 1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 200))
def test_runs_of_any_sort_are_the_same_in_parts_of_any_size(seed: int, rows: int) -> None:
    _, runs = made(seed)
    whole = fuse(runs, "comb_sum", norm="zmuv")
    with pytest.MonkeyPatch.context() as patched:
        in_parts_of(patched, rows)
        plan = fuse({name: run.lazy() for name, run in runs.items()}, "comb_sum", norm="zmuv")
        assert plan.lazy().collect().equals(whole)


def test_every_normalisation_and_the_whole_list_are_the_same_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, runs = made(1)
    for norm in [*NORMALISATIONS, None]:
        whole = fuse(runs, "comb_sum", norm=norm)
        with monkeypatch.context() as patched:
            in_parts_of(patched, 20)
            plan = fuse({name: run.lazy() for name, run in runs.items()}, "comb_sum", norm=norm)
            assert plan.lazy().collect().equals(whole), norm


def read_once(run: pl.DataFrame, counts: dict[str, int], name: str, rows: int) -> pl.LazyFrame:
    """A run as a plan that counts how often it is read."""

    def source(
        columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        counts[name] = counts.get(name, 0) + 1
        for part in run.iter_slices(rows):
            wanted = part if predicate is None else part.filter(predicate)
            yield wanted if columns is None else wanted.select(columns)

    return register_io_source(source, schema=run.schema)


def test_no_part_is_larger_than_it_may_be_and_each_run_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for the query that a part begins with, which may reach back into the one before."""
    _, runs = made(2, n_queries=60)
    together = pl.concat(runs.values())
    total, largest = together.height, together.group_by("query_id").len()["len"].max()
    seen = in_parts_of(monkeypatch, 100)
    counts: dict[str, int] = {}
    plans = {name: read_once(run, counts, name, 50) for name, run in runs.items()}
    fused = fuse(plans, "rrf")
    assert counts == {}
    assert seen == []
    assert fused.lazy().collect().height > 0
    assert counts == dict.fromkeys(runs, 1)
    assert sum(seen) == total
    assert max(seen) < 100 + int(str(largest))
    assert len(seen) <= 2 * total / 100


def test_where_documents_are_compared_a_part_holds_fewer_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = {s: {f"q{i}": {f"d{j}": float(j) for j in range(5)} for i in range(8)} for s in "ab"}
    seen = in_parts_of(monkeypatch, 100)
    fuse(runs, "condorcet")
    assert seen == [2 * 25 * 2] * 4


def test_a_query_larger_than_a_part_is_a_part_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {s: {f"q{i}": {f"d{j}": float(j) for j in range(i)} for i in (1, 9, 2)} for s in "ab"}
    seen = in_parts_of(monkeypatch, 8)
    fuse(runs, "rrf")
    assert seen == [2 + 4, 18]


def test_files_are_there_only_while_the_fused_run_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, runs = made(3, n_queries=40)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    in_parts_of(monkeypatch, 30)
    whole = fuse({name: run.lazy() for name, run in runs.items()}).lazy()
    taken = iter(whole.collect_batches(chunk_size=1))
    first = next(taken)
    stored = [*tmp_path.rglob("*.parquet")]
    assert len({file.parent.name for file in stored}) == 3
    assert {tuple(pl.read_parquet_schema(file)) for file in stored} == {tuple(runs["s0"].columns)}
    rest = pl.concat([first, *taken])
    assert rest.equals(fuse(runs))
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(RowError, match="more than once"):
        fuse({**runs, "s0": pl.concat([runs["s0"]] * 2).lazy()}).lazy().collect()
    assert [*tmp_path.iterdir()] == []


def test_the_engine_takes_the_rows_and_columns_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, runs = made(4, n_queries=40)
    whole = fuse(runs, "comb_mnz")
    seen = in_parts_of(monkeypatch, 30)
    plan = fuse({name: run.lazy() for name, run in runs.items()}, "comb_mnz").lazy()
    assert plan.head(3).collect().equals(whole.head(3))
    assert len(seen) == 1
    assert plan.select("score").collect().equals(whole.select("score"))
    high = pl.col("score") > 2
    assert plan.filter(high).head(4).collect().equals(whole.filter(high).head(4))
    assert plan.filter(query_id="q7").collect().equals(whole.filter(query_id="q7"))
    assert plan.select(pl.len()).collect().item() == whole.height


def test_a_fused_plan_is_scored_and_written_like_any_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    qrels, runs = made(5)
    whole = fuse(runs, "rrf")
    in_parts_of(monkeypatch, 20)
    monkeypatch.setattr("evalframe.ranking.streaming.BATCH", 15)
    plan = fuse({name: run.lazy() for name, run in runs.items()}, "rrf")
    metrics = ["ndcg@10", "map", "num_ret"]
    scored = evf.evaluate(qrels, plan, metrics)
    assert scored.per_query.equals(evf.evaluate(qrels, whole, metrics).per_query)
    evf.write_run(plan, tmp_path / "fused.parquet")
    assert pl.read_parquet(tmp_path / "fused.parquet").equals(whole)


def test_large_files_are_not_read_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Paths in, a frame out: only what stands between differs."""
    _, runs = made(6)
    for name, run in runs.items():
        evf.write_run(run, tmp_path / f"{name}.parquet")
        evf.write_run(run, tmp_path / f"{name}.trec")
    whole = fuse(runs, "comb_sum")
    monkeypatch.setattr("evalframe.fusion.lists.READ_WHOLE", 0)
    in_parts_of(monkeypatch, 20)
    for suffix in ("parquet", "trec"):
        fused = fuse({name: tmp_path / f"{name}.{suffix}" for name in runs}, "comb_sum")
        assert isinstance(fused, pl.DataFrame)
        assert fused.equals(whole)


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_rows_that_cannot_be_fused_are_found_in_plans(
    monkeypatch: pytest.MonkeyPatch, bad: float | None
) -> None:
    _, runs = made(7)
    broken = runs["s2"].with_columns(score=pl.when(pl.col("score") > 4).then(bad).otherwise(1.0))
    in_parts_of(monkeypatch, 20)
    with pytest.raises(RowError, match=r"null or NaN in column score|an infinite score"):
        fuse({**runs, "s2": broken.lazy()}, "comb_sum").lazy().collect()
    nobody = runs["s2"].with_columns(query_id=pl.lit(None, pl.String)).lazy()
    with pytest.raises(RowError, match="null or NaN in column query_id"):
        fuse({**runs, "s2": nobody}, "comb_sum").lazy().collect()


def test_a_plan_without_rows_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    _, runs = made(8)
    nothing = runs["s0"].clear().lazy()
    for rows in (20, 10_000):
        in_parts_of(monkeypatch, rows)
        fused = fuse({**runs, "s9": nothing}, "borda", norm="borda").lazy().collect()
        assert fused.equals(fuse(runs, "borda", norm="borda"))
    assert fuse({"s": nothing, "t": nothing}).lazy().collect().height == 0


@pytest.mark.parametrize("method", TRAINED)
def test_what_is_learnt_is_learnt_from_all_parts(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    qrels, runs = made(9)
    _, others = made(10)
    whole = fuse(runs, method, train_qrels=qrels, train_runs=others)
    in_parts_of(monkeypatch, 20)
    lazy = {name: run.lazy() for name, run in others.items()}
    assert fuse(runs, method, train_qrels=qrels.lazy(), train_runs=lazy).equals(whole)
    strange = qrels.with_columns(query_id="nobody asked " + pl.col("query_id"))
    plan = fuse({name: run.lazy() for name, run in runs.items()}, method, train_qrels=strange)
    with pytest.raises(OptionError, match="judge no query"):
        plan.lazy().collect()
