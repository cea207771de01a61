"""Rows of files written under an older schema, as the table's columns are now."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import StorageError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import Column
from acidsql.orc.schema import arrow_type
from acidsql.orc.timestamps import exact_of, is_exact


def current_rows(
    rows: Array, columns: Sequence[Column], path: str, *, by_position: bool = False
) -> Array:
    """The rows with the table's columns and types; a column the file lacks is null.

    Columns match by name, as in Hive 3, or by position, as Hive 4 does by default: after a rename
    only the latter keeps the old data. StorageError for a value the current type cannot hold.
    """
    children = rows.flatten()
    found: dict[str, Array] = {}
    for at, (field, child) in enumerate(zip(rows.type, children, strict=True)):
        if not by_position:
            found.setdefault(field.name.lower(), child)
        elif at < len(columns):
            found[columns[at].name] = child
    arrays = []
    for column in columns:
        kind = arrow_type(column.type, "exact")
        child = found.get(column.name)
        arrays.append(
            pa.nulls(len(rows), kind) if child is None else _cast(child, kind, column, path)
        )
    fields = [pa.field(c.name, a.type) for c, a in zip(columns, arrays, strict=True)]
    mask = rows.is_null() if rows.null_count else None
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _cast(array: Array, kind: DataType, column: Column, path: str) -> Array:
    if array.type.equals(kind):
        return array
    try:
        if is_exact(kind):
            return exact_of(pc.cast(array, pa.timestamp("us"), safe=True))
        return pc.cast(array, kind, safe=True)
    except pa.ArrowException as error:
        raise StorageError(
            f'column "{column.name}" of file "{path}" does not fit type {column.type}',
            detail=f"{str(error).splitlines()[0]}.",
        ) from error
