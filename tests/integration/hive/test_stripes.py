"""Files of many stripes: Hive skips stripes by the key index, which must be right to the row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from acidsql.layout.dir_names import VERSION_FILE, DeltaDir
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.names import TableName
from acidsql.model.row_id import encode_bucket
from acidsql.model.table import Table
from acidsql.orc.footer import read_tail
from acidsql.orc.reader import read_events
from acidsql.orc.writer import VERSION_FILE_CONTENT, EventWriter
from tests.integration.hive.shared import Shared

pytestmark = pytest.mark.hive

ROWS = 24_000
SMALL, LARGE = 64 * 1024, 1200 * 1024
"""Lengths of stripes in bytes. Compactions merge small ones and copy large ones."""
SPLITS = {
    "hive.exec.orc.split.strategy": "ETL",
    "mapreduce.input.fileinputformat.split.maxsize": "100000",
    "mapreduce.input.fileinputformat.split.minsize": "1",
    "tez.grouping.min-size": "1",
    "tez.grouping.max-size": "100000",
}
"""A task per stripe or so: each finds its deletes by the keys of its own stripes."""


def test_deletes_at_the_edges_of_stripes(shared: Shared) -> None:
    _, edges = made_table(shared, SMALL, 15)
    assert len(edges) >= 8, "the file has too few stripes to show anything"
    delete(shared, edges)
    kept = sorted(set(range(ROWS)) - set(edges))
    check(shared, kept)
    for turn in ("minor", "major"):
        shared.acidsql(f"ALTER TABLE t COMPACT '{turn}'")
        check(shared, kept)


def test_stripes_that_compactions_have_copied(shared: Shared) -> None:
    table, edges = made_table(shared, LARGE, 300)
    before = stripes(Path(table.location), "delta_*")
    assert len(before) >= 4, "the file has too few stripes to show anything"
    delete(shared, edges[2:4])
    delete(shared, edges[-2:])
    kept = sorted(set(range(ROWS)) - {*edges[2:4], *edges[-2:]})
    shared.acidsql("ALTER TABLE t COMPACT 'minor'")
    assert stripes(Path(table.location), "delta_0000001_0000003*") == before
    check(shared, kept)
    shared.acidsql("ALTER TABLE t COMPACT 'major'")
    after = stripes(Path(table.location), "base_*")
    assert [b for b in before if b in after] == [before[0], *before[2:-1]]
    check(shared, kept)


def test_parts_of_tasks_that_were_joined(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has a stripe or more of each task that had rows of the bucket."""
    few = ROWS // 4
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    shared.both(
        "CREATE TABLE t (id int, v string, moment timestamp) CLUSTERED BY (id) INTO 2 BUCKETS"
        " STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = 'ZLIB')"
    )
    shared.acidsql(
        "INSERT INTO t SELECT CAST(id AS int), if(id % 5 = 0, NULL, concat('v', id)),"
        f" timestamp_micros(id * 7000001 - 50000000000) FROM range({few})"
    )
    edges = []
    for bucket in range(2):
        path = shared.location("t") / "delta_0000001_0000001_0000" / f"bucket_0000{bucket}"
        first = 0
        found = read_tail(str(path)).stripes
        assert len(found) >= 2, "the file has too few stripes to show anything"
        ids = read_events(str(path)).column("row").combine_chunks().field("id").to_pylist()
        for stripe in found:
            edges += [ids[first], ids[first + stripe.rows - 1]]
            first += stripe.rows
    delete(shared, edges)
    assert len(shared.rows("t")) == few - len(edges)
    shared.acidsql("ALTER TABLE t COMPACT 'major'")
    assert len(shared.rows("t")) == few - len(edges)


