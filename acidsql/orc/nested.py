"""The arrays inside of structs, lists and maps, and their leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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

    What `with_children` says of offsets holds at every level.
    """
    kind = array.type
    if is_leaf(kind):
        return change(array)
    if not has_leaf(kind, is_leaf):
        return array
    changed = [map_leaves(child, is_leaf, change) for child in children_of(array)]
    return with_children(array, changed)


def children_of(array: Array) -> Sequence[Array]:
    """The arrays one level inside a nested array, in the order of ORC's columns.

    They are the fields of a struct, the keys and items of a map, or the values of a list.
    ValueError for an array of another type.
    """
    match array:
        case pa.StructArray():
            fields: Sequence[Array] = array.flatten()
            return fields
        case pa.MapArray():
            return [array.keys, array.items]
        case pa.ListArray():
            return [array.values]
    raise ValueError(f"{array.type} is no struct, map or list")


def with_children(array: Array, children: Sequence[Array]) -> Array:
    """A nested array with other arrays in place of its `children_of`, which may have other types.

    The values inside a list or map must start at its first offset. They do in arrays that pyarrow
    has read, and in those that `settled` gives.
    """
    kind = array.type
    mask: Array = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        fields = [f.with_type(c.type) for f, c in zip(kind, children, strict=True)]
        return pa.StructArray.from_arrays(list(children), fields=fields, mask=mask)
    if pa.types.is_map(kind):
        keys, items = children
        maps: Array = pa.MapArray
        typed = pa.map_(keys.type, items.type)
        return maps.from_arrays(array.offsets, keys, items, typed, mask=mask)
    (values,) = children
    lists: Array = pa.ListArray
    inner = kind.field(0).with_type(values.type)
    return lists.from_arrays(array.offsets, values, pa.list_(inner), mask=mask)


def renamed(array: Array, kind: DataType) -> Array:
    """The array with the names that fields of structs have in a type, in the same order.

    Arrow's cast goes by these names, and makes null of a field that it does not find. Where names
    differ in more than upper and lower case, they stay.
    """
    named = _named(array.type, kind)
    return array if named.equals(array.type) else array.view(named)


def _named(found: DataType, wanted: DataType) -> DataType:
    """The type with the names that fields of structs have in the other one."""
    types: Any = pa.types
    if types.is_struct(found) and types.is_struct(wanted):
        pairs = list(zip(found, wanted, strict=False))
        same = found.num_fields == wanted.num_fields and all(
            f.name.lower() == w.name.lower() for f, w in pairs
        )
        if same:
            return pa.struct([pa.field(w.name, _named(f.type, w.type)) for f, w in pairs])
    if types.is_map(found) and types.is_map(wanted):
        key, item = found.key_type, found.item_type
        return pa.map_(_named(key, wanted.key_type), _named(item, wanted.item_type))
    if types.is_list(found) and types.is_list(wanted):
        inner = found.field(0)
        return pa.list_(inner.with_type(_named(inner.type, wanted.field(0).type)))
    return found
