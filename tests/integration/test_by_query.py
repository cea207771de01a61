"""Files of Hive 4's compactions by a query, read and changed with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.orc as pa_orc
import pytest

from acidsql.session.session import Session
from tests.unit.orc.events import write_by_query


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["Spark", "driver"])
def test_rows_are_read_and_changed(
    session: Session, warehouse: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either of the two reads the files."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", small)
    session.execute(
        "CREATE TABLE t (id int, v string, at timestamp) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    at = "timestamp'2001-01-01 00:00:01.5'"
    session.execute(f"INSERT INTO t SELECT id, concat('v', id), {at} FROM range(20)")
    session.execute("DELETE FROM t WHERE id IN (3, 4, 17)")
    before = session.execute("SELECT row__id, * FROM t ORDER BY id").fetchall()
    for file in warehouse.rglob("bucket_*"):
        write_by_query(file, pa_orc.ORCFile(str(file)).read())
    assert session.execute("SELECT row__id, * FROM t ORDER BY id").fetchall() == before
    assert session.execute("SELECT count(*), max(v) FROM t WHERE id > 15").fetchone() == (3, "v19")
    assert session.execute("CHECK TABLE t").fetchall() == []
    session.execute("UPDATE t SET v = 'u' WHERE id = 5")
    session.execute("DELETE FROM t WHERE id < 2")
    after = session.execute("SELECT row__id, * FROM t ORDER BY id").fetchall()
    assert [row[1] for row in after] == [2, *range(5, 17), 18, 19]
    for kind in ("minor", "major"):
        session.execute(f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
        session.run_cleaner()
        assert session.execute("SELECT row__id, * FROM t ORDER BY id").fetchall() == after
        assert session.execute("CHECK TABLE t").fetchall() == []


def write_table_by_query(session: Session, warehouse: Path) -> None:
    """A table t of 20 rows, less three, in files of compactions by a query."""
    session.execute(
        "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t SELECT id FROM range(20)")
    session.execute("DELETE FROM t WHERE id IN (3, 4, 17)")
    for file in warehouse.rglob("bucket_*"):
        write_by_query(file, pa_orc.ORCFile(str(file)).read())


def test_frames_of_a_session_to_which_letters_count(
    session: Session, spark: Any, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark plans them by the session's own rules, and finds no row ids by their usual names."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    monkeypatch.setattr("acidsql.engines.spark.event_format.FLAT_BYTES_MIN", 1 << 40)
    write_table_by_query(session, warehouse)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with session.execute("SELECT id FROM t") as result:
            assert result.df.count() == 17
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("most", [0, 1 << 20], ids=["Spark reads deletes", "driver reads deletes"])
def test_a_frame_that_spark_reads_by_other_rules_than_it_was_made_by(
    session: Session, spark: Any, warehouse: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would find no row ids, and deleted rows would be back."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    monkeypatch.setattr("acidsql.engines.spark.event_format.FLAT_BYTES_MIN", 1 << 40)
    monkeypatch.setattr("acidsql.engines.spark.deletes.BROADCAST_BYTES_MAX", most)
    write_table_by_query(session, warehouse)
    with session.execute("SELECT id FROM t") as result:
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            with pytest.raises(Exception, match="no value of a file's event column"):
                result.df.count()
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
