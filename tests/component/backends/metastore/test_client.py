"""Calls to servers that are gone, slow, older, or say no."""

from __future__ import annotations

import getpass
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.errors import (
    AlreadyThereError,
    LostAnswerError,
    MetaError,
    NoConnectionError,
    NoSuchObjectError,
    RefusedError,
    UnknownMethodError,
)
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.url import Endpoint, Place
from acidsql.errors import (
    AcidSqlError,
    ConfigError,
    DeadlockError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    WriteConflictError,
)
from tests.component.backends.metastore.server import FakeMetastore, HangUpError, internal_error


def client_of(*servers: FakeMetastore, options: str = "") -> MetastoreClient:
    url = ",".join(server.url for server in servers)
    return MetastoreClient(Place.of(url + options), "ann", sleep=lambda _: None)


def once(failure: Callable[[], Any], then: Any) -> Callable[..., Any]:
    """A handler that fails the first time."""
    answers = iter([failure])

    def handler(*_: Any) -> Any:
        for answer in answers:
            answer()
        return then

    return handler


def hang_up() -> None:
    raise HangUpError


# -- what is said


def test_the_user_is_the_first_thing_said_on_each_connection() -> None:
    with FakeMetastore(get_all_databases=lambda: ["default"]) as server:
        client = client_of(server)
        assert client.call("get_all_databases") == ["default"]
        server.hang_up()
        client.call("get_all_databases")
        assert server.ugis == ["ann", "ann"]
        client.close()


def test_the_groups_of_a_user_of_this_machine() -> None:
    told = []
    with FakeMetastore(set_ugi=lambda user, groups: told.append(groups) or [user]) as server:
        MetastoreClient(Place.of(server.url), getpass.getuser()).close()
    assert told[0]


def test_a_server_without_set_ugi() -> None:
    """From facts: old servers, and those that do everything as themselves."""
    with FakeMetastore(get_all_databases=lambda: ["default"]) as server:
        del server.handlers["set_ugi"]
        client = client_of(server)
        assert client.call("get_all_databases") == ["default"]
        client.close()


def test_a_connection_for_each_call() -> None:
    """A heartbeat does not wait behind a call that takes long."""
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> list[str]:
        begun.set()
        go_on.wait(10)
        return ["default"]

    with FakeMetastore(get_all_databases=slow, heartbeat=lambda ids: None) as server:
        client = client_of(server)
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(client.call("get_all_databases")))
        thread.start()
        begun.wait(10)
        client.call("heartbeat", hms.HeartbeatRequest(txnid=1))
        assert not answers
        go_on.set()
        thread.join()
        assert answers == [["default"]]
        client.close()


# -- what a server does not know


def test_the_older_call_is_used_and_remembered() -> None:
    """From facts: an unknown method is TApplicationException 1 (Hive 3.1, most of 4.x's)."""
    with FakeMetastore(get_open_txns=lambda: hms.GetOpenTxnsResponse(7, [], None, b"")) as server:
        client = client_of(server)
        calls = (Call("get_open_txns_req", (hms.GetOpenTxnsRequest(),)), Call("get_open_txns"))
        assert client.call_known(*calls).txn_high_water_mark == 7
        assert client.call_known(*calls).txn_high_water_mark == 7
        assert server.names == ["get_open_txns_req", "get_open_txns", "get_open_txns"]
        client.close()


def test_each_server_is_asked_what_it_knows() -> None:
    """Of a metastore that is being upgraded some servers are older than others."""
    answer = hms.GetOpenTxnsResponse(7, [], None, b"")
    calls = (Call("get_open_txns_req", (hms.GetOpenTxnsRequest(),)), Call("get_open_txns"))
    with (
        FakeMetastore(get_open_txns=lambda: answer) as old,
        FakeMetastore(get_open_txns_req=lambda _: answer) as new,
    ):
        client = client_of(old, new)
        client.call_known(*calls)
        old.__exit__(None, None, None)
        client.call_known(*calls)
        assert new.names == ["get_open_txns_req"]
        client.close()


