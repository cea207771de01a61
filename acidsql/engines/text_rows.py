r"""Rows as lines of text, as Hive's LazySimpleSerDe writes them: ``\N`` for null, no quotes."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.model.table import Column
from acidsql.model.types import PrimitiveType

NULL = "\\N"
"""serialization.null.format of LazySimpleSerDe."""

_MARK = "\ufeff"
"""Hadoop's LineRecordReader passes over it where a file begins."""


def encode_lines(table: pa.Table, columns: Sequence[Column], delimiter: str) -> bytes:
    """The rows as lines. InvalidValueError for a value that would be read back as another one."""
    if not table.num_rows:
        return b""
    fields = [_field(table.column(c.name).combine_chunks(), c, delimiter) for c in columns]
    if pc.any(pc.starts_with(fields[0], _MARK)).as_py():
        raise InvalidValueError(
            f'column "{columns[0].name}" has a value that a line of text cannot hold',
            detail="It begins with a byte order mark (U+FEFF), which readers of a file pass over.",
            hint="Store the table as ORC or PARQUET.",
        )
    lines = pc.binary_join_element_wise(*fields, pa.scalar(delimiter, pa.string()))
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _field(array: Array, column: Column, delimiter: str) -> Array:
    texts = _texts(array, column)
    bad = pc.match_substring_regex(texts, f"[\\r\\n\\x{ord(delimiter):02x}]")
    if pc.any(pc.or_kleene(bad, pc.equal(texts, pa.scalar(NULL, pa.string())))).as_py():
        raise InvalidValueError(
            f'column "{column.name}" has a value that a line of text cannot hold',
            detail="It has a line break or the field delimiter in it, or is \\N, the sign of null.",
            hint="Store the table as ORC or PARQUET.",
        )
    return pc.fill_null(texts, NULL)


def _texts(array: Array, column: Column) -> Array:
    match column.type:
        case PrimitiveType("binary"):
            values = [None if v is None else _base64(v) for v in array.to_pylist()]
            return pa.array(values, pa.string())
        case PrimitiveType("timestamp"):
            return _clock_texts(array)
        case PrimitiveType("timestamp with local time zone"):
            utc = pc.cast(pc.cast(array, pa.timestamp("us", tz="UTC")), pa.timestamp("us"))
            return pc.binary_join_element_wise(_clock_texts(utc), "UTC", " ")
        case PrimitiveType("float" | "double"):
            values = [None if v is None else _number(v) for v in array.to_pylist()]
            return pa.array(values, pa.string())
        case _:
            return pc.cast(array, pa.string())


def _clock_texts(times: Array) -> Array:
    """What a clock shows, without zeros at the end of the fraction."""
    return pc.replace_substring_regex(pc.cast(times, pa.string()), r"\.?0*$", "")


def _number(value: float) -> str:
    words = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    return words.get(repr(value), repr(value))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
