"""Delimited text → columns of texts, split by Arrow: four times as fast as in Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from acidsql.layout.arrow import Array
from acidsql.streaming.values import NULL_TEXT

_LEAST_BYTES = 2000
"""Less text is split sooner in Python."""
_MOST_BYTES = 1 << 30
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def split_fields(lines: bytes, delimiter: str, columns: int) -> list[Array] | None:
    r"""The fields of lines that end with "\n", column by column; \N is null.

    None where Arrow's reader of CSV, which is made for more than this, might see other lines or
    fields, or finds a line with another number of fields. Then they are to be split in Python.

    >>> [f.to_pylist() for f in split_fields(b"1,a\n2,\\N\n" * 1000, ",", 2)][1][:2]
    ['a', None]
    """
    if not _LEAST_BYTES <= len(lines) <= _MOST_BYTES or not delimiter.isascii():
        return None
    # To Arrow a carriage return ends a line, too, and a byte order mark is no text.
    if b"\r" in lines or lines.startswith(_BYTE_ORDER_MARK):
        return None
    if columns > 1 and (b"\n\n" in lines or lines.startswith(b"\n")):
        return None  # Arrow makes an empty line a row of as many fields as there are columns
    names = [str(number) for number in range(columns)]
    source: Any = pa.BufferReader(lines)
    try:
        table = pa_csv.read_csv(
            source,
            pa_csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=names),
            pa_csv.ParseOptions(
                delimiter=delimiter,
                quote_char=False,
                double_quote=False,
                escape_char=False,
                newlines_in_values=False,
                ignore_empty_lines=False,
            ),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[NULL_TEXT],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    if table.num_rows != lines.count(b"\n") + (not lines.endswith(b"\n")):
        return None
    return [column.combine_chunks() for column in table.columns]
