"""EXPLAIN and EXPLAIN LOCKS: what a statement would do, and what it would lock first."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.planner.accesses import query_accesses, write_accesses
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.explain import explain as plan_text
from acidsql.plans.query import QueryPlan
from acidsql.result import Result, text_rows
from acidsql.scope import Scope
from acidsql.statements.explain import Planned
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy


def explain(statement: Planned, scope: Scope, policy: TxnPolicy, *, locks: bool) -> Result:
    """The plan as a tree or, with ``locks``, `lock_rows` of what it would lock."""
    seen = SeenNames(scope.names)
    plan = make_plan(statement, seen, scope.arguments)
    if not locks:
        return text_rows("explain", ["plan"], [(line,) for line in plan_text(plan).splitlines()])
    if isinstance(plan, QueryPlan):
        accesses = query_accesses(plan)
    else:
        target = seen.find_table(plan.table)
        assert target is not None
        accesses = write_accesses(plan, target)
    return lock_rows(lock_components(accesses, policy))


def lock_rows(locks: Sequence[LockComponent]) -> Result:
    """One row per lock, as Hive writes them: ``db.t.p=1 -> SHARED_READ``."""
    return text_rows("explain", ["lock"], [(_line(component),) for component in locks])


def _line(component: LockComponent) -> str:
    parts = (component.database, component.table, component.partition)
    return f"{'.'.join(p for p in parts if p is not None)} -> {component.type.name}"
