"""One thread of linear algebra while the specialised method runs.

Its matrices are many and small: several threads of BLAS wait for each other longer than they work. Knows nothing of the
method.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

_LOCK = Lock()
_INSIDE: list[Any] = []
"""One entry for each caller inside; the first is what restores the process's own number of threads."""


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that are loaded; looking for them takes milliseconds, and they stay."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread. The number is the process's: the last of several at once restores it."""
    with _LOCK:
        _INSIDE.append(None if _INSIDE else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            # Whoever leaves last finds the limiter, whoever put it there.
            if len(_INSIDE) == 1:
                _INSIDE[0].restore_original_limits()
                _INSIDE.clear()
            else:
                _INSIDE.pop()
