"""EXPLAIN and EXPLAIN LOCKS: what a statement would do, and which locks it would ask for."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.definitions.locks import definition_locks
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import changed_partition
from acidsql.model.access import Access
from acidsql.planner.accesses import query_accesses, write_accesses
from acidsql.planner.compact import plan_compact
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.explain import explain as plan_text
from acidsql.plans.plan import WritePlan
from acidsql.plans.query import QueryPlan
from acidsql.statements import Compact, CreateTableAs, Definition, Explain, ViewDefinition
from acidsql.statements.explain import Planned
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy


def explain(statement: Explain, scope: Scope, policy: TxnPolicy) -> Result:
    """The plan as a tree, or one row for each lock in Hive's form: ``db.t.p=1 -> SHARED_READ``."""
    explained = statement.statement
    if not isinstance(explained, Planned):
        return _lock_rows(_unplanned_locks(explained, scope))
    seen = SeenNames(scope.names)
    plan = make_plan(explained, seen, scope.arguments)
    if not statement.locks:
        return text_rows("explain", ["plan"], [(line,) for line in plan_text(plan).splitlines()])
    return _lock_rows(lock_components(_accesses(plan, seen, scope), policy))


def _unplanned_locks(
    statement: Compact | Definition | CreateTableAs | ViewDefinition, scope: Scope
) -> Sequence[LockComponent]:
    if isinstance(statement, Compact):
        plan_compact(statement, scope.names, scope.arguments)
        return []  # the worker that carries the compaction out asks for the locks
    return definition_locks(statement, scope)


def _accesses(plan: WritePlan | QueryPlan, seen: SeenNames, scope: Scope) -> Sequence[Access]:
    if isinstance(plan, QueryPlan):
        return query_accesses(plan)
    target = seen.find_table(plan.table)
    assert target is not None
    return write_accesses(plan, target, changed_partition(scope.store, plan, target))


def _lock_rows(locks: Sequence[LockComponent]) -> Result:
    return text_rows("explain", ["lock"], [(_line(component),) for component in locks])


def _line(component: LockComponent) -> str:
    parts = (component.database, component.table, component.partition)
    return f"{'.'.join(p for p in parts if p is not None)} -> {component.type.name}"
