"""What is written comes back to the last bit, or is refused: every kind of frame, every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalframe import inputs
from evalframe import io as ef
from evalframe.errors import EvalframeError, ReadError
from evalframe.report import evaluate

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ODD = st.text(" \t\n\r\x0b\x00\ufeff\u00a0\"',;#{}[]:\\ab01", max_size=5)
TEXTS = ANY | ODD | st.none()
LIKE = st.sampled_from(["<html>", "{}", "[]", "PAR1", "ARROW1", "BZh91AY&SY", "ORC", "%PDF-", "PK"])
IDS = (ANY | ODD | LIKE).filter(bool)
TABLES = ("tsv", "csv", "tsv.gz", "csv.zst")
JSON = ("jsonl", "jsonl.gz", "json", "json.gz")
BINARY = ("parquet", "arrow")


def back_or_refused(kind: str, frame: pl.DataFrame, path: Path) -> bool:
    """Whether the format holds the frame; it must come back then, whole and as a plan."""
    try:
        getattr(ef, f"write_{kind}")(frame, path)
    except EvalframeError:
        assert not path.exists()
        return False
    kept = {"run": ["rank"]}.get(kind, [])
    assert getattr(ef, f"read_{kind}")(path).drop(kept, strict=False).equals(frame)
    plan = getattr(ef, f"scan_{kind}")(path)
    assert plan.collect().drop(kept, strict=False).equals(frame)
    return True


@pytest.mark.parametrize("suffix", [*TABLES, *JSON, *BINARY, "trec", "trec.gz"])
@settings(max_examples=40, deadline=None)
@given(
    data=st.dictionaries(
        st.tuples(IDS, IDS), st.integers(-9, 9) | st.floats(-9, 9), min_size=1, max_size=4
    )
)
@example(data={("#", "0"): 0.0})
@example(data={("0", "0\r,"): 0.0})
def test_qrels_and_runs_come_back_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: dict[tuple[str, str], float]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    ids = [key for key, _ in sorted(data.items())] if suffix.startswith("json") else [*data]
    whole = all(isinstance(value, int) for value in data.values())
    grades = [data[key] if whole else float(data[key]) for key in ids]
    keys: dict[str, Any] = {"query_id": [q for q, _ in ids], "doc_id": [d for _, d in ids]}
    qrels = pl.DataFrame({**keys, "relevance": grades})
    run = pl.DataFrame({**keys, "score": [float(grade) for grade in grades]})
    held = back_or_refused("qrels", qrels, folder / f"qrels.{suffix}")
    assert back_or_refused("run", run, folder / f"run.{suffix}") == held
    assert held or suffix in TABLES or suffix.startswith("trec")


@pytest.mark.parametrize("suffix", [*TABLES, "jsonl", "jsonl.gz", *BINARY])
@settings(max_examples=40, deadline=None)
@given(rows=st.dictionaries(IDS, st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_texts_come_back_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    rows: dict[str, tuple[str | None, str | None, str | None]],
) -> None:
    """Queries, a corpus and samples with a column of the user's own; nulls stay nulls."""
    folder = tmp_path_factory.mktemp("law")
    first, second, own = (pl.Series(values, dtype=pl.String) for values in zip(*rows.values()))  # noqa: B905
    ids = pl.Series([*rows])
    queries = pl.DataFrame({"query_id": ids, "text": first, "own": own})
    corpus = pl.DataFrame({"doc_id": ids, "title": first, "text": second, "own": own})
    samples = pl.DataFrame({"query_id": ids, "user_input": first, "response": second, "own": own})
    held = [
        back_or_refused("queries", queries, folder / f"queries.{suffix}"),
        back_or_refused("corpus", corpus, folder / f"corpus.{suffix}"),
        back_or_refused("samples", samples, folder / f"samples.{suffix}"),
    ]
    assert suffix in TABLES or held == [True, True, True]


def test_a_large_file_is_evaluated_as_a_small_one_and_names_its_bad_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are streamed fail with an error of the house, with file, line number and text."""
    path = tmp_path / "run.trec"
    good = "".join(f"q{i // 100} Q0 d{i} {i % 100} {5000 - i}.5 t\n" for i in range(5000))
    path.write_text(good)
    qrels = {f"q{i}": {f"d{100 * i + 3}": 1} for i in range(50)}
    small = evaluate(qrels, path, ["mrr", "ndcg@10"]).metrics
    monkeypatch.setattr(inputs, "_bytes_of", lambda path: -1)
    assert evaluate(qrels, path, ["mrr", "ndcg@10"]).metrics == small
    path.write_text(good + "q9 Q0 d 1 high t\n")
    with pytest.raises(ReadError, match=r"run\.trec, line 5001: .*: q9 Q0 d 1 high t$"):
        evaluate(qrels, path, ["mrr"])
