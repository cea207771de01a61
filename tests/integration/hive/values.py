"""One form for a value whoever printed it: Hive as JSON, or acidsql as Python."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from acidsql.model.types import (
    INTEGER_BITS,
    ArrayType,
    ColumnType,
    DecimalType,
    MapType,
    StructType,
)
from acidsql.model.value_text import cell_text, decimal_text


def canonical(value: Any, kind: ColumnType) -> Any:
    """A value that equals, and prints like, any other that means the same.

    >>> canonical("1.5", DecimalType(10, 2)) == canonical(Decimal("1.50"), DecimalType(10, 2))
    True
    """
    match value, kind:
        case None, _:
            return None
        case _, ArrayType(element):
            return tuple(canonical(v, element) for v in value)
        case _, StructType(fields):
            values = value.values() if isinstance(value, dict) else value
            return tuple(canonical(v, k) for v, (_, k) in zip(values, fields, strict=True))
        case _, MapType(key, item):
            entries = ((canonical(k, key), canonical(v, item)) for k, v in value.items())
            return tuple(sorted(entries, key=repr))
        case _:
            return _scalar(value, kind)


def _scalar(value: Any, kind: ColumnType) -> Any:
    name = "decimal" if isinstance(kind, DecimalType) else str(kind)
    match name:
        case "decimal":
            return decimal_text(Decimal(str(value)))
        case "float":
            return str(np.float32(value))
        case "double":
            return str(np.float64(value))
        case "binary":
            return value if isinstance(value, str) else cell_text(value)
        case "boolean":
            return value in (True, "true")
        case "timestamp with local time zone":  # Hive names the zone of its session
            return cell_text(value).removesuffix(" UTC")
    return int(value) if name in INTEGER_BITS else cell_text(value)
