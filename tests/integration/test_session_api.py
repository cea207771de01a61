"""The public surface, as a caller uses it."""

import datetime
import gc
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import acidsql
from acidsql.cli.main import main

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


def python(code, *args, cwd):
    """Run Python code in a process and a directory of its own; its standard output."""
    cwd.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        check=False, capture_output=True, text=True, cwd=cwd, env=own_env(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_env():
    path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def acidsql_command(*args, cwd, given=None, text=True):
    return subprocess.run(
        [sys.executable, "-m", "acidsql", *args],
        check=False, capture_output=True, text=text, cwd=cwd, env=own_env(), input=given,
    )  # fmt: skip


@pytest.fixture
def table(session):
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return session


# -- connect -------------------------------------------------------------------------------------


def test_connect_by_path_or_url(tmp_path, spark):
    for warehouse in (tmp_path / "a", str(tmp_path / "b"), (tmp_path / "c d").as_uri()):
        with acidsql.connect(warehouse, spark=spark) as session:
            session.execute(f"CREATE TABLE t (id int) {ACID}")
            session.execute("INSERT INTO t VALUES (1)")
            assert session.execute("SELECT * FROM t").fetchall() == [(1,)]
    assert (tmp_path / "a" / ".acidsql.db").is_file()
    assert (tmp_path / "c d" / "t" / "delta_0000001_0000001_0000").is_dir()


def test_a_store_in_a_file_of_its_own(tmp_path, spark):
    url = f"sqlite:///{tmp_path}/stores%20here.db"
    with acidsql.connect(tmp_path / "w", metastore=url, spark=spark) as session:
        session.execute(f"CREATE TABLE t (id int) {ACID}")
    assert (tmp_path / "stores here.db").is_file()
    assert not (tmp_path / "w" / ".acidsql.db").exists()
    with acidsql.connect(tmp_path / "w", metastore=url, spark=spark) as session:
        assert session.execute("SHOW TABLES").fetchall() == [("t",)]


def test_a_store_in_memory_ends_with_its_session(tmp_path, spark):
    with acidsql.connect(tmp_path, metastore="memory:", spark=spark) as session:
        session.execute(f"CREATE TABLE t (id int) {ACID}")
    with acidsql.connect(tmp_path, metastore="memory:", spark=spark) as session:
        assert session.execute("SHOW TABLES").fetchall() == []


def test_a_spark_that_was_handed_in_is_not_stopped(tmp_path, spark):
    acidsql.connect(tmp_path, spark=spark).close()
    assert spark.range(3).count() == 3


def test_a_closed_session_says_so(tmp_path, spark):
    session = acidsql.connect(tmp_path, spark=spark)
    session.close()
    session.close()
    with pytest.raises(acidsql.ConfigError, match="closed"):
        session.execute("SHOW TABLES")


WITHOUT_SPARK = f"""
import sys
import acidsql
acidsql.execute("CREATE TABLE t (id int) {ACID}")
print(acidsql.execute("INSERT INTO t VALUES (1)").rows_inserted)
print(acidsql.execute("SHOW TABLES").fetchall())
acidsql.connect(sys.argv[1]).execute("INSERT INTO t VALUES (9, 'p')")
with acidsql.connect("w") as session:
    session.execute("CREATE TABLE t (id int, v string, d date) PARTITIONED BY (p int)"
                    " CLUSTERED BY (id) INTO 2 BUCKETS {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a', DATE '2026-01-01', 7), (2, NULL, NULL, 7)")
    session.execute("INSERT INTO t (id, p) VALUES (?, ?)", [3, 7])
    print(session.execute("ALTER TABLE t PARTITION (p = 7) COMPACT 'major' AND WAIT").message)
    print(session.run_cleaner(), session.execute("SHOW PARTITIONS t").fetchall())
print([name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j")])
"""


def test_a_process_without_spark(table, warehouse, tmp_path):
    """It has a default session, works on the store of this process, and on one of its own.

    Not even PySpark is imported for an INSERT of literals, its compaction and its cleaning.
    """
    lines = python(WITHOUT_SPARK, str(warehouse), cwd=tmp_path / "there").splitlines()
    assert lines[:2] == ["1", "[('t',)]"], "the default session"
    assert (tmp_path / "there" / "warehouse" / "t").is_dir()
    assert table.execute("SELECT v FROM t WHERE id = 9").fetchall() == [("p",)]
    assert "succeeded" in lines[3] or "ready for cleaning" in lines[3]
    assert lines[4:] == ["1 [('p=7',)]", "[]"]


# -- parameters ----------------------------------------------------------------------------------

TEXTS = [
    "it's", 'say "x"', "{0} {acidsql_0} {{}}", "${spark.app.name}", ":v ? ?", "日本 😀 ä",
    "back\\slash \\' \\n", "'; DROP TABLE t; --", "-- no comment", "/* no */", "", " ",
    "a\nb\tc", "`q`",
]  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [TEXTS, *(pytest.param([text], marks=pytest.mark.thorough) for text in TEXTS)],
    ids=["all", *TEXTS],
)
def test_texts_are_bound_as_values(session, texts):
    """Several in one statement, too."""
    numbers = range(len(texts))
    names = {f"v{n}": text for n, text in enumerate(texts)}
    values = " ".join(f"WHEN {n} THEN :v{n}" for n in numbers)
    session.execute(f"CREATE TABLE t (id int, n int, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (2, -1, 'b')")
    for n, text in enumerate(texts):
        session.execute("INSERT INTO t VALUES (?, ?, ?)", [1, n, "a"])
        session.execute("INSERT INTO t VALUES (?, ?, ?)", [10, n, text])
    session.execute(
        "INSERT INTO t " + " UNION ALL ".join(f"SELECT :id, {n}, :v{n}" for n in numbers),
        {"id": 11, **names},
    )
    session.execute(f"UPDATE t SET v = CASE n {values} END WHERE id = :id", {"id": 1, **names})
    session.execute(
        "MERGE INTO t USING (SELECT :k AS k, explode(sequence(0, :last)) AS n) AS s"
        " ON t.id = s.k AND t.n = s.n"
        f" WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.n, CASE s.n {values} END)",
        {"k": 12, "last": numbers[-1], **names},
    )
    marks = ", ".join("?" for _ in texts)
    found = session.execute(f"SELECT id, n, v FROM t WHERE v IN ({marks})", texts).fetchall()
    assert sorted(found) == [(k, n, text) for k in (1, 10, 11, 12) for n, text in enumerate(texts)]
    [shown] = session.execute(f"SELECT {marks} FROM t WHERE id = 2", texts).fetchall()
    assert shown == tuple(texts)
    listed = ", ".join(f":{name}" for name in names)
    deleted = session.execute(f"DELETE FROM t WHERE v IN ({listed})", names)
    assert deleted.rows_deleted == 4 * len(texts)
    assert session.execute("SELECT * FROM t").fetchall() == [(2, -1, "b")]


