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

import fastavro
import numpy as np
import pyarrow as pa

from acidsql.errors import AcidSqlError, CorruptFileError, InvalidValueError, StorageError
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
)
from acidsql.orc.calendar import proleptic_days
from acidsql.orc.footer import SWITCH_DAY
from acidsql.orc.schema import row_schema
from acidsql.orc.zones import clock_seconds, is_utc, known_zone

_BATCH_ROWS = 10_000
_BATCH_BYTES = 64 << 20
"""How much of a file becomes a batch at the most, beside one record."""
_STRUCTURE = ("type", "name", "namespace", "size", "symbols")
"""What a schema says of the bytes, beside what is in it."""
_EXACTLY = Context(prec=100)
"""More digits than any decimal has: Python's own context would round after 28 of them."""
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
    other types; StorageError for one whose codec needs a package that is not installed.
    """
    with _opened(source) as stream:
        with _clear_errors(path):
            blocks = fastavro.block_reader(stream)
            writer: Any = fastavro.parse_schema(blocks.writer_schema)
        file = _File.of(blocks.metadata, _named_types(writer), path)
        fields = _fields(writer, path)
        schema = row_schema(columns)
        values = [_column(c, fields, file) for c in columns]
        for rows in _records(blocks, writer, path):
            yield _batch(rows, values, schema, path)


def _records(blocks: Any, writer: Schema, path: str) -> Iterator[list[Any]]:
    """The records, some at a time. What is not converted is as it lies in the file."""
    rows: list[Any] = []
    size = 0
    with _clear_errors(path):
        raw: Any = fastavro.parse_schema(_raw(writer))
        for block in blocks:
            data, at = block.bytes_, 0
            if not 0 <= block.num_records <= data.getbuffer().nbytes:
                raise _corrupt(path, f"A block cannot have {block.num_records} records.")
            for _ in range(block.num_records):
                rows.append(fastavro.schemaless_reader(data, raw, None))
                size, at = size + data.tell() - at, data.tell()
                if len(rows) == _BATCH_ROWS or size > _BATCH_BYTES:
                    yield rows
                    rows, size = [], 0
            if data.read(1):
                raise _corrupt(path, f"A block has more than its {block.num_records} records.")
    yield rows


def _corrupt(path: str, detail: str) -> CorruptFileError:
    return CorruptFileError(f'file "{path}" is not a whole Avro file', detail=detail)


def row_count(source: BinaryIO, path: str, columns: Sequence[Column]) -> int:
    """The number of rows, all of which are read. Raises the errors of `read_avro`."""
    return sum(batch.num_rows for batch in read_avro(source, path, columns))


def field_names(source: BinaryIO, path: str) -> list[str]:
    """The names of a file's columns in lower case. CorruptFileError if it is no Avro file."""
    with _clear_errors(path):
        return list(_fields(fastavro.block_reader(source).writer_schema, path))


def spelled_otherwise(source: BinaryIO, path: str, columns: Sequence[Column]) -> Column | None:
    """The first column with a field of a struct that has other capital letters in the file."""
    with _clear_errors(path):
        writer: Any = fastavro.parse_schema(fastavro.block_reader(source).writer_schema)
    file, fields = _File.of({}, _named_types(writer), path), _fields(writer, path)
    there = [(c, fields[c.name][1]) for c in columns if c.name in fields]
    return next((c for c, schema in there if not _is_spelled_so(schema, c.type, file)), None)


def _is_spelled_so(schema: Schema, kind: ColumnType, file: _File) -> bool:
    """Whether the fields of structs that are there have the capital letters of the type."""
    schema = file.resolved(schema)
    if isinstance(schema, list):
        return all(_is_spelled_so(branch, kind, file) for branch in schema)
    name = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case ArrayType(element) if name == "array":
            return _is_spelled_so(schema["items"], element, file)
        case MapType(_, value) if name == "map":
            return _is_spelled_so(schema["values"], value, file)
        case StructType() if name == "record":
            found = _by_name(schema)
            there = [
                (n, t, *found[n.lower()]) for n, t in kind.spelled_fields if n.lower() in found
            ]
            return all(n == own and _is_spelled_so(inner, t, file) for n, t, own, inner in there)
        case _:
            return True


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
        if "need to install" in text:
            raise StorageError(f'file "{path}" cannot be read', detail=text) from error
        raise _corrupt(path, text) from error


def _named_types(schema: Schema) -> dict[str, Schema]:
    """The types of a parsed schema that have a name, by which others may mean them."""
    if isinstance(schema, list):
        parts = schema
    elif isinstance(schema, dict):
        parts = [f["type"] for f in schema.get("fields", ())]
        parts += [schema[key] for key in ("items", "values") if key in schema]
        parts += [schema["type"]] if isinstance(schema["type"], dict | list) else []
    else:
        return {}
    found = {schema["name"]: schema} if isinstance(schema, dict) and "name" in schema else {}
    for part in parts:
        found |= _named_types(part)
    return found


def _fields(schema: Schema, path: str) -> dict[str, tuple[str, Schema]]:
    """The columns of a file by their names in lower case: name and schema."""
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise CorruptFileError(f'file "{path}" has no records', detail=f"It has {_shown(schema)}.")
    return _by_name(schema)


def _by_name(record: Schema) -> dict[str, tuple[str, Schema]]:
    """The fields by their names in lower case. Of names that differ in case only, Hive's counts."""
    found: dict[str, tuple[str, Schema]] = {}
    for field in record["fields"]:
        name = field["name"]
        if name == name.lower() or name.lower() not in found:
            found[name.lower()] = (name, field["type"])
    return found


