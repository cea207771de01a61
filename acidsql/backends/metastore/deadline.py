"""One deadline for a whole call: however slowly a server sends, the call ends."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, TypeVar

from acidsql.process.supervisor import start_thread

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of the clock, in seconds, by which a call must end."""

    at_s: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline this many seconds from now."""
        return cls(clock() + seconds, clock)

    def sooner(self, seconds: float) -> Deadline:
        """This deadline, or the one this many seconds from now if that is sooner."""
        return Deadline(min(self.at_s, self.clock() + seconds), self.clock)

    def left_s(self) -> float:
        """The seconds that are left, more than 0. TimeoutError if the deadline has passed."""
        left_s = self.at_s - self.clock()
        if left_s <= 0:
            raise TimeoutError
        return left_s


def started(name: str, work: Callable[[], T], outcome: Future[T]) -> None:
    """Do the work in a thread of its own. Its result or exception goes into ``outcome``.

    ExecutionError if the system starts no more threads.
    """

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    start_thread(name, run)


def waited_for(outcome: Future[T], deadline: Deadline) -> T:
    """The outcome of work. TimeoutError at the deadline; the work itself goes on."""
    try:
        return outcome.result(deadline.left_s())
    except FutureTimeoutError:  # before Python 3.11 it is not the built-in TimeoutError
        raise TimeoutError from None


def within(deadline: Deadline, name: str, work: Callable[[], T]) -> T:
    """The result of work that cannot be interrupted, if it comes by the deadline.

    Raises TimeoutError, ExecutionError if no thread starts, and the exceptions of the work.
    """
    outcome: Future[T] = Future()
    started(name, work, outcome)
    return waited_for(outcome, deadline)


class TimedSocket(socket.socket):
    """A socket whose operations must all end by its deadline."""

    deadline: Deadline | None = None

    def recv(self, *arguments: Any) -> bytes:
        self._allow()
        return super().recv(*arguments)

    def recv_into(self, *arguments: Any) -> int:
        self._allow()
        return super().recv_into(*arguments)

    def send(self, *arguments: Any) -> int:
        self._allow()
        return super().send(*arguments)

    def sendall(self, *arguments: Any) -> None:
        self._allow()
        super().sendall(*arguments)

    def _allow(self) -> None:
        if self.deadline is not None:
            self.settimeout(self.deadline.left_s())


class TimedTls(TimedSocket, ssl.SSLSocket):
    """A TLS socket whose operations must all end by its deadline."""
