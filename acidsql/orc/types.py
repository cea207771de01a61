"""The columns of an ORC file in Hive's words, from its footer.

Kinds of types as in the ORC specification (Type.Kind of orc_proto.proto).
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.model.table import Column
from acidsql.model.types import (
    DECIMAL_DIGITS_MAX,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.damage import NOT_WHOLE, naming
from acidsql.orc.footer import FileTail, OrcType
from acidsql.orc.schema import EVENT_COLUMNS, ROW

_PRIMITIVES = {
    0: "boolean",
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "bigint",
    5: "float",
    6: "double",
    7: "string",
    8: "binary",
    9: "timestamp",
    13: "uniontype",
    15: "date",
    18: "timestamp with local time zone",
}


def file_columns(tail: FileTail, path: str = "") -> tuple[Column, ...]:
    """The columns of the file; for an ACID file, those of its ``row``.

    Names are spelled as in the file, also inside structs. A type that no table can declare has its
    ORC name. CorruptFileError if the footer's types make no sense.
    """
    with naming(path, NOT_WHOLE):
        root = _column_type(tail.types, 0)
        if tail.is_acid and isinstance(root, StructType):
            root = root.fields[EVENT_COLUMNS.index(ROW)][1]
        if not isinstance(root, StructType):
            raise ValueError("the rows of the file are not a struct")
        return tuple(Column(name, kind) for name, kind in root.fields)


def _column_type(types: Sequence[OrcType], at: int) -> ColumnType:
    found = types[at]
    # Children must come after their parent: otherwise this recursion might not end.
    if any(child <= at for child in found.children):
        raise ValueError("a type is inside itself")
    inside = [_column_type(types, child) for child in found.children]
    match found.kind:
        case 10:
            return ArrayType(inside[0])
        case 11:
            return MapType(inside[0], inside[1])
        case 12:
            return StructType(tuple(zip(found.names, inside, strict=True)))
        case 14:
            return DecimalType(found.precision or DECIMAL_DIGITS_MAX, found.scale)
        case (16 | 17) as kind:
            return CharType("varchar" if kind == 16 else "char", found.length)
        case kind:
            return PrimitiveType(_PRIMITIVES.get(kind, f"ORC kind {kind}"))
