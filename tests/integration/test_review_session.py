"""Settings of a session that was handed in do not change what is read and written."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.engines.spark.settings import PUSHED_NESTED, V1_READERS

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.legacy.charVarcharAsString": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96TimestampConversion": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture
def session(spark, tmp_path):
    before = {key: spark.conf.get(key) for key in SETTINGS}
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    with acidsql.connect(str(tmp_path), spark=spark) as session:
        session.execute(
            "CREATE TABLE t (id int, v string, ts timestamp) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        yield session
    for key, value in before.items():
        spark.conf.set(key, value)


def test_timestamps_are_read(session):
    session.execute("INSERT INTO t (id, ts) VALUES (1, '2020-03-08 02:30:00')")
    moment = datetime.datetime(2020, 3, 8, 2, 30)
    assert session.execute("SELECT ts FROM t WHERE id = 1").fetchall() == [(moment,)]


def test_old_days_of_parquet_files_are_read(session):
    session.execute(
        "CREATE TABLE p (d date, ts timestamp) STORED AS PARQUET"
        " TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
    )
    old = [(datetime.date(1, 1, 1), datetime.datetime(1582, 10, 4, 12))]
    session.execute("INSERT INTO p VALUES (?, ?)", old[0])
    assert session.execute("SELECT * FROM p").fetchall() == old
    session.execute("INSERT OVERWRITE p SELECT * FROM p")
    assert session.execute("SELECT * FROM p WHERE d = DATE'0001-01-01'").fetchall() == old


def test_timestamps_of_parquet_files_are_not_converted(session, spark, caplog):
    session.execute(
        "CREATE TABLE p (ts timestamp) STORED AS PARQUET"
        " TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
    )
    moment = datetime.datetime(2020, 1, 1, 12)
    session.execute("INSERT INTO p VALUES (?)", [moment])
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        session.execute("INSERT OVERWRITE p SELECT * FROM p")
        assert session.execute("SELECT ts FROM p").fetchall() == [(moment,)]
        assert list(session.execute("SELECT ts FROM p")) == [(moment,)]
        assert not caplog.records
        session.table("p")
        assert "have shifted timestamps" in caplog.text
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_days_become_texts_of_the_same_days(session):
    session.execute(
        "CREATE TABLE p (id int, d date) PARTITIONED BY (p date) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO p SELECT 1, DATE '1582-10-10', DATE '1582-10-10'")
    assert session.execute("SHOW PARTITIONS p").fetchall() == [("p=1582-10-10",)]
    session.execute("ANALYZE TABLE p COMPUTE STATISTICS FOR COLUMNS")
    day = datetime.date(1582, 10, 10)
    assert session.execute("SELECT max(p), max(d) FROM p").fetchall() == [(day, day)]


def test_string_literals_are_those_of_the_grammar(session):
    session.execute(r"INSERT INTO t (id, v) VALUES (1, 'a\\b')")
    session.execute(r"INSERT INTO t (id, v) SELECT 2, 'a\\b'")
    session.execute(r'INSERT INTO t (id, v) SELECT 3, "a\\b"')
    assert session.execute("SELECT v FROM t").fetchall() == [("a\\b",)] * 3
    assert session.execute(r'DELETE FROM t WHERE v = "a\\b"').rows_deleted == 3


def test_spaces_at_the_end_of_a_char_do_not_count(session):
    session.execute("CREATE TABLE c (c char(5)) TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO c VALUES ('ab'), ('cd')")
    session.execute("INSERT INTO c SELECT c FROM c WHERE c = 'ab'")
    assert session.execute("SELECT count(*) FROM c WHERE c = 'ab'").fetchall() == [(2,)]
    assert session.execute("DELETE FROM c WHERE c IN ('ab', 'ef')").rows_deleted == 2
    assert session.execute("SELECT * FROM c").fetchall() == [("cd   ",)]


def test_names_are_matched_in_lower_case(session):
    session.execute("INSERT INTO t (id) VALUES (1)")
    session.execute("INSERT INTO t (id) VALUES (9)")
    assert session.execute("SELECT ID FROM T AS a WHERE A.Id = 9").fetchall() == [(9,)]
    with pytest.raises(acidsql.AcidSqlError, match="AMBIGUOUS"):
        session.execute("SELECT a.id, A.id FROM t AS a CROSS JOIN t AS A WHERE A.id = 9").fetchall()


def test_settings_made_between_statements(session, spark):
    session.execute(
        "CREATE TABLE p (id int) PARTITIONED BY (d string) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute(r"INSERT INTO p VALUES (1, 'it''s\\')")
    assert session.execute("SELECT id FROM p").fetchall() == [(1,)]
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    session.execute(r"INSERT INTO p SELECT id + 1, 'it''s\\' FROM p")
    assert session.execute(r"SELECT id FROM p WHERE d = 'it''s\\'").fetchall() == [(1,), (2,)]
    assert session.execute("SELECT DISTINCT d FROM p").fetchall() == [("it's\\",)]


def test_rows_that_are_handed_to_spark(session, monkeypatch):
    """Those of a MERGE's source, of deleted rows, of partitions."""
    monkeypatch.setattr("acidsql.engines.spark.places.MAP_FILES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.gateway.java_classes", lambda spark: None)
    session.execute(
        "CREATE TABLE p (id int) PARTITIONED BY (d int) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)")
    session.execute(
        "MERGE INTO p USING (SELECT 2 AS id, 2 AS d UNION ALL SELECT 4, 4) AS s ON p.id = s.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.d)"
    )
    rows = session.execute("SELECT id, d FROM p").fetchall()
    assert sorted(rows) == [(1, 1), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    ("corrupt", "kind"),
    [
        (True, "delta_0"),
        (False, "delete_delta_0"),
        pytest.param(True, "delete_delta_0", marks=pytest.mark.thorough),
        pytest.param(False, "delta_0", marks=pytest.mark.thorough),
    ],
)
def test_a_file_that_cannot_be_read_is_never_passed_over(
    session, tmp_path, monkeypatch, kind, corrupt
):
    monkeypatch.setattr("acidsql.engines.spark.deletes.BROADCAST_BYTES_MAX", 0)
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    session.execute("INSERT INTO t (id) VALUES (1), (2)")
    session.execute("DELETE FROM t WHERE id = 1")
    result = session.execute("SELECT id FROM t")
    path = next(Path(tmp_path, "t").glob(f"{kind}*/bucket_00000"))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.unlink()
    if corrupt:
        path.write_bytes(b"not an ORC file at all")
    with pytest.raises(acidsql.AcidSqlError):
        result.fetchall()


