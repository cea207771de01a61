"""Literals → the canonical text of a value of a column's type.

The rules are those of Spark's ANSI CAST: a row is the same whether this process or Spark writes it.
A value that needs other rules is left to Spark.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from acidsql.errors import InvalidValueError
from acidsql.model.floats import nearest_float
from acidsql.model.types import (
    DECIMAL_DIGITS_MAX,
    INTEGER_BITS,
    CharType,
    ColumnType,
    DecimalType,
    PrimitiveType,
)
from acidsql.model.value_text import decimal_text, timestamp_text
from acidsql.planner.predicates import Arguments
from acidsql.planner.times import clock_text, day_text
from acidsql.statements.fragment import Constant, Fragment

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_DIGITS = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SUFFIXES = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.BIGINT: 64}
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(\.\d{1,6})?)", re.ASCII)
_WIDE = Context(prec=80)
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "0"), "false"),
}
"""The texts that Spark casts to a boolean (StringUtils)."""

_DIGITS_MAX = 40
_CONTROL = "".join(map(chr, range(0x21)))
"""What Spark trims off a text before it makes a decimal of it; off a whole number, DEL, too."""

Literal = None | bool | int | float | Decimal | str | bytes | datetime.date


class _NoTimeError(ValueError):
    """``DATE '…'`` or ``TIMESTAMP '…'`` of a day or a time that there is not."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(reason)
        self.text = text


class NotLiteral(Exception):  # noqa: N818 - not an error: Spark computes the value
    """The expression is no literal, or its conversion is left to Spark."""


def cell_text(
    fragment: Fragment | Constant, kind: ColumnType, arguments: Arguments, column: str
) -> str | None:
    """The canonical text of one value for a column; None for null.

    Raises NotLiteral if Spark has to compute the value, and InvalidValueError if the value does not
    fit the column's type.
    """
    try:
        value = _value(fragment, arguments)
    except _NoTimeError as error:
        raise _misfit(fragment, error.text, kind, column, error) from None
    if value is None:
        return None
    try:
        return _convert(value, kind)
    except ValueError as error:
        raise _misfit(fragment, value, kind, column, error) from None


def _value(fragment: Fragment | Constant, arguments: Arguments) -> Literal:
    if not isinstance(fragment, Constant):
        return _literal(fragment.tree, arguments)
    value = fragment.value
    return _held(value) if isinstance(value, int | Decimal) else value


def _held(number: int | Decimal) -> int | Decimal:
    """The number that a literal is. NotLiteral if no decimal of Spark has so many digits."""
    if isinstance(number, int):
        is_held = abs(number) < 10**DECIMAL_DIGITS_MAX
    else:
        _, digits, exponent = number.as_tuple()
        is_held = max(len(digits), -int(exponent)) <= DECIMAL_DIGITS_MAX
    if not is_held:
        raise NotLiteral
    return number


def _misfit(
    fragment: Fragment | Constant, value: Literal, kind: ColumnType, column: str, error: ValueError
) -> InvalidValueError:
    return InvalidValueError(
        f'the value {_show(value)} does not fit column "{column}" of type {kind}',
        detail=str(error) or None,
        line=fragment.line,
        column=fragment.column,
    )


def canonical_text(text: str, kind: ColumnType) -> str:
    """The canonical text of a value that is given as text. ValueError for no value of the type.

    >>> canonical_text("007", PrimitiveType("int"))
    '7'
    """
    if kind == PrimitiveType("boolean"):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text.lower()
    try:
        return _convert(text, kind)
    except NotLiteral:
        raise ValueError(f"{text!r} does not fit type {kind}") from None
    except ValueError as error:
        raise ValueError(f"{text!r} does not fit type {kind}: {error}") from None


def _literal(node: exp.Expr, arguments: Arguments) -> Literal:
    node = node.unnest()
    match node:
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.Literal():
            return _number(node.name)
        case exp.Neg():
            return _negated(_literal(node.this, arguments))
        case exp.Cast(this=exp.Literal() as inner):
            return _typed(node, inner)
        case exp.Placeholder():
            return _argument(arguments, node.name)
    raise NotLiteral


def _typed(node: exp.Cast, inner: exp.Literal) -> Literal:
    """The value of a literal with a type: ``DATE '…'``, ``TIMESTAMP '…'``, ``1Y``, ``1.5BD``.

    sqlglot makes the CAST of them that has the same value.
    """
    kind = node.to
    if kind.this in _TIMES and inner.is_string:
        form, read = _TIMES[kind.this]
        if form.fullmatch(inner.name):
            return _time(node, read, inner.name)
    if kind.this in _SUFFIXES and not inner.is_string and inner.name.isdigit():
        value = _number(inner.name)
        if value < 1 << _SUFFIXES[kind.this] - 1:
            return value
    if kind.this == exp.DType.DECIMAL and inner.is_string and _DIGITS.fullmatch(inner.name):
        precision, scale = _precision_and_scale(kind)
        whole, _, fraction = inner.name.partition(".")
        if len(fraction) <= scale and len(whole.lstrip("0")) <= precision - scale:
            return Decimal(inner.name)
    raise NotLiteral


def _time(node: exp.Cast, read: Callable[[str], str], text: str) -> str:
    """The day or the time that a text names. What becomes of others in a CAST is left to Spark."""
    try:
        return read(text)
    except ValueError as error:
        if isinstance(node, exp.TryCast):
            raise NotLiteral from None
        raise _NoTimeError(text, f"{str(error).capitalize()}.") from None


