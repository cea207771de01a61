"""Statements that change the catalog: one module per noun, one match over all of them."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.definitions.create_table import create_table, drop_table
from acidsql.definitions.database import create_database, drop_database
from acidsql.result import Result
from acidsql.scope import Scope
from acidsql.statements import CreateDatabase, CreateTable, DropDatabase, DropTable

Definition = CreateTable | DropTable | CreateDatabase | DropDatabase


def define(statement: Definition, scope: Scope) -> Result:
    """Carry the statement out under its locks."""
    match statement:
        case CreateTable():
            return create_table(statement, scope)
        case DropTable():
            return drop_table(statement, scope)
        case CreateDatabase():
            return create_database(statement, scope)
        case DropDatabase():
            return drop_database(statement, scope)
        case _:
            assert_never(statement)
