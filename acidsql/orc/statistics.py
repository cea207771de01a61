"""Column statistics of an ORC file and of each stripe, and rows that contradict them.

Readers skip stripes and files by their statistics, so wrong statistics lose rows (ORC
specification, Column Statistics). Columns are numbered in pre-order; 0 is the root.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import reduce
from itertools import islice, zip_longest
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.layout.arrow import Array
from acidsql.orc.damage import naming
from acidsql.orc.exact import is_exact
from acidsql.orc.footer import (
    DATE,
    FOOTER_STATISTICS,
    JULIAN,
    SKIPPED_DAYS,
    SWITCH_DAY,
    TIMESTAMP,
    TIMESTAMP_INSTANT,
    FileTail,
    read_section,
)
from acidsql.orc.protobuf import as_bytes, fields, number_in, signed

_VALUES, _INTEGER, _DOUBLE, _STRING = 1, 2, 3, 4
_DECIMAL, _DATE, _BINARY, _TIMESTAMP, _HAS_NULL = 6, 7, 8, 9, 10
_EXACT = Context(prec=100)
_DAY_MS = 86_400_000
_MILLISECOND = {"s": 1, "ms": 1, "us": 1000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The number of values that are not null, whether there are nulls, least and greatest value.

    Bounds are int (dates in days, timestamps in milliseconds), float, Decimal or UTF-8 bytes.
    ``total`` is the sum of integers or decimals, or the bytes of all texts or binaries. ORC has
    nothing nearer to a checksum. None stands for what the file does not say.
    """

    values: int
    has_null: bool | None = None
    low: Any = None
    high: Any = None
    total: Any = None


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Statistics by column number: of the file, and of each stripe in order."""

    file: tuple[ColumnStatistics, ...]
    stripes: tuple[tuple[ColumnStatistics, ...], ...]


_WITH_LENGTHS = (7, 8, 16, 17)
"""The types string, binary, varchar and char (Type.Kind in ORC's orc_proto.proto)."""


def least_bytes(tail: FileTail, said: Sequence[ColumnStatistics]) -> int:
    """At least how many bytes the values take in memory, by the statistics of a file.

    A text that is repeated a thousand times takes a few bytes of the file. Of columns other than
    texts, each value counts as one byte.
    """
    return sum(
        found.total or 0 if kind.kind in _WITH_LENGTHS else found.values
        for kind, found in zip(tail.types, said, strict=False)
    )


def read_statistics(
    source: BinaryIO, tail: FileTail, path: str = "", columns: int | None = None
) -> FileStatistics:
    """The statistics of an opened file, of its first ``columns`` columns or of all.

    CorruptFileError if they cannot be read.
    """
    with naming(path, "has unreadable statistics"):
        length = tail.footer_start - tail.content_length
        metadata = read_section(source, tail, tail.content_length, length)
        file = _columns_of(tail.footer, FOOTER_STATISTICS, columns)
        stripes = tuple(_columns_of(as_bytes(v), 1, columns) for n, v in fields(metadata) if n == 1)
    return FileStatistics(file, stripes)


def file_statistics(tail: FileTail, path: str = "") -> tuple[ColumnStatistics, ...]:
    """The statistics of all columns of a file, without those of its stripes.

    CorruptFileError if they cannot be read.
    """
    with naming(path, "has unreadable statistics"):
        return _columns_of(tail.footer, FOOTER_STATISTICS, None)


def may_hold_skipped_days(tail: FileTail, path: str = "") -> bool:
    """Whether a date or timestamp may fall on a day that the hybrid calendar skips in 1582.

    A file in the hybrid calendar has no such days. One more day counts at each end, because a
    timestamp may fall on another day in another zone. CorruptFileError if the statistics cannot be
    read.
    """
    if tail.calendar == JULIAN:
        return False
    with naming(path, "has unreadable statistics"):
        return _allows_skipped_days(tail)


def _allows_skipped_days(tail: FileTail) -> bool:
    said = _columns_of(tail.footer, FOOTER_STATISTICS, None)
    # Without an index, Java's writer counts no value of any column.
    says_nothing = tail.rows > 0 and tail.row_index_stride == 0
    for kind, column in zip_longest(tail.types, said):
        if kind is None or kind.kind not in (DATE, TIMESTAMP, TIMESTAMP_INSTANT):
            continue
        if says_nothing or column is None or (column.values and None in (column.low, column.high)):
            return True
        a_day = 1 if kind.kind == DATE else _DAY_MS
        if (
            column.values
            and column.low // a_day <= SWITCH_DAY
            and column.high // a_day >= SWITCH_DAY - SKIPPED_DAYS - 1
        ):
            return True
    return False


def actual_statistics(
    batch: pa.RecordBatch, *, times: bool = True
) -> list[tuple[str, ColumnStatistics | None]]:
    """The names and true statistics of all columns of these rows, in pre-order from number 1 on.

    Columns inside a list or map have None: they are not compared. Without ``times``, dates and
    timestamps have no bounds, because those in the file are of another calendar.
    """
    found: list[tuple[str, ColumnStatistics | None]] = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        _walk(name, array, 0, found, times=times)
    return found


def merged(first: ColumnStatistics, second: ColumnStatistics) -> ColumnStatistics:
    """The statistics of two batches together.

    >>> merged(ColumnStatistics(1, False, 3, 3), ColumnStatistics(2, True, 1, 2))
    ColumnStatistics(values=3, has_null=True, low=1, high=3, total=None)
    """
    lows = [s.low for s in (first, second) if s.low is not None]
    highs = [s.high for s in (first, second) if s.high is not None]
    return ColumnStatistics(
        first.values + second.values,
        bool(first.has_null or second.has_null),
        min(lows, default=None),
        max(highs, default=None),
        _sum(first, second),
    )


def _sum(first: ColumnStatistics, second: ColumnStatistics) -> Any:
    """The sum of two totals. None if there are values whose total is unknown."""
    if any(s.values and s.total is None for s in (first, second)):
        return None
    totals = [s.total for s in (first, second) if s.total is not None]
    if totals and isinstance(totals[0], Decimal):
        return reduce(_EXACT.add, totals)
    return sum(totals) if totals else None


def contradiction(said: ColumnStatistics, actual: ColumnStatistics) -> str | None:
    """Why a reader that trusts the statistics would lose rows, or None if it would not.

    Bounds that are wider than the values do no harm.

    >>> contradiction(ColumnStatistics(3, False, 1, 2), ColumnStatistics(3, False, 1, 4))
    'the greatest value is 4, not 2'
    """
    if said.values != actual.values:
        return f"{actual.values} values are there, not {said.values}"
    if said.has_null is False and actual.has_null:
        return "nulls are there, against the statistics"
    for word, said_bound, bound, sign in (
        ("least", said.low, actual.low, -1),
        ("greatest", said.high, actual.high, 1),
    ):
        if said_bound is None or bound is None or type(said_bound) is not type(bound):
            continue
        if (bound < said_bound) if sign < 0 else (bound > said_bound):
            return f"the {word} value is {_shown(bound)}, not {_shown(said_bound)}"
    if None not in (said.total, actual.total) and said.total != actual.total:
        return f"the sum is {actual.total}, not {said.total}"
    return None


def _walk(
    name: str,
    array: Array,
    outer_nulls: int,
    found: list[tuple[str, ColumnStatistics | None]],
    *,
    times: bool,
) -> None:
    kind = array.type
    if pa.types.is_struct(kind) and not is_exact(kind):
        found.append((name, _counts(array, outer_nulls)))
        for field, child in zip(kind, array.flatten(), strict=True):
            _walk(f"{name}.{field.name}", child, array.null_count, found, times=times)
        return
    if pa.types.is_nested(kind) and not is_exact(kind):
        # Writers differ in how they count the values inside maps and lists.
        found.append((name, _counts(array, outer_nulls)))
        found.extend([(name, None)] * (_columns(kind) - 1))
        return
    counts = _counts(array, outer_nulls)
    if not times and (pa.types.is_temporal(kind) or is_exact(kind)):
        found.append((name, counts))
        return
    low, high = _bounds(array)
    statistics = ColumnStatistics(counts.values, counts.has_null, low, high, _total(array))
    found.append((name, statistics))


def _columns(kind: Any) -> int:
    if is_exact(kind):
        return 1
    if pa.types.is_map(kind):
        return 1 + _columns(kind.key_type) + _columns(kind.item_type)
    return 1 + sum(_columns(kind.field(at).type) for at in range(kind.num_fields))


def _counts(array: Array, outer_nulls: int) -> ColumnStatistics:
    # ORC stores nothing beneath a null struct, so these nulls do not count.
    return ColumnStatistics(len(array) - array.null_count, array.null_count > outer_nulls)


def _bounds(array: Array) -> tuple[Any, Any]:
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_binary(kind) or array.null_count == len(array):
        return None, None
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(array)).as_py():
        return None, None  # writers differ in the bounds of columns with NaN
    if is_exact(kind):
        return _exact_bounds(array)
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


