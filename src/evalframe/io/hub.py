"""Test collections as Hugging Face keeps them: BEIR's and MTEB's layouts, local or by URI.

Corpus and queries are configurations of one repository; the qrels are its `default` or `qrels`
configuration (MTEB), a sibling repository `NAME-qrels` (BEIR), or a `qrels` folder. Multilingual
sets put `{language}-` before each. Files are `{config}/{split}-00000-of-00002.parquet`,
`data/{split}-….parquet`, `{config}/{split}/0000.parquet`, or JSONL and TSV of older uploads.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.engine import collect
from evalframe.errors import MissingExtraError, OptionError
from evalframe.frames import conform
from evalframe.io.beir import Dataset
from evalframe.io.dicts import samples_from_dicts
from evalframe.io.files import is_remote
from evalframe.io.reading import read_kind

__all__ = ["read_dataset", "read_ir_dataset"]

SHARD = re.compile(r"^(.+?)(?:-\d{4,5}-of-\d{4,5})?\.(?:parquet|jsonl|jsonl\.gz|tsv)$")
USUAL_SPLITS = ("test", "dev", "validation", "train")


def read_dataset(
    root: str | os.PathLike[str],
    split: str = "test",
    *,
    language: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Dataset:
    """Read a test collection in one of Hugging Face's layouts into house frames.

    Parameters
    ----------
    root
        A local folder, or a URI: `hf://datasets/mteb/scifact`, `s3://…`, `gs://…`, `az://…`.
    split
        Which qrels.
    language
        The prefix of a multilingual set's configurations, such as `de`.
    storage_options
        Handed on to Polars.

    Returns
    -------
    Dataset
        `(corpus, queries, qrels)`.

    Raises
    ------
    FileNotFoundError
        The folder, its corpus or its queries are not there.
    OptionError
        There are no qrels of this split; those that exist are listed.
    """
    base = os.fspath(root).rstrip("/")
    remote = is_remote(base)
    if not remote and not Path(base).expanduser().is_dir():
        raise FileNotFoundError(f"{base}: there is no such folder")
    base = base if remote else glob.escape(os.path.expanduser(base))
    prefix = f"{language}-" if language else ""
    corpus = _texts(base, [f"{prefix}corpus"], split, remote, storage_options)
    queries = _texts(base, [f"{prefix}queries", f"{prefix}query"], split, remote, storage_options)
    configs = [f"{prefix}qrels", *([language] if language else ["default", "data", ""])]
    qrels = _qrels(base, configs, split, remote, storage_options)
    return Dataset(
        read_kind(corpus, "corpus", storage_options=storage_options),
        read_kind(queries, "queries", storage_options=storage_options),
        read_kind(qrels, "qrels", storage_options=storage_options),
    )


def read_ir_dataset(name: str, *, with_corpus: bool = True) -> Dataset:
    """Read a collection that the package `ir_datasets` knows, such as `beir/scifact/test`.

    The corpus comes with every field the package has for it; `with_corpus=False` leaves it empty.

    Raises
    ------
    MissingExtraError
        `ir_datasets` is not installed.
    OptionError
        It knows no such collection, or one without qrels or queries.
    """
    try:
        import ir_datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtraError("ir_datasets", "datasets") from error
    try:
        found = ir_datasets.load(name)
    except KeyError as error:
        raise OptionError(f"ir_datasets knows no collection {name!r}") from error
    for part in ("queries", "qrels", *(["docs"] if with_corpus else [])):
        if not getattr(found, f"has_{part}")():
            raise OptionError(f"the collection {name!r} of ir_datasets has no {part}")
    corpus = pl.DataFrame(schema={"doc_id": pl.String, "text": pl.String})
    if with_corpus:
        corpus = _checked(_rows(found.docs_iter()), "corpus")
    return Dataset(
        corpus,
        _checked(_rows(found.queries_iter()), "queries"),
        _checked(_rows(found.qrels_iter()), "qrels"),
    )


def _checked(rows: Iterable[dict[str, Any]], kind: Kind) -> pl.DataFrame:
    return conform(samples_from_dicts(rows), kind)


def _rows(records: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Named tuples as dicts; a record whose text has another name gets its default text."""
    for record in records:
        row = {field: getattr(record, field) for field in record._fields}
        if "text" not in row and hasattr(record, "default_text"):
            row["text"] = record.default_text()
        yield row


