"""INSERT … SELECT of many rows into buckets: Spark's own writer encodes them where it can hash."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acidsql.engines.spark import encoding
from acidsql.engines.spark.bucket_number import bucket_number, knows_buckets
from acidsql.errors import ExecutionError, InvalidValueError
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.names import TableName
from acidsql.model.table import Bucketing, Column, Table
from acidsql.model.types import parse_type
from acidsql.orc.reader import read_events
from acidsql.session.session import Session
from tests.joining_tasks import let_tasks_join

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS, BUCKETS = 6_000, 4
DAYS = (dt.date.min.toordinal(), dt.date.max.toordinal())


def integers(bits: int) -> list[int | None]:
    some = random.Random(bits)
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return [None, 0, 1, -1, 255, 256, low, high] + [some.randint(low, high) for _ in range(292)]


VALUES: dict[str, tuple[str, list[Any]]] = {
    "b": ("boolean", [None, True, False] * 100),
    "y": ("tinyint", [v if v is None or -128 <= v < 128 else 7 for v in integers(8)]),
    "i": ("int", integers(32)),
    "l": ("bigint", integers(64)),
    "d`x": (
        "date",
        [None, *(dt.date.fromordinal(random.Random(n).randint(*DAYS)) for n in range(299))],
    ),
}
ARROW = {"boolean": pa.bool_(), "tinyint": pa.int8(), "int": pa.int32(), "bigint": pa.int64(),
         "date": pa.date32(), "string": pa.string()}  # fmt: skip


def table_of(keys: tuple[str, ...], count: int, types: dict[str, str], version: int = 2) -> Table:
    return Table(
        TableName("d", "t"),
        tuple(Column(name, parse_type(text)) for name, text in types.items()),
        "/w/t",
        (),
        parameters={"transactional": "true"},
        bucketing=Bucketing(keys, count, version),
    )


def test_spark_computes_the_buckets_of_hive(spark: Any) -> None:
    """The other side is compared with what Hive computed (tests/unit/layout)."""
    types = {name: text for name, (text, _) in VALUES.items()}
    rows = list(zip(*(values for _, values in VALUES.values()), strict=True))
    schema = ", ".join(f"`{name.replace('`', '``')}` {text}" for name, text in types.items())
    frame = spark.createDataFrame(rows, schema)
    cases = [
        (keys, count)
        for keys in (*((name,) for name in VALUES), ("i", "l"), ("l", "d`x", "b", "y", "i"))
        for count in (1, 3, 8, 1000)
    ]
    found = [bucket_number(spark, table_of(*case, types), list(types)) for case in cases]
    assert not any(expression is None for expression in found)
    answers = zip(*(tuple(row) for row in frame.select(*found).collect()), strict=True)
    for (keys, count), answer in zip(cases, answers, strict=True):
        arrays = [pa.array(VALUES[key][1], ARROW[types[key]]) for key in keys]
        kinds = [parse_type(types[key]) for key in keys]
        assert list(answer) == bucket_numbers(arrays, kinds, count, 2).tolist(), (keys, count)


@pytest.mark.parametrize(
    ("kind", "version"),
    [("smallint", 2), ("string", 2), ("double", 2), ("decimal(9,2)", 2), ("char(3)", 2),
     ("int", 1)],
)  # fmt: skip
def test_other_buckets_are_computed_in_python(kind: str, version: int) -> None:
    assert not knows_buckets(table_of(("k",), 4, {"k": kind}, version))


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)


@pytest.fixture
def table(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A table whose rows Spark's writer encodes: the other way fails."""

    def other_way(*_: object) -> None:
        raise AssertionError("the rows went to Python")

    monkeypatch.setattr("acidsql.engines.spark.insert.write_by_parts", other_way)
    columns = "`k.x` bigint, d date, s string, x decimal(12,2)"
    by = f"CLUSTERED BY (d, `k.x`) INTO {BUCKETS} BUCKETS"
    session.execute(f"CREATE TABLE t ({columns}) {by} {ACID}")
    return session


def insert(session: Session, first: int, rows: int, kind: str = "INTO") -> int | None:
    return session.execute(
        f"INSERT {kind} TABLE t SELECT nullif(id, 11), date'0001-01-01' + int(id * 59),"
        f" if(id % 7 = 0, NULL, concat('v', id)), id / 4 FROM range({first}, {first + rows})"
    ).rows_inserted


