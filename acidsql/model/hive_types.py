"""The texts of types as Hive keeps them beside a table."""

from __future__ import annotations

import re

from acidsql.errors import UnsupportedStatementError
from acidsql.model.types import (
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
)

_ZONE = re.compile(r"(timestamp with local time zone)\('[^']*'\)")


def type_of_hive(text: str) -> ColumnType:
    """The type of a text, whose fields keep its spelling. ValueError for an unknown one."""
    # Hive's type has the time zone of the session that made the table. It does not affect values.
    return parse_type(_ZONE.sub(r"\1", text), spelled=True)


def hive_type(kind: ColumnType) -> str:
    """The text of a type as Hive keeps it: names of fields as they are spelled, without quotes.

    UnsupportedStatementError for a name that Hive could not read back (Hive TypeInfoUtils).

    >>> hive_type(parse_type("array<struct<`a b`:decimal(3,1)>>"))
    'array<struct<a b:decimal(3,1)>>'
    """
    match kind:
        case ArrayType(element):
            return f"array<{hive_type(element)}>"
        case MapType(key, value):
            return f"map<{hive_type(key)},{hive_type(value)}>"
        case StructType():
            inner = (f"{_field_name(n)}:{hive_type(t)}" for n, t in kind.spelled_fields)
            return f"struct<{','.join(inner)}>"
        case PrimitiveType() | DecimalType() | CharType():
            return str(kind)


def _field_name(name: str) -> str:
    if not all(c.isalnum() or c in "_. $" for c in name):
        raise UnsupportedStatementError(f"Hive cannot read the field name {name!r} in a type")
    return name
