"""CREATE, ALTER and DROP MATERIALIZED VIEW."""

from __future__ import annotations

from typing import Any

from acidsql.grammar.create_table import parse_clause, take_row_format
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.view import parse_view_query
from acidsql.statements.create_table import CreateTable, CreateTableAs
from acidsql.statements.view import DropMaterializedView, RebuildMaterializedView, SetRewriting

_CLAUSES = ("COMMENT", "ROW", "STORED", "USING", "LOCATION", "TBLPROPERTIES")
_ORDERS = ("CLUSTERED", "DISTRIBUTED", "SORTED")
"""The first words of clauses about the order of rows in files, which have no effect."""


def parse_create_materialized_view(cursor: Cursor) -> CreateTableAs:
    """Parse a CREATE MATERIALIZED VIEW from the cursor. Its rows are those of a table."""
    cursor.expect("CREATE", "MATERIALIZED", "VIEW")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    target = cursor.table()
    if cursor.sees("("):
        cursor.source.refuse(
            "a materialized view with a list of columns is not supported",
            cursor.offset,
            hint="Name the columns in the query: SELECT e AS name.",
        )
    if not cursor.accept("DISABLE", "REWRITE"):
        cursor.accept("ENABLE", "REWRITE")
    clauses: dict[str, Any] = {}
    while not cursor.done and not cursor.sees("AS"):
        start, word = cursor.offset, cursor.peek().word
        if word in _ORDERS:
            cursor.step()
            cursor.expect("ON")
            clauses["sort_columns"] = (
                clauses.get("sort_columns", ()) + cursor.names_in_parentheses()
            )
        elif cursor.accept("PARTITIONED", "ON"):
            if "partition_by" in clauses:
                cursor.source.syntax_error("PARTITIONED is given twice", start)
            clauses["partition_by"] = cursor.names_in_parentheses()
        elif word in _CLAUSES:
            parse_clause(cursor, clauses, has_columns=False)
        else:
            cursor.unexpected("expected AS and a query")
    take_row_format(cursor, clauses)
    query = parse_view_query(cursor)
    partition_by = clauses.pop("partition_by", ())
    table = CreateTable(target, (), if_not_exists, **clauses)
    return CreateTableAs(table, partition_by, query, is_materialized=True)


def parse_alter_materialized_view(cursor: Cursor) -> RebuildMaterializedView | SetRewriting:
    """Parse an ALTER MATERIALIZED VIEW from the cursor."""
    cursor.expect("ALTER", "MATERIALIZED", "VIEW")
    target = cursor.table()
    if cursor.accept("REBUILD"):
        return RebuildMaterializedView(target)
    if not (cursor.accept("ENABLE", "REWRITE") or cursor.accept("DISABLE", "REWRITE")):
        cursor.source.refuse(
            "this form of ALTER MATERIALIZED VIEW is not supported",
            cursor.offset,
            hint="REBUILD computes the rows anew. DROP and CREATE change the query.",
        )
    return SetRewriting(target)


def parse_drop_materialized_view(cursor: Cursor) -> DropMaterializedView:
    """Parse a DROP MATERIALIZED VIEW from the cursor."""
    cursor.expect("DROP", "MATERIALIZED", "VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    return DropMaterializedView(cursor.table(), if_exists)
