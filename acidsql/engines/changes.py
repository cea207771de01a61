"""Changed rows to their places: delete events, and the new versions of updated rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from acidsql.engines.nanoseconds import FineRows
from acidsql.engines.output import Output
from acidsql.engines.rows import CHANGED_ROW_ID, is_sorted, stretches
from acidsql.errors import InvalidValueError
from acidsql.model.ids import StatementId
from acidsql.model.table import Column
from acidsql.model.types import has_timestamps
from acidsql.orc.keys import DeletedRows, RowIds, bucket_ids
from acidsql.orc.schema import ROW_ID_COLUMNS
from acidsql.process.threads import in_threads

PARTITION = "__acidsql_partition"
"""The index of a changed row's partition in the selection."""

LEG = "__acidsql_leg"
"""The index of the leg that acts on a changed row."""

_ROWS_IN_THREADS = 10_000
"""Fewer rows are written before threads have begun."""


@dataclass(frozen=True, slots=True)
class ChangeLeg:
    """What one leg does to the rows it acts on; an update also writes their new versions.

    ``kept`` are the columns that hold timestamps and that an update leaves as they are. The new
    versions of an update that ``moves`` rows are written as the rows of an INSERT are, elsewhere.
    """

    statement_id: StatementId
    is_update: bool
    kept: frozenset[str] = frozenset()
    moves: bool = False


def kept_timestamps(columns: Iterable[Column], assigned: Iterable[str]) -> frozenset[str]:
    """The columns that hold timestamps and that an update does not assign: `ChangeLeg.kept`."""
    changed = set(assigned)
    return frozenset(c.name for c in columns if has_timestamps(c.type) and c.name not in changed)


@dataclass(frozen=True, slots=True)
class ChangeWriter:
    """Writes the events of changed rows.

    Changes have PARTITION, LEG, the row id columns and, where a leg updates and does not move, the
    table's columns with their new values; they are in `writing_order`. ``partitions`` gives the
    text of each partition. ``fine`` rows are given for each leg. A new version keeps the bucket of
    the old row, as Hive 3 does.
    """

    output: Output
    partitions: Sequence[str]
    legs: Sequence[ChangeLeg]
    fine: Sequence[FineRows] = ()

    def write(self, changes: pa.Table) -> None:
        """Write some changes. The next ones may go on with the last bucket of these.

        InvalidValueError for an update of one of the ``fine`` rows.
        """
        for bucket in self._buckets(changes):
            self.output.finish_others(bucket.partition, bucket.bucket_id)
            self._write(bucket)

    def write_all(self, changes: pa.Table) -> None:
        """Write all changes that there are, and finish their files: some buckets side by side.

        InvalidValueError for an update of one of the ``fine`` rows.
        """

        def write(bucket: _Bucket) -> None:
            self._write(bucket)
            self.output.finish_bucket(bucket.partition, bucket.bucket_id)

        threads = 1 if changes.num_rows < _ROWS_IN_THREADS else None
        in_threads(write, self._buckets(changes), threads)

    def _buckets(self, changes: pa.Table) -> list[_Bucket]:
        codes = changes.column(PARTITION).to_numpy()
        buckets = bucket_ids(changes.column(CHANGED_ROW_ID[1]).to_numpy())
        return [
            _Bucket(
                int(codes[start]),
                self.partitions[int(codes[start])],
                int(buckets[start]),
                changes.slice(start, end - start),
            )
            for start, end in stretches([codes, buckets])
        ]

    def _write(self, bucket: _Bucket) -> None:
        partition, bucket_id, changes = bucket.partition, bucket.bucket_id, bucket.changes
        names = [c.name for c in self.output.target.format.columns]
        acting = changes.column(LEG).to_numpy()
        for index, leg in enumerate(self.legs):
            mask = acting == index
            if not mask.any():
                continue
            rows = changes if mask.all() else changes.filter(pa.array(mask))
            ids = rows.select(CHANGED_ROW_ID).rename_columns(list(ROW_ID_COLUMNS))
            for batch in ids.combine_chunks().to_batches():
                self.output.delete(batch, partition, bucket_id, leg.statement_id)
            if leg.is_update:
                fine = self.fine[index].get(bucket.code) if self.fine else None
                _refuse_fine(ids, fine, leg)
                if leg.moves:
                    continue
                for batch in rows.select(names).combine_chunks().to_batches():
                    self.output.insert(batch, partition, bucket_id, leg.statement_id)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The changes of one bucket of a partition, whose index is ``code``."""

    code: int
    partition: str
    bucket_id: int
    changes: pa.Table


def _refuse_fine(ids: pa.Table, fine: DeletedRows | None, leg: ChangeLeg) -> None:
    if fine is None:
        return
    found = fine.find(RowIds.of(ids))
    if found.any():
        raise InvalidValueError(
            f"a row to update has a timestamp with nanoseconds in {', '.join(sorted(leg.kept))}",
            detail="Spark computes in microseconds, so the update would cut a value that it keeps.",
            hint="Set that column, too, for example c = date_trunc('microsecond', c).",
        )


def writing_order(changes: pa.Table) -> pa.Table:
    """The changes sorted by partition, bucket and row id.

    Sorted by row id alone, a bucket would come up again for each write id, and a finished file
    cannot be opened again. A scan of few files gives the rows in this order already.
    """
    partition, *row_id = (changes.column(n).to_numpy() for n in (PARTITION, *CHANGED_ROW_ID))
    keys = (partition, bucket_ids(row_id[1]), *row_id)
    return changes if is_sorted(keys) else changes.take(np.lexsort(keys[::-1]))
