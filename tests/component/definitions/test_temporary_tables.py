"""Temporary tables: they are of one session, and what a dead session leaves is dropped later."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.definitions.temporary_tables import LEASE_S, UNTIL, drop_abandoned
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    LockTimeoutError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TEMPORARY_DATABASE, TableName
from acidsql.ports.catalog import Database
from acidsql.session.session import Session
from acidsql.streaming import ArrowRecordWriter, StreamingConnection
from tests.processes import PROCESSES

Connect = Callable[[], Session]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Sessions over one warehouse, whose locks are not waited for."""
    opened: list[Session] = []

    def connect_one() -> Session:
        opened.append(connected(tmp_path / "w"))
        return opened[-1]

    yield connect_one
    for session in opened:
        session.close()


def connected(warehouse: Path) -> Session:
    return acidsql.connect(warehouse, config={"hive.lock.numretries": "0"})


def databases(session: Session) -> list[str]:
    return [n for n in session._store.databases() if n.startswith(TEMPORARY_DATABASE)]


def sweep(session: Session, later_s: float = 0) -> list[str]:
    """What a housekeeper would drop so many seconds later."""
    return list(drop_abandoned(session._dispatch.scope({}), lambda: time.time() + later_s))


def make(session: Session, name: str = "t") -> None:
    session.execute(f"CREATE TEMPORARY TABLE {name} (a int)")
    session.execute(f"INSERT INTO {name} VALUES (1)")


@pytest.mark.sqlite
def test_a_table_is_of_one_session(connect: Connect, tmp_path: Path):
    one, other = connect(), connect()
    make(one)
    with pytest.raises(TableNotFoundError):
        other.execute("DESCRIBE t")
    make(other)
    other.execute("ALTER TABLE t CHANGE a b bigint")
    assert one.execute("SHOW COLUMNS IN t").fetchall() == [("a",)]
    assert len(databases(one)) == 2
    one.close()
    assert other.execute("SHOW COLUMNS IN t").fetchall() == [("b",)]
    other.close()
    assert not [p for p in (tmp_path / "w").iterdir() if p.name.startswith(TEMPORARY_DATABASE)]
    assert databases(connect()) == []


@pytest.mark.sqlite
def test_a_session_that_is_forgotten_leaves_nothing(connect: Connect, tmp_path: Path):
    session = connected(tmp_path / "w")
    make(session)
    other = connect()
    assert databases(other)
    del session
    gc.collect()
    until_s = time.monotonic() + 60
    while databases(other) and time.monotonic() < until_s:
        time.sleep(0.01)
    assert databases(other) == []


def make_and_die(warehouse: Path) -> None:
    import os
    import signal

    session = connected(warehouse)
    make(session)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.sqlite
def test_what_a_killed_session_leaves_is_dropped_a_day_later(connect: Connect, tmp_path: Path):
    process = PROCESSES.Process(target=make_and_die, args=(tmp_path / "w",))
    process.start()
    process.join()
    assert process.exitcode == -9
    session = connect()
    make(session)
    [left, own] = sorted(databases(session), key=lambda n: n in session_database(session))
    assert sweep(session) == sweep(session, LEASE_S / 2) == []
    # The session moves its own time on, and a dead one does not.
    session._temporary_tables._clock = lambda: time.time() + LEASE_S
    assert session._temporary_tables._renew()
    assert sweep(session, LEASE_S + 60) == [left]
    assert databases(session) == [own]
    assert not (tmp_path / "w" / f"{left}.db").exists()
    assert session.execute("DESCRIBE t").fetchall() == [("a", "int", "")]


def session_database(session: Session) -> str:
    [own] = session._names.temporary_tables.values()
    return own.database


def test_a_housekeeper_drops_it(session: Session):
    make(session)
    database = session_database(session)
    session._store.set_database_parameters(database, {UNTIL: "1"})
    session.run_housekeeper()
    assert databases(session) == []
    # The session still knows that the name was one of its own: it must not reach another table.
    session.execute("CREATE TABLE default.u (a int)")
    with pytest.raises(TableNotFoundError, match="temporary table"):
        session.execute("INSERT INTO t VALUES (2)")
    with pytest.raises(TableNotFoundError, match="is gone"):
        session.execute("SELECT * FROM t")
    session.execute("DROP TABLE t")
    with pytest.raises(TableNotFoundError, match="not found"):
        session.execute("SELECT * FROM t")
    make(session)
    assert session_database(session) != database


@pytest.mark.parametrize("until", [None, "soon", "-5"])
def test_a_database_without_the_time_is_left_alone(session: Session, tmp_path: Path, until):
    name = f"{TEMPORARY_DATABASE}of_somebody"
    properties = {} if until is None else {UNTIL: until}
    place = str(tmp_path / "w" / "somebody.db")
    session._store.create_database(Database(name, place, parameters=properties))
    assert sweep(session, 10 * LEASE_S) == []
    assert databases(session) == [name]


