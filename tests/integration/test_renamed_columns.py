"""ORC files whose columns have other names than those of their table, as Hive 4 leaves them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session

INSERT_ONLY = "'transactional' = 'true', 'transactional_properties' = 'insert_only'"
POSITIONAL = "'orc.force.positional.evolution'"
ROWS = [(1, 10, "a", dt.date(2026, 1, 1)), (2, None, "b", None), (3, 30, None, dt.date(2026, 1, 3))]
BY_NAME = [(key, None, text, None) for key, _, text, _ in ROWS]


@pytest.fixture
def files(session: Session, tmp_path: Path) -> Path:
    """The directory of an insert-only table with two deltas."""
    columns = "id int, n int, s varchar(5), d date"
    session.execute(f"CREATE TABLE t ({columns}) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})")
    names = ("id", "n", "s", "d")
    for rows in (ROWS[:2], ROWS[2:]):
        session.insert("t", [dict(zip(names, row, strict=True)) for row in rows])
    return tmp_path / "warehouse" / "t"


def attached(spark: Any, files: Path, properties: str) -> Session:
    """Another session, whose table t over the files calls two columns otherwise."""
    other: Session = acidsql.connect(str(files.parent), metastore="memory:", spark=spark)
    columns = "id int, m bigint, s varchar(5), e date, later string"
    external = "" if "transactional" in properties else "EXTERNAL "
    place = files if "transactional" in properties else next(files.glob("delta_*1_0000"))
    other.execute(
        f"CREATE {external}TABLE t ({columns}) STORED AS ORC LOCATION '{place}'"
        f" TBLPROPERTIES ({properties})"
    )
    return other


def found(session: Session, columns: str = "id, m, s, e") -> list[Any]:
    rows = session.execute(f"SELECT {columns} FROM t ORDER BY id").fetchall()
    assert session.execute("SELECT count(*) FROM t WHERE later IS NOT NULL").fetchall() == [(0,)]
    return rows


@pytest.mark.parametrize(
    ("properties", "rows"),
    [
        (INSERT_ONLY, ROWS),
        (f"{INSERT_ONLY}, {POSITIONAL} = 'true'", ROWS),
        (f"{INSERT_ONLY}, {POSITIONAL} = 'false'", BY_NAME),
        (f"{POSITIONAL} = 'true'", ROWS[:2]),
        (f"{POSITIONAL} = 'false'", BY_NAME[:2]),
        ("'note' = 'a plain table has files of any writer'", BY_NAME[:2]),
    ],
)
def test_which_values_they_have(spark: Any, files: Path, properties: str, rows: list[Any]) -> None:
    with attached(spark, files, properties) as other:
        assert found(other) == rows
        wanted = [row for row in rows if row[1] == 10]
        assert other.execute("SELECT id, m, s, e FROM t WHERE m = 10").fetchall() == wanted
        names = other.execute("SELECT count(DISTINCT input__file__name) FROM t").fetchall()
        assert names == [(len(rows) - 1,)]


@pytest.mark.parametrize("by_position", ["true", "false"])
def test_a_compaction_keeps_them(spark: Any, files: Path, by_position: str) -> None:
    rows = ROWS if by_position == "true" else BY_NAME
    with attached(spark, files, f"{INSERT_ONLY}, {POSITIONAL} = '{by_position}'") as other:
        other.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
        assert other.run_cleaner()
        assert [path.name for path in files.glob("delta_*")] == []
        assert found(other) == rows


def test_a_plain_table_that_becomes_insert_only(spark: Any, files: Path) -> None:
    """It goes on finding columns by name."""
    with attached(spark, files, "'note' = ''") as other:
        other.execute("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL' = 'FALSE')")
        other.execute(f"ALTER TABLE t SET TBLPROPERTIES ({INSERT_ONLY})")
        assert found(other) == BY_NAME[:2]
