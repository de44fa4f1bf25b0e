"""A BEIR folder as three dicts, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from evalframe import inputs
from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import RowError, first_rows
from evalframe.io import beir, dicts
from evalframe.io.json_writing import write_jsonl
from evalframe.io.reading import read_kind
from evalframe.io.saving import beside_all
from evalframe.io.table_writing import write_table

__all__ = ["read_beir", "write_beir"]

QRELS_HEADER = b"query-id\tcorpus-id\tscore\n"
EMPTY: dict[Kind, dict[str, Any]] = {
    "corpus": {"doc_id": pl.String, "text": pl.String},
    "queries": {"query_id": pl.String, "text": pl.String},
    "qrels": {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64},
}
LARGEST_GRADE = 2**53

T = TypeVar("T")


def read_beir(
    directory: str | os.PathLike[str], *, qrels: str | None = None
) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]:
    """Read a BEIR folder into three dicts.

    Parameters
    ----------
    directory
        Holds `corpus.jsonl`, `queries.jsonl` and a table of judgements.
    qrels
        The judgements' file, relative to the directory; `None` takes `qrels/test.tsv`, else the
        only file in `qrels/`, else `qrels.tsv`.

    Returns
    -------
    corpus : dict
        Document id → its title and text, joined by a space where there are both.
    queries : dict
        Query id → text.
    qrels : dict
        Query id → document id → grade.

    Raises
    ------
    FileNotFoundError
        The directory or one of the three files is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_beir(folder, {"d1": "Paris"}, {"q1": "capital?"}, {"q1": {"d1": 1.0}})
    ...     read_beir(folder)
    ({'d1': 'Paris'}, {'q1': 'capital?'}, {'q1': {'d1': 1.0}})
    """
    corpus, queries, judged = beir.beir_files(directory, qrels=qrels)
    no_null = pl.col("text").fill_null("")
    return (
        _read(
            corpus, "corpus", lambda f: dicts.corpus_to_dict(f.with_columns(no_null), joined=True)
        ),
        _read(queries, "queries", lambda f: dicts.queries_to_dict(f.with_columns(no_null))),
        _read(judged, "qrels", lambda f: dicts.qrels_to_dict(f.cast({"relevance": pl.Float64}))),
    )


def _read(path: Path, kind: Kind, as_dict: Callable[[pl.DataFrame], dict[str, T]]) -> dict[str, T]:
    """A file as a dict; one that `write_beir` made of an empty dict is an empty dict again."""
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(QRELS_HEADER) + 1) in (b"", QRELS_HEADER):
                return {}
    return as_dict(read_kind(path, kind))


def write_beir(
    directory: str | os.PathLike[str],
    corpus: Mapping[str, str],
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, float]],
    *,
    overwrite: bool = True,
) -> None:
    """Write three dicts as a BEIR folder, which `read_beir` reads back.

    `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` are written beside their names and renamed when
    all three are complete: whatever fails before that leaves an older data set as it was. A data
    set that this function wrote is replaced. Whole grades are written as whole numbers. A query
    without judgements leaves no line in `qrels.tsv`.

    Parameters
    ----------
    directory
        Made if need be, with its parents.
    corpus
        Document id → text; written without titles.
    queries
        Query id → text.
    qrels
        Query id → document id → grade.
    overwrite
        Whether files of these three names that exist are replaced.

    Raises
    ------
    FileExistsError
        A file exists and `overwrite` is False; or the folder holds other judgements in `qrels/`,
        which would be read in place of these.
    RowError
        A grade is infinite or so large that it is no exact number, or null.
    """
    root = Path(directory).expanduser()
    others = beir.beir_splits(root)
    if others:
        raise FileExistsError(
            f"{root / 'qrels'}: this folder has judgements already ({', '.join(sorted(others))}), "
            "and they would be read in place of those to be written; write to another folder"
        )
    documents = _table(corpus, "corpus").rename({"doc_id": "_id"})
    if "title" not in documents.columns:
        documents = documents.insert_column(1, pl.lit("", pl.String).alias("title"))
    asked = _table(queries, "queries").rename({"query_id": "_id"})
    grades = _exact(_table(qrels, "qrels"))
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    targets = [root / "corpus.jsonl", root / "queries.jsonl", root / "qrels.tsv"]
    with beside_all(targets, overwrite=overwrite) as (corpus_part, queries_part, qrels_part):
        write_jsonl(documents, corpus_part, overwrite=True)
        write_jsonl(asked, queries_part, overwrite=True)
        write_table(grades, qrels_part, mark="\t", overwrite=True, names=names)


def _table(data: Any, kind: Kind) -> pl.DataFrame:
    """A dict as a frame, also an empty one."""
    if isinstance(data, Mapping) and not (any(data.values()) if kind == "qrels" else data):
        return pl.DataFrame(schema=EMPTY[kind])
    frame = inputs.frame_of(data, kind)
    return collect(frame, "in-memory") if isinstance(frame, pl.LazyFrame) else frame


def _exact(grades: pl.DataFrame) -> pl.DataFrame:
    """Grades that a file gives back as they are; whole ones as whole numbers."""
    grade = pl.col("relevance")
    wrong = grades.filter((grade.cast(pl.Float64).abs() < LARGEST_GRADE).not_())
    if wrong.height:
        raise RowError(
            f"{wrong.height} grades are infinite or beyond 2**53, where numbers are not exact:\n"
            + first_rows(wrong)
        )
    whole = grades.select((grade == grade.round()).all()).item()
    return grades.cast({"relevance": pl.Int64}) if whole else grades
