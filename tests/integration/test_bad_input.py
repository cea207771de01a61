"""Bad input: what is said, and that nothing half-done is visible afterwards."""

import datetime
import os
import subprocess
import sys
from decimal import Decimal

import pytest
from click.testing import CliRunner

import acidsql
from acidsql.cli.main import main

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS = [(1, "a", Decimal("1.50")), (2, "b", Decimal("2.50")), (3, "c", None)]


@pytest.fixture
def table(session, warehouse):
    """A table with an update behind it; answers with its directory."""
    return made(session, warehouse)


@pytest.fixture(scope="module")
def kept(tmp_path_factory, spark):
    """A session and its table for all statements that change nothing."""
    warehouse = tmp_path_factory.mktemp("kept")
    with acidsql.connect(warehouse, spark=spark) as session:
        yield session, made(session, warehouse)
        assert rows(session) == ROWS


def made(session, warehouse):
    session.execute(f"CREATE TABLE t (id int, v varchar(3), m decimal(5,2)) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a', 1.50), (2, 'x', 2.50), (3, 'c', NULL)")
    session.execute("UPDATE t SET v = 'b' WHERE id = 2")
    return warehouse / "t"


def files(directory):
    """Each file's bytes."""
    found = (p for p in directory.rglob("*") if p.is_file())
    return {str(p.relative_to(directory)): p.read_bytes() for p in found}


def rows(session):
    return sorted(session.execute("SELECT * FROM t").fetchall())


def assert_nothing_open(session):
    assert session.execute("SHOW LOCKS").fetchall() == []
    states = [row[1] for row in session.execute("SHOW TRANSACTIONS")]
    assert set(states) <= {"ABORTED"}


def refused(session, directory, sql, error, args=None):
    """The error of a statement, after which each file is as it was before."""
    before = files(directory)
    with pytest.raises(error) as caught:
        session.execute(sql, args).fetchall()
    assert files(directory) == before
    assert_nothing_open(session)
    return caught.value


def place(error):
    return error.line, error.column


@pytest.mark.parametrize(
    ("sql", "error", "at"),
    [
        ("SELECT * FROM\n  absent", acidsql.TableNotFoundError, (2, 3)),
        ("INSERT INTO absent VALUES (1)", acidsql.TableNotFoundError, (1, 13)),
        ("UPDATE absent SET id = 1", acidsql.TableNotFoundError, (1, 8)),
        ("DELETE FROM absent", acidsql.TableNotFoundError, (1, 13)),
        ("INSERT INTO t SELECT * FROM absent", acidsql.TableNotFoundError, (1, 29)),
        ("INSERT INTO t (id, absent) VALUES (1, 2)", acidsql.ColumnNotFoundError, (1, 20)),
        ("UPDATE t SET absent = 1", acidsql.ColumnNotFoundError, (1, 14)),
        ("SELECT id,\n absent FROM t", acidsql.ColumnNotFoundError, (2, 2)),
        ("SELECT t.absent FROM t", acidsql.ColumnNotFoundError, (1, 8)),
        ("DELETE FROM t WHERE id > 0 AND absent = 1", acidsql.ColumnNotFoundError, (1, 32)),
        ("UPDATE t SET v = upper(absent)", acidsql.ColumnNotFoundError, (1, 24)),
        ("INSERT INTO t SELECT absent, 'x', 1 FROM t", acidsql.ColumnNotFoundError, (1, 22)),
        (
            "MERGE INTO t USING t AS s ON t.id = s.absent WHEN MATCHED THEN DELETE",
            acidsql.ColumnNotFoundError,
            (1, 37),
        ),
    ],
)
def test_unknown_table_or_column(kept, sql, error, at):
    found = refused(*kept, sql, error)
    assert place(found) == at
    assert "absent" in found.message
    assert "acidsql" not in str(found)
    assert "\n" not in found.message


def test_a_name_that_comes_near_is_suggested(session, table):
    session.execute(f"CREATE TABLE orders (quantity int) {ACID}")
    error = refused(session, table, "SELECT * FROM ordres", acidsql.TableNotFoundError)
    assert "orders" in error.hint
    error = refused(session, table, "UPDATE orders SET qantity = 1", acidsql.ColumnNotFoundError)
    assert "quantity" in error.hint


