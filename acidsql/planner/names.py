"""The meaning of a statement's names: tables, frames, views and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from acidsql.errors import (
    ColumnNotFoundError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import TableName
from acidsql.model.near import near_name
from acidsql.model.table import Column, Table, TableKind
from acidsql.model.view import View
from acidsql.statements.fragment import Fragment, Identifier, LongName, TableRef
from acidsql.statements.query import Query


class Names(Protocol):
    """The questions about names that the planner may ask the session."""

    @property
    def database(self) -> str:
        """The current database."""
        ...

    def find_table(self, name: TableName) -> Table | None:
        """The catalog's table, or None."""
        ...

    def find_view(self, name: TableName) -> View | None:
        """The catalog's view, or the session's temporary view, or None."""
        ...

    def query_of(self, view: View) -> Query:
        """The query of a view. UnsupportedStatementError if it is not understood."""
        ...

    def is_frame(self, name: str) -> bool:
        """Whether a DataFrame is registered under this name."""
        ...

    def is_temporary_view(self, name: str) -> bool:
        """Whether Spark itself has a temporary view of this name. Ask it last: it may take long."""
        ...

    @property
    def temporary_names(self) -> list[str]:
        """The names of the session's temporary views."""
        ...

    @property
    def temporary_tables(self) -> Mapping[TableName, TableName]:
        """The session's temporary tables: their names in the catalog, by those in statements."""
        ...

    @property
    def keeps_spelling(self) -> bool:
        """Whether the catalog's types keep the capital letters of names of fields."""
        ...

    def table_names(self, database: str) -> list[str]:
        """The names of a database's tables and views, as suggestions for an unknown name."""
        ...


@dataclass(slots=True)
class SeenNames:
    """Remembers the tables and views of a plan, to tell later whether they are the same."""

    names: Names
    tables: dict[TableName, Table | None] = field(default_factory=dict)
    views: dict[TableName, View | None] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return self.names.database

    def find_table(self, name: TableName) -> Table | None:
        """The table as it was when it was first asked for."""
        if name not in self.tables:
            self.tables[name] = self.names.find_table(name)
        return self.tables[name]

    def require(self, names: Iterable[TableName]) -> dict[TableName, Table]:
        """The tables of these names, which the plan has found before."""
        found = {name: self.find_table(name) for name in names}
        return {name: table for name, table in found.items() if table is not None}

    def find_view(self, name: TableName) -> View | None:
        """The view as it was when it was first asked for."""
        if name not in self.views:
            self.views[name] = self.names.find_view(name)
        return self.views[name]

    def query_of(self, view: View) -> Query:
        return self.names.query_of(view)

    def is_frame(self, name: str) -> bool:
        return self.names.is_frame(name)

    def is_temporary_view(self, name: str) -> bool:
        return self.names.is_temporary_view(name)

    @property
    def temporary_names(self) -> list[str]:
        return self.names.temporary_names

    @property
    def temporary_tables(self) -> Mapping[TableName, TableName]:
        return self.names.temporary_tables

    @property
    def keeps_spelling(self) -> bool:
        return self.names.keeps_spelling

    def table_names(self, database: str) -> list[str]:
        return self.names.table_names(database)

    def still_hold(self) -> bool:
        """Whether no table or view that was asked for has been altered, dropped or created."""
        names = self.names
        return all(names.find_table(name) == table for name, table in self.tables.items()) and all(
            names.find_view(name) == view for name, view in self.views.items()
        )


class ViewRefusal(Enum):
    """Why a statement that takes a table refuses a view: Hive's words and number, and a hint."""

    INSERT = (
        "A view cannot be used as target table for LOAD or INSERT",
        10090,
        "Write into the tables of its query.",
    )
    CHANGE = (
        "You cannot update or delete records in a view",
        10402,
        "Change the tables of its query.",
    )
    TRUNCATE = (
        "Cannot truncate non-managed table {name}.",
        10146,
        "Truncate the tables of its query.",
    )
    ALTER = (
        "To alter a view you need to use the ALTER VIEW command.",
        10131,
        "Write ALTER VIEW … AS, or CREATE OR REPLACE VIEW.",
    )
    COMPACT = (
        "To alter a view you need to use the ALTER VIEW command.",
        10131,
        "Compact the tables of its query.",
    )
    DROP = "Cannot drop a view with DROP TABLE", None, "Write DROP VIEW."
    OTHER = "The statement takes a table, not a view", None, "Name one of the tables of its query."