def test_what_only_newer_servers_understand() -> None:
    new = Call("get_config_value", ("new", ""), needs=Call("get_latest_txnid_in_conflict", (1,)))
    old = Call("get_config_value", ("old", ""))
    with FakeMetastore(get_config_value=lambda name, _: name) as server:
        client = client_of(server)
        assert client.call_known(new, old) == "old"
        server.handlers["get_latest_txnid_in_conflict"] = lambda _: 0
        assert client.call_known(new, old) == "old", "it was asked once"
        client.close()
        client = client_of(server)
        assert client.call_known(new, old) == "new"
        client.close()


def test_none_of_the_methods_is_known() -> None:
    with FakeMetastore() as server:
        client = client_of(server)
        with pytest.raises(UnknownMethodError, match="has no get_open_txns"):
            client.call("get_open_txns")
        client.close()


# -- what breaks


def test_the_second_server_when_the_first_is_gone() -> None:
    with (
        FakeMetastore(get_all_databases=lambda: ["one"]) as first,
        FakeMetastore(get_all_databases=lambda: ["two"]) as second,
    ):
        client = client_of(first, second)
        assert client.call("get_all_databases") == ["one"]
        first.__exit__(None, None, None)
        assert client.call("get_all_databases") == ["two"]
        assert client.call("get_all_databases") == ["two"]
        client.close()


def test_no_server_at_all() -> None:
    with pytest.raises(NoConnectionError) as caught:
        MetastoreClient(Place.of("thrift://127.0.0.1:1,127.0.0.1:2"), "ann")
    assert caught.value.message == (
        "cannot connect to the metastore thrift://127.0.0.1:1,thrift://127.0.0.1:2"
    )
    assert "Connection refused" in str(caught.value)


def test_a_lost_answer_is_asked_for_again() -> None:
    with FakeMetastore(get_all_databases=once(hang_up, ["default"])) as server:
        client = client_of(server)
        assert client.call("get_all_databases") == ["default"]
        assert server.names == ["get_all_databases"] * 2
        client.close()


def test_a_lost_answer_of_what_must_not_happen_twice() -> None:
    with FakeMetastore(get_all_databases=once(hang_up, ["default"])) as server:
        client = client_of(server)
        with pytest.raises(StorageError, match="did not answer to get_all_databases") as caught:
            client.call("get_all_databases", repeatable=False)
        assert isinstance(caught.value, LostAnswerError)
        assert f"127.0.0.1:{server.port}" in caught.value.message
        assert server.names == ["get_all_databases"]
        client.close()


def test_an_idle_connection_that_the_server_has_closed() -> None:
    """It is noticed before anything is sent, so that what must not happen twice is sent once."""
    with FakeMetastore(get_all_databases=lambda: ["default"]) as server:
        client = client_of(server)
        server.hang_up()
        assert client.call("get_all_databases", repeatable=False) == ["default"]
        assert server.names == ["get_all_databases"]
        client.close()


def test_a_server_that_does_not_answer_in_time() -> None:
    go_on = threading.Event()
    with FakeMetastore(get_all_databases=lambda: go_on.wait(10) and []) as server:
        client = client_of(server, options="?timeout=0.05")
        with pytest.raises(LostAnswerError, match="did not answer") as caught:
            client.call("get_all_databases")
        assert caught.value.detail == "Nothing came in time."
        assert server.names == ["get_all_databases"], "asked again it would be as slow"
        go_on.set()
        client.close()


def test_a_server_that_speaks_something_else() -> None:
    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=talk, args=[listener], daemon=True).start()
        url = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NoConnectionError, match="cannot connect") as caught:
            MetastoreClient(Place.of(url), "ann")
    assert "does not speak plain binary Thrift" in str(caught.value)
    assert "ssl, auth and transport" in str(caught.value)


def test_after_close() -> None:
    with FakeMetastore(get_all_databases=list) as server:
        client = client_of(server)
        client.close()
        client.close()
        with pytest.raises(StorageError, match="is closed"):
            client.call("get_all_databases")


