"""Many small files of events or of plain rows, read by the driver.

Spark takes one to two milliseconds to open a file, because it copies Hadoop's configuration twice.
So a table of 300 deltas of one row would take a count several times as long as one file with the
same rows. The driver opens such a file in a tenth of the time, and knows it again the next time
(`file_contents`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.events import Events
from acidsql.engines.spark.file_contents import FileContents, file_bytes, for_each_file
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.row_numbers import NumberedRows, row_ids
from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.table import Column, Table, columns_digest
from acidsql.orc.belonging import is_stored_alike, require_columns, require_kind, require_plain
from acidsql.orc.evolution import matched
from acidsql.orc.footer import FileTail
from acidsql.orc.reader import open_orc, require_acid
from acidsql.orc.statistics import least_bytes, read_statistics
from acidsql.orc.types import file_columns
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES_MIN = 24
"""How many small files the driver reads at least beside files that Spark reads.

Spark reads fewer of them faster than it makes a union of two frames.
"""

FILE_BYTES_MAX = 16 << 10
"""The largest file that is small."""

ROWS_MAX, ROW_BYTES_MAX = 20_000, 16 << 20
"""How many rows all small files may have, and how many bytes their events may take in memory.

More of them are read by tasks, which need not be sent the rows.
"""

_BYTES_PER_FILE = 1 << 20
"""How many bytes of other files one small file outweighs.

