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
    """A time by the clock, in seconds."""

    at_s: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """So many seconds from now."""
        return cls(clock() + seconds, clock)

    def sooner(self, seconds: float) -> Deadline:
        """This one, or so many seconds from now if that is sooner."""
        return Deadline(min(self.at_s, self.clock() + seconds), self.clock)

    def left_s(self) -> float:
        """What is left, more than nothing. TimeoutError if it has passed."""
        left_s = self.at_s - self.clock()
        if left_s <= 0:
            raise TimeoutError
        return left_s


def started(name: str, work: Callable[[], T], outcome: Future[T]) -> None:
    """Do the work in a thread that nobody needs to wait for, whatever comes of it the outcome.

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
    """What came, or TimeoutError: what has come to nothing until the deadline is left alone."""
    try:
        return outcome.result(deadline.left_s())
    except FutureTimeoutError:  # its own before Python 3.11
        raise TimeoutError from None


def within(deadline: Deadline, name: str, work: Callable[[], T]) -> T:
    """What the work returns that nothing can break off. TimeoutError, ExecutionError."""
    outcome: Future[T] = Future()
    started(name, work, outcome)
    return waited_for(outcome, deadline)


class TimedSocket(socket.socket):
    """A socket whose operations share what is left until its deadline."""

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
    """The same with TLS."""
