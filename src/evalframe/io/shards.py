"""Sets of files that say of each how many there are: `corpus-00001-of-00003.parquet`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import polars as pl

from evalframe.engine import fetch
from evalframe.errors import ReadError
from evalframe.io.files import Source
from evalframe.io.remote import is_absence

__all__ = ["missing_shards", "refuse_missing_shards"]

SHARD = re.compile(r"(?P<set>.*-)(?P<number>\d{1,6})(?P<of>-of-(?P<total>\d{1,6})\b.*)")
SHOWN = 5


def refuse_missing_shards(source: Source, paths: Sequence[str]) -> None:
    """Refuse a pattern or folder whose files are one set of shards, and not all of it.

    Raises
    ------
    ReadError
        Shards are missing; they are named.
    """
    missing = missing_shards(source.name, paths)
    if source.remote:
        missing = [path for path in missing if not _is_there(path, source)]
    if missing:
        shown = ", ".join(map(os.path.basename, missing[:SHOWN]))
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise ReadError(
            f"{source.name}: of a set of files {shown}{more} is not there. Fetch what is missing, "
            "or name the files that are meant"
        )


def missing_shards(asked: str, paths: Sequence[str]) -> list[str]:
    """What is not among the files of one set of shards, though the pattern or folder asks for it.

    Nothing is missing where one file was named.

    Examples
    --------
    >>> missing_shards("x-*.tsv", ["x-0-of-3.tsv", "x-2-of-3.tsv"])
    ['x-1-of-3.tsv']
    >>> missing_shards("x-[02]*.tsv", ["x-0-of-3.tsv", "x-2-of-3.tsv"])
    []
    """
    pattern = os.path.basename(asked) if glob.has_magic(asked) else "*"
    folder, name = os.path.split(paths[0])
    found = [SHARD.fullmatch(os.path.basename(path)) for path in paths]
    shards = [shard for shard in found if shard is not None]
    sets = {
        (os.path.dirname(path), shard and (shard["set"], shard["of"]))
        for path, shard in zip(paths, found, strict=True)
    }
    if (len(paths) == 1 and name == os.path.basename(asked)) or len(sets) > 1 or not shards:
        return []
    first, total = shards[0], int(shards[0]["total"])
    there = {int(shard["number"]) for shard in shards}
    numbers = range(1, total + 1) if total in there else range(total)
    names = (
        f"{first['set']}{number:0{len(first['number'])}}{first['of']}"
        for number in numbers
        if number not in there
    )
    return [os.path.join(folder, name) for name in names if fnmatchcase(name, pattern)]


def _is_there(path: str, source: Source) -> bool:
    """Whether there is such an object: those without a row are not among the names of a pattern."""
    try:
        if source.layout == "parquet":
            pl.scan_parquet(path, **source.options).collect_schema()
        else:
            fetch(pl.scan_lines(path, n_rows=1, **source.options), "in-memory")
    except (pl.exceptions.PolarsError, OSError) as error:
        return not is_absence(error)
    return True
