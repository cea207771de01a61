"""Rows of this process as a frame of Spark: the same rows whichever way they go."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from acidsql.engines.spark import local_frame as module
from acidsql.engines.spark.local_frame import local_frame

TABLE = pa.table(
    {
        "i": pa.array([1, None, -(2**31)], pa.int32()),
        "text": ["a", None, "Müller\0"],
        "day": pa.array([datetime.date(1500, 1, 1), None, datetime.date(9999, 12, 31)]),
        "x.y": pa.array([Decimal("1.20"), None, Decimal("-9")], pa.decimal128(38, 2)),
        "nested": pa.array([{"a": 1, "b": ["x", None]}, None, {"a": None, "b": None}]),
        "pairs": pa.array([[("k", 1.5)], None, []], pa.map_(pa.string(), pa.float64())),
        "bytes": pa.array([b"\0\xff", b"", None]),
        "number": pa.array([float("inf"), -0.0, None]),
    }
)
ZONED = pa.table({"at": pa.array([0, None], pa.timestamp("us", "UTC")), "i": [1, 2]})
"""Rows that PySpark brings to another zone."""

LARGE = TABLE.set_column(1, "text", TABLE["text"].cast(pa.large_string()))
"""Rows that PySpark casts."""


@pytest.mark.parametrize(
    ("rows", "is_handed"),
    [
        pytest.param(TABLE, True, id="some"),
        pytest.param(TABLE.slice(3), True, id="none"),
        pytest.param(pa.concat_tables([TABLE, TABLE.slice(1, 2)]), True, id="two batches"),
        pytest.param(pa.concat_tables([TABLE] * 5000), False, id="many"),
        pytest.param(ZONED, False, id="times"),
        pytest.param(LARGE, False, id="large"),
    ],
)
def test_the_rows_of_a_table(
    spark: Any, rows: pa.Table, is_handed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    through_file = spark.createDataFrame(rows)
    files = []
    create = type(spark).createDataFrame
    monkeypatch.setattr(
        type(spark), "createDataFrame", lambda *a, **k: files.append(a) or create(*a, **k)
    )
    found = local_frame(spark, rows)
    assert found.schema == through_file.schema
    assert found.collect() == through_file.collect()
    assert bool(files) is not is_handed


@pytest.mark.parametrize("schema", ["id int, v string", "id bigint, v string", "id int, v int"])
@pytest.mark.parametrize("parsed", [False, True])
def test_rows_with_a_schema(spark: Any, schema: str, parsed: bool) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "v": ["3", None]})
    given = StructType.fromDDL(schema) if parsed else schema
    found, wanted = local_frame(spark, rows, given), spark.createDataFrame(rows, given)
    assert (found.schema, found.collect()) == (wanted.schema, wanted.collect())


def test_rows_that_the_jvm_has_lost(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that has been read already has no rows."""
    stream = module._stream
    monkeypatch.setattr(module, "_stream", lambda rows: stream(rows.slice(rows.num_rows)))
    assert local_frame(spark, TABLE).count() == 3
