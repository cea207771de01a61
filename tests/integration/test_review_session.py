"""Settings of a session that was handed in do not change what is read and written."""

import datetime
from pathlib import Path

import pytest

import acidsql
from acidsql.engines.spark.session import PUSHED_NESTED, SparkHolder

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture(scope="module")
def spark():
    holder = SparkHolder(None, {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    yield holder.get()
    holder.close()


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


def test_string_literals_are_those_of_the_grammar(session):
    session.execute(r"INSERT INTO t (id, v) VALUES (1, 'a\\b')")
    session.execute(r"INSERT INTO t (id, v) SELECT 2, 'a\\b'")
    session.execute(r'INSERT INTO t (id, v) SELECT 3, "a\\b"')
    assert session.execute("SELECT v FROM t").fetchall() == [("a\\b",)] * 3
    assert session.execute(r'DELETE FROM t WHERE v = "a\\b"').rows_deleted == 3


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
    monkeypatch.setattr("acidsql.engines.spark.partitions.MAP_FILES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.row_bitmap.STRETCHES_MAX", 0)
    session.execute(
        "CREATE TABLE p (id int) PARTITIONED BY (d int) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)")
    session.execute(
        "MERGE INTO p USING (SELECT 2 AS id, 2 AS d UNION ALL SELECT 4, 4) AS s ON p.id = s.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.d)"
    )
    rows = session.execute("SELECT id, d FROM p ORDER BY id").fetchall()
    assert rows == [(1, 1), (3, 3), (4, 4)]


@pytest.mark.parametrize("kind", ["delta_0", "delete_delta_0"])
@pytest.mark.parametrize("corrupt", [True, False])
def test_a_file_that_cannot_be_read_is_never_passed_over(
    session, tmp_path, monkeypatch, kind, corrupt
):
    monkeypatch.setattr("acidsql.engines.spark.deletes.BROADCAST_BYTES_MAX", 0)
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


def test_no_other_setting_of_a_session_is_touched(spark):
    fresh, untouched = spark.newSession(), spark.newSession()
    SparkHolder(fresh, {}).get()
    keys = [*SETTINGS, "spark.sql.variable.substitute", PUSHED_NESTED]
    changed = {k: fresh.conf.get(k) for k in keys if fresh.conf.get(k) != untouched.conf.get(k)}
    assert changed == {"spark.sql.variable.substitute": "false", PUSHED_NESTED: "parquet"}
