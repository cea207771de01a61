"""Write ACID ORC files.

pyarrow writes the stripes. The event columns of new rows are added, and so are the keys that Hive
needs in the footer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.errors import ConfigError, StorageError
from acidsql.layout.arrow import Array
from acidsql.model.ids import WriteId
from acidsql.model.row_id import RowId
from acidsql.model.table import Column
from acidsql.orc.absent_rows import AbsentRows
from acidsql.orc.event_columns import DeleteColumns, EventColumns, deletes_schema
from acidsql.orc.footer import (
    ACID_VERSION,
    KEY_INDEX,
    NANOSECONDS,
    STATS,
    FileTail,
)
from acidsql.orc.keys import KeyTrack, Longs, RowIds, key_index, longs
from acidsql.orc.nulls import settled
from acidsql.orc.rewrite import Change
from acidsql.orc.schema import (
    DELETE,
    INSERT,
    KEY_COLUMNS,
    OPERATION,
    ROW,
    event_schema,
    file_schema,
)
from acidsql.orc.timestamps import MendedSink
from acidsql.orc.values import storable, storable_rows

ACID_FORMAT_VERSION = "2"
VERSION_FILE_CONTENT = b"2"
"""The contents of ``_orc_acid_version``: the format of Hive 3 and later, without a newline."""

CODECS: Mapping[str, Any] = {
    "none": "UNCOMPRESSED",
    "zlib": "ZLIB",
    "snappy": "SNAPPY",
    "lz4": "LZ4",
    "zstd": "ZSTD",
}

STRIPE_BYTES = 64 << 20
"""The size in bytes, before compression, at which a stripe ends: ORC's and Hive's default."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: how many inserts, deletes and stripes it has, and its size in bytes."""

    path: str
    inserts: int
    deletes: int
    stripes: int
    size: int

    @property
    def rows(self) -> int:
        """The number of all events."""
        return self.inserts + self.deletes


class Draft(Enum):
    """What pyarrow writes of a file."""

    EVENTS = "all six columns"
    ROWS = "rows alone, around which `EventColumns` puts the rest"
    DELETES = "row numbers and write ids of deletes, to which the other columns are added"
    OWN_DELETES = "row numbers of deletes that all have one write id"


