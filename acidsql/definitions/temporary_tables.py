"""Temporary tables: ordinary tables in a database of their session, which is dropped with it.

The database says until when the session answers for it. The session moves that time on. Once the
time is over, the session must have died, and any housekeeper may drop the database. The time is a
property of the database because each kind of store keeps those, a Hive Metastore too.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

from acidsql.definitions.create_table import exists_already, refuse_temporary_database
from acidsql.definitions.database import drop_database, make_database
from acidsql.definitions.rename_table import rename_table
from acidsql.errors import AcidSqlError, AnalysisError, DatabaseNotFoundError
from acidsql.execution.names import SessionNames
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.names import TEMPORARY_DATABASE, TableName, is_temporary_database
from acidsql.model.naming import Named, refuse_name
from acidsql.planner.names import find_temporary, new_name
from acidsql.ports.catalog import Database, table_exists
from acidsql.statements import CreateTable, CreateTableAs, CreateTableLike, RenameTable
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.database import DropDatabase
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.txn.heartbeats import Heartbeat, Heartbeats, while_held

UNTIL = "acidsql.temporary.until"
"""The property of the database: seconds since 1970, from which on anybody may drop it."""

LEASE_S = 24 * 60 * 60
"""How long a session answers for its tables. A day, so that clocks may differ and laptops sleep."""

RENEWAL_S = 60 * 60

Creation = CreateTable | CreateTableAs | CreateTableLike


class TemporaryTables:
    """The temporary tables of a session, with their database. Thread-safe.

    ``clock`` is in seconds since 1970.
    """

    def __init__(
        self,
        names: SessionNames,
        scope: Scope,
        heartbeats: Heartbeats,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._names, self._scope, self._heartbeats = names, scope, heartbeats
        self._clock = clock
        self._guard = threading.RLock()
        self._database: str | None = None
        self._used: set[TableName] = set()
        """The names that tables in the database have had: views may still mean them."""
        self._renewal: Heartbeat | None = None

    def create(self, statement: Creation, make: Callable[[Creation], Result]) -> Result:
        """Make a table in the session's database. ``make`` carries the changed statement out.

        The name is that of the permanent table, if there is one, until the table is there: the
        query of the statement may read it.
        """
        target = _table(statement).target
        name = new_name(target, self._names)
        refuse_name(name.table, Named.TABLE, line=target.line, column=target.column)
        self._refuse_hidden(target)
        refuse_temporary_database(name, target)
        self._scope.store.database(name.database)
        with self._guard:
            is_there = self._holds(name)
            if is_there and not _table(statement).replaces:
                if _table(statement).if_not_exists:
                    return exists_already(name)
                raise table_exists(name)
            own = self._names.temporary_tables[name] if is_there else self._room(name)
            result = make(_with_target(self._with_own_keys(statement, name, own), own))
            self._names.temporary_tables[name] = own
        return result

    def rename(self, statement: RenameTable, scope: Scope) -> Result:
        """Rename a temporary table, which stays one."""
        name, new = (
            new_name(statement.target, self._names),
            new_name(statement.renamed, self._names),
        )
        refuse_name(
            new.table, Named.TABLE, line=statement.renamed.line, column=statement.renamed.column
        )
        self._refuse_hidden(statement.renamed)
        refuse_temporary_database(new, statement.renamed)
        self._scope.store.database(new.database)
        with self._guard:
            if self._holds(new):
                raise table_exists(new)
            own = self._room(new)
            renamed = replace(statement, renamed=_ref(own, statement.renamed))
            result = rename_table(renamed, scope, is_temporary=True)
            self._names.temporary_tables[new] = own
            del self._names.temporary_tables[name]
        return result

    def forget_dropped(self, ref: TableRef) -> None:
        """Let a name mean the permanent table again if the temporary one is gone."""
        name = new_name(ref, self._names)
        with self._guard:
            if name in self._names.temporary_tables and not self._holds(name):
                del self._names.temporary_tables[name]

    def close(self) -> None:
        """Drop the tables and their database. Idempotent."""
        with self._guard:
            if self._renewal is not None:
                self._renewal.stop()
            database, self._database = self._database, None
            self._names.temporary_tables.clear()
        if database is not None:
            _drop(database, self._scope)

    def _holds(self, name: TableName) -> bool:
        """Whether the session has a temporary table of this name, and nobody has dropped it."""
        own = self._names.temporary_tables.get(name)
        return own is not None and self._scope.store.find_table(own) is not None

    def _refuse_hidden(self, target: TableRef) -> None:
        """AnalysisError if a view or frame of the session would hide the table."""
        if target.database is not None:
            return
        is_frame = self._names.is_frame(target.table)
        if is_frame or find_temporary(target, self._names) is not None:
            kind = "registered frame" if is_frame else "temporary view"
            raise AnalysisError(
                f'"{target.table.lower()}" is a {kind}',
                hint="Give the table another name.",
                line=target.line,
                column=target.column,
            )

    def _with_own_keys(self, statement: Creation, name: TableName, own: TableName) -> Creation:
        """The statement with its foreign keys to the table that it makes, ``name``, to ``own``."""
        if not isinstance(statement, CreateTable):
            return statement

        def meant(constraint: ConstraintDefinition) -> ConstraintDefinition:
            parent = constraint.parent
            if parent is None or new_name(parent, self._names) != name:
                return constraint
            return replace(constraint, parent=_ref(own, parent))

        def column(definition: ColumnDefinition) -> ColumnDefinition:
            return replace(definition, constraints=tuple(map(meant, definition.constraints)))

        return replace(
            statement,
            columns=tuple(map(column, statement.columns)),
            partition_columns=tuple(map(column, statement.partition_columns)),
            constraints=tuple(map(meant, statement.constraints)),
        )

    def _room(self, name: TableName) -> TableName:
        """A free name in the session's database: two databases may have a table of one name."""
        database = self._home()
        for number in count(1):
            text = name.table if number == 1 else f"{name.table}_{number}"
            own = TableName(database, text)
            if own not in self._used and self._scope.store.find_table(own) is None:
                self._used.add(own)
                return own
        raise AssertionError("unreachable")

    def _home(self) -> str:
        """The name of the session's database, which is made for its first table."""
        scope = self._scope
        if self._database is not None and self._database in scope.store.databases():
            return self._database
        name = f"{TEMPORARY_DATABASE}{secrets.token_hex(8)}"
        comment = f"Temporary tables of a session of {scope.user}"
        make_database(Database(name, "", comment, scope.user, parameters=self._until()), scope)
        self._database = name
        if self._renewal is None:
            self._renewal = self._heartbeats.start(while_held(self._renew), RENEWAL_S)
        return name

    def _until(self) -> dict[str, str]:
        return {UNTIL: str(int(self._clock() + LEASE_S))}

    def _renew(self) -> bool:
        database = self._database
        if database is None:
            return False
        # Somebody may have dropped it. The session makes another one for its next table.
        with suppress(DatabaseNotFoundError):
            self._scope.store.set_database_parameters(database, self._until())
        return True


