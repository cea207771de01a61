r"""The field of a line as a value, as Hive's LazySimpleSerDe reads it (the classes Lazy…).

Spark's casts know more forms than Hive: 2020 is a day to them, and 1 and yes are true. They know
one less: 1.9 is no int. So a pattern decides which texts are values, and Spark reads those.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.engines.spark.columns import padded
from acidsql.engines.text_rows import NULL
from acidsql.model.types import (
    INTEGER_BITS,
    CharType,
    ColumnType,
    DecimalType,
    PrimitiveType,
    spark_type,
)

_BLANKS = "[\x01-\x20]*"
_DAY = "-?[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK = "[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.][0-9]{1,9})?"
_TWO_DIGITS_EACH = "-?[0-9]{4,}(-[0-9]{2}){2}( +[0-9]{2}(:[0-9]{2}){2}([.][0-9]{1,9})?)?"
_ZONE = "( *(?!T[0-9])[A-Za-z+-].*)?"
_NOT_ASCII = "[^\x01-\x7f]"
_NUMBER_WORDS = "(?d)^(?!.*(Infinity|NaN)).*(?i:inf|nan)"
"""Texts that have Spark's word of no finite number and not Java's, which has capitals."""

_FORMS: Mapping[str, str] = {
    "date": f"{_BLANKS}{_DAY}([ T].*|{_BLANKS})",
    "timestamp": f"{_BLANKS}{_DAY}[ T]+{_CLOCK}{_BLANKS}",
    "timestamp with local time zone": f"{_TWO_DIGITS_EACH}{_ZONE}{_BLANKS}",
}
"""How the values of a type look to Hive. Spark says which of these are values."""


def field_value(field: str, kind: ColumnType) -> str:
    """The value of a field, null if it is missing or no value of the type. ``field`` is SQL."""
    text = f"nullif({field}, {_literal(NULL)})"
    match kind:
        case PrimitiveType("string"):
            return text
        case CharType(_, length):
            return padded(f"left({text}, {length})", kind)
        case PrimitiveType("void"):
            return "cast(null as void)"
        case PrimitiveType("binary"):
            return f"coalesce(try_to_binary({text}, 'base64'), cast({text} as binary))"
        case PrimitiveType("boolean"):
            return f"case when {_is(text, '(?i:true|false)')} then {_cast(text, kind)} end"
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _whole(text, spark_type(kind))
        case PrimitiveType(name) if name in _FORMS:
            return f"case when {_is(text, _FORMS[name])} then {_cast(text, kind)} end"
        case PrimitiveType("float" | "double"):
            return f"case when not {_has(text, _NUMBER_WORDS)} then {_cast(text, kind)} end"
        case DecimalType():
            return f"case when not {_has(text, _NOT_ASCII)} then {_cast(text, kind)} end"
        case _:
            return _cast(text, kind)


def _whole(text: str, kind: str) -> str:
    """A whole number: digits behind a point are dropped, and none need be before it."""
    whole = f"try_cast(get(split({text}, '[.]', 2), 0) as {kind})"
    return (
        f"case when {_is(text, '[+-]?[.][0-9]+')} then cast(0 as {kind})"
        f" when {_is(text, '[+-]?[0-9]+([.][0-9]*)?')} then {whole} end"
    )


def _cast(text: str, kind: ColumnType) -> str:
    return f"try_cast({text} as {spark_type(kind)})"


def _is(text: str, pattern: str) -> str:
    return _has(text, f"(?d)^(?:{pattern})$")  # (?d): no other line ends than a line feed


def _has(text: str, pattern: str) -> str:
    return f"{text} rlike {_literal(pattern)}"


def _literal(text: str) -> str:
    """A text in SQL, whatever the session says of back slashes in literals."""
    return f"cast(X'{text.encode().hex()}' as string)"