class EventWriter:
    """Writes one ACID file to a local path, events in row id order.

    A context manager: leaving it closes the file, an error removes the file. A file takes either
    new rows (`write_inserts`), or deletes (`write_deletes`), or other events. Raises
    UnsortedEventsError for events out of order, InvalidValueError for values a column cannot hold,
    StorageError when the disk refuses.
    """

    def __init__(
        self,
        path: str,
        columns: Sequence[Column],
        compression: str = "snappy",
        *,
        stripe_bytes: int | None = None,
        after: RowId | None = None,
    ) -> None:
        """``after`` is the row id below all that will be written: that of the last row of the file
        to which this one will be appended.
        """
        codec = orc_codec(compression)
        self.path = path
        self.written: WrittenFile | None = None
        self._columns = tuple(columns)
        self._schema = event_schema(columns)
        self._track = KeyTrack(last=after)
        self._inserts = self._deletes = self._stripes = 0
        self._options = {"compression": codec, "stripe_size": stripe_bytes or STRIPE_BYTES}
        self._sink: MendedSink | None = None
        self._draft = Draft.EVENTS
        self._deleting: WriteId | None = None
        with self._naming("written"), open(path, "wb"):
            pass  # A disk that takes no file says so now.

    def write_inserts(self, rows: pa.RecordBatch, write_id: WriteId, bucket_property: int) -> None:
        """Write new rows. Row numbers go on from the last call, or from 0 for another write id."""
        count, last = rows.num_rows, self._track.last
        goes_on = last is not None and (last.write_id, last.bucket_property) == (
            write_id,
            bucket_property,
        )
        first = last.row_number + 1 if last is not None and goes_on else 0
        stored = [storable(rows.column(c.name), c) for c in self._columns]
        self._track.add_stretch(RowId(write_id, bucket_property, first), count)
        self._inserts += count
        if count:
            self._write(stored, Draft.ROWS)

    def write_deletes(self, row_ids: pa.RecordBatch, write_ids: WriteId | Longs) -> None:
        """Write a delete event for each row of originalTransaction, bucket and rowId.

        ``write_ids`` are those of the events: one for each, or one for all events of the file.
        """
        count, ids = row_ids.num_rows, RowIds.of(row_ids)
        absent = pa.nulls(count, pa.struct([]))
        self._track.add(ids)
        self._deletes += count
        if not count:
            return
        if isinstance(write_ids, np.ndarray):
            events = [pa.array(ids.row_numbers), pa.array(write_ids), absent]
            self._write(events, Draft.DELETES)
            return
        if self._deleting not in (None, write_ids):
            raise ValueError("a file takes deletes of one write id, or is told that of each")
        self._deleting = write_ids
        self._write([pa.array(ids.row_numbers), absent], Draft.OWN_DELETES)

    def write_events(self, events: pa.RecordBatch) -> None:
        """Write events with all six columns, which a compaction copies.

        ValueError for an insert without a row, or an operation that Hive does not write.
        """
        count = events.num_rows
        operations = longs(events.column(OPERATION))
        deletes = int(np.count_nonzero(operations == DELETE))
        inserts = int(np.count_nonzero(operations == INSERT))
        if inserts + deletes != count:
            raise ValueError("an event is neither an insert nor a delete")
        self._track.add(RowIds.of(events))
        self._inserts += inserts
        self._deletes += deletes
        keys = [events.column(n).cast(self._schema.field(n).type) for n in KEY_COLUMNS]
        self._write([*keys, self._event_rows(events.column(ROW), operations, deletes)])

    @property
    def last(self) -> RowId | None:
        """The row id of the last event written."""
        return self._track.last

    def close(self) -> WrittenFile:
        """Finish the file and give its size and counts. If that fails the file is removed."""
        if self.written is not None:
            return self.written
        try:
            with self._naming("finished"):
                self._opened(self._draft).finish(self._metadata)
                size = os.path.getsize(self.path)
        except BaseException:
            self.discard()
            raise
        counts = self._inserts, self._deletes, self._stripes, size
        self.written = WrittenFile(self.path, *counts)
        return self.written

    def discard(self) -> None:
        """Stop writing and remove the file."""
        with suppress(OSError, pa.ArrowException):
            if self._sink is not None:
                self._sink.close()
        with suppress(FileNotFoundError):
            os.remove(self.path)

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _event_rows(self, rows: Array, operations: NDArray[np.int64], deletes: int) -> Array:
        kind = self._schema.field(ROW).type
        if deletes == len(operations):
            return pa.nulls(deletes, kind)
        is_insert = operations == INSERT
        if rows.null_count and np.asarray(rows.is_null())[is_insert].any():
            raise ValueError("an insert event has no row")
        batch = pa.RecordBatch.from_arrays(rows.flatten(), names=[f.name for f in rows.type])
        if deletes == 0:
            return storable_rows(batch, self._columns)
        stored = storable_rows(batch.filter(pa.array(is_insert)), self._columns)
        return settled(stored.take(pa.array(np.cumsum(is_insert) - 1, mask=~is_insert)))

    def _metadata(self, tail: FileTail) -> Mapping[str, str]:
        assert tail.rows == self._inserts + self._deletes == self._track.rows
        self._stripes = len(tail.stripes)
        return acid_metadata(
            key_index(self._track, [stripe.rows for stripe in tail.stripes]),
            self._inserts,
            self._deletes,
            has_nanoseconds=self._sink is not None and self._sink.has_nanoseconds,
        )

    def _write(self, arrays: Sequence[Array], draft: Draft = Draft.EVENTS) -> None:
        with self._naming("written"):
            self._opened(draft).write(arrays)

    def _opened(self, draft: Draft) -> MendedSink:
        """The file, of which pyarrow writes this."""
        if self._sink is None:
            self._draft = draft
            schema, changes = self._written_first(draft)
            self._sink = MendedSink(self.path, schema, changes=changes, **self._options)
        if draft is not self._draft:
            raise ValueError("a file takes either new rows, or deletes, or other events")
        return self._sink

    def _written_first(self, draft: Draft) -> tuple[pa.Schema, Sequence[Change]]:
        """The schema of what pyarrow writes, and what makes the file of it."""
        match draft:
            case Draft.ROWS:
                return file_schema(self._columns), [EventColumns(self._track)]
            case Draft.DELETES | Draft.OWN_DELETES:
                codec = str(self._options["compression"])
                others = DeleteColumns(self._track, self._deleting)
                return deletes_schema(self._deleting), [others, AbsentRows(self._columns, codec)]
            case Draft.EVENTS:
                return self._schema, []

    @contextmanager
    def _naming(self, done: str) -> Iterator[None]:
        """Make an error of the disk or of pyarrow a StorageError that names the file."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            fact = f'file "{self.path}" cannot be {done}'
            raise StorageError(fact, detail=str(error)) from error


def orc_codec(name: str) -> Any:
    """Pyarrow's name of a codec. ConfigError for one that it does not have, such as Hive's lzo.

    >>> orc_codec("ZLIB")
    'ZLIB'
    """
    codec = CODECS.get(name.lower())
    if codec is None:
        raise ConfigError(
            f'ORC compression "{name}" is not supported',
            hint=f"Use one of {', '.join(CODECS)}.",
        )
    return codec


def acid_metadata(
    keys: str, inserts: int, deletes: int, *, has_nanoseconds: bool
) -> Mapping[str, str]:
    """The user metadata of an ACID file: its key index, its counts, and what acidsql adds."""
    metadata = {
        KEY_INDEX: keys,
        STATS: f"{inserts},0,{deletes}",
        ACID_VERSION: ACID_FORMAT_VERSION,
    }
    if has_nanoseconds:
        metadata[NANOSECONDS] = "true"
    return metadata
