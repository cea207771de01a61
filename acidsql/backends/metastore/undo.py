"""Taking back what the metastore did before a commit that failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_log = logging.getLogger(__name__)


class Undo:
    """Steps that take changes back, for each thread its own.

    A metastore carries out each call by itself: there is no transaction of its database that holds
    several. So a change is taken back by its opposite. Between the two others may see it; the
    locks of the statement keep them from acting on it.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    @contextmanager
    def unless_done(self) -> Iterator[None]:
        """Any exception inside takes back what was noted there, the last first."""
        with ExitStack() as stack:
            self._local.stack = stack
            try:
                yield
                stack.pop_all()
            finally:
                self._local.stack = None

    def by(self, step: Callable[..., Any], *arguments: Any) -> None:
        """Note how to take back what has just been done; nothing outside of `unless_done`."""
        stack: ExitStack | None = getattr(self._local, "stack", None)
        if stack is not None:
            stack.callback(_try, step, *arguments)


def _try(step: Callable[..., Any], *arguments: Any) -> None:
    """The error that led here is the one to be seen."""
    try:
        step(*arguments)
    except Exception:
        _log.warning("a change could not be taken back by %s", step.__name__, exc_info=True)
