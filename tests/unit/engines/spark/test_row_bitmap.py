"""The bits of a bitmap are the deleted rows. SQLite reads the SQL that finds a row's word.

Spark reads it in `property/test_row_bitmap.py`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from acidsql.engines.spark.deletes import KeyPacking
from acidsql.engines.spark.row_bitmap import STRETCHES_MAX, WORDS_MIN, RowBitmap
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket

Key = tuple[int, int, int]
PACKING = KeyPacking(0, 4)

rows = st.builds(
    lambda word, bit: word * 64 + bit, st.integers(0, 40), st.sampled_from([0, 1, 31, 32, 62, 63])
)
keys = st.tuples(
    st.integers(1, 3),
    st.builds(encode_bucket, st.integers(0, 1).map(BucketId), st.integers(0, 1).map(StatementId)),
    st.sampled_from([0, 1 << 20, (1 << PACKING.row_bits) - 41 * 64]).flatmap(
        lambda start: rows.map(lambda row: start + row)
    ),
)


def arrays(found: list[Key]) -> dict[str, np.ndarray]:
    write_id, bucket, row = np.array(found, np.int64).reshape(-1, 3).T
    return {
        "originalTransaction": write_id,
        "bucket": bucket.astype(np.int32),
        "rowId": row,
    }


def bitmap(found: list[Key]) -> RowBitmap | None:
    parts = arrays(found)
    packed = PACKING.pack(np.zeros(len(found), np.int64), parts)
    return RowBitmap.of(parts, packed, PACKING.row_bits)


def near(deleted: list[Key]) -> st.SearchStrategy[list[Key]]:
    """Rows some words before and behind deleted ones."""
    one = st.sampled_from(deleted).flatmap(
        lambda key: st.integers(-65, 65).map(lambda by: (*key[:2], max(0, key[2] + by)))
    )
    return st.lists(one, max_size=20)


def of_one_range(deleted: list[Key]) -> list[Key]:
    """One range of row numbers per stretch, or a bitmap would be too large."""
    start = {key[:2]: key[2] >> 20 for key in deleted}
    return [key for key in deleted if key[2] >> 20 == start[key[:2]]]


@settings(deadline=None)
@given(st.lists(keys, min_size=1, max_size=30, unique=True), st.lists(keys, max_size=30), st.data())
def test_a_bit_is_set_for_each_deleted_row(
    found: list[Key], others: list[Key], data: st.DataObject
) -> None:
    deleted = of_one_range(found)
    asked = [*deleted, *others, *data.draw(near(deleted))]
    made = bitmap(deleted)
    assert made is not None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("shiftright", 2, lambda number, by: number >> by)
        connection.execute("CREATE TABLE t (number, originalTransaction, bucket, rowId)")
        numbered = [(number, *key) for number, key in enumerate(asked)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", numbered)
        words = connection.execute(f"SELECT {made.index()} FROM t ORDER BY number").fetchall()
    bits = [
        word is not None and int(made.words[word]) >> (key[2] & 63) & 1 == 1
        for key, (word,) in zip(asked, words, strict=True)
    ]
    assert bits == [key in set(deleted) for key in asked]


def test_rows_far_apart_have_none() -> None:
    assert bitmap([(1, 1 << 29, 0), (1, 1 << 29, WORDS_MIN * 64)]) is None
    made = bitmap([(1, 1 << 29, 0), (1, 1 << 29, WORDS_MIN * 64 - 1)])
    assert made is not None
    assert len(made.words) == WORDS_MIN


def test_many_stretches_have_none() -> None:
    stretches = [
        (1, encode_bucket(BucketId(bucket), StatementId(0)), 5)
        for bucket in range(STRETCHES_MAX + 1)
    ]
    assert bitmap(stretches) is None
    made = bitmap(stretches[1:])
    assert made is not None
    assert made.words.tolist() == [1 << 5] * STRETCHES_MAX


def test_without_a_gateway_there_are_none() -> None:
    made = bitmap([(1, 1 << 29, 5)])
    assert made is not None
    assert made.is_unset(object()) is None  # type: ignore[arg-type]
