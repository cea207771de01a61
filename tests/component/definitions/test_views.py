"""Views without Spark: what the store holds, who may be dropped, and what is locked."""

from dataclasses import replace

import pytest

from acidsql.errors import AnalysisError, TableExistsError, UnsupportedStatementError
from acidsql.model.names import TableName
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.model.view import View

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


def make(session, name, text, columns=("id",)):
    """A view, put into the store by somebody who may write there."""
    listed = tuple(Column(c, parse_type("int")) for c in columns)
    session._store.create_view(View(TableName.parse(name), listed, text, text))


def explained(session, sql):
    return [line for (line,) in session.execute(sql).fetchall()]


@pytest.fixture
def two(session):
    """A table, a view of it, and a view of that."""
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    make(session, "v", "SELECT id FROM default.t")
    make(session, "w", "SELECT id FROM default.v WHERE id > 1")
    return session


def test_the_tables_of_a_view_are_locked_as_if_its_text_stood_there(two):
    two.execute(f"CREATE TABLE u (id int) {ACID}")
    assert explained(two, "EXPLAIN LOCKS SELECT * FROM w") == ["default.t -> SHARED_READ"]
    assert explained(two, "EXPLAIN LOCKS INSERT INTO u SELECT * FROM w") == [
        "default.t -> SHARED_READ",
        "default.u -> SHARED_READ",
    ]


def test_whoever_makes_a_view_locks_the_views_in_it(two):
    """Otherwise two sessions could make a cycle of two views at the same moment."""
    assert explained(two, "EXPLAIN LOCKS CREATE VIEW x AS SELECT * FROM w") == [
        "default -> SHARED_READ",
        "default.t -> SHARED_READ",
        "default.v -> SHARED_READ",
        "default.w -> SHARED_READ",
        "default.x -> EXCLUSIVE",
    ]
    two.execute("CREATE DATABASE d")
    two.execute(f"CREATE TABLE d.x (id int) {ACID}")
    locks = explained(two, "EXPLAIN LOCKS CREATE VIEW x AS SELECT * FROM d.x")
    assert "d.x -> SHARED_READ" in locks
    for sql in ("DROP VIEW v", "ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')"):
        assert [line.split()[0] for line in explained(two, f"EXPLAIN LOCKS {sql}")] == ["default.v"]
    for sql in (
        "DROP VIEW IF EXISTS no",
        "DROP VIEW IF EXISTS t",
        "CREATE VIEW IF NOT EXISTS v AS SELECT 1",
    ):
        assert explained(two, f"EXPLAIN LOCKS {sql}") == []
    with pytest.raises(UnsupportedStatementError, match="ALTER TABLE command"):
        two.execute("EXPLAIN LOCKS DROP VIEW t")


def test_a_view_that_a_store_turned_into_a_cycle_is_an_error(two):
    two._store.drop_view(TableName("default", "v"))
    make(two, "v", "SELECT id FROM default.w")
    cycle = r"Recursive view default.w detected \(cycle: default.w -> default.v -> default.w\)"
    with pytest.raises(AnalysisError, match=cycle) as caught:
        two.execute("EXPLAIN SELECT 1, * FROM w")
    assert (caught.value.line, caught.value.column) == (1, 26)


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE default.t",
        "SELECT 1 AS id; DROP TABLE default.t",
        "SELECT :x AS id",
        "SELECT ? AS id",
        "SELECT reflect('java.lang.System', 'exit', 1) AS id",
        "SELECT id FROM default.t VERSION AS OF 1",
        "CREATE VIEW x AS SELECT 1 AS id",
        "EXPLAIN SELECT 1",
        "",
        "SELECT '",
        "(" * 2000 + "SELECT 1" + ")" * 2000,
    ],
)
def test_a_text_that_is_no_query_is_refused_by_the_name_of_its_view(two, text):
    make(two, "bad", text)
    make(two, "above", "SELECT id FROM default.bad")
    for name in ("bad", "above"):
        with pytest.raises(UnsupportedStatementError, match=r"view default\.bad"):
            two.execute(f"EXPLAIN SELECT * FROM {name}")
    two.execute("DROP VIEW bad")


