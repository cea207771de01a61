"""Channels carry bytes to a server and back: a socket, with or without TLS or SASL, or HTTP."""

from __future__ import annotations

import select
import socket
import ssl
import struct
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from io import BytesIO
from typing import Protocol

from acidsql.backends.metastore.deadline import Deadline, TimedSocket, TimedTls
from acidsql.backends.metastore.errors import lost_answer, reason_of
from acidsql.backends.metastore.hosts import connect
from acidsql.backends.metastore.sasl import Mechanism, mechanism_for, negotiate, read_exactly
from acidsql.backends.metastore.url import Endpoint, Http, Place, Tls
from acidsql.errors import ConfigError, StorageError

LONGEST_MESSAGE = 1 << 28
"""In bytes. No answer to a call of ours is longer."""


class Channel(Protocol):
    """The methods of a transport that thriftpy2 and we use. They raise OSError and EOFError."""

    identifies_user: bool
    """Whether opening the channel tells the server our user. If not, set_ugi has to."""

    def read(self, size: int) -> bytes:
        """Read at least one byte, and no more than ``size``."""
        ...

    def write(self, data: bytes) -> None:
        """Write a part of a message."""
        ...

    def flush(self) -> None:
        """End the message, and send it."""
        ...

    def begin(self, deadline: Deadline) -> None:
        """Begin a call. All of its reads and writes must be done by the deadline."""
        ...

    def is_idle(self) -> bool:
        """Whether nothing has come since the last answer. The end of the connection would show."""
        ...

    def close(self) -> None:
        """Close the channel. Idempotent."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the channel is closed."""
        ...


class SocketChannel:
    """A TCP connection, with or without TLS."""

    identifies_user = False

    def __init__(self, connected: TimedSocket) -> None:
        self._socket = connected
        self._read = 0

    def read(self, size: int) -> bytes:
        data = self._socket.recv(size)
        if not data:
            raise EOFError("the server closed the connection")
        self._read += len(data)
        _require_bounded(self._read)
        return data

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def flush(self) -> None:
        pass

    def begin(self, deadline: Deadline) -> None:
        self._socket.deadline = deadline
        self._read = 0

    def is_idle(self) -> bool:
        return _is_silent(self._socket)

    def close(self) -> None:
        self._socket.close()

    @property
    def closed(self) -> bool:
        return self._socket.fileno() < 0


class SaslChannel(SocketChannel):
    """A connection with SASL: each message follows its length, and may be protected."""

    identifies_user = True

    def __init__(self, connected: TimedSocket, mechanism: Mechanism, name: str) -> None:
        super().__init__(connected)
        negotiate(connected, mechanism, name)
        self._mechanism = mechanism
        self._outgoing = BytesIO()
        self._incoming = BytesIO()

    def read(self, size: int) -> bytes:
        while not (data := self._incoming.read(size)):
            (length,) = struct.unpack("!I", read_exactly(self._socket, 4))
            self._read += length
            _require_bounded(self._read)
            self._incoming = BytesIO(self._mechanism.unwrap(read_exactly(self._socket, length)))
        return data

    def write(self, data: bytes) -> None:
        self._outgoing.write(data)

    def flush(self) -> None:
        message, self._outgoing = self._mechanism.wrap(self._outgoing.getvalue()), BytesIO()
        self._socket.sendall(struct.pack("!I", len(message)) + message)


class HttpChannel:
    """HTTP (Hive 4): a message is the body of a POST, the answer is the body of its response."""

    identifies_user = True

    def __init__(
        self, endpoint: Endpoint, place: Place, http: Http, user: str, deadline: Deadline
    ) -> None:
        self._deadline = deadline
        self._connection = _TimedHttp(endpoint, lambda: _connect(endpoint, place, self._deadline))
        self._connection.default_port = 80 if place.tls is None else 443
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
            body = BytesIO()
            while piece := response.read(1 << 20):
                body.write(piece)
                _require_bounded(body.tell())
        except HTTPException as error:
            raise EOFError(f"{type(error).__name__}: {error}") from error
        if response.status != 200:
            raise StorageError(
                f"the metastore answered HTTP status {response.status}",
                detail=f"{response.reason}." if response.reason else None,
                hint="The path, the user or the token of the metastore URL may be wrong.",
            )
        body.seek(0)
        self._incoming = body

    def begin(self, deadline: Deadline) -> None:
        self._deadline = deadline
        connected = self._connection.sock
        if isinstance(connected, TimedSocket):
            connected.deadline = deadline

    def is_idle(self) -> bool:
        # If there is no socket, the server closed the connection after its answer, and
        # HTTPConnection connects again.
        return self._connection.sock is None or _is_silent(self._connection.sock)

    def close(self) -> None:
        self._is_closed = True
        self._connection.close()

    @property
    def closed(self) -> bool:
        return self._is_closed


class _TimedHttp(HTTPConnection):
    """Connects, and connects again, within the deadline of the call."""

    default_port: int

    def __init__(self, endpoint: Endpoint, connect: Callable[[], TimedSocket]) -> None:
        super().__init__(endpoint.host, endpoint.port)
        self._connect = connect

    def connect(self) -> None:
        self.sock = self._connect()


def open_channel(endpoint: Endpoint, place: Place, user: str, deadline: Deadline) -> Channel:
    """Open a channel to a server by the deadline.

    Raises OSError or EOFError if there is no connection, LostAnswerError if the server does not
    understand our login, StorageError if it refuses our login, and DependencyError if a package is
    missing.
    """
    if place.http is not None:
        return HttpChannel(endpoint, place, place.http, user, deadline)
    deadline = deadline.sooner(place.connect_timeout_s)
    mechanism = None if place.login is None else mechanism_for(place.login, endpoint, deadline)
    connected = _connect(endpoint, place, deadline)
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


def _connect(endpoint: Endpoint, place: Place, deadline: Deadline) -> TimedSocket:
    deadline = deadline.sooner(place.connect_timeout_s)
    connected = connect(endpoint.host, endpoint.port, deadline)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if place.tls is None:
            return connected
        connected.settimeout(deadline.left_s())
        context = _context(place.tls)
        context.sslsocket_class = TimedTls
        secured = context.wrap_socket(connected, server_hostname=endpoint.host)
        assert isinstance(secured, TimedTls)
        secured.deadline = deadline
        return secured
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
            hint="The files must be in PEM format; keytool and openssl convert Java's key stores.",
        ) from error
    return context


def _require_bounded(size: int) -> None:
    if size > LONGEST_MESSAGE:
        raise ConnectionError(f"The answer has more than {LONGEST_MESSAGE} bytes")


def _is_silent(connected: socket.socket) -> bool:
    if connected.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return not poll.poll(0)
