"""What is there, in a local folder or behind a URI: the files of a pattern."""

from __future__ import annotations

import fnmatch
import functools
import glob
import os
import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.errors import ReadError
from evalframe.io.remote import LONGEST, NO_FOLDER, is_absence, is_remote, objects_of

__all__ = ["Place", "place"]

REVISION = re.compile("^(hf://[^/]+/[^/]+/[^/@]+)@[^/]+")
"""A repository of Hugging Face, and the revision that may follow its name."""

EVERYWHERE = "**/*.parquet"


@dataclass(frozen=True)
class Place:
    """A folder, local or remote, by its name without a slash at its end."""

    base: str
    remote: bool
    options: dict[str, Any] | None = None

    def beside(self, suffix: str) -> Place:
        """The folder of this name and the suffix; a revision (`@main`) stays at the end."""
        name, at, revision = self.base.rpartition("@") if self.remote else (self.base, "", "")
        if at and "/" not in revision:
            return Place(f"{name}{suffix}@{revision}", self.remote, self.options)
        return Place(f"{self.base}{suffix}", self.remote, self.options)

    def has(self, pattern: str) -> bool:
        """Whether any file matches a pattern below the folder.

        Raises
        ------
        ReadError
            The place cannot be reached, or does not let us in.
        """
        return bool(self.names(pattern, first=True))

    def names(self, pattern: str, *, first: bool = False) -> list[str]:
        """The names below the folder that match a pattern, or no more than a `first` of them."""
        folder, slash, _ = pattern.partition("/")
        if slash and folder in self._missing:
            found = []
        elif not self.remote:
            found = [path for path in glob.glob(self.pattern(pattern)) if os.path.isfile(path)]
        elif pattern.endswith(".parquet") and slash and not glob.has_magic(folder):
            if folder not in self._listed:
                self._listed[folder] = self._objects(f"{folder}/{EVERYWHERE}", first=False)
            found = [path for path in self._listed[folder] if self._matches(path, pattern)]
        else:
            found = self._objects(pattern, first or not glob.has_magic(pattern))
        return sorted(map(self._below, found))

    def pattern(self, pattern: str) -> str:
        """The pattern with the folder before it, as a reader takes it."""
        base = self.base if self.remote else glob.escape(os.path.expanduser(self.base))
        return f"{base}/{pattern}"

    @functools.cached_property
    def _listed(self) -> dict[str, list[str]]:
        """The Parquet files of remote folders that were asked for."""
        return {}

    @functools.cached_property
    def _missing(self) -> set[str]:
        """The folders of which Hugging Face said that they are not there."""
        return set()

    def _below(self, path: str) -> str:
        if self.remote:
            base, path = (REVISION.sub(r"\1", name) for name in (self.base, path))
        else:
            base = os.path.expanduser(self.base)
        return path.removeprefix(base).lstrip("/")

    def _matches(self, path: str, pattern: str) -> bool:
        parts, wanted = self._below(path).split("/"), pattern.split("/")
        return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))

    def _objects(self, pattern: str, first: bool) -> list[str]:
        """The objects of a pattern: of Parquet the ends are fetched, of text the lines."""
        where = self.pattern(pattern)
        extra: dict[str, Any] = {"storage_options": self.options} if self.options else {}
        if pattern.endswith(".parquet"):
            plan = pl.scan_parquet(
                where,
                schema={"nothing": pl.Null},
                missing_columns="insert",
                extra_columns="ignore",
                hive_partitioning=False,
                include_file_paths="path",
                **extra,
            )
        else:
            rows = 1 if first else None
            plan = pl.scan_lines(where, n_rows=rows, include_file_paths="path", **extra)
        try:
            return objects_of(plan)
        except (pl.exceptions.PolarsError, OSError) as error:
            if is_absence(error):
                folder, _, rest = pattern.partition("/")
                if NO_FOLDER in str(error) and rest == EVERYWHERE:
                    self._missing.add(folder)
                return []
            raise ReadError(
                f"{self.base}: it cannot be looked into, so what is there is not known: "
                f"{str(error)[:LONGEST]}"
            ) from error


def place(root: str | os.PathLike[str], options: dict[str, Any] | None) -> Place:
    """The place that a path or URI means.

    Raises
    ------
    FileNotFoundError
        A local folder that is not there.
    """
    base = os.fspath(root).rstrip("/")
    remote = is_remote(base)
    if not remote and not os.path.isdir(os.path.expanduser(base)):
        raise FileNotFoundError(f"{base}: there is no such folder")
    return Place(base, remote, options)