@pytest.mark.parametrize("codec", ["ZLIB", "SNAPPY"])
def test_rows_that_spark_has_encoded(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """Spark's ORC writer makes the stripes. Its days are those of the calendar that ORC says."""
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    shared.both(
        "CREATE TABLE t (id int, v string, d date, x decimal(12,3), g double, z boolean)"
        f" STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = '{codec}')"
    )
    shared.acidsql(
        "INSERT INTO t SELECT CAST(id AS int), if(id % 5 = 0, NULL, concat('v', id % 40)),"
        " date'0001-01-01' + int(id * 59), id / 8 - 300, if(id % 13 = 0, NULL, -id / 7),"
        f" id % 3 = 0 FROM range({ROWS // 2})"
    )
    path = shared.location("t") / "delta_0000001_0000001_0000" / "bucket_00001"
    [stripe] = read_tail(str(path)).stripes
    ids = read_events(str(path)).column("row").combine_chunks().field("id").to_pylist()
    delete(shared, [ids[0], ids[9_999 % stripe.rows], ids[-1]])
    assert len(shared.rows("t")) == ROWS // 2 - 3
    days = "SELECT count(*), min(id), max(id) FROM t WHERE d BETWEEN '1500-01-01' AND '1582-10-20'"
    [ours], [theirs] = shared.acidsql(days), shared.hive.run(days)
    assert list(ours) == list(theirs.values())
    assert ours[0] > 400
    shared.acidsql("UPDATE t SET v = 'x' WHERE id % 7 = 0")
    shared.acidsql("ALTER TABLE t COMPACT 'major'")
    assert len(shared.rows("t")) == ROWS // 2 - 3


def test_columns_that_were_copied(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """An UPDATE of all rows: a stripe whose columns are copied, and one that has lost rows."""
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)
    monkeypatch.setattr("acidsql.orc.set_columns.SMALL_BYTES", 0)
    shared.both(
        "CREATE TABLE t (id int, v string, moment timestamp, a array<int>, n int)"
        " STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = 'ZLIB')"
    )
    for first in (0, ROWS):
        shared.acidsql(
            "INSERT INTO t SELECT CAST(id AS int), if(id % 5 = 0, NULL, concat('v', id % 40)),"
            " timestamp_micros(id * 7000001 - 50000000000), array(CAST(id AS int), NULL), NULL"
            f" FROM range({first}, {first + ROWS // 2})"
        )
    delete(shared, [ROWS, ROWS + 77])
    shared.acidsql("UPDATE t SET n = id * 2, v = concat(v, id)")
    assert len(shared.rows("t")) == ROWS - 2
    kept = "SELECT count(*), sum(n) FROM t WHERE n BETWEEN 400 AND 900"
    [ours], [theirs] = shared.acidsql(kept), shared.hive.run(kept)
    assert list(ours) == [251, 251 * 650] == list(theirs.values())
    delete(shared, [0, ROWS // 2 - 1, ROWS + 1])
    assert len(shared.rows("t")) == ROWS - 5
    shared.acidsql("ALTER TABLE t COMPACT 'major'")
    assert len(shared.rows("t")) == ROWS - 5


def made_table(shared: Shared, stripe_bytes: int, text_bytes: int) -> tuple[Table, list[int]]:
    """A table of one delta, and the first and the last row of each of its stripes."""
    shared.both(
        "CREATE TABLE t (id int, v string) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = 'ZLIB')"
    )
    table = shared.store.table(TableName(shared.database, "t"))
    edges = write_stripes(table, stripe_bytes, text_bytes)
    (answer,) = shared.hive.run(f"!allocate {table.name} commit")
    assert answer["write_id"] == 1
    shared.theirs("SET hive.vectorized.execution.enabled=true")
    return table, edges


def delete(shared: Shared, rows: list[int]) -> None:
    shared.acidsql(f"DELETE FROM t WHERE id IN ({', '.join(map(str, rows))})")


def stripes(directory: Path, pattern: str) -> list[bytes]:
    """The bytes of each stripe of the newest file that matches."""
    path = sorted(directory.glob(f"{pattern}/bucket_00000"))[-1]
    data = path.read_bytes()
    return [data[s.offset : s.offset + s.length] for s in read_tail(str(path)).stripes]


def write_stripes(table: Table, stripe_bytes: int, text_bytes: int) -> list[int]:
    """One delta in one file; the first and the last row of each of its stripes."""
    directory = Path(table.location) / DeltaDir(WriteId(1), WriteId(1), StatementId(0)).name
    directory.mkdir()
    noise = np.random.default_rng(5)
    path = directory / "bucket_00000"
    with EventWriter(str(path), table.columns, "zlib", stripe_bytes=stripe_bytes) as writer:
        for first in range(0, ROWS, 1000):
            ids = np.arange(first, first + 1000, dtype=np.int32)
            texts = [noise.bytes(text_bytes).hex() for _ in ids]
            rows = pa.record_batch([pa.array(ids), pa.array(texts)], names=["id", "v"])
            bucket = encode_bucket(BucketId(0), StatementId(0))
            writer.write_inserts(rows, WriteId(1), bucket)
    (directory / VERSION_FILE).write_bytes(VERSION_FILE_CONTENT)
    edges, first = [], 0
    for stripe in read_tail(str(path)).stripes:
        edges += [first, first + stripe.rows - 1]
        first += stripe.rows
    assert first == ROWS
    return edges


def check(shared: Shared, kept: list[int]) -> None:
    """Hive and acidsql count what is left, whole, in splits, and around each gap."""
    query = "SELECT count(*), sum(id), sum(row__id.rowid) FROM t"
    middle = " WHERE id BETWEEN 8000 AND 16000"
    inside = [i for i in kept if 8000 <= i <= 16000]
    for where, ids in (("", kept), (middle, inside)):
        expected = [len(ids), sum(ids), sum(ids)]
        assert [list(r) for r in shared.acidsql(query + where)] == [expected]
        for vectorised in ("true", "false"):
            shared.hive.run(f"SET hive.vectorized.execution.enabled={vectorised}")
            for key, value in SPLITS.items():
                shared.hive.run(f"SET {key}={value}")
            (row,) = shared.hive.run(query + where)
            assert list(row.values()) == expected, f"vectorised: {vectorised}{where}"
