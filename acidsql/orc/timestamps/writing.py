"""Write an ORC file whose timestamps pyarrow would write wrongly.

pyarrow writes whole seconds in place of such timestamps. The nanoseconds are put in when the file
is written again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

import pyarrow as pa

from acidsql.layout.arrow import Array
from acidsql.orc.exact import is_timestamp
from acidsql.orc.footer import FileTail, append_metadata, read_tail
from acidsql.orc.nested import has_leaf, map_leaves, renamed
from acidsql.orc.rewrite import Change, rewrite
from acidsql.orc.run_length import Unsigned
from acidsql.orc.sink import OrcSink
from acidsql.orc.timestamps.splice import Nanos, Splice
from acidsql.orc.timestamps.stored import is_fine, to_store

_DRAFT_BYTES = 16 << 20
"""The size in bytes from which on a draft is on the disk; that of a stripe if it is less."""


class MendedSink:
    """A new local ORC file. OSError, of any method, if the disk refuses it.

    ``schema`` has timestamps in microseconds, and the names of fields that the file gets, whatever
    they are in what is written. ``options`` are those of pyarrow's ORCWriter.
    pyarrow writes a draft if the file may have to be changed: ``changes`` are made to it in any
    case, and nanoseconds are put in where pyarrow lacks them.
    """

    def __init__(
        self, path: str, schema: pa.Schema, *, changes: Sequence[Change] = (), **options: Any
    ) -> None:
        self._path, self._schema = path, schema
        self._changes = changes
        self._nanos: list[Nanos] = []
        self._has_rows = False
        has_timestamps = any(has_leaf(field.type, is_timestamp) for field in schema)
        with ExitStack() as opened:
            self._file = opened.enter_context(open(path, "w+b"))
            self._draft: BinaryIO = self._file
            if self._changes or has_timestamps:
                size = min(_DRAFT_BYTES, options.get("stripe_size", _DRAFT_BYTES))
                self._draft = opened.enter_context(_draft(path, size))
            self._sink = OrcSink(self._draft, **options)
            self._opened = opened.pop_all()

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
        named = [renamed(a, f.type) for a, f in zip(arrays, self._schema, strict=True)]
        table = pa.Table.from_arrays(named, schema=self._schema)
        if table.num_rows:
            self._sink.write(table)
            self._has_rows = True
        self._nanos = self._nanos or [Nanos() for _ in withheld]
        for column, (count, nanos) in zip(self._nanos, withheld, strict=True):
            column.add(count, nanos)

    def finish(self, metadata: Callable[[FileTail], Mapping[str, str]]) -> None:
        """Close the file, with all changes made.

        ``metadata`` is asked for the user metadata. It sees a tail with the stripes and their rows.
        """
        if not self._has_rows:
            # Without this a file of no rows would have no columns either. In front of rows it would
            # cost as much time as ten thousand of them.
            self._sink.write(self._schema.empty_table())
        self._sink.close()
        with self._opened:
            if self._draft is not self._file:
                tail = read_tail(self._draft)
                changes = [self._splice(tail), *self._changes]
                rewrite([(self._draft, tail)], self._file, changes, metadata(tail))
                return
        tail = read_tail(self._path)
        append_metadata(self._path, tail, metadata(tail))

    def _splice(self, tail: FileTail) -> Splice:
        numbers = tail.timestamps if self._has_rows else ()
        columns = zip(numbers, self._nanos, strict=self._has_rows)
        return Splice({number: nanos for number, nanos in columns if nanos.parts})

    def close(self) -> None:
        """Close the file as it is, which is of use only to remove it. Idempotent.

        `finish` closes it, too.
        """
        with self._opened:
            self._sink.close()


def _draft(path: str, size: int) -> BinaryIO:
    """A file without a name: in memory, or from a size on in the directory of ``path``."""
    directory, name = os.path.split(path)
    draft = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - closed by MendedSink
        size, dir=directory or ".", prefix=f"{name}."
    )
    return cast("BinaryIO", draft)
