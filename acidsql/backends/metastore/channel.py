"""How bytes come to a server and back: a socket, bare or with TLS or SASL, or HTTP."""

from __future__ import annotations

import select
import socket
import ssl
import struct
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from typing import Protocol

from acidsql.backends.metastore.errors import lost_answer, reason_of
from acidsql.backends.metastore.sasl import Mechanism, mechanism_for, negotiate, read_exactly
from acidsql.backends.metastore.url import Endpoint, Http, Place, Tls
from acidsql.errors import ConfigError, StorageError


class Channel(Protocol):
    """What thriftpy2 asks of a transport, and what we do. Errors: OSError, EOFError."""

    says_who: bool
    """Whether the server knows by it who we are."""

    def read(self, size: int) -> bytes:
        """At least one byte, and no more than ``size``."""
        ...

    def write(self, data: bytes) -> None:
        """A part of a message."""
        ...

    def flush(self) -> None:
        """The message is complete."""
        ...

    def set_timeout(self, seconds: float) -> None:
        """How long one read or write may take."""
        ...

    def is_idle(self) -> bool:
        """Whether nothing has come since the last answer: the end is what could have."""
        ...

    def close(self) -> None:
        """Idempotent."""
        ...

    @property
    def closed(self) -> bool:
        """Whether it cannot be used any more."""
        ...


class SocketChannel:
    """A TCP connection, bare or with TLS."""

    says_who = False

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def read(self, size: int) -> bytes:
        data = self._socket.recv(size)
        if not data:
            raise EOFError("the server closed the connection")
        return data

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def flush(self) -> None:
        pass

    def set_timeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def is_idle(self) -> bool:
        return _is_silent(self._socket)

    def close(self) -> None:
        self._socket.close()

    @property
    def closed(self) -> bool:
        return self._socket.fileno() < 0


class SaslChannel(SocketChannel):
    """A connection whose messages have their length before them, and may be protected."""

    says_who = True

    def __init__(self, connected: socket.socket, mechanism: Mechanism, name: str) -> None:
        super().__init__(connected)
        negotiate(connected, mechanism, name)
        self._mechanism = mechanism
        self._outgoing = BytesIO()
        self._incoming = BytesIO()

    def read(self, size: int) -> bytes:
        while not (data := self._incoming.read(size)):
            (length,) = struct.unpack("!I", read_exactly(self._socket, 4))
            self._incoming = BytesIO(self._mechanism.unwrap(read_exactly(self._socket, length)))
        return data

    def write(self, data: bytes) -> None:
        self._outgoing.write(data)

    def flush(self) -> None:
        message, self._outgoing = self._mechanism.wrap(self._outgoing.getvalue()), BytesIO()
        self._socket.sendall(struct.pack("!I", len(message)) + message)


class HttpChannel:
    """Each message is the body of a POST, and so is its answer of the response (Hive 4)."""

    says_who = True

    def __init__(self, endpoint: Endpoint, place: Place, http: Http, user: str) -> None:
        at = (endpoint.host, endpoint.port)
        if place.tls is None:
            self._connection = HTTPConnection(*at, timeout=place.connect_timeout_s)
        else:
            self._connection = HTTPSConnection(
                *at, timeout=place.connect_timeout_s, context=_context(place.tls)
            )
        self._path = f"/{http.path}"
        self._headers = {"Content-Type": "application/x-thrift", "Accept": "application/x-thrift"}
        if http.token is not None:
            self._headers["Authorization"] = f"Bearer {http.token}"
        else:
            self._headers["x-actor-username"] = user
        self._connection.connect()
        self._outgoing = BytesIO()
        self._incoming = BytesIO()
        self._is_closed = False

    def read(self, size: int) -> bytes:
        data = self._incoming.read(size)
        if not data:
            raise EOFError("the response is shorter than its message")
        return data

    def write(self, data: bytes) -> None:
        self._outgoing.write(data)

    def flush(self) -> None:
        message, self._outgoing = self._outgoing.getvalue(), BytesIO()
        try:
            self._connection.request("POST", self._path, message, self._headers)
            response = self._connection.getresponse()
            body = response.read()
        except HTTPException as error:
            raise EOFError(f"{type(error).__name__}: {error}") from error
        if response.status != 200:
            raise StorageError(
                f"the metastore answered HTTP status {response.status}",
                detail=f"{response.reason}." if response.reason else None,
                hint="The path, the user or the token of the metastore URL may be wrong.",
            )
        self._incoming = BytesIO(body)

    def set_timeout(self, seconds: float) -> None:
        self._connection.timeout = seconds
        if self._connection.sock is not None:
            self._connection.sock.settimeout(seconds)

    def is_idle(self) -> bool:
        # Who closes after each answer is connected to again by itself.
        return self._connection.sock is None or _is_silent(self._connection.sock)

    def close(self) -> None:
        self._is_closed = True
        self._connection.close()

    @property
    def closed(self) -> bool:
        return self._is_closed


def open_channel(endpoint: Endpoint, place: Place, user: str) -> Channel:
    """A channel to a server. OSError or EOFError if it cannot be had, LostAnswerError if the server
    knows nothing of our login, StorageError if it does not want us, DependencyError if a package
    is missing.
    """
    if place.http is not None:
        return HttpChannel(endpoint, place, place.http, user)
    mechanism = None if place.login is None else mechanism_for(place.login, endpoint)
    connected = _connect(endpoint, place)
    if mechanism is None:
        return SocketChannel(connected)
    try:
        return SaslChannel(connected, mechanism, endpoint.name)
    except BaseException as error:
        connected.close()
        if not isinstance(error, (OSError, EOFError)):
            raise
        why = reason_of(error)
        raise lost_answer(endpoint.name, mechanism.name, why, sent=True, closed=False) from error


def _connect(endpoint: Endpoint, place: Place) -> socket.socket:
    at = (endpoint.host, endpoint.port)
    connected = socket.create_connection(at, timeout=place.connect_timeout_s)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if place.tls is None:
            return connected
        return _context(place.tls).wrap_socket(connected, server_hostname=endpoint.host)
    except BaseException:
        connected.close()
        raise


def _context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.cafile)
        if tls.certfile is not None:
            context.load_cert_chain(tls.certfile, tls.keyfile)
    except OSError as error:
        raise ConfigError(
            "a certificate of the metastore URL cannot be read",
            detail=f"{error}.",
            hint="Files in PEM format are wanted; keytool and openssl make them of Java's stores.",
        ) from error
    return context


def _is_silent(connected: socket.socket) -> bool:
    if connected.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return not poll.poll(0)
