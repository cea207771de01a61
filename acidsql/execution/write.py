"""One write: its transaction or that of a block, plan, locks, job, commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from acidsql.errors import AcidSqlError, AnalysisError
from acidsql.execution.commit import write, write_result
from acidsql.execution.dynamic_partitions import refuse_dynamic
from acidsql.execution.empty_target import refuse_rows
from acidsql.execution.emptying import emptying
from acidsql.execution.older_store import refuse_older_store
from acidsql.execution.overtaking import Overtaker, overtaken, overtaker
from acidsql.execution.places import refuse_source
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import changed_partition, read_context
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.model.ids import NO_WRITE_ID, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.prune import prune_partitions
from acidsql.model.table import Table, TableKind
from acidsql.planner.accesses import write_accesses
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import ChangePlan, WritePlan, table_writes, tables_read, targets
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import Engine, JobResult, ReadContext, WriteContext
from acidsql.statements import WriteStatement
from acidsql.txn.entities import LockComponent, LockType
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, TxnOpener

SNAPSHOT_RETRIES = 5
"""How many tries a single statement has, the first one included, if it has to wait for locks.

The number is Hive's default of hive.txn.retrysnapshot.max.count.
"""


class OutdatedError(Exception):
    """What the statement was planned on changed before its locks were granted.

    ``lost`` says that the transaction's own snapshot is out of date, so that a new one is needed.
    ``error`` is raised if there are no more tries.
    """

    def __init__(self, reason: str, error: AcidSqlError, *, lost: bool) -> None:
        super().__init__(reason)
        self.reason, self.error, self.lost = reason, error, lost


@dataclass(frozen=True, slots=True)
class _Planned:
    """A write as it was planned before it had its locks."""

    plan: WritePlan
    targets: Mapping[TableName, Table]
    seen: SeenNames
    changed: PartitionName | None
    """The one partition of the target in which rows may change, and which is locked; or None."""
    locks: list[LockComponent]


@dataclass(frozen=True, slots=True)
class _Outdated:
    """The transaction of an earlier try, which still has its locks or waits for them."""

    txn: OpenTxn
    locks: list[LockComponent]
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """A write that is done but not committed."""

    plan: WritePlan
    jobs: Sequence[JobResult]
    write_ids: Mapping[TableName, WriteId]


def run_write(
    statement: WriteStatement,
    block: TransactionBlock | None,
    open_txn: TxnOpener,
    scope: Scope,
    engine: Engine,
) -> Result:
    """Write what the statement says, and commit it unless it is part of a block.

    A statement whose plan is outdated when it gets its locks starts again. If the statement fails,
    its files are removed, or the whole block is lost.
    """
    outdated: _Outdated | None = None
    for number in count(1):
        with _ending(outdated):
            planned = _plan(statement, scope, open_txn.policy, block)
            own = block or _open(planned, outdated, open_txn, scope)
        try:
            renews = block is None and number == 1
            written = _try_once(planned, own, scope, engine, renews=renews)
            if block is None:
                own.commit(scope.store, engine)
            return write_result(written.plan, written.jobs, own.txn, written.write_ids)
        except OutdatedError as cause:
            if number == SNAPSHOT_RETRIES or (block is not None and cause.lost):
                own.lose(cause.error, engine)
                raise cause.error from None
            if block is None:
                outdated = _Outdated(own.txn, planned.locks, cause.reason)
        except BaseException as error:
            if block is None:
                own.lose(error, engine)
            raise
    raise AssertionError("the loop ends by returning or raising")


def planned_write(statement: WriteStatement, scope: Scope, policy: TxnPolicy) -> WritePlan:
    """The plan of a write that is not carried out. Raises what is known before it has its locks."""
    return _plan(statement, scope, policy, None).plan


def _plan(
    statement: WriteStatement, scope: Scope, policy: TxnPolicy, block: TransactionBlock | None
) -> _Planned:
    seen = SeenNames(scope.names)
    plan = make_plan(statement, seen, scope.arguments, scope.rules)
    assert not isinstance(plan, QueryPlan)
    written = seen.require(targets(plan))
    if isinstance(plan, LoadPlan):
        refuse_source(plan.path, scope, local=plan.local)
    refuse_dynamic(plan, written, scope.settings)
    for part in table_writes(plan):
        refuse_older_store(part, written[part.table], scope)
    uncommitted = block.uncommitted if block is not None else None
    changed = changed_partition(scope.store, plan, written, uncommitted)
    locks = lock_components(write_accesses(plan, written, changed), policy)
    return _Planned(plan, written, seen, changed, locks)


@contextmanager
def _ending(outdated: _Outdated | None) -> Iterator[None]:
    """A block after which an outdated transaction has ended, be it by an error of the block."""
    try:
        yield
    except BaseException as error:
        if outdated is not None:
            outdated.txn.abort_after(error)
        raise


def _open(
    planned: _Planned, outdated: _Outdated | None, open_txn: TxnOpener, scope: Scope
) -> TransactionBlock:
    """A transaction of the statement alone: its write ids and locks are asked for as it opens.

    If an earlier transaction of the statement asked for the same locks, they are handed on, or its
    place in the queue is. Otherwise those behind it would come first and outdate the new one too.
    """
    _release(planned, scope)
    heir_of = outdated.txn if outdated is not None and outdated.locks == planned.locks else None
    if outdated is not None and heir_of is None:
        outdated.txn.abort(outdated.reason)
    tables = [t.name for t in planned.targets.values() if t.kind is not TableKind.PLAIN]
    txn = open_txn(tables=tables, components=planned.locks, heir_of=heir_of)
    return TransactionBlock(txn, explicit=False)


def _try_once(
    planned: _Planned, block: TransactionBlock, scope: Scope, engine: Engine, *, renews: bool
) -> Written:
    """Write what the statement says. OutdatedError, before anything is written, to try again.

    With ``renews`` that is also raised once others keep the statement waiting for its locks no
    longer: they have mostly changed what it is about to change. The next transaction, which begins
    after theirs, is granted the locks as it opens.

    On any other error the statement's files are gone, or the whole block is lost.
    """
    plan, txn = planned.plan, block.txn
    for part in table_writes(plan):
        block.admit(part, planned.targets[part.table])
    write_ids = {
        name: NO_WRITE_ID if target.kind is TableKind.PLAIN else txn.write_id(name)
        for name, target in planned.targets.items()
    }
    released = _release(planned, scope) if block.explicit else ()
    for name in released:
        block.let_go(name)
    if not txn.lock(planned.locks, until_woken=renews):
        raise OutdatedError("others held its locks", altered(), lost=False)
    _require_current(planned, write_ids, block, scope)
    tables = [scope.store.table(n) for n in dict.fromkeys((*write_ids, *tables_read(plan)))]
    read = read_context(
        scope.store,
        txn,
        tables,
        scope.arguments,
        block.uncommitted,
        plan,
        scope.names.database,
    )
    _require_locked(planned, read)
    refuse_rows(plan, read, scope)
    if not block.explicit:
        _require_newest(plan, read, write_ids, txn.txn_id, scope)
    context = WriteContext(read, write_ids, block.take_statement_ids(plan))
    if not txn.granted_on_open:
        _require_ahead(plan, context, txn.txn_id, scope)
    if not block.explicit:
        plan = emptying(plan, context, scope.store)
    jobs = _write(plan, context, block, scope, engine)
    for part in table_writes(plan):
        block.wrote(part, write_ids[part.table])
    return Written(plan, jobs, write_ids)


def _release(planned: _Planned, scope: Scope) -> list[TableName]:
    """Release our own lazy frames of the targets whose locks exclude readers. These targets.

    The statement would wait for them in vain. They stay readable until the cleaner comes, so that
    one of them may even be what the table is overwritten with.
    """
    excluded = {(c.database, c.table) for c in planned.locks if c.type is LockType.EXCLUSIVE}
    due = [name for name in planned.targets if (name.database, name.table) in excluded]
    if due:
        scope.release(lambda held: held in due)
    return due


def _require_current(
    planned: _Planned,
    write_ids: Mapping[TableName, WriteId],
    block: TransactionBlock,
    scope: Scope,
) -> None:
    """OutdatedError if something changed while the statement waited for its locks.

    Then its snapshot could never commit, or its plan is one for other columns.
    """
    txn = block.txn
    is_new = txn.granted_on_open
    if not is_new:
        # First, because most statements that waited have lost to such a transaction.
        winner = scope.store.latest_txn_in_conflict(txn.txn_id)
        if winner is not None:
            reason = "snapshot was outdated when locks were acquired"
            error = winner.error(txn.txn_id, next(iter(write_ids)))
            raise OutdatedError(reason, error, lost=True)
    for table, write_id in write_ids.items():
        if not is_new and write_id != NO_WRITE_ID and not txn.still_has(table, write_id):
            raise OutdatedError("the table was dropped and made again", altered(), lost=True)
    if not planned.seen.still_hold():
        raise OutdatedError("a table was altered", altered(), lost=False)


def _require_locked(planned: _Planned, read: ReadContext) -> None:
    """OutdatedError if there is now another partition that the statement would change."""
    plan, changed = planned.plan, planned.changed
    if changed is None or not isinstance(plan, ChangePlan):
        return
    target, known = planned.targets[plan.table], read.tables[plan.table].partitions
    places = prune_partitions(target, known, plan.predicates)
    if any(place.name != changed for place in places):
        raise OutdatedError("a partition came that is not locked", altered(), lost=False)


def _require_newest(
    plan: WritePlan,
    read: ReadContext,
    write_ids: Mapping[TableName, WriteId],
    txn_id: TxnId,
    scope: Scope,
) -> None:
    """OutdatedError if a statement may delete rows whose write id is higher than its own.

    The snapshot is taken after the write id is given out, and an INSERT may have been committed in
    between. No delete event may be older than its row, and no base hides a row of a later write id.
    """
    for part in table_writes(plan):
        if isinstance(part, ChangePlan):
            own = write_ids[part.table]
            later = read.tables[part.table].write_ids.first_seen_above(own)
            if later is not None:
                error = overtaken(part.table, txn_id, Overtaker(later), scope.store)
                reason = "a later write id was committed before the snapshot"
                raise OutdatedError(reason, error, lost=True)


def _require_ahead(plan: WritePlan, context: WriteContext, txn_id: TxnId, scope: Scope) -> None:
    """OutdatedError if a later write has overtaken this one: a base hides lower write ids."""
    for part in table_writes(plan):
        by = overtaker(part, context, scope.store, scope.storage)
        if by is not None:
            reason = "a later write id was committed before locks were acquired"
            raise OutdatedError(reason, overtaken(part.table, txn_id, by, scope.store), lost=True)


def _write(
    plan: WritePlan, context: WriteContext, block: TransactionBlock, scope: Scope, engine: Engine
) -> list[JobResult]:
    try:
        return write(
            plan,
            context,
            block.txn,
            scope.store,
            scope.storage,
            engine,
            block.uncommitted,
            is_last=not block.explicit,
            max_partitions=scope.settings.max_dynamic_partitions,
        )
    except BaseException as error:
        if block.explicit:
            _undo(plan, context, block, engine, error)
        raise


def _undo(
    plan: WritePlan,
    context: WriteContext,
    block: TransactionBlock,
    engine: Engine,
    error: BaseException,
) -> None:
    """Remove the files of a failed statement, whose block may go on; else lose the block."""
    try:
        engine.undo(plan, context)
    except AcidSqlError:
        block.lose(error, engine)


def altered() -> AnalysisError:
    """The error of a statement whose tables were altered in each of its tries."""
    return AnalysisError(
        "a table of the statement was altered again and again while it waited",
        hint="Run the statement again.",
    )