_OF_MATERIALIZED = {
    ViewRefusal.ALTER: (
        "a materialized view cannot be altered",
        None,
        "DROP and CREATE it anew. COMPACT is allowed.",
    ),
    ViewRefusal.DROP: (
        "Cannot drop a materialized view with DROP TABLE",
        None,
        "Write DROP MATERIALIZED VIEW.",
    ),
}
"""What differs if the view is a materialized one."""
_REBUILD = "ALTER MATERIALIZED VIEW … REBUILD computes its rows anew."


def table_name(ref: TableRef, names: Names) -> TableName:
    """The name in the catalog of the table that a reference names.

    A temporary table hides the catalog's own table of its name.
    """
    name = new_name(ref, names)
    return names.temporary_tables.get(name, name)


def new_name(ref: TableRef, names: Names) -> TableName:
    """The name in the catalog of a table or view that is made under a reference."""
    return TableName.of(ref.database or names.database, ref.table)


def temporary_tables_in(database: str, names: Names) -> list[str]:
    """The session's temporary tables that statements find in a database, sorted."""
    return sorted(name.table for name in names.temporary_tables if name.database == database)


def is_temporary_table(ref: TableRef, names: Names) -> bool:
    """Whether a reference names a temporary table of the session."""
    return new_name(ref, names) in names.temporary_tables


def find_relation(ref: TableRef, names: Names) -> Table | View | None:
    """The temporary view, or the table or view of the catalog, that a reference names, or None."""
    name = table_name(ref, names)
    return find_temporary(ref, names) or names.find_table(name) or names.find_view(name)


def find_named_view(ref: TableRef, names: Names) -> View | None:
    """The temporary view, or the view of the catalog, that a reference names, or None."""
    return find_temporary(ref, names) or names.find_view(table_name(ref, names))


def find_temporary(ref: TableRef, names: Names) -> View | None:
    """The session's temporary view that a reference names, or None. It hides a table so called."""
    if ref.database is not None:
        return None
    return names.find_view(TableName.temporary(ref.table))


def find_target(ref: TableRef, names: Names, of_view: ViewRefusal = ViewRefusal.OTHER) -> Table:
    """The table that a statement names. TableNotFoundError suggests a similar name.

    UnsupportedStatementError with the words of ``of_view`` if it is a view. A materialized view is
    a table for all but the statements that would change it.
    """
    found = find_relation(ref, names)
    if found is None:
        raise unknown_table(ref, names)
    if isinstance(found, Table):
        if not found.is_materialized_view or of_view in (ViewRefusal.COMPACT, ViewRefusal.OTHER):
            return found
        kind = found.noun
        of_any = (*of_view.value[:2], _REBUILD)
        message, code, hint = _OF_MATERIALIZED.get(of_view, of_any)
    else:
        kind = "temporary view" if found.name.is_temporary else "view"
        message, code, hint = of_view.value
    raise UnsupportedStatementError(
        message.format(name=found.name),
        detail=f"{found.name} is a {kind}.",
        hint=hint,
        code=code,
        line=ref.line,
        column=ref.column,
    )


def find_view_target(ref: TableRef, names: Names) -> View:
    """The view that a statement names. TableNotFoundError suggests a similar name.

    UnsupportedStatementError if it is a table, or a temporary view.
    """
    temporary = find_temporary(ref, names)
    if temporary is not None:
        raise UnsupportedStatementError(
            "ALTER VIEW of a temporary view is not supported",
            detail=f"{temporary.name} is a temporary view.",
            hint="Write CREATE OR REPLACE TEMPORARY VIEW.",
            line=ref.line,
            column=ref.column,
        )
    name = table_name(ref, names)
    view = names.find_view(name)
    if view is not None:
        return view
    table = names.find_table(name)
    if table is not None:
        raise UnsupportedStatementError(
            "To alter a base table you need to use the ALTER TABLE command.",
            detail=f"{name} is a {table.noun}.",
            code=10132,
            line=ref.line,
            column=ref.column,
        )
    raise unknown_table(ref, names)


