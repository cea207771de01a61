"""INSERT … SELECT of many rows into buckets: parts of tasks become one file of each bucket."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path

import pytest

from acidsql.errors import ConstraintViolationError, InvalidValueError
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.types import PrimitiveType
from acidsql.orc.footer import read_tail
from acidsql.orc.reader import read_events
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS, BUCKETS, TASKS = 9_000, 4, 2


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)


@pytest.fixture
def table(session: Session) -> Session:
    columns = "k bigint NOT NULL, `v.w` string, d date, t timestamp, a array<int>"
    session.execute(f"CREATE TABLE t ({columns}) CLUSTERED BY (k) INTO {BUCKETS} BUCKETS {ACID}")
    return session


def insert(session: Session, first: int, rows: int, kind: str = "INTO") -> int | None:
    return session.execute(
        f"INSERT {kind} TABLE t SELECT id, if(id % 7 = 0, NULL, concat('v', id)),"
        " date'1500-01-01' + int(id), timestamp_micros(id * 1000003 - 100000000000),"
        f" array(int(id), NULL) FROM range({first}, {first + rows})"
    ).rows_inserted


def test_each_bucket_has_one_file_of_its_rows(table: Session, warehouse: Path) -> None:
    assert insert(table, 0, ROWS) == ROWS
    directory = warehouse / "t" / "delta_0000001_0000001_0000"
    names = [f"bucket_0000{number}" for number in range(BUCKETS)]
    there = {path.name for path in directory.iterdir()}
    assert {name for name in there if not name.endswith(".crc")} == {"_orc_acid_version", *names}
    for number, name in enumerate(names):
        events = read_events(str(directory / name))
        keys = events.column("row").combine_chunks().field("k")
        expected = bucket_numbers([keys], [PrimitiveType("bigint")], BUCKETS, 2)
        assert set(expected.tolist()) == {number}
        assert events.column("rowId").to_pylist() == list(range(events.num_rows))
        assert len(read_tail(str(directory / name)).stripes) == TASKS
    rows = table.execute("SELECT * FROM t").fetchall()
    assert sorted(row[0] for row in rows) == list(range(ROWS))
    by_key = {row[0]: row[1:] for row in rows}
    assert by_key[7][0] is None
    last = ROWS - 1
    day = dt.date(1500, 1, 1) + dt.timedelta(last)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=last * 1_000_003 - 10**11)
    assert by_key[last] == (f"v{last}", day, moment, [last, None])
    assert table.execute("CHECK TABLE t").fetchall() == []


def test_rows_in_parts_can_be_changed_and_replaced(table: Session) -> None:
    insert(table, 0, 1000)
    assert table.execute("UPDATE t SET `v.w` = 'new' WHERE k % 10 = 3").rows_updated == 100
    assert table.execute("DELETE FROM t WHERE k < 500").rows_deleted == 500
    query = "SELECT count(*), min(k), count_if(`v.w` = 'new') FROM t"
    assert table.execute(query).fetchall() == [(500, 500, 50)]
    assert insert(table, 5000, 10, kind="OVERWRITE") == 10
    assert table.execute(query).fetchall() == [(10, 5000, 0)]
    assert table.execute("CHECK TABLE t").fetchall() == []


def test_no_rows(table: Session) -> None:
    assert insert(table, 0, 0) == 0
    assert insert(table, 5, 1, kind="OVERWRITE") == 1
    assert insert(table, 0, 0, kind="OVERWRITE") == 0
    assert table.execute("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("if(id = 900, NULL, id)", ConstraintViolationError),
        ("if(id = 900, raise_error('no'), id)", InvalidValueError),
    ],
)
def test_a_row_that_fails_leaves_no_part(
    table: Session, warehouse: Path, value: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        table.execute(f"INSERT INTO t (k) SELECT {value} FROM range(1000)")
    assert table.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    assert [path for path in (warehouse / "t").rglob("*_attempt_*") if path.is_file()] == []


@pytest.mark.thorough
def test_random_rows_are_computed_once(table: Session) -> None:
    """A row's bucket and its values come from one evaluation."""
    table.execute("INSERT INTO t (k, `v.w`) SELECT int(1e9 * rand()), id FROM range(1000)")
    found = Counter(int(v) for (v,) in table.execute("SELECT `v.w` FROM t").fetchall())
    assert found == Counter(range(1000))
    assert table.execute("CHECK TABLE t").fetchall() == []
