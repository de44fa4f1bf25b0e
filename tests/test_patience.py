"""The C/W/L family and compat: cwl-eval's and ir_measures' numbers, and the reader step by step."""

from __future__ import annotations

import itertools
import json
import math
import operator
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalframe as evf
from evalframe.errors import MetricError

from .cases import Run, qrels_of, run_of

GRADES = st.lists(st.sampled_from([None, None, 0, 1, 2, 3]), min_size=1, max_size=40)
MISSED = st.lists(st.integers(0, 3), max_size=4)


@pytest.mark.parametrize("case", ["cwl", "compat", "graded-small"])
def test_values_are_those_of_ir_measures(retrieval_data: Path, case: str) -> None:
    cases = json.loads((retrieval_data / "expected" / "ir_measures.json").read_text())["cases"]
    (found,) = (one for one in cases if one["name"] == case)
    ours = ("BPM", "INSQ", "INST", "SDCG", "NERR", "Compat")
    if isinstance(found["qrels"], str):
        qrels, run = (
            pl.DataFrame(
                [[line.split()[i] for i in (0, 2, column)] for line in text.splitlines()],
                schema=["query_id", "doc_id", value],
                orient="row",
            ).with_columns(pl.col(value).cast(pl.Float64))
            for text, column, value in (
                ((retrieval_data / found["qrels"]).read_text(), 3, "relevance"),
                ((retrieval_data / found["run"]).read_text(), 4, "score"),
            )
        )
    else:
        qrels = pl.DataFrame(
            [row[:3] for row in found["qrels"]], schema=["qid", "docno", "rel"], orient="row"
        )
        run = pl.DataFrame(found["run"], schema=["qid", "docno", "score"], orient="row")
    expected = {m: v for m, v in found["expected"].items() if m.startswith(ours)}
    assert expected
    values = evf.per_query(qrels, run, list(expected))
    for metric, by_query in expected.items():
        got = dict(values.select("query_id", metric).rows())
        assert got == pytest.approx(by_query, abs=1e-12), metric


def walked(continues: list[float], gains: list[float]) -> float:
    """Gain per document, by walking down the list with these probabilities to go on."""
    attention = [1.0, *itertools.accumulate(continues[:-1], operator.mul)]
    return sum(a * g for a, g in zip(attention, gains, strict=True)) / sum(attention)


def reader(metric: str, gains: list[float], k: int, T: float, p: float) -> float:
    n = len(gains)
    so_far = list(itertools.accumulate(gains))
    go_on = {
        "insq": lambda i: ((i + 2 * T - 1) / (i + 2 * T)) ** 2,
        "inst": lambda i: ((i + 2 * T - so_far[i - 1] - 1) / (i + 2 * T - so_far[i - 1])) ** 2,
        "sdcg": lambda i: math.log2(i + 1) / math.log2(i + 2) * (i < k),
        "bpm": lambda i: float(so_far[i - 1] < T and i < k),
        "nerr8": lambda i: (1 - gains[i - 1]) * (i < k),
        "nerr9": lambda i: i / (i + 1) * (1 - gains[i - 1]) * (i < k),
        "nerr10": lambda i: p * (1 - gains[i - 1]),
        "nerr11": lambda i: ((i + 2 * T - 1) / (i + 2 * T)) ** 2 * (1 - gains[i - 1]),
    }[metric]
    return walked([go_on(i) for i in range(1, n + 1)], gains)


def listed(grades: list[int | None], missed: list[int]) -> tuple[dict[str, dict[str, int]], Run]:
    """A list whose documents have these grades (None: no judgement), and relevant ones it lacks."""
    judged = {f"d{i}": grade for i, grade in enumerate(grades) if grade is not None}
    lacking = {f"m{i}": grade for i, grade in enumerate(missed)}
    return {"q": {**judged, **lacking, "z": 0}}, run_of([f"d{i}" for i in range(len(grades))])


@settings(max_examples=25, deadline=None)
@given(GRADES, st.sampled_from([1, 2, 3]), st.integers(1, 50), st.sampled_from([0.5, 1, 2.5]))
def test_values_are_what_a_reader_gains_who_walks_down_the_list(
    grades: list[int | None], max_rel: int, k: int, T: float
) -> None:
    p = 0.8
    qrels, run = listed(grades, [])
    gains = [min(max(grade or 0, 0), max_rel) / max_rel for grade in grades]
    gains += [0.0] * (1000 - len(gains))
    spellings = {
        "insq": f"insq(T={T},max_rel={max_rel})",
        "inst": f"inst(T={T},max_rel={max_rel})",
        "sdcg": f"sdcg(max_rel={max_rel})@{k}",
        "bpm": f"bpm(T={T},max_rel={max_rel})@{k}",
        "nerr8": f"nerr8(max_rel={max_rel})@{k}",
        "nerr9": f"nerr9(max_rel={max_rel})@{k}",
        "nerr10": f"nerr10(p={p},max_rel={max_rel})",
        "nerr11": f"nerr11(T={T},max_rel={max_rel})",
    }
    got = evf.evaluate(qrels, run, list(spellings.values())).metrics
    for metric, spelling in spellings.items():
        expected = reader(metric, gains, k, T, p)
        assert got[spelling] == pytest.approx(expected, abs=1e-10), spelling


def overlap(qrels: dict[str, int], run: dict[str, float], p: float, normalised: bool) -> float:
    ranking = sorted(run, key=run.__getitem__, reverse=True)
    place = {doc: i for i, doc in enumerate(ranking)}
    ideal = [doc for doc in qrels if qrels[doc] > 0]
    ideal.sort(key=lambda doc: (-qrels[doc], place.get(doc, math.inf)))
    depth = max(len(ranking), len(ideal))

    def rbo(one: list[str], other: list[str]) -> float:
        return sum(p ** (i - 1) * len({*one[:i]} & {*other[:i]}) / i for i in range(1, depth + 1))

    whole = sum(p ** (i - 1) for i in range(1, depth + 1))
    best = rbo(ideal, ideal) if normalised else whole
    return rbo(ranking, ideal) / best if best else 0.0


@settings(max_examples=60, deadline=None)
@given(GRADES, MISSED, st.sampled_from([0.3, 0.8, 0.99]))
def test_compat_is_the_overlap_with_the_nearest_ideal_list(
    grades: list[int | None], missed: list[int], p: float
) -> None:
    qrels, run = listed(grades, missed)
    metrics = [f"Compat(p={p})", f"Compat(p={p},normalize=False)"]
    got = evf.evaluate(qrels, run, metrics).metrics
    for metric, normalised in zip(metrics, (True, False), strict=True):
        expected = overlap(qrels["q"], run["q"], p, normalised)
        assert got[metric] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        "insq(T=0)",
        "insq(max_rel=0)",
        "insq(depth=0)",
        "inst(T=0.4)",
        "sdcg",
        "bpm(T=-1)@5",
        "nerr@0",
        "nerr10(p=1)",
        "nerr(equation=7)@5",
        "compat(p=1)",
        "compat(normalize=maybe)",
    ],
)
def test_readers_that_cannot_be_are_refused(metric: str) -> None:
    with pytest.raises(MetricError, match=re.escape(metric)):
        evf.evaluate(qrels_of("a:1"), run_of("a"), metric)
