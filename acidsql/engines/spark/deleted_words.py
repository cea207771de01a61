"""The row ids of delete files, read by the driver as words of 64 bits."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.rows import begins_stretch
from acidsql.engines.selection import SelectedFile, source_of
from acidsql.engines.spark.file_contents import FileContents, file_bytes, for_each_file
from acidsql.engines.spark.key_packing import WORD_BITS, WORD_COLUMNS, KeyPacking
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.keys import Longs, RowIds, longs, valid_events
from acidsql.orc.reader import DELETE_COLUMNS, OrcInput, open_deletes
from acidsql.orc.schema import CURRENT_TRANSACTION
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS

WORDS_MAX = 1 << 22
"""How many words the driver keeps: 64 MiB with the keys that they are found by."""

BATCH_ROWS = 1 << 20
"""So many rows of a stripe are read at a time. A stripe of row ids that follow each other may have
any number of rows in a few kilobytes.
"""

_FILES_TOGETHER = 4 * STORAGE_THREADS
"""How many files are read before their words are merged.

Until then, a word is kept once for each file that has deletes in it.
"""


FILE_BYTES_MAX, FILE_ROWS_MAX = 16 << 10, 10_000
"""The bytes and rows of the largest file of which the events are kept."""

_OVERHEAD = 4096
"""About how many bytes of memory a kept file takes without its rows."""


class TooManyDeletesError(Exception):
    """There are more deleted rows than the driver takes. Never leaves the engine."""


@dataclass(frozen=True, slots=True)
class DeletedWords:
    """The deleted rows among each 64 row numbers of a partition, write id and bucket property.

    ``columns`` are `WORD_COLUMNS`, which say where a word is. ``bits`` are the words, whose lowest
    bit stands for the first row number.
    """

    columns: Mapping[str, Longs]
    bits: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.bits)

    @classmethod
    def of(cls, partition: int, row_ids: RowIds) -> DeletedWords:
        """The words of these rows. Rows of a word that follow each other become one word."""
        numbers = row_ids.row_numbers
        words = RowIds(row_ids.write_ids, row_ids.bucket_properties, numbers >> WORD_BITS)
        places = (words.write_ids, words.bucket_properties, words.row_numbers)
        starts = np.flatnonzero(begins_stretch(places))
        bits = np.left_shift(np.uint64(1), (numbers & (1 << WORD_BITS) - 1).astype(np.uint64))
        first = words.where(starts)
        parts = (
            np.full(len(starts), partition, np.int64),
            first.write_ids,
            first.bucket_properties,
            first.row_numbers,
        )
        columns = dict(zip(WORD_COLUMNS, parts, strict=True))
        return cls(columns, np.bitwise_or.reduceat(bits, starts) if len(starts) else bits)

    @classmethod
    def together(cls, parts: Sequence[DeletedWords]) -> DeletedWords:
        """All of them, one after the other."""
        empty = np.zeros(0, np.int64)
        columns = {
            name: np.concatenate([empty, *(p.columns[name] for p in parts)])
            for name in WORD_COLUMNS
        }
        return cls(columns, np.concatenate([empty.astype(np.uint64), *(p.bits for p in parts)]))


@dataclass(frozen=True, slots=True)
class PackedWords:
    """Words by their packed keys, which ascend."""

    packing: KeyPacking
    keys: Longs
    words: DeletedWords

    @classmethod
    def of(cls, words: DeletedWords) -> PackedWords:
        """The words, each once. TooManyDeletesError if their places do not fit into keys."""
        packing = KeyPacking.of(words.columns)
        if packing is None:
            raise TooManyDeletesError
        keys = packing.pack(words.columns)
        order = np.argsort(keys, kind="stable")  # fast for a few ascending runs, as files give
        starts = np.flatnonzero(begins_stretch([keys[order]]))
        first = order[starts]
        columns = {name: column[first] for name, column in words.columns.items()}
        bits = np.bitwise_or.reduceat(words.bits[order], starts)
        return cls(packing, keys[first], DeletedWords(columns, bits))


@dataclass(frozen=True, slots=True)
class DeleteEvents:
    """The delete events of a small file, and the words of all of them in partition 0.

    Of a file with more than `FILE_ROWS_MAX` rows there are neither.
    """

    stripes: tuple[pa.RecordBatch, ...] = ()
    words: DeletedWords | None = None

    @classmethod
    def read(cls, data: bytes, path: str) -> DeleteEvents:
        """The events of a file of these bytes. CorruptFileError if it is no file of deletes."""
        with open_deletes(io.BytesIO(data), path) as opened:
            if opened.tail.rows > FILE_ROWS_MAX:
                return cls()
            stripes = tuple(opened.stripes(DELETE_COLUMNS))
            words = DeletedWords.together([DeletedWords.of(0, RowIds.of(s)) for s in stripes])
            return cls(stripes, words)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes to keep this."""
        return _OVERHEAD + sum(2 * stripe.nbytes for stripe in self.stripes)

    def seen(self, file: SelectedFile, write_ids: ValidWriteIdList) -> DeletedWords:
        """The words of the deletes that the snapshot sees, in the file's partition."""
        if file.row_filter or self.words is None:
            visible = [_visible(stripe, file, write_ids) for stripe in self.stripes]
            return DeletedWords.together([DeletedWords.of(file.partition, v) for v in visible])
        partitions = np.full(len(self.words), file.partition, np.int64)
        return replace(self.words, columns={**self.words.columns, WORD_COLUMNS[0]: partitions})


