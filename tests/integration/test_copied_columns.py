"""UPDATE of all rows: the columns that it does not set are copied from file to file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark.changed_rows import Changes
from acidsql.errors import AcidSqlError, ConstraintViolationError
from acidsql.session.session import Session
from tests.joining_tasks import let_tasks_join

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS = 4_000
COLUMNS = (
    "k bigint, `v.w` string, d date, x decimal(12,3), g double, t timestamp, a array<int>,"
    " s struct<p: int, q: string>, c char(5), n int"
)
SELECT = (
    "SELECT id, if(id % 7 = 0, NULL, concat('v', id)), date'0001-01-01' + int(id * 160), id / 8,"
    " -id / 7, timestamp_micros(id * 86400000001), array(int(id), null),"
    " named_struct('p', int(id), 'q', if(id % 3 = 0, null, 'é')), string(id), null"
)
Row = tuple[Any, ...]


def row(k: int) -> Row:
    text = None if k % 7 == 0 else f"v{k}"
    day = dt.date(1, 1, 1) + dt.timedelta(k * 160)
    time = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=k * 86400000001)
    pair = (k, None if k % 3 == 0 else "é")
    decimal = Decimal(k * 125).scaleb(-3)
    return k, text, day, decimal, -k / 7, time, [k, None], pair, f"{k:<5}", None


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)


@pytest.fixture(params=[0, pytest.param(1 << 20, marks=pytest.mark.thorough)])
def copied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each UPDATE of all rows, whether columns were copied: of stripes of a size."""
    monkeypatch.setattr("acidsql.orc.set_columns.SMALL_BYTES", request.param)
    found: list[bool] = []
    write = Changes._copied

    def seen(self: Changes, *rows: Any) -> Any:
        written = write(self, *rows)
        if self.set_columns:
            found.append(written is not None)
        return written

    monkeypatch.setattr(Changes, "_copied", seen)
    return found


BUCKETS = "CLUSTERED BY (k) INTO 3 BUCKETS"


