"""The row index of a stripe: the statistics of each group of rows, by which readers skip groups.

A group has as many rows as the file's row index stride, except for the last one of a stripe (ORC
specification, Row Group Index).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from acidsql.orc.damage import naming
from acidsql.orc.footer import FileTail, read_section
from acidsql.orc.protobuf import as_bytes, fields
from acidsql.orc.statistics import ColumnStatistics, column_statistics
from acidsql.orc.stripe import INDEX_ENTRY, INDEX_STATISTICS, ROW_INDEX, read_stripe_footer


def group_statistics(
    source: BinaryIO, tail: FileTail, number: int, path: str = ""
) -> list[Sequence[ColumnStatistics] | None]:
    """By column number, the statistics of each group of a stripe; None for a column without index.

    CorruptFileError if they cannot be read.
    """
    with naming(path, "has an unreadable row index"):
        footer = read_stripe_footer(source, tail, tail.stripes[number])
        found: list[Sequence[ColumnStatistics] | None] = [None] * len(tail.types)
        for stream in footer.streams:
            if stream.kind == ROW_INDEX:
                message = read_section(source, tail, stream.offset, stream.length)
                found[stream.column] = _groups(message)
        return found


def _groups(index: bytes) -> Sequence[ColumnStatistics]:
    entries = [as_bytes(entry) for n, entry in fields(index) if n == INDEX_ENTRY]
    return [column_statistics(_statistics_in(entry)) for entry in entries]


def _statistics_in(entry: bytes) -> bytes:
    return b"".join(as_bytes(value) for n, value in fields(entry) if n == INDEX_STATISTICS)
