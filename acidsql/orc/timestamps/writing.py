"""Write an ORC file whose timestamps pyarrow would write wrongly.

pyarrow writes whole seconds in place of such timestamps. The nanoseconds are put into the file once
it is finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from acidsql.layout.arrow import Array
from acidsql.orc.exact import is_timestamp
from acidsql.orc.footer import FileTail, read_tail
from acidsql.orc.nested import map_leaves
from acidsql.orc.sink import OrcSink
from acidsql.orc.timestamps.run_length import Unsigned
from acidsql.orc.timestamps.splice import Nanos, splice
from acidsql.orc.timestamps.stored import is_fine, to_store


class MendedSink:
    """A new local ORC file. OSError, of any method, if the disk refuses it.

    ``schema`` has timestamps in microseconds, ``options`` are those of pyarrow's ORCWriter.
    """

    def __init__(self, path: str, schema: pa.Schema, **options: Any) -> None:
        self._path, self._schema = path, schema
        self._nanos: list[Nanos] = []
        self._sink = OrcSink(path, **options)
        self._has_rows = False

    @property
    def has_nanoseconds(self) -> bool:
        """Whether any timestamp written so far is finer than microseconds."""
        return any(is_fine(part) for nanos in self._nanos for _, part in nanos.parts)

    def write(self, columns: Sequence[Array]) -> None:
        """Write rows, column by column. Timestamps are in microseconds or EXACT."""
        withheld: list[tuple[int, Unsigned | None]] = []

        def change(leaf: Array) -> Array:
            stored, nanos = to_store(leaf)
            withheld.append((len(leaf) - leaf.null_count, nanos))
            return stored

        arrays = [map_leaves(column, is_timestamp, change) for column in columns]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        if table.num_rows:
            self._sink.write(table)
            self._has_rows = True
        self._nanos = self._nanos or [Nanos() for _ in withheld]
        for column, (count, nanos) in zip(self._nanos, withheld, strict=True):
            column.add(count, nanos)

    def finish(self) -> FileTail:
        """Close the file, put the nanoseconds in, and give the file's tail."""
        if not self._has_rows:
            # Without this a file of no rows would have no columns either. In front of rows it would
            # cost as much time as ten thousand of them.
            self._sink.write(self._schema.empty_table())
        self.close()
        tail = read_tail(self._path)
        if not any(nanos.parts for nanos in self._nanos):
            return tail
        splice(self._path, tail, dict(zip(tail.timestamps, self._nanos, strict=True)))
        return read_tail(self._path)

    def close(self) -> None:
        """Close the file as pyarrow has written it, which is of use only to remove it. Idempotent.

        `finish` closes it, too.
        """
        self._sink.close()
