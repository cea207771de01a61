"""What a bitmap of deleted rows lets through is what is not among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given, settings
from pyarrow import orc

from acidsql.engines.spark.row_bitmap import STRETCHES_MAX
from acidsql.engines.spark.settings import ansi
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


def test_the_code_of_the_most_stretches_leaves_room_for_that_of_a_query(
    spark: Any, tmp_path: Path
) -> None:
    """The JVM does not compile methods of more than 8,000 bytes."""
    stretches = [(1 + n // 4, 1 << 29 | n % 4 << 16, n) for n in range(STRETCHES_MAX)]
    made = bitmap(stretches)
    assert made is not None
    orc.write_table(pa.table(arrays(stretches)), str(tmp_path / "rows.orc"))
    with ansi(spark):
        frame = spark.read.orc(str(tmp_path)).where(made.is_unset(spark))
        plan = frame._jdf.queryExecution()
    stages = plan.debug().codegenToSeq()
    sizes = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]
    assert 0 < max(sizes) < 4500