def test_views_of_views_have_an_end(two):
    for number in range(101):
        below = f"default.v{number - 1}" if number else "default.t"
        make(two, f"v{number}", f"SELECT id FROM {below}")
    two.execute("EXPLAIN SELECT * FROM v99")
    with pytest.raises(AnalysisError, match=r"view default\.v100 consists of too many views"):
        two.execute("EXPLAIN SELECT * FROM v100")


def test_views_that_double_have_an_end(two):
    for number in range(60):
        below = f"default.d{number - 1}" if number else "default.t"
        make(two, f"d{number}", f"SELECT a.id FROM {below} AS a JOIN {below} AS b ON a.id = b.id")
    with pytest.raises(AnalysisError, match=r"view default\.d59 consists of too many views"):
        two.execute("EXPLAIN SELECT * FROM d59")


def test_a_database_with_a_view_is_not_empty(session):
    session.execute("CREATE DATABASE d")
    make(session, "d.v", "SELECT 1 AS id")
    with pytest.raises(AnalysisError, match="database d is not empty") as caught:
        session.execute("DROP DATABASE d")
    assert "v" in (caught.value.detail or "")
    session.execute("DROP DATABASE d CASCADE")
    session.execute("CREATE DATABASE d")
    assert session.execute("SHOW VIEWS IN d").fetchall() == []


def test_a_name_that_a_view_has_is_taken(two, tmp_path):
    for sql in (
        f"CREATE TABLE v (id int) {ACID}",
        f"CREATE TABLE v {ACID} AS SELECT 1 AS one",
        "ALTER TABLE t RENAME TO v",
        "ALTER VIEW w RENAME TO v",
        "ALTER VIEW w RENAME TO t",
    ):
        with pytest.raises(TableExistsError):
            two.execute(sql)
    two.execute(f"CREATE TABLE IF NOT EXISTS v (id int) {ACID}")
    two.execute(f"CREATE TABLE IF NOT EXISTS v {ACID} AS SELECT 1 AS one")
    assert sorted(p.name for p in (tmp_path / "w").iterdir() if p.is_dir()) == ["t"]
    assert two.execute("SHOW VIEWS").fetchall() == [("v",), ("w",)]


def test_background_work_and_streams_know_no_views(two):
    two.execute("INSERT INTO t VALUES (1)")
    two.run_initiator()
    two.run_cleaner()
    assert two.execute("SHOW COMPACTIONS").fetchall() == []
    for sql in ("VACUUM v", "CHECK TABLE v", "SHOW PARTITIONS v"):
        with pytest.raises(UnsupportedStatementError, match="takes a table, not a view"):
            two.execute(sql)


def test_a_table_like_a_view_has_its_columns(two):
    two.execute("CREATE TABLE x LIKE w")
    two.execute("INSERT INTO x VALUES (5)")
    assert two.execute("DESCRIBE x").fetchall() == [("id", "int", "")]
    two.execute("CREATE TABLE y LIKE w STORED AS PARQUET")
    made = [line for (line,) in two.execute("SHOW CREATE TABLE y").fetchall()]
    assert "STORED AS PARQUET" in made
    make(two, "void", "SELECT NULL AS id")
    view = two._store.find_view(TableName("default", "void"))
    two._store.alter_view(replace(view, columns=(Column("id", parse_type("void")),)))
    with pytest.raises(UnsupportedStatementError, match="void"):
        two.execute("CREATE TABLE z LIKE void")


def test_a_view_is_described(two):
    assert two.execute("DESCRIBE v").fetchall() == [("id", "int", "")]
    rows = two.execute("DESCRIBE FORMATTED v").fetchall()
    assert ("Table Type:", "VIRTUAL_VIEW", "") in rows
    assert ("Expanded Query:", "SELECT id FROM default.t", "") in rows
    with pytest.raises(UnsupportedStatementError, match="takes a table, not a view"):
        two.execute("DESCRIBE v PARTITION (p = 1)")
