"""What files of Avro can hold, and Hive's AvroSerDe writes into them (Hive TypeInfoToSchema)."""

from __future__ import annotations

import re

from acidsql.model.table import Column
from acidsql.model.types import ArrayType, ColumnType, MapType, PrimitiveType, StructType

PROLEPTIC = "writer.proleptic"
"""The key in a file's metadata that says whether days are those of the Gregorian calendar."""
TIME_ZONE = "writer.time.zone"
"""The key in a file's metadata that says in which zone its timestamps show what was written."""
MILLISECONDS_PER_DAY = 86_400_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFUSED = ("timestamp with local time zone",)


def avro_obstacle(column: Column) -> str | None:
    """Why files of Avro cannot hold the column, as a predicate; None if they can."""
    if _NAME.fullmatch(column.name) is None:
        return "has a name that Avro does not allow"
    return _obstacle(column.type)


def _obstacle(kind: ColumnType) -> str | None:
    match kind:
        case PrimitiveType(name) if name in _REFUSED:
            return f"is of type {name}, which is not supported in Avro files"
        case ArrayType(element):
            return _obstacle(element)
        case MapType(key, value):
            if key != PrimitiveType("string"):
                return "has a map whose keys are not of type string, which Avro does not allow"
            return _obstacle(value)
        case StructType(fields):
            if not all(_NAME.fullmatch(name) for name, _ in fields):
                return "has a field with a name that Avro does not allow"
            return next(filter(None, (_obstacle(inner) for _, inner in fields)), None)
        case _:
            return None
