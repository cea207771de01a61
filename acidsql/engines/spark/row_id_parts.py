"""Files of row ids that Spark has encoded: which rows each has, and what is held of them.

They are called parts. `encoded_deletes` makes delete events of them, and `new_values` finds the new
values in them that stand beside the ids.
"""

from __future__ import annotations

import os
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.changes import PARTITION
from acidsql.engines.rows import CHANGED_ROW_ID, stretches
from acidsql.engines.selection import source_of
from acidsql.model.ids import BucketId
from acidsql.model.row_id import decode_bucket
from acidsql.orc.keys import RowIds
from acidsql.orc.reader import OrcInput, open_orc
from acidsql.orc.schema import ROW_ID_COLUMNS
from acidsql.orc.statistics import file_statistics, least_bytes
from acidsql.ports.storage import Storage
from acidsql.process.threads import in_threads

_T = TypeVar("_T")

_HELD_BYTES_MAX = 1 << 30
"""So many bytes of parts are held. Rows that follow each other in a file are in one part, or in
two. But of small files, which Spark sorts by their sizes, a part has many.
"""

ROWS_MAX = 1 << 23
"""A part may have so many rows: their ids take some 400 MB of memory, in each thread or task."""

_MIXED_MAX = 4
"""How often a part may overlap others, on average."""

Stretch = tuple[int, int, int]
"""A partition, a write id and a bucket property."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of Spark's files: the number of its rows, about the bytes that they take in memory, and
    which they may be.

    ``bounds`` are the lowest and the highest row number of each stretch.
    """

    path: str
    rows: int
    bytes: int
    bounds: Mapping[Stretch, tuple[int, int]]

    @classmethod
    def of(cls, path: str, storage: Storage) -> Part:
        """The part at a path. Its row ids are read."""
        bounds: dict[Stretch, tuple[int, int]] = {}
        with open_orc(source_of(path, storage), path) as opened:
            said = file_statistics(opened.tail, path)
            values = least_bytes(opened.tail, said) + 8 * opened.tail.rows * len(said)
            for batch in opened.stripes(id_names(opened)):
                partitions, ids = places_of(batch)
                columns = (partitions, ids.write_ids, ids.bucket_properties)
                for start, end in stretches(columns):
                    key = (int(columns[0][start]), int(columns[1][start]), int(columns[2][start]))
                    numbers = ids.row_numbers[start:end]
                    low, high = bounds.get(key, (numbers[0], numbers[0]))
                    bounds[key] = min(low, int(numbers.min())), max(high, int(numbers.max()))
            return cls(path, opened.tail.rows, 2 * values, bounds)

    def may_have(self, partition: int, row_ids: RowIds) -> bool:
        """Whether some of these rows of a partition may be in the part."""
        for (write_id, bucket_property), start, end in row_ids.groups():
            bounds = self.bounds.get((partition, write_id, bucket_property))
            numbers = row_ids.row_numbers[start:end]
            if bounds and bounds[0] <= numbers.max() and numbers.min() <= bounds[1]:
                return True
        return False


def parts_in_order(paths: Sequence[str], storage: Storage) -> list[Part] | None:
    """The parts at these paths. None if they `are_mixed`."""
    parts = in_threads(lambda path: Part.of(path, storage), paths, None)
    return None if are_mixed(parts) else parts


def are_mixed(parts: Sequence[Part]) -> bool:
    """Whether parts would have to be read again and again, or many at once.

    That is so where a shuffle has mixed the rows of all files, as the join with a subquery or with
    very many delete events does.
    """
    of_stretch: dict[Stretch, list[Part]] = defaultdict(list)
    for part in parts:
        for stretch in part.bounds:
            of_stretch[stretch].append(part)
    mixed = 0
    for stretch, some in of_stretch.items():
        for together in side_by_side(stretch, some):
            mixed += len(together) - 1
            if len(together) > 1 and sum(part.rows for part in together) > _MIXED_MAX * ROWS_MAX:
                return True
    return mixed > _MIXED_MAX * len(parts)


def side_by_side(stretch: Stretch, parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts in the order of their row numbers. Those that overlap come together."""
    together: list[Part] = []
    end = -1
    for part in sorted(parts, key=lambda part: part.bounds[stretch]):
        low, high = part.bounds[stretch]
        if together and low > end:
            yield together
            together = []
        together.append(part)
        end = max(end, high)
    yield together


def by_first_part(
    places: Mapping[tuple[int, BucketId], _T], parts: Sequence[Part]
) -> list[tuple[tuple[int, BucketId], _T]]:
    """Partitions and buckets, with what is given for each, in the order of the first of the parts
    that have rows of them. So a part is used for all of its places before the next one is read.
    """
    first: dict[tuple[int, BucketId], int] = {}
    for number, part in enumerate(parts):
        for partition, _, bucket_property in part.bounds:
            first.setdefault((partition, decode_bucket(bucket_property)), number)
    return sorted(places.items(), key=lambda item: first.get(item[0], len(parts)))


def threads_for(parts: Sequence[Part]) -> int:
    """How many threads may have a part each."""
    largest = max((part.bytes for part in parts), default=1)
    return max(1, min(os.cpu_count() or 1, 2 * _HELD_BYTES_MAX // largest))


class HeldParts(Generic[_T]):
    """What was read of the parts that were used last: ``least`` of them, and up to ``most`` bytes.

    ``read`` reads the part at a path. Up to ``least`` threads may use this: each has a part of its
    own, and would read it again and again if those of others took its place. If several ask for
    one part, it is read once. A task gets this by pickle. It holds the last part alone: a worker
    may have many tasks.
    """

    def __init__(self, read: Callable[[str], _T], least: int, most: int = _HELD_BYTES_MAX) -> None:
        self._read = read
        self._least = least
        self._most = most
        self._held: OrderedDict[str, tuple[int, Future[_T]]] = OrderedDict()
        self._guard = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldParts, (self._read, 1, 0)

    def of(self, part: Part) -> _T:
        """What was read of a part."""
        with self._guard:
            is_new = part.path not in self._held
            if is_new:
                self._held[part.path] = part.bytes, Future()
            self._held.move_to_end(part.path)
            while len(self._held) > self._least and self._bytes > self._most:
                self._held.popitem(last=False)
            _, read = self._held[part.path]
        if is_new:
            try:
                read.set_result(self._read(part.path))
            except BaseException as error:
                read.set_exception(error)
        return read.result()

    @property
    def _bytes(self) -> int:
        return sum(size for size, _ in self._held.values())


def id_names(opened: OrcInput) -> list[str]:
    """The columns of a part that say where a row was."""
    return [name for name in (PARTITION, *CHANGED_ROW_ID) if name in opened.tail.column_names]


def places_of(rows: pa.Table | pa.RecordBatch) -> tuple[NDArray[np.int32], RowIds]:
    """The partition and the row id of each row. Without partitions, all rows are in number 0."""
    ids = rows.select(list(CHANGED_ROW_ID)).rename_columns(list(ROW_ID_COLUMNS))
    partitions = np.zeros(rows.num_rows, np.int32)
    if PARTITION in rows.schema.names:
        partitions = rows.column(PARTITION).to_numpy()
    return partitions, RowIds.of(ids)
