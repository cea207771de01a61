"""Nested arrays in the one form that pyarrow's ORC writer stores right.

pyarrow (seen with 26.0) stores wrong values in three cases:

- It takes the values that a struct holds beneath its nulls for real ones. After a null struct
  inside another struct the following rows get their neighbours' values.
- A slice of a struct loses its offset.
- So does a slice inside a struct that has nulls: its values become null.

An array is stored right if every child is null where its parent is, and no array is a slice.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array


def settled(array: Array) -> Array:
    """The same values without slices, with every struct's nulls in its children, too.

    >>> whole = pa.array([{"x": 1}, {"x": 2}])
    >>> settled(whole[1:]).to_pylist()
    [{'x': 2}]
    """
    if not pa.types.is_nested(array.type):
        return array
    if not len(array):  # some writers of Arrow leave out its offsets, of which one must be there
        return pa.array([], array.type)
    mask: Array = array.is_null() if array.null_count else None
    if pa.types.is_struct(array.type):
        children = [_whole(settled(child)) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=mask)
    bounds = np.asarray(array.offsets)
    first, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    lengths = np.diff(bounds)
    kept = _outside_nulls(array, lengths)
    if kept is not None:
        lengths = np.where(np.asarray(mask), 0, lengths)
    offsets: Array = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())

    def inner(values: Array) -> Array:
        values = values.slice(first, count)
        return settled(values if kept is None else values.filter(kept))

    if pa.types.is_map(array.type):
        maps: Array = pa.MapArray
        return maps.from_arrays(
            offsets, inner(array.keys), inner(array.items), array.type, mask=mask
        )
    lists: Array = pa.ListArray
    return lists.from_arrays(offsets, inner(array.values), array.type, mask=mask)


def _whole(array: Array) -> Array:
    return pa.concat_arrays([array]) if array.offset else array


def _outside_nulls(array: Array, lengths: NDArray[np.int32]) -> Array | None:
    """For each value inside, whether its list is not null; None if no value is in a null list."""
    if not array.null_count:
        return None
    nulls = np.asarray(array.is_null())
    return pa.array(np.repeat(~nulls, lengths)) if lengths[nulls].any() else None
