"""Days and timestamps in Parquet files of Hives in several time zones, and in ours."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql.session.session import Session

FILES = Path(__file__).parents[1] / "data" / "parquet-times"
NAMES = sorted(path.stem for path in FILES.glob("*.parquet"))
COLUMNS = (
    "id int, d date, at timestamp, n struct<d:date,at:timestamp>, a array<timestamp>,"
    " m map<string,date>"
)
SHOWN = "id, d, at, n.d AS nd, n.at AS nat, a[0] AS a0, m['k'] AS mk"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
ROWS = 15
FIRST_HOUR = {
    "at": "0001-01-01 00:00:00",
    "nat": "0001-01-01 00:00:00",
    "a0": "0001-01-01 00:00:00",
}
"""What Hive 3 was given in row 0. It reads its own file as of the year 2."""


def answers(name: str) -> list[dict[str, Any]]:
    """What Hive answers."""
    lines = (FILES / f"{name}.json").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [rows[0] | FIRST_HOUR, *rows[1:]] if name == "hive3-berlin" else rows


def shown(session: Session, table: str) -> list[dict[str, Any]]:
    """The rows of a table in the words of Hive."""
    columns = SHOWN.replace("id, ", "").split(", ")
    texts = ", ".join(f"CAST({c.split(' AS ')[0]} AS string) AS {c.split()[-1]}" for c in columns)
    rows = session.execute(f"SELECT id, {texts} FROM {table} ORDER BY id").fetchall()
    names = ["id", *(column.split()[-1] for column in columns)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def external(session: Session, place: Path, *names: str) -> None:
    """The table t over copies of these files."""
    place.mkdir()
    for name in names:
        shutil.copy(FILES / f"{name}.parquet", place)
    session.execute(f"CREATE EXTERNAL TABLE t ({COLUMNS}) STORED AS PARQUET LOCATION '{place}'")


@pytest.mark.parametrize("name", NAMES)
def test_what_hive_answers(session: Session, tmp_path: Path, name: str) -> None:
    external(session, tmp_path / "files", name)
    assert shown(session, "t") == answers(name)
    assert session.execute("SELECT count(*) FROM t WHERE a[1] IS NOT NULL").fetchall() == [(0,)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_files_of_several_writers(session: Session, tmp_path: Path, spark: Any, zone: str) -> None:
    """One table may have them: each tells its own days and timestamps."""
    external(session, tmp_path / "files", *NAMES)
    rows = sorted((row for name in NAMES for row in answers(name)), key=str)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        assert sorted(shown(session, "t"), key=str) == rows
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(
    ("condition", "column", "values"),
    [
        ("d = DATE '0001-01-01'", "d", {"0001-01-01"}),
        ("d < DATE '1582-10-05'", "d", {"0001-01-01", "1500-03-01", "1582-10-04"}),
        ("n.d IN (DATE '1500-03-01', DATE '2050-07-01')", "nd", {"1500-03-01", "2050-07-01"}),
        ("at = TIMESTAMP '2020-07-01 12:00:00.123456'", "at", {"2020-07-01 12:00:00.123456"}),
        ("at BETWEEN '1850-01-01' AND '1850-12-31'", "at", {"1850-07-01 01:02:03"}),
    ],
)
def test_conditions_on_what_hive_stored_otherwise(
    session: Session, tmp_path: Path, condition: str, column: str, values: set[str]
) -> None:
    external(session, tmp_path / "files", *NAMES)
    expected = sum(row[column] in values for name in NAMES for row in answers(name))
    assert expected >= len(NAMES)
    [[found]] = session.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
    assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_loaded_and_compacted(session: Session, name: str) -> None:
    session.execute(f"CREATE TABLE t ({COLUMNS}) STORED AS PARQUET {INSERT_ONLY}")
    for _ in range(2):
        session.execute(f"LOAD DATA LOCAL INPATH '{FILES / name}.parquet' INTO TABLE t")
    expected = [row for row in answers(name) for _ in range(2)]
    assert shown(session, "t") == expected
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert session.run_cleaner()
    assert shown(session, "t") == expected


def test_rows_that_a_load_puts_into_buckets(session: Session) -> None:
    """Then Spark reads the file that is loaded."""
    session.execute(
        f"CREATE TABLE t ({COLUMNS}) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS PARQUET"
    )
    session.execute(f"LOAD DATA LOCAL INPATH '{FILES / 'hive4-berlin'}.parquet' INTO TABLE t")
    assert shown(session, "t") == answers("hive4-berlin")


def counting(unit: str, zone: str | None) -> pa.Table:
    """Timestamps around 1970, as pandas and Hive's int64 timestamps have them."""
    kind = pa.timestamp(unit, zone)
    return pa.table(
        {
            "id": pa.array([1, 2, 3, 4]),
            "at": pa.array([-1_500_001_001, 1_500_001_999, 0, None], kind),
            "n": pa.array([{"at": -1}, {"at": None}, None, {"at": 1}], pa.struct([("at", kind)])),
            "a": pa.array([[-1, None], [], None, [1000]], pa.list_(kind)),
        }
    )


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamp with local time zone"])
def test_nanoseconds(
    session: Session, spark: Any, tmp_path: Path, kind: str, zone: str | None
) -> None:
    """Spark's reader does not know them. Finer fractions than its own are cut off."""
    (tmp_path / "files").mkdir()
    pq.write_table(counting("ns", zone), tmp_path / "files" / "ns.parquet")
    pq.write_table(counting("ns", zone).slice(0, 0), tmp_path / "files" / "none.parquet")
    columns = f"id bigint, at {kind}, n struct<at:{kind}>, a array<{kind}>"
    session.execute(
        f"CREATE EXTERNAL TABLE e ({columns}) STORED AS PARQUET LOCATION '{tmp_path / 'files'}'"
    )
    micros = "unix_micros(CAST({} AS timestamp with local time zone))".format
    shown = f"id, {micros('at')}, {micros('n.at')}, {micros('get(a, 0)')}, size(a)"
    query = f"SELECT {shown} FROM e ORDER BY id"
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        assert session.execute(query).fetchall() == [
            (1, -1_500_002, -1, -1, 2),
            (2, 1_500_001, None, None, 0),
            (3, 0, None, None, None),
            (4, None, 0, 1, 1),
        ]
        day = "at < TIMESTAMP '1970-01-01 00:00:00' AND id > 0"
        assert session.execute(f"SELECT id FROM e WHERE {day}").fetchall() == [(1,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_our_own_files(session: Session, tmp_path: Path) -> None:
    """They say in which calendar and time zone they are. Hive moves days and times otherwise."""
    session.execute(f"CREATE TABLE t (d date, at timestamp) STORED AS PARQUET {INSERT_ONLY}")
    rows = [(dt.date(1, 1, 1), dt.datetime(1, 1, 1)), (dt.date(1582, 10, 4), None)]
    session.insert("t", [{"d": day, "at": time} for day, time in rows])
    assert sorted(session.execute("SELECT * FROM t").fetchall(), key=str) == rows
    files = [path for path in (tmp_path / "warehouse" / "t").rglob("0*") if path.is_file()]
    assert files
    for path in files:
        said = pq.read_metadata(path).metadata
        assert said[b"writer.time.zone"] == b"UTC"
        assert said[b"writer.date.proleptic"] == b"true"
