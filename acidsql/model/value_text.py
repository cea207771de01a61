"""Values of result rows as text: one form for cells, one for JSON.

Values are what Spark hands to Python: None, bool, int, float, Decimal, str, bytes, date, datetime,
a Row for a struct, a list for an array, a dict for a map.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal


def cell_text(value: object) -> str:
    r"""A value as one cell of a table, CSV or TSV. Each format has its own text for NULL.

    Structs, arrays and maps are JSON; binary is hexadecimal.

    >>> cell_text(Decimal("5.00")), cell_text(True), cell_text(b"\x0f"), cell_text([1, None])
    ('5.00', 'true', '0F', '[1,null]')
    >>> cell_text(datetime(2020, 1, 1, 12, 34, 56, 500_000))
    '2020-01-01 12:34:56.5'
    """
    match value:
        case str():
            return value
        case bytes() | bytearray():
            return value.hex().upper()
        case float():
            return float_text(value)
        case datetime():
            return timestamp_text(value)
        case date():
            return value.isoformat()
        case None | bool() | int() | Decimal() | dict() | list() | tuple():
            return json_text(value)
        case _:  # a time of day, an interval; a variant, whose text is JSON
            return str(value)


def json_text(value: object) -> str:
    """A value as compact JSON: decimals keep their digits, binary is base64, dates are text.

    NaN and the infinities are text, since JSON has no number for them.

    >>> json_text({"d": Decimal("1.10"), "b": b"hi", "t": date(2026, 1, 2)})
    '{"d":1.10,"b":"aGk=","t":"2026-01-02"}'
    """
    match value:
        case dict():
            return _object(value.items())
        case tuple() if hasattr(value, "__fields__"):
            return json_object(value.__fields__, value)
        case list() | tuple():
            return "[" + ",".join(map(json_text, value)) + "]"
        case _:
            return _scalar_json(value)


def _scalar_json(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            return float_text(value) if math.isfinite(value) else json.dumps(float_text(value))
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return json.dumps(base64.b64encode(value).decode("ascii"))
        case datetime() | date():
            return json.dumps(cell_text(value))
        case _:
            return json.dumps(str(value), ensure_ascii=False)


def json_object(names: Sequence[str], values: Sequence[object]) -> str:
    """One row as a JSON object, its members in the order of the columns.

    >>> json_object(["id", "name"], (1, "Jerry"))
    '{"id":1,"name":"Jerry"}'
    """
    return _object(zip(names, values, strict=True))


def _object(members: Iterable[tuple[object, object]]) -> str:
    return (
        "{"
        + ",".join(
            f"{json.dumps(cell_text(key), ensure_ascii=False)}:{json_text(value)}"
            for key, value in members
        )
        + "}"
    )


def float_text(value: float) -> str:
    """The shortest digits that give the number back; NaN and Infinity as Hive spells them.

    >>> float_text(1.0), float_text(float("-inf"))
    ('1.0', '-Infinity')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def decimal_text(value: Decimal) -> str:
    """A decimal without trailing zeros, as Hive prints it and writes it into partition names.

    >>> decimal_text(Decimal("1.50")), decimal_text(Decimal("-0.00")), decimal_text(Decimal("1E2"))
    ('1.5', '0', '100')
    """
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def timestamp_text(value: datetime) -> str:
    """A timestamp as Hive prints it: a blank between date and time, no trailing zeros.

    >>> timestamp_text(datetime(2020, 1, 1))
    '2020-01-01 00:00:00'
    """
    whole = value.replace(microsecond=0).isoformat(sep=" ")
    fraction = f".{value.microsecond:06d}".rstrip("0").rstrip(".")
    return whole[:19] + fraction + whole[19:]
