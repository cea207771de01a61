"""Constraints over a Hive Metastore: who defines them does not matter to who keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.constraints import ConstraintCalls
from acidsql.errors import ConstraintViolationError, UnsupportedStatementError
from acidsql.model.constraint import Constraint
from acidsql.model.names import TableName
from acidsql.txn.entities import TxnState
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive, HiveError
from tests.integration.hive.shared import Row

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
COLUMNS = (
    "(id int CONSTRAINT {0}_nn NOT NULL ENABLE, v string DEFAULT 'none',"
    " n int CONSTRAINT {0}_ck CHECK (n > 0) ENABLE,"
    " CONSTRAINT {0}_row CHECK (id < n OR v IS NULL) ENABLE,"
    " CONSTRAINT {0}_uk UNIQUE (id, n) DISABLE NOVALIDATE)"
)


@pytest.fixture
def both(hive: Hive, client: acidsql.Session, database: str) -> OneMetastore:
    return OneMetastore(hive, client, database)


@pytest.mark.parametrize("definer", ["acidsql", "theirs"])
def test_both_keep_the_constraints(both: OneMetastore, definer: str) -> None:
    getattr(both, definer)(f"CREATE TABLE t {COLUMNS.format(both.database)} {ACID}")
    both.acidsql("INSERT INTO t (id, n) VALUES (1, 10)")
    both.acidsql("INSERT INTO t (id, n) SELECT id + 1, n + 10 FROM t")
    both.theirs("INSERT INTO t (id, n) VALUES (3, 30)")
    rows = both.same("t", 3)
    assert values(rows) == {("1", "'none'", "10"), ("2", "'none'", "20"), ("3", "'none'", "30")}
    for sql in (
        "INSERT INTO t (n) VALUES (5)",
        "INSERT INTO t (id, n) VALUES (1, -1)",
        "UPDATE t SET id = 30 WHERE n = 30",
    ):
        with pytest.raises(ConstraintViolationError):
            both.acidsql(sql)
        with pytest.raises(HiveError):
            both.theirs(sql)
    assert both.same("t", 3) == rows
    ours, theirs = both.acidsql("DESCRIBE FORMATTED t"), both.theirs("DESCRIBE FORMATTED t")
    assert shown(ours) == shown([tuple(row.values()) for row in theirs])
    both.acidsql(f"ALTER TABLE t DROP CONSTRAINT {both.database}_ck")
    both.acidsql("ALTER TABLE t ALTER COLUMN v SET DEFAULT 'other'")
    both.theirs("INSERT INTO t (id, n) VALUES (4, 40)")
    both.theirs(f"ALTER TABLE t DROP CONSTRAINT {both.database}_row")
    both.acidsql("ALTER TABLE t RENAME COLUMN v TO w")
    both.acidsql("INSERT INTO t (id, n) VALUES (5, -50)")
    assert values(both.same("t", 5)) >= {("4", "'other'", "40"), ("5", "'other'", "-50")}


@pytest.mark.parametrize("definer", ["acidsql", "theirs"])
def test_a_key_to_the_table_itself(both: OneMetastore, definer: str) -> None:
    """The metastore takes one with a new table alone."""
    columns = (
        f"(id int, boss int, CONSTRAINT {both.database}_pk PRIMARY KEY (id) DISABLE NOVALIDATE,"
        f" CONSTRAINT {both.database}_fk FOREIGN KEY (boss) REFERENCES t (id) DISABLE NOVALIDATE)"
    )
    getattr(both, definer)(f"CREATE TABLE t {columns} {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, NULL), (2, 1)")
    both.acidsql("UPDATE t SET boss = 2 WHERE id = 1")
    assert values(both.same("t", 2)) == {("1", "2"), ("2", "1")}
    before = both.acidsql("SHOW CREATE TABLE t")
    assert f"{both.database}_fk" in str(before)
    assert f"{both.database}_fk" in str(both.theirs("DESCRIBE FORMATTED t"))
    with pytest.raises(UnsupportedStatementError, match=f'"{both.database}_fk"'):
        both.acidsql("ALTER TABLE t CHANGE COLUMN boss chief int")
    assert both.acidsql("SHOW CREATE TABLE t") == before
    both.acidsql(f"ALTER TABLE t DROP CONSTRAINT {both.database}_fk")
    both.acidsql("ALTER TABLE t CHANGE COLUMN boss chief int")
    assert values(both.same("t", 2)) == {("1", "2"), ("2", "1")}
    with pytest.raises(UnsupportedStatementError, match="to itself"):
        both.acidsql("ALTER TABLE t ADD FOREIGN KEY (chief) REFERENCES t (id) DISABLE NOVALIDATE")


def test_a_table_is_made_with_its_constraints_or_not_at_all(both: OneMetastore) -> None:
    """The metastore keeps texts of 400 characters."""
    text = "n <> 1" + " AND n <> 12345" * 30
    with pytest.raises(UnsupportedStatementError, match="400 characters"):
        both.acidsql(f"CREATE TABLE t (id int NOT NULL, n int CHECK ({text}) ENABLE) {ACID}")
    assert both.acidsql("SHOW TABLES") == []


def test_quotes_inside_of_texts(both: OneMetastore) -> None:
    both.acidsql(f"CREATE TABLE t (id int, s string DEFAULT 'it''s') {ACID}")
    both.acidsql("CREATE VIEW v AS SELECT id FROM t WHERE s = 'it''s'")
    both.acidsql("INSERT INTO t (id) VALUES (1)")
    both.theirs("INSERT INTO t (id) VALUES (2)")
    assert both.acidsql("SELECT * FROM t ORDER BY id") == [(1, "it's"), (2, "it's")]
    assert both.theirs("SELECT count(*) AS n FROM v") == [{"n": 2}]
    assert both.acidsql("SELECT count(*) FROM v") == [(2,)]


def test_texts_with_escapes_that_hive_does_not_know(both: OneMetastore) -> None:
    columns = "id int, s string DEFAULT r'\\d', e string DEFAULT '\\U0001F600'"
    both.acidsql(f"CREATE TABLE t ({columns}) {ACID}")
    both.acidsql("CREATE VIEW v AS SELECT id FROM t WHERE s = r'\\d' AND e = '\\U0001F600'")
    both.acidsql("INSERT INTO t (id) VALUES (1)")
    both.theirs("INSERT INTO t (id) VALUES (2)")
    assert both.acidsql("SELECT * FROM t ORDER BY id") == [(1, r"\d", "😀"), (2, r"\d", "😀")]
    assert both.theirs("SELECT count(*) AS n FROM v") == [{"n": 2}]
    assert both.acidsql("SELECT count(*) FROM v") == [(2,)]


def test_doubled_quotes_of_hive(both: OneMetastore) -> None:
    """Hive reads two texts in ``'it''s'``, which make its."""
    check = f"CONSTRAINT {both.database}_ck CHECK (c <> 'it''s') ENABLE"
    both.theirs(f"CREATE TABLE t (id int, s string DEFAULT 'it''s', c string, {check}) {ACID}")
    both.theirs("CREATE VIEW v AS SELECT s, \"a\"\"b\" AS ab FROM t WHERE s = 'it''s'")
    for number, write in enumerate((both.acidsql, both.theirs), 1):
        write(f'INSERT INTO t (id, c) VALUES ({number}, "it\'s")')
        with pytest.raises((ConstraintViolationError, HiveError)):
            write("INSERT INTO t (id, c) VALUES (3, 'its')")
    assert both.acidsql("SELECT * FROM t ORDER BY id") == [(1, "its", "it's"), (2, "its", "it's")]
    both.acidsql("ALTER VIEW v SET TBLPROPERTIES ('touched' = 'yes')")
    assert both.acidsql("SELECT * FROM v") == [("its", "ab"), ("its", "ab")]
    assert both.theirs("SELECT * FROM v") == [{"s": "its", "ab": "ab"}] * 2


@pytest.mark.parametrize("definer", ["acidsql", "theirs"])
def test_words_of_instants(both: OneMetastore, definer: str) -> None:
    """Hive knows no TIMESTAMP_LTZ, and Spark no TIMESTAMPLOCALTZ."""
    define = getattr(both, definer)
    instant = "CAST(at AS timestamp with local time zone)"
    literal = "TIMESTAMPLOCALTZ '2005-01-03 02:01:00 GMT'"
    define(
        "CREATE TABLE t (id int, at timestamp DEFAULT CAST('2006-01-03 02:01:00' AS timestamp),"
        f" CONSTRAINT {both.database}_later CHECK ({instant} > {literal}) ENABLE) {ACID}"
    )
    define(f"CREATE VIEW v AS SELECT id FROM t WHERE {instant} > {literal}")
    for number, write in enumerate((both.acidsql, both.theirs), 1):
        write(f"INSERT INTO t (id) VALUES ({number})")
        with pytest.raises((ConstraintViolationError, HiveError)):
            write("INSERT INTO t VALUES (9, TIMESTAMP '2004-01-03 02:01:00')")
    assert sorted(both.acidsql("SELECT id FROM v")) == [(1,), (2,)]
    assert both.theirs("SELECT id FROM v ORDER BY id") == [{"id": 1}, {"id": 2}]


def values(rows: list[Row]) -> set[tuple[str, ...]]:
    return {row[3:] for row in rows}


def shown(rows: list[Any]) -> set[tuple[str, ...]]:
    """What follows "# Constraints" in DESCRIBE FORMATTED.

    Hive writes CHECKs with back quotes, and generates the name of the DEFAULT.
    """
    texts = [tuple((cell or "").strip().replace("`", "") for cell in row) for row in rows]
    found = set(texts[texts.index(("# Constraints", "", "")) :])
    return {row for row in found if row[1][:3] != "dc_" and "id < n" not in row[1]}


def test_a_process_that_dies_while_it_changes_a_column(
    both: OneMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has left undone, the next INSERT does."""
    columns = (
        f"(id int CONSTRAINT {both.database}_nn NOT NULL ENABLE, v string DEFAULT 'none',"
        f" n int CONSTRAINT {both.database}_ck CHECK (n > 0) ENABLE)"
    )
    both.acidsql(f"CREATE TABLE t {columns} {ACID}")
    store = both.store
    assert isinstance(store, MetastoreStore)
    changed: list[TableName] = []

    def dies(name: TableName, wanted: Sequence[Constraint]) -> None:
        if changed:
            raise KeyboardInterrupt
        changed.append(name)
        ConstraintCalls.set(store._constraints, name, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(store._constraints, "set", dies)
        with pytest.raises(KeyboardInterrupt):
            both.acidsql("ALTER TABLE t RENAME COLUMN v TO w")
    for transaction in store.show_txns():
        if transaction.state is TxnState.OPEN:
            store.abort_txns([transaction.txn_id])
    assert "acidsql.constraints" in both.described("t")
    with pytest.raises(ConstraintViolationError):
        both.acidsql("INSERT INTO t (id, n) VALUES (1, -1)")
    both.acidsql("INSERT INTO t (id, n) VALUES (1, 10)")
    assert "acidsql.constraints" not in both.described("t")
    for sql in ("INSERT INTO t (n) VALUES (5)", "INSERT INTO t (id, n) VALUES (1, -1)"):
        with pytest.raises(HiveError):
            both.theirs(sql)
    assert values(both.same("t", 1)) == {("1", "'none'", "10")}
