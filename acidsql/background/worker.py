"""The worker: carries out the compactions of the queue."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from acidsql.background.rebalance import BUCKETED, open_rebalance, rows_below
from acidsql.errors import AcidSqlError, TableNotFoundError, UnsupportedStatementError
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.acid_state import acid_state
from acidsql.model.access import Access, Operation
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.sort_order import SortColumn, parse_sort_order
from acidsql.model.table import Table, TableKind
from acidsql.plans.compact import CompactPlan
from acidsql.ports.catalog import Catalog
from acidsql.ports.engine import Engine, PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.process.supervisor import Supervisor
from acidsql.txn.entities import Compaction, CompactionState, CompactionType, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, error_line

_log = logging.getLogger(__name__)

NOT_ENOUGH = "None of the compaction thresholds met, compaction request is refused!"
"""Hive's words for a compaction that would change nothing."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker needs. ``clock`` and ``sleep`` are those of this process, in seconds."""

    txns: TxnManager
    catalog: Catalog
    engine: Engine
    storage: Storage
    supervisor: Supervisor
    user: str
    host: str
    policy: TxnPolicy
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def open_txn(self, **more: object) -> OpenTxn:
        """A transaction of the worker; ``more`` are arguments of `OpenTxn`."""
        return OpenTxn(
            self.txns,
            user=self.user,
            host=self.host,
            policy=self.policy,
            **more,  # type: ignore[arg-type]
        )


def run_worker(worker: Worker, pool: str | None = None) -> int:
    """Carry out the queued compactions, one after the other. Returns how many were carried out.

    With ``pool`` those of the pool, else those of no pool. A compaction that fails in any way is
    marked as failed, with the reason. The others go on.
    """
    done = 0
    name = f"{worker.host}-acidsql"
    while (compaction := worker.txns.next_compaction(name, pool)) is not None:
        work = partial(_carry_out, compaction, worker)
        done += worker.supervisor.attempt("worker", work, otherwise=0, about=compaction.label)
    return done


def _carry_out(compaction: Compaction, worker: Worker) -> bool:
    txns: list[OpenTxn] = []
    try:
        return _compact(compaction, worker, txns.append)
    except BaseException as error:
        for txn in txns:
            txn.abort_after(error)
        try:
            _fail(compaction, txns[0] if txns else None, worker.txns, error)
        except AcidSqlError:
            # The store takes the entry back once this worker seems to be dead.
            _log.warning("%s cannot be marked as failed", compaction.label, exc_info=True)
        raise


def _fail(
    compaction: Compaction, txn: OpenTxn | None, txns: TxnManager, error: BaseException
) -> None:
    """Mark the compaction as failed, unless the store has given its entry to another worker.

    The store does so if this worker seemed to be dead.
    """
    reason = error_line(error)
    if not isinstance(error, AcidSqlError):
        reason = f"{type(error).__name__}: {error}"
    own = None if txn is None else txn.txn_id
    for entry in txns.show_compactions():
        ours = entry.compaction_id == compaction.compaction_id
        ours = ours and entry.txn_id in (None, own)
        if ours and entry.state is CompactionState.WORKING:
            txns.mark_failed(entry.compaction_id, reason)


def _compact(compaction: Compaction, worker: Worker, opened: Callable[[OpenTxn], None]) -> bool:
    """Whether the compaction was carried out. ``opened`` is told the transaction that is to end."""
    name = TableName(compaction.database, compaction.table)
    kind = compaction.type
    if kind is CompactionType.REBALANCE:
        table = worker.catalog.find_table(name)
        if table is None or table.bucketing is not None:
            reason = _gone(name) if table is None else BUCKETED
            worker.txns.mark_refused(compaction.compaction_id, reason)
            return False
        if table.kind is TableKind.INSERT_ONLY:
            # As in Hive: there are no row ids whose order or buckets could change.
            kind = CompactionType.MAJOR
    if kind is CompactionType.REBALANCE:
        txn = open_rebalance(
            compaction, name, worker.txns, worker.open_txn, worker.policy, worker.sleep
        )
        opened(txn)
    else:
        txn = worker.open_txn(type=TxnType.COMPACTION)
        opened(txn)
        # While the worker writes, no session may drop or rename the directory (Hive's Worker).
        txn.lock(lock_components([Access.of(name, Operation.SELECT, compaction.partition_name)]))
    return _work(compaction, kind, name, txn, worker)


