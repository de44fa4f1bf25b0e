"""A progress bar that shows itself only where somebody waits for it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sized
from typing import TypeVar

__all__ = ["ticking", "tracked"]

Item = TypeVar("Item")
Part = TypeVar("Part", bound=Sized)

SECONDS_BEFORE_SHOWN = 1.0


def tracked(
    items: Iterable[Item], total: int, what: str, progress: bool | None = None
) -> Generator[Item, None, None]:
    """The items as they come, with a progress bar beside them.

    Parameters
    ----------
    items
        What is worked through.
    total
        How many there are.
    what
        The unit, as the bar names it: `query`, `row`.
    progress
        `None`: a bar after a second's work, in a terminal or a notebook. `True`: a bar from the
        start, wherever the output goes. `False`: no bar.

    Examples
    --------
    >>> sum(tracked([1, 2, 3], total=3, what="number", progress=False))
    6
    """
    if progress is False:
        yield from items
        return
    from tqdm.auto import tqdm

    quiet = progress is None
    yield from tqdm(
        items,
        total=total,
        unit=f" {what}",
        delay=SECONDS_BEFORE_SHOWN if quiet else 0,
        disable=None if quiet else False,
    )


def ticking(
    parts: Iterable[Part], what: str, progress: bool | None = None
) -> Generator[Part, None, None]:
    """Parts of unknown number as they come; the bar counts what they hold.

    Parameters are those of `tracked`.

    Examples
    --------
    >>> [len(part) for part in ticking(["ab", "c"], "letter", progress=False)]
    [2, 1]
    """
    if progress is False:
        yield from parts
        return
    from tqdm.auto import tqdm

    quiet = progress is None
    with tqdm(
        unit=f" {what}",
        unit_scale=True,
        delay=SECONDS_BEFORE_SHOWN if quiet else 0,
        disable=None if quiet else False,
    ) as bar:
        for part in parts:
            yield part
            bar.update(len(part))
