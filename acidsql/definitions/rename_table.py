"""ALTER TABLE … RENAME TO."""

from __future__ import annotations

from dataclasses import replace

from acidsql.definitions.create_table import creation_locks, new_table_name
from acidsql.definitions.partition import keeps, move, undoing
from acidsql.definitions.table_places import database_location
from acidsql.errors import AnalysisError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.access import Access, Operation
from acidsql.model.names import TableName
from acidsql.model.naming import is_path_part, table_path
from acidsql.model.table import Table
from acidsql.planner.names import ViewRefusal, find_target
from acidsql.ports.catalog import Partition, is_taken, table_exists
from acidsql.ports.storage import require_present
from acidsql.statements.alter_table import RenameTable
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components


def rename_table(statement: RenameTable, scope: Scope, *, is_temporary: bool = False) -> Result:
    """Give a table another name. As in Hive, a directory at the default place is renamed, too."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    name = new_table_name(statement.renamed, scope, is_temporary=is_temporary)
    home = _home(table, table.name, scope)
    parent = _home(table, name, scope)
    with scope.transaction() as txn:
        scope.release(lambda held: held == table.name, moves=True)
        txn.lock(renaming_locks(table.name, name))
        now = scope.store.table(table.name)
        if is_taken(scope.store, name):
            raise table_exists(name)
        old = table.name.table
        own = is_path_part(old) and now.location == table_path(home, old)
        moves = own and now.owns_files
        target = table_path(parent, name.table) if moves else now.location
        if moves and scope.storage.exists(target):
            raise AnalysisError(
                f"New location for this table {name} already exists : {target}",
                hint="Move what is there elsewhere, or remove it.",
            )

        def is_renamed() -> bool:
            return is_taken(scope.store, name) and not is_taken(scope.store, table.name)

        with undoing(lambda: keeps(scope, is_renamed)) as undo:
            if moves:
                require_present(now.location, now.name, scope.storage)
                move(now.location, target, scope.storage, undo)
            with scope.committing(txn):
                renamed = replace(now, name=name, location=target)
                scope.store.rename_table(table.name, renamed, _moved(now, target, scope))
    return Result("alter", message="OK")


def renaming_locks(old: TableName, new: TableName) -> list[LockComponent]:
    """The locks of RENAME TO: one on the table, and those of creating a table of the new name."""
    own = lock_components([Access.of(old, Operation.ALTER)])
    return sorted([*own, *creation_locks(new)], key=lambda c: (c.database, c.table or ""))


def _home(table: Table, name: TableName, scope: Scope) -> str:
    """The parent of the table's default directory if the table has this name."""
    database = scope.store.database(name.database)
    return database_location(database, scope.warehouse, table.parameters)


def _moved(table: Table, target: str, scope: Scope) -> list[Partition]:
    def place(location: str) -> str:
        inside = location.removeprefix(table.location)
        return target + inside if table.encloses(location) else location

    return [Partition(p.name, place(p.location)) for p in scope.store.partitions(table.name)]
