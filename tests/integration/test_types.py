"""Types that Spark, pyarrow, ORC and Hive see differently: nothing is bent on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acidsql
from acidsql.errors import InvalidValueError
from acidsql.orc.exact import exact, exact_texts
from acidsql.orc.reader import read_events
from acidsql.orc.writer import EventWriter
from tests.outside_utc import assert_times_stay
from tests.unit.orc.events import P0, columns

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
FINE = "9999-12-31 23:59:59.999999999"
COARSE = "9999-12-31 23:59:59.999999"


def put_rows(session: Any, location: Path, rows: pa.RecordBatch, **types: str) -> None:
    """Rows under the write id of an INSERT, as another writer would have put them."""
    (file,) = location.glob("delta_*/bucket_*")
    file.unlink()
    with EventWriter(str(file), columns(**types)) as writer:
        writer.write_inserts(rows, 1, P0)


def stored(location: Path) -> list[str | None]:
    """The timestamps of every insert event, as the newest files have them."""
    found: list[str | None] = []
    for file in sorted(location.glob("*/bucket_*")):
        if file.parent.name.startswith("delete"):
            continue
        column = read_events(str(file), exact=True).column("row").combine_chunks().field("ts")
        texts = exact_texts(column)
        nulls = column.is_null().to_pylist()
        found += [None if null else text for text, null in zip(texts, nulls, strict=True)]
    return found


@pytest.fixture(
    params=["", pytest.param("CLUSTERED BY (k) INTO 1 BUCKETS", marks=pytest.mark.thorough)],
    ids=["stays", "moves"],
)
def table(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Any:
    """k, ts, a: row 1 has nanoseconds, row 2 inside its array, row 3 nowhere.

    Rows that get another k stay where they are, or they are written as those of an INSERT are.
    """
    warehouse = tmp_path / "w"
    with acidsql.connect(warehouse, spark=spark) as session:
        columns = "k int, ts timestamp, a array<timestamp>"
        session.execute(f"CREATE TABLE t ({columns}) {request.param} {ACID}")
        session.execute("SET acidsql.allow.row.movement = true")
        session.execute("INSERT INTO t (k) VALUES (1)")
        last = 253_402_300_799
        seconds, none = np.array([last, -9, last]), np.zeros(3, bool)
        column = exact(seconds, np.array([999_999_999, 500_000_000, 999_999_000]), none)
        lists = pa.ListArray.from_arrays(
            [0, 0, 2, 3], exact(np.array([0, 5, 7]), np.array([1000, 1, 0]), none)
        )
        rows = pa.record_batch({"k": pa.array([1, 2, 3]), "ts": column, "a": lists})
        put_rows(session, warehouse / "t", rows, k="int", ts="timestamp", a="array<timestamp>")
        yield session, warehouse / "t"


def test_an_update_keeps_nanoseconds_or_is_refused(table: Any) -> None:
    session, _ = table
    for refused in (
        "UPDATE t SET k = k + 10 WHERE k = 1",
        "UPDATE t SET k = k + 10, ts = NULL WHERE k = 2",
        "MERGE INTO t USING (SELECT 1 AS i) s ON t.k = s.i WHEN MATCHED THEN UPDATE SET k = 11",
    ):
        with pytest.raises(InvalidValueError, match="nanoseconds"):
            session.execute(refused)
    session.execute("UPDATE t SET k = 13 WHERE k = 3")
    session.execute("UPDATE t SET ts = date_trunc('second', ts) WHERE k = 1")
    merge = "MERGE INTO t USING (SELECT 2 AS i) s ON t.k = s.i WHEN MATCHED THEN DELETE"
    session.execute(merge)
    rows = session.execute("SELECT k, cast(ts AS string) FROM t").fetchall()
    assert sorted(rows) == [(1, "9999-12-31 23:59:59"), (13, COARSE)]


def test_nanoseconds_beside_a_field_that_is_set(spark: Any, tmp_path: Path) -> None:
    """The other fields of a struct keep what the old row has, or the update is refused."""
    with acidsql.connect(tmp_path / "w", spark=spark) as session:
        session.execute(f"CREATE TABLE t (k int, s struct<n:int,ts:timestamp>) {ACID}")
        session.execute("INSERT INTO t (k) VALUES (0)")
        times = exact(np.array([5, 7]), np.array([1, 1000]), np.zeros(2, bool))
        structs = pa.StructArray.from_arrays([pa.array([1, 2]), times], ["n", "ts"])
        rows = pa.record_batch({"k": pa.array([1, 2]), "s": structs})
        put_rows(session, tmp_path / "w" / "t", rows, k="int", s="struct<n:int,ts:timestamp>")
        for refused in (
            "UPDATE t SET s.n = 5 WHERE k = 1",
            "MERGE INTO t USING (SELECT 1 AS i) q ON t.k = i WHEN MATCHED THEN UPDATE SET s.n = 5",
        ):
            with pytest.raises(InvalidValueError, match="nanoseconds"):
                session.execute(refused)
        session.execute("UPDATE t SET s.n = 6 WHERE k = 2")
        session.execute("UPDATE t SET s = named_struct('n', 7, 'ts', s.ts) WHERE k = 1")
        found = session.execute("SELECT k, s.n, CAST(s.ts AS string) FROM t").fetchall()
        assert sorted(found) == [
            (1, 7, "1970-01-01 00:00:05"),
            (2, 6, "1970-01-01 00:00:07.000001"),
        ]


def test_a_compaction_keeps_nanoseconds(table: Any) -> None:
    session, location = table
    before = stored(location)
    assert before == [FINE, "1969-12-31 23:59:51.500000000", f"{COARSE}000"]
    session.execute("UPDATE t SET ts = ts WHERE k = 3")
    session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    assert stored(location) == before
    assert [d.name for d in location.iterdir()] == ["base_0000002"]
    # What was compacted here is still known to have them.
    with pytest.raises(InvalidValueError, match="nanoseconds"):
        session.execute("UPDATE t SET k = 0 WHERE k = 1")
    session.execute("UPDATE t SET k = 0 WHERE k = 3")


@pytest.mark.parametrize(
    "codec",
    ["none", *(pytest.param(c, marks=pytest.mark.thorough) for c in ("zlib", "zstd"))],
)
def test_row_groups_of_exchanged_nanoseconds(spark: Any, tmp_path: Path, codec: str) -> None:
    """Spark finds its place in a file whose stream of nanoseconds was put in afterwards."""
    count = 25_000
    rng = np.random.default_rng(3)
    ticks = rng.integers(-(10**16), 10**16, count)
    ticks[(ticks < 0) & (ticks > -(10**6))] = 0
    with acidsql.connect(tmp_path / codec, spark=spark) as session:
        session.execute(
            f"CREATE TABLE t (k int, ts timestamp) STORED AS ORC TBLPROPERTIES"
            f" ('transactional' = 'true', 'orc.compress' = '{codec}')"
        )
        session.execute("INSERT INTO t (k) VALUES (0)")
        (file,) = (tmp_path / codec / "t").glob("delta_*/bucket_*")
        column = pa.array(ticks, pa.int64(), mask=ticks % 7 == 0).cast(pa.timestamp("us"))
        with EventWriter(str(file), columns(k="int", ts="timestamp"), codec) as writer:
            writer.write_inserts(
                pa.record_batch({"k": pa.array(np.arange(count)), "ts": column}), 1, P0
            )
        for low in (9_990, 20_005, 24_999):
            text = f"SELECT k, ts FROM t WHERE k >= {low} AND k < {low + 20} ORDER BY k"
            found = [row[1] for row in session.execute(text).fetchall()]
            assert found == column.slice(low, 20).to_pylist()
        least = column.to_numpy(zero_copy_only=False)
        early = "TIMESTAMP_NTZ '1700-01-01 00:00:00'"
        text = f"SELECT count(*) FROM t WHERE ts < {early}"
        expected = int((least < np.datetime64("1700-01-01")).sum())
        assert session.execute(text).fetchall() == [(expected,)]


def test_a_jvm_outside_utc(spark: Any, tmp_path: Path) -> None:
    """A JVM that was started there does the same, see test_spark_lives.py."""
    zones = spark._jvm.java.util.TimeZone
    utc = zones.getDefault()
    zones.setDefault(zones.getTimeZone("Europe/Berlin"))
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert_times_stay(tmp_path / "w", elsewhere)
    finally:
        zones.setDefault(utc)


def test_nanoseconds_of_a_column_that_has_the_name_of_another(spark: Any, tmp_path: Path) -> None:
    """Files match by position. In them, what is a now is called b."""
    with acidsql.connect(tmp_path, spark=spark) as session:
        session.execute(f"CREATE TABLE t (a timestamp, b timestamp, v int) {ACID}")
        session.execute("INSERT INTO t (v) VALUES (1)")
        five, none = np.array([5]), np.zeros(1, bool)
        rows = {"a": exact(five, np.array([0]), none), "b": exact(five, np.array([123]), none)}
        batch = pa.record_batch({**rows, "v": pa.array([1], pa.int32())})
        put_rows(session, tmp_path / "t", batch, a="timestamp", b="timestamp", v="int")
        for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
            session.execute(f"ALTER TABLE t CHANGE {old} {new} timestamp")
        with pytest.raises(InvalidValueError, match="nanoseconds"):
            session.execute("UPDATE t SET v = 2, b = TIMESTAMP '2021-01-01 00:00:00'")
        assert session.execute("UPDATE t SET a = NULL, b = NULL").rows_updated == 1
