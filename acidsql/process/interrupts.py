"""Ctrl-C waits where it would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted(*, unless_repeated: bool = False) -> Iterator[None]:
    """Hold Ctrl-C back until the ``with`` block is left.

    With ``unless_repeated`` a second Ctrl-C interrupts at once. Python interrupts only the main
    thread, so in other threads this does nothing.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[Any, Any]] = []

    def hold(number: Any, frame: Any) -> None:
        if came and unless_repeated:
            came.clear()
            usual(number, frame)
        came.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])
