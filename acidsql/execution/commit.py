"""The end of a write: its job, what it reached, the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.errors import AnalysisError
from acidsql.execution.dynamic_partitions import refuse_too_many
from acidsql.execution.result import InsertedLeg, Result
from acidsql.execution.stale_partitions import refuse_stale_partitions
from acidsql.model.access import Operation
from acidsql.model.ids import NO_WRITE_ID, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.table import TableKind
from acidsql.plans.merge import MergePlan
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.plan import TableWrite, WritePlan, replaces, table_writes
from acidsql.plans.truncate import TruncatePlan
from acidsql.ports.catalog import Partition
from acidsql.ports.engine import (
    Engine,
    JobResult,
    PartitionLocation,
    TableSnapshot,
    WriteContext,
)
from acidsql.ports.storage import Storage, without_login
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
    storage: Storage,
    engine: Engine,
    uncommitted: Uncommitted,
    *,
    is_last: bool,
    max_partitions: int | None,
) -> list[JobResult]:
    """Run a statement's job and record which partitions it reached: a result for each write.

    If the statement ``is_last``, they are recorded with the commit, which comes next.
    ``max_partitions`` is how many an INSERT into dynamic partitions may reach.
    """
    jobs = engine.write(plan, context)
    written = list(zip(table_writes(plan), jobs, strict=True))
    tables = context.read.tables
    try:
        txn.check()
        _refuse_loaded_twice(jobs, uncommitted)
        plain = {one.table for one, _ in written if tables[one.table].table.kind is TableKind.PLAIN}
        # Their rows have already changed, also if another table of the statement refuses its own.
        for one, job in written:
            if one.table in plain:
                _forget_statistics({one.table: _partitions_of(job)}, store)
        for one, job in written:
            if one.table not in plain and tables[one.table].table.partition_columns:
                _refuse_stale(one, context, job, store, storage)
                refuse_too_many(one, tables[one.table].table, job, max_partitions)
                reached = _reached(one, context, job)
                if is_last:
                    uncommitted.reached.extend(reached)
                else:
                    _record(reached, txn, store)
    except BaseException:
        if txn.owns_files():
            engine.discard([path for job in jobs for path in job.paths])
        raise
    for one, job in written:
        uncommitted.add(one.table, context.write_ids[one.table], job, tables[one.table].partitions)
    return jobs


def _refuse_loaded_twice(jobs: Sequence[JobResult], uncommitted: Uncommitted) -> None:
    """AnalysisError for a file that an earlier LOAD DATA of the block has copied.

    The file is there until the commit, and its rows would be there twice.
    """
    twice = next((path for job in jobs for path in job.moved if path in uncommitted.moved), None)
    if twice is not None:
        raise AnalysisError(
            f"this transaction has loaded {without_login(twice)} already",
            detail="LOAD DATA moves files, which the commit removes from their old place.",
            hint="INSERT … SELECT copies rows from one table to another.",
        )


def _refuse_stale(
    plan: TableWrite, context: WriteContext, job: JobResult, store: Store, storage: Storage
) -> None:
    """AnalysisError if a partition that the write makes shows more than its rows.

    An overwrite hides them.
    """
    snapshot = context.read.tables[plan.table]
    if replaces(plan):
        return
    known = {place.name for place in snapshot.partitions}
    new = [t for t in job.touched if t.partition is not None and t.partition not in known]
    places = [PartitionLocation(t.partition, t.location) for t in new]
    own = context.write_ids[plan.table]
    refuse_stale_partitions(places, snapshot, own, store, storage)


def _reached(plan: TableWrite, context: WriteContext, job: JobResult) -> list[Reached]:
    """The partitions that the job reached, for the write set.

    A job that reached none is reported, too: it clears what the lock has recorded for partitions
    yet unknown. An insert by a MERGE that may change rows is reported as a change: of two such
    MERGEs that find no row of a key, the first to commit wins, and the other one would double it.
    """
    upserts = isinstance(plan, MergePlan) and bool(plan.changing)
    reached: dict[Operation, set[str]] = {}
    write_id = context.write_ids[plan.table]
    if not job.touched:
        reached[Operation.INSERT] = set()
    for touched in job.touched:
        inserted = touched.operation is Operation.INSERT
        operation = Operation.UPDATE if inserted and upserts else touched.operation
        reached.setdefault(operation, set()).add(str(touched.partition))
    return [
        Reached(write_id, plan.table, sorted(partitions), write_operation(operation))
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
            # Every session in this order, so that no two of them wait for each other.
            for table in sorted(uncommitted.partitions, key=str):
                store.add_partitions(table, list(uncommitted.partitions[table].values()))

    try:
        txn.check()
        _fold_own_deletes(txn, uncommitted, store, engine, held)
        _forget_statistics(uncommitted.changed, store)
        engine.require_copied(uncommitted.moved)
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


def write_result(
    plan: WritePlan, jobs: Sequence[JobResult], txn: OpenTxn, write_ids: Mapping[TableName, WriteId]
) -> Result:
    """The counts and ids of a write. TRUNCATE has no counts: it reads no rows."""

    def total(counts: Iterable[int]) -> int | None:
        return None if isinstance(plan, TruncatePlan) else sum(counts)

    return Result(
        plan.kind,
        rows_inserted=total(job.rows_inserted for job in jobs),
        rows_updated=total(job.rows_updated for job in jobs),
        rows_deleted=total(job.rows_deleted for job in jobs),
        metrics=jobs[0].metrics,
        legs=_legs(plan, jobs),
        txn_id=txn.txn_id,
        write_ids={str(t): number for t, number in write_ids.items() if number != NO_WRITE_ID},
    )


def _legs(plan: WritePlan, jobs: Sequence[JobResult]) -> tuple[InsertedLeg, ...]:
    if not isinstance(plan, MultiInsertPlan):
        return ()
    return tuple(
        InsertedLeg(str(leg.table), job.rows_inserted)
        for leg, job in zip(plan.legs, jobs, strict=True)
    )