def read_deleted_words(
    files: Sequence[SelectedFile],
    write_ids: ValidWriteIdList,
    storage: Storage,
    contents: FileContents,
) -> PackedWords | None:
    """The deleted rows that the snapshot sees; None if there are none.

    TooManyDeletesError if they are too many for the driver.
    """
    words = DeletedWords.together([])
    packed = None
    for at in range(0, len(files), _FILES_TOGETHER):
        some = files[at : at + _FILES_TOGETHER]
        read = for_each_file(lambda f: _file_words(f, write_ids, storage, contents), some, storage)
        words = DeletedWords.together([words, *read])
        if len(words):
            packed = PackedWords.of(words)
            words = packed.words
        if len(words) > WORDS_MAX:
            raise TooManyDeletesError
    return packed


def _file_words(
    file: SelectedFile, write_ids: ValidWriteIdList, storage: Storage, contents: FileContents
) -> DeletedWords:
    if file.size <= FILE_BYTES_MAX:
        data = file_bytes(file.path, storage)
        kept = contents.of(data, DeleteEvents, lambda: DeleteEvents.read(data, file.path))
        if kept.words is not None:
            return kept.seen(file, write_ids)
    return _words_by_stripe(file, write_ids, storage)


def _words_by_stripe(
    file: SelectedFile, write_ids: ValidWriteIdList, storage: Storage
) -> DeletedWords:
    """The words of a file, read in batches, so that its row ids are never all in memory."""
    with open_deletes(source_of(file.path, storage), file.path) as opened:
        found = []
        for batch in _batches(opened):
            found.append(DeletedWords.of(file.partition, _visible(batch, file, write_ids)))
            if sum(map(len, found)) > WORDS_MAX:
                raise TooManyDeletesError
        return DeletedWords.together(found)


def _batches(opened: OrcInput) -> Iterator[pa.RecordBatch]:
    for number, stripe in enumerate(opened.tail.stripes):
        if stripe.rows <= BATCH_ROWS:
            yield opened.stripe(number, DELETE_COLUMNS)
        else:
            yield from opened.key_batches(number, BATCH_ROWS, DELETE_COLUMNS)


def _visible(batch: pa.RecordBatch, file: SelectedFile, write_ids: ValidWriteIdList) -> RowIds:
    row_ids = RowIds.of(batch)
    if not file.row_filter:
        return row_ids
    return row_ids.where(valid_events(longs(batch.column(CURRENT_TRANSACTION)), write_ids))
