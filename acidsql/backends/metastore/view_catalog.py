"""The catalog of views in a Hive Metastore."""

from __future__ import annotations

from acidsql.backends.metastore.table_calls import TableCalls
from acidsql.backends.metastore.tables import Struct, copied, name_of
from acidsql.backends.metastore.views import VIEW, change_view, is_view, view_from, view_to
from acidsql.model.names import TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.model.view import View
from acidsql.ports.catalog import table_exists, table_not_found


class MetastoreViews(TableCalls):
    """The verbs of `Catalog` about views."""

    def create_view(self, view: View) -> None:
        self._create(view.name, view_to(view), {})
        self._undo.by(self.drop_view, view.name)

    def alter_view(self, view: View) -> None:
        with self._definition_locked(view.name):
            struct = self._require_view(view.name)
            before = copied(struct)
            change_view(struct, view)
            self._undo.by(self._put_back, view.name, before, False)
            self._alter(view.name, struct)

    def rename_view(self, name: TableName, new: TableName) -> None:
        refuse_name(new.table, Named.TABLE)
        struct = self._require_view(name)
        if self._find(new) is not None:
            raise table_exists(new)
        self.database(new.database)
        before = copied(struct)
        struct.dbName, struct.tableName = new.database, new.table
        self._alter(name, struct)
        self._undo.by(self._alter, new, before)

    def drop_view(self, name: TableName) -> None:
        struct = self._require_view(name)
        self.drop_table(name_of(struct))
        self._undo.by(self._create, name_of(struct), struct)

    def find_view(self, name: TableName) -> View | None:
        struct = self._find(TableName.of(name.database, name.table))
        return view_from(struct) if struct is not None and is_view(struct) else None

    def _require_view(self, name: TableName) -> Struct:
        struct = self._require(name)
        if not is_view(struct):
            raise table_not_found(name)
        return struct

    def views(self, database: str) -> list[str]:
        home = self.database(database).name
        return sorted(self._client.call("get_tables_by_type", home, "*", VIEW))
