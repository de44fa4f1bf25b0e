"""What fusion refuses: runs, scores, weights and judgements that would give a wrong number."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import evalframe as evf
from evalframe.errors import FrameError, OptionError, RowError
from evalframe.fusion.fusing import fuse
from evalframe.fusion.normalising import normalise
from evalframe.fusion.tuning import tune

from .cases import run_table

INF = float("inf")
S: dict[str, Any] = {"q": {"a": 2.0, "b": 1.0}}
T: dict[str, Any] = {"q": {"b": 2.0, "c": 1.0}}
RUNS = {"s": S, "t": T}
COLUMN = pl.concat(run_table(run).with_columns(system=pl.lit(n)) for n, run in RUNS.items())


def scores_of(frame: pl.DataFrame | pl.LazyFrame) -> dict[str, float]:
    return {doc: score for _, doc, score in frame.lazy().collect().rows()}


def test_names_that_are_the_same_as_strings_are_refused() -> None:
    with pytest.raises(FrameError, match=r"same once they are strings: \[1, '1'\]"):
        fuse({1: S, "1": T})
    with pytest.raises(OptionError, match="name a system twice"):
        fuse({1: S, 2: T}, "wsum", weights={1: 1, "1": 2, 2: 1})


INFINITE: dict[str, Any] = {"q": {"a": INF, "b": 1.0, "c": -INF}}


@pytest.mark.parametrize(
    ("method", "norm"),
    [
        ("comb_sum", "min_max"),
        ("wsum", "zmuv"),
        ("comb_med", None),
        ("comb_max", "max"),
        ("rrf", "min_max_inverted"),
        ("segfuse", None),
    ],
)
def test_infinite_scores_are_refused_where_they_are_read(method: str, norm: str | None) -> None:
    learn = {"train_qrels": {"q": {"a": 1}}} if method == "segfuse" else {}
    with pytest.raises(RowError, match=r"(?s)run 'i': 2 rows have an infinite.*doc_id='a'"):
        fuse({"s": S, "i": INFINITE}, method, norm=norm, **learn)
    plan = fuse({"s": S, "i": run_table(INFINITE).lazy()}, method, norm=norm, **learn)
    with pytest.raises(RowError, match="an infinite score"):
        plan.lazy().collect()


def test_infinite_scores_are_kept_where_ranks_or_extremes_alone_are_read() -> None:
    finite = {"q": {"a": 9.0, "b": 1.0, "c": -9.0}}
    for method, norm in (("rrf", "min_max"), ("condorcet", "min_max"), ("comb_sum", "rank")):
        runs, same = {"s": S, "i": INFINITE}, {"s": S, "i": finite}
        assert fuse(runs, method, norm=norm).equals(fuse(same, method, norm=norm))
    fused = scores_of(fuse({"s": S, "i": INFINITE}, "comb_max", norm=None))
    assert fused == {"a": INF, "b": 1.0, "c": -INF}
    assert scores_of(normalise(INFINITE, "rank")) == {"a": 1.0, "b": 1 - 1 / 3, "c": 1 - 2 / 3}
    with pytest.raises(RowError, match="2 rows have an infinite score"):
        normalise(INFINITE, "min_max")


@pytest.mark.parametrize("method", ["comb_sum", "rrf", "condorcet", "borda"])
def test_a_document_that_stands_twice_has_no_second_vote(method: str) -> None:
    """A plan fails on it by default, and keeps its best row where that is asked for."""
    twice = pl.concat([run_table(S), run_table({"q": {"b": 0.5}})])
    wanted = fuse(RUNS, method)
    for lazy in ({"s": twice.lazy(), "t": T}, pl.concat([COLUMN, COLUMN.head(1)]).lazy()):
        with pytest.raises(RowError, match="stands more than once"):
            fuse(lazy, method).lazy().collect()
        assert scores_of(fuse(lazy, method, duplicates="best")) == scores_of(wanted)
    with pytest.raises(RowError, match="more than once"):
        fuse({"s": twice, "t": T}, method)


def test_large_frames_in_memory_are_looked_through_while_they_are_fused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalframe.frames.CHECKED_WHOLE", 2)
    monkeypatch.setattr("evalframe.fusion.lists.CHECKED_WHOLE", 2)
    twice = pl.concat([run_table(S), run_table({"q": {"b": 0.5}})])
    with pytest.raises(RowError, match="in a system's list"):
        fuse({"s": twice, "t": T}, "rrf")
    assert fuse(RUNS, "rrf").height == 3


def test_weights_by_column_by_number_and_of_other_libraries() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    wanted = {"a": 6.0, "b": 7.0, "c": 2.0}
    for runs, weights in (
        (RUNS, numpy.array([3, 2])),
        ({1: S, 2: T}, {1: numpy.int64(3), 2: numpy.float32(2)}),
        ([S, T], {1: 3, 2: 2}),
        (COLUMN, {"s": 3, "t": 2}),
        (COLUMN.lazy(), {"s": 3, "t": 2}),
    ):
        assert scores_of(fuse(runs, "wsum", norm=None, weights=weights)) == wanted
    assert fuse(RUNS, "rrf", k=numpy.int64(60), depth=numpy.int32(2)).equals(fuse(RUNS, depth=2))
    learn: dict[str, Any] = {"train_qrels": {"q": {"a": 1}}}
    one, other = (fuse(RUNS, "slidefuse", w=w, **learn) for w in (1, numpy.int64(1)))
    assert one.equals(other)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"s": 1}, r"lack \['t'\]; the runs are \['s', 't'\]"),
        ({"s": 1, "t": 1, "u": 1}, r"weights name \['u'\], which are no runs"),
        ({"s": 1, "t": float("nan")}, "finite numbers: 't' has nan"),
        ({"s": -INF, "t": 1}, "finite numbers: 's' has -inf"),
        ({"s": "1", "t": 1}, "finite numbers: 's' has '1'"),
        ({"s": None, "t": True}, "finite numbers: 's' has None"),
        (2.0, "a number for each system"),
        ("st", "a number for each system"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: Any, message: str) -> None:
    for runs in (RUNS, COLUMN):
        with pytest.raises(OptionError, match=message):
            fuse(runs, "wsum", weights=weights)


def test_weights_of_a_column_come_by_name() -> None:
    for runs in (COLUMN, COLUMN.lazy()):
        with pytest.raises(OptionError, match="column of systems: name each"):
            fuse(runs, "wsum", weights=[1, 2])
    with pytest.raises(OptionError, match="weights lack the system t"):
        fuse(COLUMN.lazy(), "wsum", weights={"s": 1}).lazy().collect()


@pytest.mark.parametrize("bad", [float("nan"), INF, "60", None, True, -1])
def test_parameters_that_are_no_finite_numbers_are_refused(bad: Any) -> None:
    for method, name in (("rrf", "k"), ("comb_gmnz", "gamma"), ("rbc", "phi")):
        with pytest.raises(OptionError, match=f"{name} must be a finite number"):
            fuse(RUNS, method, **{name: bad})


def test_training_that_shares_nothing_is_refused() -> None:
    for method in ("probfuse", "mapfuse", "bayesfuse"):
        with pytest.raises(OptionError, match="judge no query of the runs"):
            fuse(RUNS, method, train_qrels={"p": {"a": 1}})
        with pytest.raises(OptionError, match=r"train_runs lack the systems \['t'\]"):
            fuse(RUNS, method, train_qrels={"q": {"a": 1}}, train_runs={"s": S, "x": T})
        plan = fuse(COLUMN.lazy(), method, train_qrels={"p": {"a": 1}})
        with pytest.raises(OptionError, match="judge no query"):
            plan.lazy().collect()
    with pytest.raises(OptionError, match="rel must be a grade"):
        fuse(RUNS, "mapfuse", train_qrels={"q": {"a": 1}}, rel="1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qrels": {"p": {"a": 1}}}, "none of the 1 judged queries"),
        ({"metric": ["mrr"]}, "one metric best"),
        ({"grid": {"k": 60}}, "grid={'k': 60} needs a list"),
        ({"grid": [60]}, "grid must be a mapping"),
        ({"seed": "a"}, "seed='a' must be a whole number"),
        ({"method": "wsum", "grid": {"weights": [{"s": 1}]}}, r"in the grid lack \['t'\]"),
        ({"method": "wsum", "grid": {"weights": [(1, INF)]}}, "in the grid must be finite"),
    ],
)
def test_tuning_refuses_what_has_no_answer(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tune(
            **{"qrels": {"q": {"a": 1}}, "runs": RUNS, "method": "rrf", "metric": "mrr", **options}
        )


def test_tuning_takes_a_metric_and_numbers_of_other_libraries() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    grid = {"k": numpy.array([1, 60])}
    qrels = {"q": {"b": 1}}
    found = tune(qrels, RUNS, "rrf", evf.metrics.parse("RR"), grid=grid, seed=numpy.int64(0))
    assert (found.metric, found.train, found.tried["k"].to_list()) == ("mrr", 1.0, [1, 60])
    twice = pl.concat([run_table(S), run_table({"q": {"b": 0.5}})]).lazy()
    with pytest.raises(RowError, match="more than once"):
        tune(qrels, {"s": twice, "t": T}, "rrf", "mrr")