def _exact_bounds(array: Array) -> tuple[int, int]:
    seconds, nanos = (np.asarray(part) for part in array.drop_null().flatten())
    milliseconds = seconds * 1000 + nanos // 1_000_000
    return int(milliseconds.min()), int(milliseconds.max())


def _total(array: Array) -> Any:
    """The exact sum as ORC counts it. None for types without a sum and where there is no value."""
    kind = array.type
    if array.null_count == len(array):
        return None
    if pa.types.is_integer(kind):
        values = np.asarray(array.fill_null(0))
        if max(-int(values.min()), int(values.max())) * len(values) < 2**63:
            return int(values.sum(dtype=np.int64))
        # High and low halves are added apart, so that no sum overflows.
        values = values.astype(np.int64)
        exact = (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
        return exact if -(2**63) <= exact < 2**63 else None
    if pa.types.is_decimal(kind):
        return _python(pc.sum(array.cast(pa.decimal256(76, kind.scale))))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _python(pc.sum(pc.binary_length(array)))
    return None


def _python(scalar: Any) -> Any:
    return scalar.as_py()


def _columns_of(message: bytes, number: int, count: int | None) -> tuple[ColumnStatistics, ...]:
    found = (column_statistics(as_bytes(v)) for n, v in fields(message) if n == number)
    return tuple(islice(found, count))


def column_statistics(message: bytes) -> ColumnStatistics:
    """A ColumnStatistics message. ValueError if it is malformed."""
    values = dict(fields(message))
    count, has_null = number_in(values, _VALUES), values.get(_HAS_NULL)
    low, high = _said_bounds(values)
    said_null = None if has_null is None else bool(has_null)
    return ColumnStatistics(count, said_null, low, high, _said_total(values))


def _said_total(values: Mapping[int, int | bytes]) -> Any:
    for number, at in ((_INTEGER, 3), (_STRING, 3), (_BINARY, 1)):
        if number in values:
            return _signed_in(_inside(values, number), at)
    if _DECIMAL in values:
        inner = _inside(values, _DECIMAL)
        return Decimal(as_bytes(inner[3]).decode()) if 3 in inner else None
    return None


def _said_bounds(values: Mapping[int, int | bytes]) -> tuple[Any, Any]:
    for number in (_INTEGER, _DATE):
        if number in values:
            inner = _inside(values, number)
            return _signed_in(inner, 1), _signed_in(inner, 2)
    if _DOUBLE in values:
        inner = _inside(values, _DOUBLE)
        low, high = (
            struct.unpack("<d", as_bytes(inner[n]))[0] if n in inner else None for n in (1, 2)
        )
        return low, high
    if _STRING in values:
        inner = _inside(values, _STRING)
        # For long texts the file has cut ones: a lower and an upper bound in other fields.
        return inner.get(1, inner.get(4)), inner.get(2, inner.get(5))
    if _DECIMAL in values:
        inner = _inside(values, _DECIMAL)
        low, high = (Decimal(as_bytes(inner[n]).decode()) if n in inner else None for n in (1, 2))
        return low, high
    if _TIMESTAMP in values:
        inner = _inside(values, _TIMESTAMP)
        return _signed_in(inner, 3), _signed_in(inner, 4)
    return None, None


def _inside(values: Mapping[int, int | bytes], number: int) -> dict[int, int | bytes]:
    """The fields of the message in a field."""
    return dict(fields(as_bytes(values[number])))


def _signed_in(values: Mapping[int, int | bytes], number: int) -> int | None:
    if number not in values:
        return None
    return signed(number_in(values, number))


def _shown(value: object) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def contradictions(
    said: tuple[ColumnStatistics, ...],
    actual: list[tuple[str, ColumnStatistics | None]],
    rows: int,
) -> Iterator[str]:
    """The faults in the statistics of a stripe or a file, column by column."""
    if len(said) != len(actual) + 1:
        yield f"there are statistics of {len(said)} columns, not of {len(actual) + 1}"
        return
    if said[0].values != rows:
        yield f"{rows} rows are there, not {said[0].values}"
    for (name, found), column in zip(actual, said[1:], strict=True):
        reason = None if found is None else contradiction(column, found)
        if reason is not None:
            yield f"{name}: {reason}"