Spark takes longer to scan a union of two frames than one frame, by about a millisecond for so many
bytes.
"""

_FILE_OVERHEAD, _COLUMN_OVERHEAD = 2048, 512
"""About how many bytes of memory a kept file takes, and each of its columns, without the rows."""

_FILES_TOGETHER = 16 * STORAGE_THREADS
"""How many files are read before their rows are counted."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """The events of one file, or its plain rows, stripe by stripe, and the columns of the rows.

    Timestamps are EXACT. A file whose rows are too many or too long for the driver has no stripes.
    """

    columns: tuple[Column, ...]
    rows: int
    stripes: tuple[pa.RecordBatch, ...]
    kind: str = field(init=False)
    """Equal for files of the same columns, and fast to compare."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", columns_digest(self.columns))

    @property
    def stripe_rows(self) -> int:
        """How many rows the stripes have, whatever the file's footer says."""
        return sum(stripe.num_rows for stripe in self.stripes)

    @property
    def row_bytes(self) -> int:
        """The bytes of the events or rows in memory."""
        return sum(stripe.nbytes for stripe in self.stripes)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes to keep this."""
        return _FILE_OVERHEAD + _COLUMN_OVERHEAD * len(self.columns) + self.row_bytes


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """The paths of small files, and their rows as the scan of a table has them."""

    paths: frozenset[str]
    rows: pa.Table
    reader: NumberedRows

    def scan(self, spark: SparkSession) -> Events:
        """The rows as a DataFrame."""
        # Over a local relation, Spark would compute the columns of a query while it plans, also for
        # rows that the query never asks for. It does not do so over a coalesce.
        frame = local_frame(spark, self.rows, self.reader.schema).coalesce(1)
        return Events(frame, self.reader.values)


def read_small_files(
    files: Sequence[SelectedFile], table: Table, reader: NumberedRows, contents: FileContents
) -> SmallFiles | None:
    """The small ones of these files; None if Spark reads all files as fast.

    StorageError for a file that cannot be read.
    """
    small = [f for f in files if f.length is None and f.size <= FILE_BYTES_MAX]
    others = sum(f.size for f in files) - sum(f.size for f in small)
    if len(small) < (max(FILES_MIN, others // _BYTES_PER_FILE) if others else 1):
        return None
    read = _fitting(small, table, reader, contents)
    if not any(found.rows for _, found in read):
        return None
    try:
        together = pa.Table.from_batches(list(_rows(read, reader)))
    except CorruptFileError:
        raise
    except StorageError:
        return None  # a text is no UTF-8 and must be cut, which Spark can do
    return SmallFiles(frozenset(f.path for f, _ in read), together, reader)


def _fitting(
    files: Sequence[SelectedFile], table: Table, reader: NumberedRows, contents: FileContents
) -> list[tuple[SelectedFile, FileRows]]:
    """The files with the table's types; none of them if they have too many rows for the driver.

    Files of plain rows that pyarrow cannot read are left out: Spark reads more forms of others'
    files than we do, and no columns that a query does not use.
    """
    read: list[tuple[SelectedFile, FileRows]] = []
    rows = size = 0
    read_as = (columns_digest(table.columns), table.is_unchanged)
    is_alike: dict[str, bool] = {}
    for file, content in _contents(files, reader.storage):
        is_plain = file.first is not None
        try:
            found = contents.of(
                content, (is_plain, *read_as), partial(_read, content, file.path, table, is_plain)
            )
        except CorruptFileError:
            if not is_plain:
                raise
            continue
        if found.kind not in is_alike:
            is_alike[found.kind] = _has_types_of(found.columns, reader)
        if is_alike[found.kind]:
            read.append((file, found))
            rows += found.rows
            size += found.row_bytes
            is_unread = found.rows > 0 and not found.stripes
            if is_unread or rows > ROWS_MAX or size > ROW_BYTES_MAX:
                return []
    return read


def _has_types_of(columns: Sequence[Column], reader: NumberedRows) -> bool:
    """Whether Spark finds the same columns in a file, and no value of it has to be converted.

    ORC, by which Spark reads, converts between more types than we do.
    """
    names = [c.name for c in columns]
    if not _is_matched_alike(names, len(reader.columns)):
        return False
    places = matched(names, reader.columns, by_position=reader.by_position)
    return all(
        at is None or is_stored_alike(columns[at].type, column.type)
        for column, at in zip(reader.columns, places, strict=True)
    )


def _is_matched_alike(names: Sequence[str], columns: int) -> bool:
    """Whether Spark matches a file's columns to those of a table as we do.

    It refuses two names that differ in upper case alone, and a file without names that has more
    columns than the table.
    """
    if len({name.lower() for name in names}) < len(names):
        return False
    is_nameless = all(name.startswith("_col") for name in names)
    return not is_nameless or len(names) <= columns


def _contents(
    files: Sequence[SelectedFile], storage: Storage
) -> Iterator[tuple[SelectedFile, bytes]]:
    for at in range(0, len(files), _FILES_TOGETHER):
        some = files[at : at + _FILES_TOGETHER]
        data = for_each_file(lambda f: file_bytes(f.path, storage), some, storage)
        yield from zip(some, data, strict=True)


def _read(data: bytes, path: str, table: Table, is_plain: bool) -> FileRows:
    """The events or the plain rows of a file of these bytes.

    CorruptFileError if it has no events although it should, or if it cannot belong to the table.
    StorageError if it has events although it should have plain rows.
    """
    source = io.BytesIO(data)
    with open_orc(source, path, exact=True) as opened:
        tail = opened.tail
        if is_plain:
            require_plain(tail, path)
        else:
            require_acid(opened)
            require_kind(tail, path, is_delete=False)
            if table.is_unchanged:
                require_columns(tail, path, table.columns)
        fits = tail.rows <= ROWS_MAX and _known_bytes(source, tail, path) <= ROW_BYTES_MAX
        stripes = tuple(opened.stripes()) if fits else ()
        return FileRows(file_columns(tail, path), tail.rows, stripes)


def _known_bytes(source: BinaryIO, tail: FileTail, path: str) -> int:
    """What the file's statistics say of the memory its values take; 0 if it has no statistics."""
    if tail.row_index_stride == 0:
        return 0
    return least_bytes(tail, read_statistics(source, tail, path).file)


def _rows(
    read: Sequence[tuple[SelectedFile, FileRows]], reader: NumberedRows
) -> Iterator[pa.RecordBatch]:
    """The rows; files of the same columns are converted together."""
    groups: dict[tuple[str, bool], list[tuple[SelectedFile, FileRows]]] = {}
    for file, found in read:
        if found.stripes:
            groups.setdefault((found.kind, file.first is None), []).append((file, found))
    for (_, has_events), group in groups.items():
        stripes = [stripe for _, found in group for stripe in found.stripes]
        [together] = pa.Table.from_batches(stripes).combine_chunks().to_batches()
        counts = [found.stripe_rows for _, found in group]
        partitions = np.repeat(np.array([f.partition for f, _ in group], np.int32), counts)
        file, found = group[0]
        if has_events:
            yield reader.rows_of(together, partitions, found.columns, file.path)
        else:
            ids = [partitions, *_row_ids(group)]
            yield reader.plain_rows(together, ids, found.columns, file.path)


def _row_ids(group: Sequence[tuple[SelectedFile, FileRows]]) -> list[NDArray[Any]]:
    """The parts of the row ids of all plain rows of these files."""
    ids = [row_ids(f.first, 0, found.stripe_rows) for f, found in group if f.first is not None]
    return [np.concatenate(part) for part in zip(*ids, strict=True)]
