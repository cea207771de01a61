"""Ctrl-C waits where it would do harm."""

from __future__ import annotations

# The functions of `signal` look each handler up among the members of an enum. That fails for a
# handler that is a function, and takes longer than the rest of a block that holds Ctrl-C back.
import _signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from signal import SIGINT
from typing import Any

_FREE = nullcontext()


def uninterrupted(*, unless_repeated: bool = False) -> AbstractContextManager[None]:
    """Hold Ctrl-C back until the ``with`` block is left.

    With ``unless_repeated`` a second Ctrl-C interrupts at once. Python interrupts only the main
    thread, so in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return _FREE
    usual = _signal.getsignal(SIGINT)
    # A block around this one may hold Ctrl-C back already.
    if not callable(usual) or (isinstance(usual, _Hold) and usual.covers(unless_repeated)):
        return _FREE
    return _Hold(usual, unless_repeated)


class _Hold:
    """A handler that keeps the first Ctrl-C of its block for the handler before it."""

    def __init__(self, usual: Callable[[int, Any], object], unless_repeated: bool) -> None:
        self._usual = usual
        self._unless_repeated = unless_repeated
        self._came: tuple[int, Any] | None = None

    def __enter__(self) -> None:
        _signal.signal(SIGINT, self)

    def __exit__(self, *_: object) -> None:
        _signal.signal(SIGINT, self._usual)
        if self._came is not None:
            self._usual(*self._came)

    def covers(self, unless_repeated: bool) -> bool:
        """Whether it holds back all that a block inside would hold back."""
        return unless_repeated or not self._unless_repeated

    def __call__(self, number: int, frame: Any) -> None:
        if self._came is not None and self._unless_repeated:
            self._came = None
            self._usual(number, frame)
        self._came = self._came or (number, frame)
