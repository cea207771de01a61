"""The worker: carries out the compactions of the queue."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from acidsql.background.events import Action, Event
from acidsql.background.initiator import sizes_of
from acidsql.background.scope import BackgroundScope
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
from acidsql.txn.entities import Compaction, CompactionState, CompactionType, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.manager import TxnManager
from acidsql.txn.transaction import OpenTxn, error_line

_log = logging.getLogger(__name__)

NOT_ENOUGH = "None of the compaction thresholds met, compaction request is refused!"
"""Hive's words for a compaction that would change nothing."""


def run_worker(
    scope: BackgroundScope, engine: Engine, host: str, until: Callable[[], bool] = lambda: False
) -> int:
    """Carry out the queued compactions, one after the other. Returns how many were carried out.

    A compaction that fails in any way is marked as failed, with the reason. The others go on. None
    is begun once ``until`` answers True.
    """
    done = 0
    while not until():
        compaction = scope.txns.next_compaction(f"{host}-acidsql")
        if compaction is None:
            break
        work = partial(_carry_out, compaction, scope, engine)
        done += scope.supervisor.attempt("worker", work, otherwise=0, about=compaction.label)
    return done


def _carry_out(compaction: Compaction, scope: BackgroundScope, engine: Engine) -> bool:
    txn = None
    started_s = scope.clock()
    scope.told(Event.of(Action.BEGUN, compaction))
    try:
        txn = scope.open_txn(TxnType.COMPACTION)
        ended = _compact(compaction, txn, scope, engine)
    except BaseException as error:
        if txn is not None:
            txn.abort_after(error)
        reason = _reason(error)
        try:
            _fail(compaction, txn, scope.txns, reason)
        except AcidSqlError:
            # The store takes the entry back once this worker seems to be dead.
            _log.warning("%s cannot be marked as failed", compaction.label, exc_info=True)
        seconds = scope.clock() - started_s
        scope.told(Event.of(Action.FAILED, compaction, seconds=seconds, reason=reason))
        raise
    seconds = scope.clock() - started_s
    event = Event.of(
        Action.DONE if ended.refusal is None else Action.REFUSED,
        compaction,
        seconds=seconds,
        directories=ended.directories,
        bytes=ended.bytes,
        reason=ended.refusal,
    )
    scope.told(event)
    return ended.refusal is None


@dataclass(frozen=True, slots=True)
class _Ended:
    """A compaction that was carried out, with what it has read if that is known, or refused."""

    refusal: str | None = None
    directories: int | None = None
    bytes: int | None = None


def _reason(error: BaseException) -> str:
    if isinstance(error, AcidSqlError):
        return error_line(error)
    return f"{type(error).__name__}: {error}"


def _fail(compaction: Compaction, txn: OpenTxn | None, txns: TxnManager, reason: str) -> None:
    """Mark the compaction as failed, unless the store has given its entry to another worker.

    The store does so if this worker seemed to be dead.
    """
    own = None if txn is None else txn.txn_id
    for entry in txns.show_compactions():
        ours = entry.compaction_id == compaction.compaction_id
        ours = ours and entry.txn_id in (None, own)
        if ours and entry.state is CompactionState.WORKING:
            txns.mark_failed(entry.compaction_id, reason)


def _compact(
    compaction: Compaction, txn: OpenTxn, scope: BackgroundScope, engine: Engine
) -> _Ended:
    name = TableName(compaction.database, compaction.table)
    txns = scope.txns
    # While the worker writes, nobody may drop or rename the directory (as in Hive's Worker).
    txn.lock(lock_components([Access.of(name, Operation.SELECT, compaction.partition_name)]))
    snapshot = _snapshot(compaction, name, txn, scope.catalog)
    if snapshot is None:
        reason = f"{name} is gone, or cannot be compacted"
        txn.abort("nothing to compact")
        txns.mark_refused(compaction.compaction_id, reason)
        return _Ended(reason)
    highest = WriteId(max(0, snapshot.write_ids.high_watermark))
    # Recorded before anything is written, so that a crash is traceable (as in Hive's Worker).
    txns.compaction_started(compaction.compaction_id, txn.txn_id, highest)
    read = _measured(compaction, snapshot, txn.valid_txns, scope.storage)
    wrote = engine.compact(_plan(compaction, name), snapshot, txn.valid_txns, txn.txn_id)
    if not wrote and not _has_obsolete(snapshot, txn.valid_txns, scope.storage):
        txn.abort("nothing to compact")
        txns.mark_refused(compaction.compaction_id, NOT_ENOUGH)
        return _Ended(NOT_ENOUGH)
    txn.check()
    txns.mark_compacted(compaction.compaction_id)
    txn.commit()
    return read


def _measured(
    compaction: Compaction, snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage
) -> _Ended:
    """What the compaction will read, for its event; unknown if that cannot be listed.

    The compaction itself then fails, with the error that says why.
    """
    [directory] = snapshot.partitions
    kind = snapshot.table.kind
    try:
        files, markers = list_marked_files(directory.location, storage)
        state = acid_state(files, snapshot.write_ids, txns, markers, kind)
    except AcidSqlError:
        return _Ended()
    sizes = sizes_of(state, kind)
    if compaction.type is CompactionType.MINOR:
        return _Ended(directories=sizes.deltas, bytes=sizes.delta_bytes)
    count = len(state.names)
    return _Ended(directories=count, bytes=sizes.base_bytes + sizes.delta_bytes)


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