@pytest.mark.parametrize("elsewhere", [False, True])
def test_each_bucket_has_one_file_of_its_rows(
    table: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """The driver joins the parts, or tasks do, if they may run elsewhere."""
    if elsewhere:
        let_tasks_join(monkeypatch)
    assert insert(table, 0, ROWS) == ROWS
    directory = warehouse / "t" / "delta_0000001_0000001_0000"
    names = [f"bucket_0000{number}" for number in range(BUCKETS)]
    there = {path.name for path in directory.iterdir() if not path.name.endswith(".crc")}
    assert there == {"_orc_acid_version", *names}
    kinds = [parse_type("date"), parse_type("bigint")]
    for number, name in enumerate(names):
        events = read_events(str(directory / name))
        row = events.column("row").combine_chunks()
        keys = [row.field("d").cast(pa.date32()), row.field("k.x")]
        assert set(bucket_numbers(keys, kinds, BUCKETS, 2).tolist()) == {number}
        assert events.column("rowId").to_pylist() == list(range(events.num_rows))
    rows = {row[3]: row for row in table.execute("SELECT * FROM t").fetchall()}
    assert len(rows) == ROWS
    for k in (0, 11, 12, 5999):
        day = dt.date(1, 1, 1) + dt.timedelta(k * 59)
        text = None if k % 7 == 0 else f"v{k}"
        assert rows[k / 4][:3] == (None if k == 11 else k, day, text)
    assert table.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.thorough
def test_changes_and_overwrites(table: Session) -> None:
    insert(table, 0, 1000)
    assert table.execute("UPDATE t SET s = 'new' WHERE `k.x` % 10 = 3").rows_updated == 100
    assert table.execute("DELETE FROM t WHERE `k.x` < 500").rows_deleted == 499
    query = "SELECT count(*), min(`k.x`), count_if(s = 'new') FROM t"
    assert table.execute(query).fetchall() == [(501, 500, 50)]
    assert insert(table, 5000, 10, kind="OVERWRITE") == 10
    assert table.execute(query).fetchall() == [(10, 5000, 0)]
    assert table.execute("CHECK TABLE t").fetchall() == []


def test_few_rows_leave_buckets_without_a_file(table: Session, warehouse: Path) -> None:
    assert insert(table, 0, 0) == 0
    assert list((warehouse / "t").iterdir()) == []
    assert insert(table, 0, 1) == 1
    assert table.execute("SELECT `k.x` FROM t").fetchall() == [(0,)]
    assert insert(table, 0, 0, kind="OVERWRITE") == 0
    assert table.execute("SELECT * FROM t").fetchall() == []
    assert table.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.thorough
def test_a_row_that_fails_leaves_nothing(table: Session, warehouse: Path) -> None:
    with pytest.raises(InvalidValueError):
        table.execute(
            "INSERT INTO t (`k.x`) SELECT if(id = 900, raise_error('no'), id) FROM range(1000)"
        )
    assert table.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    assert list((warehouse / "t").iterdir()) == []


@pytest.mark.thorough
def test_files_that_spark_writes_elsewhere_are_missed(
    table: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With buckets, Spark writes no file where there are no rows. So none is no error by itself."""
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(encoding, "spark_path", lambda _: f"file://{elsewhere}")
    with pytest.raises(ExecutionError, match="Spark has written no file"):
        insert(table, 0, 100)
    assert list(elsewhere.rglob("*.orc"))
    assert table.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


@pytest.mark.thorough
def test_a_text_that_java_cannot_encode_goes_the_other_way(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int, s string) CLUSTERED BY (k) INTO 3 BUCKETS {ACID}")
    text = "CAST(unhex(concat(repeat('61', 1020), repeat('f0', 50))) AS string)"
    session.execute(f"INSERT INTO t SELECT id, {text} FROM range(20)")
    assert session.execute(f"SELECT count(*) FROM t WHERE s = {text}").fetchall() == [(20,)]
    assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.thorough
def test_random_rows_are_computed_once(table: Session) -> None:
    """A row's bucket and its values come from one evaluation."""
    table.execute("INSERT INTO t (`k.x`, s) SELECT int(1e9 * rand()), id FROM range(1000)")
    assert table.execute("SELECT count(DISTINCT s) FROM t").fetchall() == [(1000,)]
    assert table.execute("CHECK TABLE t").fetchall() == []
