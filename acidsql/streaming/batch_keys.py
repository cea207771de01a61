"""The keys of a micro-batch's rows, as the table will hold them."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.model.names import TableName, quoted_table
from acidsql.model.types import (
    VOID,
    CharType,
    ColumnType,
    DecimalType,
    PrimitiveType,
    parse_type,
)
from acidsql.session.session import Session


def column_types(session: Session, table: TableName) -> Mapping[str, ColumnType]:
    """The types of the table's columns, with the partition columns, by their names."""
    types: dict[str, ColumnType] = {}
    for name, kind, _ in session.execute(f"DESCRIBE {quoted_table(table)}").fetchall():
        if not name:  # notes about partitions follow
            break
        types[name] = parse_type(kind)
    return types


def stored(value: str, kind: ColumnType) -> str:
    """SQL of what a column of the type will hold of a value: two values may become the same.

    A text that is too long stays as it is, for the MERGE to refuse.

    >>> stored("`id`", PrimitiveType("int"))
    'CAST(`id` AS int)'
    """
    match kind:
        case CharType(name, length):
            text = f"CAST({value} AS string)"
            fitted = f"rpad({text}, {length}, ' ')" if name == "char" else f"left({text}, {length})"
            return f"if(char_length(rtrim({text})) > {length}, {text}, {fitted})"
        case PrimitiveType("timestamp"):
            return f"CAST({value} AS timestamp_ntz)"
        case PrimitiveType() | DecimalType() if kind != VOID:
            return f"CAST({value} AS {kind})"
    return value
