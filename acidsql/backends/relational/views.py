"""Views, and what they share with tables: names, columns and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.backends.relational.connection import alone, reading
from acidsql.backends.relational.databases import RelationalDatabases
from acidsql.model.names import TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.model.view import View
from acidsql.ports.catalog import table_exists, table_not_found


class RelationalViews(RelationalDatabases):
    """The verbs of `Catalog` about views. A view is a row of TBLS with a text."""

    @alone(repeatable=False)
    def create_view(self, view: View) -> None:
        name = self._free_name(view.name)
        self._sql.run(
            "insert_view",
            database=name.database,
            table=name.table,
            owner=view.owner,
            created_s=view.created_s,
            comment=view.comment,
            original_text=view.original_text,
            expanded_text=view.expanded_text,
        )
        self._insert_view_details(self._require_view(name), view)

    def _insert_view_details(self, view_id: int, view: View) -> None:
        self._insert_columns("insert_column", view_id, view.columns)
        self._insert_parameters(view_id, view.parameters)

    @alone(repeatable=False)
    def alter_view(self, view: View) -> None:
        view_id = self._require_view(view.name)
        self._sql.run(
            "update_view",
            table_id=view_id,
            owner=view.owner,
            created_s=view.created_s,
            comment=view.comment,
            original_text=view.original_text,
            expanded_text=view.expanded_text,
        )
        self._sql.run("delete_columns", table_id=view_id)
        self._sql.run("delete_parameters", table_id=view_id)
        self._insert_view_details(view_id, view)

    @alone(repeatable=False)
    def rename_view(self, name: TableName, new: TableName) -> None:
        view_id = self._require_view(name)
        new = self._free_name(new)
        self._sql.run("rename_view", table_id=view_id, database=new.database, table=new.table)

    @alone(repeatable=False)
    def drop_view(self, name: TableName) -> None:
        self._sql.run("delete_table", table_id=self._require_view(name))

    @reading()
    def find_view(self, name: TableName) -> View | None:
        name = TableName.of(name.database, name.table)
        row = self._sql.row("view", database=name.database, table=name.table)
        if row is None:
            return None
        view_id, owner, created_s, comment, original_text, expanded_text = row
        return View(
            name,
            self._columns("columns", view_id),
            original_text,
            expanded_text,
            dict(self._sql.rows("parameters", table_id=view_id)),
            comment,
            owner,
            created_s,
        )

    @reading()
    def views(self, database: str) -> list[str]:
        home = self.database(database).name
        return [name for (name,) in self._sql.rows("views", database=home)]

    def _require_view(self, name: TableName) -> int:
        row = self._sql.row("view", database=name.database.lower(), table=name.table.lower())
        if row is None:
            raise table_not_found(name)
        return int(row[0])

    def _free_name(self, name: TableName) -> TableName:
        """The name in lower case. Raises unless a new table or view may have it."""
        name = TableName.of(name.database, name.table)
        refuse_name(name.table, Named.TABLE)
        self.database(name.database)
        if self._sql.row("named", database=name.database, table=name.table) is not None:
            raise table_exists(name)
        return name

    def _insert_parameters(self, table_id: int, parameters: Mapping[str, str]) -> None:
        for key, value in parameters.items():
            self._sql.run("insert_parameter", table_id=table_id, key=key, value=value)

    def _insert_columns(self, query: str, table_id: int, columns: Sequence[Column]) -> None:
        for number, column in enumerate(columns):
            self._sql.run(
                query,
                table_id=table_id,
                number=number,
                name=column.name,
                type=str(column.type),
                comment=column.comment,
            )

    def _columns(self, query: str, table_id: int) -> tuple[Column, ...]:
        rows = self._sql.rows(query, table_id=table_id)
        return tuple(Column(name, parse_type(text), comment) for name, text, comment in rows)
