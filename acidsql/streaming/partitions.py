"""The partition of each streamed row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.target import TABLE_ITSELF, partition_name
from acidsql.errors import AnalysisError, StreamingConnectionError
from acidsql.model.names import PartitionName
from acidsql.model.naming import refuse_partition
from acidsql.model.table import Column, Table
from acidsql.model.types import CharType, ColumnType
from acidsql.model.value_text import decimal_text, float_text, timestamp_text
from acidsql.planner.literals import canonical_text

_SCALARS = (str, Real, Decimal, date, np.generic)
_NAME_BYTES_MAX = 255
"""The bytes of a directory's name on local file systems and, unless configured, in HDFS."""


def static_partition(table: Table, values: Sequence[Any] | None) -> PartitionName | None:
    """The partition of the given values, one for each partition column; None without values.

    StreamingConnectionError if they do not fit the partition columns.
    """
    if values is None:
        return None
    columns = table.partition_columns
    if not columns:
        raise StreamingConnectionError(
            f"static partition values for table {table.name}, which is not partitioned"
        )
    if isinstance(values, str) or len(values) != len(columns):
        raise StreamingConnectionError(
            f"{len(values)} static partition values for {len(columns)} partition columns",
            detail=f"The partition columns are {', '.join(c.name for c in columns)}.",
            hint="Give a value for each. Without any, the last fields of each record are them.",
        )
    return PartitionName.of(
        [(c.name, _static_text(v, c)) for c, v in zip(columns, values, strict=True)]
    )


def _static_text(value: Any, column: Column) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes) or not isinstance(value, _SCALARS):
        raise StreamingConnectionError(
            f'static value for partition column "{column.name}": '
            f"it is of type {type(value).__name__}"
        )
    text = value if isinstance(value, str) else value_text(value, column.type)
    try:
        return canonical_text(text, column.type)
    except ValueError as error:
        raise StreamingConnectionError(
            f'static value for partition column "{column.name}": {error}'
        ) from None


def partition_codes(
    rows: pa.Table, table: Table, static: PartitionName | None
) -> tuple[NDArray[np.int64], list[str]]:
    """The index of each row's partition among the texts of the partitions that come with it."""
    count = rows.num_rows
    if static is not None or not table.partition_columns:
        return np.zeros(count, np.int64), [TABLE_ITSELF if static is None else str(static)]
    codes = np.zeros(count, np.int64)
    distinct: list[tuple[str | None, ...]] = [()]
    for column in table.partition_columns:
        encoded = rows.column(column.name).combine_chunks().dictionary_encode("encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        texts = [
            None if value is None else value_text(value, column.type)
            for value in encoded.dictionary.to_pylist()
        ]
        inner = np.asarray(encoded.indices, np.int64)
        both, codes = np.unique(codes * len(texts) + inner, return_inverse=True)
        distinct = [(*distinct[n // len(texts)], texts[n % len(texts)]) for n in both.tolist()]
    names = [c.name for c in table.partition_columns]
    found: dict[str, int] = {}
    # Two values may have one name: an empty text and NULL.
    known = [
        found.setdefault(str(PartitionName.of(list(zip(names, v, strict=True)))), len(found))
        for v in distinct
    ]
    return np.asarray(known, np.int64)[codes.reshape(-1)], list(found)


def fault_of_partition(name: PartitionName, *, has_directories: bool) -> str | None:
    """Why no row can be written into a partition of this name; None if it can.

    ``has_directories`` says that partitions lie in directories, not under prefixes.
    """
    try:
        refuse_partition(name)
    except AnalysisError as error:
        return (error.detail or error.message).rstrip(".")
    longest = max(len(part.encode()) for part in str(name).split("/"))
    if has_directories and longest > _NAME_BYTES_MAX:
        return f"The name of its directory has {longest} bytes, {_NAME_BYTES_MAX} are allowed"
    return None


def rows_without_partition(
    rows: pa.Table, table: Table, *, has_directories: bool
) -> dict[int, str]:
    """The rows whose partition cannot have a name, with the reason, by their positions."""
    codes, names = partition_codes(rows, table, None)
    faults: dict[int, str] = {}
    for code, text in enumerate(names):
        name = partition_name(text)
        if name is None:
            continue
        reason = fault_of_partition(name, has_directories=has_directories)
        if reason is not None:
            faults.update(dict.fromkeys(np.flatnonzero(codes == code).tolist(), reason))
    return faults


def value_text(value: Any, kind: ColumnType) -> str:
    """A value as Hive writes it into the name of a partition.

    >>> value_text(Decimal("1.50"), CharType("char", 2)), value_text(True, CharType("char", 4))
    ('1.5', 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case Decimal():
            return decimal_text(value)
        case float():
            return float_text(value)
        case datetime():
            return timestamp_text(value)
        case date():
            return value.isoformat()
        case _:
            text = str(value)
            is_char = isinstance(kind, CharType) and kind.name == "char"
            return text.rstrip(" ") if is_char else text
