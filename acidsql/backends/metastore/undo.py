"""Undoes the changes that the metastore made before a commit that failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from acidsql.errors import AcidSqlError, CommitStateUnknownError

_log = logging.getLogger(__name__)

_NOT_UNDONE = "Not all that may have been changed before could be taken back: see what is there."


class Undo:
    """Steps that undo changes. Each thread has steps of its own.

    A metastore carries out each call by itself: no transaction of its database spans several. So a
    change is undone by the opposite change. Others may see the change in between, but the locks of
    the statement keep them from acting on it.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    @contextmanager
    def unless_done(self) -> Iterator[None]:
        """On an exception inside the ``with`` block, run the steps noted there, the last first.

        Not on a CommitStateUnknownError: the changes may belong to a committed transaction. The
        exception says so if a step has failed.
        """
        failed: list[Exception] = []
        self._local.failed = failed
        try:
            with ExitStack() as stack:
                self._local.stack = stack
                try:
                    yield
                    stack.pop_all()
                except CommitStateUnknownError:
                    stack.pop_all()
                    raise
                finally:
                    self._local.stack = None
        except AcidSqlError as error:
            if failed:
                error.detail = f"{error.detail or ''} {_NOT_UNDONE}".lstrip()
            raise

    def by(self, step: Callable[..., Any], *arguments: Any) -> None:
        """Note the step that undoes the last change. Outside of `unless_done` this does nothing."""
        stack: ExitStack | None = getattr(self._local, "stack", None)
        if stack is not None:
            stack.callback(_try, self._local.failed, step, *arguments)


def _try(failed: list[Exception], step: Callable[..., Any], *arguments: Any) -> None:
    """Run a step. Its own error is only noted: the error that made us undo is the one to raise."""
    try:
        step(*arguments)
    except Exception as error:
        failed.append(error)
        _log.warning("a change could not be undone by %s", step.__name__, exc_info=True)
