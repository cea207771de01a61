"""Values of Python → Arrow arrays whose types follow from the values."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.errors import InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.model.table import Column
from acidsql.model.types import (
    ArrayType,
    ColumnType,
    DecimalType,
    MapType,
    StructType,
    walk_types,
)
from acidsql.orc.nested import has_leaf
from acidsql.process.loaded import is_missing

_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)


def python_array(values: Sequence[Any], column: Column, first: int = 0) -> Array:
    """The values as an array, which need not be of the column's type yet.

    ``first`` is the number of the first row. pandas' NaT and NA are null. InvalidValueError, with
    the row, for values that are not of one type.
    """
    kind = column.type
    try:
        return _array(values, kind)
    except _ERRORS as error:
        if _any(values, is_missing):
            return python_array([_without_missing(value) for value in values], column, first)
        row = first_refused(
            len(values), lambda start, end: _array(values[start:end], kind), _ERRORS
        )
        raise InvalidValueError(
            f'a value does not fit column "{column.name}" of type {kind}',
            detail=f"Row {first + row}, counted from 0: {_shown(values[row])}."
            f" {str(error).splitlines()[0]}",
        ) from error


def first_refused(
    count: int, attempt: Callable[[int, int], object], errors: tuple[type[BaseException], ...]
) -> int:
    """The first row that makes ``attempt`` fail, which takes the bounds of a stretch of rows.

    All ``count`` rows together fail.
    """
    start, end = 0, count
    while end - start > 1:
        middle = (start + end) // 2
        try:
            attempt(0, middle)
        except errors:
            end = middle
        else:
            start = middle
    return start


def _array(values: Sequence[Any], kind: ColumnType) -> Array:
    if any(isinstance(inner, MapType) for inner in walk_types(kind)):
        values = [_without_maps(value, kind) for value in values]
    if isinstance(kind, DecimalType):
        values = [
            Decimal(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values
        ]
    array: Array = pa.array(values)
    if has_leaf(array.type, pa.types.is_date) and _any(values, _is_datetime):
        # pyarrow cuts a datetime that comes after a date to its day.
        array = pa.array([_without_dates(value) for value in values])
    if has_leaf(array.type, pa.types.is_timestamp) and _any(values, _has_nanoseconds):
        # pyarrow cuts the datetimes of pandas to microseconds.
        raise ValueError("It has nanoseconds; SQL's timestamps have microseconds.")
    return array


def _without_maps(value: Any, kind: ColumnType) -> Any:
    """The value with each map as a list of entries, since pyarrow takes a dict for a struct."""
    match kind:
        case MapType(key, item) if isinstance(value, Mapping) or _is_sequence(value):
            pairs = value.items() if isinstance(value, Mapping) else map(_pair, value)
            return [
                {"key": _without_maps(k, key), "value": _without_maps(v, item)} for k, v in pairs
            ]
        case ArrayType(element) if _is_sequence(value):
            return [_without_maps(v, element) for v in value]
        case StructType(fields) if isinstance(value, Mapping):
            kinds = dict(fields)
            return {
                k: _without_maps(v, kinds[k.lower()])
                if isinstance(k, str) and k.lower() in kinds
                else v
                for k, v in value.items()
            }
    return value


def _pair(entry: Any) -> tuple[Any, Any]:
    """The key and the value of an entry of a map: of a pair, or of a dict with these two names."""
    if isinstance(entry, Mapping):
        members = {str(name).lower(): inner for name, inner in entry.items()}
        if len(entry) == 2 and members.keys() == {"key", "value"}:
            return members["key"], members["value"]
    elif _is_sequence(entry) and len(entry) == 2:
        return entry[0], entry[1]
    raise ValueError("An entry of a map is a pair, or a dict with the names key and value.")


def _any(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a value, or one inside of it, passes a test."""
    if isinstance(value, Mapping):
        return any(_any(inner, test) for inner in value.values())
    if _is_sequence(value):
        return any(_any(inner, test) for inner in value)
    return test(value)


def _is_sequence(value: Any) -> bool:
    """Whether a value is a list of others for pyarrow: of Python's, or an array of objects."""
    return isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim > 0
    )


def _is_datetime(value: Any) -> bool:
    return isinstance(value, datetime.datetime)


def _has_nanoseconds(value: Any) -> bool:
    return isinstance(value, datetime.datetime) and bool(getattr(value, "nanosecond", 0))


def _without_missing(value: Any) -> Any:
    """The value with None for each NaT and NA in it."""
    if isinstance(value, Mapping):
        return {k: _without_missing(v) for k, v in value.items()}
    if _is_sequence(value):
        return [_without_missing(v) for v in value]
    return None if is_missing(value) else value


def _without_dates(value: Any) -> Any:
    """The value with each date as the midnight that begins it."""
    if isinstance(value, Mapping):
        return {k: _without_dates(v) for k, v in value.items()}
    if _is_sequence(value):
        return [_without_dates(v) for v in value]
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def _shown(value: Any) -> str:
    """A value for a message, in at most 80 characters."""
    try:
        text = repr(value)
    except Exception:  # a hostile object's own method
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"
