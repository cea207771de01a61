"""A server that sends a byte now and then holds nobody for longer than a call may take."""

from __future__ import annotations

import itertools
import pwd
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.errors import LostAnswerError, NoConnectionError
from acidsql.backends.metastore.url import Place
from acidsql.errors import StorageError
from tests.component.backends.metastore.sasl import COMPLETE, listening, sasl_message, say
from tests.component.backends.metastore.server import FakeMetastore
from tests.component.backends.metastore.test_channel import certificate

__all__ = ["certificate"]

ENDLESS = struct.pack("!iI", -2147418110, 1 << 20)
"""The beginning of a reply to a method whose name never ends."""


def seconds() -> Callable[[], float]:
    """A clock on which every look takes a second."""
    return itertools.count(1000).__next__


def trickle(connection: socket.socket, start: bytes = ENDLESS) -> None:
    """One byte after the other, until the other side has gone.

    They are so slow that no message is complete before the clock of `seconds` has run out.
    """
    for byte in itertools.chain(start, itertools.repeat(0x41)):
        connection.sendall(bytes([byte]))
        time.sleep(0.0002)


def connect_to(port: int, options: str, *more: int) -> MetastoreClient:
    """A client whose calls may take as many seconds as the clock shows after 60 looks."""
    servers = ",".join(f"thrift://127.0.0.1:{p}" for p in (port, *more))
    url = servers + (f"{options}&" if options else "?") + "timeout=60"
    return MetastoreClient(Place.of(url), "ann", lambda _: None, seconds())


@pytest.mark.parametrize("options", ["", "?framed=true"])
def test_an_answer_that_never_ends(options: str) -> None:
    """That of set_ugi, which is a call like others."""
    start = ENDLESS if not options else struct.pack("!I", 1 << 20) + ENDLESS
    with listening(lambda connection: trickle(connection, start)) as port:
        with pytest.raises(NoConnectionError) as caught:
            connect_to(port, options)
        assert "Nothing came in time" in str(caught.value)


def test_a_login_that_never_ends() -> None:
    def serve(connection: socket.socket) -> None:
        trickle(connection, struct.pack("!BI", 2, 1 << 20))

    with listening(serve) as port, pytest.raises(StorageError) as caught:
        connect_to(port, "?auth=plain&user=ann&password=x")
    assert "Nothing came in time" in str(caught.value)


def test_an_answer_behind_a_login_that_never_ends() -> None:
    def serve(connection: socket.socket) -> None:
        sasl_message(connection)
        sasl_message(connection)
        say(connection, COMPLETE, b"")
        connection.recv(4)
        trickle(connection, struct.pack("!I", 1 << 20))

    with listening(serve) as port:
        client = connect_to(port, "?auth=plain&user=ann&password=x")
        with pytest.raises(LostAnswerError) as caught:
            client.call("get_all_databases")
        client.close()
    assert caught.value.detail == "Nothing came in time."


@pytest.mark.parametrize(
    "start",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"],
    ids=["headers", "body"],
)
def test_a_response_that_never_ends(start: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(10)
        trickle(connection, start)

    with listening(serve) as port:
        client = connect_to(port, "?transport=http")
        with pytest.raises(LostAnswerError) as caught:
            client.call("get_all_databases")
        client.close()
    assert caught.value.detail == "Nothing came in time."


def test_a_tls_server_that_never_ends(certificate: tuple[Path, Path]) -> None:
    cafile, keyfile = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cafile, keyfile)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(4)
            trickle(secured)

    with listening(serve) as port, pytest.raises(NoConnectionError) as caught:
        connect_to(port, f"?ssl=true&cafile={cafile}")
    assert "Nothing came in time" in str(caught.value)