def test_values_of_every_kind_are_bound(session):
    session.execute(
        "CREATE TABLE k (i int, b boolean, d date, ts timestamp, m decimal(20,5), x double,"
        f" n string, bin binary) {ACID}"
    )
    row = (
        7, True, datetime.date(2026, 2, 3), datetime.datetime(2026, 2, 3, 4, 5, 6, 789),
        Decimal("-123456789.12345"), 0.1, None, b"\x00\xff",
    )  # fmt: skip
    session.execute("INSERT INTO k VALUES (?, ?, ?, ?, ?, ?, ?, ?)", list(row))
    session.execute("INSERT INTO k SELECT ?, ?, ?, ?, ?, ?, ?, ?", row)
    first, second = session.execute("SELECT * FROM k").fetchall()
    assert first == second == row
    names = dict(zip("ibdtmxnz", row, strict=True))
    session.execute("UPDATE k SET d = :d, m = :m, n = :n WHERE i = :i AND d = :d", names)
    assert session.execute("SELECT * FROM k").fetchall() == [row, row]


def test_a_time_of_numpy_is_no_number(session):
    moments = [np.datetime64("2026-12-31T12:00:00", "ns"), pd.NaT, np.longdouble("0.5")]
    sql = "SELECT typeof(?), ?"
    kinds = [session.execute(sql, [value, value]).fetchone() for value in moments[:2]]
    assert kinds == [("timestamp_ntz", datetime.datetime(2026, 12, 31, 12)), ("void", None)]
    with pytest.raises(acidsql.AnalysisError, match="no SQL value for longdouble"):
        session.execute("SELECT ?", moments[2:])