def _work(
    compaction: Compaction, kind: CompactionType, name: TableName, txn: OpenTxn, worker: Worker
) -> bool:
    txns, number = worker.txns, compaction.compaction_id
    target = _target(compaction, name, worker.catalog)
    if target is None:
        txn.abort("nothing to compact")
        txns.mark_refused(number, _gone(name))
        return False
    table, directory = target
    is_late = _deadline(worker)
    require_open = partial(_require_open, txn, is_late, worker.policy)
    write_ids = txn.snapshot([name])[name]
    if kind is CompactionType.REBALANCE:
        write_ids = rows_below(write_ids, txn.write_id(name))
        highest = txn.write_id(name)
    else:
        write_ids = write_ids.for_compactor()
        highest = WriteId(max(0, write_ids.high_watermark))
    snapshot = TableSnapshot(table, (directory,), write_ids, require_open)
    # Recorded before anything is written, so that a crash is traceable (as in Hive's Worker).
    txns.compaction_started(number, txn.txn_id, highest)
    plan = _plan(compaction, kind, name)
    if kind is CompactionType.REBALANCE:
        worker.engine.rebalance(plan, snapshot, txn.valid_txns, txn.txn_id, highest)
    else:
        wrote = worker.engine.compact(plan, snapshot, txn.valid_txns, txn.txn_id)
        if not wrote and not _has_obsolete(snapshot, txn.valid_txns, worker.storage):
            txn.abort("nothing to compact")
            txns.mark_refused(number, NOT_ENOUGH)
            return False
    txn.check()
    txns.mark_compacted(number)
    txn.commit()
    return True


def _gone(name: TableName) -> str:
    return f"{name} is gone, or cannot be compacted"


def _deadline(worker: Worker) -> Callable[[], bool]:
    """Tells whether the worker has taken longer than it may take for one compaction."""
    at_s = worker.clock() + worker.policy.worker_timeout_s
    return lambda: worker.clock() > at_s


def _require_open(txn: OpenTxn, is_late: Callable[[], bool], policy: TxnPolicy) -> None:
    """Raise unless the compaction may still publish its files."""
    if is_late():
        raise AcidSqlError(
            "the compaction took too long",
            detail=f"A worker may take {policy.worker_timeout_s:g} s.",
            hint="Set hive.compactor.worker.timeout.",
        )
    txn.require_open()


def _has_obsolete(snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage) -> bool:
    """Whether there is nothing to compact, but something for the cleaner (Hive needsCleaning).

    An overwrite leaves what it has replaced.
    """
    [directory] = snapshot.partitions
    files, markers = list_marked_files(directory.location, storage)
    kind = snapshot.table.kind
    return bool(acid_state(files, snapshot.write_ids, txns, markers, kind).obsolete)


def _plan(compaction: Compaction, kind: CompactionType, name: TableName) -> CompactPlan:
    kinds: dict[CompactionType, Literal["minor", "major", "rebalance"]] = {
        CompactionType.MINOR: "minor",
        CompactionType.MAJOR: "major",
        CompactionType.REBALANCE: "rebalance",
    }
    options = compaction.options
    return CompactPlan(
        table=name,
        partition=compaction.partition_name,
        type=kinds[kind],
        buckets=options.buckets,
        order=_order(options.order_by) if options.order_by else (),
        properties=options.properties,
    )


def _order(text: str) -> tuple[SortColumn, ...]:
    try:
        return parse_sort_order(text)
    except ValueError as error:
        raise UnsupportedStatementError(
            f"a rebalance sorts by columns only: {error}", hint="Ask for it with other columns."
        ) from error


def _target(
    compaction: Compaction, name: TableName, catalog: Catalog
) -> tuple[Table, PartitionLocation] | None:
    """The table, with the properties that the request overrides, and the directory to compact.

    None if the table or partition is gone, or the table is plain.
    """
    try:
        table = catalog.table(name)
    except TableNotFoundError:
        return None
    directory = partition_directory(catalog, table, compaction.partition_name)
    if table.kind is TableKind.PLAIN or directory is None:
        return None
    overrides = {
        key.removeprefix("tblprops."): value
        for key, value in sorted(compaction.options.properties.items(), reverse=True)
        if key.removeprefix("tblprops.").startswith("orc.")
    }
    return replace(table, parameters={**table.parameters, **overrides}), directory
