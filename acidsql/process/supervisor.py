"""Runs work in the background: a failure is reported and counted, and the next round comes."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

from acidsql.errors import ExecutionError

_log = logging.getLogger(__name__)

T = TypeVar("T")
Tell = Callable[[str, BaseException], object]


def log_failure(name: str, error: BaseException) -> None:
    """Log a warning with the trace of the error."""
    _log.warning("%s failed: %s", name, _line(error), exc_info=error)


class Supervisor:
    """Carries out work that no caller waits for: heartbeats, leases, services. Thread-safe.

    An error of a round is reported once, with ``tell``, and counted; the caller goes on to the next
    round. Only KeyboardInterrupt and SystemExit are raised.
    """

    def __init__(self, tell: Tell = log_failure) -> None:
        self._tell = tell
        self._guard = threading.Lock()
        self._failures: Counter[str] = Counter()

    @property
    def failures(self) -> Mapping[str, int]:
        """How many rounds have failed, by the name of the work."""
        with self._guard:
            return dict(self._failures)

    def attempt(self, name: str, work: Callable[[], T], otherwise: T, about: object = "") -> T:
        """What ``work`` returns, or ``otherwise`` if it fails.

        Failures are counted by ``name``. ``about`` adds to the report which object the work was on.
        """
        try:
            return work()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            with self._guard:
                self._failures[name] += 1
            self._tell_safely(f"{name} of {about}" if about else name, error)
            return otherwise

    def _tell_safely(self, name: str, error: BaseException) -> None:
        """Report a failure. A report that fails is counted as "log": a log's disk may be full."""
        try:
            self._tell(name, error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            with self._guard:
                self._failures["log"] += 1


def start_thread(name: str, run: Callable[[], object]) -> threading.Thread:
    """Start a daemon thread. ExecutionError if the system can start no more threads.

    KeyboardInterrupt and SystemExit end the thread; the log says so.
    """

    def run_until_ended() -> None:
        try:
            run()
        except (KeyboardInterrupt, SystemExit) as error:
            _log.warning("a thread of the %s was ended: %s", name, _line(error), exc_info=error)

    thread = threading.Thread(target=run_until_ended, name=f"acidsql {name}", daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError, OSError) as error:
        raise no_thread(name) from error
    return thread


def no_thread(name: str) -> ExecutionError:
    """The error for background work whose thread cannot be started."""
    return ExecutionError(
        f"no thread can be started for the {name}",
        hint="The process or its user has too many threads, or too little memory.",
    )


def _line(error: BaseException) -> str:
    """The class of the error and the first line of its text."""
    lines = str(error).splitlines()
    kind = type(error).__name__
    return f"{kind}: {lines[0].rstrip('.')}" if lines else kind
