"""EXPLAIN and EXPLAIN LOCKS: what a statement would do, and what it would lock first."""

from __future__ import annotations

from acidsql.planner.accesses import query_accesses, write_accesses
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.explain import explain as plan_text
from acidsql.plans.query import QueryPlan
from acidsql.result import Result, text_rows
from acidsql.scope import Scope
from acidsql.statements import Explain
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy


def explain(statement: Explain, scope: Scope, policy: TxnPolicy) -> Result:
    """The plan as a tree, or one row per lock, as Hive writes them: ``db.t.p=1 -> SHARED_READ``."""
    seen = SeenNames(scope.names)
    plan = make_plan(statement.statement, seen, scope.arguments)
    if not statement.locks:
        return text_rows("explain", ["plan"], [(line,) for line in plan_text(plan).splitlines()])
    if isinstance(plan, QueryPlan):
        accesses = query_accesses(plan)
    else:
        target = seen.find_table(plan.table)
        assert target is not None
        accesses = write_accesses(plan, target)
    locks = lock_components(accesses, policy)
    return text_rows("explain", ["lock"], [(_line(component),) for component in locks])


def _line(component: LockComponent) -> str:
    parts = (component.database, component.table, component.partition)
    return f"{'.'.join(p for p in parts if p is not None)} -> {component.type.name}"
