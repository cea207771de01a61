"""Materialized views: what their statements share beside those of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.definitions.name_pattern import matching
from acidsql.errors import UnsupportedStatementError
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.grammar.hive_words import hive_words
from acidsql.model.names import TableName, quote_identifier
from acidsql.model.table import MATERIALIZED_QUERY, MATERIALIZED_TEXT, Table
from acidsql.planner.materialized_view import find_materialized
from acidsql.planner.names import Names
from acidsql.planner.view import expanded_text
from acidsql.ports.catalog import Catalog
from acidsql.statements.query import Query
from acidsql.statements.view import SetRewriting

_COLUMNS = ("mv_name", "rewrite_enabled", "mode")


def query_parameters(query: Query, names: Names, scope: Scope) -> dict[str, str]:
    """The parameters in which a new materialized view keeps its query.

    Raises the errors of `expanded_text`, and UnsupportedStatementError over a Hive Metastore.
    """
    if not scope.store.commits_in_one_step:
        raise UnsupportedStatementError(
            "a materialized view in a Hive Metastore can only be made by Hive",
            detail="Hive keeps it with the snapshot of its tables, and rebuilds it.",
            hint="CREATE TABLE … AS keeps the rows of a query.",
            line=query.source.line,
            column=query.source.column,
        )
    text = expanded_text(query, names)
    return {MATERIALIZED_TEXT: hive_words(query.source.text), MATERIALIZED_QUERY: text}


def in_order_of(table: Table, columns: Sequence[str], query: Mapping[str, str]) -> dict[str, str]:
    """The parameters with a query whose columns have the order of the table's.

    ``columns`` are those of the user's query. Partition columns are the last ones of a table.
    """
    names = [c.name for c in table.all_columns]
    if list(columns) == names:
        return dict(query)
    listed, given = (", ".join(map(quote_identifier, each)) for each in (names, columns))
    alias, inner = quote_identifier(str(table.name)), query[MATERIALIZED_QUERY]
    text = " ".join(["SELECT", listed, "FROM", f"({inner})", "AS", f"{alias}({given})"])
    return {**query, MATERIALIZED_QUERY: text}


def set_rewriting(statement: SetRewriting, scope: Scope) -> Result:
    """Take ENABLE and DISABLE REWRITE: no query reads a materialized view that it does not name."""
    find_materialized(statement.target, scope.names)
    note = "REWRITE has no effect: a query reads the tables that it names."
    return Result("alter", message=f"OK\n{note}")


def show_materialized_views(catalog: Catalog, database: str, pattern: str | None) -> Result:
    """The materialized views of a database, in the columns of Hive 4."""
    names = matching(catalog.tables(database), pattern)
    found = [catalog.find_table(TableName(database, name)) for name in names]
    rows = [
        (table.name.table, "No", "Manual refresh")
        for table in found
        if table is not None and table.is_materialized_view
    ]
    return text_rows("show", _COLUMNS, rows)
