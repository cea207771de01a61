"""DELETE → plan."""

from __future__ import annotations

from acidsql.model.hidden_column import hidden_columns
from acidsql.planner.names import Names, find_acid_target
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering, mentioned_hidden, refuse_stars
from acidsql.planner.update import holds_always, takes_whole_partitions, where_predicates
from acidsql.planner.with_clause import plan_common
from acidsql.plans.delete import DeletePlan
from acidsql.statements.delete import Delete


def plan_delete(statement: Delete, names: Names, arguments: Arguments) -> DeletePlan:
    """The plan of a DELETE. Raises AnalysisError and UnsupportedStatementError."""
    table = find_acid_target(statement.target, names)
    where = None if holds_always(statement.where) else statement.where
    fragments = [*statement.relations, *([where] if where else [])]
    refuse_stars(where)
    lowering = Lowering(names, arguments, changes_rows=True)
    predicates = where_predicates(statement, table, arguments)
    return DeletePlan(
        table=table.name,
        alias=statement.target.visible_name,
        where=lowering.text(where) if where else None,
        predicates=predicates,
        hidden=hidden_columns(table, mentioned_hidden(fragments)),
        relations=tuple(lowering.text(relation) for relation in statement.relations),
        common=plan_common(statement.common, fragments, names, arguments),
        whole_partitions=takes_whole_partitions(statement, table, arguments),
    )
