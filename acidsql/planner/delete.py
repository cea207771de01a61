"""DELETE → plan."""

from __future__ import annotations

from acidsql.model.hidden_column import hidden_columns
from acidsql.model.table import Table
from acidsql.planner.names import Names, find_acid_target
from acidsql.planner.predicates import Arguments, says_only
from acidsql.planner.text import Lowering, mentioned_hidden, refuse_stars
from acidsql.planner.update import where_predicates
from acidsql.planner.with_clause import plan_common
from acidsql.plans.delete import DeletePlan
from acidsql.statements.delete import Delete


def plan_delete(statement: Delete, names: Names, arguments: Arguments) -> DeletePlan:
    """The plan of a DELETE. Raises AnalysisError and UnsupportedStatementError."""
    table = find_acid_target(statement.target, names)
    where = statement.where
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
        whole_partitions=_takes_whole_partitions(statement, table, arguments),
    )


def _takes_whole_partitions(statement: Delete, table: Table, arguments: Arguments) -> bool:
    """Whether the WHERE compares partition columns with literals, and says nothing else."""
    if statement.relations or statement.common:
        return False
    if statement.where is None:
        return True
    qualifiers = {statement.target.visible_name.lower()}
    columns = {c.name for c in table.partition_columns}
    return says_only(statement.where.tree, table, qualifiers, arguments, columns)
