"""A row's packed key is that of a deleted row only if the row is that one. SQLite reads the SQL.

Spark reads it in `property/test_row_bitmap.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from acidsql.engines.spark.key_packing import WORD_BITS, WORD_COLUMNS, KeyPacking
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket

Key = tuple[int, int, int, int]
"""Partition, write id, bucket property, row number."""


def near(limit: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(0, min(3, limit)), st.integers(max(0, limit - 2), limit))


buckets = st.one_of(
    st.builds(encode_bucket, near(4095).map(BucketId), near(4095).map(StatementId)),
    near(4095),  # of codec V0, before Hive 3
)


@st.composite
def deleted_rows(draw: st.DrawFn) -> list[Key]:
    """Rows whose parts are of one size each, from one to as many bits as there is room for."""
    keys = st.tuples(
        near((1 << draw(st.integers(0, 8))) - 1),
        near((1 << draw(st.integers(1, 12))) - 1),
        st.sampled_from(draw(st.lists(buckets, min_size=1, max_size=6))),
        near((1 << draw(st.integers(1, 12))) - 1),
    )
    return draw(st.lists(keys, min_size=1, max_size=30, unique=True))


@st.composite
def near_rows(draw: st.DrawFn, deleted: Sequence[Key]) -> list[Key]:
    """Deleted rows with one part changed: by a little, or in one bit."""
    found = []
    for key in draw(st.lists(st.sampled_from(deleted), max_size=30)):
        part = draw(st.integers(0, 3))
        by = draw(st.integers(-65, 65))
        bits = 30 if part in (0, 2) else 62
        bit = draw(st.one_of(st.none(), st.integers(0, bits)))
        value = max(0, key[part] + by) if bit is None else key[part] ^ 1 << bit
        found.append((*key[:part], value, *key[part + 1 :]))
    return found


def words(keys: Sequence[Key]) -> dict[str, np.ndarray]:
    columns = np.array(keys, np.int64).reshape(-1, 4).T
    return dict(zip(WORD_COLUMNS, (*columns[:3], columns[3] >> WORD_BITS), strict=True))


def packed_by_sqlite(
    packing: KeyPacking, keys: Sequence[tuple[int | None, ...]], *, partitioned: bool = True
) -> list[int]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("shiftright", 2, lambda number, by: number >> by)
        connection.create_function("shiftleft", 2, lambda number, by: number << by)
        connection.execute(f"CREATE TABLE t (number, {', '.join(WORD_COLUMNS)})")
        numbered = [(number, *key) for number, key in enumerate(keys)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", numbered)
        expression = packing.expression(partitioned=partitioned)
        return [n for (n,) in connection.execute(f"SELECT {expression} FROM t ORDER BY number")]


@settings(deadline=None)
@given(deleted_rows(), st.data())
def test_only_a_deleted_row_has_its_key(deleted: list[Key], data: st.DataObject) -> None:
    packing = KeyPacking.of(words(deleted))
    assert packing is not None
    asked = [*deleted, *data.draw(near_rows(deleted))]
    keys = packed_by_sqlite(packing, asked)
    assert all(0 <= key < packing.no_key <= 1 << 62 for key in keys[: len(deleted)])
    deleted_keys = set(keys[: len(deleted)])
    assert len(deleted_keys) == len(deleted)
    assert [key in deleted_keys for key in keys] == [key in set(deleted) for key in asked]


@settings(deadline=None)
@given(deleted_rows())
def test_numpy_packs_as_sql_does(deleted: list[Key]) -> None:
    packing = KeyPacking.of(words(deleted))
    assert packing is not None
    keys = packed_by_sqlite(packing, deleted)
    assert packing.pack(words(deleted)).tolist() == [key >> WORD_BITS for key in keys]


def test_a_row_without_a_row_id_has_no_deleted_rows_key() -> None:
    packing = KeyPacking.of(words([(0, 1, 1 << 29, 5), (0, 2, 1 << 29, 6)]))
    assert packing is not None
    asked = [(0, None, None, None), (None, 1, 1 << 29, None)]
    assert packed_by_sqlite(packing, asked) == [packing.no_key] * 2


def test_without_partitions_the_partition_is_not_asked_for() -> None:
    packing = KeyPacking.of(words([(0, 1, 1 << 29, 5)]))
    assert packing is not None
    assert packed_by_sqlite(packing, [(None, 1, 1 << 29, 5)], partitioned=False) == [5]


def test_what_differs_in_too_many_bits_has_no_packing() -> None:
    low, high = (0, 1, 1 << 29, 0), (4095, 1 << 20, encode_bucket(BucketId(31), StatementId(3)), 0)
    rows = 62 - 12 - 21 - 5 - 2
    assert KeyPacking.of(words([low, (*high[:3], (1 << rows) - 1)])) is not None
    assert KeyPacking.of(words([low, (*high[:3], 1 << rows)])) is None


def test_what_no_row_id_can_be_has_no_packing() -> None:
    assert KeyPacking.of(words([(0, 1, -1 << 31, 5)])) is None
    assert KeyPacking.of(words([(0, 1, 1 << 29, -1)])) is None
