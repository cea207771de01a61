"""A delete event takes away the one row of its write id, bucket property and row number."""

from __future__ import annotations

import sqlite3
from itertools import product

import numpy as np
import pytest

from acidsql.engines.changes import PARTITION
from acidsql.engines.spark.deletes import KeyPacking, same_row_id
from acidsql.engines.spark.row_bitmap import RowBitmap
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket
from acidsql.orc.schema import ROW_ID_COLUMNS

Key = tuple[int, int, int, int]
"""Partition, write id, bucket property, row number."""

BUCKETS = [encode_bucket(BucketId(b), StatementId(s)) for b, s in product((0, 1), (0, 1))]
KEYS: list[Key] = list(product((0, 1), (1, 2), BUCKETS, (0, 1)))
"""Of any two that differ in one part both are there."""


def arrays(keys: list[Key]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    partition, *ids = (np.array(part, np.int64) for part in zip(*keys, strict=True))
    return partition, dict(zip(ROW_ID_COLUMNS, ids, strict=True))


def test_no_two_rows_share_a_packed_key() -> None:
    packing = KeyPacking(partition_bits=1, write_id_bits=2)
    assert len(set(packing.pack(*arrays(KEYS)).tolist())) == len(KEYS)


@pytest.mark.parametrize("partitioned", [False, True])
def test_all_parts_of_the_row_id_are_compared(partitioned: bool) -> None:
    """The condition is SQL of every database."""
    names = (PARTITION, *ROW_ID_COLUMNS)
    keys = KEYS if partitioned else [key for key in KEYS if key[0] == 0]
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE events ({', '.join(names)})")
        db.execute(f"CREATE TABLE deletes (__d{PARTITION}, __d_{', __d_'.join(ROW_ID_COLUMNS)})")
        for table, rows in (("events", keys), ("deletes", keys[:1])):
            db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
        found = db.execute(
            f"SELECT events.* FROM events LEFT JOIN deletes"
            f" ON {same_row_id(partitioned=partitioned)} WHERE __d_rowId IS NULL"
        ).fetchall()
    db.close()
    assert sorted(found) == sorted(keys[1:])


def test_a_bit_is_looked_up_by_write_id_and_bucket() -> None:
    deleted = [(0, 1, BUCKETS[0], 70), (0, 2, BUCKETS[3], 5)]
    partition, ids = arrays(deleted)
    packing = KeyPacking(0, 2)
    bitmap = RowBitmap.of(ids, packing.pack(partition, ids), packing.row_bits)
    assert bitmap is not None
    asked = [key[1:] for key in KEYS if key[0] == 0]
    with sqlite3.connect(":memory:") as db:
        db.create_function("shiftright", 2, lambda value, by: value >> by)
        db.execute(f"CREATE TABLE events ({', '.join(ROW_ID_COLUMNS)})")
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", [*asked, deleted[0][1:]])
        found = db.execute(
            f"SELECT *, {bitmap.index()} AS word FROM events WHERE word IS NOT NULL"
        ).fetchall()
    db.close()
    assert [(*row[:3], bitmap.words[row[3]]) for row in sorted(found)] == [
        (1, BUCKETS[0], 70, 1 << 70 - 64),
        (2, BUCKETS[3], 0, 1 << 5),
        (2, BUCKETS[3], 1, 1 << 5),
    ]
