"""Rebalance: all rows of a directory go into a base whose files have equally many rows.

The rows get new row ids, as Hive's RebalanceQueryCompactor gives them. But all of them get the
write id of the rebalance, and the base has its name, as that of an INSERT OVERWRITE. So the base
counts from the commit on, for every reader, and no new row id equals an old one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from acidsql.engines.local.attempt import Attempt
from acidsql.engines.local.bucket_merge import merge_inputs, merge_output
from acidsql.engines.local.sorted_rows import merged, sort_keys, sorted_stream
from acidsql.engines.selection import (
    delete_files,
    directory_state,
    insert_files,
    opened_files,
)
from acidsql.layout.acid_state import AcidState
from acidsql.layout.dir_names import VERSION_FILE, BaseDir, BucketFile
from acidsql.model.ids import BucketId, StatementId, TxnId, WriteId
from acidsql.model.row_id import encode_bucket
from acidsql.model.snapshot import ValidTxnList
from acidsql.orc.merge import merge_major, write_no_events
from acidsql.orc.merge_rows import BATCH_ROWS, MergeOutput, events_of
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import INSERT, ROW, ROW_ID_COLUMNS
from acidsql.orc.writer import VERSION_FILE_CONTENT, EventWriter
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage, local_draft

_BY_ROW_ID = [(name, "ascending") for name in ROW_ID_COLUMNS]


def rebalance(
    plan: CompactPlan,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    txn_id: TxnId,
    write_id: WriteId,
    *,
    by_position: bool = True,
) -> None:
    """Write the base of ``write_id`` from the one directory of the snapshot.

    Every write id below ``write_id`` must have ended, and nobody may change rows meanwhile: the
    base hides what it does not hold.

    Two passes over the rows: a major compaction of each bucket into a temporary file, so that their
    number is known; then from these files into those of the base. In memory are a batch of rows of
    each bucket, or a run of the sort.
    """
    partition = snapshot.partitions[0]
    state = directory_state(replace(snapshot, require_open=None), partition, txns, storage)
    attempt = Attempt(partition.location, storage, txn_id, snapshot.require_open)
    by_position = snapshot.table.matches_by_position(by_position)
    work = Rebalance(plan, snapshot, state, storage, write_id, attempt, by_position=by_position)
    with tempfile.TemporaryDirectory(prefix="acidsql-rebalance-") as directory:
        work.run(Path(directory))


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The rows of one bucket as they are now, in a temporary file."""

    path: str
    rows: int


