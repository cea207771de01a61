"""SASL as in Thrift: the login before the first call."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from acidsql.backends.metastore.deadline import Deadline, within
from acidsql.backends.metastore.hosts import full_name
from acidsql.backends.metastore.url import Endpoint, Kerberos, Plain
from acidsql.errors import DependencyError, StorageError

_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5
_LONGEST = 1 << 20
"""In bytes. No message of a negotiation is longer."""


class Mechanism(Protocol):
    """One way to log in. ``complete`` once we have sent our last message."""

    name: str
    complete: bool
    hint: str | None
    """The hint for an error if the server refuses us; None where the server's message is enough."""

    def step(self, challenge: bytes) -> bytes:
        """The answer to a challenge of the server. The first challenge is empty."""
        ...

    def wrap(self, data: bytes) -> bytes:
        """Protect a message that is sent after the negotiation. OSError if that fails."""
        ...

    def unwrap(self, data: bytes) -> bytes:
        """The inverse of `wrap`. OSError if somebody changed the message or may have read it."""
        ...


class PlainMechanism:
    """User and password (RFC 4616)."""

    name = "PLAIN"
    complete = False
    hint: str | None = None

    def __init__(self, login: Plain) -> None:
        self._login = login

    def step(self, challenge: bytes) -> bytes:
        self.complete = True
        return b"\0" + self._login.user.encode() + b"\0" + self._login.password.encode()

    def wrap(self, data: bytes) -> bytes:
        return data

    def unwrap(self, data: bytes) -> bytes:
        return data


_NONE, _INTEGRITY, _PRIVACY = 1, 2, 4


class KerberosMechanism:
    """Kerberos (RFC 4752) with the ticket of the user who runs this process.

    Messages get the least protection that the server accepts (hadoop.rpc.protection). They may be
    longer than the maximum that the server names: neither Hive's clients nor its server
    (TSaslTransport) keep to it. A connection outlives its ticket; a new connection needs a valid
    one.
    """

    name = "GSSAPI"

    def __init__(self, login: Kerberos, endpoint: Endpoint, deadline: Deadline) -> None:
        """The ticket must be there, and the negotiation done, by the deadline."""
        try:
            import gssapi  # noqa: PLC0415
        except ImportError as error:
            raise DependencyError(
                "Kerberos needs gssapi, which cannot be imported",
                detail=f"{error}.",
                hint="pip install 'acidsql[kerberos]'",
            ) from error
        # Hive's clients also look up the full name, even of an address.
        host = full_name(endpoint.host, deadline).lower()
        self._principal = login.principal.replace("_HOST", host)
        self._endpoint = endpoint
        self._deadline = deadline
        self._error: type[Exception] = gssapi.exceptions.GSSError
        flags = gssapi.RequirementFlag
        with self._explained():
            self._context: Any = gssapi.SecurityContext(
                name=gssapi.Name(self._principal, gssapi.NameType.kerberos_principal),
                usage="initiate",
                # All are requested: some libraries give only the protection that was requested.
                flags=[
                    flags.mutual_authentication,
                    flags.out_of_sequence_detection,
                    flags.integrity,
                    flags.confidentiality,
                ],
            )
        self._protection = 0
        self.complete = False
        self.hint: str | None = (
            f"The metastore's log says why. It must be set up for Kerberos, and be the "
            f"{self._principal} that the ticket is for."
        )

    def step(self, challenge: bytes) -> bytes:
        with self._explained():
            if not self._context.complete:
                # This may ask a KDC, and wait as long as krb5.conf says.
                step = partial(self._context.step, challenge or None)
                return within(self._deadline, "Kerberos login", step) or b""
            self._protection = self._chosen(self._context.unwrap(challenge).message)
            largest = 0 if self._protection == _NONE else 0xFFFFFF
            chosen = struct.pack("!I", self._protection << 24 | largest)
            answer: bytes = self._context.wrap(chosen, encrypt=False).message
        self.complete = True
        return answer

    def _chosen(self, offer: bytes) -> int:
        for protection in (_NONE, _INTEGRITY, _PRIVACY):
            if len(offer) == 4 and offer[0] & protection:
                return protection
        raise StorageError(
            f"the metastore {self._endpoint.name} offers no known protection of messages",
            detail=f"It offers 0x{offer.hex()}.",
        )

    def wrap(self, data: bytes) -> bytes:
        if self._protection == _NONE:
            return data
        return self._protected(self._context.wrap, data, self._protection == _PRIVACY)

    def unwrap(self, data: bytes) -> bytes:
        if self._protection == _NONE:
            return data
        return self._protected(self._context.unwrap, data)

    def _protected(self, convert: Any, *arguments: Any) -> bytes:
        try:
            result = convert(*arguments)
        except self._error as error:
            raise ConnectionError(f"Kerberos: {_words(error)}") from error
        if self._protection == _PRIVACY and not result.encrypted:
            raise ConnectionError("Kerberos: a message is not encrypted")
        message: bytes = result.message
        return message

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise self._failed(_words(error)) from error
        except TimeoutError as error:
            raise self._failed("No ticket for it came in time") from error

    def _failed(self, why: str) -> StorageError:
        return StorageError(
            f"the Kerberos login to {self._endpoint.name} failed",
            detail=f"{why}.",
            hint="klist shows the tickets, kinit gets one. By its URL, the metastore is"
            f" {self._principal}.",
        )


def _words(error: Any) -> str:
    """The message of the mechanism, or of GSSAPI itself if the mechanism has none."""
    statuses = (
        error.get_all_statuses(error.min_code, False)
        if error.min_code
        else error.get_all_statuses(error.maj_code, True)
    )
    return " ".join(" ".join(statuses).split()).rstrip(".")


def mechanism_for(login: Plain | Kerberos, endpoint: Endpoint, deadline: Deadline) -> Mechanism:
    """The mechanism of a login. Its negotiation must be done by the deadline.

    Raises DependencyError if its package is missing, and TimeoutError.
    """
    if isinstance(login, Plain):
        return PlainMechanism(login)
    return KerberosMechanism(login, endpoint, deadline)


def negotiate(connected: socket.socket, mechanism: Mechanism, name: str) -> None:
    """Log in to the server of this name.

    Raises StorageError with the server's message if the server refuses us, and OSError or EOFError
    if it does not speak SASL at all.
    """
    _send(connected, _START, mechanism.name.encode())
    _answer(connected, mechanism, b"")
    while True:
        status, challenge = _receive(connected)
        if status == _COMPLETE:
            if not mechanism.complete:
                raise StorageError(f"the metastore {name} broke off a negotiation")
            return
        if status != _OK:
            text = challenge.decode(errors="replace") or f"status {status}"
            raise StorageError(
                f"the metastore {name} refused {mechanism.name}",
                detail=f"{text.rstrip('.')}.",
                hint=mechanism.hint,
            )
        if mechanism.complete:
            # We have sent our last message. The server reports the end once it has checked it.
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
        raise ConnectionError("It does not speak SASL")
    return status, read_exactly(connected, size)


def read_exactly(connected: socket.socket, size: int) -> bytes:
    """Read this number of bytes. EOFError if there are fewer."""
    chunks = []
    while size:
        chunk = connected.recv(min(size, 1 << 20))
        if not chunk:
            raise EOFError("the server closed the connection")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
