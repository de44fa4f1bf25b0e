"""A progress bar that shows itself only where somebody waits for it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

__all__ = ["tracked"]

Item = TypeVar("Item")

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
