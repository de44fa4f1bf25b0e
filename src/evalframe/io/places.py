"""What is there, in a local folder or behind a URI: the files of a pattern."""

from __future__ import annotations

import fnmatch
import functools
import glob
import os
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import ReadError
from evalframe.io.files import is_remote

__all__ = ["Place", "place"]

NOTHING = "expanded paths were empty"
"""What Polars says of a pattern that nothing matches."""


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
        if not self.remote:
            found = [path for path in glob.glob(self.pattern(pattern)) if os.path.isfile(path)]
        elif pattern.endswith(".parquet") and slash and not glob.has_magic(folder):
            if folder not in self._listed:
                self._listed[folder] = self._objects(f"{folder}/**/*.parquet", first=False)
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

    def _below(self, path: str) -> str:
        base = self.base if self.remote else os.path.expanduser(self.base)
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
            paths = collect(plan.select(pl.col("path").unique())).to_series().to_list()
        except FileNotFoundError:
            return []
        except (pl.exceptions.PolarsError, OSError) as error:
            if NOTHING in str(error) or "404" in str(error):
                return []
            raise ReadError(
                f"{self.base}: it cannot be looked into, so what is there is not known: {error}"
            ) from error
        return [path for path in paths if path is not None]


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
