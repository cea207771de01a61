"""What a bitmap of deleted rows lets through is what is not among them."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given, settings

from tests.unit.engines.spark.test_row_bitmap import (
    Key,
    arrays,
    bitmap,
    keys,
    near,
    of_one_range,
)


@settings(max_examples=6, deadline=None)
@given(st.lists(keys, min_size=1, max_size=30, unique=True), st.lists(keys, max_size=30), st.data())
def test_spark_finds_the_deleted(
    spark: Any, deleted: list[Key], others: list[Key], data: st.DataObject
) -> None:
    deleted = of_one_range(deleted)
    asked = [*deleted, *others, *data.draw(near(deleted))]
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
