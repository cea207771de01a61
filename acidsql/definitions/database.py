"""CREATE, ALTER and DROP DATABASE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from acidsql.definitions.create_table import forget_table
from acidsql.definitions.removal import or_stays
from acidsql.definitions.table_defaults import DEFAULT_TABLE_TYPE
from acidsql.definitions.table_places import database_location
from acidsql.errors import AnalysisError, DatabaseExistsError
from acidsql.execution.places import Neighbours, chosen_path, reason_to_keep, refuse_place
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.access import Access, Operation
from acidsql.model.names import DEFAULT_DATABASE, TableName, is_temporary_database
from acidsql.model.naming import Named, database_path, refuse_name
from acidsql.ports.catalog import Database, database_exists, is_default_database
from acidsql.ports.storage import Storage
from acidsql.statements.database import CreateDatabase, DropDatabase, SetDatabaseProperties
from acidsql.txn.commit import unless_done
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn


def create_database(statement: CreateDatabase, scope: Scope) -> Result:
    """Create the database and its directory."""
    name = statement.name.name.lower()
    place: dict[str, Any] = {"line": statement.name.line, "column": statement.name.column}
    refuse_name(name, Named.DATABASE, **place)
    if is_temporary_database(name):
        raise AnalysisError(
            f'the database name "{name}" is one for temporary tables',
            hint="CREATE TEMPORARY TABLE makes such a database, and the end of a session drops it.",
            **place,
        )
    there = Result("create", message=f"database {name} exists already")
    if statement.if_not_exists and name in scope.store.databases():
        return there
    chosen = statement.location
    location = "" if chosen is None else chosen_path(chosen, scope)
    properties = dict(statement.properties)
    _refuse_bad_type(properties)
    database = Database(name, location, statement.comment, scope.user, parameters=properties)
    try:
        make_database(database, scope)
    except DatabaseExistsError:  # since then, by another session
        if not statement.if_not_exists:
            raise
        return there
    return Result("create", message="OK")


def make_database(database: Database, scope: Scope) -> None:
    """Make a database and its directory, which is below the warehouse unless it has a location.

    AnalysisError for a place of another owner, DatabaseExistsError for a name that is taken.
    """
    name, location = database.name, database.location
    if not location:
        home = scope.store.database(DEFAULT_DATABASE)
        location = database_path(
            database_location(home, scope.warehouse, {"EXTERNAL": "TRUE"}), name
        )
    is_new = name not in scope.store.databases()
    if is_new:
        try:
            refuse_place(location, scope, name)
        except AnalysisError:
            if name in scope.store.databases():  # since then, by another session
                raise database_exists(name) from None
            raise
    database = replace(database, location=location)
    with unless_done(lambda: is_new and _is_made(database, scope)):
        scope.store.create_database(database)
    scope.storage.make_directory(location)


def _is_made(wanted: Database, scope: Scope) -> bool:
    found = scope.store.database(wanted.name)
    return (found.location, found.owner) == (wanted.location, wanted.owner)


def set_database_properties(statement: SetDatabaseProperties, scope: Scope) -> Result:
    """Set properties. The others stay."""
    _refuse_bad_type(dict(statement.properties))
    scope.store.set_database_parameters(statement.name.name, dict(statement.properties))
    return Result("alter", message="OK")


def _refuse_bad_type(properties: Mapping[str, str]) -> None:
    kind = properties.get(DEFAULT_TABLE_TYPE)
    if kind is not None and kind.upper() not in ("EXTERNAL", "ACID"):
        raise AnalysisError(
            f"'{DEFAULT_TABLE_TYPE}' is 'EXTERNAL' or 'ACID', not '{kind}'",
            hint="It is the kind of tables whose statements name none.",
        )


def drop_database(statement: DropDatabase, scope: Scope) -> Result:
    """Drop the database, with CASCADE its tables and views too.

    Its directory stays if files are left in it: files of external tables or of other databases.
    """
    name = statement.name.name.lower()
    with scope.transaction() as txn:
        scope.release(lambda table: table.database == name, moves=True)
        txn.lock(database_drop_locks(name))
        if statement.if_exists and name not in scope.store.databases():
            return Result("drop", message=f"database {name} does not exist")
        database = scope.store.database(name)
        neighbours = Neighbours(scope)
        notes = _drop_tables(name, scope, txn, neighbours) if statement.cascade else []
        reasons = {
            place: reason_to_keep(place, neighbours, database=name)
            for place in sorted({database.location, database.managed_location or database.location})
        }
        is_gone = unless_done(lambda: name not in scope.store.databases())
        with is_gone, scope.store.while_open(txn.txn_id):
            scope.store.drop_database(name)
        for place, reason in reasons.items():
            if reason is not None:
                notes.append(f"{place} stays: {reason}.")
            else:
                notes += or_stays(place, partial(_remove_home, place, txn, scope.storage))
    return Result("drop", message="\n".join(["OK", *notes]))


def _remove_home(place: str, txn: OpenTxn, storage: Storage) -> list[str]:
    """Remove the directory of a dropped database; a line if it holds files, and stays."""
    txn.require_open()
    storage.remove_empty(place)
    return [f"{place} holds files and stays."] if storage.list_files(place) else []


def database_drop_locks(name: str) -> list[LockComponent]:
    """The locks of DROP DATABASE."""
    return lock_components([Access(name, None, Operation.DROP)])


def _has_no_view(name: TableName, scope: Scope) -> bool:
    return scope.store.find_view(name) is None


def _drop_tables(name: str, scope: Scope, txn: OpenTxn, neighbours: Neighbours) -> list[str]:
    if name == DEFAULT_DATABASE:
        raise is_default_database()
    # All tables are read before the first one is dropped: a table that we cannot read raises here,
    # while nothing is gone.
    tables = [scope.store.table(TableName(name, table)) for table in scope.store.tables(name)]
    names = {table.name for table in tables}
    for view in scope.store.views(name):
        full = TableName(name, view)
        is_gone = unless_done(partial(_has_no_view, full, scope))
        with is_gone, scope.store.while_open(txn.txn_id):
            scope.store.drop_view(full)
    return [n for table in tables for n in forget_table(table, scope, txn, neighbours, names)]