@pytest.mark.sqlite
def test_one_that_cannot_be_dropped_stops_no_other(connect: Connect):
    one, other = connect(), connect()
    make(one)
    make(other)
    kept = session_database(one)
    for name in databases(one):
        one._store.set_database_parameters(name, {UNTIL: "1"})
    swept: list[str] = []
    third = connect()
    with one.transaction():
        one.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(LockTimeoutError):
            swept += drop_abandoned(third._dispatch.scope({}))
        assert databases(one) == [kept]
    assert sweep(third) == [kept]


def test_errors_leave_no_table(session: Session):
    with pytest.raises(AcidSqlError):
        session.execute("CREATE TEMPORARY TABLE t (a int, a int)")
    with pytest.raises(TableNotFoundError, match="not found"):
        session.execute("DESCRIBE t")
    session.execute("CREATE TEMPORARY TABLE t (a int)")
    assert session._store.find_table(TableName("default", "t")) is None


def test_the_other_doors_know_it(session: Session, tmp_path: Path):
    session.execute("CREATE TABLE t (a int)")
    make(session)
    session.insert("t", {"a": [5, 6]})
    session.insert("default.t", {"a": [7]})
    connection = StreamingConnection.builder().table("t")
    with connection.record_writer(ArrowRecordWriter()).connect(session) as stream:
        stream.begin_transaction()
        stream.write([{"a": 8}])
        stream.commit_transaction()
    own = tmp_path / "w" / f"{session_database(session)}.db" / "t"
    assert len(list(own.glob("delta_*"))) == 4
    assert list((tmp_path / "w" / "t").iterdir()) == []


def test_no_name_is_given_twice(session: Session):
    """A view, or a name whose table is gone, would read the other table."""
    session.execute("CREATE DATABASE other")
    make(session)
    first = session._names.temporary_tables[TableName("default", "t")]
    session.execute("DROP TABLE t")
    make(session, "other.t")
    assert session._names.temporary_tables[TableName("other", "t")] != first


def test_nothing_else_gets_into_the_database(session: Session):
    make(session)
    database = session_database(session)
    session.execute("CREATE TABLE kept (a int)")
    for sql in (
        f"CREATE TABLE {database}.mine (a int)",
        f"CREATE TEMPORARY TABLE {database}.mine (a int)",
        f"CREATE TABLE {database}.mine LIKE kept",
        f"CREATE OR REPLACE TABLE {database}.mine (a int)",
        f"CREATE TABLE {database}.mine AS SELECT 1 AS a",
        f"CREATE VIEW {database}.mine AS SELECT 1 AS a",
        f"ALTER TABLE kept RENAME TO {database}.mine",
        f"ALTER TABLE t RENAME TO {database}.mine",
    ):
        with pytest.raises(AnalysisError, match="is for the temporary tables of a session"):
            session.execute(sql)
    session.execute(f"USE {database}")
    with pytest.raises(AnalysisError, match="is for the temporary tables of a session"):
        session.execute("CREATE TABLE mine (a int)")


def test_what_would_be_seen_of_it_is_refused(session: Session):
    make(session)
    with pytest.raises(AnalysisError, match="cannot refer to the temporary table"):
        session.execute(
            "CREATE TABLE child (a int, FOREIGN KEY (a) REFERENCES t (a) DISABLE NOVALIDATE)"
        )
    with pytest.raises(UnsupportedStatementError, match="SET LOCATION of a temporary table"):
        session.execute("ALTER TABLE t SET LOCATION '/elsewhere'")


def test_it_is_the_one_that_show_table_extended_shows(session: Session):
    session.execute("CREATE TABLE t (permanent int)")
    make(session)
    lines = [line for (line,) in session.execute("SHOW TABLE EXTENDED LIKE 't'").fetchall()]
    assert [line for line in lines if session_database(session) in line]
    assert not [line for line in lines if "permanent" in line]


def test_drop_table_forgets_one_that_is_gone(session: Session):
    make(session)
    session.execute("SET hive.exec.drop.ignorenonexistent=false")
    session.execute(f"DROP DATABASE {session_database(session)} CASCADE")
    with pytest.raises(TableNotFoundError, match="is gone"):
        session.execute("DROP TABLE t")
    with pytest.raises(TableNotFoundError, match="not found"):
        session.execute("DROP TABLE t")


def test_a_second_database_is_renewed_as_the_first_one_was(session: Session):
    """The beat goes on although somebody has dropped the first one."""
    make(session)
    session.execute(f"DROP DATABASE {session_database(session)} CASCADE")
    assert session._temporary_tables._renew()
    make(session)
    database = session_database(session)
    session._store.set_database_parameters(database, {UNTIL: "1"})
    assert session._temporary_tables._renew()
    assert int(session._store.database(database).parameters[UNTIL]) > time.time()
    session._temporary_tables.close()
    assert not session._temporary_tables._renew()