def _raw(schema: Schema) -> Schema:
    """The schema without logical types, whose values fastavro would convert."""
    if isinstance(schema, list):
        return [_raw(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k in _STRUCTURE}
    match schema["type"]:
        case "record":
            fields = [{"name": f["name"], "type": _raw(f["type"])} for f in schema["fields"]]
            return {**kept, "fields": fields}
        case "array":
            return {**kept, "items": _raw(schema["items"])}
        case "map":
            return {**kept, "values": _raw(schema["values"])}
        case "enum" | "fixed":
            return kept
        case other:
            return _raw(other)


@dataclass(frozen=True, slots=True)
class _File:
    """What a file says of its values: their calendar, their time zone, and its named types."""

    proleptic: str | None
    zone: str | None
    types: Mapping[str, Schema]
    path: str

    @classmethod
    def of(cls, metadata: Mapping[str, str], types: Mapping[str, Schema], path: str) -> _File:
        return cls(metadata.get(PROLEPTIC), metadata.get(TIME_ZONE), types, path)

    def resolved(self, schema: Schema) -> Schema:
        """The type itself, where only its name stands, or a dict without further words."""
        if isinstance(schema, dict) and len(schema) == 1:
            schema = schema["type"]
        return self.types.get(schema, schema) if isinstance(schema, str) else schema

    def day(self, value: int) -> int:
        if value >= SWITCH_DAY or self.proleptic == "true":
            return value
        if self.proleptic == "false":
            return int(proleptic_days(np.array([value]))[0])
        raise self._unknown("a date before 1582-10-15", "calendar")

    def time(self, value: int) -> int:
        """Hive moves a timestamp from the writer's time zone to UTC, and back (AvroSerializer)."""
        if not self.zone:
            raise self._unknown("a timestamp", "time zone")
        if not is_utc(self.zone):
            value = self._moved(value)
        day, rest = divmod(value, MILLISECONDS_PER_DAY)
        return (self.day(day) * MILLISECONDS_PER_DAY + rest) * 1000

    def _moved(self, value: int) -> int:
        if value < _FIRST_MOVED:
            raise self._unknown("a timestamp before 1900", "way of conversion")
        try:
            zone = known_zone(str(self.zone))
        except ValueError:
            raise self._unknown("a timestamp", f'time zone that is known ("{self.zone}")') from None
        try:
            offset = (_EPOCH + dt.timedelta(milliseconds=value)).astimezone(zone).utcoffset()
        except OverflowError:
            # West of Greenwich, the end of the year 9999 is an instant that Python does not know.
            seconds, rest = divmod(value, 1000)
            return int(clock_seconds(np.array([seconds]), str(self.zone))[0]) * 1000 + rest
        return value if offset is None else value + offset // dt.timedelta(milliseconds=1)

    def _unknown(self, what: str, of: str) -> InvalidValueError:
        return InvalidValueError(
            f'file "{self.path}" has {what}, and does not say in which {of}',
            hint="Let Hive write the rows into a table of ORC files.",
        )


def _column(
    column: Column, fields: Mapping[str, tuple[str, Schema]], file: _File
) -> Callable[[Any], Any]:
    """What takes the value of a column out of a record."""
    if column.name not in fields:
        return lambda row: None
    name, schema = fields[column.name]
    convert = _reading(schema, column.type, file)
    if convert is None:
        raise InvalidValueError(
            f'column "{column.name}" is {column.type}, and file "{file.path}" has {_shown(schema)}'
        )
    return lambda row: convert(row[name])


def _reading(schema: Schema, kind: ColumnType, file: _File) -> Convert | None:
    """What makes of a value of the file one of the type; None if the file's type does not fit."""
    schema = file.resolved(schema)
    branches = schema if isinstance(schema, list) else [schema]
    branches = [b for b in map(file.resolved, branches) if b != "null"]
    if not branches or kind == VOID:
        return lambda value: None
    found = _reading_value(branches[0], kind, file) if len(branches) == 1 else None
    if found is None:
        return None
    return lambda value: None if value is None else found(value)


def _reading_value(schema: Schema, kind: ColumnType, file: _File) -> Convert | None:
    name = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case ArrayType(element) if name == "array":
            item = _reading(schema["items"], element, file)
            return None if item is None else lambda values: [item(v) for v in values]
        case MapType(_, value) if name == "map":
            inner = _reading(schema["values"], value, file)
            if inner is None:
                return None
            return lambda pairs: [(key, inner(v)) for key, v in pairs.items()]
        case StructType() if name == "record":
            return _struct(schema, kind, file)
        case PrimitiveType() | CharType() | DecimalType():
            return _reading_simple(schema, name, kind, file)
        case _:
            return None


def _reading_simple(schema: Schema, name: str, kind: ColumnType, file: _File) -> Convert | None:
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    match kind, name:
        case PrimitiveType("string") | CharType(), "string" | "enum":
            return _text(kind)
        case PrimitiveType("date"), "int":
            return file.day if logical == "date" else None
        case PrimitiveType("timestamp"), "long":
            return file.time if logical == "timestamp-millis" else None
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


def _struct(schema: Schema, kind: StructType, file: _File) -> Convert | None:
    fields = _by_name(schema)
    members: list[tuple[str, str, Convert]] = []
    for name, inner in kind.fields:
        if name.lower() not in fields:
            continue  # null
        original, found = fields[name.lower()]
        convert = _reading(found, inner, file)
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
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
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


def _shown(schema: Schema) -> str:
    """The type of a schema, for messages."""
    if isinstance(schema, list):
        return " or ".join(_shown(branch) for branch in schema if branch != "null")
    if not isinstance(schema, dict):
        return str(schema)
    return str(schema.get("logicalType") or schema["type"])


def _same(value: Any) -> Any:
    return value