@pytest.mark.parametrize(
    ("sql", "at"),
    [
        ("INSERT INTO t VALUES (1, 'a')", (1, 23)),
        ("INSERT INTO t VALUES (1, 'a', 1), (1, 'a', 1, 1)", (1, 35)),
        ("INSERT INTO t (id) VALUES (1, 2)", (1, 28)),
        ("INSERT INTO t VALUES (1 + 1, upper('a'))", (1, 23)),
        ("INSERT INTO t SELECT 1, 'a'", None),
        ("MERGE INTO t USING t AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (1)", None),
    ],
)
def test_wrong_number_of_values(kept, sql, at):
    error = refused(*kept, sql, acidsql.SqlError)
    if at is not None:
        assert place(error) == at
    assert "value" in error.message


# Each value once as a literal, written in this process, and once computed by Spark.
@pytest.mark.parametrize("text", ["({}, {}, {})", "SELECT {}, {}, {}"], ids=["literal", "spark"])
@pytest.mark.parametrize(
    "values",
    [
        ("2147483648", "'a'", "1"),
        ("-2147483649", "'a'", "1"),
        ("'abc'", "'a'", "1"),
        ("1", "'abcd'", "1"),
        ("1", "'a'", "1000"),
        ("1", "'a'", "999.995"),
        ("1", "'a'", "'1,5'"),
    ],
)
def test_a_value_that_does_not_fit(kept, text, values):
    rows_text = text.format(*values)
    keyword = "VALUES " if rows_text.startswith("(") else ""
    refused(*kept, f"INSERT INTO t {keyword}{rows_text}", acidsql.InvalidValueError)


@pytest.mark.parametrize("value", ["CAST('2026-02-30' AS date)", "CAST('x' AS int)", "1/0"])
def test_a_value_that_cannot_be_computed(kept, value):
    session, directory = kept
    sql = f"insert into t\n  values (4, {value}, NULL)"
    error = refused(session, directory, sql, acidsql.errors.InvalidValueError)
    assert (error.line, error.column) == (2, 3)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET id = 2147483647 + id",
        "UPDATE t SET v = concat(v, 'bcd')",
        "UPDATE t SET m = m * 1000",
        "UPDATE t SET id = v",
        "MERGE INTO t USING (SELECT 1 AS k) AS s ON t.id = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 'abcd'",
        "MERGE INTO t USING (SELECT 9 AS k) AS s ON t.id = s.k"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k * 1000000000, 'a', 1)",
        "INSERT INTO t SELECT id, v, m FROM t UNION ALL SELECT CAST('x' AS int), 'a', 1",
        "DELETE FROM t WHERE CAST(v AS int) = 1",
    ],
)
def test_a_computed_value_that_does_not_fit(kept, sql):
    error = refused(*kept, sql, acidsql.InvalidValueError)
    assert "bypass" not in str(error), "advice that would not help"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("value", [2**31, "abc", datetime.date(2026, 1, 1), Decimal("1e30")])
def test_an_argument_that_does_not_fit(kept, value):
    refused(*kept, "INSERT INTO t (id) VALUES (?)", acidsql.AcidSqlError, [value])
    refused(*kept, "UPDATE t SET id = :x", acidsql.AcidSqlError, {"x": value})


def test_a_parameter_without_a_value(kept):
    refused(*kept, "INSERT INTO t (id) VALUES (:x)", acidsql.AcidSqlError, {"y": 1})
    refused(*kept, "SELECT * FROM t WHERE id = ?", acidsql.AcidSqlError, [])
    error = refused(*kept, "DELETE FROM t WHERE id = :x", acidsql.AnalysisError)
    assert error.message == "no value for the parameter :x"
    error = refused(*kept, "DELETE FROM t WHERE id = ?", acidsql.AnalysisError)
    assert error.message == "no value for the parameter ?"


def test_not_one_value_for_each_question_mark(kept):
    for sql in (
        "INSERT INTO t (id, v, m) VALUES (?, '?', ?)",
        "DELETE FROM t WHERE id IN (?, ?) -- ?",
    ):
        for args in ([1], [1, 2, 3]):
            error = refused(*kept, sql, acidsql.AnalysisError, args)
            assert error.message == f"{len(args)} values for 2 parameters"
        error = refused(*kept, sql, acidsql.AnalysisError, {})
        assert error.message == "no value for the parameter ?"


