"""Python values of parameters → Spark literals that mean the same whatever the time zones are."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from acidsql.errors import AnalysisError
from acidsql.model.types import DECIMAL_DIGITS_MAX

if TYPE_CHECKING:
    from pyspark.sql import Column


_INTS, _BIGINTS = 1 << 31, 1 << 63


def bound(name: str, value: Any) -> Column:
    """The literal for a parameter. AnalysisError for a value Spark has no literal for."""
    try:
        return _literal(value)
    except _NoDecimalError as error:
        raise AnalysisError(
            f'parameter "{name}" cannot be bound: {error}',
            hint=f"Spark's numbers have up to {DECIMAL_DIGITS_MAX} digits."
            " Pass a float or a string.",
        ) from None
    except _MixedError as error:
        raise AnalysisError(
            f'parameter "{name}" cannot be bound: a list or dict mixes {error}',
            hint="Spark takes values of one type, none of them None, together. Bind them one by"
            " one, or convert them first.",
        ) from None
    except Exception as error:
        raise AnalysisError(
            f'parameter "{name}" cannot be bound: no SQL value for {type(value).__name__}',
            detail=str(error).splitlines()[0] if str(error) else None,
        ) from error


def _literal(value: Any) -> Column:
    """The literal; dates and times are written as text, which Spark reads as it stands.

    PySpark would read a naive datetime in Python's own time zone, and would hand old dates over by
    way of Java's Julian calendar.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    match value:
        case datetime.datetime() if value.tzinfo is not None:
            utc = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return F.expr(f"timestamp_ltz'{utc.isoformat(' ')}Z'")
        case datetime.datetime():
            return F.expr(f"timestamp_ntz'{value.isoformat(' ')}'")
        case datetime.date():
            return F.expr(f"date'{value.isoformat()}'")
        case list() | tuple():
            return F.array(*_alike(value))
        case dict():
            pairs = zip(_alike(list(value)), _alike(list(value.values())), strict=True)
            return F.create_map(*(part for pair in pairs for part in pair))
        case Decimal() | int() if not isinstance(value, bool):
            return F.lit(_number(value))
        case _:
            return F.lit(value)


class _MixedError(Exception):
    """Values that belong together have several types. The message names them."""


def _alike(values: Sequence[Any]) -> list[Column]:
    """The literals of values that must have one type: Spark adds no cast between parameters."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    literals = [_literal(value) for value in values]
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise _MixedError(" and ".join(kinds))
    if kinds != ["int"] or all(_fits(value, _INTS) for value in values):
        return literals
    are_bigints = all(_fits(value, _BIGINTS) for value in values)
    return [F.expr(f"{value}L") for value in values] if are_bigints else literals


def _fits(value: int, bound: int) -> bool:
    return -bound <= value < bound


class _NoDecimalError(Exception):
    """A number is none of Spark's decimals. The message says why."""


def _number(value: int | Decimal) -> int | Decimal:
    """The number, as a Decimal where it does not fit a bigint.

    Spark itself would write all digits of 1E99999999 before it refuses them.
    """
    if isinstance(value, int):
        if _fits(value, _BIGINTS):
            return value
        if abs(value) >= 10**DECIMAL_DIGITS_MAX:
            raise _NoDecimalError(f"a whole number of more than {DECIMAL_DIGITS_MAX} digits")
        return Decimal(value)
    if not value.is_finite():
        raise _NoDecimalError(f"{value} is no decimal")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "finite"
    if max(len(digits) + max(exponent, 0), -exponent) > DECIMAL_DIGITS_MAX:
        raise _NoDecimalError(f"a decimal of more than {DECIMAL_DIGITS_MAX} digits")
    return value
