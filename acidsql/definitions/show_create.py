"""SHOW CREATE of a table, a view or a database: the statement as rows, one for each line."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.definitions.show_constraints import column_clauses, constraint_clauses
from acidsql.definitions.show_view import property_lines, show_create_view
from acidsql.errors import SqlError
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.grammar.hive_words import hive_words
from acidsql.model.names import TableName, quoted_table
from acidsql.model.names import quote_identifier as _quoted
from acidsql.model.names import string_literal as _literal
from acidsql.model.table import MATERIALIZED_QUERY, Column, FileFormat, Table
from acidsql.model.view import View
from acidsql.planner.names import (
    Names,
    find_named_view,
    find_target,
    is_temporary_table,
    new_name,
)
from acidsql.ports.catalog import Database
from acidsql.statements import ShowCreateDatabase, ShowCreateTable


def show_create(statement: ShowCreateTable | ShowCreateDatabase, scope: Scope) -> Result:
    """The statement that makes a table, view or database like the one that is named."""
    if isinstance(statement, ShowCreateDatabase):
        return show_create_database(scope.store.database(statement.name.name))
    view = find_named_view(statement.target, scope.names)
    if view is not None:
        return show_create_view(view, _text(view, scope.names))
    table = find_target(statement.target, scope.names)
    if table.is_materialized_view:
        return show_create_materialized_view(table)
    if is_temporary_table(statement.target, scope.names):
        return show_create_table(table, temporary=new_name(statement.target, scope.names))
    return show_create_table(table)


def _text(view: View, names: Names) -> str:
    """The query of a view as CREATE VIEW takes it, without Hive's own names for columns."""
    try:
        return hive_words(names.query_of(view).source.text)
    except SqlError:  # the query is one for Hive alone
        return view.expanded_text


def show_create_database(database: Database) -> Result:
    """The CREATE DATABASE that makes a database like this one, with a row for each line."""
    lines = [f"CREATE DATABASE {_quoted(database.name)}"]
    if database.comment is not None:
        lines.append(f"COMMENT {_literal(database.comment)}")
    lines.append(f"LOCATION {_literal(database.location)}")
    if database.managed_location is not None:
        lines.append(f"MANAGEDLOCATION {_literal(database.managed_location)}")
    lines += property_lines(database.parameters, "WITH DBPROPERTIES")
    return text_rows("show", ["createdb_stmt"], [(line,) for line in lines])


def show_create_table(table: Table, temporary: TableName | None = None) -> Result:
    """The CREATE TABLE that makes a table like this one, with a row for each line.

    ``temporary`` is the name of a temporary table in its session, which chose its directory.
    """
    external = "EXTERNAL " if table.external else ""
    kind = f"TEMPORARY {external}" if temporary else external
    lines = [f"CREATE {kind}TABLE {quoted_table(temporary or table.name)}("]
    lines += _listed([*_definitions(table.columns, table), *constraint_clauses(table)])
    if table.comment is not None:
        lines.append(f"COMMENT {_literal(table.comment)}")
    if table.partition_columns:
        lines += ["PARTITIONED BY (", *_listed(_definitions(table.partition_columns, table))]
    if table.bucketing is not None:
        columns = ", ".join(map(_quoted, table.bucketing.columns))
        lines.append(f"CLUSTERED BY ({columns}) INTO {table.bucketing.count} BUCKETS")
    lines += _storage(table, has_location=temporary is None or table.external)
    return text_rows("show", ["createtab_stmt"], [(line,) for line in lines])


def show_create_materialized_view(table: Table) -> Result:
    """The CREATE MATERIALIZED VIEW that makes one like this, with a row for each line."""
    lines = [f"CREATE MATERIALIZED VIEW {quoted_table(table.name)}"]
    if table.comment is not None:
        lines.append(f"COMMENT {_literal(table.comment)}")
    if table.partition_columns:
        names = ", ".join(_quoted(c.name) for c in table.partition_columns)
        lines.append(f"PARTITIONED ON ({names})")
    lines += _storage(table, has_location=True, with_external=True)
    lines += f"AS {table.parameters[MATERIALIZED_QUERY]}".split("\n")
    return text_rows("show", ["createtab_stmt"], [(line,) for line in lines])


def _storage(table: Table, *, has_location: bool, with_external: bool = False) -> list[str]:
    """The clauses from ROW FORMAT to TBLPROPERTIES, in which EXTERNAL may be a property."""
    lines = [f"STORED AS {table.format.value}"]
    if table.format is FileFormat.TEXT:
        lines.insert(0, f"ROW FORMAT DELIMITED FIELDS TERMINATED BY '{_delimiter(table)}'")
    if has_location:
        lines.append(f"LOCATION {_literal(table.location)}")
    shown = table.shown.items()
    kept = {k: v for k, v in shown if with_external or k.lower() != "external"}
    return lines + property_lines(kept)


def _delimiter(table: Table) -> str:
    """The field delimiter as Hive takes it: the number of the character."""
    return str(ord(table.field_delimiter))


def _listed(lines: Sequence[str]) -> list[str]:
    return [*[f"  {line}," for line in lines[:-1]], f"  {lines[-1]})"]


def _definitions(columns: Sequence[Column], table: Table) -> list[str]:
    return [
        f"{_quoted(c.name)} {c.type}{column_clauses(table, c)}"
        + (f" COMMENT {_literal(c.comment)}" if c.comment else "")
        for c in columns
    ]
