"""What is behind a URI, which Polars fetches: its names, and what its absence looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, unquote

import polars as pl

from evalframe.engine import fetch
from evalframe.errors import EvalframeError, OptionError, ReadError

__all__ = [
    "LONGEST",
    "NO_FOLDER",
    "fetching",
    "hub_address",
    "is_absence",
    "is_folder",
    "is_of_transport",
    "is_remote",
    "objects_of",
    "options_told",
    "unfetched",
]

REMOTE = ("hf://", "s3://", "s3a://", "gs://", "gcs://", "az://", "abfs://", "abfss://", "adl://",
          "http://", "https://", "file://")  # fmt: skip

LONGEST = 400
"""Characters of another library's message that are shown."""
HUB = re.compile(r"hf://([^/]+/[^/]+/[^/@]+)(?:@([^/]+))?/(.+)")
HUB_ADDRESS = re.compile(r"https://huggingface\.co/([^/]+/[^/]+/[^/]+)/resolve/([^/]+)/(.+)")
NO_FOLDER = "does not exist on"
"""What Hugging Face says of a file or folder that is not in a revision."""
ABSENCES = ("expanded paths were empty", "404 Not Found", NO_FOLDER)
"""What Polars says where nothing matches a pattern, what HTTP says, and Hugging Face."""


def is_remote(name: str) -> bool:
    """Whether a name is a URI, which Polars fetches."""
    return name.startswith(REMOTE)


def is_folder(uri: str) -> bool:
    """Whether a URI looks like that of a folder: no file's suffix at its end."""
    return uri.endswith("/") or "." not in uri.rsplit("/", 1)[-1]


def objects_of(plan: pl.LazyFrame) -> list[str]:
    """The objects that a plan with their names in its column `path` reads, in order.

    Polars calls those of Hugging Face by their address, where no token would be sent along.
    """
    paths = fetch(plan.select(pl.col("path").unique().drop_nulls().sort())).to_series()
    return [_by_hub_name(path) for path in paths]


def hub_address(uri: str) -> str | None:
    """Where a file of Hugging Face (`hf://datasets/owner/name@revision/path`) is fetched from."""
    found = HUB.fullmatch(uri)
    if not found:
        return None
    revision = unquote(found[2] or "main").replace("~parquet", "refs/convert/parquet")
    where = f"{found[1]}/resolve/{quote(revision, safe='')}/{quote(found[3])}"
    return f"https://huggingface.co/{where}"


def _by_hub_name(address: str) -> str:
    found = HUB_ADDRESS.fullmatch(address)
    return f"hf://{found[1]}@{found[2]}/{unquote(found[3])}" if found else address


@contextmanager
def fetching(name: str) -> Iterator[None]:
    """Say of what is wanted from afar whether it is not there, or cannot be had."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unfetched(name, error) from error


@contextmanager
def options_told() -> Iterator[None]:
    """Say of a storage option that Polars cannot take that it is one."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, EvalframeError) or "invalid value for" not in str(error):
            raise
        raise OptionError(f"storage_options: {error}; keys and values are strings") from error


def unfetched(name: str, error: Exception) -> FileNotFoundError | ReadError:
    """What is wanted from afar is not there, or cannot be had."""
    if is_absence(error):
        return FileNotFoundError(f"{name}: there is no such object")
    return ReadError(f"{name}: it cannot be fetched: {str(error)[:LONGEST]}")


def is_of_transport(error: Exception) -> bool:
    """Whether Polars' error is about the way to a file, and not about the file."""
    of_hub = ("error sending request", "error decoding response")
    return isinstance(error, OSError) or any(words in str(error) for words in of_hub)


def is_absence(error: Exception) -> bool:
    """Whether Polars' error says that nothing is there, and not that nobody may look."""
    text = str(error)
    return isinstance(error, FileNotFoundError) or any(words in text for words in ABSENCES)
