"""The columns of a table's rows in a file of delete events, which has no rows.

Such a file has the columns nevertheless: in each event, ``row`` is null. pyarrow takes longer over
them than over the row ids, and the longer the more columns a table has. So it writes ``row``
without columns. Then the columns are added as pyarrow itself would write them. All streams of a
column without values are empty, and its index says the same of each group of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import BinaryIO

import pyarrow as pa

from acidsql.model.table import Column
from acidsql.orc.footer import FOOTER_TYPE, FileTail, compressed_section, read_section, read_tail
from acidsql.orc.new_tail import stripe_statistics
from acidsql.orc.protobuf import as_bytes, fields
from acidsql.orc.rewrite import Change, NewStream, StripeParts
from acidsql.orc.schema import DELETE, EVENT_COLUMNS, KEY_COLUMNS, ROW, event_schema
from acidsql.orc.sink import OrcSink
from acidsql.orc.stripe import INDEX_ENTRY, ROW_INDEX, is_index, read_stripe_footer

_FIRST = len(EVENT_COLUMNS) + 1
"""The number of the first column of ``row``. The root has 0."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a stripe has of the columns: messages, and streams of one group of rows."""

    types: tuple[bytes, ...]
    encodings: tuple[bytes, ...]
    statistics: tuple[bytes, ...]
    index: Mapping[int, bytes]
    data: tuple[NewStream, ...]


class AbsentRows(Change):
    """Adds the columns of a table to a file of delete events whose ``row`` has no columns yet."""

    def __init__(self, columns: Sequence[Column], codec: str) -> None:
        """``codec`` is the compression of the file, by pyarrow's name."""
        self._columns = _columns(event_schema(columns), codec)

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        ours, groups = self._columns, -(-parts.rows // tail.row_index_stride)
        index = [
            NewStream(ROW_INDEX, column, compressed_section(entry * groups, tail))
            for column, entry in ours.index.items()
        ]
        # The index stands before the data. Apart from that the streams stay in their order.
        streams = sorted([*parts.streams, *index, *ours.data], key=lambda s: not is_index(s.kind))
        return StripeParts(
            parts.rows,
            tuple(streams),
            (*parts.encodings, *ours.encodings),
            (*parts.statistics, *ours.statistics),
            parts.others,
        )

    def types(self, types: Sequence[bytes]) -> Sequence[bytes]:
        return self._columns.types


@lru_cache(64)
def _columns(schema: pa.Schema, codec: str) -> _Columns:
    """What pyarrow writes for the columns in a file of one delete event."""
    file = BytesIO()
    sink = OrcSink(file, compression=codec)
    event = {name: [DELETE] for name in KEY_COLUMNS}
    sink.write(pa.table({**event, ROW: pa.nulls(1, schema.field(ROW).type)}, schema=schema))
    sink.close()
    tail = read_tail(file)
    [stripe], [statistics] = tail.stripes, stripe_statistics(file, tail)
    footer = read_stripe_footer(file, tail, stripe)
    of_rows = [stream for stream in footer.streams if stream.column >= _FIRST]
    index, data = {}, []
    for stream in of_rows:
        if stream.kind == ROW_INDEX:
            index[stream.column] = read_section(file, tail, stream.offset, stream.length)
        else:
            assert not stream.length, "a column without values has empty streams"
            data.append(NewStream(stream.kind, stream.column, b""))
    assert all(n == INDEX_ENTRY for message in index.values() for n, _ in fields(message))
    return _Columns(
        tuple(as_bytes(value) for n, value in fields(tail.footer) if n == FOOTER_TYPE),
        footer.encodings[_FIRST:],
        tuple(statistics[_FIRST:]),
        index,
        tuple(data),
    )