def _precision_and_scale(kind: exp.DataType) -> tuple[int, int]:
    """The two numbers of a decimal type. NotLiteral if they are no numbers, or too large."""
    texts = [item.this.name for item in kind.expressions if isinstance(item.this, exp.Literal)]
    if len(texts) != 2 or len(kind.expressions) != 2 or not all(map(str.isdigit, texts)):
        raise NotLiteral
    precision, scale = map(int, texts)
    if precision > DECIMAL_DIGITS_MAX:
        raise NotLiteral
    return precision, scale


def _negated(value: Literal) -> Literal:
    if isinstance(value, Decimal):
        return value.copy_negate()  # the operator "-" would round to 28 digits
    if isinstance(value, int) and not isinstance(value, bool):
        return -value
    raise NotLiteral


def _argument(arguments: Arguments, name: str) -> Literal:
    value: Any = arguments.get(name, NotLiteral)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        raise NotLiteral
    if value is None or isinstance(
        value, bool | int | float | Decimal | str | bytes | datetime.date
    ):
        return value
    raise NotLiteral


def _number(text: str) -> int | Decimal:
    if len(text) > _DIGITS_MAX:
        raise NotLiteral  # longer than any SQL number
    if text.isascii() and text.isdigit():
        return _held(int(text))
    if re.fullmatch(r"\d+\.\d*|\.\d+", text, re.ASCII):
        return _held(Decimal(text))
    raise NotLiteral  # a number with an exponent is a double, which Spark converts


def _show(value: Literal) -> str:
    return repr(value) if isinstance(value, str | bytes) else str(value)


def _convert(value: Literal, kind: ColumnType) -> str:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _integer(value, INTEGER_BITS[name])
        case DecimalType():
            return _decimal(value, kind)
        case PrimitiveType("string") | CharType():
            return _string(value, kind)
        case PrimitiveType(name) if name in _SIMPLE:
            return _SIMPLE[name](value)
    raise NotLiteral


def _integer(value: Literal, bits: int) -> str:
    if isinstance(value, str):
        text = value.strip(_CONTROL + "\x7f")
        if not _INTEGER.fullmatch(text):
            raise ValueError("It is not a whole number.")
        value = int(text)
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotLiteral
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"The type holds {-(1 << bits - 1)} to {(1 << bits - 1) - 1}.")
    return str(value)


def _decimal(value: Literal, kind: DecimalType) -> str:
    if isinstance(value, str):
        text = value.strip(_CONTROL)
        if not _NUMBER.fullmatch(text):
            raise ValueError("It is not a number.")
        value = Decimal(text)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotLiteral
    try:
        number = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _WIDE)
    except InvalidOperation:
        raise ValueError("It is out of range.") from None
    if not number.is_finite():
        raise ValueError("It is not a number.")
    if len(number.as_tuple().digits) > kind.precision and abs(number) >= Decimal(
        10 ** (kind.precision - kind.scale)
    ):
        raise ValueError(f"It has more than {kind.precision - kind.scale} digits before the point.")
    return decimal_text(number)


def _string(value: Literal, kind: ColumnType) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise NotLiteral
    if isinstance(kind, CharType) and len(value) > kind.length:
        if len(value.rstrip(" ")) > kind.length:
            raise ValueError(f"It has {len(value)} characters.")
        return value[: kind.length]
    return value


def _boolean(value: Literal) -> str:
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    if not isinstance(value, bool):
        raise NotLiteral
    return str(value).lower()


def _double(value: Literal) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise NotLiteral
    if isinstance(value, Decimal) and not value:
        return "0.0"  # only a double has a negative zero
    try:
        return repr(float(value))
    except OverflowError:
        raise ValueError("It is out of range.") from None


def _float(value: Literal) -> str:
    text = _double(value)
    if not isinstance(value, int | Decimal) or not value:
        return text  # a double is rounded for the first time, and a zero needs no rounding
    return repr(nearest_float(value))


def _date(value: Literal) -> str:
    if isinstance(value, datetime.datetime):
        raise NotLiteral
    if isinstance(value, datetime.date):
        return value.isoformat()
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise NotLiteral
    try:
        return day_text(value)
    except ValueError as error:
        raise ValueError(f"{str(error).capitalize()}.") from None


def _timestamp(value: Literal) -> str:
    if isinstance(value, datetime.datetime):
        return timestamp_text(value)
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        raise NotLiteral
    try:
        return clock_text(value)
    except ValueError as error:
        raise ValueError(f"{str(error).capitalize()}.") from None


def _binary(value: Literal) -> str:
    if not isinstance(value, bytes):
        raise NotLiteral
    return value.hex()


_SIMPLE: dict[str, Callable[[Literal], str]] = {
    "boolean": _boolean,
    "float": _float,
    "double": _double,
    "date": _date,
    "timestamp": _timestamp,
    "binary": _binary,
}

_TIMES: dict[exp.DType, tuple[re.Pattern[str], Callable[[str], str]]] = {
    exp.DType.DATE: (_DATE, day_text),
    exp.DType.TIMESTAMPTZ: (_TIMESTAMP, clock_text),
    exp.DType.TIMESTAMPNTZ: (_TIMESTAMP, clock_text),
}
"""The types of literals of times, as sqlglot calls them, with the forms that are known here."""
