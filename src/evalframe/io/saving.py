"""Writing without loss: beside the target first, then renamed; the old file stays until then."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from evalframe.errors import OptionError

__all__ = ["beside", "beside_all", "folder_beside"]

OF_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""What a disk that takes no more says."""


@contextmanager
def beside(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Give a path to write to, and rename it to `path` once the block ends without an error.

    Raises
    ------
    FileExistsError
        `path` exists and `overwrite` is not set.
    """
    with beside_all([path], overwrite=overwrite) as (part,):
        yield part


@contextmanager
def beside_all(
    paths: Sequence[str | os.PathLike[str]], *, overwrite: bool = False
) -> Iterator[list[Path]]:
    """`beside` for several files that belong together: all are written, then all renamed.

    Who may read and write an old file may read and write the new one.
    """
    targets = [_target(path) for path in paths]
    for target in targets:
        if target.is_dir():
            raise FileExistsError(f"{target}: this is a folder, and a file was to be written")
        _refuse_existing(target, overwrite)
    with _places_beside(targets) as places:
        parts = [place / target.name for place, target in zip(places, targets, strict=True)]
        with _naming(targets, places):
            yield parts
        for part, target in zip(parts, targets, strict=True):
            _replace(part, target)


@contextmanager
def folder_beside(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """`beside` for a whole folder: an old one is set aside, and removed once the new one stands.

    Raises
    ------
    FileExistsError
        `path` exists and `overwrite` is not set, or it holds other things than Parquet files.
    """
    target = _target(path)
    _refuse_existing(target, overwrite)
    _refuse_foreign(target)
    with _places_beside([target]) as (place,):
        written, old = place / "new", place / "old"
        written.mkdir()
        with _naming([target], [place]):
            yield written
        try:
            if target.exists():
                shutil.copymode(target, written)
                os.replace(target, old)
            os.replace(written, target)
        except BaseException:
            if old.exists() and not target.exists():
                os.replace(old, target)
            raise


@contextmanager
def _places_beside(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """A folder of its own for each: a file that an engine makes after a failure has no other place.

    They are removed in the end, and after a failure so are the folders that were made for them.
    """
    made: dict[Path, None] = {}
    places: list[Path] = []
    try:
        for target in targets:
            above = (target.parent, *target.parent.parents)
            made |= dict.fromkeys(folder for folder in above if not folder.exists())
            prefix = f".{target.name[:80]}."
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                places.append(Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent)))
            except OSError as error:
                raise _at(target, error) from error
        yield places
    except BaseException:
        _remove(places)
        for folder in sorted(made, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
    finally:
        _remove(places)


@contextmanager
def _naming(targets: Sequence[Path], places: Sequence[Path]) -> Iterator[None]:
    """Say of what the disk does not take which file it was to be, and not what it was called."""
    try:
        yield
    except Exception as error:
        told = next((cause for cause in _causes(error) if _is_of_disk(cause)), None)
        named = os.fspath(getattr(error, "filename", None) or "")
        own = [t for t, p in zip(targets, places, strict=True) if named.startswith(f"{p}{os.sep}")]
        if told is None and not own:
            raise
        raise _at((own or targets)[0], told or error) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_of_disk(error: BaseException) -> bool:
    """Whether a disk that takes no more is why: engines have it in their errors' words alone."""
    of_engines = isinstance(error, OSError | pl.exceptions.ComputeError)
    return of_engines and any(os.strerror(number) in str(error) for number in OF_DISK)


def _at(target: Path, error: BaseException) -> OSError:
    """The error as one of the target."""
    words = str(error)
    numbers = (number for number in OF_DISK if os.strerror(number) in words)
    number = getattr(error, "errno", None) or next(numbers, errno.EIO)
    return OSError(number, os.strerror(number), os.fspath(target))


def _replace(part: Path, target: Path) -> None:
    if target.exists():
        shutil.copymode(target, part)
    try:
        os.replace(part, target)
    except OSError as error:
        raise _at(target, error) from error


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _target(path: str | os.PathLike[str]) -> Path:
    """The place that a path means, behind `~` and links; this machine's disk is all there is."""
    name = os.fspath(path)
    if "://" in name:
        raise OptionError(f"{name}: only files of this machine are written; copy the file there")
    return Path(os.path.realpath(os.path.expanduser(name)))


def _refuse_foreign(target: Path) -> None:
    """A folder is replaced only where it is nothing but a table in Parquet files."""
    files = [file for file in target.rglob("*") if file.is_file()] if target.is_dir() else [target]
    foreign = [
        file
        for file in files
        if file.exists() and file.suffix != ".parquet" and not file.name.startswith((".", "_"))
    ]
    if foreign:
        raise FileExistsError(
            f"{target}: it is not replaced, since it holds {foreign[0].name!r}, which is no part "
            "of a table in Parquet files; choose another folder"
        )


def _refuse_existing(target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target}: it exists; overwrite=True replaces it")
