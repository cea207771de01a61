"""Connects to hosts by a deadline, even if the system hangs over the name of a host."""

from __future__ import annotations

import os
import socket
from concurrent.futures import Future
from typing import Any

from acidsql.backends.metastore.deadline import Deadline, TimedSocket, started, waited_for, within

Addresses = list[tuple[Any, ...]]

_asked: dict[tuple[int, str, int], Future[Addresses]] = {}
"""Look-ups that are not answered yet, by process, host and port.

Calls that ask for the same name wait for the same answer. So a system that hangs costs one thread
for each name, not one for each call. The process is part of the key because a forked child does not
have its parent's threads.
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
    """The system's full name of a host, or its address. TimeoutError at the deadline."""
    return within(deadline, "name of a host", lambda: socket.getfqdn(host))


def _addresses(host: str, port: int, deadline: Deadline) -> Addresses:
    """The addresses of a host from `socket.getaddrinfo`. OSError, also at the deadline."""
    answer: Future[Addresses] = Future()
    shared = _asked.setdefault((os.getpid(), host, port), answer)
    if shared is answer:
        _ask(host, port, answer)
    try:
        return waited_for(shared, deadline)
    except TimeoutError as error:
        raise OSError(0, f"the name {host} was not resolved in time") from error
    except UnicodeError as error:
        raise OSError(0, f"{host} is not a host name") from error


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
