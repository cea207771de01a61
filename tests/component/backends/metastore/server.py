"""A metastore that answers what a test wants, over a real socket."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from thriftpy2.thrift import TApplicationException, TException, TMessageType
from thriftpy2.transport import TBufferedTransport, TMemoryBuffer, TSocket

from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.sense import NonsenseError
from acidsql.backends.metastore.unknown_fields import KeepingProtocol

SERVICE = hms.ThriftHiveMetastore


class HangUpError(Exception):
    """Raised by a handler: the request came, the answer never does."""


class FakeMetastore:
    """Knows the methods it is given handlers for; a context manager.

    A handler takes the arguments of the call, and returns the result or raises what the method
    declares. ``calls`` are the names and first arguments of what was asked, after set_ugi.
    """

    tls: ssl.SSLContext | None = None

    def __init__(self, **handlers: Callable[..., Any]) -> None:
        self.handlers = {"set_ugi": lambda user, groups: [user], **handlers}
        self.calls: list[tuple[str, Any]] = []
        self.ugis: list[str] = []
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def hang_up(self) -> None:
        """Close every connection, as a server does with idle ones."""
        connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        if self.tls is not None:
            try:
                connection = self.tls.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
        transport = TBufferedTransport(TSocket(sock=connection))
        protocol = KeepingProtocol(transport)
        with connection, suppress(TException, OSError, HangUpError, NonsenseError):
            while True:
                name, _, number = protocol.read_message_begin()
                kind, answer = self._answer(name, protocol)
                protocol.write_message_begin(name, kind, number)
                protocol.write_struct(answer)
                transport.flush()

    def answer(self, message: bytes) -> bytes:
        """To a message that came another way."""
        incoming = KeepingProtocol(TMemoryBuffer(message))
        name, _, number = incoming.read_message_begin()
        kind, answer = self._answer(name, incoming)
        buffer = TMemoryBuffer()
        outgoing = KeepingProtocol(buffer)
        outgoing.write_message_begin(name, kind, number)
        outgoing.write_struct(answer)
        return bytes(buffer.getvalue())

    def _answer(self, name: str, protocol: KeepingProtocol) -> tuple[int, Any]:
        arguments = getattr(SERVICE, f"{name}_args")()
        protocol.read_struct(arguments)
        values = [getattr(arguments, field[1]) for field in arguments.thrift_spec.values()]
        first = values[0] if values else None
        if name == "set_ugi":
            self.ugis.append(first)
        else:
            self.calls.append((name, first))
        if name not in self.handlers:
            text = f"Invalid method name: '{name}'"
            unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, text)
            return TMessageType.EXCEPTION, unknown
        result = getattr(SERVICE, f"{name}_result")()
        try:
            result.success = self.handlers[name](*values)
        except TApplicationException as error:
            return TMessageType.EXCEPTION, error
        except TException as error:
            fields = [f for f in result.thrift_spec.values() if f[1] != "success"]
            field = next(f[1] for f in fields if isinstance(error, f[2]))
            setattr(result, field, error)
        return TMessageType.REPLY, result

    def __enter__(self) -> FakeMetastore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            # Closed alone it would still accept what the thread waits for.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()


def internal_error(text: str) -> TApplicationException:
    """What a server says that met an exception which the method does not declare."""
    return TApplicationException(TApplicationException.INTERNAL_ERROR, text)
