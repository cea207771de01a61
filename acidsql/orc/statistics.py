"""Column statistics of an ORC file, of the whole and of each stripe, and what contradicts them.

Readers skip stripes and files by them, so a wrong one loses rows (ORC specification, Column
Statistics). Columns are numbered in pre-order; 0 is the root.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import CorruptFileError
from acidsql.layout.arrow import Array
from acidsql.orc.chunks import decompress_section
from acidsql.orc.footer import FileTail
from acidsql.orc.protobuf import fields

_POSTSCRIPT_METADATA = 5
_FOOTER_STATISTICS = 7
_VALUES, _INTEGER, _DOUBLE, _STRING = 1, 2, 3, 4
_DECIMAL, _DATE, _TIMESTAMP, _HAS_NULL = 6, 7, 9, 10
_MILLISECOND = {"s": 1, "ms": 1, "us": 1000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """How many values that are not null, whether any is null, the least and the greatest.

    Bounds are int (dates in days, timestamps in milliseconds), float, Decimal or UTF-8 bytes; None
    where the file gives none. ``has_null`` None means that it does not say.
    """

    values: int
    has_null: bool | None = None
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Statistics by column number: of the file, and of each stripe in order."""

    file: tuple[ColumnStatistics, ...]
    stripes: tuple[tuple[ColumnStatistics, ...], ...]


def read_statistics(source: BinaryIO, tail: FileTail, path: str = "") -> FileStatistics:
    """The statistics of an opened file. CorruptFileError if they cannot be read."""
    try:
        length = next((v for n, v in fields(tail.postscript) if n == _POSTSCRIPT_METADATA), 0)
        assert isinstance(length, int)
        footer_at = tail.length - 1 - len(tail.postscript) - tail.footer_length
        footer = _section(source, footer_at, tail.footer_length, tail)
        metadata = _section(source, footer_at - length, length, tail)
        file = tuple(_column(_bytes(v)) for n, v in fields(footer) if n == _FOOTER_STATISTICS)
        stripes = tuple(
            tuple(_column(_bytes(c)) for k, c in fields(_bytes(v)) if k == 1)
            for n, v in fields(metadata)
            if n == 1
        )
    except (ValueError, InvalidOperation) as error:
        raise CorruptFileError(
            f'file "{path}" has unreadable statistics', detail=f"{str(error).capitalize()}."
        ) from error
    return FileStatistics(file, stripes)


def actual_statistics(
    batch: pa.RecordBatch, *, dates: bool = True
) -> list[tuple[str, ColumnStatistics | None]]:
    """What the statistics of these rows have to allow for: name and statistics of each column.

    In pre-order from number 1 on. None for what is not compared: everything inside a list or map,
    and without ``dates`` every date, whose statistics count days in another calendar.
    """
    found: list[tuple[str, ColumnStatistics | None]] = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        _walk(name, array, 0, found, dates=dates)
    return found


def merged(first: ColumnStatistics, second: ColumnStatistics) -> ColumnStatistics:
    """Of two batches together.

    >>> merged(ColumnStatistics(1, False, 3, 3), ColumnStatistics(2, True, 1, 2))
    ColumnStatistics(values=3, has_null=True, low=1, high=3)
    """
    lows = [s.low for s in (first, second) if s.low is not None]
    highs = [s.high for s in (first, second) if s.high is not None]
    return ColumnStatistics(
        first.values + second.values,
        bool(first.has_null or second.has_null),
        min(lows, default=None),
        max(highs, default=None),
    )


def contradiction(said: ColumnStatistics, actual: ColumnStatistics) -> str | None:
    """Why a reader that trusts what is said would lose rows, or None. Loose bounds are none.

    >>> contradiction(ColumnStatistics(3, False, 1, 2), ColumnStatistics(3, False, 1, 4))
    'the greatest value is 4, not 2'
    """
    if said.values != actual.values:
        return f"{actual.values} values are there, not {said.values}"
    if said.has_null is False and actual.has_null:
        return "nulls are there, which it denies"
    for word, said_bound, bound, sign in (
        ("least", said.low, actual.low, -1),
        ("greatest", said.high, actual.high, 1),
    ):
        if said_bound is None or bound is None or type(said_bound) is not type(bound):
            continue
        if (bound < said_bound) if sign < 0 else (bound > said_bound):
            return f"the {word} value is {_shown(bound)}, not {_shown(said_bound)}"
    return None


