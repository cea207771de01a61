"""Avro files as Hive's AvroSerDe writes them: each value may be null.

A day before 1582-10-15 is refused: of what a file may say about its calendar, Hive 3 heeds nothing,
and Hive 4's vectorised reader not all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastavro.write import Writer

from acidsql.errors import InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.model.avro import MILLISECONDS_PER_DAY, PROLEPTIC, TIME_ZONE
from acidsql.model.table import Column
from acidsql.model.types import (
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    as_spelled,
)
from acidsql.orc.exact import is_exact, is_timestamp, parts_of
from acidsql.orc.footer import SWITCH_DAY
from acidsql.orc.nested import map_leaves

_CODEC = "deflate"
_NUMBERS = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
}

Schema = Any
"""A schema of Avro as JSON: the name of a type, a list for a union, or a dict."""
Convert = Callable[[Any], Any]


class AvroSink:
    """Writes rows to a local path."""

    def __init__(self, path: str, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._values = [_written(c.type) for c in columns]
        schema: Any = fastavro.parse_schema(avro_schema(columns))
        said = {PROLEPTIC: "true", TIME_ZONE: "UTC"}
        self._file = open(path, "wb")  # noqa: SIM115 - closed by `close`
        try:
            self._writer = Writer(self._file, schema, _CODEC, metadata=said)
        except BaseException:
            self._file.close()
            raise

    def write(self, arrays: Sequence[Array]) -> None:
        """Write rows, given as the arrays of the columns.

        InvalidValueError for a day or time that readers do not agree on, or that would be cut.
        """
        names = [c.name for c in self._columns]
        values = [
            [convert(v) for v in _numbered(array, c).to_pylist()]
            for array, c, convert in zip(arrays, self._columns, self._values, strict=True)
        ]
        for row in zip(*values, strict=True):
            self._writer.write(dict(zip(names, row, strict=True)))

    def close(self) -> None:
        """Finish the file. Idempotent."""
        if not self._file.closed:
            with self._file:
                self._writer.flush()


def avro_schema(columns: Sequence[Column]) -> Schema:
    """The schema of files with these columns (Hive TypeInfoToSchema)."""
    numbers = count(1)
    fields = [_field(c.name, as_spelled(c.type), numbers) for c in columns]
    return {"type": "record", "name": "row", "fields": fields}


def _field(name: str, kind: ColumnType, numbers: Iterator[int]) -> Schema:
    return {"name": name, "type": _nullable(kind, numbers), "default": None}


def _nullable(kind: ColumnType, numbers: Iterator[int]) -> Schema:
    return "null" if kind == VOID else ["null", _schema(kind, numbers)]


def _schema(kind: ColumnType, numbers: Iterator[int]) -> Schema:
    match kind:
        case PrimitiveType("string"):
            return "string"
        case PrimitiveType("binary"):
            return "bytes"
        case PrimitiveType("date"):
            return {"type": "int", "logicalType": "date"}
        case PrimitiveType("timestamp"):
            return {"type": "long", "logicalType": "timestamp-millis"}
        case CharType(name, length):
            return {"type": "string", "logicalType": name, "maxLength": length}
        case DecimalType(precision, scale):
            logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
            return {"type": "bytes", **logical}
        case ArrayType(element):
            return {"type": "array", "items": _nullable(element, numbers)}
        case MapType(_, value):
            return {"type": "map", "values": _nullable(value, numbers)}
        case StructType(fields):
            name = f"record_{next(numbers)}"
            inner = [_field(n, t, numbers) for n, t in fields]
            return {"type": "record", "name": name, "fields": inner}
        case _:
            return _NUMBERS[str(kind)]


def _numbered(values: Array, column: Column) -> Array:
    """The values with days and times as numbers: Python has no date after the year 9999."""
    days = map_leaves(values, pa.types.is_date32, lambda leaf: _days(leaf, column))
    return map_leaves(days, is_timestamp, lambda leaf: _milliseconds(leaf, column))


def _days(leaf: Array, column: Column) -> Array:
    days = leaf.cast(pa.int32())
    _refuse_before(days, SWITCH_DAY, "date", column)
    return days


def _milliseconds(leaf: Array, column: Column) -> Array:
    """Milliseconds of a clock in UTC."""
    if is_exact(leaf.type):
        seconds, nanos = parts_of(leaf)
    else:
        ticks = np.asarray(leaf.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0), np.int64)
        seconds, nanos = ticks // 10**6, ticks % 10**6 * 1000
    if (nanos % 10**6).any():
        raise InvalidValueError(
            f'column "{column.name}" has a time with a fraction of a millisecond',
            detail="Avro files keep milliseconds, and would lose it.",
            hint="Write date_trunc('MILLISECOND', …), or store the table as ORC or PARQUET.",
        )
    nulls = np.asarray(leaf.is_null())
    times = pa.array(seconds * 1000 + nanos // 10**6, pa.int64(), mask=nulls)
    _refuse_before(times, SWITCH_DAY * MILLISECONDS_PER_DAY, "timestamp", column)
    return times


def _refuse_before(numbers: Array, least: int, what: str, column: Column) -> None:
    first = pc.min(numbers).as_py()
    if first is not None and first < least:
        raise InvalidValueError(
            f'column "{column.name}" has a {what} before 1582-10-15',
            detail="Hive 3 and Hive 4 take it for different days in Avro files.",
            hint="Store the table as ORC or PARQUET.",
        )


def _written(kind: ColumnType) -> Convert:
    """What makes of a value of Arrow one of fastavro."""
    match kind:
        case CharType("char"):
            return lambda text: None if text is None else text.rstrip(" ")
        case ArrayType(element):
            item = _written(element)
            return lambda values: None if values is None else [item(v) for v in values]
        case MapType(_, value):
            inner = _written(value)
            return lambda pairs: None if pairs is None else {k: inner(v) for k, v in pairs}
        case StructType(fields):
            names = (name for name, _ in kind.spelled_fields)
            members = {n: (m, _written(inner)) for n, (m, inner) in zip(names, fields, strict=True)}
            return lambda row: (
                None if row is None else {n: f(row[m]) for n, (m, f) in members.items()}
            )
        case _:
            return _same


def _same(value: Any) -> Any:
    return value
