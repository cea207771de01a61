"""acidsql/service/http.py, asked over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable

import pytest

from acidsql.errors import ConfigError, StorageError
from acidsql.service.http import CLIENTS_MAX, parse_address, served
from acidsql.service.part import GRACE_S
from acidsql.service.service import Service
from acidsql.service.timetable import ServiceTimes
from acidsql.session.session import Session


class Seconds:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock_s() -> Seconds:
    return Seconds()


@pytest.fixture
def service(open_session: Callable[..., Session], clock_s: Seconds) -> Service:
    """A service whose rounds are run by hand."""
    session = open_session()
    times = ServiceTimes(check_s=5, work_s=5, clean_s=5, reap_start_s=0, reap_s=5)
    return Service(session._rounds, session._heartbeats, times, clock=clock_s)


def ask(port: int, path: str, verb: str = "GET") -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(verb, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()
    finally:
        connection.close()


def received(connection: socket.socket) -> bytes:
    """The first bytes, or none if the server has closed the connection in either way."""
    try:
        return connection.recv(100)
    except ConnectionError:
        return b""


def test_health_while_every_part_has_its_round(service, clock_s):
    with served(service, "127.0.0.1:0") as port:
        for part in service.parts:
            part.run_round()
        clock_s.now_s += 10 + GRACE_S
        status, kind, body = ask(port, "/healthz")
        assert (status, kind) == (200, "application/json")
        assert json.loads(body)["status"] == "ok"
        assert [p["part"] for p in json.loads(body)["parts"]] == [
            "housekeeper", "initiator", "worker", "cleaner",
        ]  # fmt: skip
        for part in service.parts[:-1]:
            part.run_round()
        clock_s.now_s += 1
        status, _, body = ask(port, "/healthz")
        assert status == 503
        unwell = [p for p in json.loads(body)["parts"] if p["condition"] != "ok"]
        assert [(p["part"], p["condition"]) for p in unwell] == [("cleaner", "late")]


def test_a_failing_part_is_named_without_its_error(service, clock_s, store, monkeypatch):
    def gone() -> None:
        raise StorageError("postgresql://ann:secret@host is gone")

    monkeypatch.setattr(store, "changed_places", gone)
    with served(service, "0") as port:
        clock_s.now_s += 11 + GRACE_S
        for part in service.parts:
            part.run_round()
        status, _, body = ask(port, "/healthz")
    assert status == 503
    unwell = [p["part"] for p in json.loads(body)["parts"] if p["condition"] == "failing"]
    assert unwell == ["initiator"]
    assert b"secret" not in body


def test_metrics(service):
    with served(service, "127.0.0.1:0") as port:
        service.parts[0].run_round()
        status, kind, body = ask(port, "/metrics")
        assert status == 200
        assert kind.startswith("text/plain; version=")
        assert b'acidsql_last_success_timestamp_seconds{part="housekeeper"}' in body
        assert ask(port, "/metrics?x=1")[0] == 200


def test_nothing_else_is_answered(service):
    with served(service, "127.0.0.1:0") as port:
        assert ask(port, "/../etc/passwd")[0] == 404
        assert ask(port, "/")[0] == 404
        assert ask(port, "/metrics", "POST")[0] == 501
        status, _, body = ask(port, "/healthz", "HEAD")
        assert (status, body) == (200, b"")


def test_clients_that_say_nothing_keep_nobody_out_for_ever(service):
    """As many as there is room for; one more is closed, and there is room once they have gone."""
    with served(service, "127.0.0.1:0") as port:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS_MAX)]
        with socket.create_connection(("127.0.0.1", port)) as one_more:
            one_more.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert received(one_more) == b""
        for connection in silent:
            connection.close()
        wait = threading.Event()
        while True:
            try:
                assert ask(port, "/healthz")[0] == 200
                break
            except (ConnectionError, http.client.HTTPException):
                assert not wait.wait(0.001)


@pytest.mark.parametrize("text", ["", "host", "host:", "host:http", "host:65536", "1:2:x", ":-1"])
def test_what_is_no_address(text: str):
    with pytest.raises(ConfigError, match="is not an address"):
        parse_address(text)


def test_a_port_that_is_taken(service):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ConfigError, match="nothing can listen"), served(service, address):
            pass
