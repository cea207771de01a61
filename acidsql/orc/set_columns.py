"""One ACID file of new versions of rows, some of whose columns an UPDATE sets.

Where all rows of a stripe have new versions, the streams of the other columns are copied as they
are compressed, so nobody decodes or encodes them. The columns that are set are encoded by pyarrow,
and the event columns are new. Rows of other stripes are decoded and written again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from typing import BinaryIO

import pyarrow as pa

from acidsql.errors import CorruptFileError, StorageError
from acidsql.layout.arrow import Array
from acidsql.model.row_id import RowId
from acidsql.model.table import Column
from acidsql.orc.damage import open_local
from acidsql.orc.event_columns import EventStreams, event_streams
from acidsql.orc.evolution import current_rows
from acidsql.orc.footer import NANOSECONDS, PROLEPTIC, FileTail, read_bytes, read_tail
from acidsql.orc.keys import Flags, KeyTrack, RowIds, key_index
from acidsql.orc.merge_rows import BATCH_ROWS
from acidsql.orc.new_tail import stripe_statistics
from acidsql.orc.reader import OrcInput, Source, open_orc, opened_source
from acidsql.orc.rewrite import Change, NewStream, RewrittenFile, StripeParts
from acidsql.orc.schema import EVENT_COLUMNS, ROW, ROW_ID_COLUMNS, arrow_type, event_schema
from acidsql.orc.sink import OrcSink
from acidsql.orc.statistics import file_statistics
from acidsql.orc.stripe import PRESENT, is_index, read_stripe_footer
from acidsql.orc.stripe_copy import Form
from acidsql.orc.types import file_columns
from acidsql.orc.values import has_stored_lengths
from acidsql.orc.writer import EventWriter, WrittenFile, acid_metadata, orc_codec

NewValues = Callable[[RowIds], tuple[Flags, pa.Table]]
"""Which of these rows have new versions, and the values of the columns that are set in them."""

_ROW = len(EVENT_COLUMNS)
"""The number of the column ``row``. Those of the table follow."""

_ONE_STRIPE = 1 << 60
"""More bytes than any stripe has."""

SMALL_BYTES = 1 << 20
"""The rows of a stripe of fewer bytes are written again, together with others."""


def can_set_columns(tails: Sequence[FileTail], columns: Sequence[Column], codec: str) -> bool:
    """Whether files of events have the form in which acidsql would write them today.

    Their columns, types and names, and their compression are those of the table. They may lack its
    last columns, which were added later. ConfigError for a codec that acidsql does not have.
    """
    return all(_has_form(tail, tuple(columns), codec) for tail in tails)


def _has_form(tail: FileTail, columns: tuple[Column, ...], codec: str) -> bool:
    if not tail.is_acid or not 0 < _count(tail) <= len(columns):
        return False
    model = _model(event_schema(columns[: _count(tail)]), codec)
    form, wanted = Form.of(tail), Form.of(model)
    assert wanted is not None
    return (
        form is not None
        and form.postscript == wanted.postscript
        and tail.types == model.types
        and tail.calendar == PROLEPTIC
        and (tail.writer, tail.row_index_stride) == (model.writer, model.row_index_stride)
    )


def values_of(tail: FileTail, name: str) -> int:
    """How many rows of a file of events have a value in a column; 0 if it lacks the column."""
    row = tail.types[_ROW]
    numbers = dict(zip(row.names, row.children, strict=True))
    return file_statistics(tail)[numbers[name]].values if name in numbers else 0


def _count(tail: FileTail) -> int:
    """The number of the columns of the rows of a file."""
    return len(tail.types[_ROW].children)


@dataclass(frozen=True, slots=True)
class NewVersions:
    """Where the new versions of rows go: a local path, and the row id of the first of them.

    ``columns`` and ``codec`` are those of the table. ``values`` is asked for the new values of each
    stripe. Columns that are set have primitive types, without timestamps. ``texts`` are columns of
    char(n) and varchar(n) that are copied, and may have had other types: files do not say a length.
    """

    path: str
    first: RowId
    columns: tuple[Column, ...]
    codec: str
    values: NewValues
    texts: tuple[Column, ...] = ()


def set_columns(files: Sequence[tuple[Source, str]], new: NewVersions) -> WrittenFile:
    """Write a file of the new versions of all rows of these files that have one, in their order.

    `can_set_columns` is true of the files. Each has a path that names it in errors.

    StorageError if the disk refuses, CorruptFileError if a file is not whole. No file stays after
    an error.
    """
    with _naming(files, new.path), open(new.path, "wb") as target, _writer(target, new) as writer:
        for source, name in files:
            with opened_source(source, name) as stream, open_orc(stream, name, exact=True) as each:
                writer.add(stream, each)
        writer.finish()
    return WrittenFile(
        new.path, writer.track.rows, 0, len(writer.stripes), os.path.getsize(new.path)
    )


@contextmanager
def _naming(files: Sequence[tuple[Source, str]], path: str) -> Iterator[None]:
    """Make errors of the disk and of the stripes errors with names. Then the file is removed."""
    try:
        yield
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.remove(path)
        if isinstance(error, OSError):
            fact = f'file "{path}" cannot be written'
            raise StorageError(fact, detail=str(error)) from error
        if isinstance(error, ValueError):  # of the stripes: tails and disk have errors of their own
            named = ", ".join(name for _, name in files)
            raise CorruptFileError(
                "a file whose columns are copied is damaged",
                detail=f"{error}. The files are {named}.",
            ) from error
        raise


@contextmanager
def _writer(target: BinaryIO, new: NewVersions) -> Iterator[_Writer]:
    writer = _Writer(target, new)
    try:
        yield writer
    finally:
        writer.draft.discard()


class _Writer:
    """Writes the stripes of one file.

    ``track`` has the row ids that are written, and ``stripes`` the numbers of their rows. ``draft``
    has rows that are written again.
    """

    def __init__(self, target: BinaryIO, new: NewVersions) -> None:
        self._new = new
        self._model = _model(event_schema(new.columns), new.codec)
        self._file = RewrittenFile(target, self._model)
        self.draft = _Draft(new)
        self._fine = False
        self.track = KeyTrack()
        self.stripes: list[int] = []

    def add(self, source: BinaryIO, opened: OrcInput) -> None:
        """Write the new versions of the rows of a file."""
        tail = opened.tail
        every = stripe_statistics(source, tail)
        for number, (stripe, statistics) in enumerate(zip(tail.stripes, every, strict=True)):
            row_ids = RowIds.of(opened.stripe(number, ROW_ID_COLUMNS))
            there, values = self._new.values(row_ids)
            assert values.num_rows == there.sum(), "each new version has values"
            values = _with_nulls(values, self._new.columns[_count(tail) :])
            is_whole = there.all() and stripe.length >= SMALL_BYTES
            if is_whole and self._has_texts_of_today(opened, number):
                self._finish_draft()
                self._fine |= NANOSECONDS in tail.metadata
                start = self._grow(stripe.rows)
                events = event_streams(self.track, start, self.track.rows, tail)
                change = _SetColumns(events, _encoded(values, self._model, self._new.codec))
                self._file.add(source, tail, stripe, statistics, [change])
            elif there.any():
                self.draft.add(opened, number, there, values, self.track.rows)

    def _has_texts_of_today(self, opened: OrcInput, number: int) -> bool:
        """Whether texts that may have had other types are stored as their types say now."""
        there = opened.tail.types[_ROW].names
        texts = [c for c in self._new.texts if c.name in there]
        if not texts:
            return True
        batch = opened.unverified_stripe(number, [f"{ROW}.{c.name}" for c in texts])
        rows: Array = batch.column(ROW)
        return all(has_stored_lengths(rows.field(c.name), c.type) for c in texts)

    def finish(self) -> None:
        """Write the tail."""
        self._finish_draft()
        keys = key_index(self.track, self.stripes)
        rows = self.track.rows
        self._file.finish(acid_metadata(keys, rows, 0, has_nanoseconds=self._fine))

    def _finish_draft(self) -> None:
        """Copy the stripes of rows that were written again, if there are any."""
        with self.draft.finished() as path:
            if path is None:
                return
            with open_local(path, path) as source:
                tail = read_tail(source, path)
                self._fine |= NANOSECONDS in tail.metadata
                every = stripe_statistics(source, tail)
                for stripe, statistics in zip(tail.stripes, every, strict=True):
                    self._grow(stripe.rows)
                    self._file.add(source, tail, stripe, statistics)

    def _grow(self, rows: int) -> int:
        """Note a stripe of so many rows. The number of rows before it."""
        start = self.track.rows
        first = self._new.first
        self.track.add_stretch(replace(first, row_number=first.row_number + start), rows)
        self.stripes.append(rows)
        return start


class _Draft:
    """Rows that are decoded and written again, in a file beside the new one."""

    def __init__(self, new: NewVersions) -> None:
        self._new = new
        self._path = f"{new.path}.draft"
        self._writer: EventWriter | None = None

    def add(
        self, opened: OrcInput, number: int, there: Flags, values: pa.Table, before: int
    ) -> None:
        """Write the new versions of those rows of a stripe that are ``there``.

        The file that is written has so many rows ``before`` those of this draft.
        """
        if self._writer is None:
            last = replace(self._new.first, row_number=self._new.first.row_number + before - 1)
            new = self._new
            self._writer = EventWriter(self._path, new.columns, new.codec, after=last)
        start = used = 0
        found, columns = file_columns(opened.tail, opened.path), self._new.columns
        for batch in opened.batches(number, BATCH_ROWS):
            some = there[start : start + batch.num_rows]
            start += batch.num_rows
            old = batch.column(ROW).filter(pa.array(some))
            # The types are those of the table, but for lengths of texts.
            now = current_rows(old, found, columns[: len(found)], opened.path)
            rows = pa.RecordBatch.from_arrays(now.flatten(), names=[f.name for f in now.type])
            changed = values.slice(used, rows.num_rows)
            used += rows.num_rows
            for name in values.schema.names:
                column = changed.column(name).combine_chunks()
                at = rows.schema.get_field_index(name)
                if at < 0:
                    rows = rows.append_column(name, column)
                else:
                    rows = rows.set_column(at, name, column)
            first = self._new.first
            self._writer.write_inserts(rows, first.write_id, first.bucket_property)

    @contextmanager
    def finished(self) -> Iterator[str | None]:
        """The path of the finished file, which is gone afterwards; None if there are no rows."""
        if self._writer is None:
            yield None
            return
        try:
            self._writer.close()
            yield self._path
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the file. Idempotent."""
        if self._writer is not None:
            self._writer.discard()
            self._writer = None


