"""Arrow arrays of any type → the type in which files hold a column's values.

The rules are those of Spark's ANSI CAST, which INSERT follows, without the casts that lose
something: a fraction is never cut to fit an integer, nor a time of day to fit a date. What is not
listed here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.python_values import first_refused
from acidsql.errors import AnalysisError, InvalidValueError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import Column
from acidsql.model.types import (
    INTEGER_BITS,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.schema import arrow_type

Fit = Callable[[Array, Column], Array]
"""`orc.values.storable` or `orc.values.fitting`: the last check, which depends on the file."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since 1970: what SQL can write down."""
_DAY_MICROS = 86_400 * 10**6

_INTEGER_TEXT = r"^\s*[+-]?[0-9]+\s*$"
_NUMBER_TEXT = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_DATE_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"


class _NoTypeFits(ValueError):  # noqa: N818 - never leaves this module
    """No value of an Arrow type fits a column's type, apart from null."""


class _NoValueFits(ValueError):  # noqa: N818 - never leaves this module
    """A value of the array does not fit."""


def converted(array: Array, column: Column, fit: Fit, first: int = 0) -> Array:
    """The values in the type of the column. ``first`` is the number of the first row.

    AnalysisError for a type whose values the column does not take, InvalidValueError, with the row,
    for a value that does not fit.
    """
    try:
        return conformed(array, column, fit)
    except InvalidValueError as error:
        row = first_refused(
            len(array),
            lambda _, end: conformed(array.slice(0, end), column, fit),
            (InvalidValueError,),
        )
        place = f"Row {first + row}, counted from 0: {_shown(array, row)}."
        detail = f"{place} {error.detail}" if error.detail else place
        raise InvalidValueError(error.message, detail=detail, hint=error.hint) from error


def conformed(array: Array, column: Column, fit: Fit) -> Array:
    """As `converted`, for a caller who finds the row by himself: InvalidValueError names none."""
    try:
        return fit(_convert(array, column.type), column)
    except _NoTypeFits as error:
        raise AnalysisError(
            f'column "{column.name}" of type {column.type} takes no values of Arrow type '
            f"{array.type}",
            detail=str(error) or None,
            hint="Convert the column first.",
        ) from None
    except (_NoValueFits, pa.ArrowException, OverflowError) as error:
        raise InvalidValueError(
            f'a value does not fit column "{column.name}" of type {column.type}',
            detail=str(error).splitlines()[0],
        ) from error


def _shown(array: Array, row: int) -> str:
    """A value for a message, in at most 80 characters."""
    try:
        text = str(array[row])
    except (OverflowError, ValueError):  # no value of Python, such as a date after the year 9999
        text = " ".join(str(array.slice(row, 1)).strip("[]").split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def _convert(array: Array, kind: ColumnType) -> Array:
    wanted = arrow_type(kind)
    array = plain_form(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), wanted)
    match kind:
        case StructType(fields):
            return _struct(array, dict(fields))
        case ArrayType(element):
            return _list(array, element, wanted)
        case MapType():
            return _map(array, kind, wanted)
        case DecimalType():
            return _decimal(array, wanted)
        case CharType():
            return _text(array)
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _integer(array, wanted)
        case PrimitiveType(name):
            return _PRIMITIVES[name](array, wanted)


def plain_form(array: Array) -> Array:
    """The values without dictionaries, runs and views, which are forms and no types."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        # Not dictionary_decode(), which knows no views, such as polars' categories.
        return pc.take(plain_form(array.dictionary), array.indices)
    if pa.types.is_run_end_encoded(kind):
        decode: Any = pc
        return plain_form(decode.run_end_decode(array))
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.string())
    if _is_bytes(kind) and kind != pa.binary():
        return array.cast(pa.binary())
    return array


def _is_bytes(kind: DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


# -- texts and numbers -----------------------------------------------------------------------------


def _text(array: Array, wanted: DataType = pa.string()) -> Array:  # noqa: B008 - a constant
    kind = array.type
    if pa.types.is_string(kind):
        return _unicode(array)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind):
        return array.cast(wanted)
    raise _NoTypeFits("The text of such a value would be a guess.")


def _unicode(texts: Array) -> Array:
    """The texts. Arrow does not look at their bytes, of a Parquet file for example."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise _NoValueFits("It is not Unicode text.") from None
    return texts


def _integer(array: Array, wanted: DataType) -> Array:
    kind = array.type
    if pa.types.is_string(kind):
        _require_form(array, _INTEGER_TEXT, "It is not a whole number.")
        return pc.utf8_ltrim(pc.utf8_trim_whitespace(array), "+").cast(wanted)
    if pa.types.is_decimal(kind):
        # By way of a decimal without a fraction, which loses no digit before the point.
        return array.cast(pa.decimal256(76, 0)).cast(wanted)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return array.cast(wanted)
    raise _NoTypeFits


