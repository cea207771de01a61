"""Structs that SET, and INSERT in a MERGE, write into a column: fields are matched by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from acidsql.engines.spark.job import Job
from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.table import Table
from acidsql.model.types import ArrayType, ColumnType, MapType, StructType, walk_types
from acidsql.plans.sql_text import SqlText

if TYPE_CHECKING:
    from pyspark.sql import types
    from pyspark.sql.types import DataType

_HINT = "Give each field its name, as in named_struct('a', 1, 'b', 2)."


def with_named_fields(
    job: Job, values: Mapping[str, SqlText], table: Table, source: SqlText
) -> dict[str, SqlText]:
    """The values, with the fields of structs in the order of their columns.

    Spark's cast goes by position. ``source`` is the FROM clause under which the values are
    computed. AnalysisError if a struct's fields have other names than the column's.
    """
    kinds = {c.name: c.type for c in table.all_columns}
    structs = [
        name
        for name in values
        if any(isinstance(kind, StructType) for kind in walk_types(kinds[name]))
    ]
    if not structs:
        return dict(values)
    asked = SqlText.join(", ", (SqlText.of("(", values[name], "\n)") for name in structs))
    found = job.sql(SqlText.of("SELECT ", asked, " FROM ", source)).schema.fields
    ordered = {
        name: in_order(values[name], name, kinds[name], field.dataType)
        for name, field in zip(structs, found, strict=True)
    }
    return {**values, **ordered}


def in_order(value: SqlText, column: str, kind: ColumnType, found: DataType) -> SqlText:
    """The value, with the fields of its structs in the order of the column's."""
    changed = _ordered("x0", kind, found, (column,))
    if changed is None:
        return value
    # The value is the variable of a lambda, so that it is computed once.
    return SqlText.of("get(transform(array((", value, f"\n)), x0 -> {changed}), 0)")


def _ordered(value: str, kind: ColumnType, found: DataType, path: tuple[str, ...]) -> str | None:
    """The expression of a variable in the order of its type; None if it has that order already."""
    from pyspark.sql import types  # noqa: PLC0415

    inner = f"x{len(path)}"
    match kind, found:
        case ArrayType(element), types.ArrayType():
            changed = _ordered(inner, element, found.elementType, (*path, "element"))
            return None if changed is None else f"transform({value}, {inner} -> {changed})"
        case MapType(key, element), types.MapType():
            keys = _ordered(inner, key, found.keyType, (*path, "key"))
            if keys is not None:
                value = f"transform_keys({value}, ({inner}, v) -> {keys})"
            changed = _ordered(inner, element, found.valueType, (*path, "value"))
            if changed is not None:
                return f"transform_values({value}, (k, {inner}) -> {changed})"
            return None if keys is None else value
        case StructType(fields), types.StructType():
            return _ordered_struct(value, fields, found, path)
    return None


def _ordered_struct(
    value: str,
    fields: tuple[tuple[str, ColumnType], ...],
    found: types.StructType,
    path: tuple[str, ...],
) -> str | None:
    names = [name for name, _ in fields]
    there = {f.name.lower(): f for f in found.fields}
    if sorted(f.name.lower() for f in found.fields) != sorted(names):
        raise _other_fields(names, found.names, path)
    parts, is_same = [], names == list(there)
    for name, kind in fields:
        field = f"{value}.{quote(there[name].name)}"
        changed = _ordered(field, kind, there[name].dataType, (*path, name))
        is_same = is_same and changed is None
        parts.append(f"{literal(name)}, {changed or field}")
    if is_same:
        return None
    return f"if({value} is null, null, named_struct({', '.join(parts)}))"


def _other_fields(names: list[str], found: list[str], path: tuple[str, ...]) -> AnalysisError:
    error = AnalysisError(
        f'the fields of "{".".join(path)}" are {", ".join(names)};'
        f" those of the value are {', '.join(found)}",
        hint=_HINT,
    )
    error.parts = path[:1]
    return error
