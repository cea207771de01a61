"""The end of a write: its job, what it reached, the commit."""

from __future__ import annotations

from acidsql.catalog import Partition
from acidsql.errors import AcidSqlError
from acidsql.model.access import Operation
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.table import TableKind
from acidsql.plans.engine import Engine, JobResult, WriteContext
from acidsql.plans.plan import WritePlan
from acidsql.result import Result
from acidsql.store import Store
from acidsql.txn.locks import write_operation
from acidsql.txn.transaction import OpenTxn


def write_and_commit(
    plan: WritePlan, context: WriteContext, txn: OpenTxn, store: Store, engine: Engine
) -> JobResult:
    """Write, record what was reached, and commit; an aborted write leaves no files."""
    job = engine.write(plan, context)
    try:
        txn.check()
        _record(plan, context, job, txn, store)
        txn.commit()
    except AcidSqlError as error:
        txn.abort_after(error)
        if txn.aborted:
            engine.discard(job.paths)
        raise
    if job.moved:
        engine.discard(job.moved)
    return job


def _record(
    plan: WritePlan, context: WriteContext, job: JobResult, txn: OpenTxn, store: Store
) -> None:
    """New partitions into the catalog, and every partition reached into the write set."""
    table = context.read.tables[plan.table].table
    if not table.partition_columns:
        return
    reached: dict[Operation, list[str]] = {}
    new = {t.partition: Partition(t.partition, t.location) for t in job.touched if t.partition}
    known = {p.name for p in context.read.tables[plan.table].partitions}
    fresh = [p for name, p in new.items() if name not in known]
    if fresh:
        store.add_partitions(plan.table, fresh)
    if table.kind is TableKind.PLAIN:
        return
    for touched in job.touched:
        reached.setdefault(touched.operation, []).append(str(touched.partition))
    for operation, partitions in reached.items():
        store.add_dynamic_partitions(
            txn.txn_id, context.write_id, plan.table, sorted(set(partitions)),
            write_operation(operation),
        )  # fmt: skip


def write_result(plan: WritePlan, job: JobResult, txn: OpenTxn, write_id: int) -> Result:
    """The counts and ids of a write that was committed."""
    return Result(
        plan.kind,
        rows_inserted=job.rows_inserted,
        rows_updated=job.rows_updated,
        rows_deleted=job.rows_deleted,
        txn_id=txn.txn_id,
        write_ids={str(plan.table): write_id} if write_id != NO_WRITE_ID else {},
    )
