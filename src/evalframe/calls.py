"""Call a function that may be async, once or on many things, from code that is not async."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["outcomes", "settled"]

Item = TypeVar("Item")


def settled(value: Any) -> Any:
    """The value itself, or, of an awaitable, what it gives.

    Inside a running event loop, as in a notebook, it is awaited in a loop of its own on another
    thread, and the caller waits.

    Examples
    --------
    >>> async def three():
    ...     return 3
    >>> settled(three()), settled(3)
    (3, 3)
    """
    if not inspect.isawaitable(value):
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(value))
    with _LoopOnAThread() as loop:
        return loop.submit(_awaited(value)).result()


def outcomes(
    function: Callable[[Item], Any],
    then: Callable[[Any], Any],
    items: Sequence[Item],
    workers: int = 1,
) -> Generator[Any, None, None]:
    """`then(function(item))` for each item, in the items' order, or the exception it raised.

    Parameters
    ----------
    function
        Called once for each item. When its first result is awaitable, all of them are awaited in
        one event loop.
    then
        Applied to each result, on the same thread.
    items
        What it is called on.
    workers
        Calls that may run at a time: threads, or tasks of the event loop.

    Notes
    -----
    Closing the iterator cancels what has not been started.

    Examples
    --------
    >>> list(outcomes(lambda n: 6 / n, round, [1, 0, 2]))
    [6, ZeroDivisionError('division by zero'), 3]
    """
    if not items:
        return
    try:
        first = function(items[0])
    except Exception as error:
        first = _Raised(error)
    if inspect.isawaitable(first):
        yield from _in_one_loop(first, function, then, items, workers)
        return

    def attempt(item: Item) -> Any:
        try:
            return then(settled(function(item)))
        except Exception as error:
            return error

    yield first.error if isinstance(first, _Raised) else _applied(then, first)
    if workers == 1:
        yield from map(attempt, items[1:])
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="evalframe")
    try:
        yield from pool.map(attempt, items[1:])
    finally:
        pool.shutdown(cancel_futures=True)


class _Raised:
    """An exception on its way, told apart from an exception that is a result."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _applied(then: Callable[[Any], Any], value: Any) -> Any:
    try:
        return then(value)
    except Exception as error:
        return error


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _in_one_loop(
    first: Awaitable[Any],
    function: Callable[[Item], Any],
    then: Callable[[Any], Any],
    items: Sequence[Item],
    workers: int,
) -> Iterator[Any]:
    turn = asyncio.Semaphore(workers)

    async def attempt(start: Callable[[], Any]) -> Any:
        async with turn:
            try:
                value = start()
                return then(await value if inspect.isawaitable(value) else value)
            except Exception as error:
                return error

    with _LoopOnAThread() as loop:
        starts = [lambda: first, *(lambda item=item: function(item) for item in items[1:])]
        for future in [loop.submit(attempt(start)) for start in starts]:
            yield future.result()


class _LoopOnAThread:
    """An event loop that runs on a thread of its own while the `with` block lasts."""

    def __enter__(self) -> _LoopOnAThread:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self.loop.run_forever, name="evalframe-loop", daemon=True
        )
        self.thread.start()
        return self

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def __exit__(self, *_: object) -> None:
        self.submit(_cancel_the_others()).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def _cancel_the_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
