"""Table structs of a Hive Metastore: tables and views alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from acidsql.backends.metastore.capabilities import ASKER
from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.databases import MetastoreDatabases
from acidsql.backends.metastore.errors import AlreadyThereError, NoSuchObjectError
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.lost_answers import is_made, looked_at
from acidsql.backends.metastore.tables import Struct, forget_access, name_of, require_whole
from acidsql.backends.metastore.undo import Undo
from acidsql.model.names import TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.ports.catalog import database_not_found, table_exists, table_not_found

_INSERT_ONLY = hms.ClientCapabilities(values=[hms.ClientCapability.INSERT_ONLY_TABLES])


class TableCalls(MetastoreDatabases):
    """The calls that make, find, replace and drop a Table, which is a table or a view."""

    def __init__(
        self,
        client: MetastoreClient,
        definition_locked: Callable[[TableName], AbstractContextManager[None]],
    ) -> None:
        """``definition_locked`` keeps other acidsql clients from changing a table's definition."""
        super().__init__(client, definition_locked)
        self._undo = Undo()

    def _create(self, name: TableName, struct: Struct, constraints: Mapping[str, Any]) -> None:
        refuse_name(name.table, Named.TABLE)
        context = hms.EnvironmentContext(properties={})
        request = hms.CreateTableRequest(table=struct, envContext=context, **constraints, **ASKER)
        if constraints:
            older = Call("create_table_with_constraints", (struct, *constraints.values()))
        else:
            older = Call("create_table_with_environment_context", (struct, context))
        try:
            with looked_at(lambda: is_made(struct, self._find(name))):
                self._client.call_known(
                    Call("create_table_req", (request,)), older, repeatable=False
                )
        except AlreadyThereError:
            raise table_exists(name) from None
        except NoSuchObjectError:
            raise database_not_found(name.database) from None

    def drop_table(self, name: TableName) -> None:
        """As in the port, with one difference: Hive 4 keeps the table's write ids if it does not
        have to remove files (AcidEventListener). A new table of that name goes on after them.
        """
        try:
            with looked_at(lambda: self._find(name) is None):
                self._client.call("drop_table", name.database, name.table, False, repeatable=False)
        except NoSuchObjectError:
            raise table_not_found(name) from None

    def _put_back(self, name: TableName, before: Struct, cascade: bool) -> None:
        with self._definition_locked(name):
            self._alter(name, before, cascade)

    def _alter(self, name: TableName, struct: Struct, cascade: bool = False) -> None:
        """Replace a table. With ``cascade`` its partitions get the columns, too.

        Each partition has columns of its own, and Hive reads a partition by these.
        """
        properties = {"DO_NOT_UPDATE_STATS": "true", **({"CASCADE": "true"} if cascade else {})}
        context = hms.EnvironmentContext(properties=properties)
        request = hms.AlterTableRequest(
            dbName=name.database,
            tableName=name.table,
            table=struct,
            environmentContext=context,
            **ASKER,
        )
        older = (name.database, name.table, struct, context)
        renamed = name_of(struct)
        with looked_at(lambda: renamed != name and self._is_renamed(name, struct)):
            self._client.call_known(
                Call("alter_table_req", (request,)),
                Call("alter_table_with_environment_context", older),
                keep_unknown=True,
                repeatable=renamed == name,
            )

    def _is_renamed(self, name: TableName, struct: Struct) -> bool:
        return self._find(name) is None and is_made(struct, self._find(name_of(struct)))

    def _find(self, name: TableName, *, keep_unknown: bool = False) -> Struct | None:
        request = hms.GetTableRequest(
            dbName=name.database, tblName=name.table, capabilities=_INSERT_ONLY, **ASKER
        )
        try:
            result = self._client.call("get_table_req", request, keep_unknown=keep_unknown)
        except NoSuchObjectError:
            return None
        return result.table

    def _require(self, name: TableName) -> Struct:
        """The table as a struct to be changed and written back, with fields unknown to our IDL."""
        struct = self._find(TableName.of(name.database, name.table), keep_unknown=True)
        if struct is None:
            raise table_not_found(name)
        require_whole(struct)
        forget_access(struct)
        return struct

    def _tables(self, database: str, names: Sequence[str]) -> list[Struct]:
        request = hms.GetTablesRequest(
            dbName=database, tblNames=names, capabilities=_INSERT_ONLY, **ASKER
        )
        try:
            found: list[Struct] = self._client.call("get_table_objects_by_name_req", request).tables
        except NoSuchObjectError:
            raise database_not_found(database) from None
        return found
