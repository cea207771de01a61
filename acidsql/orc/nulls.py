"""Nested arrays in the one form that pyarrow's ORC writer stores right.

pyarrow (seen with 26.0) takes what a struct holds beneath its nulls for values: after a null struct
inside another one the following rows get their neighbours' values. A slice of a struct loses its
offset. Both go well when every child is null itself where its parent is, and nothing is a slice.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from acidsql.layout.arrow import Array


def settled(array: Array) -> Array:
    """The same values, without slices and with the nulls of every struct in its children too.

    >>> whole = pa.array([{"x": 1}, {"x": 2}])
    >>> settled(whole[1:]).to_pylist()
    [{'x': 2}]
    """
    if not pa.types.is_nested(array.type):
        return array
    mask: Array = array.is_null() if array.null_count else None
    if pa.types.is_struct(array.type):
        children = [settled(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=mask)
    bounds = np.asarray(array.offsets)
    first, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    offsets: Array = pa.array(bounds - first, pa.int32())
    if pa.types.is_map(array.type):
        keys = settled(array.keys.slice(first, count))
        items = settled(array.items.slice(first, count))
        maps: Array = pa.MapArray
        return maps.from_arrays(offsets, keys, items, array.type, mask=mask)
    values = settled(array.values.slice(first, count))
    lists: Array = pa.ListArray
    return lists.from_arrays(offsets, values, array.type, mask=mask)
