"""One form for a value whoever printed it: Hive as JSON, or acidsql as Python."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from acidsql.model.types import (
    ArrayType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.model.value_text import cell_text


def canonical(value: Any, kind: ColumnType) -> Any:
    """A value that equals, and prints like, any other that means the same.

    >>> from acidsql.model.types import parse_type
    >>> canonical("1.5", parse_type("decimal(10,2)")) == canonical(Decimal("1.50"), DecimalType(10, 2))
    True
    """
    if value is None:
        return None
    match kind:
        case ArrayType(element):
            return tuple(canonical(v, element) for v in value)
        case StructType(fields):
            values = value.values() if isinstance(value, dict) else value
            return tuple(canonical(v, k) for v, (_, k) in zip(values, fields, strict=True))
        case MapType(key, item):
            entries = ((canonical(k, key), canonical(v, item)) for k, v in value.items())
            return tuple(sorted(entries, key=repr))
        case DecimalType():
            return str(Decimal(str(value)).normalize())
        case PrimitiveType("float"):
            return str(np.float32(value))
        case PrimitiveType("double"):
            return str(np.float64(value))
        case PrimitiveType("binary"):
            return value if isinstance(value, str) else bytes(value).hex()
        case PrimitiveType("boolean"):
            return value in (True, "true")
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint"):
            return int(value)
        case _:
            return cell_text(value)