def drop_abandoned(scope: Scope, clock: Callable[[], float] = time.time) -> Iterator[str]:
    """Drop the databases whose sessions have died; each is told when it is gone.

    A failure is raised when all of them were tried.
    """
    failure: AcidSqlError | None = None
    for name in filter(is_temporary_database, scope.store.databases()):
        try:
            if not _is_abandoned(name, scope, clock()):
                continue
            _drop(name, scope)
        except AcidSqlError as error:
            failure = failure or error
            continue
        yield name
    if failure is not None:
        raise failure


def _is_abandoned(name: str, scope: Scope, now_s: float) -> bool:
    try:
        until = scope.store.database(name).parameters.get(UNTIL, "")
    except DatabaseNotFoundError:
        return False
    # Without the property, it is a database that a user has called so.
    return until.isdecimal() and int(until) < now_s


def _drop(database: str, scope: Scope) -> None:
    drop_database(DropDatabase(Identifier(database, 1, 1), if_exists=True, cascade=True), scope)


def _table(statement: Creation) -> CreateTable | CreateTableLike:
    return statement.table if isinstance(statement, CreateTableAs) else statement


def _with_target(statement: Creation, own: TableName) -> Creation:
    target = _ref(own, _table(statement).target)
    if isinstance(statement, CreateTableAs):
        return replace(statement, table=replace(statement.table, target=target))
    return replace(statement, target=target)


def _ref(name: TableName, at: TableRef) -> TableRef:
    """A reference to a name, which stands where another one does."""
    return replace(at, database=name.database, table=name.table)
