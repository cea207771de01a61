"""Plan → accesses: the tables that a plan reads and changes, from which its locks follow."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import assert_never

from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Table, TableKind
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.plan import (
    TableWrite,
    WritePlan,
    fixed_partition,
    imports,
    replaces,
    table_writes,
    tables_read,
)
from acidsql.plans.query import QueryPlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan


def write_accesses(
    plan: WritePlan, targets: Mapping[TableName, Table], changed: PartitionName | None = None
) -> list[Access]:
    """The accesses of a write: those to its targets, and SELECT on every table that it reads.

    ``changed`` is the one partition whose rows an UPDATE, DELETE or MERGE can change, or None if
    there may be several.
    """
    changes = [
        access
        for write in table_writes(plan)
        for access in _target_accesses(write, targets[write.table], changed)
    ]
    return [*changes, *(Access.of(name, Operation.SELECT) for name in tables_read(plan))]


def query_accesses(plan: QueryPlan) -> list[Access]:
    """The accesses of a query: SELECT on every table that it reads."""
    return [Access.of(name, Operation.SELECT) for name in tables_read(plan)]


def _target_accesses(
    plan: TableWrite, target: Table, changed: PartitionName | None
) -> list[Access]:
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

    def inserted(plan: UpdatePlan | MergePlan) -> list[Access]:
        return [access(Operation.INSERT, None, dynamic=True)] if plan.inserts else []

    match plan:
        case InsertPlan() | TruncatePlan() | LoadPlan():
            alone = replaces(plan) or imports(plan)
            operation = Operation.OVERWRITE if alone else Operation.INSERT
            partition = fixed_partition(plan, target)
            return [access(operation, partition, dynamic=partition is None)]
        case UpdatePlan():
            return [change(Operation.UPDATE), *inserted(plan)]
        case DeletePlan():
            return [change(Operation.DELETE)]
        case MergePlan():
            found = [
                change(Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE)
                for leg in plan.changing
            ]
            return [*found, *inserted(plan)]
        case _:
            assert_never(plan)
