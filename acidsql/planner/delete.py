"""DELETE → plan."""

from __future__ import annotations

from acidsql.planner.names import Names, find_acid_target
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.planner.update import where_predicates
from acidsql.planner.with_clause import plan_common
from acidsql.plans.delete import DeletePlan
from acidsql.statements.delete import Delete


def plan_delete(statement: Delete, names: Names, arguments: Arguments) -> DeletePlan:
    """The plan of a DELETE. Raises AnalysisError and UnsupportedStatementError."""
    table = find_acid_target(statement.target, names)
    where = statement.where
    row_id = where is not None and where.mentions_row_id
    alias = statement.target.visible_name
    return DeletePlan(
        table=table.name,
        alias=alias,
        where=Lowering(names, arguments).text(where) if where else None,
        predicates=where_predicates(where, table, alias, arguments),
        row_id=row_id,
        common=plan_common(statement.common, [where] if where else [], names, arguments),
    )
