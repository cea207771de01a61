"""A compaction that a statement asks for: into the queue, and what became of it."""

from __future__ import annotations

from acidsql.errors import PartitionNotFoundError
from acidsql.model.ids import CompactionId
from acidsql.plans.compact import CompactPlan
from acidsql.result import Result
from acidsql.services.snapshots import table_directories
from acidsql.statements.fragment import TableRef
from acidsql.store import Store
from acidsql.txn.entities import CompactionType
from acidsql.txn.manager import TxnManager


def request_compaction(
    plan: CompactPlan, target: TableRef, store: Store, host: str
) -> CompactionId:
    """Enqueue it. PartitionNotFoundError, at ``target``, if there is no such partition."""
    directories = table_directories(store, store.table(plan.table))
    if plan.partition not in {d.name for d in directories}:
        raise PartitionNotFoundError(
            f"table {plan.table} has no partition {plan.partition}",
            code=10006,
            line=target.line,
            column=target.column,
        )
    kind = CompactionType.MAJOR if plan.type == "major" else CompactionType.MINOR
    partition = str(plan.partition) if plan.partition else None
    return store.compact(plan.table, partition, kind, host=host)


def compaction_result(number: CompactionId, txns: TxnManager, *, finished: bool) -> Result:
    """Hive's words; once a worker had its turn (``finished``), the state it left."""
    message = f"Compaction enqueued with id {number}"
    if finished:
        done = next((c for c in txns.show_compactions() if c.compaction_id == number), None)
        if done is None:
            message += "\nIt is gone with its table or partition"
            return Result("compact", message=message)
        message += f"\nCompaction with id {number} finished with status: {done.state.word}"
        if done.error_message:
            message += f"\n{done.error_message}"
    return Result("compact", message=message)
