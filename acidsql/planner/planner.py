"""Statement → plan: one match over the statements that have a plan."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.planner.delete import plan_delete
from acidsql.planner.insert import plan_insert
from acidsql.planner.load import plan_load
from acidsql.planner.materialized_view import plan_rebuild
from acidsql.planner.merge import plan_merge
from acidsql.planner.multi_insert import plan_multi_insert
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.query import plan_query
from acidsql.planner.rules import Rules
from acidsql.planner.summary import as_summary
from acidsql.planner.truncate import plan_truncate
from acidsql.planner.update import plan_update
from acidsql.plans.plan import WritePlan
from acidsql.plans.query import QueryPlan
from acidsql.statements import (
    Delete,
    Insert,
    Load,
    Merge,
    MultiInsert,
    Query,
    RebuildMaterializedView,
    Truncate,
    Update,
    WriteStatement,
)


def make_plan(
    statement: WriteStatement | Query,
    names: Names,
    arguments: Arguments,
    rules: Rules,
) -> WritePlan | QueryPlan:
    """The plan of a statement that reads or writes rows.

    Raises every AnalysisError that can be found without Spark, and UnsupportedStatementError.
    """
    match statement:
        case Insert():
            return plan_insert(statement, names, arguments)
        case MultiInsert():
            return plan_multi_insert(statement, names, arguments)
        case Update():
            return plan_update(statement, names, arguments, rules)
        case Delete():
            return plan_delete(statement, names, arguments)
        case Merge():
            return plan_merge(statement, names, arguments, rules)
        case Load():
            return plan_load(statement, names, arguments)
        case RebuildMaterializedView():
            return plan_rebuild(statement, names)
        case Truncate():
            return plan_truncate(statement, names, arguments)
        case Query():
            return as_summary(plan_query(statement, names, arguments), statement, names)
        case _:
            assert_never(statement)
