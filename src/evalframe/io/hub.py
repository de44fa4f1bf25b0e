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
from typing import Any

import polars as pl

from evalframe.columns import Kind
from evalframe.errors import MissingExtraError, OptionError, ReadError
from evalframe.frames import conform
from evalframe.io.beir import Dataset
from evalframe.io.dicts import samples_from_dicts
from evalframe.io.places import Place, place
from evalframe.io.reading import read_kind
from evalframe.io.remote import options_told

__all__ = ["read_dataset", "read_ir_dataset"]

SHARD = re.compile(r"^(.+?)(?:-\d{4,5}-of-\d{4,5})?\.(?:parquet|jsonl|jsonl\.gz|tsv)$")


@options_told()
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
    ReadError
        A file of a set (`corpus-00001-of-00003.parquet`) is missing. Or a remote place cannot be
        reached, or lets nobody in: what is there is not known.
    """
    where = place(root, storage_options)
    prefix = f"{language}-" if language else ""
    corpus = _texts(where, [f"{prefix}corpus"], split)
    queries = _texts(where, [f"{prefix}queries", f"{prefix}query"], split)
    configs = [f"{prefix}qrels", *([language] if language else ["default", "data", ""])]
    qrels = _qrels(where, configs, split)
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


def _texts(where: Place, configs: list[str], split: str) -> str:
    """The corpus or the queries: the split named like the configuration, the asked or the only."""
    for config in configs:
        bare = config.rpartition("-")[2]
        for name in dict.fromkeys((bare, split)):
            for pattern in _patterns(config, name):
                if where.has(pattern):
                    return where.pattern(pattern)
        alone = [f"{config}{suffix}" for suffix in (".parquet", ".jsonl", ".jsonl.gz")]
        for pattern in (*alone, f"{config}/*.parquet", f"{config}/*/*.parquet"):
            if len(_splits(where.names(pattern))) == 1:
                return where.pattern(pattern)
    raise FileNotFoundError(
        f"{where.base}: no {configs[0]} are there: looked for {configs[0]}/{split}-*.parquet, "
        f"{configs[0]}.jsonl and the like{_languages(where, configs[0])}{_holds(where)}"
    )


def _qrels(where: Place, configs: list[str], split: str) -> str:
    sibling = where.beside("-qrels")
    found, there = _split_in(where, configs, split)
    if found is None:
        unknown = None
        try:
            found, more = _split_in(sibling, ["", "data", "default", "qrels"], split)
            there |= more
        except ReadError as error:
            # Hugging Face says of what is not there that nobody may look at it.
            unknown = error
    if found is not None:
        return found
    there -= {"corpus", "queries", "query"}
    if not there:
        raise FileNotFoundError(
            f"{where.base}: no qrels are there: looked for the configurations "
            f"{', '.join(repr(c) for c in configs if c)} and a sibling {sibling.base!r}"
            f"{_languages(where, configs[0])}{_holds(where)}"
            + (f"; {unknown}" if unknown is not None else "")
        ) from unknown
    raise OptionError(
        f"{where.base}: there is no split {split!r} of the qrels; "
        f"the splits are {', '.join(repr(name) for name in sorted(there))}"
    )


def _split_in(where: Place, configs: list[str], split: str) -> tuple[str | None, set[str]]:
    """The files of a split, or nothing and the splits that there are."""
    for config in configs:
        for pattern in _patterns(config, split):
            if where.has(pattern):
                return where.pattern(pattern), set()
    return None, {name for config in configs for name in _splits_of(where, config)}


def _patterns(config: str, split: str) -> list[str]:
    inside = f"{config}/" if config else ""
    return [
        f"{inside}{split}-[0-9]*.parquet",
        f"{inside}{split}.parquet",
        f"{inside}{split}/*.parquet",
        f"{inside}{split}.tsv",
        f"{inside}{split}.jsonl",
        f"{inside}{split}.jsonl.gz",
    ]


def _splits_of(where: Place, config: str) -> set[str]:
    """The splits of a configuration. At the root, lines are the texts', not the qrels'."""
    inside = f"{config}/" if config else ""
    patterns = [f"{inside}*.parquet", f"{inside}*/0000.parquet", f"{inside}*.tsv"]
    patterns += [f"{inside}*.jsonl", f"{inside}*.jsonl.gz"] if config else []
    return _splits([name for pattern in patterns for name in where.names(pattern)])


def _splits(names: Iterable[str]) -> set[str]:
    """The splits that files belong to, by their names or, as `0000.parquet`, by their folders'."""
    found = set()
    for path in names:
        folder, _, name = path.rpartition("/")
        match = SHARD.match(name)
        if match:
            shard = match.group(1).isdigit() and folder
            found.add(folder.rpartition("/")[2] if shard else match.group(1))
    return found


def _languages(where: Place, config: str) -> str:
    """The prefixes of a multilingual set, where its parts are not there under the asked one."""
    bare = config.rpartition("-")[2]
    patterns = [f"*-{bare}/*.parquet", f"*-{bare}/*/*.parquet", f"*-{bare}.jsonl"]
    names = [name for pattern in patterns for name in where.names(pattern)]
    found = sorted({name.partition("/")[0].rpartition(f"-{bare}")[0] for name in names})
    return f"; there are the languages {', '.join(map(repr, found))} (language=)" if found else ""


def _holds(where: Place) -> str:
    if where.remote:
        return ""
    names = sorted(os.path.basename(path) for path in glob.glob(where.pattern("*")))
    return "; the folder holds " + (", ".join(names[:10]) or "nothing")
