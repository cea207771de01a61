"""Compaction of one directory: its files are merged, bucket by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acidsql.engines.local.attempt import Attempt
from acidsql.engines.local.bucket_merge import BucketMerge, MergeKind
from acidsql.engines.local.compact_rows import compact_rows
from acidsql.engines.local.merge import Run, as_threads
from acidsql.engines.selection import (
    SelectedFile,
    delete_files,
    directory_state,
    insert_files,
    opened_files,
)
from acidsql.layout.acid_state import AcidState, SelectedDir
from acidsql.layout.dir_names import (
    FIRST_BASE_WRITE_ID,
    VERSION_FILE,
    BaseDir,
    DeltaDir,
    highest_write_id,
    lowest_write_id,
    parse_delta,
)
from acidsql.model.ids import NO_TXN, BucketId, TxnId
from acidsql.model.snapshot import Range, ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind
from acidsql.orc.writer import VERSION_FILE_CONTENT
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage


def compact(
    plan: CompactPlan,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    txn_id: TxnId = NO_TXN,
    *,
    by_position: bool = True,
    run: Run | None = None,
) -> bool:
    """Compact the one directory of the compactor's snapshot. False if there is nothing to do.

    There is something to do if several directories can become one, or if an overwrite or an abort
    left something for the cleaner. Each new directory is written under a hidden name that holds
    ``txn_id``, the compactor's own, and is renamed when it is complete. With Hive 4's names the new
    name holds ``txn_id``, too. ``by_position`` says how columns of files are matched in a table
    that does not say so itself. ``run`` carries out the merges of the buckets; without it, threads
    of this process do.
    """
    partition = snapshot.partitions[0]
    # A base that is newer than the snapshot cannot be compacted, not even while its transaction is
    # open.
    state = directory_state(replace(snapshot, require_open=None), partition, txns, storage)
    if not _can_merge(plan, state, snapshot.write_ids):
        # What an overwrite or an abort left behind is for the cleaner (Hive's Worker).
        return bool(state.obsolete or state.aborted)
    attempt = Attempt(partition.location, storage, txn_id, snapshot.require_open)
    visibility_id = txn_id if snapshot.table.hive4_names else NO_TXN
    by_position = snapshot.table.matches_by_position(by_position)
    if snapshot.table.kind is TableKind.INSERT_ONLY:
        run = run or as_threads(storage)
        compact_rows(
            plan, snapshot, state, storage, visibility_id, attempt, run, by_position=by_position
        )
        return True
    work = Compaction(
        snapshot,
        partition,
        state,
        storage,
        visibility_id,
        attempt,
        by_position=by_position,
        run=run,
    )
    if plan.type == "major":
        work.major()
    else:
        work.minor()
    return True


def _can_merge(plan: CompactPlan, state: AcidState, write_ids: ValidWriteIdList) -> bool:
    """Whether several directories can become one (Hive CompactorMR).

    A major compaction merges original files, too, and leaves aborted writes out of the only delta.
    Until then, the store may not forget these writes.
    """
    deltas, deletes = len(state.deltas), len(state.delete_deltas)
    if plan.type == "major":
        several = bool(state.originals) or deltas + deletes + (state.base is not None) > 1
        return several or any(_spans_aborted(delta, write_ids) for delta in state.deltas)
    return deltas > 1 or deletes > 1


def _spans_aborted(delta: SelectedDir, write_ids: ValidWriteIdList) -> bool:
    found = delta.directory
    return isinstance(found, DeltaDir) and (
        write_ids.range_aborted(found.min_write_id, found.max_write_id) is not Range.NONE
    )


@dataclass(frozen=True, slots=True)
class _Directory:
    """An output directory: its buckets, and the kind of the merges and the files they merge.

    ``compacted`` adds the file that marks a compacted base. A ``needed`` directory is made even if
    no event is left for it.
    """

    name: str
    buckets: Sequence[BucketId]
    kind: MergeKind
    inserts: Sequence[SelectedFile]
    compacted: bool = False
    needed: bool = False


class Compaction:
    """The compaction of one directory: merges the files that a snapshot selects."""

    def __init__(
        self,
        snapshot: TableSnapshot,
        partition: PartitionLocation,
        state: AcidState,
        storage: Storage,
        visibility_id: TxnId,
        attempt: Attempt,
        *,
        by_position: bool,
        run: Run | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.partition = partition
        self.state = state
        self.storage = storage
        self.visibility_id = visibility_id
        self.by_position = by_position
        self.deletes = delete_files(0, partition, state)
        self.attempt = attempt
        self.run = run or as_threads(storage)

    def major(self) -> None:
        """Merge everything into a base, without the deleted rows."""
        ids = [highest_write_id(d.directory) for d in self._directories]
        highest = max(ids, default=FIRST_BASE_WRITE_ID)
        inserts = self._inserts(with_base=True)
        base = BaseDir(highest, self.visibility_id)
        buckets = self._buckets(inserts) or [BucketId(0)]
        self._write([_Directory(base.name, buckets, "major", inserts, compacted=True)])

    def minor(self) -> None:
        """Merge the deltas into one and the delete deltas into one; the base stays."""
        delete_delta, delta = self._deltas("deletes")
        # An earlier compaction may have stopped after the first of its two directories.
        directories = []
        if not _is_made(delete_delta.name, self.state.delete_deltas):
            directories.append(delete_delta)
        if not _is_made(delta.name, self.state.deltas):
            directories.append(delta)
        self._write(directories)

    def fold(self) -> None:
        """Merge as `minor` does, but without deletes of rows of the same write id.

        No other transaction reads these directories yet. Both new directories are made, even
        without events, because readers must find them in the place of the old ones.
        """
        made = self._deltas("others' deletes")
        self._write([replace(directory, needed=True) for directory in made])

    def _deltas(self, deletes: MergeKind) -> tuple[_Directory, _Directory]:
        """The delete delta and the delta that the present ones are merged into."""
        merged = [d.directory for d in (*self.state.deltas, *self.state.delete_deltas)]
        low, high = min(map(lowest_write_id, merged)), max(map(highest_write_id, merged))
        inserts = self._inserts(with_base=False)
        buckets = self._buckets(inserts)
        delta = DeltaDir(low, high, visibility_id=self.visibility_id)
        delete_delta = replace(delta, is_delete=True)
        return (
            _Directory(delete_delta.name, buckets, deletes, inserts),
            _Directory(delta.name, buckets, "inserts", inserts),
        )

    @property
    def _directories(self) -> list[SelectedDir]:
        base = [] if self.state.base is None else [self.state.base]
        return [*base, *self.state.deltas, *self.state.delete_deltas]

    def _inserts(self, *, with_base: bool) -> Sequence[SelectedFile]:
        files = insert_files(0, self.partition, self.state, with_base=with_base)
        return opened_files(files, self.storage)

    def _buckets(self, inserts: Sequence[SelectedFile]) -> list[BucketId]:
        found = {f.bucket_id for f in (*inserts, *self.deletes)}
        return sorted(b for b in found if b is not None)

    def _write(self, directories: Sequence[_Directory]) -> None:
        """Write the directories; none becomes visible before all are complete."""
        try:
            for directory in directories:
                self.storage.make_directory(self.attempt.hidden(directory.name))
            merges = [[self._merge(d, bucket) for bucket in d.buckets] for d in directories]
            written = iter(self.run([merge for each in merges for merge in each]))
            names = [[m.name for m in each if next(written)] for each in merges]
            filled = {d.name: self._finish(d, n) for d, n in zip(directories, names, strict=True)}
            self.attempt.publish({name: files for name, files in filled.items() if files})
        finally:
            self.attempt.discard([d.name for d in directories])

    def _merge(self, directory: _Directory, bucket: BucketId) -> BucketMerge:
        return BucketMerge(
            self.attempt.hidden(directory.name),
            bucket,
            directory.kind,
            self.snapshot.table,
            self.snapshot.write_ids,
            tuple(f for f in directory.inserts if f.bucket_id == bucket),
            tuple(f for f in self.deletes if f.bucket_id == bucket),
            self.by_position,
        )

    def _finish(self, directory: _Directory, names: list[str]) -> list[str]:
        """Put the other files into a directory. All names in it; [] if no event is left."""
        if not names and directory.needed:
            empty = self._merge(replace(directory, kind="nothing"), directory.buckets[0])
            empty.run(self.storage, empty.name)
            names = [empty.name]
        if not names:
            return []
        hidden = self.attempt.hidden(directory.name)
        self.storage.write_file(f"{hidden}/{VERSION_FILE}", VERSION_FILE_CONTENT)
        if not directory.compacted:
            return [*names, VERSION_FILE]
        return [*names, VERSION_FILE, self.attempt.mark_compacted(directory.name)]


def _is_made(wanted: str, found: Sequence[SelectedDir]) -> bool:
    """Whether one directory is there, and has the wanted name; its visibility id may differ."""
    if len(found) != 1 or not isinstance(found[0].directory, DeltaDir):
        return False
    delta = parse_delta(wanted)
    assert delta is not None
    return replace(found[0].directory, visibility_id=delta.visibility_id) == delta
