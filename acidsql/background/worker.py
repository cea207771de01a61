"""The worker: carries out the compactions of the queue."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from acidsql.background.events import Action, Event
from acidsql.background.rebalance import BUCKETED, open_rebalance, rows_below
from acidsql.background.scope import BackgroundScope
from acidsql.errors import AcidSqlError, TableNotFoundError, UnsupportedStatementError
from acidsql.execution.compaction_need import sizes_of
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.acid_state import acid_state
from acidsql.model.access import Access, Operation
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.sort_order import SortColumn, parse_sort_order
from acidsql.model.table import Table, TableKind
from acidsql.plans.compact import CompactPlan
from acidsql.ports.catalog import Catalog
from acidsql.ports.engine import Engine, PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.txn.entities import Compaction, CompactionState, CompactionType, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, error_line

_log = logging.getLogger(__name__)

NOT_ENOUGH = "None of the compaction thresholds met, compaction request is refused!"
"""Hive's words for a compaction that would change nothing."""


def run_worker(
    scope: BackgroundScope,
    engine: Engine,
    host: str,
    pool: str | None = None,
    until: Callable[[], bool] = lambda: False,
) -> int:
    """Carry out the queued compactions, one after the other. Returns how many were carried out.

    With ``pool`` those of the pool, else those of no pool. A compaction that fails in any way is
    marked as failed, with the reason. The others go on. None is begun once ``until`` answers True.
    """
    done = 0
    while not until():
        compaction = scope.txns.next_compaction(f"{host}-acidsql", pool)
        if compaction is None:
            break
        work = partial(_carry_out, compaction, scope, engine)
        done += scope.supervisor.attempt("worker", work, otherwise=0, about=compaction.label)
    return done


def _carry_out(compaction: Compaction, scope: BackgroundScope, engine: Engine) -> bool:
    txns: list[OpenTxn] = []
    started_s = scope.clock()
    scope.told(Event.of(Action.BEGUN, compaction))
    try:
        ended = _compact(compaction, scope, engine, txns.append)
    except BaseException as error:
        for txn in txns:
            txn.abort_after(error)
        reason = _reason(error)
        try:
            _fail(compaction, txns[0] if txns else None, scope.txns, reason)
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
    compaction: Compaction,
    scope: BackgroundScope,
    engine: Engine,
    opened: Callable[[OpenTxn], None],
) -> _Ended:
    """Carry out one compaction. ``opened`` is told the transaction that is to end."""
    name = TableName(compaction.database, compaction.table)
    kind = compaction.type
    if kind is CompactionType.REBALANCE:
        table = scope.catalog.find_table(name)
        if table is None or table.bucketing is not None:
            reason = _gone(name) if table is None else BUCKETED
            scope.txns.mark_refused(compaction.compaction_id, reason)
            return _Ended(reason)
        if table.kind is TableKind.INSERT_ONLY:
            # As in Hive: there are no row ids whose order or buckets could change.
            kind = CompactionType.MAJOR
    if kind is CompactionType.REBALANCE:
        txn = open_rebalance(compaction, name, scope.txns, scope.open_txn, scope.sleep)
        opened(txn)
    else:
        txn = scope.open_txn(TxnType.COMPACTION)
        opened(txn)
        # While the worker writes, no session may drop or rename the directory (Hive's Worker).
        txn.lock(lock_components([Access.of(name, Operation.SELECT, compaction.partition_name)]))
    return _work(compaction, kind, name, txn, scope, engine)


def _work(
    compaction: Compaction,
    kind: CompactionType,
    name: TableName,
    txn: OpenTxn,
    scope: BackgroundScope,
    engine: Engine,
) -> _Ended:
    txns, number = scope.txns, compaction.compaction_id
    target = _target(compaction, name, scope.catalog)
    if target is None:
        txn.abort("nothing to compact")
        txns.mark_refused(number, _gone(name))
        return _Ended(_gone(name))
    table, directory = target
    write_ids, highest = _covered(kind, name, txn)
    require_open = partial(_require_open, txn, _deadline(scope), scope.open_txn.policy)
    snapshot = TableSnapshot(table, (directory,), write_ids, require_open)
    # Recorded before anything is written, so that a crash is traceable (as in Hive's Worker).
    txns.compaction_started(number, txn.txn_id, highest)
    read = _measured(compaction, snapshot, txn.valid_txns, scope.storage)
    plan = _plan(compaction, kind, table)
    if kind is CompactionType.REBALANCE:
        engine.rebalance(plan, snapshot, txn.valid_txns, txn.txn_id, highest)
    else:
        wrote = engine.compact(plan, snapshot, txn.valid_txns, txn.txn_id)
        if not wrote and not _has_obsolete(snapshot, txn.valid_txns, scope.storage):
            txn.abort("nothing to compact")
            txns.mark_refused(number, NOT_ENOUGH)
            return _Ended(NOT_ENOUGH)
    txn.check()
    txns.mark_compacted(number)
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


def _covered(
    kind: CompactionType, name: TableName, txn: OpenTxn
) -> tuple[ValidWriteIdList, WriteId]:
    """The write ids that the compaction reads, and the highest write id that it covers."""
    write_ids = txn.snapshot([name])[name]
    if kind is CompactionType.REBALANCE:
        own = txn.write_id(name)
        return rows_below(write_ids, own), own
    write_ids = write_ids.for_compactor()
    return write_ids, WriteId(max(0, write_ids.high_watermark))


def _gone(name: TableName) -> str:
    return f"{name} is gone, or cannot be compacted"


def _deadline(scope: BackgroundScope) -> Callable[[], bool]:
    """Tells whether the worker has taken longer than it may take for one compaction."""
    at_s = scope.clock() + scope.open_txn.policy.worker_timeout_s
    return lambda: scope.clock() > at_s


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


def _plan(compaction: Compaction, kind: CompactionType, table: Table) -> CompactPlan:
    kinds: dict[CompactionType, Literal["minor", "major", "rebalance"]] = {
        CompactionType.MINOR: "minor",
        CompactionType.MAJOR: "major",
        CompactionType.REBALANCE: "rebalance",
    }
    options = compaction.options
    order = options.order_by if kind is CompactionType.REBALANCE else None
    return CompactPlan(
        table=table.name,
        partition=compaction.partition_name,
        type=kinds[kind],
        buckets=options.buckets,
        order=_order(order, table) if order else (),
        properties=tuple(sorted(options.properties.items())),
    )


def _order(text: str, table: Table) -> tuple[SortColumn, ...]:
    hint = "Ask for it with other columns."
    try:
        order = parse_sort_order(text)
    except ValueError as error:
        raise UnsupportedStatementError(
            f"a rebalance sorts by columns only: {error}", hint=hint
        ) from error
    for item in order:
        if item.column not in {column.name for column in table.columns}:
            raise UnsupportedStatementError(
                f'the rebalance is to sort by "{item.column}", which is no column of {table.name}',
                detail="Perhaps it was renamed after the rebalance was asked for.",
                hint=hint,
            )
    return order


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