@dataclass(frozen=True, slots=True)
class _Column:
    """What one stripe has of a column that is set. The streams have no number of a column yet."""

    streams: tuple[NewStream, ...]
    encoding: bytes
    statistics: bytes


class _SetColumns(Change):
    """Replaces the event columns of a stripe, and columns that are set, by their numbers.

    Those that the stripe lacks are added.
    """

    def __init__(self, events: EventStreams, columns: Mapping[int, _Column]) -> None:
        self._events = events
        self._columns = columns

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        if any(s.kind == PRESENT and s.column == _ROW for s in parts.streams):
            raise ValueError("an event has no row")
        events, columns = self._events, self._columns
        kept = [s for s in parts.streams if s.column not in columns and not 0 < s.column < _ROW]
        ours = [s.of_column(n) for n, column in columns.items() for s in column.streams]
        # The index stands before the data. Apart from that, columns that are copied stay in order.
        streams = sorted([*events.streams, *kept, *ours], key=lambda s: not is_index(s.kind))
        encodings = [parts.encodings[0], *events.encodings, *parts.encodings[_ROW:]]
        statistics = [parts.statistics[0], *events.statistics, *parts.statistics[_ROW:]]
        for number, column in sorted(columns.items()):
            encodings[number : number + 1] = [column.encoding]
            statistics[number : number + 1] = [column.statistics]
        return StripeParts(
            parts.rows, tuple(streams), tuple(encodings), tuple(statistics), parts.others
        )


