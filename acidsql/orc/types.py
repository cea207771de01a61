"""The columns of an ORC file in Hive's words, from its footer.

Kinds of types as in the ORC specification (Type.Kind of orc_proto.proto).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.errors import CorruptFileError
from acidsql.model.table import Column
from acidsql.model.types import (
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.footer import FileTail
from acidsql.orc.protobuf import fields, read_varint
from acidsql.orc.schema import EVENT_COLUMNS, ROW

_FOOTER_TYPE = 4
_KIND, _CHILDREN, _NAMES, _LENGTH, _PRECISION, _SCALE = 1, 2, 3, 4, 5, 6

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
_DECIMAL_PRECISION_MAX = 38


def file_columns(tail: FileTail, path: str = "") -> tuple[Column, ...]:
    """The columns of the file; of an ACID file those of its ``row``.

    Names are spelled as in the file, in structs too. A type no table can declare has its ORC name.
    CorruptFileError if the footer's types make no sense.
    """
    try:
        types = _types(tail.footer)
        root = _column_type(types, 0)
        assert isinstance(root, StructType)
        if tail.is_acid:
            root = root.fields[EVENT_COLUMNS.index(ROW)][1]
        if not isinstance(root, StructType):
            raise ValueError("the rows of the file are no struct")
        return tuple(Column(name, kind) for name, kind in root.fields)
    except (ValueError, IndexError, RecursionError) as error:
        raise CorruptFileError(
            f'file "{path}" is not a whole ORC file', detail=f"{str(error).capitalize()}."
        ) from error


@dataclass(slots=True)
class _Type:
    numbers: dict[int, int]
    children: list[int]
    names: list[str]


def _types(footer: bytes) -> list[_Type]:
    found = []
    for number, message in fields(footer):
        if number != _FOOTER_TYPE or isinstance(message, int):
            continue
        kind = _Type({}, [], [])
        for part, value in fields(message):
            if part == _CHILDREN:
                kind.children += [value] if isinstance(value, int) else _packed(value)
            elif isinstance(value, int):
                kind.numbers[part] = value
            elif part == _NAMES:
                kind.names.append(value.decode())
        found.append(kind)
    return found


def _packed(value: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        numbers.append(number)
    return numbers


def _column_type(types: Sequence[_Type], at: int) -> ColumnType:
    found = types[at]
    # Children stand behind their parent: this ends.
    if any(child <= at for child in found.children):
        raise ValueError("a type is inside itself")
    inside = [_column_type(types, child) for child in found.children]
    numbers = found.numbers
    match numbers.get(_KIND, 0):
        case 10:
            return ArrayType(inside[0])
        case 11:
            return MapType(inside[0], inside[1])
        case 12:
            return StructType(tuple(zip(found.names, inside, strict=True)))
        case 14:
            precision = numbers.get(_PRECISION, 0) or _DECIMAL_PRECISION_MAX
            return DecimalType(precision, numbers.get(_SCALE, 0))
        case (16 | 17) as kind:
            return CharType("varchar" if kind == 16 else "char", numbers.get(_LENGTH, 0))
        case kind:
            return PrimitiveType(_PRIMITIVES.get(kind, f"ORC kind {kind}"))