@pytest.mark.parametrize(
    "value",
    [[1, 2**31], [-(2**63), 0], [1, 2], [None, None], {"a": 1, "b": 2**40}, {}, []],
    ids=repr,
)
def test_lists_and_dicts_of_one_type_are_bound(session, value):
    assert session.execute("SELECT :v", {"v": value}).fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("value", "mixed"),
    [([1, None], "NoneType and int"), ([True, 1], "bool and int"), ({"a": 1, "b": "x"}, "int and")],
    ids=repr,
)
def test_lists_and_dicts_of_several_types_are_refused(session, value, mixed):
    with pytest.raises(acidsql.AnalysisError, match=f'"v" cannot be bound: .* mixes {mixed}'):
        session.execute("SELECT :v", {"v": value})


def test_args_must_be_a_list_or_a_dict(table):
    with pytest.raises(acidsql.AnalysisError, match="list or a dict"):
        table.execute("SELECT ?", "x")


# -- Result --------------------------------------------------------------------------------------


def test_rows_in_every_form(table):
    sql = "SELECT id, v AS `the v` FROM t ORDER BY id"
    rows = [(1, "a"), (2, "b")]
    assert table.execute(sql).columns == ["id", "the v"]
    assert table.execute(sql).fetchall() == rows
    assert list(table.execute(sql)) == rows
    assert table.execute(sql).arrow().to_pylist() == [{"id": i, "the v": v} for i, v in rows]
    assert table.execute(sql).pandas().to_numpy().tolist() == [[1, "a"], [2, "b"]]
    assert [tuple(row) for row in table.execute(sql).df.collect()] == rows


def test_an_empty_array_without_a_type_as_arrow(table):
    sql = "SELECT array() AS a, map('k', null) AS m, map() AS e, named_struct('x', array()) AS s"
    [row] = table.execute(sql).arrow().to_pylist()
    assert row == {"a": [], "m": [("k", None)], "e": [], "s": {"x": []}}


def test_fetching_goes_on_where_it_stopped(table):
    result = table.execute("SELECT id FROM t ORDER BY id")
    assert result.fetchone() == (1,)
    assert result.fetchall() == [(2,)]
    assert result.fetchone() is None
    assert result.fetchall() == []
    assert list(result) == []


def test_counts_and_ids(table):
    inserted = table.execute("INSERT INTO t VALUES (3, 'c')")
    updated = table.execute("UPDATE t SET v = 'x' WHERE id < 3")
    deleted = table.execute("DELETE FROM t WHERE id = 3")
    counts = [
        (r.rows_inserted, r.rows_updated, r.rows_deleted) for r in (inserted, updated, deleted)
    ]
    assert counts == [(1, 0, 0), (0, 2, 0), (0, 0, 1)]
    ids = [r.write_ids for r in (inserted, updated, deleted)]
    assert ids == [{"default.t": 2}, {"default.t": 3}, {"default.t": 4}]
    assert inserted.txn_id < updated.txn_id < deleted.txn_id
    assert inserted.columns == []
    assert inserted.fetchall() == []
    with pytest.raises(acidsql.AcidSqlError):
        _ = inserted.df
    assert table.execute("ALTER TABLE t COMPACT 'minor'").message == "Compaction enqueued with id 1"
    truncate = table.execute("TRUNCATE TABLE t")
    assert (truncate.rows_inserted, truncate.rows_deleted) == (None, None)
    assert len(truncate.write_ids) == 1
    select = table.execute("SELECT 1")
    assert (select.rows_inserted, select.rows_updated, select.rows_deleted) == (None, None, None)


