"""The meaning of a statement's names: tables, frames, views and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from acidsql.errors import (
    ColumnNotFoundError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.model.near import near_name
from acidsql.model.table import Column, Table, TableKind
from acidsql.statements.fragment import Identifier, TableRef


class Names(Protocol):
    """The questions about names that the planner may ask the session."""

    @property
    def database(self) -> str:
        """The current database."""
        ...

    def find_table(self, name: TableName) -> Table | None:
        """The catalog's table, or None."""
        ...

    def is_frame(self, name: str) -> bool:
        """Whether a DataFrame is registered under this name."""
        ...

    def is_view(self, name: str) -> bool:
        """Whether the engine has a temporary view of this name. May start Spark, so ask it last."""
        ...

    def table_names(self, database: str) -> list[str]:
        """The names of a database's tables, as suggestions for an unknown name."""
        ...


@dataclass(slots=True)
class SeenNames:
    """Remembers the tables that a plan was made with, to tell later whether they are the same."""

    names: Names
    tables: dict[TableName, Table | None] = field(default_factory=dict)

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

    def is_frame(self, name: str) -> bool:
        return self.names.is_frame(name)

    def is_view(self, name: str) -> bool:
        return self.names.is_view(name)

    def table_names(self, database: str) -> list[str]:
        return self.names.table_names(database)

    def still_hold(self) -> bool:
        """Whether no table that was asked for has been altered, dropped or created since."""
        return all(self.names.find_table(name) == table for name, table in self.tables.items())


def table_name(ref: TableRef, names: Names) -> TableName:
    """The full name that a reference has in the catalog."""
    return TableName.of(ref.database or names.database, ref.table)


def find_target(ref: TableRef, names: Names) -> Table:
    """The table that a statement names. TableNotFoundError suggests a similar name."""
    name = table_name(ref, names)
    table = names.find_table(name)
    if table is None:
        raise unknown_table(ref, names)
    return table


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
    table = find_target(ref, names)
    if table.kind is TableKind.FULL_ACID:
        return table
    plain = table.kind is TableKind.PLAIN
    raise UnsupportedStatementError(
        f"Attempt to do update or delete on table {table.name} that is "
        + ("not transactional" if plain else "insert-only transactional"),
        code=10297 if plain else 10414,
        hint="Only tables with TBLPROPERTIES ('transactional' = 'true') can be changed.",
        line=ref.line,
        column=ref.column,
    )


def unknown_table(ref: TableRef, names: Names) -> TableNotFoundError:
    """The error for the name of an unknown table, with a suggestion."""
    name = table_name(ref, names)
    near = near_name(name.table, names.table_names(name.database))
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