@pytest.fixture(params=["", pytest.param(BUCKETS, marks=pytest.mark.thorough)])
def table(session: Session, request: pytest.FixtureRequest) -> Session:
    """A table of two writes."""
    session.execute(f"CREATE TABLE t ({COLUMNS}) {request.param} {ACID}")
    for first in (0, ROWS // 2):
        session.execute(f"INSERT INTO t {SELECT} FROM range({first}, {first + ROWS // 2})")
    return session


def rows_of(session: Session) -> list[Row]:
    assert session.execute("CHECK TABLE t").fetchall() == []
    return sorted((tuple(r) for r in session.execute("SELECT * FROM t").fetchall()), key=str)


def expected(change: Callable[[Row], Row], *without: int) -> list[Row]:
    return sorted((change(row(k)) for k in range(ROWS) if k not in without), key=str)


def changed(old: Row) -> Row:
    k = old[0]
    day, number = old[2] + dt.timedelta(1), None if k % 5 == 0 else k
    return k, f"new {old[3]}", day, *old[3:9], number


CHANGE = "`v.w` = concat('new ', x), n = if(k % 5 = 0, null, k), d = date_add(d, 1)"


@pytest.mark.parametrize("table", ["", BUCKETS], indirect=True)
def test_columns_that_are_not_set_stay(table: Session, copied: list[bool], warehouse: Path) -> None:
    done = table.execute(f"UPDATE t SET {CHANGE}")
    assert (done.rows_updated, copied) == (ROWS, [True])
    assert rows_of(table) == expected(changed)
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
    done = table.execute("UPDATE t SET g = x WHERE (TRUE)")
    assert (done.rows_updated, copied) == (ROWS, [True, True])
    again = expected(lambda old: (*changed(old)[:4], float(old[3]), *changed(old)[5:]))
    assert rows_of(table) == again
    table.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows_of(table) == again
    done = table.execute("UPDATE t SET g = -k / 7")
    assert (done.rows_updated, copied) == (ROWS, [True, True, True])
    assert rows_of(table) == expected(changed)


@pytest.mark.parametrize("copied", [0, 1 << 20], indirect=True)
def test_texts_that_are_cut_stay_so(session: Session, copied: list[bool]) -> None:
    """Files have no lengths of texts. What a new version shows may not grow with its column."""
    session.execute(f"CREATE TABLE t (k bigint, a string, c char(3), n int) {ACID}")
    session.execute("INSERT INTO t SELECT id, 'abcde', 'xyz', 0 FROM range(100)")
    session.execute("ALTER TABLE t CHANGE COLUMN a a varchar(2)")
    session.execute("ALTER TABLE t CHANGE COLUMN c c char(1)")
    assert session.execute("UPDATE t SET n = 1").rows_updated == 100
    session.execute("ALTER TABLE t CHANGE COLUMN a a varchar(9)")
    session.execute("ALTER TABLE t CHANGE COLUMN c c char(4)")
    for _ in range(2):
        found = session.execute("SELECT DISTINCT a, c, n FROM t").fetchall()
        assert found == [("ab", "x   ", 1)]
        session.execute("UPDATE t SET k = k + 1")
    assert copied == [True] * 3
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_deleted_rows_stay_deleted(table: Session, copied: list[bool], warehouse: Path) -> None:
    """Stripes that lose some rows, one that loses all of them, and one that loses none."""
    table.execute(f"INSERT INTO t {SELECT} FROM range({ROWS}, {ROWS + 50})")
    table.execute(f"DELETE FROM t WHERE k >= {ROWS} OR k IN (0, 700, 1999)")
    done = table.execute(f"UPDATE t SET {CHANGE}")
    assert (done.rows_updated, copied) == (ROWS - 3, [True])
    assert rows_of(table) == expected(changed, 0, 700, 1999)
    assert table.execute("DELETE FROM t").rows_deleted == ROWS - 3
    before = sorted((warehouse / "t").iterdir())
    assert table.execute("UPDATE t SET g = 1").rows_updated == 0
    assert sorted((warehouse / "t").iterdir()) == before
    assert rows_of(table) == []


def test_one_transaction_may_update_all_rows_twice(
    table: Session, copied: list[bool], warehouse: Path
) -> None:
    table.execute("BEGIN")
    table.execute("DELETE FROM t WHERE k = 5")
    table.execute(f"UPDATE t SET {CHANGE}")
    with pytest.raises(AcidSqlError, match="too many"):
        table.execute("UPDATE t SET g = if(k = 77, raise_error('too many'), 0)")
    table.execute("UPDATE t SET g = g + 1")
    table.execute("COMMIT")
    assert copied == [True] * 2
    assert rows_of(table) == expected(
        lambda old: (*changed(old)[:4], old[4] + 1, *changed(old)[5:]), 5
    )
    table.execute("BEGIN")
    table.execute("UPDATE t SET g = 0")
    table.execute("ROLLBACK")
    assert rows_of(table)[0][4] != 0


def test_tasks_copy_as_the_driver_does(
    table: Session, copied: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    let_tasks_join(monkeypatch)
    table.execute("DELETE FROM t WHERE k = 5")
    table.execute(f"UPDATE t SET {CHANGE}")
    assert copied == [True]
    assert rows_of(table) == expected(changed, 5)


def test_parts_that_take_too_much_memory(
    table: Session, copied: list[bool], monkeypatch: pytest.MonkeyPatch, warehouse: Path
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.copied_columns._PART_BYTES_MAX", 100)
    done = table.execute("UPDATE t SET n = k, g = 0")
    assert (done.rows_updated, copied) == (ROWS, [False])
    assert rows_of(table) == expected(lambda old: (*old[:4], 0.0, *old[5:9], old[0]))
    assert list((warehouse / "t").rglob("*_attempt_*")) == []


@pytest.mark.parametrize(
    "update",
    [
        pytest.param("g = 1 WHERE k >= 0", id="not by its words all rows"),
        pytest.param("g = 0, n = 1, d = NULL, x = 0, `v.w` = 'x', k = 1", id="most columns"),
        pytest.param("s.p = 1", id="a field"),
        pytest.param("g = k + (SELECT count(*) FROM t)", id="a subquery"),
        pytest.param("t = t + interval 1 day", id="a timestamp"),
        pytest.param("c = 'x'", id="char"),
    ],
)
def test_what_is_not_copied(session: Session, update: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way is right, too; this tests that it is taken where it has to be."""

    def refuse(*_: Any) -> None:
        raise AssertionError("columns were copied")

    monkeypatch.setattr("acidsql.engines.spark.copied_columns.set_columns", refuse)
    session.execute(f"CREATE TABLE t ({COLUMNS}) {ACID}")
    session.execute(f"INSERT INTO t {SELECT} FROM range(0, 100)")
    assert session.execute(f"UPDATE t SET {update}").rows_updated == 100


def test_partitions(session: Session, copied: list[bool], warehouse: Path) -> None:
    """Row ids are those of a partition: two partitions have the same ones."""
    session.execute(
        f"CREATE TABLE t (k int, v string, n int) PARTITIONED BY (d string, e int) {ACID}"
    )
    session.execute("INSERT INTO t SELECT id, concat('v', id), 0, 'a', id % 3 FROM range(3000)")
    session.execute("INSERT INTO t SELECT id, concat('v', id), 0, 'b', 9 FROM range(500)")
    session.execute("DELETE FROM t WHERE d = 'a' AND e = 2 AND k % 2 = 0")
    session.execute("DELETE FROM t WHERE d = 'b' AND k >= 0")
    model = {(k, k % 3): [f"v{k}", 0] for k in range(3000) if k % 3 != 2 or k % 2}

    def same() -> bool:
        assert session.execute("CHECK TABLE t").fetchall() == []
        rows = session.execute("SELECT k, e, v, n FROM t").fetchall()
        assert len(rows) == len(model)
        return {(k, e): [v, n] for k, e, v, n in rows} == model

    assert same()
    assert session.execute("UPDATE t SET n = k + e WHERE d = 'a' AND e >= 1").rows_updated == 1500
    for (k, e), row in model.items():
        row[1] = k + e if e >= 1 else 0
    assert same()
    there = {path.parent.name for path in (warehouse / "t").rglob("delta_0000005*/bucket_*")}
    assert there == {"delta_0000005_0000005_0000"}
    assert session.execute("UPDATE t SET v = concat(v, d, n)").rows_updated == len(model)
    for row in model.values():
        row[0] += f"a{row[1]}"
    assert same()
    assert session.execute("UPDATE t SET n = -1 WHERE d = 'b'").rows_updated == 0
    assert session.execute("UPDATE t SET n = -1 WHERE d = 'a' AND k = 7").rows_updated == 1
    model[7, 1][1] = -1
    assert same()
    assert copied == [True, True, True]
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
    assert all(list(path.glob("bucket_*")) for path in (warehouse / "t").rglob("*delta_*"))


def test_columns_that_may_not_be_null(session: Session, copied: list[bool]) -> None:
    session.execute(f"CREATE TABLE t (k bigint, v string, n int, m int) {ACID}")
    session.execute("INSERT INTO t SELECT id, 'v', nullif(id, 5), nullif(id, 6) FROM range(100)")
    for column in ("v", "n"):
        session.execute(
            f"ALTER TABLE t CHANGE {column} {column} {'string' if column == 'v' else 'int'}"
            f" CONSTRAINT c_{column} NOT NULL"
        )
    with pytest.raises(ConstraintViolationError, match='"n"'):
        session.execute("UPDATE t SET m = 7")
    assert copied == [False]
    assert session.execute("UPDATE t SET n = k").rows_updated == 100
    assert session.execute("UPDATE t SET m = 7").rows_updated == 100
    assert copied == [False, True, False]  # the old file still has the null
    with pytest.raises(ConstraintViolationError, match='"v"'):
        session.execute("UPDATE t SET v = if(k = 9, NULL, 'w')")
    found = session.execute("SELECT count(v), sum(n), sum(m) FROM t").fetchall()
    assert found == [(100, 4950, 700)]


def test_columns_that_were_added(table: Session, copied: list[bool]) -> None:
    """The old files lack them: one is set, the other NULL."""
    table.execute("DELETE FROM t WHERE k = 5")
    table.execute("ALTER TABLE t ADD COLUMNS (extra bigint, more array<string>)")
    assert table.execute("UPDATE t SET extra = k * 2").rows_updated == ROWS - 1
    assert copied == [True]
    assert rows_of(table) == expected(lambda old: (*old, old[0] * 2, None), 5)
    assert table.execute("UPDATE t SET n = extra, g = 0").rows_updated == ROWS - 1
    assert copied == [True, True]
    found = expected(lambda old: (*old[:4], 0.0, *old[5:9], old[0] * 2, old[0] * 2, None), 5)
    assert rows_of(table) == found
    table.execute("ALTER TABLE t CHANGE extra extra decimal(20,0)")
    assert table.execute("UPDATE t SET g = 1").rows_updated == ROWS - 1
    assert copied == [True, True, False]