def _texts(
    base: str, configs: list[str], split: str, remote: bool, options: dict[str, Any] | None
) -> str:
    """The corpus or the queries: the split named like the configuration, the asked or the only."""
    for config in configs:
        bare = config.rpartition("-")[2]
        for name in dict.fromkeys((bare, split)):
            for pattern in _patterns(base, config, name):
                if _present(pattern, remote, options):
                    return pattern
        alone = [f"{base}/{config}{suffix}" for suffix in (".parquet", ".jsonl", ".jsonl.gz")]
        for pattern in (*alone, f"{base}/{config}/*.parquet", f"{base}/{config}/*/*.parquet"):
            if _present(pattern, remote, options) and len(_splits(pattern, remote)) < 2:
                return pattern
    raise FileNotFoundError(
        f"{base}: no {configs[0]} are there: looked for {configs[0]}/{split}-*.parquet, "
        f"{configs[0]}.jsonl and the like{_holds(base, remote)}"
    )


def _qrels(
    base: str, configs: list[str], split: str, remote: bool, options: dict[str, Any] | None
) -> str:
    revision = re.search(r"@[^/]*$", base) if remote else None
    sibling = f"{base[: revision.start()]}-qrels{revision.group()}" if revision else f"{base}-qrels"
    places = [(base, config) for config in configs]
    places += [(sibling, config) for config in ("", "data", "default", "qrels")]
    for where, config in places:
        for pattern in _patterns(where, config, split):
            if _present(pattern, remote, options):
                return pattern
    there = sorted(
        {
            name
            for where, config in places
            for name in _splits_of(where, config, remote, options)
            if name not in ("corpus", "queries", "query")
        }
    )
    if not there:
        raise FileNotFoundError(
            f"{base}: no qrels are there: looked for the configurations "
            f"{', '.join(repr(c) for c in configs if c)} and a sibling {sibling!r}"
            + _holds(base, remote)
        )
    raise OptionError(
        f"{base}: there is no split {split!r} of the qrels; "
        f"the splits are {', '.join(repr(name) for name in there)}"
    )


def _patterns(base: str, config: str, split: str) -> list[str]:
    inside = f"{base}/{config}" if config else base
    return [
        f"{inside}/{split}-[0-9]*.parquet",
        f"{inside}/{split}.parquet",
        f"{inside}/{split}/*.parquet",
        f"{inside}/{split}.tsv",
        f"{inside}/{split}.jsonl",
        f"{inside}/{split}.jsonl.gz",
    ]


def _present(pattern: str, remote: bool, options: dict[str, Any] | None) -> bool:
    if not remote:
        return bool(glob.glob(pattern))
    extra: dict[str, Any] = {"storage_options": options} if options else {}
    try:
        if pattern.endswith(".parquet"):
            pl.scan_parquet(pattern, **extra).collect_schema()
        else:
            collect(pl.scan_lines(pattern, n_rows=1, **extra))
    except (pl.exceptions.PolarsError, OSError):
        return False
    return True


def _splits_of(base: str, config: str, remote: bool, options: dict[str, Any] | None) -> set[str]:
    if remote:
        return {
            split
            for split in USUAL_SPLITS
            if any(_present(pattern, remote, options) for pattern in _patterns(base, config, split))
        }
    inside = f"{base}/{config}" if config else base
    return _splits(f"{inside}/*", remote) | {
        Path(path).parent.name for path in glob.glob(f"{inside}/*/0000.parquet")
    }


def _splits(pattern: str, remote: bool) -> set[str]:
    """The splits that the files of a local pattern belong to."""
    if remote:
        return set()
    names = (os.path.basename(path) for path in glob.glob(pattern) if os.path.isfile(path))
    return {match.group(1) for name in names if (match := SHARD.match(name))}


def _holds(base: str, remote: bool) -> str:
    if remote:
        return ""
    names = sorted(os.path.basename(path) for path in glob.glob(f"{base}/*"))
    return "; the folder holds " + (", ".join(names[:10]) or "nothing")
