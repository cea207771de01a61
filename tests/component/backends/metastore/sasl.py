"""A server's half of SASL as Thrift does it, for tests."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.sasl import read_exactly
from acidsql.backends.metastore.url import Place

DATABASES = {"get_all_databases": lambda: ["default"] * 1000}
"""More than one read of a socket brings."""


@contextmanager
def client_of(url: str) -> Iterator[MetastoreClient]:
    client = MetastoreClient(Place.of(url), "ann", sleep=lambda _: None)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server for connections one after the other."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError, EOFError):
                serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


OK, BAD, COMPLETE = 2, 3, 5


def sasl_message(connection: socket.socket) -> tuple[int, bytes]:
    status, size = struct.unpack("!BI", read_exactly(connection, 5))
    return status, read_exactly(connection, size)


def say(connection: socket.socket, status: int, payload: bytes) -> None:
    connection.sendall(struct.pack("!BI", status, len(payload)) + payload)
