"""Work in other threads: what comes next is made ahead, and Ctrl-C ends it within moments, also inside DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Event, Thread
from typing import Any, TypeVar

from evenhand.resources import current

AGAIN = 0.05
"""Seconds after which work that was told to stop is told so again."""

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, each of which was made in another thread while the one before it was used.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    if current().threads == 1:
        yield from items
        return
    # Another thread does not know what may be used here.
    context, end = copy_context(), object()
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming: Future[Any] = pool.submit(lambda: context.run(lambda: next(items, end)))
        while (item := coming.result()) is not end:
            coming = pool.submit(lambda: context.run(lambda: next(items, end)))
            yield item


def beside(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run work in a thread of its own while this one only waits, and return what it returns or raise what it raises.

    Where the wait is interrupted, ``stop`` is called until the work has ended: a query that begins after a call
    knows nothing of it.

    Examples
    --------
    >>> beside(lambda: 6 * 7, stop=lambda: None)
    42
    """
    began, ended, stopped = Event(), Event(), Event()
    found: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        # In this order: whoever stops it either sees that it began, or is seen.
        began.set()
        try:
            if not stopped.is_set():
                found.set_result(context.run(work))
        except BaseException as error:
            found.set_exception(error)
        finally:
            ended.set()

    try:
        # Nobody joins it: Python takes a thread for ended if that is interrupted, and a process would wait for it.
        Thread(target=run, daemon=True).start()
        # A signal may have come to another thread, which does not wake this one.
        while not ended.wait(AGAIN):
            pass
    finally:
        stopped.set()
        while began.is_set() and not ended.is_set():
            # A call that is interrupted, or refused by a connection that is busy, is made again.
            with suppress(KeyboardInterrupt, Exception):
                stop()
            with suppress(KeyboardInterrupt):
                ended.wait(AGAIN)
    return found.result()
