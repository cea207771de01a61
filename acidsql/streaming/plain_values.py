"""Values that need no second look: what is plain, and the short way for a plain value by itself.

A plain value is converted by the functions of `values` and by Arrow's casts alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from acidsql.model.naming import is_text
from acidsql.model.types import INTEGER_BITS, ColumnType, DecimalType, PrimitiveType
from acidsql.streaming.values import from_text, in_range

PLAIN_TEXTS: Mapping[str, str] = {
    **dict.fromkeys(INTEGER_BITS, r"-?[0-9]{1,19}"),
    "double": r"-?[0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]{1,2})?",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "timestamp": r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?",
}
"""Regular expressions of plain texts, by the type of the column."""

PYTHON_TYPES: Mapping[str, type] = {
    **dict.fromkeys(INTEGER_BITS, int),
    "boolean": bool,
    "double": float,
    "string": str,
    "binary": bytes,
    "date": date,
}
"""The very types of plain Python values, by the type of the column."""

UNSURE = object()
"""Stands for a value that is not plain."""

Plain = Callable[[Any], Any]
"""Makes a column's value of a plain one that is not None, and UNSURE of any other."""


def of_text(kind: ColumnType) -> Plain:
    """What makes values of fields of text, which are valid Unicode.

    >>> of_text(PrimitiveType("int"))("-7"), of_text(DecimalType(3, 1))("2.5")
    (-7, Decimal('2.5'))
    >>> of_text(PrimitiveType("int"))(" 7") is UNSURE
    True
    """
    match kind:
        case PrimitiveType("string"):
            return lambda text: text
        case PrimitiveType("boolean"):
            return _matching("true|false", lambda text: text == "true")
        case PrimitiveType("double"):
            return _matching(PLAIN_TEXTS["double"], float)
        case PrimitiveType(name) if name in PLAIN_TEXTS:
            return _matching(PLAIN_TEXTS[name], lambda text: _storable(from_text(text, kind)))
        case DecimalType(precision, scale) if precision > scale:
            fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
            return _matching(rf"-?[0-9]{{1,{precision - scale}}}{fraction}", Decimal)
        case _:
            return lambda _: UNSURE


def of_python(kind: ColumnType) -> Plain:
    """What makes values of Python values.

    >>> of_python(PrimitiveType("int"))(7), of_python(PrimitiveType("int"))(True) is UNSURE
    (7, True)
    """
    match kind:
        case PrimitiveType("string"):
            return _of_type(str, lambda text: text if is_text(text) else UNSURE)
        case PrimitiveType(name) if name in INTEGER_BITS:
            bits = INTEGER_BITS[name]
            return _of_type(int, lambda number: in_range(number, bits))
        case PrimitiveType("timestamp"):
            return _of_type(datetime, _storable)
        case PrimitiveType(name) if name in PYTHON_TYPES:
            return _of_type(PYTHON_TYPES[name], lambda value: value)
        case _:
            return lambda _: UNSURE


def of_json(kind: ColumnType) -> Plain:
    """What makes values of the members of JSON objects."""
    text, python = of_text(kind), of_python(kind)
    if kind == PrimitiveType("string"):
        return python
    return lambda value: text(value) if isinstance(value, str) else python(value)


def _matching(pattern: str, make: Plain) -> Plain:
    matches = re.compile(pattern).fullmatch
    return lambda text: _sure(make, text) if matches(text) else UNSURE


def _of_type(wanted: type, make: Plain) -> Plain:
    # A bool is an int, and a datetime a date: so the very type counts.
    return lambda value: _sure(make, value) if type(value) is wanted else UNSURE


def _sure(make: Plain, value: Any) -> Any:
    try:
        return make(value)
    except ValueError:  # out of range, or the 31st of June
        return UNSURE


def _storable(value: Any) -> Any:
    """The value, unless it is a moment that the long way may reject."""
    if not isinstance(value, datetime):
        return value
    # ORC cannot hold each moment before 1970.
    return value if value.year >= 1970 and value.tzinfo is None else UNSURE
