"""Definitions in a metastore that carries out a call of theirs, and whose answer is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.errors import MetaError
from acidsql.errors import TxnError
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive
from tests.integration.hive.proxy import Proxy

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
RENAME_PARTITION = "ALTER TABLE p PARTITION (k = '{}') RENAME TO PARTITION (k = '{}')"
ROWS, IDS = [(1, "a"), (2, "b")], [(1,), (2,)]
CALLS: dict[str, tuple[str, str, dict[str, list[Any]]]] = {
    "rename": ("alter_table", "ALTER TABLE p RENAME TO q", {"q": ROWS}),
    "rename partition": (
        "rename_partition", RENAME_PARTITION.format("a", "c"), {"p": [(1, "c"), (2, "b")]},
    ),
    "create": ("create_table", f"CREATE TABLE q {ACID} AS SELECT id FROM p", {"q": IDS}),
    "drop": ("drop_table", "DROP TABLE p", {}),
    "create view": ("create_table", "CREATE VIEW q AS SELECT id FROM p", {"q": IDS}),
    "rename view": ("alter_table", "ALTER VIEW v RENAME TO q", {"q": IDS}),
    "drop view": ("drop_table", "DROP VIEW v", {"p": ROWS}),
    "create database": ("create_database", "CREATE DATABASE {}_two", {}),
    "drop database": ("drop_database", "DROP DATABASE {}_one", {}),
}  # fmt: skip
"""A method whose answer is lost, the statement that calls it, and what is there afterwards."""


@pytest.fixture(scope="module")
def proxy(hive: Hive) -> Iterator[Proxy]:
    assert hive.metastore_port is not None
    proxy = Proxy(hive.metastore_port)
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def session(hive: Hive, proxy: Proxy, spark: Any) -> Iterator[acidsql.Session]:
    url = f"thrift://127.0.0.1:{proxy.port}"
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark, user="ann") as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> OneMetastore:
    """A database of the test's own."""
    return OneMetastore(hive, session, database)


def test_an_exchange_of_partitions_that_was_committed(both: OneMetastore, proxy: Proxy) -> None:
    for name in ("t", "u"):
        both.acidsql(f"CREATE TABLE {name} (id int) PARTITIONED BY (k string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    proxy.lose("add_dynamic_partitions", "commit_txn")
    both.acidsql("ALTER TABLE u EXCHANGE PARTITION (k = 'a') WITH TABLE t")
    assert both.acidsql("SELECT * FROM u") == [(1, "a")]
    assert both.acidsql("SELECT * FROM t") == [(2, "b")]


@pytest.mark.parametrize("what", list(CALLS))
def test_a_definition_that_was_carried_out(both: OneMetastore, proxy: Proxy, what: str) -> None:
    method, sql, rows = CALLS[what]
    both.acidsql(f"CREATE TABLE p (id int) PARTITIONED BY (k string) {ACID}")
    both.acidsql("INSERT INTO p VALUES (1, 'z'), (2, 'b')")
    # A server that does not know the newest methods has said so before.
    both.acidsql(RENAME_PARTITION.format("z", "a"))
    both.acidsql("ALTER TABLE p SET TBLPROPERTIES ('note' = 'x')")
    both.acidsql("CREATE VIEW v AS SELECT id FROM p")
    both.acidsql(f"CREATE DATABASE {both.database}_one")
    home = both.location("p")
    proxy.lose(method)
    both.acidsql(sql.format(both.database))
    for name, expected in rows.items():
        assert both.acidsql(f"SELECT * FROM {name} ORDER BY 1") == expected
    assert home.exists() == (what not in ("rename", "drop"))


@pytest.mark.parametrize(
    "sql", [RENAME_PARTITION.format("a", "c"), "ALTER TABLE p DROP PARTITION (k = 'a')"]
)
def test_a_definition_that_is_not_committed(
    hive: Hive, session: acidsql.Session, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    both = OneMetastore(hive, session, f"not_committed_{'drop' if 'DROP' in sql else 'rename'}")
    both.acidsql(f"CREATE TABLE p (id int) PARTITIONED BY (k string) {ACID}")
    both.acidsql("INSERT INTO p VALUES (1, 'a'), (2, 'b')")
    commit = both.store.commit_txn

    def too_late(txn_id: TxnId, *what: Any) -> None:
        both.store.abort_txns([txn_id])
        commit(txn_id, *what)

    with monkeypatch.context() as patch:
        patch.setattr(both.store, "commit_txn", too_late)
        with pytest.raises(TxnError, match="abort"):
            both.acidsql(sql)
    assert both.acidsql("SELECT * FROM p ORDER BY id") == ROWS


@pytest.mark.parametrize("kind", [ACID, "STORED AS ORC"])
def test_an_exchange_that_is_not_committed(
    hive: Hive, session: acidsql.Session, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    both = OneMetastore(hive, session, f"exchange_{'acid' if kind == ACID else 'plain'}")
    for name in ("t", "u"):
        both.theirs(f"CREATE TABLE {name} (id int) PARTITIONED BY (k string) {kind}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    drop = both.store.drop_partitions

    def failing(table: TableName, *what: Any) -> None:
        monkeypatch.undo()
        drop(table, *what)
        raise MetaError("a listener failed")

    monkeypatch.setattr(both.store, "drop_partitions", failing)
    exchange = "ALTER TABLE u EXCHANGE PARTITION (k = 'a') WITH TABLE t"
    with pytest.raises(MetaError, match="a listener failed"):
        both.acidsql(exchange)
    assert both.acidsql("SELECT * FROM t ORDER BY id") == ROWS
    assert both.acidsql("SELECT * FROM u") == []
    both.acidsql(exchange)
    assert both.acidsql("SELECT * FROM u") == [(1, "a")]


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_change_that_is_called_a_failure(
    both: OneMetastore, monkeypatch: pytest.MonkeyPatch, is_carried_out: bool
) -> None:
    both.theirs("CREATE TABLE t (id int) STORED AS ORC")
    both.acidsql("INSERT INTO t VALUES (1), (2)")
    store = both.store
    assert isinstance(store, MetastoreStore)
    alter = store._alter

    def failing(*what: Any) -> None:
        monkeypatch.undo()
        if is_carried_out:
            alter(*what)
        raise MetaError("a listener failed")

    monkeypatch.setattr(store, "_alter", failing)
    with pytest.raises(MetaError, match="a listener failed"):
        both.acidsql(f"ALTER TABLE t SET {INSERT_ONLY}")
    assert both.acidsql("SELECT * FROM t ORDER BY id") == IDS
    assert both.theirs("SELECT * FROM t ORDER BY id") == [{"id": 1}, {"id": 2}]
    both.acidsql(f"ALTER TABLE t SET {INSERT_ONLY}")
    assert both.acidsql("SELECT * FROM t ORDER BY id") == IDS