def _walk(
    name: str,
    array: Array,
    outer_nulls: int,
    found: list[tuple[str, ColumnStatistics | None]],
    *,
    dates: bool,
) -> None:
    kind = array.type
    if pa.types.is_struct(kind):
        found.append((name, _counts(array, outer_nulls)))
        for field, child in zip(kind, array.flatten(), strict=True):
            _walk(f"{name}.{field.name}", child, array.null_count, found, dates=dates)
        return
    if pa.types.is_nested(kind):
        # Maps and lists: the counts of what is inside differ between writers.
        found.append((name, _counts(array, outer_nulls)))
        found.extend([(name, None)] * (_columns(kind) - 1))
        return
    if pa.types.is_date32(kind) and not dates:
        found.append((name, None))
        return
    low, high = _bounds(array)
    counts = _counts(array, outer_nulls)
    found.append((name, ColumnStatistics(counts.values, counts.has_null, low, high)))


def _columns(kind: Any) -> int:
    if pa.types.is_map(kind):
        return 1 + _columns(kind.key_type) + _columns(kind.item_type)
    return 1 + sum(_columns(kind.field(at).type) for at in range(kind.num_fields))


def _counts(array: Array, outer_nulls: int) -> ColumnStatistics:
    # Beneath a null struct there is nothing, not even a null.
    return ColumnStatistics(len(array) - array.null_count, array.null_count > outer_nulls)


def _bounds(array: Array) -> tuple[Any, Any]:
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_binary(kind) or array.null_count == len(array):
        return None, None
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(array)).as_py():
        return None, None  # what writers make of these differs
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        ticks = array.cast(pa.int64())
        unit = _MILLISECOND[kind.unit]
        both: Any = pc.min_max(ticks).as_py()
        return both["min"] // unit, both["max"] // unit
    elif pa.types.is_string(kind):
        array = array.cast(pa.binary())
    ends: Any = pc.min_max(array).as_py()
    return ends["min"], ends["max"]


def _column(message: bytes) -> ColumnStatistics:
    values = dict(fields(message))
    count, has_null = _int(values, _VALUES), values.get(_HAS_NULL)
    low, high = _said_bounds(values)
    return ColumnStatistics(count, None if has_null is None else bool(has_null), low, high)


def _said_bounds(values: Mapping[int, int | bytes]) -> tuple[Any, Any]:
    for number in (_INTEGER, _DATE):
        if number in values:
            inner = dict(fields(_bytes(values[number])))
            return _signed(inner, 1), _signed(inner, 2)
    if _DOUBLE in values:
        inner = dict(fields(_bytes(values[_DOUBLE])))
        low, high = (
            struct.unpack("<d", _bytes(inner[n]))[0] if n in inner else None for n in (1, 2)
        )
        return low, high
    if _STRING in values:
        inner = dict(fields(_bytes(values[_STRING])))
        # Long texts are cut: then only a lower and an upper bound are given.
        return inner.get(1, inner.get(4)), inner.get(2, inner.get(5))
    if _DECIMAL in values:
        inner = dict(fields(_bytes(values[_DECIMAL])))
        low, high = (Decimal(_bytes(inner[n]).decode()) if n in inner else None for n in (1, 2))
        return low, high
    if _TIMESTAMP in values:
        inner = dict(fields(_bytes(values[_TIMESTAMP])))
        return _signed(inner, 3), _signed(inner, 4)
    return None, None


def _section(source: BinaryIO, offset: int, size: int, tail: FileTail) -> bytes:
    source.seek(offset, os.SEEK_SET)
    return decompress_section(source.read(size), tail.compression, tail.block_size)


def _signed(values: Mapping[int, int | bytes], number: int) -> int | None:
    if number not in values:
        return None
    value = _int(values, number)
    return value >> 1 ^ -(value & 1)


def _int(values: Mapping[int, int | bytes], number: int) -> int:
    value = values.get(number, 0)
    if not isinstance(value, int):
        raise ValueError(f"field {number} is not a number")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where a message should")
    return value


def _shown(value: object) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def contradictions(
    said: tuple[ColumnStatistics, ...],
    actual: list[tuple[str, ColumnStatistics | None]],
    rows: int,
) -> Iterator[str]:
    """What is wrong with the statistics of a stripe or a file, column by column."""
    if len(said) != len(actual) + 1:
        yield f"there are statistics of {len(said)} columns, not of {len(actual) + 1}"
        return
    if said[0].values != rows:
        yield f"{rows} rows are there, not {said[0].values}"
    for (name, found), column in zip(actual, said[1:], strict=True):
        reason = None if found is None else contradiction(column, found)
        if reason is not None:
            yield f"{name}: {reason}"
