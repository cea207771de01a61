"""The packed key of a row is the same in numpy and in Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings

from acidsql.engines.changes import PARTITION
from acidsql.engines.spark.deletes import KeyPacking
from tests.unit.engines.spark.test_key_packing import Key, arrays, packings


@settings(max_examples=5, deadline=None)
@given(packings())
def test_spark_packs_as_numpy_does(spark: Any, given_keys: tuple[KeyPacking, list[Key]]) -> None:
    packing, keys = given_keys
    partition, parts = arrays(keys)
    # What cannot have been packed must not meet a packed key.
    other = [(0, 1 << packing.write_id_bits, 1 << 29, 0), (0, 1, 5, 0)]
    more_partition, more = arrays(other)
    frame = spark.createDataFrame(
        pa.table(
            {
                PARTITION: np.concatenate([partition, more_partition]).astype(np.int32),
                **{n: np.concatenate([parts[n], more[n]]) for n in parts},
            }
        )
    )
    expression = packing.expression(partitioned=True)
    found = [row[0] for row in frame.selectExpr(expression).collect()]
    assert found == [*packing.pack(partition, parts).tolist(), None, None]
