"""Buckets handed to an executor: tried again where one fails, and none of them twice when done."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait

from evalframe.errors import EvalframeError, OptionError
from evalframe.executor.folders import Bucket
from evalframe.executor.work import Work, do
from evalframe.progress import tracked

__all__ = ["do_all", "refuse_forks"]


def do_all(
    work: Work,
    buckets: list[Bucket],
    executor: Executor | None,
    retries: int,
    progress: bool | None,
) -> None:
    """Do the work on every bucket whose values are not there yet."""
    left = [bucket for bucket in buckets if not work.is_done(bucket)]
    finished = (
        _one_by_one(work, left, retries)
        if executor is None
        else _side_by_side(work, left, executor, retries)
    )
    for _ in tracked(finished, len(left), "bucket", progress):
        pass


def refuse_forks(executor: Executor | None) -> None:
    """Refuse processes that are forks of this one: Polars waits in them for ever."""
    submit = None if isinstance(executor, type) else getattr(executor, "submit", None)
    if executor is not None and not callable(submit):
        raise OptionError(
            f"executor={executor!r} is no executor: give one of concurrent.futures, such as "
            "ThreadPoolExecutor(2)"
        )
    context = getattr(executor, "_mp_context", None)
    if context is None:
        return
    if context.get_start_method() == "fork":
        raise OptionError(
            "this executor forks its processes, in which Polars would wait for ever: give it "
            "mp_context=multiprocessing.get_context('spawn')"
        )


def _one_by_one(work: Work, buckets: list[Bucket], retries: int) -> Iterator[Bucket]:
    for bucket in buckets:
        _insist(work, bucket, retries)
        yield bucket


def _insist(work: Work, bucket: Bucket, retries: int) -> None:
    """Do the work here, again and again if need be."""
    for tried in range(1, retries + 2):
        try:
            return do(work, bucket)
        except Exception as error:
            if not _may_pass(error) or tried > retries:
                raise _final(error, bucket, tried) from error


def _side_by_side(
    work: Work, buckets: list[Bucket], executor: Executor, retries: int
) -> Iterator[Bucket]:
    """The buckets as they are done; the first that fails for good ends it."""
    done: queue.SimpleQueue[Future[None]] = queue.SimpleQueue()
    waiting: dict[Future[None], Bucket] = {}
    tried: Counter[Bucket] = Counter()

    def submit(bucket: Bucket) -> None:
        tried[bucket] += 1
        try:
            future = executor.submit(do, work, bucket)
        except BrokenExecutor:
            raise
        except RuntimeError as error:
            raise _shut_down(bucket) from error
        waiting[future] = bucket
        future.add_done_callback(done.put)

    try:
        for bucket in buckets:
            submit(bucket)
        while waiting:
            future = done.get()
            bucket = waiting.pop(future)
            if future.cancelled():
                raise _shut_down(bucket)
            error = _unwrapped(future.exception())
            if error is None:
                yield bucket
            elif _may_pass(error) and tried[bucket] <= retries:
                submit(bucket)
            else:
                raise _final(error, bucket, tried[bucket])
    finally:
        wait([future for future in waiting if not future.cancel()])


def _unwrapped(error: BaseException | None) -> BaseException | None:
    """The error as a worker raised it, which Ray hands over as the `cause` of one of its own."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, EvalframeError) else error


def _may_pass(error: BaseException) -> bool:
    """Whether another try may succeed: what is wrong with the data stays wrong."""
    return not isinstance(error, BrokenExecutor) and (
        type(error) is EvalframeError or not isinstance(error, EvalframeError)
    )


def _shut_down(bucket: Bucket) -> EvalframeError:
    return EvalframeError(
        f"the executor was shut down before {bucket.title} was scored. Values that are written "
        "stay: call again with another executor, and with the same results folder, for the rest"
    )


def _final(error: BaseException, bucket: Bucket, tries: int) -> BaseException:
    if isinstance(error, BrokenExecutor):
        return EvalframeError(
            f"the executor broke at {bucket.title}, as when a worker is killed or out of memory: "
            f"{error} Values that are written stay: call again with a new executor, and with the "
            "same results folder, for the rest"
        )
    if not _may_pass(error):
        return error
    named = str(error) if isinstance(error, EvalframeError) else f"{bucket.title}: {error!r}"
    return EvalframeError(f"{named} (tried {tries} times)")
