"""New rows, brought by partition and bucket into an attempt's files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.ids import StatementId
from acidsql.model.table import Table
from acidsql.model.types import ColumnType

CHANGED_ROW_ID = ("__acidsql_write_id", "__acidsql_bucket", "__acidsql_row")
"""The columns that carry a changed row's id to the writer, beside the table's own columns."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How a table's rows find their bucket: by hash; without buckets, by their writer's number."""

    columns: tuple[str, ...] = ()
    types: tuple[ColumnType, ...] = ()
    count: int = 0
    version: int = 2

    @classmethod
    def of(cls, table: Table) -> Placement:
        """The placement of a table's rows."""
        bucketing = table.bucketing
        if bucketing is None:
            return cls()
        columns = [table.column(name) for name in bucketing.columns]
        types = tuple(c.type for c in columns if c is not None)
        return cls(bucketing.columns, types, bucketing.count, bucketing.version)

    def buckets(self, rows: pa.RecordBatch | pa.Table, writer: int = 0) -> np.ndarray:
        """The bucket number of each row; ``writer`` for a table without buckets."""
        if not self.count:
            return np.full(rows.num_rows, writer, np.int32)
        arrays = [_one_array(rows.column(name)) for name in self.columns]
        return bucket_numbers(arrays, self.types, self.count, self.version)


class RowSink(Protocol):
    """What takes new rows by partition and bucket, such as `engines.output.Output`."""

    def insert(
        self, rows: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write new rows into a bucket of a partition."""
        ...

    def finish_others(self, partition: str, bucket_id: int) -> None:
        """Close the files of every other bucket."""
        ...


def write_rows(
    output: RowSink,
    rows: pa.Table,
    codes: np.ndarray,
    partitions: Sequence[str],
    placement: Placement,
    statement_id: StatementId,
    writer: int = 0,
) -> None:
    """Write new rows, in their order within each partition and bucket.

    ``codes`` gives each row's index in ``partitions``, the texts of the partitions.
    """
    buckets = placement.buckets(rows, writer)
    for (code, bucket), part in groups(rows, [codes, buckets]):
        for batch in part.to_batches():
            output.insert(batch, partitions[code], bucket, statement_id)
        output.finish_others(partitions[code], bucket)


def groups(
    rows: pa.Table, keys: Sequence[np.ndarray]
) -> Iterator[tuple[tuple[int, ...], pa.Table]]:
    """The rows of each combination of keys, in their order, and the keys' values.

    >>> rows = pa.table({"a": [1, 2, 3]})
    >>> [(key, part["a"].to_pylist()) for key, part in groups(rows, [np.array([7, 5, 7])])]
    [((5,), [2]), ((7,), [1, 3])]
    """
    order = np.lexsort(tuple(reversed(keys)))
    if not np.array_equal(order, np.arange(rows.num_rows)):
        rows = rows.take(order)
        keys = [key[order] for key in keys]
    for start, end in stretches(keys):
        part = rows.slice(start, end - start).combine_chunks()
        yield tuple(int(key[start]) for key in keys), part


def stretches(keys: Sequence[np.ndarray]) -> Iterator[tuple[int, int]]:
    """The bounds of the stretches in which no key changes.

    >>> list(stretches([np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])]))
    [(0, 2), (2, 3), (3, 4)]
    """
    yield from pairwise([*np.flatnonzero(begins_stretch(keys)).tolist(), len(keys[0])])


def begins_stretch(keys: Sequence[np.ndarray]) -> NDArray[np.bool_]:
    """Whether each row is the first one or differs in a key from the row before.

    >>> begins_stretch([np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])]).tolist()
    [True, False, True, True]
    """
    begins = np.zeros(len(keys[0]), np.bool_)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[1:] != key[:-1]
    return begins


def is_sorted(keys: Sequence[np.ndarray]) -> bool:
    """Whether no row comes before the row above it, by these keys, the first of which counts most.

    >>> is_sorted([np.array([1, 1, 2]), np.array([5, 5, 4])])
    True
    >>> is_sorted([np.array([1, 1, 2]), np.array([5, 4, 5])])
    False
    """
    equal = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        if (equal & (key[1:] < key[:-1])).any():
            return False
        equal &= key[1:] == key[:-1]
    return True


def _one_array(column: Array) -> Array:
    if isinstance(column, pa.ChunkedArray):  # a filter that leaves no row leaves no chunk
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column