def _decimal(array: Array, wanted: DataType) -> Array:
    kind = array.type
    if pa.types.is_string(kind):
        _require_form(array, _NUMBER_TEXT, "It is not a number.")
        return pc.utf8_trim_whitespace(array).cast(wanted)
    if pa.types.is_integer(kind):
        # By way of a decimal that holds every integer, so that the values decide, not their type.
        return array.cast(pa.decimal256(76, wanted.scale)).cast(wanted)
    if pa.types.is_floating(kind):
        if kind == pa.float16():
            array = array.cast(pa.float32())
        try:
            # By way of their shortest texts, as in Java: Arrow takes others for equal.
            return array.cast(pa.string()).cast(wanted)
        except pa.ArrowInvalid:
            array.cast(wanted)  # which says what is out of range, or no number
        raise _NoValueFits(f"It has more than {wanted.scale} digits after the point: round it.")
    if pa.types.is_decimal(kind):
        return array.cast(wanted)
    raise _NoTypeFits


def _real(array: Array, wanted: DataType) -> Array:
    kind = array.type
    if pa.types.is_string(kind):
        _require_form(array, _NUMBER_TEXT, "It is not a number.")
        array = pc.utf8_trim_whitespace(array)
        return _nearest(array, wanted)
    if pa.types.is_decimal(kind):
        return _nearest(array.cast(pa.string()), wanted)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _NoTypeFits
    result = array.cast(wanted)
    # A float holds the nearest value, but none that is beyond its range.
    narrows = wanted == pa.float32() and array.type == pa.float64()
    if narrows and not _equal(pc.is_finite(result), pc.is_finite(array)):
        raise _NoValueFits("It is out of range.")
    return result


def _nearest(texts: Array, wanted: DataType) -> Array:
    """The nearest values of texts of finite numbers. Arrow rounds decimals to others."""
    result = texts.cast(wanted)
    if not _all(pc.is_finite(result)):
        raise _NoValueFits("It is out of range.")
    return result


def _boolean(array: Array, wanted: DataType) -> Array:
    kind = array.type
    if pa.types.is_boolean(kind):
        return array
    if pa.types.is_string(kind):
        _require_form(array, r"^(?i)(true|false)$", "It is neither true nor false.")
        return array.cast(wanted)
    if pa.types.is_integer(kind):
        _require_between(array, 0, 1, "It is neither 0 nor 1.")
        return array.cast(wanted)
    raise _NoTypeFits


def _binary(array: Array, wanted: DataType) -> Array:
    if not _is_bytes(array.type):
        raise _NoTypeFits
    return array


def _void(array: Array, wanted: DataType) -> Array:
    if array.null_count < len(array):
        raise _NoTypeFits("A column of type void holds nothing but NULL.")
    return pa.nulls(len(array), wanted)


# -- days and times --------------------------------------------------------------------------------


def _date(array: Array, wanted: DataType) -> Array:
    kind = array.type
    if pa.types.is_string(kind):
        _require_form(array, _DATE_TEXT, "A date is written as 2026-12-31.")
    elif pa.types.is_timestamp(kind):
        if kind.tz is not None:
            raise _NoTypeFits("The day of an instant depends on a time zone.")
        days = array.cast(wanted)
        if not _equal(days.cast(kind), array):
            raise _NoValueFits("It has a time of day, which a date cannot hold.")
        array = days
    elif not pa.types.is_date(kind):
        raise _NoTypeFits
    days = array.cast(wanted)
    _require_between(days.cast(pa.int32()), _FIRST_DAY, _LAST_DAY)
    return days


def _timestamp(array: Array, wanted: DataType) -> Array:
    """Wall-clock time, or an instant. The zone of one where the other has none is UTC."""
    kind = array.type
    if pa.types.is_string(kind):
        _require_form(array, _TIMESTAMP_TEXT, "A time is written as 2026-12-31 23:59:59.5.")
        array = array.cast(pa.timestamp("us"))
    elif pa.types.is_date(kind):
        array = array.cast(pa.timestamp("us"))
    elif pa.types.is_timestamp(kind):
        array = _micros(array)
    else:
        raise _NoTypeFits
    ticks = array.cast(pa.int64())
    _require_between(ticks, _FIRST_DAY * _DAY_MICROS, (_LAST_DAY + 1) * _DAY_MICROS - 1)
    # By way of integers, which shift nothing: the ticks of an instant count in UTC.
    return array if array.type == wanted else ticks.cast(wanted)


def _micros(array: Array) -> Array:
    try:
        return array.cast(pa.timestamp("us", tz=array.type.tz))
    except pa.ArrowInvalid:
        if array.type.unit != "ns":
            raise
        raise _NoValueFits("It has nanoseconds; SQL's timestamps have microseconds.") from None


def _require_between(
    values: Array, least: int, most: int, reason: str = "It is not in the years 1 to 9999."
) -> None:
    found = pc.min_max(values)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low is not None and (low < least or high > most):
        raise _NoValueFits(reason)


