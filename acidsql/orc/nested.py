"""Change the leaves of nested arrays: the values inside structs, lists and maps."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from acidsql.layout.arrow import Array, DataType


def has_leaf(kind: DataType, is_leaf: Callable[[DataType], bool]) -> bool:
    """Whether the type, or a type inside it, is a leaf by this test."""
    if is_leaf(kind):
        return True
    return any(has_leaf(kind.field(at).type, is_leaf) for at in range(kind.num_fields))


def map_leaves(
    array: Array, is_leaf: Callable[[DataType], bool], change: Callable[[Array], Array]
) -> Array:
    """The array with every leaf changed whose type passes the test, in the order of ORC's columns.

    The values inside a list or map must start at its first offset. They do in arrays that pyarrow
    has read, and in those that `settled` gives.
    """
    kind = array.type
    if is_leaf(kind):
        return change(array)
    if not has_leaf(kind, is_leaf):
        return array
    mask: Array = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        children = [map_leaves(child, is_leaf, change) for child in array.flatten()]
        fields = [f.with_type(c.type) for f, c in zip(kind, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(kind):
        keys = map_leaves(array.keys, is_leaf, change)
        items = map_leaves(array.items, is_leaf, change)
        maps: Array = pa.MapArray
        return maps.from_arrays(
            array.offsets, keys, items, pa.map_(keys.type, items.type), mask=mask
        )
    values = map_leaves(array.values, is_leaf, change)
    lists: Array = pa.ListArray
    inner = kind.field(0).with_type(values.type)
    return lists.from_arrays(array.offsets, values, pa.list_(inner), mask=mask)
