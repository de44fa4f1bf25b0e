"""BEIR's folder: corpus.jsonl, queries.jsonl and qrels/{split}.tsv."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalframe.errors import OptionError
from evalframe.io.json_writing import write_jsonl
from evalframe.io.reading import read_kind
from evalframe.io.saving import beside_all
from evalframe.io.table_writing import write_table
from evalframe.io.writing import checked_frame

__all__ = ["Dataset", "beir_files", "beir_splits", "read_beir", "write_beir"]

TEXTS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
TABLES = (".tsv", ".tsv.gz", ".tsv.zst", ".jsonl", ".parquet", ".txt", ".trec")


class Dataset(NamedTuple):
    """A test collection: three house frames."""

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame


def read_beir(
    folder: str | os.PathLike[str], split: str | None = None, *, qrels: str | None = None
) -> Dataset:
    """Read a BEIR folder into corpus, queries and qrels frames.

    Parameters
    ----------
    folder
        Holds `corpus.jsonl`, `queries.jsonl` (or `.jsonl.gz`, `.jsonl.zst`, `.parquet`) and
        `qrels/{split}.tsv`, or one `qrels.tsv`.
    split
        Which qrels; by default `test`, else the only one there is.
    qrels
        A qrels file relative to the folder, instead of a split.

    Returns
    -------
    Dataset
        `(corpus, queries, qrels)`; every further column of the files is kept.

    Raises
    ------
    FileNotFoundError
        The folder or one of its files is missing.
    OptionError
        There is no such split; those that exist are listed.
    """
    corpus, queries, judged = beir_files(folder, split, qrels=qrels)
    return Dataset(
        read_kind(corpus, "corpus"), read_kind(queries, "queries"), read_kind(judged, "qrels")
    )


def beir_files(
    folder: str | os.PathLike[str], split: str | None = None, *, qrels: str | None = None
) -> tuple[Path, Path, Path]:
    """The files of corpus, queries and qrels in a BEIR folder; see `read_beir`."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise FileNotFoundError(f"{root}: the folder of a BEIR dataset {what}")
    judged = root / qrels if qrels is not None else _qrels_file(root, split)
    return _member(root, "corpus"), _member(root, "queries"), judged


def write_beir(
    folder: str | os.PathLike[str],
    corpus: Any,
    queries: Any,
    qrels: Any,
    *,
    split: str = "test",
    overwrite: bool = False,
) -> None:
    """Write a test collection as a BEIR folder: corpus.jsonl, queries.jsonl, qrels/{split}.tsv.

    Each part is a frame of any library, dicts or lists, as in `write_qrels`. The folder is made if
    need be. All three files are written beside their names first, so that a failure leaves what was
    there.

    Raises
    ------
    FileExistsError
        One of the files exists and `overwrite` is not set.
    """
    if not split or "/" in split or "\\" in split:
        raise OptionError(f"split={split!r} is no name of a file")
    root = Path(folder)
    documents = checked_frame(corpus, "corpus").rename({"doc_id": "_id"})
    if "title" not in documents.columns:
        documents = documents.insert_column(1, pl.Series("title", [""] * documents.height))
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    targets = [root / "corpus.jsonl", root / "queries.jsonl", root / "qrels" / f"{split}.tsv"]
    with beside_all(targets, overwrite=overwrite) as (corpus_part, queries_part, qrels_part):
        write_jsonl(documents, corpus_part, overwrite=True)
        write_jsonl(
            checked_frame(queries, "queries").rename({"query_id": "_id"}),
            queries_part,
            overwrite=True,
        )
        judged = checked_frame(qrels, "qrels")
        write_table(judged, qrels_part, mark="\t", overwrite=True, names=names)


def beir_splits(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """The splits of a BEIR folder's qrels, by name."""
    inner = Path(folder) / "qrels"
    if not inner.is_dir():
        return {}
    found: dict[str, Path] = {}
    for path in sorted(inner.iterdir()):
        suffix = next((s for s in TABLES if path.name.endswith(s)), None)
        if suffix and not path.name.startswith("."):
            found.setdefault(path.name.removesuffix(suffix), path)
    return found


def _qrels_file(root: Path, split: str | None) -> Path:
    splits = beir_splits(root)
    if split is None and not splits:
        for suffix in TABLES:
            if (root / f"qrels{suffix}").is_file():
                return root / f"qrels{suffix}"
    if not splits:
        raise FileNotFoundError(f"{root}: neither qrels/*.tsv nor qrels.tsv is there")
    if split is None:
        if "test" in splits:
            return splits["test"]
        if len(splits) == 1:
            return next(iter(splits.values()))
    if split in splits:
        return splits[split]
    asked = f"there is no split {split!r}" if split else "no split is named 'test': choose one"
    raise OptionError(f"{root}: {asked}; the splits are {', '.join(map(repr, splits))}")


def _member(root: Path, stem: str) -> Path:
    for suffix in TEXTS:
        if (root / f"{stem}{suffix}").exists():
            return root / f"{stem}{suffix}"
    there = ", ".join(sorted(p.name for p in root.iterdir())) or "nothing"
    raise FileNotFoundError(f"{root}: {stem}.jsonl is missing; the folder holds {there}")
