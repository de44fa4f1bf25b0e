"""The runs that a command names: one as it is, several under the names of their files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.errors import OptionError
from evalframe.frames import collected
from evalframe.inputs import run_frame

__all__ = ["names_of", "one_run"]


def names_of(paths: Sequence[Path]) -> list[str]:
    """The files' names without suffixes, or the paths where these are the same."""
    names = [re.sub(r"\.(gz|zst|bz2|lz4)$", "", path.name) for path in paths]
    names = [name.rsplit(".", 1)[0] if "." in name.lstrip(".") else name for name in names]
    if max(Counter(names).values()) > 1:
        names = [str(path) for path in paths]
    if max(Counter(names).values()) > 1:
        raise OptionError("the same run is named twice")
    return names


def one_run(paths: Sequence[Path], duplicates: Any = "error") -> Any:
    """What can be evaluated: the path of one run, or several runs with names as systems."""
    if len(paths) == 1:
        return paths[0]
    frames = []
    for path, name in zip(paths, names_of(paths), strict=True):
        frame = collected(run_frame(path, duplicates=duplicates), "run")
        if "system" in frame.columns:
            raise OptionError(f"{path} holds several systems already: evaluate it by itself")
        frames.append(frame.with_columns(system=pl.lit(name)))
    ranked = all("rank" in frame.columns for frame in frames)
    columns = ["system", "query_id", "doc_id", "score", *(["rank"] if ranked else [])]
    return pl.concat([frame.select(columns) for frame in frames])
