"""Avro files as Hive's AvroSerDe reads them: a column is found by its name.

A file says in which calendar its days before 1582-10-15 are, and in which time zone its timestamps
were written: ``writer.proleptic`` and ``writer.time.zone``. Hive 4 writes both. Hive 3 writes
Gregorian days and does not say so, and Hive 4 reads its files as if they had Julian ones. Values
that need what a file does not say are refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import fastavro
import numpy as np
import pyarrow as pa

from acidsql.errors import AcidSqlError, CorruptFileError, InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.model.avro import MILLISECONDS_PER_DAY, PROLEPTIC, TIME_ZONE
from acidsql.model.table import Column
from acidsql.model.types import (
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.calendar import proleptic_days
from acidsql.orc.footer import SWITCH_DAY
from acidsql.orc.schema import row_schema

_BATCH_ROWS = 10_000
_STRUCTURE = ("type", "name", "namespace", "size", "symbols")
"""What a schema says of the bytes, beside what is in it."""
_EXACTLY = Context(prec=100)
"""More digits than any decimal has: Python's own context would round after 28 of them."""
_UTC = ("UTC", "Z", "GMT", "Etc/UTC")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_FIRST_MOVED = -2_208_988_800_000
"""1900-01-01 in milliseconds. Java knows older offsets of zones by other rules than Hive's."""
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}

Schema = Any
"""A schema of Avro as JSON: the name of a type, a list for a union, or a dict."""
Convert = Callable[[Any], Any]


