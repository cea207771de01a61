"""The worker: carries out the compactions of the queue."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Literal

from acidsql.errors import AcidSqlError, TableNotFoundError
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.acid_state import acid_state
from acidsql.model.access import Access, Operation
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import TableKind
from acidsql.plans.compact import CompactPlan
from acidsql.ports.catalog import Catalog
from acidsql.ports.engine import Engine, TableSnapshot
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


def run_worker(
    txns: TxnManager,
    catalog: Catalog,
    engine: Engine,
    storage: Storage,
    supervisor: Supervisor,
    *,
    user: str,
    host: str,
    policy: TxnPolicy,
) -> int:
    """Carry out the queued compactions, one after the other. Returns how many were carried out.

    A compaction that fails in any way is marked as failed, with the reason. The others go on.
    """
    done = 0
    while (compaction := txns.next_compaction(f"{host}-acidsql")) is not None:
        open_txn = partial(
            OpenTxn, txns, user=user, host=host, type=TxnType.COMPACTION, policy=policy
        )
        work = partial(_carry_out, compaction, open_txn, txns, catalog, engine, storage)
        done += supervisor.attempt("worker", work, otherwise=0, about=compaction.label)
    return done


def _carry_out(
    compaction: Compaction,
    open_txn: Callable[[], OpenTxn],
    txns: TxnManager,
    catalog: Catalog,
    engine: Engine,
    storage: Storage,
) -> bool:
    txn = None
    try:
        txn = open_txn()
        return _compact(compaction, txn, txns, catalog, engine, storage)
    except BaseException as error:
        if txn is not None:
            txn.abort_after(error)
        try:
            _fail(compaction, txn, txns, error)
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


def _compact(
    compaction: Compaction,
    txn: OpenTxn,
    txns: TxnManager,
    catalog: Catalog,
    engine: Engine,
    storage: Storage,
) -> bool:
    name = TableName(compaction.database, compaction.table)
    # While the worker writes, no session may drop or rename the directory (Hive's Worker).
    txn.lock(lock_components([Access.of(name, Operation.SELECT, compaction.partition_name)]))
    snapshot = _snapshot(compaction, name, txn, catalog)
    if snapshot is None:
        txn.abort("nothing to compact")
        txns.mark_refused(compaction.compaction_id, f"{name} is gone, or cannot be compacted")
        return False
    highest = WriteId(max(0, snapshot.write_ids.high_watermark))
    # Recorded before anything is written, so that a crash is traceable (as in Hive's Worker).
    txns.compaction_started(compaction.compaction_id, txn.txn_id, highest)
    wrote = engine.compact(_plan(compaction, name), snapshot, txn.valid_txns, txn.txn_id)
    if not wrote and not _has_obsolete(snapshot, txn.valid_txns, storage):
        txn.abort("nothing to compact")
        txns.mark_refused(compaction.compaction_id, NOT_ENOUGH)
        return False
    txn.check()
    txns.mark_compacted(compaction.compaction_id)
    txn.commit()
    return True


def _has_obsolete(snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage) -> bool:
    """Whether there is nothing to compact, but something for the cleaner (Hive needsCleaning).

    An overwrite leaves what it has replaced.
    """
    [directory] = snapshot.partitions
    files, markers = list_marked_files(directory.location, storage)
    kind = snapshot.table.kind
    return bool(acid_state(files, snapshot.write_ids, txns, markers, kind).obsolete)


def _plan(compaction: Compaction, name: TableName) -> CompactPlan:
    kind: Literal["minor", "major"] = (
        "major" if compaction.type is CompactionType.MAJOR else "minor"
    )
    return CompactPlan(table=name, partition=compaction.partition_name, type=kind)


def _snapshot(
    compaction: Compaction, name: TableName, txn: OpenTxn, catalog: Catalog
) -> TableSnapshot | None:
    """The one directory to compact under the compactor's write ids; None if it cannot be compacted.

    That is so if the table or partition is gone, or the table is plain.
    """
    try:
        table = catalog.table(name)
    except TableNotFoundError:
        return None
    directory = partition_directory(catalog, table, compaction.partition_name)
    if table.kind is TableKind.PLAIN or directory is None:
        return None
    write_ids = txn.snapshot([name])[name].for_compactor()
    return TableSnapshot(table, (directory,), write_ids, txn.require_open)
