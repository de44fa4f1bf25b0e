"""Files to checked frames and back: TREC, TSV, CSV, JSON, Parquet, Arrow, BEIR's folders, dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from evalframe.frames import Duplicates
from evalframe.io.beir import Dataset, read_beir, write_beir
from evalframe.io.hub import read_dataset, read_ir_dataset
from evalframe.io.lines import OnBadLine, SkippedLinesWarning
from evalframe.io.parquet import read_metadata, write_parquet
from evalframe.io.reading import read_kind, scan_kind
from evalframe.io.writing import write_kind

__all__ = [
    "Dataset",
    "SkippedLinesWarning",
    "read_beir",
    "read_corpus",
    "read_dataset",
    "read_ir_dataset",
    "read_metadata",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_samples",
    "scan_corpus",
    "scan_qrels",
    "scan_queries",
    "scan_run",
    "scan_samples",
    "write_beir",
    "write_corpus",
    "write_parquet",
    "write_qrels",
    "write_queries",
    "write_run",
    "write_samples",
]

PathLike = str | os.PathLike[str]


def read_qrels(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read relevance judgements from a file, a pattern, a folder of Parquet files or a URI.

    What the file is decides how it is read: TREC, TSV, CSV, JSON, JSONL, ranx's LZ4, Parquet or
    Arrow IPC; text may be compressed (gz, zst, lz4, bz2). Ids stay strings whatever they are like.
    Each file of a pattern is read as what it is, by its own header, and all are put together by the
    house's names.

    Parameters
    ----------
    path
        Path, pattern such as `"qrels/*.parquet"`, or `hf://`, `s3://`, `gs://`, `az://` URI.
    columns
        The house's name → the file's own name, where the file uses a name that is not known;
        `column_0`, `column_1`, … in a table without a header. A name that the file does not have is
        an error that lists what it has. Of several known names of one column (`query_id` and `qid`)
        the house's own is taken, else the first in the order in which an error lists them; the
        others are passed over.
    duplicates
        See `evalframe.frames.Duplicates`.
    subtopics
        Read the second column of TREC qrels as `subtopic`, as in those of the diversity tasks.
        Other formats have a column of that name, which is read in any case.
    on_bad_line
        `"skip"` leaves lines out that do not fit and warns with their number; by default they are
        an error that shows the first ten.
    storage_options
        Handed on to Polars for URIs.

    Raises
    ------
    FileNotFoundError
        Nothing is there.
    ReadError
        The file is damaged, or is something else; or of files that are numbered as parts of one
        set (`qrels-00000-of-00003.parquet`) some are missing in the pattern or folder.
    FrameError
        The table is no table of qrels: columns, nulls, duplicates.
    """
    return read_kind(
        path,
        "qrels",
        columns=columns,
        duplicates=duplicates,
        subtopics=subtopics,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def scan_qrels(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    subtopics: bool = False,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of relevance judgements, for tables larger than memory; see `read_qrels`.

    The first lines are looked at now, of JSONL all of them, for their keys and types. A line
    further down that does not fit fails the plan when it is collected, with file, line number and
    text, and so does a null id or a NaN. With `on_bad_line="skip"` text is read through now, to say
    how many lines will be left out. Duplicates are not looked for.

    Damage that Polars comes upon as it reads (a gzip cut short, a byte that is not UTF-8, a broken
    page) is a `ReadError` with the file's name where evalframe runs the plan: in `evaluate`, in
    `write_run` and the like. Your own `.collect()` raises what Polars raises, without a name;
    `read_qrels` of the same path has it.
    """
    return scan_kind(
        path,
        "qrels",
        columns=columns,
        subtopics=subtopics,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def write_qrels(qrels: Any, path: PathLike, *, overwrite: bool = False) -> None:
    """Write relevance judgements in the format of the path's suffix.

    Taken is what `evaluate` takes, but no path: frames of any library, dicts and lists. A plan is
    written as it runs to Parquet and, where the rows of each query stand together, to TREC; for
    other formats it is held in memory.

    `.parquet`, `.arrow`, `.jsonl`, `.json`, `.tsv`, `.csv`, and `.trec` (also `.txt`, `.run`,
    `.qrels`); `.gz` and `.zst` after a text format compress it. The file is written beside its
    name and then renamed. TREC's second column is the `subtopic` where the qrels have one, else 0.

    Raises
    ------
    FileExistsError
        The file exists and `overwrite` is not set.
    RowError
        The format cannot hold an id as it is, or ids would make the file begin like one of another
        format.
    OptionError
        The format cannot hold a column (`.json`: subtopics, ranks that are not the order of rows,
        further columns of queries), or the suffix names no format.
    """
    write_kind(qrels, path, "qrels", overwrite=overwrite)


def read_run(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    system: bool = False,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read a run (ranked results) from a file, a pattern, a folder of Parquet files or a URI.

    Formats, arguments and errors are those of `read_qrels`; `system` makes the tag of TREC lines
    a `system` column.
    """
    return read_kind(
        path,
        "run",
        columns=columns,
        duplicates=duplicates,
        system=system,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def scan_run(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    system: bool = False,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of a run, for tables larger than memory; see `scan_qrels`."""
    return scan_kind(
        path,
        "run",
        columns=columns,
        system=system,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def write_run(
    run: Any,
    path: PathLike,
    *,
    overwrite: bool = False,
    tag: str = "evalframe",
) -> None:
    """Write a run (ranked results) in the format of the path's suffix; see `write_qrels`.

    `tag` is the last word of TREC lines if the run has no `system` column.
    """
    write_kind(run, path, "run", overwrite=overwrite, tag=tag)


def read_queries(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read queries from a file, a pattern, a folder of Parquet files or a URI.

    Formats, arguments and errors are those of `read_qrels`, TREC apart. Every column is kept.
    """
    return read_kind(
        path,
        "queries",
        columns=columns,
        duplicates=duplicates,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def scan_queries(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of queries, for tables larger than memory; see `scan_qrels`."""
    return scan_kind(
        path,
        "queries",
        columns=columns,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def write_queries(queries: Any, path: PathLike, *, overwrite: bool = False) -> None:
    """Write queries in the format of the path's suffix; see `write_qrels`."""
    write_kind(queries, path, "queries", overwrite=overwrite)


def read_corpus(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read a corpus from a file, a pattern, a folder of Parquet files or a URI.

    Formats, arguments and errors are those of `read_qrels`, TREC apart. Every column is kept.
    """
    return read_kind(
        path,
        "corpus",
        columns=columns,
        duplicates=duplicates,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def scan_corpus(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of a corpus, for tables larger than memory; see `scan_qrels`."""
    return scan_kind(
        path,
        "corpus",
        columns=columns,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def write_corpus(corpus: Any, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a corpus in the format of the path's suffix; see `write_qrels`."""
    write_kind(corpus, path, "corpus", overwrite=overwrite)


def read_samples(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.DataFrame:
    """Read RAG samples from a file, a pattern, a folder of Parquet files or a URI.

    Formats, arguments and errors are those of `read_qrels`. Every column is kept. Contexts that are
    objects become their texts; a lone string where a list is wanted is refused. JSON is checked
    value by value, and all that does not fit is told at once, with its row, and of JSONL with its
    line, which `on_bad_line="skip"` leaves out.
    """
    return read_kind(
        path,
        "samples",
        columns=columns,
        duplicates=duplicates,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def scan_samples(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad_line: OnBadLine = "error",
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """Plan the reading of RAG samples, for tables larger than memory; see `scan_qrels`.

    Columns are checked by their types: a number among the texts of a JSONL file becomes text.
    """
    return scan_kind(
        path,
        "samples",
        columns=columns,
        on_bad_line=on_bad_line,
        storage_options=storage_options,
    )


def write_samples(samples: Any, path: PathLike, *, overwrite: bool = False) -> None:
    """Write RAG samples in the format of the path's suffix; see `write_qrels`."""
    write_kind(samples, path, "samples", overwrite=overwrite)