def test_a_frame_is_lazy_and_keeps_its_snapshot(table):
    frame = table.execute("SELECT * FROM t").df
    lazy = table.table("t")
    table.execute("INSERT INTO t VALUES (3, 'c')")
    assert frame.count() == 2
    assert lazy.count() == 2
    assert table.table("default.t").count() == 3


def test_a_result_that_is_dropped_lets_go(table):
    result = table.execute("SELECT * FROM t")
    assert len(table.execute("SHOW TRANSACTIONS").fetchall()) == 1
    frame = result.df
    del result
    gc.collect()
    assert frame.count() == 2
    assert len(table.execute("SHOW TRANSACTIONS").fetchall()) == 1, "the frame keeps it"
    del frame
    gc.collect()
    table.run_cleaner()  # it waits until what was collected is released
    assert table.execute("SHOW TRANSACTIONS").fetchall() == []


def test_a_vacuum_leaves_what_a_lazy_frame_may_read(table):
    frame = table.execute("SELECT * FROM t").df
    table.execute("INSERT INTO t VALUES (9, 'z')")
    table.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert table.execute("VACUUM t").fetchall() == []
    assert frame.count() == 2
    del frame
    gc.collect()
    found = table.execute("VACUUM t DRY RUN").fetchall()
    assert [row[2] for row in found] == ["replaced by a compaction"] * 2
    assert table.execute("VACUUM t").fetchall() == found
    assert table.execute("SELECT count(*) FROM t").fetchall() == [(3,)]


def test_a_result_as_a_context_manager(table):
    with table.execute("SELECT * FROM t") as result:
        assert len(table.execute("SHOW LOCKS").fetchall()) == 1
        _ = result.df
    assert table.execute("SHOW LOCKS").fetchall() == []
    assert table.execute("SHOW TRANSACTIONS").fetchall() == []


def test_shows_have_the_columns_of_hive(table):
    table.execute("ALTER TABLE t COMPACT 'minor'")
    with table.execute("SELECT * FROM t"):
        (lock,) = table.execute("SHOW LOCKS t").fetchall()
        assert table.execute("SHOW LOCKS").columns[:5] == [
            "lockid", "database", "table", "partition", "lock_state",
        ]  # fmt: skip
        assert lock[1:5] == ("default", "t", "NULL", "ACQUIRED")
        assert lock[6] == "SHARED_READ"
        (txn,) = table.execute("SHOW TRANSACTIONS").fetchall()
        assert txn[1] == "OPEN"
    compactions = table.execute("SHOW COMPACTIONS")
    assert compactions.columns[:6] == [
        "compactionid", "dbname", "tabname", "partname", "type", "state",
    ]  # fmt: skip
    assert compactions.fetchall()[0][:6] == ("1", "default", "t", " --- ", "MINOR", "initiated")
    assert table.run_worker() == 0
    (row,) = table.execute("SHOW COMPACTIONS").fetchall()
    assert row[5] == "refused"


# -- sources -------------------------------------------------------------------------------------


