"""Values that need no second look, one at a time: the short way of what `values` does with care.

Each function gives the value that the functions of `values` and Arrow's casts would give, or UNSURE
where they may convert, reject or find fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from acidsql.model.types import INTEGER_BITS, ColumnType, DecimalType, PrimitiveType
from acidsql.streaming.values import from_text

UNSURE = object()
"""Stands for a value that has to go the long way."""

Plain = Callable[[Any], Any]
"""Makes a column's value of one that is not None, or UNSURE of it."""

_TEXTS: Mapping[str, str] = {
    "boolean": r"true|false",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    # Since 1970: ORC cannot hold each moment before.
    "timestamp": r"(?:19[7-9]|20[0-9])[0-9]-[0-9]{2}-[0-9]{2}"
    r" [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?",
}
_PYTHON: Mapping[str, type] = {
    "boolean": bool,
    "double": float,
    "binary": bytes,
    "date": date,
}


def of_text(kind: ColumnType) -> Plain:
    """What makes values of fields of text, which are valid Unicode.

    >>> of_text(PrimitiveType("int"))("-7"), of_text(DecimalType(3, 1))("2.5")
    (-7, Decimal('2.5'))
    >>> of_text(PrimitiveType("int"))(" 7") is UNSURE
    True
    """
    match kind:
        case PrimitiveType("string"):
            return _itself
        case PrimitiveType(name) if name in INTEGER_BITS:
            whole = _whole(INTEGER_BITS[name])
            return _matching(r"-?[0-9]{1,19}", lambda text: whole(int(text)))
        case PrimitiveType("double"):
            pattern = r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?"
            return _matching(pattern, float)
        case PrimitiveType(name) if name in _TEXTS:
            return _matching(_TEXTS[name], lambda text: from_text(text, kind))
        case DecimalType(precision, scale) if precision > scale:
            fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
            return _matching(rf"-?[0-9]{{1,{precision - scale}}}{fraction}", Decimal)
        case _:
            return _unsure


def of_python(kind: ColumnType) -> Plain:
    """What makes values of Python values, which must be of the very type.

    >>> of_python(PrimitiveType("int"))(7), of_python(PrimitiveType("int"))(True) is UNSURE
    (7, True)
    """
    match kind:
        case PrimitiveType("string"):
            return _valid_text
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _of_type(int, _whole(INTEGER_BITS[name]))
        case PrimitiveType("timestamp"):
            return _of_type(datetime, _since_1970)
        case PrimitiveType(name) if name in _PYTHON:
            return _of_type(_PYTHON[name], _itself)
        case _:
            return _unsure


def of_json(kind: ColumnType) -> Plain:
    """What makes values of the members of JSON objects."""
    text, python = of_text(kind), of_python(kind)
    if kind == PrimitiveType("string"):
        return python

    def plain(value: Any) -> Any:
        return text(value) if isinstance(value, str) else python(value)

    return plain


def _itself(value: Any) -> Any:
    return value


def _unsure(_: Any) -> Any:
    return UNSURE


def _matching(pattern: str, make: Plain) -> Plain:
    matches = re.compile(pattern).fullmatch

    def plain(text: str) -> Any:
        try:
            return make(text) if matches(text) else UNSURE
        except ValueError:  # the 31st of June
            return UNSURE

    return plain


def _of_type(wanted: type, make: Plain) -> Plain:
    # A bool is an int, and a datetime a date: so the very type counts.
    return lambda value: make(value) if type(value) is wanted else UNSURE


def _whole(bits: int) -> Plain:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    return lambda number: number if least <= number <= most else UNSURE


def _since_1970(moment: datetime) -> Any:
    return moment if moment.year >= 1970 and moment.tzinfo is None else UNSURE


def _valid_text(value: Any) -> Any:
    if type(value) is not str:
        return UNSURE
    return value if is_valid(value) else UNSURE


def is_valid(text: str) -> bool:
    """Whether a text has no lone surrogates, which no file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