def test_placing_columns_cannot_be_updated(session, table, warehouse):
    session.execute(
        "CREATE TABLE p (id int, v int) PARTITIONED BY (d string)"
        f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    session.execute("INSERT INTO p VALUES (1, 1, 'x')")
    merge = "MERGE INTO p USING t ON p.id = t.id WHEN MATCHED THEN UPDATE SET {} = 1"
    for sql, what, at in [
        ("UPDATE p SET v = 1, id = 2", 'bucketing column "id"', (1, 21)),
        ("UPDATE p SET D = 'y'", 'partition column "d"', (1, 14)),
        (merge.format("id"), 'bucketing column "id"', (1, 66)),
        (merge.format("d"), 'partition column "d"', (1, 66)),
    ]:
        error = refused(session, warehouse / "p", sql, acidsql.UnsupportedStatementError)
        assert what in error.message
        assert place(error) == at
    assert session.execute("SELECT * FROM p").fetchall() == [(1, 1, "x")]


def test_merge_of_a_row_that_matches_twice(kept):
    source = "(SELECT explode(array(1, 1, 2, 2, 2, 3)) AS k)"
    sql = f"MERGE INTO t USING {source} AS s ON t.id = s.k WHEN MATCHED THEN UPDATE SET v = 'z'"
    error = refused(*kept, sql, acidsql.CardinalityError)
    assert "Number of such rows: 2." in error.detail
    assert "id = 1 (2 source rows)" in error.detail
    assert "id = 2 (3 source rows)" in error.detail
    assert "id = 3" not in error.detail


def test_a_statement_after_a_syntax_error(session, table):
    script = "INSERT INTO t (id) VALUES (4);\n\nSELECT (1;\nINSERT INTO t (id) VALUES (5);"
    results = session.execute_script(script)
    assert next(results).rows_inserted == 1
    with pytest.raises(acidsql.SqlSyntaxError) as caught:
        next(results)
    assert place(caught.value)[0] == 3
    assert list(results) == []
    assert rows(session) == [*ROWS, (4, None, None)]
    assert_nothing_open(session)


STATEMENTS = [
    "SELECT * FROM t",
    "UPDATE t SET v = 'z' WHERE id > 0",
    "DELETE FROM t WHERE id > 0",
    "MERGE INTO t USING (SELECT 1 AS k) AS s ON t.id = s.k WHEN MATCHED THEN DELETE",
    "INSERT INTO t SELECT * FROM t",
]
DAMAGE = {
    "text": lambda data: b"this is not an ORC file, it is a text that somebody put here",
    "cut": lambda data: data[: len(data) // 2],
    "no tail": lambda data: data[:-10],
}


def test_a_delete_file_cut_to_nothing(session, table):
    """It is an error, not a file without deletes: the deleted row must not come back."""
    (table / "delete_delta_0000002_0000002_0000" / "bucket_00000").write_bytes(b"")

    with pytest.raises(acidsql.CorruptFileError, match="delete_delta_0000002_0000002_0000"):
        session.execute("SELECT * FROM t").fetchall()


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("directory", "damage"),
    [
        *(("delta_0000001_0000001_0000", damage) for damage in DAMAGE),
        *(("delete_delta_0000002_0000002_0000", damage) for damage in DAMAGE),
    ],
)
def test_a_corrupt_file(session, table, directory, damage):
    path = table / directory / "bucket_00000"
    sound = path.read_bytes()
    path.write_bytes(DAMAGE[damage](sound))
    for sql in STATEMENTS:
        error = refused(session, table, sql, acidsql.CorruptFileError)
        assert f"{directory}/bucket_00000" in str(error)
        assert "\n" not in error.message
    for kind in ("minor", "major"):
        before = files(table)
        result = session.execute(f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
        assert "failed" in result.message
        assert files(table) == before
    dumped = CliRunner().invoke(main, ["dump", str(path)])
    assert dumped.exit_code == 3
    assert "bucket_00000" in dumped.stderr
    assert len(dumped.stderr.splitlines()) <= 3
    path.write_bytes(sound)
    assert rows(session) == ROWS
    assert_nothing_open(session)


def test_an_insert_file_that_is_gone(session, table, monkeypatch):
    """Planned with it, it is missed when it is read."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    path = table / "delta_0000001_0000001_0000" / "bucket_00000"
    sound = path.read_bytes()
    result = session.execute("SELECT * FROM t")
    path.unlink()
    with pytest.raises(acidsql.MissingFileError, match="delta_0000001_0000001_0000/bucket_00000"):
        result.fetchall()
    assert_nothing_open(session)
    path.write_bytes(sound)
    assert rows(session) == ROWS


def test_a_delete_file_that_is_gone(session, table, spark):
    """Deleted rows must not come back because their delete file was lost under way."""
    path = table / "delete_delta_0000002_0000002_0000" / "bucket_00000"
    sound = path.read_bytes()
    result = session.execute("SELECT * FROM t")
    path.unlink()
    try:
        found = sorted(result.fetchall())
    except acidsql.MissingFileError:
        found = ROWS
    assert found == ROWS
    path.write_bytes(sound)
    assert rows(session) == ROWS
    assert_nothing_open(session)


def test_a_warehouse_below_a_file(tmp_path, spark):
    (tmp_path / "file").write_text("")
    with pytest.raises(acidsql.StorageError, match="file/warehouse") as caught:
        acidsql.connect(tmp_path / "file" / "warehouse", spark=spark)
    assert "\n" not in caught.value.message


def test_a_table_that_cannot_be_written(session, table, warehouse):
    """Where the delta should go stands a file."""
    obstacle = table / "delta_0000003_0000003_0000"
    obstacle.write_text("")
    for sql in ("INSERT INTO t VALUES (9, 'z', 1)",):
        error = refused(session, table, sql, acidsql.StorageError)
        assert "delta_0000003_0000003_0000" in str(error)
    obstacle.unlink()
    assert rows(session) == ROWS
    (warehouse / "blocked").write_text("")
    with pytest.raises(acidsql.AcidSqlError):
        session.execute(f"CREATE TABLE blocked (id int) {ACID}")
    assert session.execute("SHOW TABLES").fetchall() == [("t",)]


QUERIES = """
import os, sys
import acidsql
session = acidsql.connect(sys.argv[1])
for home, path in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
    os.environ["PATH"] = path
    os.environ.pop("SPARK_HOME", None)
    if home:
        os.environ["SPARK_HOME"] = home
    try:
        session.execute("SELECT 1")
    except acidsql.DependencyError as error:
        print(error)
    print([row[1] for row in session.execute("SHOW TRANSACTIONS")])
"""


def test_without_java_and_with_a_spark_that_does_not_start(tmp_path):
    """As with an old Java, which is there and dies of Spark's classes."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    (tmp_path / "empty").mkdir()
    old = f"{tmp_path}:/usr/bin:/bin"
    places = ["", str(tmp_path / "empty"), "", old, "/nowhere", old]
    env = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", QUERIES, str(tmp_path / "w"), *places],
        check=False, capture_output=True, text=True, env=env,
    )  # fmt: skip
    without, states, *lines = done.stdout.splitlines()
    assert "install" in without
    assert "Java 17" in without
    assert "OPEN" not in states
    assert len(lines) == 6, done.stderr
    for said, hint, states in (lines[:3], lines[3:]):
        assert said.startswith("Spark cannot be started: ")
        assert "Java 17" in hint
        assert "OPEN" not in states


@pytest.mark.parametrize(
    ("metastore", "error"),
    [
        ("nonsense", acidsql.ConfigError),
        ("mysql://host/db", acidsql.ConfigError),
        ("sqlite:relative", acidsql.ConfigError),
        ("thrift://host:port", acidsql.ConfigError),
        ("thrift://127.0.0.1:1", acidsql.StorageError),
        ("sqlite:////proc/nothing/store.db", acidsql.AcidSqlError),
    ],
)
def test_a_wrong_metastore(tmp_path, metastore, error):
    with pytest.raises(error) as caught:
        acidsql.connect(tmp_path / "w", metastore=metastore)
    assert "\n" not in caught.value.message


def test_a_store_that_is_none(tmp_path):
    (tmp_path / "store.db").write_text(
        "this is no database, but a text long enough to look at\n" * 20
    )
    with pytest.raises(acidsql.AcidSqlError, match=r"store\.db"):
        acidsql.connect(tmp_path / "w", metastore=f"sqlite:///{tmp_path}/store.db")


@pytest.mark.parametrize(
    "config",
    [
        {"hive.no.such": "1"},
        {"hive.txn.timeout": "soon"},
        {"hive.txn.timeout": "0"},
        {"hive.max.open.txns": "many"},
        {"hive.lock.numretries": "-1"},
    ],
)
def test_a_bad_setting(tmp_path, config):
    with pytest.raises(acidsql.ConfigError) as caught:
        acidsql.connect(tmp_path / "w", config=config)
    assert next(iter(config)) in str(caught.value)
    assert not (tmp_path / "w").exists()