# -- what a server says instead of a result

CONFLICT = (
    "Aborting [txnid:9,11] due to a write conflict on sales/orders/d=1/k=2 "
    "committed by [txnid:8,10] u/d"
)


@pytest.mark.parametrize(
    ("told", "kind", "text"),
    [
        (hms.NoSuchTxnException("No such transaction txnid:9"), NoSuchTxnError, "txnid:9"),
        (hms.TxnAbortedException("Transaction txnid:9 already aborted"), TxnAbortedError, "[Hive"),
        (hms.TxnAbortedException("aborted: deadlock"), DeadlockError, "deadlock"),
        (hms.TxnAbortedException(CONFLICT), WriteConflictError, "write conflict"),
        (internal_error("Internal error processing commit_txn"), MetaError, "Internal error"),
        (
            internal_error("Maximum allowed number of open transactions has been reached."),
            TooManyOpenTxnsError,
            "Maximum",
        ),
    ],
)
def test_errors_of_transactions(told: Exception, kind: type[AcidSqlError], text: str) -> None:
    def refuse(_: Any) -> None:
        raise told

    with FakeMetastore(commit_txn=refuse) as server:
        client = client_of(server)
        with pytest.raises(AcidSqlError) as caught:
            client.call("commit_txn", hms.CommitTxnRequest(txnid=9))
        client.close()
    assert type(caught.value) is kind
    assert text in str(caught.value)


def test_a_write_conflict_names_the_place_and_the_winner() -> None:
    def refuse(_: Any) -> None:
        raise hms.TxnAbortedException(CONFLICT)

    with FakeMetastore(commit_txn=refuse) as server:
        client = client_of(server)
        with pytest.raises(WriteConflictError) as caught:
            client.call("commit_txn", hms.CommitTxnRequest(txnid=9))
        client.close()
    error = caught.value
    assert (error.table, error.partition) == ("sales.orders", "d=1/k=2")
    assert (error.txn_id, error.other_txn_id) == (9, 8)
    assert error.other_user is None, "its user is told of by no server"


@pytest.mark.parametrize(
    ("method", "told", "kind"),
    [
        ("check_lock", hms.NoSuchLockException("No such lock lockid:9"), NoSuchLockError),
        ("create_table", hms.NoSuchObjectException("no database"), NoSuchObjectError),
        ("create_table", hms.AlreadyExistsException("there"), AlreadyThereError),
        ("create_table", hms.InvalidObjectException("bad"), RefusedError),
        ("create_table", hms.MetaException("Processor has no capabilities"), MetaError),
    ],
)
def test_other_errors(method: str, told: Exception, kind: type[AcidSqlError]) -> None:
    def refuse(_: Any) -> None:
        raise told

    with FakeMetastore(**{method: refuse}) as server:
        client = client_of(server)
        with pytest.raises(AcidSqlError) as caught:
            client.call(method, None)
        client.close()
    assert type(caught.value) is kind
    assert str(told.message) in str(caught.value)  # type: ignore[attr-defined]


# -- URLs


def test_a_url() -> None:
    place = Place.of("thrift://a, thrift://b:9084,c?timeout=5&connect_timeout=0.5&framed=true")
    assert place.endpoints == (Endpoint("a"), Endpoint("b", 9084), Endpoint("c"))
    assert (place.timeout_s, place.connect_timeout_s, place.framed) == (5.0, 0.5, True)


@pytest.mark.parametrize(
    "url",
    [
        "thrift://",
        "thrift://host:port",
        "thrift://host:0",
        "thrift://host/database",
        "http://host:9083",
        "thrift://a,,b",
        "thrift://host?timeout=soon",
        "thrift://host?timeout=-1",
        "thrift://host?framed=maybe",
        "thrift://host?colour=red",
    ],
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ConfigError):
        Place.of(url)


def test_a_password_is_not_quoted() -> None:
    with pytest.raises(ConfigError) as caught:
        Place.of("thrift://ann:secret@host:9083x")
    assert "secret" not in str(caught.value)
