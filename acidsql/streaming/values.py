"""One value of a record → a Python value of the column's type. ValueError says why there is none.

Text converts as Hive's LazySimpleSerDe does (the classes Lazy…), JSON as its JsonSerDe does. Where
they make NULL of what they cannot read, or cut a text that is too long, there is a ValueError.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.model.floats import is_in_float_range, nearest_float
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

_INTEGER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T].*)?", re.ASCII | re.DOTALL)
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII
)
_ZONE = re.compile(r"\s*(?:Z|UTC|GMT|([+-])(\d{2}):?(\d{2}))", re.ASCII)
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\s]*")
_WIDE = Context(prec=80)
_DIGITS_MAX = 400
_SPECIAL_NUMBERS = ("NaN", "Infinity", "+Infinity", "-Infinity")

NULL_TEXT = "\\N"
"""The text of NULL in delimited text (serialization.null.format)."""

NESTED_DELIMITERS = "\x02\x03\x04\x05\x06\x07\x08"
"""What stands between the items of nested values, by level (LazySerDeParameters)."""


class JsonNumber(str):
    """A number of JSON with a fraction or an exponent, as its text: nothing of it is lost."""

    __slots__ = ()


class RepeatedNames(dict[str, Any]):
    """An object of JSON in which a name comes twice: of its values only the last is here."""


def object_of(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON with these members, for ``object_pairs_hook``."""
    found = dict(members)
    return found if len(found) == len(members) else RepeatedNames(found)


def from_text(text: str, kind: ColumnType, level: int = 0) -> Any:
    r"""The value of a field of text. ``level`` counts the nested types around it.

    >>> from_text("1.9", PrimitiveType("int")), from_text(" 1.505 ", DecimalType(5, 2))
    (1, Decimal('1.51'))
    >>> from_text("1\x022", ArrayType(PrimitiveType("int")))
    [1, 2]
    """
    match kind:
        case PrimitiveType(name):
            return _TEXTS[name](text)
        case DecimalType():
            return _decimal(text, kind)
        case CharType():
            return text
        case _:
            return _nested(text, kind, level)


def _nested(text: str, kind: ArrayType | MapType | StructType, level: int) -> Any:
    inner = level + (2 if isinstance(kind, MapType) else 1)
    if inner > len(NESTED_DELIMITERS):
        raise ValueError("it is nested too deeply for delimited text")
    items = text.split(NESTED_DELIMITERS[level]) if text else []

    def value(item: str, of: ColumnType) -> Any:
        return None if item == NULL_TEXT else from_text(item, of, inner)

    match kind:
        case ArrayType(element):
            return [value(item, element) for item in items]
        case MapType(key, entry):
            pairs = [item.partition(NESTED_DELIMITERS[level + 1]) for item in items]
            if not all(sign for _, sign, _ in pairs):
                raise ValueError("an entry of a map has no delimiter between key and value")
            return [(value(k, key), value(v, entry)) for k, _, v in pairs]
        case StructType(fields):
            if len(items) != len(fields):
                raise ValueError(f"a struct has {len(items)} fields, not {len(fields)}")
            named = zip(items, fields, strict=True)
            return {name: value(item, of) for item, (name, of) in named}


def _integer(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        found = _INTEGER.fullmatch(text)
        # As LazyInteger: digits behind a point are checked and dropped.
        if found is None or not (found[2] or found[3]) or len(text) > _DIGITS_MAX:
            raise ValueError("it is not a whole number")
        return in_range(int(f"{found[1]}{found[2] or '0'}"), bits)

    return parse


def in_range(number: int, bits: int) -> int:
    """The number. ValueError if an integer of so many bits cannot hold it."""
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"the type holds {-(1 << bits - 1)} to {(1 << bits - 1) - 1}")
    return number


def _double(text: str) -> float:
    return float(_number(text))


def _float(text: str) -> float:
    number = _number(text)
    double = float(number)
    # A number that no double holds may have an exponent that no Decimal holds.
    return nearest_float(Decimal(number)) if double and math.isfinite(double) else double


def _number(text: str) -> str:
    stripped = text.strip()
    if stripped in _SPECIAL_NUMBERS:
        return stripped
    if not _NUMBER.fullmatch(stripped):
        raise ValueError("it is not a number")
    return stripped.rstrip("fFdD")


def _decimal(text: str, kind: DecimalType) -> Decimal:
    stripped = text.strip()
    if not _DECIMAL.fullmatch(stripped) or len(stripped) > _DIGITS_MAX:
        raise ValueError("it is not a number")
    return to_decimal(Decimal(stripped), kind)


