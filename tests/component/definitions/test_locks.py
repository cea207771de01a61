"""EXPLAIN LOCKS says what a definition asks for, and SHOW LOCKS finds it."""

import pytest

from acidsql.errors import AnalysisError, DatabaseNotFoundError, TableNotFoundError
from acidsql.txn.entities import LockComponent, LockType, TxnType

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
DB, T, PARTED = "default -> SHARED_READ", "default.t -> ", "default.parted"


@pytest.fixture
def tables(session):
    session.execute("CREATE DATABASE sales")
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    session.execute(f"CREATE TABLE parted (id int) PARTITIONED BY (p int) {ACID}")
    session.execute("INSERT INTO parted VALUES (1, 1), (2, 2), (3, 3)")
    session.execute("CREATE TABLE plain (id int) STORED AS ORC")
    return session


@pytest.mark.parametrize(
    ("sql", "locks"),
    [
        ("CREATE DATABASE d", []),
        ("DROP DATABASE sales", ["sales -> EXCLUSIVE"]),
        (f"CREATE TABLE u (id int) {ACID}", [DB, "default.u -> EXCLUSIVE"]),
        ("CREATE TABLE sales.u LIKE t", ["sales -> SHARED_READ", "sales.u -> EXCLUSIVE"]),
        ("DROP TABLE t", [f"{T}EXCLUSIVE"]),
        ("DROP TABLE IF EXISTS absent", []),
        ("ALTER TABLE t ADD COLUMNS (v int)", [f"{T}EXCLUSIVE"]),
        ("ALTER TABLE t CHANGE COLUMN id id bigint", [f"{T}EXCLUSIVE"]),
        ("ALTER TABLE t REPLACE COLUMNS (id bigint)", [f"{T}EXCLUSIVE"]),
        (
            "ALTER TABLE t RENAME TO sales.u",
            [f"{T}EXCLUSIVE", "sales -> SHARED_READ", "sales.u -> EXCLUSIVE"],
        ),
        ("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", [f"{T}EXCL_WRITE"]),
        ("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a')", [f"{T}EXCL_WRITE"]),
        (
            "ALTER TABLE plain SET TBLPROPERTIES ('transactional' = 'true')",
            ["default.plain -> EXCLUSIVE"],
        ),
        ("ALTER TABLE parted ADD PARTITION (p = 9)", [f"{PARTED} -> EXCLUSIVE"]),
        (
            "ALTER TABLE parted DROP PARTITION (p > 1)",
            [f"{PARTED}.p=2 -> EXCLUSIVE", f"{PARTED}.p=3 -> EXCLUSIVE"],
        ),
        ("ALTER TABLE parted DROP IF EXISTS PARTITION (p = 9)", []),
        (
            "ALTER TABLE parted PARTITION (p = 1) RENAME TO PARTITION (p = 9)",
            [f"{PARTED} -> EXCLUSIVE"],
        ),
        ("MSCK REPAIR TABLE parted", [f"{PARTED} -> EXCLUSIVE"]),
        ("MSCK TABLE parted", []),
        ("ALTER TABLE t COMPACT 'major'", []),
        ("TRUNCATE TABLE t", [f"{T}EXCLUSIVE"]),
    ],
)
def test_what_is_explained_is_what_is_asked_for(tables, monkeypatch, sql, locks):
    store, asked = tables._store, []

    def noting(verb, position):
        def note(*args):
            before = list(asked)
            answer = verb(*args)
            # Whatever it asks in turn: the store in memory makes the one verb of the other.
            asked[:] = [*before, *args[position]]
            return answer

        return note

    monkeypatch.setattr(store, "lock", noting(store.lock, 1))
    monkeypatch.setattr(store, "open_locked", noting(store.open_locked, 4))
    assert [row for (row,) in tables.execute(f"EXPLAIN LOCKS {sql}").fetchall()] == locks
    assert asked == []
    tables.execute(sql)
    assert [_line(component) for component in asked] == locks


def _line(component: LockComponent) -> str:
    place = [component.database, component.table, component.partition]
    return f"{'.'.join(filter(None, place))} -> {component.type.name}"


def test_a_table_of_a_querys_rows(tables):
    sql = "EXPLAIN LOCKS CREATE TABLE sales.u STORED AS ORC AS SELECT * FROM t"
    locks = [f"{T}SHARED_READ", "sales -> SHARED_READ", "sales.u -> EXCLUSIVE"]
    assert [row for (row,) in tables.execute(sql).fetchall()] == locks
    exists = "EXPLAIN LOCKS CREATE TABLE IF NOT EXISTS t STORED AS ORC AS SELECT 1 AS id"
    assert tables.execute(exists).fetchall() == []


def test_names_that_are_not_there(tables):
    tables.execute("SET hive.exec.drop.ignorenonexistent = false")
    with pytest.raises(TableNotFoundError):
        tables.execute("EXPLAIN LOCKS DROP TABLE absent")
    with pytest.raises(AnalysisError):
        tables.execute("EXPLAIN LOCKS ALTER TABLE parted DROP PARTITION (p = 9)")
    with pytest.raises(DatabaseNotFoundError):
        tables.execute("SHOW LOCKS DATABASE absent")


@pytest.fixture
def locked(tables):
    """One lock each on a database, two tables and two partitions."""
    tables.execute(f"CREATE TABLE sales.t (id int) {ACID}")
    txn = tables._store.open_txn("ann", "host1", TxnType.DEFAULT)
    for name in ("default", "sales"):
        places = [(name, None, None), (name, "t", None)]
        if name == "default":
            places += [(name, "parted", "p=1"), (name, "parted", "p=2")]
        components = [LockComponent(LockType.SHARED_READ, *place) for place in places]
        tables._store.lock(txn, components, "ann", "host1")
    return tables


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ("t", [("default", "t", None)]),
        ("sales.t EXTENDED", [("sales", "t", None)]),
        ("parted", [("default", "parted", "p=1"), ("default", "parted", "p=2")]),
        ("parted PARTITION (p = 2)", [("default", "parted", "p=2")]),
        ("parted PARTITION (p = 3) EXTENDED", []),
        ("DATABASE sales", [("sales", None, None), ("sales", "t", None)]),
        ("SCHEMA Sales EXTENDED", [("sales", None, None), ("sales", "t", None)]),
    ],
)
def test_locks_of_one_place(locked, which, found):
    rows = locked.execute(f"SHOW LOCKS {which}").fetchall()
    places = [tuple(None if v == "NULL" else v for v in row[1:4]) for row in rows]
    assert places == found
    assert len(locked.execute("SHOW LOCKS").fetchall()) == 6


def test_a_partition_needs_every_column(locked):
    with pytest.raises(AnalysisError):
        locked.execute("SHOW LOCKS t PARTITION (p = 1)")
