"""A delete event takes away the one row of its write id, bucket property and row number."""

from __future__ import annotations

import sqlite3
from itertools import product

import pytest

from acidsql.engines.changes import PARTITION
from acidsql.engines.spark.deletes import same_row_id
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket
from acidsql.orc.schema import ROW_ID_COLUMNS

Key = tuple[int, int, int, int]
"""Partition, write id, bucket property, row number."""

BUCKETS = [encode_bucket(BucketId(b), StatementId(s)) for b, s in product((0, 1), (0, 1))]
KEYS: list[Key] = list(product((0, 1), (1, 2), BUCKETS, (0, 1)))
"""Of any two that differ in one part both are there."""


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
