"""CHECK TABLE → plan."""

from __future__ import annotations

from acidsql.planner.names import Names, find_target
from acidsql.planner.partition import partition_of
from acidsql.planner.predicates import Arguments
from acidsql.plans.check import CheckPlan
from acidsql.statements.check import Check


def plan_check(statement: Check, names: Names, arguments: Arguments) -> CheckPlan:
    """The plan to check a table of any kind, or one partition of it, which may not exist."""
    table = find_target(statement.target, names)
    partition = partition_of(statement.partition, table, statement.target, arguments)
    return CheckPlan(table=table.name, partition=partition)
