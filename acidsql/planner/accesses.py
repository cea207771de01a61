"""Plan → accesses: which tables it reads and changes, for the locks."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.plan import WritePlan, replaces, tables_read
from acidsql.plans.query import QueryPlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan


def write_accesses(plan: WritePlan, target: Table) -> list[Access]:
    """What a write does: to its target, and SELECT on every table it reads."""
    reads = [Access.of(name, Operation.SELECT) for name in tables_read(plan)]
    return [*_target_accesses(plan, target), *reads]


def query_accesses(plan: QueryPlan) -> list[Access]:
    """SELECT on every table."""
    return [Access.of(name, Operation.SELECT) for name in tables_read(plan)]


def _target_accesses(plan: WritePlan, target: Table) -> list[Access]:
    dynamic = bool(target.partition_columns)

    def access(operation: Operation, partition: PartitionName | None = None) -> Access:
        return Access.of(
            target.name,
            operation,
            partition,
            dynamic=dynamic and partition is None,
            transactional=target.kind is not TableKind.PLAIN,
        )

    match plan:
        case InsertPlan() | TruncatePlan() | LoadPlan():
            static = plan.static_partition
            whole = bool(static) and len(static) == len(target.partition_columns)
            operation = Operation.OVERWRITE if replaces(plan) else Operation.INSERT
            return [access(operation, PartitionName.of(static) if whole else None)]
        case UpdatePlan():
            return [access(Operation.UPDATE)]
        case DeletePlan():
            return [access(Operation.DELETE)]
        case MergePlan():
            found = [
                access(Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE)
                for leg in plan.matched
            ]
            return found + ([access(Operation.INSERT)] if plan.not_matched else [])
        case _:
            assert_never(plan)