def test_all_servers_together_have_the_time_of_one_call() -> None:
    """The second would answer, but there is nothing left for it."""
    with (
        FakeMetastore(get_all_databases=lambda: ["default"]) as server,
        listening(trickle) as port,
    ):
        with pytest.raises(NoConnectionError, match="cannot connect"):
            connect_to(port, "", server.port)
        assert server.ugis == []


def took_s(work: Callable[[], object]) -> float:
    started_s = time.monotonic()
    work()
    return time.monotonic() - started_s


def test_the_name_of_a_host_that_is_never_resolved(
    monkeypatch: pytest.MonkeyPatch, hanging: threading.Event
) -> None:
    """Nor does every call leave a thread behind."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hanging.wait(60))
    before = threading.active_count()

    def connect() -> None:
        place = Place.of("thrift://slow.example,other.example?timeout=60&connect_timeout=0.05")
        with pytest.raises(NoConnectionError, match="cannot connect") as caught:
            MetastoreClient(place, "ann", lambda _: None)
        assert "the name slow.example was not resolved in time" in str(caught.value)

    assert took_s(lambda: [connect() for _ in range(3)]) < 10
    assert threading.active_count() <= before + 2


def test_a_name_that_is_lost_in_the_middle_of_a_life(
    monkeypatch: pytest.MonkeyPatch, hanging: threading.Event
) -> None:
    """The whole call has its own time, whatever connecting may take; afterwards all is well."""
    with FakeMetastore(get_all_databases=lambda: ["default"]) as server:
        client = MetastoreClient(Place.of(f"{server.url}?connect_timeout=60"), "ann")
        resolve = socket.getaddrinfo

        def answer(*arguments: object, **more: object) -> object:
            hanging.wait(60)
            return resolve(*arguments, **more)

        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", answer)
            server.hang_up()

            def call() -> None:
                with pytest.raises(NoConnectionError):
                    client.call("get_all_databases", timeout_s=0.1)

            assert took_s(call) < 5
        hanging.set()
        assert client.call("get_all_databases") == ["default"]
        client.close()


def test_a_name_that_is_none() -> None:
    with pytest.raises(NoConnectionError, match="is not a host name"):
        MetastoreClient(Place.of(f"thrift://{'a' * 70}.example"), "ann")


@pytest.mark.parametrize("login", ["auth=plain&user=ann&password=x", "ssl=true"])
def test_a_login_byte_by_byte(login: str, certificate: tuple[Path, Path]) -> None:
    """By the clock on the wall: each byte comes soon, all of them never."""

    def serve(connection: socket.socket) -> None:
        # The head of a SASL message, and of a TLS handshake, of many bytes.
        start = struct.pack("!BI", 2, 1 << 20) if "auth" in login else b"\x16\x03\x03\x40\x00"
        for byte in itertools.chain(start, itertools.repeat(2)):
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    def connect() -> None:
        place = Place.of(f"thrift://127.0.0.1:{port}?{login}&connect_timeout=0.12")
        with pytest.raises(StorageError):
            MetastoreClient(place, "ann", lambda _: None)

    with listening(serve) as port:
        assert 0.1 < took_s(connect) < 5


def test_the_groups_of_a_user_that_nobody_tells(
    monkeypatch: pytest.MonkeyPatch, hanging: threading.Event
) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda _: hanging.wait(60))
    with FakeMetastore() as server, pytest.raises(NoConnectionError) as caught:
        MetastoreClient(Place.of(f"{server.url}?timeout=0.1"), "ann", lambda _: None)
    assert caught.value.detail == "The groups of ann were not known in time."


def test_an_answer_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.backends.metastore.channel.LONGEST_MESSAGE", 10_000)
    with FakeMetastore(get_all_databases=lambda: ["default"] * 2000) as server:
        client = MetastoreClient(Place.of(server.url), "ann", lambda _: None)
        with pytest.raises(LostAnswerError, match="did not answer") as caught:
            client.call("get_all_databases", repeatable=False)
        assert caught.value.detail == "The answer has more than 10000 bytes."
        client.close()