def read_avro(
    source: BinaryIO | str, path: str, columns: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    """The rows of a file in the types of the table's columns; a column that it lacks is null.

    CorruptFileError for a file that cannot be read; InvalidValueError for one whose columns have
    other types.
    """
    with _clear_errors(path), _opened(source) as stream:
        blocks = fastavro.block_reader(stream)
        writer: Schema = blocks.writer_schema
        clock = _Clock.of(blocks.metadata, path)
        fields = _fields(writer, path)
        schema = row_schema(columns)
        values = [_column(c, fields, clock, path) for c in columns]
        raw: Any = fastavro.parse_schema(_raw(writer, {}))
        rows: list[Any] = []
        block: Any
        for block in blocks:
            if block.num_records > block.bytes_.getbuffer().nbytes:
                raise CorruptFileError(
                    f'file "{path}" is not a whole Avro file',
                    detail=f"A block of {block.num_records} records is too short for them.",
                )
            for _ in range(block.num_records):
                rows.append(fastavro.schemaless_reader(block.bytes_, raw, None))
                if len(rows) == _BATCH_ROWS:
                    yield _batch(rows, values, schema, path)
                    rows = []
        yield _batch(rows, values, schema, path)


def row_count(source: BinaryIO, path: str, columns: Sequence[Column]) -> int:
    """The number of rows, all of which are read. Raises the errors of `read_avro`."""
    return sum(batch.num_rows for batch in read_avro(source, path, columns))


def field_names(source: BinaryIO, path: str) -> list[str]:
    """The names of a file's columns in lower case. CorruptFileError if it is no Avro file."""
    with _clear_errors(path):
        return list(_fields(fastavro.block_reader(source).writer_schema, path))


@contextmanager
def _opened(source: BinaryIO | str) -> Iterator[BinaryIO]:
    if isinstance(source, str):
        with open(source, "rb") as stream:
            yield stream
    else:
        yield source


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    try:
        yield
    except AcidSqlError:
        raise
    except Exception as error:  # fastavro and its codecs have many kinds
        text = str(error).split("\n", 1)[0] or type(error).__name__
        raise CorruptFileError(f'file "{path}" is not a whole Avro file', detail=text) from error


def _fields(schema: Schema, path: str) -> dict[str, tuple[str, Schema]]:
    """The columns of a file by their names in lower case: name and schema."""
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise CorruptFileError(f'file "{path}" has no records', detail=f"It has {_named(schema)}.")
    return {f["name"].lower(): (f["name"], f["type"]) for f in schema["fields"]}


def _raw(schema: Schema, known: dict[str, str]) -> Schema:
    """The schema without logical types, whose values fastavro would convert."""
    if isinstance(schema, list):
        return [_raw(branch, known) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema["type"]
    kept = {k: v for k, v in schema.items() if k in _STRUCTURE}
    match kind:
        case "record":
            kept["fields"] = [
                {"name": f["name"], "type": _raw(f["type"], known)} for f in schema["fields"]
            ]
        case "array":
            kept["items"] = _raw(schema["items"], known)
        case "map":
            kept["values"] = _raw(schema["values"], known)
        case "enum" | "fixed":
            pass
        case _:
            return _raw(kind, known)
    return kept


@dataclass(frozen=True, slots=True)
class _Clock:
    """What makes days and milliseconds of a file days and microseconds of a clock on the wall.

    ``proleptic`` and ``zone`` are what the file says.
    """

    proleptic: str | None
    zone: str | None
    path: str

    @classmethod
    def of(cls, metadata: Mapping[str, str], path: str) -> _Clock:
        return cls(metadata.get(PROLEPTIC), metadata.get(TIME_ZONE), path)

    def day(self, value: int) -> int:
        if value >= SWITCH_DAY or self.proleptic == "true":
            return value
        if self.proleptic == "false":
            return int(proleptic_days(np.array([value]))[0])
        raise self._unknown("a date before 1582-10-15", "calendar")

    def time(self, value: int) -> int:
        """Hive moves a timestamp from the writer's time zone to UTC, and back (AvroSerializer)."""
        if self.zone is None:
            raise self._unknown("a timestamp", "time zone")
        if self.zone not in _UTC:
            value = self._moved(value)
        day, rest = divmod(value, MILLISECONDS_PER_DAY)
        return (self.day(day) * MILLISECONDS_PER_DAY + rest) * 1000

    def _moved(self, value: int) -> int:
        if value < _FIRST_MOVED:
            raise self._unknown("a timestamp before 1900", "way of conversion")
        try:
            zone = ZoneInfo(str(self.zone))
        except (ZoneInfoNotFoundError, ValueError):
            raise self._unknown("a timestamp", f'time zone that is known ("{self.zone}")') from None
        instant = _EPOCH + dt.timedelta(milliseconds=value)
        offset = instant.astimezone(zone).utcoffset()
        return value if offset is None else value + offset // dt.timedelta(milliseconds=1)

    def _unknown(self, what: str, of: str) -> InvalidValueError:
        return InvalidValueError(
            f'file "{self.path}" has {what}, and does not say in which {of}',
            hint="Let Hive write the rows into a table of ORC files.",
        )


def _column(
    column: Column, fields: Mapping[str, tuple[str, Schema]], clock: _Clock, path: str
) -> Callable[[Any], Any]:
    """What takes the value of a column out of a record."""
    if column.name not in fields:
        return lambda row: None
    name, schema = fields[column.name]
    convert = _reading(schema, column.type, clock)
    if convert is None:
        raise InvalidValueError(
            f'column "{column.name}" is {column.type}, and file "{path}" has {_named(schema)}'
        )
    return lambda row: convert(row[name])


def _reading(schema: Schema, kind: ColumnType, clock: _Clock) -> Convert | None:
    """What makes of a value of the file one of the type; None if the file's type does not fit."""
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null"]
        return _reading(branches[0], kind, clock) if len(branches) == 1 else None
    found = _reading_value(schema, kind, clock)
    if found is None:
        return None
    return lambda value: None if value is None else found(value)


def _reading_value(schema: Schema, kind: ColumnType, clock: _Clock) -> Convert | None:
    name = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case ArrayType(element) if name == "array":
            item = _reading(schema["items"], element, clock)
            return None if item is None else lambda values: [item(v) for v in values]
        case MapType(_, value) if name == "map":
            inner = _reading(schema["values"], value, clock)
            if inner is None:
                return None
            return lambda pairs: [(key, inner(v)) for key, v in pairs.items()]
        case StructType() if name == "record":
            return _struct(schema, kind, clock)
        case PrimitiveType() | CharType() | DecimalType():
            return _reading_simple(schema, name, kind, clock)
        case _:
            return None


def _reading_simple(schema: Schema, name: str, kind: ColumnType, clock: _Clock) -> Convert | None:
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    match kind, name:
        case PrimitiveType("string") | CharType(), "string" | "enum":
            return _text(kind)
        case PrimitiveType("date"), "int":
            return clock.day if logical == "date" else None
        case PrimitiveType("timestamp"), "long":
            return clock.time if logical == "timestamp-millis" else None
        case DecimalType(), "bytes" | "fixed":
            return _decimal(schema) if logical == "decimal" else None
        case _ if logical is not None:
            return None
        case DecimalType(), "int" | "long":
            return Decimal
        case PrimitiveType("binary"), "bytes" | "fixed":
            return _same
        case _:
            return _number(name, str(kind))


def _text(kind: ColumnType) -> Convert:
    length = kind.length if isinstance(kind, CharType) else None
    return _same if length is None else lambda text: text[:length]


def _decimal(schema: Schema) -> Convert:
    scale = -int(schema.get("scale", 0))
    return lambda value: _EXACTLY.scaleb(Decimal(int.from_bytes(value, "big", signed=True)), scale)


def _struct(schema: Schema, kind: StructType, clock: _Clock) -> Convert | None:
    fields = {f["name"].lower(): (f["name"], f["type"]) for f in schema["fields"]}
    members: list[tuple[str, str, Convert]] = []
    for name, inner in kind.fields:
        if name.lower() not in fields:
            continue  # null
        original, found = fields[name.lower()]
        convert = _reading(found, inner, clock)
        if convert is None:
            return None
        members.append((name, original, convert))
    return lambda row: {name: convert(row[original]) for name, original, convert in members}


def _number(name: str, wanted: str) -> Convert | None:
    """For a number or a boolean: those types of the file that lose nothing."""
    if wanted in _INTEGERS:
        return _bounded(_INTEGERS[wanted]) if name in ("int", "long") else None
    allowed = {"double": ("float", "double"), "float": ("float",), "boolean": ("boolean",)}
    return _same if name in allowed.get(wanted, ()) else None


def _bounded(bits: int) -> Convert:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def number(value: int) -> int:
        if least <= value <= most:
            return value
        raise InvalidValueError(f"the number {value} of an Avro file does not fit its column")

    return number


def _batch(
    rows: Sequence[Any], values: Sequence[Convert], schema: pa.Schema, path: str
) -> pa.RecordBatch:
    try:
        arrays = [
            _array([value(row) for row in rows], field.type)
            for value, field in zip(values, schema, strict=True)
        ]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        detail = str(error).split("\n", 1)[0]
        raise InvalidValueError(
            f'a value of file "{path}" does not fit its column', detail=detail
        ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> Array:
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _named(schema: Schema) -> str:
    """The type of a schema, for messages."""
    if isinstance(schema, list):
        return " or ".join(_named(branch) for branch in schema if branch != "null")
    if not isinstance(schema, dict):
        return str(schema)
    return str(schema.get("logicalType") or schema["type"])


def _same(value: Any) -> Any:
    return value
