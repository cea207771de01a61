"""What a bitmap of deleted rows lets through is what is not among them."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
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


@settings(max_examples=6, deadline=None)
@given(st.lists(keys, min_size=1, max_size=30, unique=True), st.lists(keys, max_size=30), st.data())
def test_spark_finds_the_deleted(
    spark: Any, deleted: list[Key], others: list[Key], data: st.DataObject
) -> None:
    # One range of row numbers per stretch, or a bitmap would be too large.
    start = {key[:2]: key[2] >> 20 for key in deleted}
    deleted = [key for key in deleted if key[2] >> 20 == start[key[:2]]]
    near = st.sampled_from(deleted).flatmap(
        lambda key: st.integers(-65, 65).map(lambda by: (*key[:2], max(0, key[2] + by)))
    )
    asked = [*deleted, *others, *data.draw(st.lists(near, max_size=20))]
    parts = arrays(asked)
    frame = spark.createDataFrame(pa.table(parts))
    made = bitmap(deleted)
    assert made is not None
    unset = made.is_unset(spark)
    assert unset is not None
    left = frame.where(unset).select(*parts).collect()
    assert sorted(tuple(row) for row in left) == sorted(
        key for key in asked if key not in set(deleted)
    )


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