def test_merge_from_a_registered_frame(table, spark):
    table.register("Changes", spark.sql("SELECT * FROM VALUES (2, 'B'), (3, 'C') AS c(id, v)"))
    result = table.execute(
        "MERGE INTO t USING changes AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert (result.rows_inserted, result.rows_updated) == (1, 1)
    assert sorted(table.execute("SELECT * FROM t").fetchall()) == [(1, "a"), (2, "B"), (3, "C")]
    assert table.execute("SELECT count(*) FROM CHANGES").fetchone() == (2,)


def test_a_registered_frame_comes_before_a_table_of_its_name(table, spark):
    table.register("t", spark.range(5))
    assert table.execute("SELECT count(*) FROM t").fetchone() == (5,)
    assert table.execute("SELECT count(*) FROM default.t").fetchone() == (2,)
    assert table.execute("INSERT INTO t VALUES (3, 'c')").rows_inserted == 1


def test_what_is_no_frame_cannot_be_registered(table):
    with pytest.raises(acidsql.AnalysisError, match="list"):
        table.register("x", [1, 2])


def test_a_temporary_view_is_a_source(table, spark):
    spark.sql("SELECT 7 AS id, 'view' AS v").createOrReplaceTempView("a_view")
    assert table.execute("SELECT v FROM a_view").fetchall() == [("view",)]
    table.execute("INSERT INTO t SELECT * FROM a_view")
    table.execute("DELETE FROM t WHERE id IN (SELECT id FROM a_view)")
    assert table.execute("SELECT count(*) FROM t").fetchone() == (2,)
    spark.catalog.dropTempView("a_view")


def test_a_merge_of_a_table_into_itself_through_a_frame(table):
    table.register("mine", table.table("t"))
    table.execute(
        "MERGE INTO t USING mine ON t.id = mine.id"
        " WHEN MATCHED THEN UPDATE SET v = concat(mine.v, '!')"
    )
    assert sorted(table.execute("SELECT v FROM t").fetchall()) == [("a!",), ("b!",)]


# -- scripts -------------------------------------------------------------------------------------


def test_a_script_runs_as_its_results_are_asked_for(table):
    results = table.execute_script(
        "INSERT INTO t VALUES (3, 'c;d'); -- one\n\n  DELETE FROM t\nWHERE id = 1;;\nSELECT 1"
    )
    assert table.execute("SELECT count(*) FROM t").fetchone() == (2,)
    first = next(results)
    assert (first.rows_inserted, first.line, first.column) == (1, 1, 1)
    assert table.execute("SELECT count(*) FROM t").fetchone() == (3,)
    second = next(results)
    assert (second.rows_deleted, second.line) == (1, 1)
    assert second.statement == "-- one\n\n  DELETE FROM t\nWHERE id = 1", "with its comment"
    assert next(results).fetchall() == [(1,)]
    assert list(results) == []


def test_an_error_of_a_script_has_its_place_in_the_script(table):
    results = table.execute_script("SELECT 1;\n  SELECT *\n FROM absent")
    next(results)
    with pytest.raises(acidsql.TableNotFoundError) as caught:
        next(results)
    assert (caught.value.line, caught.value.column) == (3, 7)
    script = table.execute_script("-- why\n\n SELECT 1 FROM (SELECT 1) WHERE a")
    with pytest.raises(acidsql.ColumnNotFoundError) as caught:
        next(script)
    assert (caught.value.line, caught.value.column) == (3, 33)
    script = table.execute_script("-- why\n\n INSERT INTO t SELECT 1")
    with pytest.raises(acidsql.AnalysisError) as caught:
        next(script)
    assert (caught.value.line, caught.value.column) == (3, 2), "not that of the comment"


# -- several sessions ----------------------------------------------------------------------------


def test_two_sessions_on_one_store(table, warehouse, spark):
    with acidsql.connect(warehouse, spark=spark) as other:
        assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)
        other.execute("UPDATE t SET v = 'other' WHERE id = 1")
        assert table.execute("SELECT v FROM t WHERE id = 1").fetchone() == ("other",)
        other.execute("CREATE DATABASE d")
        other.execute("USE d")
        assert table.execute("SHOW TABLES").fetchall() == [("t",)], "USE is a session's own"
        assert other.execute("SHOW TABLES").fetchall() == []


def test_concurrent_inserts(table, warehouse, spark):
    sessions = [acidsql.connect(warehouse, spark=spark) for _ in range(4)]

    def insert(number):
        for n in range(5):
            sessions[number].execute("INSERT INTO t VALUES (?, 'x')", [100 * number + n + 10])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(insert, range(4)))
    for session in sessions:
        session.close()
    assert table.execute("SELECT count(DISTINCT id), count(*) FROM t").fetchone() == (22, 22)


def test_concurrent_updates_lose_nothing(warehouse, spark):
    """Each waits for the other's lock and then sees what it did."""
    config = {"hive.lock.sleep.between.retries": "1s"}
    sessions = [acidsql.connect(warehouse, spark=spark, config=config) for _ in range(2)]
    sessions[0].execute(f"CREATE TABLE c (id int, n int) {ACID}")
    sessions[0].execute("INSERT INTO c VALUES (1, 0)")
    barrier = threading.Barrier(2)

    def count(session):
        barrier.wait()
        for _ in range(2):
            session.execute("UPDATE c SET n = n + 1 WHERE id = 1")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count, sessions))
    assert sessions[1].execute("SELECT * FROM c").fetchall() == [(1, 4)]
    for session in sessions:
        session.close()


