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
    fragments = [*statement.relations, *([where] if where else [])]
    lowering = Lowering(names, arguments)
    return DeletePlan(
        table=table.name,
        alias=statement.target.visible_name,
        where=lowering.text(where) if where else None,
        predicates=where_predicates(statement, table, arguments),
        row_id=any(fragment.mentions_row_id for fragment in fragments),
        relations=tuple(lowering.text(relation) for relation in statement.relations),
        common=plan_common(statement.common, fragments, names, arguments),
    )
