"""WITH SCHEMA EVOLUTION: which columns a statement wants its target to have, and what to ask first.

The queries of this module are asked for their columns and never for their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table
from acidsql.model.types import VOID, StructType, spark_type, walk_types
from acidsql.planner.merge import merge_fragments, merge_source
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.planner.with_clause import plan_common
from acidsql.plans.insert import InsertPlan, columns_by_name
from acidsql.plans.merge import DeleteLeg, InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.plan import WritePlan
from acidsql.plans.query import QueryPlan
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText, TableSource
from acidsql.statements.fragment import Fragment, Identifier
from acidsql.statements.insert import Insert
from acidsql.statements.merge import Merge, MergeDelete, MergeInsert


def plan_source(statement: Insert | Merge, names: Names, arguments: Arguments) -> QueryPlan:
    """The query whose columns the statement takes. An INSERT must have a query."""
    lowering = Lowering(names, arguments, changes_rows=isinstance(statement, Merge))
    if isinstance(statement, Insert):
        assert isinstance(statement.source, Fragment)
        return QueryPlan(rows=lowering.text(statement.source))
    common = plan_common(statement.common, merge_fragments(statement), names, arguments)
    return QueryPlan(rows=merge_source(statement, lowering), common=_not_computed(common))


def brings_columns(statement: Insert | Merge) -> bool:
    """Whether the source may have names for new columns. Those of an INSERT … VALUES have none."""
    source = statement.source
    is_values = isinstance(statement, Insert) and isinstance(source, Fragment)
    return isinstance(source, Fragment) and not (is_values and isinstance(source.tree, exp.Values))


def has_star(statement: Merge) -> bool:
    """Whether a clause takes all columns of the source: ``SET *`` or ``INSERT *``."""
    return any(
        clause.values is None
        if isinstance(clause, MergeInsert)
        else not isinstance(clause, MergeDelete) and clause.assignments is None
        for clause in statement.clauses
    )


def named_columns(statement: Merge) -> Iterator[Identifier]:
    """The columns of the target that clauses give a value by name, whether they exist or not."""
    for clause in statement.clauses:
        if isinstance(clause, MergeInsert):
            yield from clause.columns or ()
        elif not isinstance(clause, MergeDelete):
            yield from (a.column for a in clause.assignments or () if not a.fields)


def trial_queries(plan: WritePlan, table: Table, names: Sequence[str]) -> list[QueryPlan]:
    """Queries that make no sense if the plan makes none. ``names`` are the source's columns.

    AnalysisError for what is wrong by the names alone. Not all mistakes are found: values of
    structs, for example, are not compared with their columns.
    """
    if isinstance(plan, InsertPlan):
        return [_insert_trial(plan, table, names)]
    assert isinstance(plan, MergePlan)
    return _merge_trials(plan, table)


def _insert_trial(plan: InsertPlan, table: Table, names: Sequence[str]) -> QueryPlan:
    assert isinstance(plan.rows, SqlText)
    partition = [c.name for c in table.partition_columns]
    filled = columns_by_name(plan, names, partition) if plan.by_name else plan.columns
    columns = [column for column in map(table.column, filled) if column is not None]
    # The names that the errors of the job show, too.
    new = [quote(f"new {name}") for name in filled]
    values = [_cast(SqlText.of(n), c) for n, c in zip(new, columns, strict=True)]
    asked = SqlText.join(", ", values)
    rows = SqlText.of("SELECT ", asked, " FROM (", plan.rows, f"\n) AS rows({', '.join(new)})")
    return QueryPlan(rows=rows)


def _merge_trials(plan: MergePlan, table: Table) -> list[QueryPlan]:
    target = SqlText.of(
        TableSource(table=plan.table, hidden=plan.hidden), f" AS {quote(plan.alias)}"
    )
    source = SqlText.of("(", plan.source, f"\n) AS {quote(plan.source_alias)}")
    pairs = SqlText.of(target, " CROSS JOIN ", source)
    asked = [
        ([plan.on, *_asked(plan.matched, table)], pairs),
        (list(_asked(plan.by_source, table)), target),
        (list(_asked(plan.not_matched, table)), source),
    ]
    common = _not_computed(plan.common)
    return [_select(values, relation, common) for values, relation in asked if values]


def _asked(legs: Sequence[UpdateLeg | DeleteLeg | InsertLeg], table: Table) -> Iterator[SqlText]:
    """The conditions and the values of some legs."""
    for leg in legs:
        if leg.condition is not None:
            yield leg.condition
        if isinstance(leg, DeleteLeg):
            continue
        for item in leg.assignments if isinstance(leg, UpdateLeg) else leg.values:
            column = table.column(item.column)
            yield item.value if item.fields or column is None else _cast(item.value, column)


def _cast(value: SqlText, column: Column) -> SqlText:
    """The value as the column stores it. A struct, whose fields go by name, stays as it is."""
    kinds = walk_types(column.type)
    if column.type == VOID or any(isinstance(kind, StructType) for kind in kinds):
        return value
    return SqlText.of("CAST((", value, f"\n) AS {spark_type(column.type)})")


def _select(
    values: Sequence[SqlText], relation: SqlText, common: tuple[SharedSource, ...]
) -> QueryPlan:
    listed = SqlText.join(", ", (SqlText.of("(", value, "\n)") for value in values))
    return QueryPlan(rows=SqlText.of("SELECT ", listed, " FROM ", relation), common=common)


def _not_computed(common: Sequence[SharedSource]) -> tuple[SharedSource, ...]:
    return tuple(source.model_copy(update={"once": False}) for source in common)