def to_decimal(number: Decimal, kind: DecimalType) -> Decimal:
    """The number with the type's scale, rounded half up as in Hive. ValueError if it is too large.

    >>> to_decimal(Decimal("2.345"), DecimalType(3, 2))
    Decimal('2.35')
    """
    limit = 10 ** (kind.precision - kind.scale)
    too_large = ValueError(
        f"it has more than {kind.precision - kind.scale} digits before the point"
    )
    try:
        rounded = number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _WIDE)
    except InvalidOperation:
        raise too_large from None
    if not rounded.is_finite():
        raise ValueError("it is not a number")
    if rounded.copy_abs() >= limit:  # abs() would round to 28 digits
        raise too_large
    return rounded


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return word == "true"


def _date(text: str) -> date:
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError("it is not a date like 2026-01-31")
    return date(*map(int, found.groups()))


def _timestamp(text: str) -> datetime:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError("it is not a timestamp like 2026-01-31 12:00:00.5")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction = (found[7] or "").ljust(9, "0")
    if fraction[6:] != "000":
        raise ValueError("it is finer than a microsecond")
    return datetime(year, month, day, hour, minute, second, int(fraction[:6]))


def _instant(text: str) -> datetime:
    stripped = text.strip()
    zone = re.search(rf"(?:{_ZONE.pattern})$", stripped, re.ASCII)
    if zone is None:
        raise ValueError("it has no zone such as Z or +01:00 at its end")
    wall = _timestamp(stripped[: zone.start()])
    if not zone[1]:
        return wall.replace(tzinfo=timezone.utc)
    parsed = datetime.fromisoformat(f"2000-01-01T00:00:00{zone[1]}{zone[2]}:{zone[3]}")
    return wall.replace(tzinfo=parsed.tzinfo)


def _binary(text: str) -> bytes:
    """As LazyBinary: bytes that may be base64 are decoded, others are taken as they are."""
    data = text.encode()
    if not _BASE64.fullmatch(data):
        return data
    try:
        return base64.b64decode(data, validate=False)
    except binascii.Error as error:
        raise ValueError("it is not base64") from error


def _void(_: str) -> Any:
    raise ValueError("a column of type void holds nothing but NULL")


_TEXTS: Mapping[str, Callable[[str], Any]] = {
    **{name: _integer(bits) for name, bits in INTEGER_BITS.items()},
    "boolean": _boolean,
    "float": _float,
    "double": _double,
    "string": str,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp with local time zone": _instant,
    "void": _void,
}


def from_json(value: Any, kind: ColumnType) -> Any:
    """The value of a member of a JSON object.

    A number may stand in a string, and a string column takes numbers and true or false, too.

    >>> from_json({"A": [1, None]}, StructType((("a", ArrayType(PrimitiveType("int"))),)))
    {'a': [1, None]}
    """
    if value is None:
        return None
    match kind:
        case ArrayType(element):
            return [from_json(item, element) for item in _of(value, list, "an array")]
        case MapType(key, entry):
            members = _object(value).items()
            return [(from_text(k, key), from_json(v, entry)) for k, v in members]
        case StructType(fields):
            values = _by_name(_object(value), fields)
            return {name: from_json(values.get(name), of) for name, of in fields}
        case PrimitiveType("boolean") if isinstance(value, bool):
            return value
        case PrimitiveType("string") | CharType():
            if isinstance(value, bool):
                return str(value).lower()
            return str(_of(value, (str, int), "a text"))
        case _:
            if isinstance(value, bool):
                raise ValueError("it is true or false")
            text = str(_of(value, (str, int), "a single value"))
            return (
                _json_number(text, kind) if isinstance(value, JsonNumber) else from_text(text, kind)
            )


def _json_number(text: str, kind: ColumnType) -> Any:
    """A number with a fraction or an exponent: in a whole number's column the fraction goes."""
    if isinstance(kind, PrimitiveType) and kind.name in INTEGER_BITS:
        try:
            number = Decimal(text)
        except InvalidOperation:  # an exponent of more than 18 digits
            raise ValueError("it is out of range") from None
        return in_range(_without_fraction(number), INTEGER_BITS[kind.name])
    return from_text(text, kind)


def _without_fraction(number: Decimal) -> int:
    """The whole part. ValueError for a number that no column holds.

    Such a number may have millions of digits, and more time than anybody has would go into them.
    """
    if not -(1 << 64) < number < 1 << 64:
        raise ValueError("it is out of range")
    return int(number)


def _object(value: Any) -> dict[str, Any]:
    members: dict[str, Any] = _of(value, dict, "an object")
    if isinstance(members, RepeatedNames):
        raise ValueError("a name comes twice in an object")
    return members


def _by_name(
    members: Mapping[Any, Any], fields: tuple[tuple[str, ColumnType], ...]
) -> dict[str, Any]:
    """The values of a struct by the names of its fields. ValueError for other names."""
    lower = {str(name).lower(): value for name, value in members.items()}
    if len(lower) < len(members):
        raise ValueError("two names in a struct differ only in case")
    unknown = sorted(lower.keys() - {name for name, _ in fields})
    if unknown:
        raise ValueError(f'a struct has no field "{unknown[0]}"')
    return lower


