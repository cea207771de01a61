"""Views and Spark: snapshots, names of the reader's session, odd columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    ColumnNotFoundError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def session(tmp_path: Path, spark: Any) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:", spark=spark) as session:
        session.execute(f"CREATE TABLE t (id int) {ACID}")
        session.execute("INSERT INTO t VALUES (1), (2)")
        session.execute("CREATE VIEW v AS SELECT id FROM t")
        yield session


def rows(session: Session, sql: str) -> list[Any]:
    return sorted(session.execute(sql).fetchall())


def test_a_view_is_read_in_the_snapshot_of_its_statement(session: Session) -> None:
    other = session.beside(session._engine._spark.get())  # type: ignore[attr-defined]
    with session.transaction():
        session.execute("DELETE FROM t WHERE id = 1")
        other.execute("INSERT INTO t VALUES (3)")
        assert rows(session, "SELECT * FROM v") == [(2,)]
        assert rows(session, "SELECT v.id FROM v JOIN t ON v.id = t.id") == [(2,)]
        assert rows(other, "SELECT * FROM v") == [(1,), (2,), (3,)]
    assert rows(other, "SELECT * FROM v") == [(2,), (3,)]
    other.close()


def test_rows_that_are_asked_for_late_are_those_of_the_view_as_it_was(session: Session) -> None:
    late, frame = session.execute("SELECT * FROM v"), session.table("v")
    session.execute("CREATE OR REPLACE VIEW v AS SELECT 7 AS seven")
    session.execute("INSERT INTO t VALUES (3)")
    session.execute("DROP VIEW v")
    assert sorted(late.fetchall()) == [(1,), (2,)]
    assert sorted(map(tuple, frame.collect())) == [(1,), (2,)]


def test_a_view_that_is_changed_while_its_reader_waits_is_read_anew(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = session._store
    view = store.find_view(TableName("default", "v"))
    assert view is not None
    changed = replace(view, expanded_text="SELECT id + 10 FROM `default`.`t`")
    open_locked = store.open_locked

    def change_first(*args: Any, **kwargs: Any) -> Any:
        store.alter_view(changed)
        return open_locked(*args, **kwargs)

    monkeypatch.setattr(store, "open_locked", change_first)
    assert rows(session, "SELECT * FROM v") == [(11,), (12,)]


def test_names_of_the_readers_session_mean_nothing_in_a_view(session: Session, spark: Any) -> None:
    session.register("t", pa.table({"id": [99]}))
    spark.sql("SELECT 98 AS id").createOrReplaceTempView("gone")
    session.execute(f"CREATE TABLE default.gone (id int) {ACID}")
    session.execute("CREATE VIEW w AS SELECT g.id FROM default.gone AS g")
    session.execute("DROP TABLE gone")
    try:
        assert rows(session, "SELECT * FROM t") == [(99,)]
        assert rows(session, "SELECT * FROM v") == [(1,), (2,)]
        assert rows(session, "WITH t AS (SELECT 97 AS id) SELECT * FROM v") == [(1,), (2,)]
        with pytest.raises(AnalysisError, match=r"not found in the definition of view default\.w"):
            session.execute("SELECT * FROM w")
        with pytest.raises(AnalysisError, match="registered frame"):
            session.execute("CREATE VIEW x AS SELECT * FROM t")
        with pytest.raises(AnalysisError, match="temporary view"):
            session.execute("CREATE VIEW x AS SELECT * FROM gone")
    finally:
        spark.catalog.dropTempView("gone")


def test_a_column_that_is_gone_is_none_of_the_outer_query(session: Session) -> None:
    """In the place of its name, the text of the view would find ``o.id``."""
    session.execute("ALTER TABLE t CHANGE id other int")
    session.execute(f"CREATE TABLE o (id int) {ACID}")
    with pytest.raises(AnalysisError, match=r"view default\.v cannot be read") as caught:
        session.execute("SELECT * FROM o WHERE EXISTS (SELECT 1 FROM v)")
    assert (caught.value.line, caught.value.column) == (1, 45)


def test_columns_of_any_name_and_type(session: Session) -> None:
    session.execute(
        "CREATE VIEW odd (`a.b`, `c``d`, `größe`, `x y`, nothing, c3) AS"
        " SELECT id, named_struct('k', array(id)), map('a', TIMESTAMP '2020-01-01 00:00:00'),"
        " '{t} :p ?', NULL, CAST('a' AS char(3)) FROM t"
    )
    assert [row[:2] for row in session.execute("DESCRIBE odd").fetchall()] == [
        ("a.b", "int"),
        ("c`d", "struct<k:array<int>>"),
        ("größe", "map<string,timestamp>"),
        ("x y", "string"),
        ("nothing", "void"),
        ("c3", "char(3)"),
    ]
    read = "SELECT `a.b`, `c``d`.k[0], `größe`['a'], `x y`, nothing, concat(c3, '.') FROM odd"
    first = rows(session, f"{read} WHERE `a.b` = 2")[0]
    assert (first[0], first[1], first[3:]) == (2, 2, ("{t} :p ?", None, "a."))
    made = "\n".join(line for (line,) in session.execute("SHOW CREATE TABLE odd").fetchall())
    session.execute("CREATE VIEW again AS SELECT * FROM odd")
    session.execute("CREATE VIEW one AS SELECT `a.b` FROM odd")
    session.execute("DROP VIEW odd")
    session.execute(made)
    assert rows(session, f"{read} WHERE `a.b` = 2") == [first]


def test_a_table_is_overwritten_by_a_view_of_itself(session: Session) -> None:
    session.execute("INSERT OVERWRITE TABLE t SELECT id + 1 FROM v")
    assert rows(session, "SELECT * FROM v") == [(2,), (3,)]


def test_a_temporary_view_is_of_its_session(session: Session, spark: Any) -> None:
    session.execute("CREATE TEMPORARY VIEW mine AS SELECT id FROM t WHERE id > 1")
    other = session.beside(session._engine._spark.get())  # type: ignore[attr-defined]
    with pytest.raises(TableNotFoundError, match="mine"):
        other.execute("SELECT * FROM mine")
    other.execute("INSERT INTO t VALUES (3)")
    other.close()
    assert rows(session, "SELECT * FROM mine") == [(2,), (3,)]
    assert sorted(map(tuple, session.table("Mine").collect())) == [(2,), (3,)]


def test_a_temporary_view_is_made_in_a_transaction_and_outlives_its_rollback(
    session: Session,
) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (3)")
    session.execute("CREATE TEMP VIEW late AS SELECT id, 'x' AS x FROM t WHERE id > 1")
    assert rows(session, "SELECT * FROM late") == [(2, "x"), (3, "x")]
    with pytest.raises(UnsupportedStatementError, match="not allowed in a transaction"):
        session.execute("DROP VIEW late")
    with pytest.raises(UnsupportedStatementError, match="not allowed in a transaction"):
        session.execute("CREATE VIEW kept AS SELECT * FROM t")
    with pytest.raises(ColumnNotFoundError):
        session.execute("CREATE OR REPLACE TEMP VIEW late AS SELECT nothing FROM t")
    session.execute("ROLLBACK")
    assert rows(session, "SELECT * FROM late") == [(2, "x")]
    states = {row[1] for row in session.execute("SHOW TRANSACTIONS").fetchall()}
    assert states <= {"ABORTED"}
    assert session.execute("SHOW LOCKS").fetchall() == []


def test_a_temporary_view_of_frames(session: Session, spark: Any) -> None:
    session.register("given", pa.table({"id": [2, 9]}))
    spark.sql("SELECT 1 AS id, 'one' AS name").createOrReplaceTempView("of_spark")
    session.execute("CREATE TEMP VIEW a AS SELECT * FROM given")
    session.execute("CREATE TEMP VIEW b AS SELECT a.* FROM a JOIN t ON a.id = t.id")
    session.execute("CREATE TEMP VIEW c AS SELECT name FROM of_spark JOIN t ON of_spark.id = t.id")
    assert rows(session, "SELECT * FROM b") == [(2,)]
    assert rows(session, "SELECT * FROM c") == [("one",)]
    with pytest.raises(AnalysisError, match='"given" is a registered frame'):
        session.execute("CREATE OR REPLACE TEMP VIEW given AS SELECT 1 AS one")
    # Names of frames, too, mean the same later on, or nothing.
    session.register("a", pa.table({"id": [1]}))
    assert rows(session, "SELECT * FROM a") == [(1,)]
    assert session.execute("SHOW VIEWS").fetchall() == [("v",), ("b",), ("c",)]
    assert rows(session, "SELECT * FROM b") == [(1,)]
    spark.catalog.dropTempView("of_spark")
    session.execute(f"CREATE TABLE of_spark (id int, name string) {ACID}")
    with pytest.raises(
        TableNotFoundError, match='"of_spark" not found in the definition of view c'
    ):
        session.execute("SELECT * FROM c")
