"""Plan → accesses: the tables that a plan reads and changes, from which its locks follow."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.plan import WritePlan, fixed_partition, replaces, tables_read
from acidsql.plans.query import QueryPlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan


def write_accesses(
    plan: WritePlan, target: Table, changed: PartitionName | None = None
) -> list[Access]:
    """The accesses of a write: those to its target, and SELECT on every table that it reads.

    ``changed`` is the one partition whose rows an UPDATE, DELETE or MERGE can change, or None if
    there may be several.
    """
    reads = [Access.of(name, Operation.SELECT) for name in tables_read(plan)]
    return [*_target_accesses(plan, target, changed), *reads]


def query_accesses(plan: QueryPlan) -> list[Access]:
    """The accesses of a query: SELECT on every table that it reads."""
    return [Access.of(name, Operation.SELECT) for name in tables_read(plan)]


def _target_accesses(plan: WritePlan, target: Table, changed: PartitionName | None) -> list[Access]:
    partitioned = bool(target.partition_columns)

    def access(operation: Operation, partition: PartitionName | None, *, dynamic: bool) -> Access:
        return Access.of(
            target.name,
            operation,
            partition,
            dynamic=partitioned and dynamic,
            transactional=target.kind is not TableKind.PLAIN,
        )

    def change(operation: Operation) -> Access:
        # As in Hive: the partitions with changed rows are known only when the rows are, so the
        # access is dynamic even if the lock is on one partition.
        return access(operation, changed, dynamic=True)

    match plan:
        case InsertPlan() | TruncatePlan() | LoadPlan():
            operation = Operation.OVERWRITE if replaces(plan) else Operation.INSERT
            partition = fixed_partition(plan, target)
            return [access(operation, partition, dynamic=partition is None)]
        case UpdatePlan():
            return [change(Operation.UPDATE)]
        case DeletePlan():
            return [change(Operation.DELETE)]
        case MergePlan():
            found = [
                change(Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE)
                for leg in plan.changing
            ]
            if plan.not_matched:
                found.append(access(Operation.INSERT, None, dynamic=True))
            return found
        case _:
            assert_never(plan)
