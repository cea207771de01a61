"""Columns whose names have dots, or might be ours, through every way of writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from acidsql.session.session import Session


CLUSTERED = "CLUSTERED BY (`k.k`) INTO 2 BUCKETS"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("clustered", "driver_bytes"),
    [
        pytest.param(CLUSTERED, 0, id="tasks, buckets"),
        pytest.param("", 1 << 20, id="driver", marks=pytest.mark.thorough),
        pytest.param("", 0, id="tasks", marks=pytest.mark.thorough),
        pytest.param(CLUSTERED, 1 << 20, id="driver, buckets", marks=pytest.mark.thorough),
    ],
)
def test_names_with_dots(
    session: Session, monkeypatch: pytest.MonkeyPatch, clustered: str, driver_bytes: int
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", driver_bytes)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    session.execute(
        f"CREATE TABLE t (`k.k` int, `ä.b` struct<`x.y`: int>, c char(2)) {clustered}"
        " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t SELECT id, named_struct('x.y', id), 'a' FROM range(4)")
    session.execute("UPDATE t SET `ä.b` = named_struct('x.y', 10) WHERE `k.k` = 1")
    session.execute("DELETE FROM t WHERE `ä.b`.`x.y` = 2")
    session.execute(
        "MERGE INTO t USING (SELECT 3 AS id UNION ALL SELECT 7) s ON t.`k.k` = s.id"
        " WHEN MATCHED THEN UPDATE SET c = 'b'"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, NULL, 'n')"
    )
    session.execute("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE `k.k` > 0")
    rows = session.execute("SELECT `k.k`, `ä.b`.`x.y`, c FROM t").fetchall()
    assert sorted(rows) == [(1, 10, "a "), (3, 3, "b "), (7, None, "n ")]


@pytest.mark.parametrize("name", ["__first", "__last", "__hash0", "__word", "__page"])
def test_names_that_texts_of_ours_might_have(session: Session, name: str) -> None:
    """Keys of a MERGE, of buckets and of deleted rows are columns, and no part of an expression."""
    session.execute(
        f"CREATE TABLE t (`{name}` int, v int) CLUSTERED BY (`{name}`) INTO 4 BUCKETS"
        " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t SELECT CAST(id AS int), 0 FROM range(3000)")
    session.execute(f"DELETE FROM t WHERE `{name}` = 14")
    merged = session.execute(
        "MERGE INTO t USING (SELECT CAST(id * 7 AS int) AS k FROM range(500)) s"
        f" ON t.`{name}` = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 2)"
    )
    assert (merged.rows_updated, merged.rows_inserted) == (428, 72)
    assert session.execute("SELECT count(*), sum(v) FROM t").fetchall() == [(3071, 572)]
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_names_that_orc_takes_for_none(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader matches such columns by position, also if it is asked for some of them only."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    session.execute(
        "CREATE TABLE t (`_col0` int, `_col1` string, `_col2` int)"
        " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t SELECT id, concat('v', id), -id FROM range(5)")
    found = session.execute("SELECT `_col1` FROM t WHERE `_col2` = -3").fetchall()
    assert found == [("v3",)]
    session.execute("UPDATE t SET `_col1` = 'u' WHERE `_col2` = -4")
    found = session.execute("SELECT `_col1` FROM t ORDER BY `_col0`").fetchall()
    assert found == [("v0",), ("v1",), ("v2",), ("v3",), ("u",)]
