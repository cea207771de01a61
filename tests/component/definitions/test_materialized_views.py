"""Materialized views without Spark: who may change them, and what their users see."""

from dataclasses import replace

import pytest

from acidsql.errors import (
    AnalysisError,
    StreamingConnectionError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.model.table import MATERIALIZED_QUERY, MATERIALIZED_TEXT
from acidsql.streaming import StreamingConnection

NAME = TableName("default", "m")


@pytest.fixture
def made(session):
    """A table, and a materialized view of it, as CREATE MATERIALIZED VIEW keeps it."""
    session.execute("CREATE TABLE t (id int, v string)")
    session.execute("CREATE TABLE m (id int, v string) COMMENT 'kept'")
    table = session._store.find_table(NAME)
    query = {MATERIALIZED_TEXT: "SELECT *\nFROM t", MATERIALIZED_QUERY: "SELECT `t`.`id`\nFROM t"}
    session._store.alter_table(replace(table, parameters={**table.parameters, **query}))
    return session


def test_a_statement_names_its_query_and_no_parameter_of_ours(made):
    lines = [line for (line,) in made.execute("SHOW CREATE TABLE m").fetchall()]
    assert lines[0] == "CREATE MATERIALIZED VIEW `default`.`m`"
    assert lines[-2:] == ["AS SELECT `t`.`id`", "FROM t"]
    rows = dict(made.execute("SHOW TBLPROPERTIES m").fetchall())
    assert "acidsql.materialized.query" not in rows
    described = {row[0]: row[1] for row in made.execute("DESCRIBE FORMATTED m").fetchall()}
    assert described["Table Type:"] == "MATERIALIZED_VIEW"
    assert described["Original Query:"] == "SELECT *\nFROM t"
    assert described["Expanded Query:"] == "SELECT `t`.`id`\nFROM t"
    assert made.execute("SHOW TABLES").fetchall() == [("m",), ("t",)]
    rows = made.execute("SHOW MATERIALIZED VIEWS").fetchall()
    assert rows == [("m", "No", "Manual refresh")]


def test_rows_from_outside_are_refused(made):
    with pytest.raises(UnsupportedStatementError, match="A view cannot be used as target"):
        made.insert("m", [{"id": 1, "v": "a"}])
    builder = StreamingConnection.builder().table("m")
    with pytest.raises(StreamingConnectionError, match="cannot be written to") as caught:
        builder.connect(made)
    assert caught.value.detail == "It is a materialized view."


@pytest.mark.parametrize(
    "change",
    [
        "ADD COLUMNS (x int)",
        "CHANGE v w string",
        "REPLACE COLUMNS (id int)",
        "DROP COLUMN v",
        "ADD CONSTRAINT c PRIMARY KEY (id) DISABLE NOVALIDATE",
        "DROP CONSTRAINT c",
        "SET TBLPROPERTIES ('a' = 'b')",
        "UNSET TBLPROPERTIES ('a')",
        "RENAME TO n",
        "SET LOCATION '/elsewhere'",
        "SET FILEFORMAT ORC",
        "TOUCH",
        "RECOVER PARTITIONS",
    ],
)
def test_alter_table_is_refused(made, change):
    before = made._store.find_table(NAME)
    with pytest.raises(UnsupportedStatementError, match="a materialized view cannot be altered"):
        made.execute(f"ALTER TABLE m {change}")
    assert made._store.find_table(NAME) == before


def test_comments_are_refused_like_other_changes(made):
    for sql in ("COMMENT ON TABLE m IS 'x'", "COMMENT ON COLUMN m.id IS 'x'"):
        with pytest.raises(UnsupportedStatementError, match="cannot be altered"):
            made.execute(sql)


def test_nobody_can_make_one_by_its_parameters(session):
    session.execute(f"CREATE TABLE t (id int) TBLPROPERTIES ('{MATERIALIZED_QUERY}' = 'SELECT 1')")
    assert session.execute("SHOW MATERIALIZED VIEWS").fetchall() == []
    session.execute(f"CREATE TABLE u LIKE t TBLPROPERTIES ('{MATERIALIZED_QUERY}' = 'SELECT 1')")
    assert session.execute("SHOW MATERIALIZED VIEWS").fetchall() == []


def test_a_table_like_one_is_a_table(made):
    made.execute("CREATE TABLE l LIKE m")
    assert made.execute("SHOW MATERIALIZED VIEWS").fetchall() == [("m", "No", "Manual refresh")]
    assert made.insert("l", [{"id": 1, "v": "a"}]).rows_inserted == 1


def test_drop_takes_the_right_kind_only(made):
    for sql in ("DROP TABLE m", "DROP TABLE IF EXISTS m", "DROP VIEW m"):
        with pytest.raises(UnsupportedStatementError) as caught:
            made.execute(sql)
        assert caught.value.hint == "Write DROP MATERIALIZED VIEW."
    assert made.execute("EXPLAIN LOCKS DROP MATERIALIZED VIEW m").fetchall() == [
        ("default.m -> EXCLUSIVE",)
    ]
    made.execute("DROP MATERIALIZED VIEW m")
    told = made.execute("DROP MATERIALIZED VIEW IF EXISTS m").message
    assert told == "materialized view default.m does not exist"
    assert made.execute("EXPLAIN LOCKS DROP MATERIALIZED VIEW IF EXISTS m").fetchall() == []
    made.execute("SET hive.exec.drop.ignorenonexistent = false")
    with pytest.raises(TableNotFoundError):
        made.execute("DROP MATERIALIZED VIEW m")


def test_a_rebuild_waits_like_an_overwrite(made):
    locks = made.execute("EXPLAIN LOCKS ALTER MATERIALIZED VIEW m REBUILD").fetchall()
    assert locks == [("default.m -> EXCLUSIVE",), ("default.t -> SHARED_READ",)]


def test_explain_refuses_what_is_refused(made):
    for sql in ("ALTER TABLE m ADD COLUMNS (z int)", "MSCK REPAIR TABLE m", "DROP TABLE m"):
        with pytest.raises(UnsupportedStatementError):
            made.execute(f"EXPLAIN {sql}")


def test_a_temporary_table_of_the_name_is_called_so(made):
    made.execute("CREATE TEMPORARY TABLE m (a int)")
    with pytest.raises(AnalysisError, match=r"^1:24: default\.m is not a materialized view"):
        made.execute("DROP MATERIALIZED VIEW m")


def test_an_external_one_is_made_again_as_one(made):
    table = made._store.find_table(NAME)
    parameters = {**table.parameters, "EXTERNAL": "TRUE"}
    del parameters["transactional"]
    made._store.alter_table(replace(table, parameters=parameters))
    lines = [line for (line,) in made.execute("SHOW CREATE TABLE m").fetchall()]
    assert "  'EXTERNAL'='TRUE'," in lines
