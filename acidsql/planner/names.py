"""What a statement's names may mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Protocol

from acidsql.errors import (
    ColumnNotFoundError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.model.table import Column, Table, TableKind
from acidsql.statements.fragment import Identifier, TableRef


class Names(Protocol):
    """What the planner may ask about names; the session answers."""

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
        """Whether the engine has a temporary view of this name; asked last, it may start Spark."""
        ...

    def table_names(self, database: str) -> list[str]:
        """Names to suggest when one is unknown."""
        ...


@dataclass(slots=True)
class SeenNames:
    """Names as a plan was made with them, to find out later whether they still mean the same."""

    names: Names
    tables: dict[TableName, Table | None] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return self.names.database

    def find_table(self, name: TableName) -> Table | None:
        """The table, always the same one."""
        if name not in self.tables:
            self.tables[name] = self.names.find_table(name)
        return self.tables[name]

    def is_frame(self, name: str) -> bool:
        return self.names.is_frame(name)

    def is_view(self, name: str) -> bool:
        return self.names.is_view(name)

    def table_names(self, database: str) -> list[str]:
        return self.names.table_names(database)

    def still_hold(self) -> bool:
        """Whether no table that was asked for has been altered, dropped or made since."""
        return all(self.names.find_table(name) == table for name, table in self.tables.items())


def table_name(ref: TableRef, names: Names) -> TableName:
    """The full name of what a reference may mean in the catalog."""
    return TableName.of(ref.database or names.database, ref.table)


def find_target(ref: TableRef, names: Names) -> Table:
    """The table a statement writes to. TableNotFoundError with what comes near."""
    name = table_name(ref, names)
    table = names.find_table(name)
    if table is None:
        raise unknown_table(ref, names)
    return table


def refuse_read_only(table: Table) -> None:
    """Raise UnsupportedStatementError for a table that may be read only."""
    if table.read_only is not None:
        raise UnsupportedStatementError(
            f"table {table.name} cannot be changed, only read", detail=table.read_only
        )


def find_acid_target(ref: TableRef, names: Names) -> Table:
    """The table that UPDATE, DELETE or MERGE changes: it has to be full-ACID."""
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
    """The error for a name that means nothing."""
    name = table_name(ref, names)
    near = get_close_matches(name.table, names.table_names(name.database), 1)
    return TableNotFoundError(
        f'table "{name}" not found',
        code=10001,
        hint=f'Did you mean "{near[0]}"?' if near else "SHOW TABLES lists what is there.",
        line=ref.line,
        column=ref.column,
    )


def find_column(table: Table, identifier: Identifier) -> Column:
    """The column of a table that an identifier names. ColumnNotFoundError with what comes near."""
    column = table.column(identifier.name)
    if column is not None:
        return column
    near = get_close_matches(identifier.name.lower(), [c.name for c in table.all_columns], 1)
    columns = ", ".join(c.name for c in table.all_columns)
    raise ColumnNotFoundError(
        f'table "{table.name}" has no column "{identifier.name}"',
        code=10002,
        hint=f'Did you mean "{near[0]}"?' if near else f"Its columns are {columns}.",
        line=identifier.line,
        column=identifier.column,
    )
