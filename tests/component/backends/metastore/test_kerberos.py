"""Kerberos without a KDC: a toy of the package gssapi, and the server's half of RFC 4752.

What the toy does is what gssapi 1.12 over MIT's library and the metastores of Hive 3.1.3 and 4.0.1
were seen to do; docs/interop.md says how to run them.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from acidsql.backends.metastore.errors import LostAnswerError, NoConnectionError
from acidsql.backends.metastore.sasl import read_exactly
from acidsql.backends.metastore.url import Kerberos, Place
from acidsql.errors import DependencyError, StorageError
from tests.component.backends.metastore.sasl import (
    BAD,
    COMPLETE,
    DATABASES,
    OK,
    client_of,
    listening,
    sasl_message,
    say,
)
from tests.component.backends.metastore.server import FakeMetastore

NONE, INTEGRITY, PRIVACY = 1, 2, 4
PRINCIPAL = "hive/localhost@EXAMPLE.COM"
FLAGS = {"mutual_authentication", "out_of_sequence_detection", "integrity", "confidentiality"}


class GSSError(Exception):
    def __init__(self, major: str, minor: str = "") -> None:
        super().__init__(f"Major (1): {major}, Minor (2): {minor or 'Unknown error'}")
        self.maj_code, self.min_code = 1, 2 if minor else 0
        self._statuses = {True: [major], False: [minor]}

    def get_all_statuses(self, code: int, is_maj: bool) -> list[str]:
        return self._statuses[is_maj]


def wrap(data: bytes, encrypt: bool = True) -> SimpleNamespace:
    """With a checksum; encrypted is what has its bits turned."""
    digest = hashlib.sha256(data).digest()
    body = bytes(255 - byte for byte in data) if encrypt else data
    return SimpleNamespace(message=bytes([encrypt]) + digest + body, encrypted=encrypt)


def unwrap(message: bytes) -> SimpleNamespace:
    encrypted, digest, body = bool(message[0]), message[1:33], message[33:]
    data = bytes(255 - byte for byte in body) if encrypted else body
    if hashlib.sha256(data).digest() != digest:
        raise GSSError("A token had an invalid Message Integrity Check (MIC)")
    return SimpleNamespace(message=data, encrypted=encrypted)


class Package:
    """The module gssapi, as far as it is used."""

    tickets = True

    def __init__(self) -> None:
        package = self
        self.exceptions = SimpleNamespace(GSSError=GSSError)
        self.NameType = SimpleNamespace(kerberos_principal="principal")
        self.RequirementFlag = SimpleNamespace(**{flag: flag for flag in FLAGS})

        class Context:
            complete = False
            wrap, unwrap = staticmethod(wrap), staticmethod(unwrap)

            def __init__(self, name: str, usage: str, flags: list[str]) -> None:
                assert usage == "initiate"
                assert set(flags) == FLAGS
                self._name = name

            def step(self, token: bytes | None) -> bytes | None:
                if not package.tickets:
                    failure = "Unspecified GSS failure"
                    raise GSSError(failure, "No Kerberos credentials available")
                if token is None:
                    return f"ticket for {self._name}".encode()
                assert token == b"accepted"
                self.complete = True
                return None

        self.SecurityContext = Context

    def Name(self, name: str, kind: str) -> str:  # noqa: N802
        assert kind == "principal"
        if " " in name:
            raise GSSError("An invalid name was supplied")
        return name


class Server:
    """A metastore that offers some protections."""

    def __init__(self, offer: bytes) -> None:
        self.fake = FakeMetastore(**DATABASES)
        self.offer = offer
        self.chosen = b""
        self.answer: bytes | None = None
        """Sent instead of one."""

    def serve(self, connection: socket.socket) -> None:
        assert sasl_message(connection) == (1, b"GSSAPI")
        if sasl_message(connection) != (OK, f"ticket for {PRINCIPAL}".encode()):
            say(connection, BAD, b"GSS initiate failed")
            return
        say(connection, OK, b"accepted")
        assert sasl_message(connection) == (OK, b"")
        say(connection, OK, wrap(self.offer, encrypt=False).message)
        status, message = sasl_message(connection)
        self.chosen = unwrap(message).message
        assert (status, len(self.chosen)) == (COMPLETE, 4)
        say(connection, COMPLETE, b"")
        while True:
            (size,) = struct.unpack("!I", read_exactly(connection, 4))
            message = self._answer(read_exactly(connection, size))
            connection.sendall(struct.pack("!I", len(message)) + message)

    def _answer(self, message: bytes) -> bytes:
        protection = self.chosen[0]
        if protection == NONE:
            return self.fake.answer(message)
        received = unwrap(message)
        assert received.encrypted == (protection == PRIVACY)
        answer = self.fake.answer(received.message)
        return self.answer or bytes(wrap(answer, encrypt=received.encrypted).message)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Package:
    package = Package()
    monkeypatch.setitem(sys.modules, "gssapi", package)
    return package


@pytest.fixture
def server(package: Package) -> Iterator[Server]:
    server = Server(bytes([PRIVACY, 1, 0, 0]))
    with server.fake:
        yield server


def url(port: int, principal: str = PRINCIPAL) -> str:
    return f"thrift://127.0.0.1:{port}?auth=kerberos&principal={principal}"


@pytest.mark.parametrize(
    ("offer", "chosen"),
    [
        (NONE, "01000000"),
        (INTEGRITY, "02ffffff"),
        (PRIVACY, "04ffffff"),
        (NONE | INTEGRITY | PRIVACY, "01000000"),
        (INTEGRITY | PRIVACY, "02ffffff"),
    ],
)
def test_protections(server: Server, offer: int, chosen: str) -> None:
    server.offer = bytes([offer, 1, 0, 0])
    with listening(server.serve) as port, client_of(url(port)) as client:
        for _ in range(2):
            assert len(client.call("get_all_databases")) == 1000
    assert server.chosen.hex() == chosen
    assert server.fake.ugis == [], "the server knows it from the ticket"


@pytest.mark.parametrize("offer", ["", "00010000", "08010000", "0401"])
def test_a_protection_that_nobody_knows(server: Server, offer: str) -> None:
    server.offer = bytes.fromhex(offer)
    with listening(server.serve) as port, pytest.raises(StorageError, match="no known protection"):
        client_of(url(port)).__enter__()


def changed(answer: bytes) -> bytes:
    return answer[:-1] + bytes([answer[-1] ^ 1])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (changed(wrap(b"answer").message), "Integrity Check"),
        (wrap(b"answer", encrypt=False).message, "not encrypted"),
    ],
    ids=["changed", "in the open"],
)
def test_an_answer_that_somebody_had_in_his_hands(server: Server, answer: bytes, why: str) -> None:
    server.answer = answer
    with listening(server.serve) as port, client_of(url(port)) as client:
        with pytest.raises(LostAnswerError, match="did not answer") as caught:
            client.call("get_all_databases", repeatable=False)
        assert caught.value.detail is not None
        assert why in caught.value.detail
        server.answer = None
        assert len(client.call("get_all_databases")) == 1000, "over another connection"


def test_without_a_ticket(server: Server, package: Package) -> None:
    package.tickets = False
    with listening(server.serve) as port, pytest.raises(StorageError) as caught:
        client_of(url(port)).__enter__()
    assert caught.value.message == f"the Kerberos login to thrift://127.0.0.1:{port} failed"
    assert caught.value.detail == "No Kerberos credentials available."
    assert caught.value.hint is not None
    assert "kinit" in caught.value.hint
    assert PRINCIPAL in caught.value.hint


def test_a_name_that_is_none(server: Server) -> None:
    with listening(server.serve) as port, pytest.raises(StorageError, match="login to") as caught:
        client_of(url(port, "a%20b")).__enter__()
    assert caught.value.detail == "An invalid name was supplied."


def test_another_principal(server: Server) -> None:
    with (
        listening(server.serve) as port,
        pytest.raises(StorageError, match="refused GSSAPI") as caught,
    ):
        client_of(url(port, "hive/elsewhere@EXAMPLE.COM")).__enter__()
    assert caught.value.detail == "GSS initiate failed."
    assert caught.value.hint is not None
    assert "hive/elsewhere@EXAMPLE.COM" in caught.value.hint


def test_the_name_of_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", {"127.0.0.1": "LocalHost"}.__getitem__)
    with listening(server.serve) as port:
        at = url(port, "hive/_HOST@EXAMPLE.COM")
        assert Place.of(at).login == Kerberos("hive/_HOST@EXAMPLE.COM")
        with client_of(at) as client:
            assert len(client.call("get_all_databases")) == 1000


def test_the_name_of_a_server_that_is_never_told(
    server: Server, monkeypatch: pytest.MonkeyPatch, hanging: threading.Event
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda _: hanging.wait(60))
    with listening(server.serve) as port, pytest.raises(NoConnectionError) as caught:
        client_of(f"{url(port)}&connect_timeout=0.1").__enter__()
    assert caught.value.detail == "Nothing came in time."


def test_a_ticket_that_never_comes(
    server: Server, package: Package, hanging: threading.Event
) -> None:
    """A KDC that is not there is waited for by the library, long."""
    package.SecurityContext.step = lambda *_: hanging.wait(60)
    with listening(server.serve) as port, pytest.raises(StorageError, match="login to") as caught:
        client_of(f"{url(port)}&connect_timeout=0.1").__enter__()
    assert caught.value.detail == "No ticket for it came in time."


def test_a_server_without_kerberos(package: Package) -> None:
    with FakeMetastore() as fake, pytest.raises(NoConnectionError) as caught:
        client_of(url(fake.port)).__enter__()
    assert caught.value.hint is not None
    assert "another login or none" in caught.value.hint


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with FakeMetastore() as fake, pytest.raises(DependencyError, match="gssapi") as caught:
        client_of(url(fake.port)).__enter__()
    assert caught.value.hint == "pip install 'acidsql[kerberos]'"
