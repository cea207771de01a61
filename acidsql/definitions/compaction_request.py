"""The compaction that a statement asks for: its entry in the queue, and the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable

from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import partition_directory
from acidsql.model.ids import CompactionId
from acidsql.planner.compact import plan_compact
from acidsql.plans.compact import CompactPlan
from acidsql.ports.catalog import partition_not_found
from acidsql.ports.store import Store
from acidsql.statements import Compact
from acidsql.statements.fragment import TableRef
from acidsql.txn.entities import UNFINISHED, Compaction, CompactionType
from acidsql.txn.manager import TxnManager

WAIT_S = 300.0
"""hive.compactor.wait.timeout."""


def compact(
    statement: Compact, scope: Scope, host: str, run_worker: Callable[[], object]
) -> Result:
    """Put the compaction into the queue; with AND WAIT, run the queue and say what became of it."""
    plan = plan_compact(statement, scope.names, scope.arguments)
    number = request_compaction(plan, statement.target, scope.store, host)
    if statement.wait:
        run_worker()
        wait_for_compaction(number, scope.store)
    return compaction_result(number, scope.store, finished=statement.wait)


def request_compaction(
    plan: CompactPlan, target: TableRef, store: Store, host: str
) -> CompactionId:
    """Put the compaction into the queue; its number there.

    PartitionNotFoundError, with the place of ``target``, if the partition does not exist.
    """
    found = partition_directory(store, store.table(plan.table), plan.partition)
    if plan.partition is not None and found is None:
        raise partition_not_found(plan.table, plan.partition, target.line, target.column)
    kind = CompactionType.MAJOR if plan.type == "major" else CompactionType.MINOR
    partition = str(plan.partition) if plan.partition else None
    return store.compact(plan.table, partition, kind, host=host)


def wait_for_compaction(
    number: CompactionId, txns: TxnManager, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Wait until a worker has carried the compaction out or failed, but no longer than `WAIT_S`.

    The worker may be another one than this session's: another acidsql may have taken the entry
    before, and a Hive Metastore may give its queue to Hive's workers only.
    """
    waited_s, pause_s = 0.0, 2.0
    while waited_s < WAIT_S:
        entry = _entry(number, txns)
        if entry is None or entry.state not in UNFINISHED:
            return
        sleep(pause_s)
        waited_s += pause_s
        pause_s = min(2 * pause_s, WAIT_S - waited_s)


def _entry(number: CompactionId, txns: TxnManager) -> Compaction | None:
    return next((c for c in txns.show_compactions() if c.compaction_id == number), None)


def compaction_result(number: CompactionId, txns: TxnManager, *, finished: bool) -> Result:
    """The result in Hive's words, with the state of the compaction if ``finished`` was awaited."""
    message = f"Compaction enqueued with id {number}"
    if finished:
        done = _entry(number, txns)
        if done is None:
            message += "\nThe compaction is gone with its table or partition"
            return Result("compact", message=message)
        if done.state in UNFINISHED:
            message += f"\nCompaction with id {number} is still {done.state.word}"
            return Result("compact", message=message)
        message += f"\nCompaction with id {number} finished with status: {done.state.word}"
        if done.error_message:
            message += f"\n{done.error_message}"
    return Result("compact", message=message)