def _with_nulls(values: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The values, with NULL in those of the columns that are not set."""
    for column in columns:
        if column.name not in values.schema.names:
            nulls = pa.nulls(values.num_rows, arrow_type(column.type))
            values = values.append_column(column.name, nulls)
    return values


def _encoded(values: pa.Table, model: FileTail, codec: str) -> dict[int, _Column]:
    """The columns as pyarrow encodes them in one stripe, by the numbers that the model has."""
    file = BytesIO()
    sink = OrcSink(file, compression=orc_codec(codec), stripe_size=_ONE_STRIPE)
    sink.write(values)
    sink.close()
    tail = read_tail(file)
    [stripe], [statistics] = tail.stripes, stripe_statistics(file, tail)
    footer = read_stripe_footer(file, tail, stripe)
    row, root = model.types[_ROW], tail.types[0]
    numbers = dict(zip(row.names, row.children, strict=True))
    columns = {}
    ends = (*root.children[1:], len(tail.types))
    for name, start, end in zip(root.names, root.children, ends, strict=True):
        for number in range(start, end):  # of the column, and of its parts
            streams = tuple(
                NewStream(s.kind, s.column, read_bytes(file, s.offset, s.length))
                for s in footer.streams
                if s.column == number
            )
            found = _Column(streams, footer.encodings[number], statistics[number])
            columns[numbers[name] + number - start] = found
    return columns


# All files of a table have the same columns.
@lru_cache(64)
def _model(schema: pa.Schema, codec: str) -> FileTail:
    """The tail of a file of no events of this schema, as pyarrow writes it."""
    file = BytesIO()
    sink = OrcSink(file, compression=orc_codec(codec))
    sink.write(schema.empty_table())
    sink.close()
    return read_tail(file)
