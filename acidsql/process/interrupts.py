"""Ctrl-C waits where it would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted(*, unless_repeated: bool = False) -> Iterator[None]:
    """Hold Ctrl-C back until the ``with`` block is left.

    With ``unless_repeated`` a second Ctrl-C interrupts at once. Python interrupts only the main
    thread, so in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.getsignal(signal.SIGINT)
    # A block around this one may hold Ctrl-C back already.
    if not callable(usual) or (isinstance(usual, _Hold) and usual.covers(unless_repeated)):
        yield
        return
    hold = _Hold(usual, unless_repeated)
    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        hold.pass_on()


class _Hold:
    """A handler that keeps the first Ctrl-C for the handler before it."""

    def __init__(self, usual: Callable[[int, Any], object], unless_repeated: bool) -> None:
        self._usual = usual
        self._unless_repeated = unless_repeated
        self._came: tuple[int, Any] | None = None

    def covers(self, unless_repeated: bool) -> bool:
        """Whether it holds back all that a block inside would hold back."""
        return unless_repeated or not self._unless_repeated

    def __call__(self, number: int, frame: Any) -> None:
        if self._came is not None and self._unless_repeated:
            self._came = None
            self._usual(number, frame)
        self._came = self._came or (number, frame)

    def pass_on(self) -> None:
        if self._came is not None:
            self._usual(*self._came)
