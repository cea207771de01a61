"""Materialized views: tables that keep the query of their rows, and how they are rebuilt."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.model.table import MATERIALIZED_QUERY, MATERIALIZED_TEXT, Table
from acidsql.model.view import View
from acidsql.planner.names import Names, find_target, new_name
from acidsql.planner.text import view_text
from acidsql.plans.insert import InsertPlan
from acidsql.statements.fragment import TableRef
from acidsql.statements.view import RebuildMaterializedView


def find_materialized(ref: TableRef, names: Names) -> Table:
    """The materialized view that a statement names. AnalysisError for another table or a view."""
    table = find_target(ref, names)
    if not table.is_materialized_view:
        raise AnalysisError(
            f"{new_name(ref, names)} is not a materialized view", line=ref.line, column=ref.column
        )
    return table


def query_view(table: Table) -> View:
    """The query of a materialized view, as a view with the same columns."""
    return View(
        table.name,
        table.all_columns,
        original_text=table.parameters.get(MATERIALIZED_TEXT, ""),
        expanded_text=table.parameters[MATERIALIZED_QUERY],
    )


def plan_rebuild(statement: RebuildMaterializedView, names: Names) -> InsertPlan:
    """The plan that replaces all rows by those that the query has now.

    The columns are those of the query by their positions.
    """
    table = find_materialized(statement.target, names)
    return InsertPlan(
        table=table.name,
        columns=tuple(column.name for column in table.all_columns),
        rows=view_text(query_view(table), names),
        overwrite=True,
        whole=True,
        target=table.kind,
    )
