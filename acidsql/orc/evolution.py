"""Files with other columns than the table has now: how columns are matched and values converted.

The rules are those of ORC's SchemaEvolution, by which Hive and Spark read. Where Spark reads, it
matches and converts itself. Where pyarrow reads, `current_rows` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import StorageError
from acidsql.layout.arrow import Array
from acidsql.model.table import Column
from acidsql.model.types import (
    INTEGER_BITS,
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.model.value_text import decimal_text
from acidsql.orc.nested import with_children
from acidsql.orc.schema import arrow_type

_NO_NAME = re.compile(r"_col\d+")
_BOOLEAN, _STRING, _DATE = map(PrimitiveType, ("boolean", "string", "date"))
_FLOATS = (PrimitiveType("float"), PrimitiveType("double"))


def matched(
    names: Sequence[str], columns: Sequence[Column], *, by_position: bool
) -> list[int | None]:
    """For each column of the table, the index of the file's column that holds it, or None.

    Matched by position, as in Hive 4 by default, a renamed column keeps its data. Matched by name,
    as in Hive 3, it is null. Upper and lower case are the same. A file with no other names than
    ``_col0`` and so on is always matched by position.

    >>> from acidsql.model.types import parse_type
    >>> table = [Column(n, parse_type("int")) for n in ("id", "full", "more")]
    >>> matched(["id", "name"], table, by_position=True)
    [0, 1, None]
    >>> matched(["more", "ID"], table, by_position=False)
    [1, None, 0]
    """
    if by_position or all(map(_NO_NAME.fullmatch, names)):
        return [at if at < len(names) else None for at in range(len(columns))]
    places: dict[str, int] = {}
    for at, name in enumerate(names):
        places.setdefault(name.lower(), at)
    return [places.get(column.name) for column in columns]


def field_of(kind: StructType, name: str) -> int | None:
    """The index of the field with that name in upper or lower case.

    Fields of structs are matched by name alone.
    """
    names = [field.lower() for field, _ in kind.fields]
    return names.index(name.lower()) if name.lower() in names else None


def check_convertible(column: Column, source: ColumnType, path: str) -> None:
    """StorageError unless ORC's readers turn values of the source's type into the column's."""
    if not is_convertible(source, column.type):
        raise _not_convertible(column, source, path)


def is_convertible(source: ColumnType, target: ColumnType) -> bool:
    """Whether ORC's readers turn values of the one type into the other."""
    if target in (source, VOID):
        return True
    inside = _inside(source, target)
    if inside is not None:
        return all(is_convertible(inner, wanted) for inner, wanted in inside)
    if _is_text(target):
        return _is_text(source) or _is_number(source) or source == _DATE
    return _is_number(target) and (_is_number(source) or _is_text(source))


def _inside(
    source: ColumnType, target: ColumnType
) -> Sequence[tuple[ColumnType, ColumnType]] | None:
    """The types inside of two arrays, two maps or two structs, in pairs; None for other types.

    A field that the source lacks has no pair.
    """
    match source, target:
        case ArrayType(inner), ArrayType(wanted):
            return [(inner, wanted)]
        case MapType(key, value), MapType(wanted_key, wanted_value):
            return [(key, wanted_key), (value, wanted_value)]
        case StructType(fields), StructType(wanted_fields):
            places = [(field_of(source, name), wanted) for name, wanted in wanted_fields]
            return [(fields[at][1], wanted) for at, wanted in places if at is not None]
    return None


def _is_number(kind: ColumnType) -> bool:
    return isinstance(kind, DecimalType) or kind == _BOOLEAN or kind in _FLOATS or _bits(kind) > 0


def _is_text(kind: ColumnType) -> bool:
    return isinstance(kind, CharType) or kind == _STRING


def _bits(kind: ColumnType) -> int:
    return INTEGER_BITS.get(kind.name, 0) if isinstance(kind, PrimitiveType) else 0


def is_truncated(source: ColumnType, target: ColumnType) -> bool:
    """Whether texts may be too long for the char or varchar they become, and are cut off then.

    Texts inside of other types count.

    >>> is_truncated(CharType("varchar", 5), CharType("varchar", 9))
    False
    >>> is_truncated(ArrayType(PrimitiveType("string")), ArrayType(CharType("varchar", 9)))
    True
    """
    inside = _inside(source, target)
    if inside is not None:
        return any(is_truncated(inner, wanted) for inner, wanted in inside)
    if not isinstance(target, CharType):
        return False
    return not (isinstance(source, CharType) and source.length <= target.length)