def everything(spark):
    return dict(spark.conf.getAll)


def statements(session):
    session.execute("INSERT INTO t (id, v) VALUES (1, 'a'), (2, 'b')")
    session.execute("INSERT INTO t (id, v) SELECT id + 2, v FROM t")
    session.execute("UPDATE t SET v = upper(v) WHERE ID > 3")
    session.execute("MERGE INTO t USING t AS s ON t.id = s.id + 9 WHEN MATCHED THEN DELETE")
    session.execute("EXPLAIN SELECT * FROM t")
    session.execute("SELECT v FROM t WHERE ID > 3").fetchall()
    with session.execute("SELECT v FROM t ORDER BY 1") as result:
        result.fetchone()
    session.execute("SELECT v FROM t").pandas()
    session.execute("SELECT v FROM t").arrow()
    with pytest.raises(acidsql.AcidSqlError):
        session.execute("SELECT nobody FROM t")
    with pytest.raises(acidsql.AcidSqlError):
        session.execute("UPDATE t SET id = id / (id - id)")


SPARKS_OWN = {"spark.sql.variable.substitute": "true", PUSHED_NESTED: "parquet,orc"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        (SPARKS_OWN, False),
        (SETTINGS, False),
        pytest.param(SPARKS_OWN, True, marks=pytest.mark.thorough),
        pytest.param(SETTINGS, True, marks=pytest.mark.thorough),
    ],
    ids=["defaults", "everything else", "defaults, repeated", "everything else, repeated"],
)
def test_a_session_that_was_handed_in_stays_as_it_was(spark, tmp_path, given, repeated):
    fresh = spark.newSession()
    for key, value in given.items():
        fresh.conf.set(key, value)
    before = everything(fresh)
    with acidsql.connect(str(tmp_path), spark=fresh) as session:
        session.execute(
            "CREATE TABLE t (id int, v string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        statements(session)
        assert everything(fresh) == before
        frame = session.execute("SELECT v FROM t WHERE id = 4").df
        kept = {PUSHED_NESTED: "parquet", V1_READERS: "orc,parquet,text"}
        if given.get(V1_READERS) is None:
            del kept[V1_READERS]
        assert everything(fresh) == {**before, **kept}
        if repeated:
            statements(session)
        else:
            session.execute("UPDATE t SET v = upper(v) WHERE ID > 3")
            session.execute("SELECT v FROM t WHERE ID > 3").fetchall()
        assert everything(fresh) == {**before, **kept}
        assert [row.v for row in frame.collect()] == ["B"]
    assert everything(fresh) == {**before, **kept}


def test_the_callers_own_texts_mean_what_they_meant(spark, tmp_path):
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    fresh.conf.set("spark.sql.caseSensitive", "true")
    fresh.conf.set("spark.sql.variable.substitute", "true")
    fresh.conf.set("x", "7")
    with acidsql.connect(str(tmp_path), spark=fresh) as session:
        session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'true')")
        session.execute("INSERT INTO t VALUES (1), (2)")
        frame = session.table("t")
        assert session.execute('SELECT "a" FROM t WHERE ID = 1').fetchall() == [("a",)]
        frame.createOrReplaceTempView("mine")
        assert fresh.sql('SELECT "id" + ${x} AS s FROM mine WHERE "id" = 2').collect()[0].s == 9
        with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
            fresh.sql("SELECT ID FROM mine").collect()


