"""UPDATE → plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from acidsql.errors import UnsupportedStatementError
from acidsql.model.hidden_column import hidden_columns
from acidsql.model.predicate import Predicate
from acidsql.model.table import Table
from acidsql.planner.names import Names, find_acid_target, find_column
from acidsql.planner.predicates import Arguments, conjunct_predicates, says_only
from acidsql.planner.rules import Rules
from acidsql.planner.struct_field import find_field, refuse_ambiguous
from acidsql.planner.text import Lowering, mentioned_hidden, refuse_stars
from acidsql.planner.with_clause import plan_common
from acidsql.plans.update import SetColumn, UpdatePlan
from acidsql.statements.delete import Delete
from acidsql.statements.fragment import Fragment, Value
from acidsql.statements.update import Assignment, Update

_MOVE = "let rows move: SET acidsql.allow.row.movement=true"


def plan_update(statement: Update, names: Names, arguments: Arguments, rules: Rules) -> UpdatePlan:
    """The plan of an UPDATE. Raises AnalysisError and UnsupportedStatementError."""
    table = find_acid_target(statement.target, names)
    alias = statement.target.visible_name
    where = None if holds_always(statement.where) else statement.where
    values = [a.value for a in statement.assignments]
    fragments = [*statement.relations, *values, *_some(where)]
    refuse_stars(*values, where)
    lowering = Lowering(names, arguments, changes_rows=True)
    assignments = plan_assignments(statement.assignments, table, lowering, rules)
    return UpdatePlan(
        table=table.name,
        alias=alias,
        assignments=assignments,
        where=None if where is None else lowering.text(where),
        predicates=where_predicates(statement, table, arguments),
        hidden=hidden_columns(table, mentioned_hidden(fragments)),
        relations=tuple(lowering.text(relation) for relation in statement.relations),
        common=plan_common(statement.common, fragments, names, arguments),
        moves=any(a.column in placing_columns(table) for a in assignments),
        whole_partitions=takes_whole_partitions(statement, table, arguments),
    )


def plan_assignments(
    assignments: Sequence[Assignment], table: Table, lowering: Lowering, rules: Rules
) -> tuple[SetColumn, ...]:
    """The SET list. Raises for partition and bucket columns, unless rows may move."""
    found = []
    for assignment in assignments:
        column = find_column(table, assignment.column)
        if not rules.row_movement:
            _refuse_placing_column(column.name, table, assignment)
        if assignment.hidden is not None:
            refuse_ambiguous(assignment.hidden, table)
        fields = find_field(column, assignment.fields, assignment.value)
        value = lowering.value(assignment.value, table, column)
        found.append(SetColumn(column=column.name, value=value, fields=fields))
    return tuple(found)


def placing_columns(table: Table) -> frozenset[str]:
    """The partition and bucket columns, which decide where a row lies."""
    return frozenset((*(c.name for c in table.partition_columns), *table.bucket_columns))


def where_predicates(
    statement: Update | Delete, table: Table, arguments: Arguments
) -> tuple[Predicate, ...]:
    """The predicates on the target in the WHERE. A bare name may be a column of a relation."""
    if statement.where is None:
        return ()
    aliases, bare = {statement.target.visible_name.lower()}, not statement.relations
    return tuple(conjunct_predicates(statement.where.tree, table, aliases, arguments, bare=bare))


def takes_whole_partitions(statement: Update | Delete, table: Table, arguments: Arguments) -> bool:
    """Whether the WHERE compares partition columns with literals, and says nothing else."""
    if statement.relations or statement.common:
        return False
    where = statement.where
    if where is None or holds_always(where):
        return True
    qualifiers = {statement.target.visible_name.lower()}
    columns = {c.name for c in table.partition_columns}
    return says_only(where.tree, table, qualifiers, arguments, columns)


def _refuse_placing_column(name: str, table: Table, assignment: Assignment) -> None:
    place: dict[str, Any] = {"line": assignment.column.line, "column": assignment.column.column}
    if any(c.name == name for c in table.partition_columns):
        raise UnsupportedStatementError(
            f'cannot update partition column "{name}"',
            code=10292,
            hint=f"DELETE the rows and INSERT them into the other partition, or {_MOVE}.",
            **place,
        )
    if name in table.bucket_columns:
        raise UnsupportedStatementError(
            f'cannot update bucketing column "{name}"',
            code=10302,
            hint=f"DELETE the rows and INSERT them with the new value, or {_MOVE}.",
            **place,
        )


def holds_always(where: Fragment | None) -> bool:
    """Whether a WHERE is missing, or holds for all rows by its words, as TRUE and 1 = 1 do."""
    if where is None:
        return True
    tree = where.tree.unnest()
    if isinstance(tree, exp.EQ):
        return isinstance(tree.this, exp.Literal) and bool(tree.this == tree.expression)
    return isinstance(tree, exp.Boolean) and bool(tree.this)


def _some(fragment: Fragment | None) -> list[Value]:
    return [] if fragment is None else [fragment]