def current_rows(
    rows: Array,
    source: Sequence[Column],
    columns: Sequence[Column],
    path: str,
    *,
    by_position: bool = True,
) -> Array:
    """The rows of a file with columns ``source`` as rows of the table's ``columns``.

    A column the file lacks is null. Timestamps are EXACT in the rows given and returned.
    StorageError for a value or type that cannot be converted here exactly as Hive does.
    """
    children = rows.flatten()
    arrays = []
    places = matched([c.name for c in source], columns, by_position=by_position)
    for column, at in zip(columns, places, strict=True):
        if at is None or column.type == VOID:
            arrays.append(pa.nulls(len(rows), arrow_type(column.type, "exact")))
        else:
            arrays.append(_column(children[at], source[at].type, column, path))
    fields = [pa.field(c.name, a.type) for c, a in zip(columns, arrays, strict=True)]
    mask = rows.is_null() if rows.null_count else None
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _column(array: Array, source: ColumnType, column: Column, path: str) -> Array:
    check_convertible(column, source, path)
    try:
        return _converted(array, source, column.type)
    except (pa.ArrowException, NotImplementedError) as error:
        raise _not_convertible(column, source, path, f"{str(error).splitlines()[0]}.") from error


def _not_convertible(
    column: Column, source: ColumnType, path: str, detail: str | None = None
) -> StorageError:
    return StorageError(
        f'column "{column.name}" of type {column.type} cannot be read from file "{path}",'
        f" where it is {source}",
        detail=detail,
    )


def _converted(array: Array, source: ColumnType, target: ColumnType) -> Array:
    """The values converted to the target type. NotImplementedError if Hive's result is unknown."""
    if source == target:
        return array
    match source, target:
        case ArrayType(inner), ArrayType(wanted):
            return with_children(array, [_converted(array.values, inner, wanted)])
        case MapType(key, value), MapType(wanted_key, wanted_value):
            keys = _converted(array.keys, key, wanted_key)
            return with_children(array, [keys, _converted(array.items, value, wanted_value)])
        case StructType(fields), StructType(wanted_fields):
            return _struct(array, fields, wanted_fields, source)
    if _is_text(target):
        return _text(array, source, target)
    return _number(array, source, target)


def _struct(
    array: Array,
    fields: Sequence[tuple[str, ColumnType]],
    wanted: Sequence[tuple[str, ColumnType]],
    source: StructType,
) -> Array:
    children = array.flatten()
    arrays = []
    for name, kind in wanted:
        at = field_of(source, name)
        if at is None:
            arrays.append(pa.nulls(len(array), arrow_type(kind, "exact")))
        else:
            arrays.append(_converted(children[at], fields[at][1], kind))
    named = [pa.field(name, a.type) for (name, _), a in zip(wanted, arrays, strict=True)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(arrays, fields=named, mask=mask)


def _text(array: Array, source: ColumnType, target: ColumnType) -> Array:
    if source == _BOOLEAN:
        array = pc.if_else(array, pa.scalar("TRUE"), pa.scalar("FALSE"))
    elif _bits(source) or source == _DATE:
        array = pc.cast(array, pa.string())
    elif isinstance(source, DecimalType):
        array = pa.array(
            [None if v is None else decimal_text(v) for v in array.to_pylist()], pa.string()
        )
    elif not _is_text(source):
        raise NotImplementedError(f"Values of type {source} are not turned into texts")
    if isinstance(source, CharType) and source.name == "char":
        array = pc.utf8_rtrim(array, " ")
    if isinstance(target, CharType) and is_truncated(source, target):
        array = pc.utf8_slice_codeunits(array, 0, target.length)
    return array


def _number(array: Array, source: ColumnType, target: ColumnType) -> Array:
    wanted = arrow_type(target)
    if source == _BOOLEAN:
        array, source = pc.cast(array, pa.int8()), PrimitiveType("tinyint")
    if _bits(source) and _bits(target):
        if _bits(target) < _bits(source):
            limit = 1 << _bits(target) - 1
            too_large: Array = pc.greater_equal(array, pa.scalar(limit))
            too_small: Array = pc.less(array, pa.scalar(-limit))
            outside: Array = pc.or_(too_large, too_small)
            array = pc.if_else(outside, pa.scalar(None, array.type), array)
        return pc.cast(array, wanted)
    if target in _FLOATS and (_bits(source) or source in _FLOATS):
        # Rounded to the nearest, as in Java. ORC converts by way of a double.
        return pc.cast(pc.cast(array, pa.float64(), safe=False), wanted, safe=False)
    if target in _FLOATS and isinstance(source, DecimalType):
        # Python rounds to the nearest double, as Java does. ORC converts by way of a double.
        doubles = [None if v is None else float(v) for v in array.to_pylist()]
        return pc.cast(pa.array(doubles, pa.float64()), wanted, safe=False)
    if isinstance(target, DecimalType) and (_bits(source) or isinstance(source, DecimalType)):
        return pa.array([_decimal(v, target) for v in array.to_pylist()], wanted)
    raise NotImplementedError(f"Values of type {source} are not turned into {target}")


def _decimal(value: int | Decimal | None, kind: DecimalType) -> Decimal | None:
    """The value rounded half up, or None if it has too many digits.

    The rule is that of HiveDecimal.enforcePrecisionScale.

    >>> _decimal(Decimal("-0.005"), DecimalType(4, 2)), _decimal(100, DecimalType(4, 2))
    (Decimal('-0.01'), None)
    """
    if value is None:
        return None
    with localcontext(prec=100):
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    digits = len(rounded.as_tuple().digits)
    return rounded if digits <= kind.precision or rounded == 0 else None
