"""Plan → accesses: which tables it reads and changes, for the locks."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, PrimitiveType
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
            return [access(Operation.UPDATE, _only_partition(plan, target))]
        case DeletePlan():
            return [access(Operation.DELETE, _only_partition(plan, target))]
        case MergePlan():
            only = _only_partition(plan, target)
            found = [
                access(Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE, only)
                for leg in plan.matched
            ]
            return found + ([access(Operation.INSERT)] if plan.not_matched else [])
        case _:
            assert_never(plan)


def _only_partition(
    plan: UpdatePlan | DeletePlan | MergePlan, target: Table
) -> PartitionName | None:
    """The one partition whose rows the statement changes, if its text says which, as in Hive.

    A name that another writer spelled differently (``k=01``) is changed all the same; it joins the
    write set with the other partitions reached, so that no conflict goes unseen.
    """
    values: dict[str, str] = {}
    for column in target.partition_columns:
        texts = {
            p.values[0]
            for p in plan.predicates
            if p.column == column.name and p.operator in ("=", "in") and len(p.values) == 1
        }
        if len(texts) != 1 or not _names_a_partition(column.type):
            return None
        values[column.name] = texts.pop()
    return PartitionName.of(values) if values and all(values.values()) else None


def _names_a_partition(kind: ColumnType) -> bool:
    """Whether equal values of the type make equal names of partitions."""
    match kind:
        case PrimitiveType(name):
            return name in INTEGER_BITS or name in ("string", "date")
        case CharType(name):
            return name == "varchar"
    return False