def refuse_read_only(table: Table) -> None:
    """Raise UnsupportedStatementError for a table that can only be read."""
    if table.read_only is not None:
        raise UnsupportedStatementError(
            f"table {table.name} cannot be changed, only read", detail=table.read_only
        )


def find_acid_target(ref: TableRef, names: Names) -> Table:
    """The table that UPDATE, DELETE or MERGE changes.

    Raises UnsupportedStatementError unless it is full-ACID.
    """
    table = find_target(ref, names, ViewRefusal.CHANGE)
    if table.kind is TableKind.FULL_ACID:
        return table
    plain = table.kind is TableKind.PLAIN
    raise UnsupportedStatementError(
        f"Attempt to do update or delete on table {table.name} that is "
        + ("not transactional" if plain else "insert-only transactional"),
        code=10297 if plain else 10414,
        hint="Only tables with TBLPROPERTIES ('transactional' = 'true') can be changed."
        if plain
        else "Rows of an insert-only table stay as they are; INSERT OVERWRITE replaces them.",
        line=ref.line,
        column=ref.column,
    )


def with_short_names(fragment: Fragment, names: Names) -> Fragment:
    """The fragment, in which the long names of tables of the current database are to be shortened.

    What else has the name of such a table belongs to no database. A name that is of no column may
    be that of a field, and ``db.t.*`` the star of a struct.
    """
    if not fragment.long_names:
        return fragment
    own = {long.end: long.start for long in fragment.long_names if _is_of_own(long, names)}
    others = {long.end for long in fragment.long_names} - own.keys()
    stars = tuple(star for star in fragment.stars if star.start not in others)
    return replace(
        fragment,
        qualifiers=(*fragment.qualifiers, *((start, end) for end, start in own.items())),
        stars=stars,
        shows_columns=fragment.shows_columns or len(stars) < len(fragment.stars),
    )


def _is_of_own(long: LongName, names: Names) -> bool:
    """Whether a long name is that of a column of a table or view of the current database."""
    if long.database.lower() != names.database or names.is_frame(long.table):
        return False
    if names.find_view(TableName.temporary(long.table)) is not None:
        return False
    own = TableName.of(long.database, long.table)
    name = names.temporary_tables.get(own, own)
    found = names.find_table(name) or names.find_view(name)
    if found is None:
        return False
    known = (*(column.value for column in HiddenColumn), "*")
    return long.column.lower() in known or found.column(long.column) is not None


def unknown_table(ref: TableRef, names: Names) -> TableNotFoundError:
    """The error for the name of an unknown table, with a suggestion."""
    if is_temporary_table(ref, names):
        return TableNotFoundError(
            f'the temporary table "{new_name(ref, names)}" is gone',
            detail="Its database was dropped, by a statement or because the session was silent"
            " for a day.",
            code=10001,
            hint="DROP TABLE forgets it, CREATE TEMPORARY TABLE makes it anew.",
            line=ref.line,
            column=ref.column,
        )
    name = table_name(ref, names)
    own = names.temporary_names if ref.database is None else []
    near = near_name(name.table, [*own, *names.table_names(name.database)])
    return TableNotFoundError(
        f'table "{name}" not found',
        code=10001,
        hint=f'Did you mean "{near}"?' if near else "SHOW TABLES lists the tables.",
        line=ref.line,
        column=ref.column,
    )


def find_column(table: Table, identifier: Identifier) -> Column:
    """The column that an identifier names. ColumnNotFoundError suggests a similar name."""
    column = table.column(identifier.name)
    if column is not None:
        return column
    near = near_name(identifier.name, [c.name for c in table.all_columns])
    columns = ", ".join(c.name for c in table.all_columns)
    raise ColumnNotFoundError(
        f'table "{table.name}" has no column "{identifier.name}"',
        code=10002,
        hint=f'Did you mean "{near}"?' if near else f"Its columns are {columns}.",
        line=identifier.line,
        column=identifier.column,
    )