# -- nested values ---------------------------------------------------------------------------------


def _struct(array: Array, kinds: Mapping[str, ColumnType]) -> Array:
    """The structs with the column's fields, found by name. A field that they lack is null."""
    if not pa.types.is_struct(array.type):
        raise _NoTypeFits
    given: dict[str, Array] = {}
    for field, child in zip(array.type, array.flatten(), strict=True):
        name = field.name.lower()
        if name in given:
            raise _NoTypeFits(f'The field "{field.name}" comes twice.')
        if name not in kinds:
            raise _NoTypeFits(
                f'There is no field "{field.name}"; the column\'s are {", ".join(kinds)}.'
            )
        given[name] = child
    children = [
        _convert(given[name], kind) if name in given else pa.nulls(len(array), arrow_type(kind))
        for name, kind in kinds.items()
    ]
    fields = [pa.field(name, arrow_type(kind)) for name, kind in kinds.items()]
    return pa.StructArray.from_arrays(children, fields=fields, mask=_nulls(array))


def _list(array: Array, element: ColumnType, wanted: DataType) -> Array:
    if not _is_list(array.type):
        raise _NoTypeFits
    lists: Any = pa.ListArray
    return lists.from_arrays(
        _offsets(array), _convert(array.flatten(), element), wanted, mask=_nulls(array)
    )


def _map(array: Array, kind: MapType, wanted: DataType) -> Array:
    """A map, also from a list of structs of key and value, the form of libraries without maps."""
    if not (_is_list(array.type) or pa.types.is_map(array.type)):
        raise _NoTypeFits
    if pa.types.is_map(array.type):
        kinds = [("key", array.type.key_type), ("value", array.type.item_type)]
        array = array.cast(pa.list_(pa.struct(kinds)))
    entries = array.flatten()
    if pa.types.is_null(entries.type):
        entries = pa.nulls(len(entries), pa.struct([("key", pa.null()), ("value", pa.null())]))
    first, second = _key_and_value(entries)
    keys, items = _convert(first, kind.key), _convert(second, kind.value)
    offsets = _offsets(array)
    _require_keys(_compared(keys, kind.key), offsets)
    maps: Any = pa.MapArray
    return maps.from_arrays(offsets, keys, items, wanted, mask=_nulls(array))


def _key_and_value(entries: Array) -> tuple[Array, Array]:
    """The keys and the values of the entries of maps. Fields go by name, as in other structs."""
    if not pa.types.is_struct(entries.type):
        raise _NoTypeFits("A map is a list of structs with the fields key and value.")
    names = [field.name.lower() for field in entries.type]
    if sorted(names) != ["key", "value"]:
        raise _NoTypeFits("A map is a list of structs with the fields key and value.")
    if entries.null_count:
        raise _NoValueFits("An entry of the map is null.")
    children = dict(zip(names, entries.flatten(), strict=True))
    return children["key"], children["value"]


def _require_keys(keys: Array, offsets: Array) -> None:
    if keys.null_count:
        raise _NoValueFits("A key of the map is null.")
    if pa.types.is_nested(keys.type):  # Arrow does not group by such
        keys = pa.array([repr(key) for key in keys.to_pylist()], pa.string())
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(np.asarray(offsets)))
    pairs = pa.table({"row": pa.array(rows), "key": keys}).group_by(["row", "key"]).aggregate([])
    if pairs.num_rows < len(keys):
        raise _NoValueFits("A key comes twice in the map.")


def _compared(keys: Array, kind: ColumnType) -> Array:
    """The keys of maps, those that files hold as one text alike: spaces behind a text may go."""
    match kind:
        case CharType("char"):
            return pc.utf8_rtrim(keys, " ")
        case CharType(_, length):
            return pc.utf8_slice_codeunits(keys, 0, length)
    return keys


def _is_list(kind: DataType) -> bool:
    return (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _offsets(array: Array) -> Array:
    """Where each list begins and ends in ``array.flatten()``, which leaves out null lists."""
    lengths = np.asarray(pc.list_value_length(array).fill_null(0), np.int64)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _nulls(array: Array) -> Array | None:
    return array.is_null() if array.null_count else None


# -- helpers ---------------------------------------------------------------------------------------


def _require_form(texts: Array, pattern: str, reason: str) -> None:
    if not _all(pc.match_substring_regex(texts, pattern)):
        raise _NoValueFits(reason)


def _all(flags: Array) -> bool:
    """Whether no flag is false; null counts as true."""
    return bool(pc.all(flags, min_count=0).as_py())


def _equal(left: Array, right: Array) -> bool:
    return _all(pc.equal(left, right))


_PRIMITIVES: Mapping[str, Callable[[Array, DataType], Array]] = {
    "boolean": _boolean,
    "float": _real,
    "double": _real,
    "string": _text,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp with local time zone": _timestamp,
    "void": _void,
}
