"""The keys of a MERGE's collected source as predicates, which prune the scan of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import INTEGER_BITS, DecimalType, PrimitiveType
from acidsql.plans.merge import KeyPair

_LISTED = 64
"""Up to so many different keys are listed for the scan, which then yields few rows but matches."""


def key_predicates(keys: Sequence[KeyPair], table: Table, rows: pa.Table) -> Iterator[Predicate]:
    """Predicates on the target: only rows with a source key can match.

    Many keys are told by the least and the greatest one.
    """
    names = {name.lower(): name for name in rows.column_names}
    for key in keys:
        column, name = table.column(key.target), names.get(key.source.lower())
        if column is None or name is None or not _bounded(column, rows.column(name).type):
            continue
        values = pc.unique(rows.column(name).drop_null())
        bounds = pc.min_max(values)
        try:
            few = values.to_pylist() if len(values) <= _LISTED else []
            low, high = bounds["min"].as_py(), bounds["max"].as_py()
        except (OverflowError, ValueError):
            continue  # a date beyond Python's years
        text = str if not isinstance(column.type, DecimalType) else (lambda v: f"{v:f}")
        if few:
            yield Predicate(column=column.name, operator="in", values=tuple(map(text, few)))
        elif low is not None:
            yield Predicate(column=column.name, operator=">=", values=(text(low),))
            yield Predicate(column=column.name, operator="<=", values=(text(high),))


def are_listed(keys: Sequence[KeyPair], predicates: Sequence[Predicate]) -> bool:
    """Whether ``predicates``, those of `key_predicates`, list the values of every key.

    One list is not enough: in a key of two columns, one may have the same few values everywhere.
    """
    listed = {p.column.lower() for p in predicates if p.operator == "in"}
    return bool(keys) and all(key.target.lower() in listed for key in keys)


def _bounded(column: Column, kind: pa.DataType) -> bool:
    """Whether target and source compare as the same kind of value, exactly."""
    match column.type:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return bool(pa.types.is_integer(kind))
        case PrimitiveType("date"):
            return bool(pa.types.is_date32(kind))
        case PrimitiveType("string"):
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        case DecimalType() if pa.types.is_decimal(kind):
            return column.type.is_exact_beside(kind.precision - kind.scale, kind.scale)
    return False