def _of(value: Any, kinds: type | tuple[type, ...], words: str) -> Any:
    if not isinstance(value, kinds):
        raise ValueError(f"it is not {words}")
    return value


def from_python(value: Any, kind: ColumnType) -> Any:
    """A Python value as it is, checked. Nothing is made of another type but numbers.

    >>> from_python(2.0, PrimitiveType("int")), from_python(5, DecimalType(3, 1))
    (2, Decimal('5.0'))
    """
    if value is None:
        return None
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _whole(value, INTEGER_BITS[name])
        case PrimitiveType(name):
            return _PYTHON[name](value)
        case CharType():
            return _of(value, str, "a str")
        case DecimalType():
            _refuse_bool(value)
            return _whole_decimal(Decimal(_of(value, (int, Decimal), "an int or a Decimal")), kind)
        case ArrayType(element):
            items = _of(value, (list, tuple), "a list")
            return [from_python(item, element) for item in items]
        case MapType(key, entry):
            return [(from_python(k, key), from_python(v, entry)) for k, v in _pairs(value)]
        case StructType(fields):
            values = _by_name(_of(value, Mapping, "a dict"), fields)
            return {name: from_python(values.get(name), of) for name, of in fields}


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """The keys and values of a map: of a dict, or of a list of pairs, as Arrow gives maps."""
    if isinstance(value, Mapping):
        return value.items()
    pairs = _of(value, list, "a dict")
    # A text of two characters can be taken apart, too.
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("it is not a dict, nor a list of pairs")
    return [(key, entry) for key, entry in pairs]


def _whole_decimal(number: Decimal, kind: DecimalType) -> Decimal:
    """The number with the type's scale. ValueError if that would round it, or it is too large."""
    found = to_decimal(number, kind)
    if found != number:
        raise ValueError(f"it has more than {kind.scale} digits after the point")
    return found


def _whole(value: Any, bits: int) -> int:
    _refuse_bool(value)
    whole = value
    if isinstance(value, Decimal) and value.is_finite():
        whole = _without_fraction(value)
    elif isinstance(value, float) and value.is_integer():
        whole = int(value)
    if not _is_number(whole) or not hasattr(whole, "__index__") or whole != value:
        raise ValueError("it is not a whole number")
    return in_range(int(whole), bits)


def _real(value: Any) -> float:
    _refuse_bool(value)
    if not _is_number(value) or not hasattr(value, "__float__"):
        raise ValueError("it is not a number")
    _require_between(value, 1 << 53)
    try:
        double = float(value)
    except OverflowError:
        raise ValueError("it is out of range") from None
    if isinstance(value, Decimal) and value.is_finite() and math.isinf(double):
        raise ValueError("it is out of range")
    return double


def _single(value: Any) -> float:
    double = _real(value)
    _require_between(value, 1 << 24)
    if not is_in_float_range(double):
        raise ValueError("it is out of range")
    is_exact = isinstance(value, Decimal) and value.is_finite()
    return nearest_float(value) if is_exact else double


def _require_between(value: Any, most: int) -> None:
    """ValueError for an integer beyond those that a type with a fraction holds each of."""
    if hasattr(value, "__index__") and not -most <= int(value) <= most:
        raise ValueError(f"the type holds every integer only from {-most} to {most}")


def _refuse_bool(value: Any) -> None:
    if isinstance(value, bool | np.bool_):
        raise ValueError("it is a bool")


def _is_number(value: Any) -> bool:
    """Whether a value is a number of Python, NumPy or Arrow.

    Other things can be asked for a number, too: a text and a moment of NumPy, an array of one item.
    """
    if isinstance(value, pa.Scalar):
        return value.is_valid
    # NumPy counts a time span among the numbers.
    return isinstance(value, Real | Decimal) and not isinstance(value, np.timedelta64)


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        raise ValueError("it is a datetime, not a date")
    found: date = _of(value, date, "a date")
    return found


def _wall_clock(value: Any) -> datetime:
    found: datetime = _of(value, datetime, "a datetime")
    if found.tzinfo is not None:
        raise ValueError("it has a time zone, and the column has wall-clock time")
    return found


def _moment(value: Any) -> datetime:
    found: datetime = _of(value, datetime, "a datetime")
    if found.tzinfo is None:
        raise ValueError("it has no time zone, and the column has instants")
    return found


_PYTHON: Mapping[str, Callable[[Any], Any]] = {
    "boolean": lambda value: _of(value, bool, "a bool"),
    "float": _single,
    "double": _real,
    "string": lambda value: _of(value, str, "a str"),
    "binary": lambda value: bytes(_of(value, (bytes, bytearray, memoryview), "bytes")),
    "date": _day,
    "timestamp": _wall_clock,
    "timestamp with local time zone": _moment,
    "void": lambda value: _void(str(value)),
}
