"""The keys of a micro-batch's rows, as the table will hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from acidsql.model.names import DEFAULT_PARTITION_VALUE, TableName, quoted_table
from acidsql.model.types import (
    VOID,
    CharType,
    ColumnType,
    DecimalType,
    PrimitiveType,
    parse_type,
)
from acidsql.session.session import Session


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a table that a key may be: its type, and whether its values name partitions."""

    type: ColumnType
    names_partition: bool = False


def key_columns(session: Session, table: TableName) -> Mapping[str, KeyColumn]:
    """The columns of the table by their names."""
    described = iter(session.execute(f"DESCRIBE {quoted_table(table)}").fetchall())
    types = {name: parse_type(kind) for name, kind, _ in _section(described)}
    names = {name for name, _, _ in _section(described)[2:]}  # under two headings
    return {name: KeyColumn(kind, name in names) for name, kind in types.items()}


def _section(described: Iterator[Sequence[str]]) -> list[Sequence[str]]:
    return list(takewhile(lambda line: line[0], described))


def held(value: str, column: KeyColumn) -> str:
    """SQL of what a column will hold of a value: two values may become the same.

    A text that is too long stays as it is, for the MERGE to refuse.

    >>> held("`id`", KeyColumn(PrimitiveType("int")))
    'CAST(`id` AS int)'
    """
    fitted = _fitted(value, column.type)
    is_text = isinstance(column.type, CharType) or column.type == PrimitiveType("string")
    if not (column.names_partition and is_text):
        return fitted
    # No directory has the name of these texts: both are in the partition of NULL.
    return f"nullif(nullif({fitted}, ''), '{DEFAULT_PARTITION_VALUE}')"


def _fitted(value: str, kind: ColumnType) -> str:
    match kind:
        case CharType(name, length):
            text = f"CAST({value} AS string)"
            fitted = f"rpad({text}, {length}, ' ')" if name == "char" else f"left({text}, {length})"
            return f"if(char_length(rtrim({text})) > {length}, {text}, {fitted})"
        case PrimitiveType("timestamp"):
            return f"CAST({value} AS timestamp_ntz)"
        case PrimitiveType() | DecimalType() if kind != VOID:
            return f"CAST({value} AS {kind})"
    return value
