"""``/healthz`` and ``/metrics`` of a service, over HTTP. There is no secret in either."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from socketserver import TCPServer

from acidsql.background.events import Action, Event
from acidsql.errors import ConfigError
from acidsql.process.supervisor import start_thread
from acidsql.service.health import is_well, report
from acidsql.service.metrics import CONTENT_TYPE, Metrics
from acidsql.service.service import Service

_log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 10.0
"""How long a client may take for its request."""
CLIENTS_MAX = 16
"""How many requests are answered at a time. Others are closed unanswered."""
_POLL_S = 0.1


@contextmanager
def served(service: Service, address: str) -> Iterator[int]:
    """Answer requests for a ``with`` block. Yields the port, which the system chooses if it is 0.

    ConfigError if the address is none, or cannot be listened on.
    """
    host, port = parse_address(address)
    metrics = Metrics(service.txns, service.supervisor, lambda: service.statuses)
    service.listeners.told.append(metrics.count)
    try:
        server = _Server((host, port), service, metrics)
    except OSError as error:
        raise ConfigError(
            f"nothing can listen on {address}",
            detail=f"{error.strerror or error}.",
            hint="Choose another port, or an address of this machine.",
        ) from error
    with server:
        shown = f"[{host}]" if ":" in host else host
        service.tell(Event(Action.LISTENING, address=f"{shown}:{server.server_port}"))
        thread = start_thread("http server", lambda: server.serve_forever(_POLL_S))
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``. A port alone is one of this machine only.

    >>> parse_address("9095"), parse_address("0.0.0.0:80"), parse_address("[::1]:80")
    (('127.0.0.1', 9095), ('0.0.0.0', 80), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(
            f'"{text}" is not an address', hint="Write HOST:PORT, such as 127.0.0.1:9095."
        )
    return host or LOOPBACK, int(port)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Requests that are under way at the end are cut: the service does not wait for its watchers.
    block_on_close = False

    def __init__(self, address: tuple[str, int], service: Service, metrics: Metrics) -> None:
        self.service, self.metrics = service, metrics
        self._room = threading.BoundedSemaphore(CLIENTS_MAX)
        if ":" in address[0]:
            self.address_family = AF_INET6
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # Not that of HTTPServer: it asks a name service for the host's name.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def process_request(self, request, client_address):  # type: ignore[no-untyped-def]
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()  # no thread could be started
            raise

    def process_request_thread(self, request, client_address):  # type: ignore[no-untyped-def]
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away, or is too slow, is no fault of the service."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            _log.warning("a request could not be answered", exc_info=error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_S
    server_version, sys_version = "acidsql", ""

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/healthz":
                statuses = self.server.service.statuses
                body = json.dumps(report(statuses)).encode() + b"\n"
                self._answer(200 if is_well(statuses) else 503, "application/json", body)
            case "/metrics":
                self._answer(200, CONTENT_TYPE, self.server.metrics.text())
            case _:
                self._answer(404, "text/plain", b"/healthz or /metrics\n")

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""