def test_settings_that_the_caller_changes_between_statements(spark, tmp_path):
    """What was known of the settings is no longer true, and true again after the second change."""
    fresh, key = spark.newSession(), "spark.sql.caseSensitive"
    with acidsql.connect(str(tmp_path), spark=fresh) as session:
        session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'true')")
        session.execute("INSERT INTO t VALUES (1), (2)")
        for value in ("false", "true", "true", "false", "true"):
            fresh.conf.set(key, value)
            before = everything(fresh)
            assert session.execute("SELECT ID FROM t WHERE Id = 1").fetchall() == [(1,)]
            assert everything(fresh) == before
        fresh.conf.unset(key)
        assert session.execute("SELECT ID FROM t WHERE Id = 2").fetchall() == [(2,)]
        assert key not in everything(fresh)


def test_blocks_of_several_threads_leave_the_session_as_it_was(spark, tmp_path):
    fresh = spark.newSession()
    with acidsql.connect(str(tmp_path), spark=fresh) as session:
        session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'true')")
        session.execute("INSERT INTO t VALUES (1), (2)")
        before = everything(fresh)
        with ThreadPoolExecutor(4) as threads:
            reads = [
                threads.submit(lambda n=n: session.execute(f"SELECT ID + {n} FROM t").fetchall())
                for n in range(12)
            ]
            assert [sorted(r.result()) for r in reads] == [[(n + 1,), (n + 2,)] for n in range(12)]
        assert everything(fresh) == before


def test_a_frame_in_a_session_that_tells_cases_apart(spark, tmp_path):
    """Columns of files that others wrote, in upper case and under the names of other columns."""
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.caseSensitive", "true")
    (tmp_path / "in").mkdir()
    orc.write_table(
        pa.table({"ID": pa.array([1, 2], pa.int32()), "V": ["a", "b"]}), f"{tmp_path}/in/x"
    )
    with acidsql.connect(str(tmp_path / "w"), spark=fresh) as session:
        session.execute(
            "CREATE TABLE t (id int, v string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/in' INTO TABLE t")
        session.execute("INSERT INTO t VALUES (3, 'c')")
        session.execute("DELETE FROM t WHERE id = 1")
        frames = [session.table("t"), session.execute("SELECT id, v FROM t").df]
        for frame in frames:
            assert sorted(map(tuple, frame.collect())) == [(2, "b"), (3, "c")]
            assert [tuple(r) for r in frame.where("id = 2").collect()] == [(2, "b")]


@pytest.fixture
def others(spark):
    """Makes another session, with `SETTINGS`, the active one; returns Spark's object for it."""
    sessions, other = spark._jvm.SparkSession, spark.newSession()
    for key, value in SETTINGS.items():
        other.conf.set(key, value)
    before = sessions.getActiveSession()

    def activate():
        sessions.setActiveSession(other._jsparkSession)
        return other._jsparkSession

    yield activate
    if before.isDefined():
        sessions.setActiveSession(before.get())
    else:
        sessions.clearActiveSession()


def test_settings_of_another_session_that_is_active(spark, tmp_path, others):
    with acidsql.connect(str(tmp_path), spark=spark) as session:

        def run(sql):
            other = others()
            rows = session.execute(sql).fetchall()
            assert spark._jvm.SparkSession.getActiveSession().get() == other
            return rows

        run(
            "CREATE TABLE t (id int, `a.b` string, at timestamp)"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        run(r"INSERT INTO t SELECT id, 'a\\b', TIMESTAMP '2020-03-08 02:30:00' FROM range(3)")
        run(r"UPDATE t SET `a.b` = 'it''s' WHERE `a.b` = 'a\\b' AND ID = 1")
        run(
            r"MERGE INTO t USING (SELECT 2 AS k UNION ALL SELECT 3) s ON id = k"
            r" WHEN MATCHED AND `a.b` = 'a\\b' THEN UPDATE SET `a.b` = 'c\\d'"
            r" WHEN NOT MATCHED THEN INSERT (id) VALUES (k)"
        )
        run(r"DELETE FROM t WHERE `a.b` = 'a\\b'")
        rows = run(r"SELECT Id, `a.b`, at, 'a\\b' FROM t ORDER BY id")
    at = datetime.datetime(2020, 3, 8, 2, 30)
    assert rows == [(1, "it's", at, "a\\b"), (2, "c\\d", at, "a\\b"), (3, None, None, "a\\b")]


def test_a_thread_without_an_active_session(session):
    """Also in a thread, where Spark knows no session, its settings are those of the session."""

    def insert():
        session.execute("INSERT INTO t (id, ts) SELECT 1, TIMESTAMP '2020-03-08 02:30:00'")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(insert).result()
    moment = datetime.datetime(2020, 3, 8, 2, 30)
    assert session.execute("SELECT ts FROM t").fetchall() == [(moment,)]
