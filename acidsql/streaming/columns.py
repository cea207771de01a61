"""Columns of values → Arrow arrays that files can hold, and the rows whose values do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.conversion import conformed
from acidsql.errors import AnalysisError, InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.model.table import Column
from acidsql.model.types import CharType, ColumnType, PrimitiveType
from acidsql.orc.schema import arrow_type
from acidsql.orc.values import storable
from acidsql.streaming.arrow_kinds import other_kind
from acidsql.streaming.plain_values import PLAIN_TEXTS, PYTHON_TYPES
from acidsql.streaming.values import from_python, from_text


@dataclass(frozen=True, slots=True)
class Converted:
    """The values of one column, with NULL for each that does not fit; and why, by its position."""

    array: Array
    faults: Mapping[int, str]


def texts_converted(texts: Sequence[str | None] | Array, column: Column) -> Converted:
    """Fields of text, where None is NULL; or an Arrow array of them."""
    fast = _cast_texts(texts, column.type)
    if fast is not None:
        return _fitted(fast, column)
    values = texts.to_pylist() if isinstance(texts, pa.Array) else texts
    return values_converted(values, column, from_text)


def python_converted(values: Sequence[Any], column: Column) -> Converted:
    """Python values, where None is NULL."""
    kind = column.type
    plain = PYTHON_TYPES.get(kind.name) if isinstance(kind, PrimitiveType) else None
    if isinstance(kind, CharType):
        plain = str
    # A date column must not take a datetime, nor an int column a bool: so the very types count.
    if {type(value) for value in values} <= {plain, type(None)}:
        try:
            return _fitted(pa.array(values, arrow_type(kind)), column)
        except (pa.ArrowInvalid, OverflowError, UnicodeError):
            pass  # the slow way finds which value it was
    return values_converted(values, column, from_python)


def values_converted(
    values: Sequence[Any], column: Column, convert: Callable[[Any, ColumnType], Any]
) -> Converted:
    """Values of any form, each converted by ``convert``, which raises ValueError for a bad one."""
    wanted = arrow_type(column.type)
    faults: dict[int, str] = {}
    found: list[Any] = []
    for at, value in enumerate(values):
        try:
            converted = None if value is None else convert(value, column.type)
            if isinstance(converted, str):
                converted.encode()
        except (ValueError, ArithmeticError) as error:
            faults[at], converted = str(error), None
        found.append(converted)
    try:
        array = pa.array(found, wanted)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        array = _one_by_one(found, wanted, faults)
    return _fitted(array, column, faults)


def array_fitted(array: Array, column: Column) -> Converted:
    """Values of an Arrow array: as session.insert takes them, but none of another kind."""
    reason = other_kind(array.type, column.type)
    return _fitted(array, column) if reason is None else _unfit(array, column, reason)


def _cast_texts(texts: Sequence[str | None] | Array, kind: ColumnType) -> Array | None:
    """The texts converted by Arrow at once; None if one of them needs a closer look."""
    try:
        array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
        if isinstance(kind, CharType) or kind == PrimitiveType("string"):
            return array
        plain = PLAIN_TEXTS.get(kind.name) if isinstance(kind, PrimitiveType) else None
        if plain is None:
            return None
        if pc.all(pc.match_substring_regex(array, f"^(?:{plain})$")).as_py() is False:
            return None
        return pc.cast(array, arrow_type(kind))
    except (pa.ArrowInvalid, UnicodeError):
        return None


def _one_by_one(values: list[Any], wanted: Any, faults: dict[int, str]) -> Array:
    arrays = []
    for at, value in enumerate(values):
        try:
            arrays.append(pa.array([value], wanted))
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as error:
            faults[at] = str(error).splitlines()[0]
            arrays.append(pa.nulls(1, wanted))
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, wanted)


def _fitted(array: Array, column: Column, faults: Mapping[int, str] | None = None) -> Converted:
    """The values as a file can hold them, with NULL for each that it cannot."""
    found = dict(faults or {})
    try:
        pieces = _pieces(array, column, 0, found)
        return Converted(pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces), found)
    except AnalysisError as error:
        return _unfit(array, column, _reason(error), found)


def _pieces(array: Array, column: Column, start: int, found: dict[int, str]) -> list[Array]:
    """The values in pieces, cut by halves until the values that do not fit are alone."""
    try:
        return [conformed(array, column, storable)]
    except InvalidValueError as error:
        if len(array) == 1:
            found[start] = _reason(error)
            return [pa.nulls(1, arrow_type(column.type))]
        half = len(array) // 2
        return [
            *_pieces(array.slice(0, half), column, start, found),
            *_pieces(array.slice(half), column, start + half, found),
        ]


def _unfit(
    array: Array, column: Column, reason: str, faults: Mapping[int, str] | None = None
) -> Converted:
    """NULL for all values: none fits, whatever it is."""
    every = np.flatnonzero(np.asarray(array.is_valid()))
    nulls = pa.nulls(len(array), arrow_type(column.type))
    return Converted(nulls, {**dict.fromkeys(every.tolist(), reason), **(faults or {})})


def _reason(error: AnalysisError | InvalidValueError) -> str:
    return (error.detail or error.message).rstrip(".")
