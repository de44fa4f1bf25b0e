"""Anything a user hands over, as a checked frame: paths, frames of any library, dicts and lists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.errors import ColumnError
from evalframe.frames import Duplicates, collected, conform, to_polars
from evalframe.io.any_samples import samples_from_any
from evalframe.io.any_tables import as_table, table_of
from evalframe.io.reading import read_kind, read_unchecked, scan_kind

__all__ = [
    "corpus_frame",
    "frame_of",
    "qrels_frame",
    "queries_frame",
    "run_frame",
    "run_or_plan",
    "samples_frame",
    "unchecked_frame",
]

AnyFrame = pl.DataFrame | pl.LazyFrame

LARGE = 256_000_000
"""Bytes from which a file is read as a stream; below, reading it whole is quicker."""


def qrels_frame(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
    subtopics: bool = False,
) -> AnyFrame:
    """Qrels as a checked frame: `query_id`, `doc_id`, `relevance`.

    Parameters
    ----------
    data
        A path (see `evalframe.io.read_qrels`), a Polars frame, a pandas frame, anything with an
        Arrow stream, `{query_id: {doc_id: grade}}`, a dict of columns, or a list of dicts.
    columns
        The house's name → the data's own name, where it is not a known one.
    duplicates
        See `evalframe.frames.Duplicates`.
    lazy
        Give a path as a plan that has not been read yet.
    subtopics
        A path is read for its subtopics, which stand in the second column of TREC qrels.

    Raises
    ------
    FrameError
        The data is no table of qrels, or of another shape than the above.
    FileNotFoundError, ReadError
        A path that leads nowhere, or to something else.

    Examples
    --------
    >>> qrels_frame({"q1": {"d1": 1}}).rows()
    [('q1', 'd1', 1)]
    """
    if subtopics and not lazy and isinstance(data, str | os.PathLike):
        return read_kind(data, "qrels", columns=columns, duplicates=duplicates, subtopics=True)
    return frame_of(data, "qrels", columns, duplicates, lazy)


def run_frame(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
) -> AnyFrame:
    """A run as a checked frame: `query_id`, `doc_id`, `score`, and `rank`, `system` if given.

    Takes what `qrels_frame` takes, and of dicts `{query_id: {doc_id: score}}`,
    `{query_id: [doc_id, …]}`, `{query_id: [(doc_id, score), …]}`, or these by name of system.

    >>> run_frame({"q1": {"d1": 0.5}}).rows()
    [('q1', 'd1', 0.5)]
    """
    return frame_of(data, "run", columns, duplicates, lazy)


def run_or_plan(
    data: Any, *, duplicates: Duplicates = "error", ranks: bool = False, large: int | None = None
) -> AnyFrame:
    """A run to be read once: a checked frame, or a plan where the run is lazy or a large file.

    The rows of a plan have not been checked; a request to look through the whole run for duplicates
    needs it in memory. The rank column of a TREC run is read where `ranks` are wanted. A file is
    large from so many bytes on, `LARGE` unless `large` says otherwise.

    >>> run_or_plan({"q1": {"d1": 0.5}}).rows()
    [('q1', 'd1', 0.5)]
    """
    whole = duplicates != "error"
    if isinstance(data, str | os.PathLike):
        if whole or 0 <= _bytes_of(data) < (LARGE if large is None else large):
            return read_kind(data, "run", duplicates=duplicates, ranks=ranks)
        return scan_kind(data, "run", check_plans=False)
    if isinstance(data, pl.LazyFrame):
        plan = conform(data, "run", check_plans=False)
        return collected(plan, "run", duplicates) if whole else plan
    return frame_of(data, "run", None, duplicates)


def _bytes_of(path: str | os.PathLike[str]) -> int:
    """How large a file or folder is; -1 where that is not to be seen from here."""
    place = Path(path)
    if place.is_dir():
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    return place.stat().st_size if place.is_file() else -1


def queries_frame(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
) -> AnyFrame:
    """Queries as a checked frame: `query_id`, `text`, and whatever else there is.

    >>> queries_frame({"q1": "what is ndcg?"}).rows()
    [('q1', 'what is ndcg?')]
    """
    return frame_of(data, "queries", columns, duplicates, lazy)


def corpus_frame(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
) -> AnyFrame:
    """A corpus as a checked frame: `doc_id`, `title` if given, `text`, and whatever else there is.

    >>> corpus_frame({"d1": "A sum."}).rows()
    [('d1', 'A sum.')]
    """
    return frame_of(data, "corpus", columns, duplicates, lazy)


def samples_frame(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
) -> AnyFrame:
    """RAG samples as a checked frame; every further column is kept.

    Takes paths, frames, a dict of columns, and a list of dicts or dataclass objects.

    >>> samples_frame([{"question": "2 + 2?", "answer": "four"}]).rows()
    [('2 + 2?', 'four')]
    """
    return frame_of(data, "samples", columns, duplicates, lazy)


def frame_of(
    data: Any,
    kind: Kind,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    lazy: bool = False,
) -> AnyFrame:
    """Anything a user hands over as a checked frame of a kind."""
    if isinstance(data, str | os.PathLike):
        if lazy:
            return scan_kind(data, kind, columns=columns)
        return read_kind(data, kind, columns=columns, duplicates=duplicates)
    if kind == "samples":
        return samples_from_any(data, columns, duplicates)
    frame = table_of(data, kind, columns or {})
    if isinstance(frame, pl.LazyFrame):
        return conform(frame, kind, columns=columns, duplicates=duplicates)
    return conform(frame, kind, columns=columns, duplicates=duplicates)


def unchecked_frame(data: Any, kind: Kind) -> AnyFrame:
    """Anything a user hands over as a table, before names, types and rows are looked at.

    A pandas column of mixed types becomes one of strings.

    >>> unchecked_frame({"q1": {"d1": None}}, "qrels").rows()
    [('q1', 'd1', None)]
    """
    if isinstance(data, str | os.PathLike):
        return read_unchecked(data, kind)
    if type(data).__module__.partition(".")[0] != "pandas":
        return table_of(data, kind, {})
    data = as_table(data)
    try:
        return to_polars(data)
    except ColumnError:
        index = [n for n in data.index.names if n is not None and n not in data.columns]
        flat = data.reset_index(level=index) if index else data
        return pl.DataFrame({n: pl.Series(flat[n].tolist(), strict=False) for n in flat.columns})
