"""Arrow schemas of ACID ORC files: five event columns and the struct ``row``.

The columns are those of Hive's OrcRecordUpdater.
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
    as_spelled,
)
from acidsql.orc.exact import EXACT

OPERATION = "operation"
ORIGINAL_TRANSACTION = "originalTransaction"
BUCKET = "bucket"
ROW_ID = "rowId"
CURRENT_TRANSACTION = "currentTransaction"
ROW = "row"

ROW_ID_COLUMNS = (ORIGINAL_TRANSACTION, BUCKET, ROW_ID)
"""The row id, most significant part first."""

KEY_COLUMNS = (OPERATION, *ROW_ID_COLUMNS, CURRENT_TRANSACTION)
"""The columns of an event without the row itself."""

EVENT_COLUMNS = (*KEY_COLUMNS, ROW)
"""All columns of an event, with ORC's names; elsewhere we say write id, bucket property, row
number."""

INSERT = 0
"""The operation of an event that inserts a row. Hive 3 and later never write 1, an update."""
DELETE = 2
"""The operation of an event that deletes a row; its ``row`` is null."""

TimestampForm = Literal["us", "exact"]
"""Microseconds, which reach every year of Hive's; or `orc.exact.EXACT`, which loses nothing."""

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
    "timestamp": pa.timestamp("us"),
    "timestamp with local time zone": pa.timestamp("us", tz="UTC"),
    "void": pa.bool_(),  # ORC has no such type: nulls of its smallest one stand for it
}

KEY_FIELDS = (
    pa.field(OPERATION, pa.int32()),
    pa.field(ORIGINAL_TRANSACTION, pa.int64()),
    pa.field(BUCKET, pa.int32()),
    pa.field(ROW_ID, pa.int64()),
    pa.field(CURRENT_TRANSACTION, pa.int64()),
)


def arrow_type(kind: ColumnType, timestamps: TimestampForm = "us") -> DataType:
    """The Arrow type whose ORC form Hive reads as this column type.

    A timestamp is wall-clock time without a zone. One with local time zone is an instant.

    >>> arrow_type(ArrayType(PrimitiveType("int")))
    ListType(list<element: int32>)
    """
    match kind:
        case PrimitiveType("timestamp" | "timestamp with local time zone") if timestamps == "exact":
            return EXACT
        case PrimitiveType(name):
            return _PRIMITIVES[name]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case CharType():
            return pa.string()
        case ArrayType(element):
            return pa.list_(pa.field("element", arrow_type(element, timestamps)))
        case MapType(key, value):
            return pa.map_(arrow_type(key, timestamps), arrow_type(value, timestamps))
        case StructType(fields):
            return pa.struct([(n, arrow_type(t, timestamps)) for n, t in fields])


def row_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of a table's rows, without partition columns."""
    return pa.schema([(c.name, arrow_type(c.type)) for c in columns])


def file_schema(columns: Sequence[Column]) -> pa.Schema:
    """The same as a file of ORC has it, with the names of fields by which Hive finds them."""
    return pa.schema([(c.name, arrow_type(as_spelled(c.type))) for c in columns])


def event_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of an ACID file of the table: six columns in Hive's order."""
    row = pa.field(ROW, pa.struct(list(file_schema(columns))))
    return pa.schema([*KEY_FIELDS, row])
