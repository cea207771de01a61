"""Nested arrays in the form that pyarrow's ORC writer stores right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.orc.nulls import settled


def without_offsets(kind: pa.DataType, children: list[pa.Array[Any]]) -> pa.Array[Any]:
    """An array of no rows whose buffer of offsets has no bytes. Behind it lies a number of others.

    Arrow asks for one offset there. The data of Spark 4.0 may come without.
    """
    others = pa.py_buffer(np.array([-5, 9], np.int32).tobytes())
    return pa.Array.from_buffers(kind, 0, [None, others.slice(0, 0)], children=children)


NUMBERS = pa.array([], pa.int32())
LIST = without_offsets(pa.list_(pa.int32()), [NUMBERS])
ENTRIES = pa.StructArray.from_arrays([pa.array([], pa.string()), LIST], names=["key", "value"])
MAP = without_offsets(pa.map_(pa.string(), pa.list_(pa.int32())), [ENTRIES])


@pytest.mark.parametrize("array", [LIST, MAP], ids=["list", "map"])
def test_no_rows_have_no_offsets(array: pa.Array[Any]) -> None:
    found = settled(array)
    assert found.equals(pa.array([], array.type))
    assert np.asarray(found.offsets).tolist() == [0]


def test_lists_of_no_values_have_no_offsets_inside() -> None:
    outer = pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), LIST)
    assert settled(outer).to_pylist() == [[], []]
