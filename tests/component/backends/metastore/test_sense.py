"""Who is said to be at fault: the metastore for what it answers, acidsql for its own bugs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.sense import NonsenseError
from acidsql.backends.metastore.tables import table_to
from acidsql.errors import InternalError, StorageError
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from tests.component.backends.metastore.server import FakeMetastore
from tests.component.backends.metastore.test_catalog import TABLE, T

Open = Callable[..., MetastoreStore]


@pytest.fixture
def opened() -> Iterator[Open]:
    made: list[tuple[FakeMetastore, MetastoreStore]] = []

    def open_store(**handlers: Any) -> MetastoreStore:
        server = FakeMetastore(**handlers)
        made.append((server, MetastoreStore(server.url, user="ann", sleep=lambda _: None)))
        return made[-1][1]

    yield open_store
    for server, store in made:
        store.close()
        with server:
            pass


def test_a_bug_is_not_blamed_on_the_metastore(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody was asked anything yet."""
    store = opened()
    nothing: Any = None
    with pytest.raises(InternalError, match=r"^acidsql itself failed in find_table") as caught:
        store.find_table(nothing)
    error = caught.value
    assert "metastore" not in str(error)
    assert not isinstance(error, StorageError)
    assert isinstance(error.__cause__, AttributeError)
    assert error.detail == f"AttributeError: {error.__cause__}."
    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert record.exc_info[1] is error.__cause__


def test_a_bug_over_a_good_answer(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = hms.GetTableResult(table=table_to(TABLE))
    store = opened(get_table_req=lambda _: answer)
    assert store.find_table(T) == TABLE
    with monkeypatch.context() as patched:
        patched.setattr("acidsql.backends.metastore.tables.KEPT_BY_METASTORE", None)
        with pytest.raises(InternalError, match="itself failed in find_table"):
            store.find_table(T)


def test_a_bug_of_the_decoder(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not say that the metastore speaks no Thrift, and the connection is given up."""
    store = opened(get_all_databases=lambda: ["default"])
    with monkeypatch.context() as patched:
        patched.setattr("acidsql.backends.metastore.decoder._U32", lambda _: ())
        with pytest.raises(InternalError, match="itself failed in databases"):
            store.databases()
    assert store.databases() == ["default"]


def test_a_bug_between_the_rows_of_a_verb(opened: Open) -> None:
    store, nothing = opened(), None
    with pytest.raises(InternalError, match="itself failed in places"):
        next(store.places(nothing))


def without(struct: Any, *names: str) -> Any:
    """The struct without a field of a field of it."""
    *path, last = names
    inner = struct
    for name in path:
        inner = getattr(inner, name)
        inner = inner[0] if isinstance(inner, list) else inner
    setattr(inner, last, None)
    return struct


def a_table(*names: str) -> dict[str, Callable[..., Any]]:
    result = hms.GetTableResult(table=without(table_to(TABLE), *names))
    return {"get_table_req": lambda _: result}


ANY_TABLE = {"get_table_req": lambda _: hms.GetTableResult(table=table_to(TABLE))}
LOCK = hms.ShowLocksResponseElement(
    lockid=1, dbname="d", state=1, type=77, lastheartbeat=0, user="a", hostname="h"
)


@pytest.mark.parametrize(
    ("handlers", "verb", "detail"),
    [
        (a_table("tableName"), lambda s: s.find_table(T), "It lacks the name of a table."),
        (
            a_table("sd", "cols"),
            lambda s: s.find_table(T),
            "It lacks the columns of default.t.",
        ),
        (
            a_table("sd", "cols", "type"),
            lambda s: s.find_table(T),
            'It lacks the type of column "id" of default.t.',
        ),
        (
            a_table("sd", "cols", "name"),
            lambda s: s.alter_table(TABLE),
            "It lacks the name of a column.",
        ),
        (
            {**ANY_TABLE, "get_partition_names": lambda *_: ["k"]},
            lambda s: s.partition_names(T),
            "It has a text that is not a partition name: 'k'.",
        ),
        (
            {**ANY_TABLE, "get_partition_names": lambda *_: ["k=1/l=2"]},
            lambda s: s.partition_names(T),
            "The partition name 'k=1/l=2' has 2 values, its table 1 partition columns.",
        ),
        (
            {"show_locks": lambda _: hms.ShowLocksResponse(locks=[LOCK])},
            lambda s: s.show_locks(),
            "77 is no type of a lock.",
        ),
        (
            {"get_open_txns": lambda: hms.GetOpenTxnsResponse(txn_high_water_mark=1)},
            lambda s: s.valid_txns(),
            "It lacks the open_txns of a GetOpenTxnsResponse.",
        ),
        (
            {"open_txns": lambda _: hms.OpenTxnsResponse(txn_ids=[])},
            lambda s: s.open_txn("ann", "h"),
            "It lacks the transactions opened.",
        ),
        (
            {
                "allocate_table_write_ids": lambda _: hms.AllocateTableWriteIdsResponse(
                    txnToWriteIds=[hms.TxnToWriteId(txnId=6, writeId=1)]
                )
            },
            lambda s: s.allocate_write_id(TxnId(5), TableName("default", "t")),
            "It lacks a write id for transaction 5.",
        ),
    ],
)
def test_what_an_answer_lacks_is_blamed_on_it(
    opened: Open,
    handlers: dict[str, Callable[..., Any]],
    verb: Callable[[MetastoreStore], object],
    detail: str,
) -> None:
    lock = hms.LockResponse(lockid=1, state=hms.LockState.ACQUIRED)
    known = {
        "open_txns": lambda _: hms.OpenTxnsResponse(txn_ids=[5]),
        "lock": lambda _: lock,
        "abort_txn": lambda _: None,
    }
    store = opened(**{**known, **handlers})
    with pytest.raises(NonsenseError) as caught:
        verb(store)
    assert caught.value.message == (
        f"the metastore {store.place_name} gave an answer that makes no sense"
    )
    assert caught.value.detail == detail