def test_one_session_in_several_threads(table):
    def insert(number):
        return table.execute("INSERT INTO t VALUES (?, 'x')", [number]).rows_inserted

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(insert, range(10, 20))) == 10
        counts = list(
            pool.map(lambda _: table.execute("SELECT count(*) FROM t").fetchone(), range(4))
        )
    assert counts == [(12,)] * 4


# -- the batch runner ----------------------------------------------------------------------------


def test_run_formats_and_statuses(tmp_path, spark):
    script = tmp_path / "script.sql"
    script.write_text(
        f"CREATE TABLE t (id int, v string) {ACID};\nINSERT INTO t VALUES (1, 'a,b'), (2, NULL);\n"
    )
    done = acidsql_command("run", "--warehouse", "w", str(script), cwd=tmp_path)
    announced = f"acidsql: made a new store for the warehouse {tmp_path / 'w'}\n"
    assert (done.returncode, done.stderr) == (0, announced)
    assert "2 rows inserted (txn 2, write id 1)" in done.stdout
    # Line ends are part of the formats.
    described = 'col_name,data_type,comment\r\nid,int,""\r\nv,string,""\r\n'
    options = ("--warehouse", "w", "-q", "--format", "csv", "-")
    piped = acidsql_command("run", *options, cwd=tmp_path, given=b"DESCRIBE t", text=False)
    assert (piped.returncode, piped.stdout.decode()) == (0, described), piped.stderr
    query = "SELECT id, v FROM t ORDER BY id"
    for name, sql, expected in (
        ("csv", "DESCRIBE t", described),
        ("tsv", "DESCRIBE t", "col_name\tdata_type\tcomment\nid\tint\t\nv\tstring\t\n"),
        ("csv", query, 'id,v\r\n1,"a,b"\r\n2,\r\n'),
        ("jsonl", query, '{"id":1,"v":"a,b"}\n{"id":2,"v":null}\n'),
    ):
        done = CliRunner().invoke(
            main, ["run", "--warehouse", str(tmp_path / "w"), "-q", "--format", name, "-e", sql]
        )
        assert done.exit_code == 0, done.stderr
        assert done.stdout_bytes.decode() == expected, name


def test_run_stops_at_the_first_error(tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(
        f"CREATE TABLE t (id int) {ACID};\n\n"
        "  INSERT INTO absent\n VALUES (1);\nINSERT INTO t VALUES (1);"
    )
    done = acidsql_command("run", "--warehouse", "w", str(script), cwd=tmp_path)
    assert done.returncode == 3
    assert f"{script}:3:15: " in done.stderr
    assert "absent" in done.stderr
    assert "Traceback" not in done.stderr
    options = ["--warehouse", str(tmp_path / "w"), "--format", "json"]
    done = CliRunner().invoke(main, ["run", *options, "-e", "SHOW TABLES"])
    assert done.exit_code == 0
    assert [list(row.values()) for row in json.loads(done.stdout)] == [["t"]]


# -- the notebook --------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.warn_venv = False  # another one may be active
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


def test_a_cell_runs_in_a_real_session(shell, tmp_path, capsys, spark):
    shell.run_line_magic("load_ext", "acidsql")
    shell.run_cell_magic(
        "acidsql",
        f"--connect {tmp_path / 'w'}",
        f"CREATE TABLE t (id int, v string) {ACID};\nINSERT INTO t VALUES (1, '<b>')",
    )
    assert "1 row inserted" in capsys.readouterr().out
    shell.user_ns["wanted"] = 1
    shell.run_cell_magic("acidsql", "", "SELECT id, v FROM t WHERE id = :wanted")
    assert "1 | <b>" in capsys.readouterr().out
    shell.run_line_magic("acidsql", "rows << SELECT id + 1 FROM t")
    assert shell.user_ns["rows"].fetchall() == [(2,)]
    with pytest.raises(acidsql.TableNotFoundError):
        shell.run_line_magic("acidsql", "SELECT * FROM absent")
