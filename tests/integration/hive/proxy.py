"""A way to a metastore on which things go wrong."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Passes on what is said to a metastore, until it is to lose an answer, or to hold a call."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.loses = False
        self._losing: list[bytes] = []
        self._holds: bytes | None = None
        self.has_held = threading.Event()
        self._released = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._sockets = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, method: str) -> None:
        """Keep the next call of a method, or of one that begins so, until `release`."""
        self._holds = method.encode()

    def lose(self, *methods: str) -> None:
        """Lose the answer to the last of these calls, once the others were made in this order.

        A method is named by how it begins.
        """
        self._losing = [method.encode() for method in methods]

    def release(self) -> None:
        self._released.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._pass_on, args=[source, sink, sink is client], daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self.loses:
                    self.loses = False
                    break
                if self._losing and not answers and self._losing[0] in data:
                    self._losing.pop(0)
                    self.loses = not self._losing
                if self._holds is not None and not answers and self._holds in data:
                    self._holds = None
                    self.has_held.set()
                    self._released.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.release()
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
