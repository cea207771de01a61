"""The end of a write: its job, what it reached, the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.execution.result import Result
from acidsql.model.access import Operation
from acidsql.model.ids import NO_WRITE_ID, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.table import TableKind
from acidsql.plans.plan import WritePlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.ports.catalog import Partition
from acidsql.ports.engine import (
    Engine,
    JobResult,
    PartitionLocation,
    TableSnapshot,
    WriteContext,
)
from acidsql.ports.store import Store
from acidsql.txn.entities import Reached, Written
from acidsql.txn.locks import write_operation
from acidsql.txn.transaction import OpenTxn


@dataclass(slots=True)
class Uncommitted:
    """The writes of a transaction's statements that are not committed yet.

    With the commit, ``partitions`` enter the catalog and ``reached`` the write set, and the files
    ``moved`` are removed. An abort removes ``paths``. ``written`` are the places in which the
    transaction has directories of transactional tables. ``changed`` are the tables, with their
    partitions, whose rows the commit changes. ``own_deletes`` are the places with rows that the
    transaction inserted and deleted again.
    """

    reached: list[Reached] = field(default_factory=list)
    written: dict[Written, None] = field(default_factory=dict)
    changed: dict[TableName, set[PartitionName]] = field(default_factory=dict)
    partitions: dict[TableName, dict[PartitionName, Partition]] = field(default_factory=dict)
    paths: list[OwnPath] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    own_deletes: dict[TableName, dict[str, PartitionLocation]] = field(default_factory=dict)

    def new_partitions(self, table: TableName) -> list[PartitionLocation]:
        """The partitions of a table that only this transaction knows."""
        return [
            PartitionLocation(p.name, p.location) for p in self.partitions.get(table, {}).values()
        ]

    def add(
        self,
        table: TableName,
        write_id: WriteId,
        job: JobResult,
        known: Sequence[PartitionLocation],
    ) -> None:
        """Note what a statement has written; ``known`` are the partitions it found."""
        if write_id != NO_WRITE_ID:
            for touched in job.touched:
                partition = None if touched.partition is None else str(touched.partition)
                self.written[Written(write_id, table, partition)] = None
        self.paths.extend(job.paths)
        self.moved.extend(job.moved)
        self.changed.setdefault(table, set()).update(_partitions_of(job))
        for place in job.own_deletes:
            self.own_deletes.setdefault(table, {})[place.location] = place
        names = {p.name for p in known}
        for touched in job.touched:
            if touched.partition is not None and touched.partition not in names:
                fresh = Partition(touched.partition, touched.location)
                self.partitions.setdefault(table, {})[touched.partition] = fresh


def write(
    plan: WritePlan,
    context: WriteContext,
    txn: OpenTxn,
    store: Store,
    engine: Engine,
    uncommitted: Uncommitted,
    *,
    is_last: bool,
) -> JobResult:
    """Run a statement's job and record which partitions it reached.

    If the statement ``is_last``, they are recorded with the commit, which comes next.
    """
    job = engine.write(plan, context)
    snapshot = context.read.tables[plan.table]
    try:
        txn.check()
        if snapshot.table.kind is TableKind.PLAIN:
            # A plain table's rows have already changed.
            _forget_statistics({plan.table: _partitions_of(job)}, store)
        elif snapshot.table.partition_columns:
            reached = _reached(plan, context, job)
            if is_last:
                uncommitted.reached.extend(reached)
            else:
                _record(reached, txn, store)
    except BaseException:
        if txn.owns_files():
            engine.discard(job.paths)
        raise
    uncommitted.add(plan.table, context.write_id, job, snapshot.partitions)
    return job


def _reached(plan: WritePlan, context: WriteContext, job: JobResult) -> list[Reached]:
    """The partitions that the job reached, for the write set.

    A job that reached none is reported, too: it clears what the lock has recorded for partitions
    yet unknown.
    """
    reached: dict[Operation, set[str]] = {}
    if not job.touched:
        reached[Operation.INSERT] = set()
    for touched in job.touched:
        reached.setdefault(touched.operation, set()).add(str(touched.partition))
    return [
        Reached(context.write_id, plan.table, sorted(partitions), write_operation(operation))
        for operation, partitions in reached.items()
    ]


def _record(reached: Sequence[Reached], txn: OpenTxn, store: Store) -> None:
    for r in reached:
        store.add_dynamic_partitions(txn.txn_id, r.write_id, r.table, r.partitions, r.operation)


def _partitions_of(job: JobResult) -> set[PartitionName]:
    return {t.partition for t in job.touched if t.partition is not None}


def _forget_statistics(changed: Mapping[TableName, set[PartitionName]], store: Store) -> None:
    """Tell the catalog that row counts of these tables do not hold any more.

    As late as possible: a count that is taken in between would be believed.
    """
    for table, partitions in changed.items():
        store.forget_statistics(table, sorted(partitions, key=str))


def commit(
    txn: OpenTxn,
    uncommitted: Uncommitted,
    store: Store,
    engine: Engine,
    held: Callable[[TableName], bool],
) -> None:
    """Make what was written visible, and new partitions known, in one step of the store.

    ``held`` tells whether a lazy frame may still read the present files of a table. If the commit
    fails, the transaction is rolled back; its files are removed if they are certainly its own.
    """

    def step(txn_id: TxnId) -> None:
        written = list(uncommitted.written)
        if not uncommitted.partitions:
            store.commit_txn(txn_id, uncommitted.reached, written)
            return
        with store.committing(txn_id, uncommitted.reached, written):
            for table, partitions in uncommitted.partitions.items():
                store.add_partitions(table, list(partitions.values()))

    try:
        txn.check()
        _fold_own_deletes(txn, uncommitted, store, engine, held)
        _forget_statistics(uncommitted.changed, store)
        txn.commit(step)
    except BaseException as error:
        roll_back(txn, error, uncommitted, engine)
        raise
    if uncommitted.moved:
        engine.discard_moved(uncommitted.moved)


def _fold_own_deletes(
    txn: OpenTxn,
    uncommitted: Uncommitted,
    store: Store,
    engine: Engine,
    held: Callable[[TableName], bool],
) -> None:
    """Take the rows that the transaction inserted and deleted again out of its files.

    Hive's readers do not expect a delete of a row of the same write id: Hive 4 shows such rows
    again once it has compacted them (docs/interop.md).
    """
    for name, places in uncommitted.own_deletes.items():
        snapshot = TableSnapshot(
            store.table(name),
            tuple(places.values()),
            txn.snapshot([name])[name],
            txn.require_open,
        )
        uncommitted.paths += engine.fold(
            snapshot, txn.valid_txns, txn.write_id(name), txn.txn_id, keep=held(name)
        )


def roll_back(txn: OpenTxn, error: BaseException, uncommitted: Uncommitted, engine: Engine) -> None:
    """Abort because of an error, which the caller still gets to see. Never raises.

    The files are removed first, while the locks are held.
    """
    if txn.owns_files():
        engine.discard(uncommitted.paths)
    uncommitted.paths.clear()
    txn.abort_after(error)


def write_result(plan: WritePlan, job: JobResult, txn: OpenTxn, write_id: int) -> Result:
    """The counts and ids of a write. TRUNCATE has no counts: it reads no rows."""
    counted = not isinstance(plan, TruncatePlan)
    return Result(
        plan.kind,
        rows_inserted=job.rows_inserted if counted else None,
        rows_updated=job.rows_updated if counted else None,
        rows_deleted=job.rows_deleted if counted else None,
        metrics=job.metrics,
        txn_id=txn.txn_id,
        write_ids={str(plan.table): write_id} if write_id != NO_WRITE_ID else {},
    )
