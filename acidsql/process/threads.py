"""The same work on many items, in a few threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")

STORAGE_THREADS = 16
"""For work that mostly waits for the storage; more than the processors of most machines."""


def in_threads(
    function: Callable[[_In], _Out], items: Sequence[_In], threads: int | None
) -> list[_Out]:
    """The function's results, in the order of the items. None is one thread per processor.

    A single item is worked on in the thread of the caller, and so are all items if ``threads`` is
    1: starting a thread takes longer than reading a small file. Raises the error of the first item,
    in their order, that failed. By then the items that were begun have ended, and no other item
    begins.

    >>> in_threads(len, ["a", "bc", ""], 2)
    [1, 2, 0]
    """
    if len(items) < 2 or threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return list(pool.map(function, items))
