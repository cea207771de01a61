"""The way to a host, by a deadline, however long the system takes to say where it is."""

from __future__ import annotations

import os
import socket
from concurrent.futures import Future
from typing import Any

from acidsql.backends.metastore.deadline import Deadline, TimedSocket, started, waited_for, within

Addresses = list[tuple[Any, ...]]

_asked: dict[tuple[int, str, int], Future[Addresses]] = {}
"""What is not answered yet, by process (a fork takes no thread along), host and port.

Who asks the same waits for the same answer: a system that hangs has a thread for each name, not for
each call.
"""


def connect(host: str, port: int, deadline: Deadline) -> TimedSocket:
    """A connection to the first address of the host that accepts. OSError, TimeoutError."""
    failure: OSError = OSError(0, f"{host} has no address")
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
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


def full_name(host: str, deadline: Deadline) -> str:
    """What the system calls a host, or its address. TimeoutError."""
    return within(deadline, "name of a host", lambda: socket.getfqdn(host))


def _addresses(host: str, port: int, deadline: Deadline) -> Addresses:
    """As `socket.getaddrinfo` tells them. OSError, which says so if they did not come in time."""
    answer: Future[Addresses] = Future()
    shared = _asked.setdefault((os.getpid(), host, port), answer)
    if shared is answer:
        _ask(host, port, answer)
    try:
        return waited_for(shared, deadline)
    except TimeoutError as error:
        raise OSError(0, f"the name {host} was not resolved in time") from error
    except UnicodeError as error:
        raise OSError(0, f"{host} is no name of a host") from error


def _ask(host: str, port: int, answer: Future[Addresses]) -> None:
    key = os.getpid(), host, port

    def ask() -> Addresses:
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        finally:
            del _asked[key]

    try:
        started("name of a host", ask, answer)
    except BaseException as error:
        del _asked[key]
        answer.set_exception(error)
        raise
