"""One deadline for a whole call: however slowly a server sends, the call ends."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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


def connect(host: str, port: int, deadline: Deadline) -> TimedSocket:
    """A connection to the first address of the host that accepts. OSError, TimeoutError.

    How long a name may take to be resolved is a matter of the system.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(0, f"{host} is no name of a host") from error
    failure: OSError = OSError(0, f"{host} has no address")
    for family, kind, protocol, _, address in addresses:
        connected = TimedSocket(family, kind, protocol)
        try:
            connected.settimeout(deadline.left_s())
            connected.connect(address)
        except OSError as error:
            connected.close()
            failure = error
        else:
            connected.deadline = deadline
            return connected
    raise failure
