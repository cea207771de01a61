"""Spark leaves out the deleted rows alone, whether it looks up bits or joins words.

Pages of bits are found by a directory or, "far", by a search: row numbers that are far apart would
need a large directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from pyarrow import orc

from acidsql.engines.changes import PARTITION
from acidsql.engines.spark.deletes import word_join
from acidsql.engines.spark.key_packing import WORD_COLUMNS, KeyPacking
from acidsql.engines.spark.row_bitmap import RowBitmap
from acidsql.engines.spark.settings import ansi
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket
from tests.unit.engines.spark.test_key_packing import Key, deleted_rows, near_rows, words
from tests.unit.engines.spark.test_row_bitmap import packed_words

MANY = [
    (partition, write_id, encode_bucket(BucketId(bucket), StatementId(0)), row)
    for partition in range(2)
    for write_id in range(1, 13)
    for bucket in range(32)
    for row in (0, 63, 64 * write_id + bucket)
]
"""Of each bucket of each write."""


def table(keys: Sequence[tuple[int | None, ...]]) -> pa.Table:
    kinds = (pa.int32(), pa.int64(), pa.int32(), pa.int64())
    columns = zip(*keys, strict=True)
    return pa.table(
        {n: pa.array(c, k) for n, c, k in zip(WORD_COLUMNS, columns, kinds, strict=True)}
    )


WAYS = ["near", "far", "words"]


def with_far_row(way: str, deleted: list[Key]) -> list[Key]:
    return [*deleted, (*deleted[0][:3], 1 << 34)] if way == "far" else deleted


def left(spark: Any, way: str, deleted: list[Key], asked: list[Any]) -> list[tuple[int, ...]]:
    """The rows that are not deleted, in any order."""
    frame = spark.createDataFrame(table(asked))
    packed = packed_words(deleted)
    partitioned = any(key[0] for key in deleted)
    if way == "words":
        rest = word_join(spark, packed, partitioned=partitioned)(frame)
    else:
        bitmap = RowBitmap.of(packed)
        assert not (bitmap.has_directory and way == "far")
        unset = bitmap.is_unset(spark, partitioned=partitioned)
        assert unset is not None
        rest = frame.where(unset)
    return [tuple(row) for row in rest.select(*WORD_COLUMNS).collect()]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=4, deadline=None)
@given(deleted_rows(), st.data())
def test_the_deleted_rows_are_left_out(
    spark: Any, way: str, deleted: list[Key], data: st.DataObject
) -> None:
    deleted = with_far_row(way, deleted)
    assume(KeyPacking.of(words(deleted)) is not None)
    asked = [*deleted, *data.draw(near_rows(deleted))]
    if not any(key[0] for key in deleted):
        asked = [key for key in asked if key[0] == 0]
    with ansi(spark):
        found = left(spark, way, deleted, asked)
    assert sorted(found) == sorted(key for key in asked if key not in set(deleted))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", WAYS)
def test_many_writes_and_buckets(spark: Any, way: str) -> None:
    deleted = with_far_row(way, MANY[::2])
    others = [(p, w, b, row + by) for p, w, b, row in MANY for by in (1, 64, 1 << 33)]
    asked = list(dict.fromkeys([*MANY, *others]))
    expected = set(asked) - set(deleted)
    found = left(spark, way, deleted, asked)
    assert len(found) == len(expected)
    assert set(found) == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", WAYS)
def test_rows_without_a_row_id_are_not_deleted(spark: Any, way: str) -> None:
    asked = [(0, None, None, None), (0, 1, 1 << 29, None), (0, 1, 1 << 29, 0)]
    deleted = with_far_row(way, [(0, 1, 1 << 29, 0)])
    assert left(spark, way, deleted, asked) == asked[:2]


@pytest.mark.parametrize("way", ["near", "far"])
def test_the_code_leaves_room_for_that_of_a_query(spark: Any, way: str, tmp_path: Path) -> None:
    """The JVM does not compile methods of more than 8,000 bytes."""
    orc.write_table(table(MANY), str(tmp_path / "rows.orc"))
    deleted = with_far_row(way, MANY)
    with ansi(spark):
        bitmap = RowBitmap.of(packed_words(deleted))
        assert bitmap.has_directory == (way == "near")
        unset = bitmap.is_unset(spark, partitioned=True)
        frame = spark.read.orc(str(tmp_path)).where(unset)
        plan = frame._jdf.queryExecution()
    stages = plan.debug().codegenToSeq()
    sizes = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]
    assert 0 < max(sizes) < 2500


def test_a_plan_has_no_bits_in_its_text(spark: Any) -> None:
    """Spark shows the plan of each query, and a bitmap has megabytes."""
    deleted = [(0, 1, 1 << 29, int(row)) for row in np.arange(0, 1 << 20, 700)]
    unset = RowBitmap.of(packed_words(deleted)).is_unset(spark, partitioned=False)
    frame = spark.createDataFrame(table([(0, 1, 1 << 29, 0)])).where(unset)
    assert len(frame._jdf.queryExecution().toString()) < 20_000


def test_partitions_are_told_apart(spark: Any) -> None:
    asked = [(p, 1, 1 << 29, 5) for p in range(3)]
    assert [row[0] for row in left(spark, "near", [asked[1]], asked)] == [0, 2]
    assert WORD_COLUMNS[0] == PARTITION
