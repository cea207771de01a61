"""Values that a caller binds → values of Python's own types, which mean the same everywhere.

Classes of other libraries, and subclasses, have texts of their own: `str` of an Enum that is an int
is its name, and ``isoformat`` of a Timestamp of pandas may have nanoseconds.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from acidsql.errors import AnalysisError
from acidsql.process.loaded import is_missing

_BASES: tuple[tuple[type, Any], ...] = (
    (bool, lambda value: value),
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, bytes),
    (memoryview, bytes),
)
"""The types of scalars, each with what makes one of a subclass."""


class _NoValueError(ValueError):
    """SQL has no such value. The message says why."""


def plain_value(value: Any, what: str) -> Any:
    """The value of a parameter without subclasses, and without classes of numpy and pandas.

    NaT and NA are None. AnalysisError, which begins with ``what``, for a text that is not valid
    Unicode and for a value that SQL cannot hold.

    >>> plain_value(np.datetime64("2026-12-31"), "x"), plain_value([np.int8(1), None], "x")
    (datetime.date(2026, 12, 31), [1, None])
    """
    try:
        return _plain(value)
    except UnicodeEncodeError as error:
        raise AnalysisError(f"{what} is not valid Unicode", detail=str(error)) from None
    except _NoValueError as error:
        raise AnalysisError(f"{what} cannot be bound: {error}") from None
    except RecursionError:
        raise AnalysisError(f"{what} cannot be bound: it is nested too deeply") from None


def _plain(value: Any) -> Any:
    match value:
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Mapping():
            return {_plain(key): _plain(inner) for key, inner in value.items()}
        case set() | frozenset():
            raise _NoValueError("SQL has no sets. Pass a list")
        case np.datetime64() | np.timedelta64():
            return _numpy_time(value)
        case np.bytes_():  # item() cuts its zeros off
            return bytes(value)
        case np.generic():
            value = value.item()
    return None if is_missing(value) else _of_python(value)


def _of_python(value: Any) -> Any:
    match value:
        case datetime.datetime():
            _require_micros(getattr(value, "nanosecond", 0))
            return datetime.datetime.combine(_day(value), _clock(value))
        case datetime.date():
            return _day(value)
        case datetime.timedelta():
            _require_micros(getattr(value, "nanoseconds", 0))
            return datetime.timedelta(value.days, value.seconds, value.microseconds)
    for base, make in _BASES:
        if isinstance(value, base):
            value = make(value)
            break
    if isinstance(value, str):
        value.encode()
    return value


def _day(value: datetime.date) -> datetime.date:
    return datetime.date(value.year, value.month, value.day)


def _clock(value: datetime.datetime) -> datetime.time:
    return datetime.time(
        value.hour, value.minute, value.second, value.microsecond, value.tzinfo, fold=value.fold
    )


def _numpy_time(value: np.datetime64 | np.timedelta64) -> Any:
    """A date, datetime or timedelta; None for NaT."""
    if np.isnat(value):
        return None
    unit, _ = np.datetime_data(value.dtype)
    if unit in ("ns", "ps", "fs", "as"):
        micros = value.astype(f"{value.dtype.kind}8[us]")
        _require_micros(micros != value)
        value = micros
    plain = value.item()
    if isinstance(plain, int):  # numpy's answer where Python has no value
        kind = "time" if isinstance(value, np.datetime64) else "length of time"
        raise _NoValueError(f"{value!r} is no {kind} of Python")
    return plain


def _require_micros(nanoseconds: Any) -> None:
    if nanoseconds:
        raise _NoValueError("it has nanoseconds, and SQL's times have microseconds: round it")
