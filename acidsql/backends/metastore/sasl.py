"""SASL as Thrift does it: who we are, said before the first call."""

from __future__ import annotations

import socket
import struct
from typing import Any, Protocol

from acidsql.backends.metastore.url import Endpoint, Kerberos, Plain
from acidsql.errors import DependencyError, StorageError

_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5
_LONGEST = 1 << 20
"""More than any message of a negotiation has, in bytes."""


class Mechanism(Protocol):
    """One way to say who we are. ``complete`` once there is nothing left for us to say."""

    name: str
    complete: bool

    def step(self, challenge: bytes) -> bytes:
        """What to answer; the first challenge is empty."""
        ...

    def wrap(self, data: bytes) -> bytes:
        """A message as it is sent after the negotiation."""
        ...

    def unwrap(self, data: bytes) -> bytes:
        """The inverse."""
        ...


class PlainMechanism:
    """User and password (RFC 4616)."""

    name = "PLAIN"
    complete = False

    def __init__(self, login: Plain) -> None:
        self._login = login

    def step(self, challenge: bytes) -> bytes:
        self.complete = True
        return b"\0" + self._login.user.encode() + b"\0" + self._login.password.encode()

    def wrap(self, data: bytes) -> bytes:
        return data

    def unwrap(self, data: bytes) -> bytes:
        return data


class KerberosMechanism:
    """The ticket of whoever runs this process (RFC 4752), with the least protection that the
    server accepts (hadoop.rpc.protection).
    """

    name = "GSSAPI"

    def __init__(self, login: Kerberos, endpoint: Endpoint) -> None:
        try:
            import gssapi  # noqa: PLC0415
        except ImportError as error:
            raise DependencyError(
                "Kerberos needs gssapi, which cannot be imported",
                detail=f"{error}.",
                hint="pip install 'acidsql[kerberos]'",
            ) from error
        host = socket.getfqdn(endpoint.host).lower()
        principal = login.principal.replace("_HOST", host)
        kind = gssapi.NameType.kerberos_principal
        self._error: type[Exception] = gssapi.exceptions.GSSError
        self._context: Any = gssapi.SecurityContext(
            name=gssapi.Name(principal, kind), usage="initiate"
        )
        self._protection = 0
        self.complete = False

    def step(self, challenge: bytes) -> bytes:
        try:
            if not self._context.complete:
                return self._context.step(challenge or None) or b""
            offered = self._context.unwrap(challenge).message[0]
            # 1 none, 2 integrity, 4 privacy.
            self._protection = next(p for p in (1, 2, 4) if offered & p)
            largest = 0 if self._protection == 1 else 0xFFFFFF
            chosen = struct.pack("!I", self._protection << 24 | largest)
            self.complete = True
            answer: bytes = self._context.wrap(chosen, encrypt=False).message
        except self._error as error:
            raise StorageError(
                "Kerberos failed",
                detail=f"{' '.join(str(error).split())}.",
                hint="klist shows the tickets; kinit gets one.",
            ) from error
        return answer

    def wrap(self, data: bytes) -> bytes:
        if self._protection == 1:
            return data
        wrapped: bytes = self._context.wrap(data, encrypt=self._protection == 4).message
        return wrapped

    def unwrap(self, data: bytes) -> bytes:
        if self._protection == 1:
            return data
        unwrapped: bytes = self._context.unwrap(data).message
        return unwrapped


def mechanism_for(login: Plain | Kerberos, endpoint: Endpoint) -> Mechanism:
    """The mechanism of a login. DependencyError if its package is missing."""
    if isinstance(login, Plain):
        return PlainMechanism(login)
    return KerberosMechanism(login, endpoint)


def negotiate(connected: socket.socket, mechanism: Mechanism) -> None:
    """Say who we are. StorageError with the server's words if it does not want us."""
    _send(connected, _START, mechanism.name.encode())
    _answer(connected, mechanism, b"")
    while True:
        status, challenge = _receive(connected)
        if status == _COMPLETE:
            if not mechanism.complete:
                raise StorageError("the metastore ended a negotiation that was not complete")
            return
        if status != _OK:
            text = challenge.decode(errors="replace") or f"status {status}"
            raise StorageError(f"the metastore refused {mechanism.name}", detail=f"{text}.")
        if mechanism.complete:
            # It has nothing to ask, and says so once more when it has checked.
            continue
        _answer(connected, mechanism, challenge)


def _answer(connected: socket.socket, mechanism: Mechanism, challenge: bytes) -> None:
    answer = mechanism.step(challenge)
    _send(connected, _COMPLETE if mechanism.complete else _OK, answer)


def _send(connected: socket.socket, status: int, payload: bytes) -> None:
    connected.sendall(struct.pack("!BI", status, len(payload)) + payload)


def _receive(connected: socket.socket) -> tuple[int, bytes]:
    status, size = struct.unpack("!BI", read_exactly(connected, 5))
    if size > _LONGEST:
        raise StorageError("the metastore does not speak SASL")
    return status, read_exactly(connected, size)


def read_exactly(connected: socket.socket, size: int) -> bytes:
    """As many bytes. EOFError if there are fewer."""
    chunks = []
    while size:
        chunk = connected.recv(min(size, 1 << 20))
        if not chunk:
            raise EOFError("the server closed the connection")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
