"""Predicates of a statement as conditions on the rows of a scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from acidsql.model.names import string_literal as literal
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column
from acidsql.model.types import (
    INTEGER_BITS,
    CharType,
    ColumnType,
    DecimalType,
    PrimitiveType,
    spark_type,
)

_DIGITS_MAX = 18
"""Up to this many digits Spark compares decimals without rounding either side."""


def conditions(
    predicates: Sequence[Predicate], columns: Sequence[Column], values: Mapping[str, str]
) -> Iterator[str]:
    """The predicates as conditions of Spark SQL, which every row that meets them meets, too.

    A predicate that Spark might compare in another way gives none. ``values`` gives the expression
    of a column's value by the column's name.
    """
    kinds = {c.name: c.type for c in columns}
    known = (p for p in predicates if p.column in kinds)
    return (t for p in known for t in _text(p, kinds[p.column], values[p.column]))


def _text(predicate: Predicate, kind: ColumnType, value: str) -> Iterator[str]:
    wanted = [_literal(text, kind) for text in predicate.values]
    if None not in wanted:
        listed = ", ".join(text for text in wanted if text)
        yield f"{value} {predicate.operator} ({listed})"


def _literal(text: str, kind: ColumnType) -> str | None:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return text
        case PrimitiveType("date"):
            return f"date'{text}'"
        case PrimitiveType("string") | CharType(name="varchar"):
            return literal(text)
        case DecimalType(precision, scale) if precision <= _DIGITS_MAX:
            number = Decimal(text)
            # The size comes first: round() fails on more digits than Python's decimal context has.
            if abs(number) >= 10 ** (precision - scale) or number != round(number, scale):
                return None
            return f"cast('{number:f}' as {spark_type(kind)})"
    return None
