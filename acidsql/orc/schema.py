"""Arrow schemas of ACID ORC files: five event columns and the struct ``row``.

As Hive's OrcRecordUpdater has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from acidsql.layout.arrow import DataType
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

OPERATION = "operation"
ORIGINAL_TRANSACTION = "originalTransaction"
BUCKET = "bucket"
ROW_ID = "rowId"
CURRENT_TRANSACTION = "currentTransaction"
ROW = "row"

ROW_ID_COLUMNS = (ORIGINAL_TRANSACTION, BUCKET, ROW_ID)
"""The row id, most significant part first."""

KEY_COLUMNS = (OPERATION, *ROW_ID_COLUMNS, CURRENT_TRANSACTION)
"""Everything of an event but the row itself."""

EVENT_COLUMNS = (*KEY_COLUMNS, ROW)
"""In files the names keep ORC's spelling; elsewhere: write id, bucket property, row number."""

INSERT = 0
"""An event that brings a row. Hive 3 and later never write 1, update in place."""
DELETE = 2
"""An event that takes a row away; its ``row`` is null."""

TimestampUnit = Literal["us", "ns"]

_PRIMITIVES: dict[str, DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
}

KEY_FIELDS = (
    pa.field(OPERATION, pa.int32()),
    pa.field(ORIGINAL_TRANSACTION, pa.int64()),
    pa.field(BUCKET, pa.int32()),
    pa.field(ROW_ID, pa.int64()),
    pa.field(CURRENT_TRANSACTION, pa.int64()),
)


def arrow_type(kind: ColumnType, timestamp_unit: TimestampUnit = "us") -> DataType:
    """The Arrow type whose ORC form Hive reads as this column type.

    Timestamps are wall-clock time without a zone. Microseconds reach every year Hive has;
    nanoseconds lose no fraction, and are what pyarrow reads.

    >>> arrow_type(ArrayType(PrimitiveType("int")))
    ListType(list<element: int32>)
    """
    match kind:
        case PrimitiveType("timestamp"):
            return pa.timestamp(timestamp_unit)
        case PrimitiveType(name):
            return _PRIMITIVES[name]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case CharType():
            return pa.string()
        case ArrayType(element):
            return pa.list_(pa.field("element", arrow_type(element, timestamp_unit)))
        case MapType(key, value):
            return pa.map_(arrow_type(key, timestamp_unit), arrow_type(value, timestamp_unit))
        case StructType(fields):
            return pa.struct([(n, arrow_type(t, timestamp_unit)) for n, t in fields])


def row_schema(columns: Sequence[Column], timestamp_unit: TimestampUnit = "us") -> pa.Schema:
    """The Arrow schema of a table's rows, without partition columns."""
    return pa.schema([(c.name, arrow_type(c.type, timestamp_unit)) for c in columns])


def event_schema(columns: Sequence[Column], timestamp_unit: TimestampUnit = "us") -> pa.Schema:
    """The Arrow schema of an ACID file of the table: six columns in Hive's order."""
    row = pa.field(ROW, pa.struct(list(row_schema(columns, timestamp_unit))))
    return pa.schema([*KEY_FIELDS, row])