class Rebalance:
    """One rebalance of one directory."""

    def __init__(
        self,
        plan: CompactPlan,
        snapshot: TableSnapshot,
        state: AcidState,
        storage: Storage,
        write_id: WriteId,
        attempt: Attempt,
        *,
        by_position: bool,
    ) -> None:
        self.plan, self.snapshot, self.storage = plan, snapshot, storage
        self.write_id, self.attempt = write_id, attempt
        self.by_position = by_position
        partition = snapshot.partitions[0]
        inserts = insert_files(0, partition, state, with_base=True)
        self.inserts = opened_files(inserts, storage)
        self.deletes = delete_files(0, partition, state)

    def run(self, directory: Path) -> None:
        """Write the base; nothing of it is seen before it is complete."""
        buckets = [self._gather(b, directory) for b in self._buckets()]
        total = sum(bucket.rows for bucket in buckets)
        # As in Hive: a file more only when the one before is full.
        count = self.plan.buckets or max(1, len(buckets))
        per_file = max(1, -(-total // count))
        name = BaseDir(self.write_id).name
        hidden = self.attempt.hidden(name)
        try:
            self.storage.make_directory(hidden)
            rows = self._rows(buckets, directory)
            files = [*self._write(rows, per_file, hidden)]
            self.storage.write_file(f"{hidden}/{VERSION_FILE}", VERSION_FILE_CONTENT)
            self.attempt.publish({name: [*files, VERSION_FILE]})
        finally:
            self.attempt.discard([name])

    def _buckets(self) -> list[BucketId]:
        return sorted({f.bucket_id for f in self.inserts if f.bucket_id is not None})

    def _gather(self, bucket: BucketId, directory: Path) -> _Bucket:
        path = str(directory / BucketFile(bucket).name)
        output = replace(self._output(path), compression="lz4", bucket=bucket)
        written = merge_major(
            merge_inputs([f for f in self.inserts if f.bucket_id == bucket], self.storage),
            merge_inputs([f for f in self.deletes if f.bucket_id == bucket], self.storage),
            self.snapshot.write_ids,
            output,
        )
        return _Bucket(path, written.rows)

    def _output(self, path: str) -> MergeOutput:
        return merge_output(path, self.snapshot.table, by_position=self.by_position)

    def _rows(self, buckets: Sequence[_Bucket], directory: Path) -> Iterator[pa.StructArray]:
        """The rows of all buckets in the wanted order: that of the plan, else of the row ids."""
        streams = [_batches(b.path) for b in buckets if b.rows]
        if not streams:
            return
        if not self.plan.order:
            yield from (_struct(batch) for batch in merged(streams, _BY_ROW_ID))
            return
        ordered = merged(streams, _BY_ROW_ID)
        first = next(ordered)
        _, keys = sort_keys(_struct(first), self.plan.order)
        keyed = (self._keyed(batch) for batch in chain([first], ordered))
        yield from (_struct(batch) for batch in sorted_stream(keyed, keys, directory))

    def _keyed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = _struct(batch)
        arrays, keys = sort_keys(rows, self.plan.order)
        return pa.RecordBatch.from_arrays([rows, *arrays], names=[ROW, *(k for k, _ in keys)])

    def _write(self, rows: Iterator[pa.StructArray], per_file: int, hidden: str) -> Iterator[str]:
        """Write the files one after the other; their names. Without rows it is an empty one."""
        pieces = _cut(rows, per_file)
        piece = next(pieces, None)
        if piece is None:
            name = BucketFile(BucketId(0)).name
            local = local_draft(f"{hidden}/{name}", self.storage)
            write_no_events(self._output(local))
            self.storage.put_file(local, f"{hidden}/{name}")
            yield name
        while piece is not None:
            bucket = BucketId(piece[0] // per_file)
            name = BucketFile(bucket).name
            local = local_draft(f"{hidden}/{name}", self.storage)
            output = self._output(local)
            if self.snapshot.require_open is not None:
                self.snapshot.require_open()
            with EventWriter(local, output.columns, output.compression) as writer:
                while piece is not None and piece[0] // per_file == bucket:
                    writer.write_events(self._events(*piece, bucket))
                    piece = next(pieces, None)
            self.storage.put_file(local, f"{hidden}/{name}")
            yield name

    def _events(self, first: int, rows: pa.StructArray, bucket: BucketId) -> pa.RecordBatch:
        """Insert events whose row numbers go on through all files, as in Hive."""
        count = len(rows)
        bucket_property = encode_bucket(bucket, StatementId(0))
        keys = (
            np.full(count, INSERT),
            np.full(count, self.write_id),
            np.full(count, bucket_property),
            np.arange(first, first + count),
            np.full(count, self.write_id),
        )
        return events_of(keys, rows)


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    with open_orc(path, path, exact=True) as opened:
        for number in range(len(opened.tail.stripes)):
            yield from opened.batches(number, BATCH_ROWS)


def _struct(batch: pa.RecordBatch) -> pa.StructArray:
    rows = batch.column(ROW)
    assert isinstance(rows, pa.StructArray)
    return rows


def _cut(rows: Iterator[pa.StructArray], per_file: int) -> Iterator[tuple[int, pa.StructArray]]:
    """Batches that end where a file does, each with the position of its first row."""
    at = 0
    for batch in rows:
        done = 0
        while done < len(batch):
            size = min(len(batch) - done, per_file - at % per_file)
            yield at, batch.slice(done, size)
            at, done = at + size, done + size
