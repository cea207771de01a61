"""Tables and partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acidsql.backends.relational.connection import alone, reading, writing
from acidsql.backends.relational.constraints import constraint_of, parameters_of
from acidsql.backends.relational.views import RelationalViews
from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate
from acidsql.model.prune import prune_partitions
from acidsql.model.statistics import Statistics
from acidsql.model.table import FIELD_DELIMITER, Bucketing, FileFormat, Table
from acidsql.ports.catalog import (
    Partition,
    Place,
    all_places,
    partition_exists,
    partition_not_found,
    table_not_found,
)

_FORGET = (
    "forget_components",
    "forget_completed_components",
    "forget_write_ids",
    "forget_next_write_id",
    "forget_write_set",
    "forget_queue",
    "forget_history",
)
_DELETE_DETAILS = (
    "delete_columns",
    "delete_partition_keys",
    "delete_bucketing",
    "delete_parameters",
    "delete_constraints",
    "delete_statistics",
)
_RENAME = tuple(query.replace("forget", "rename") for query in _FORGET)
_FORGET_PARTITION = (
    "forget_partition_components",
    "forget_partition_completed_components",
    "forget_partition_write_set",
    "forget_partition_queue",
    "forget_partition_history",
)
_RENAME_PARTITION = tuple(query.replace("forget", "rename") for query in _FORGET_PARTITION)


class RelationalCatalog(RelationalViews):
    """The verbs of `Catalog`.

    Definitions are rare, and change many rows, also in the transaction tables. So no other verb
    writes meanwhile.
    """

    @alone(repeatable=False)
    def create_table(self, table: Table) -> None:
        name = self._free_name(table.name)
        self._sql.run(
            "insert_table",
            database=name.database,
            table=name.table,
            location=table.location,
            owner=table.owner,
            created_s=table.created_s,
            comment=table.comment,
        )
        self._insert_details(self._require_table(name), table)

    def _insert_details(self, table_id: int, table: Table) -> None:
        self._insert_columns("insert_column", table_id, table.columns)
        self._insert_columns("insert_partition_key", table_id, table.partition_columns)
        if table.bucketing is not None:
            for number, name in enumerate(table.bucketing.columns):
                self._sql.run(
                    "insert_bucketing_column",
                    table_id=table_id,
                    number=number,
                    name=name,
                    count=table.bucketing.count,
                    version=table.bucketing.version,
                )
        self._sql.run(
            "insert_format",
            table_id=table_id,
            stored_as=table.format.value,
            field_delimiter=table.field_delimiter,
        )
        self._insert_parameters(table_id, table.parameters)
        for number, constraint in enumerate(table.constraints):
            values = parameters_of(constraint)
            self._sql.run("insert_constraint", table_id=table_id, number=number, **values)

    @alone(repeatable=False)
    def drop_table(self, name: TableName) -> None:
        name = TableName.of(name.database, name.table)
        self._sql.run("delete_table", table_id=self._require_table(name))
        self._forget(name)

    def _forget(self, name: TableName) -> None:
        for query in _FORGET:
            self._sql.run(query, database=name.database, table=name.table)

    @alone(repeatable=False)
    def alter_table(self, table: Table) -> None:
        table_id = self._require_table(table.name)
        self._sql.run(
            "update_table",
            table_id=table_id,
            location=table.location,
            owner=table.owner,
            created_s=table.created_s,
            comment=table.comment,
        )
        for query in _DELETE_DETAILS:
            self._sql.run(query, table_id=table_id)
        self._insert_details(table_id, table)

    @alone(repeatable=False)
    def rename_table(self, name: TableName, table: Table, partitions: Sequence[Partition]) -> None:
        name = TableName.of(name.database, name.table)
        new = TableName.of(table.name.database, table.name.table)
        old_id = self._require_table(name)
        self.create_table(table)
        self._forget(new)
        self._sql.run("delete_table", table_id=old_id)
        self.add_partitions(new, partitions)
        for query in _RENAME:
            self._sql.run(
                query,
                database=name.database,
                table=name.table,
                new_database=new.database,
                new_table=new.table,
            )

    def table(self, name: TableName) -> Table:
        table = self.find_table(name)
        if table is None:
            raise table_not_found(name)
        return table

    @reading()
    def find_table(self, name: TableName) -> Table | None:
        name = TableName.of(name.database, name.table)
        row = self._sql.row("table", database=name.database, table=name.table)
        if row is None:
            return None
        table_id, location, owner, created_s, comment = row
        stored_as, field_delimiter = self._sql.row("format", table_id=table_id) or (
            FileFormat.ORC.value, FIELD_DELIMITER,
        )  # fmt: skip
        return Table(
            name,
            self._columns("columns", table_id),
            location,
            self._columns("partition_keys", table_id),
            self._bucketing(table_id),
            dict(self._sql.rows("parameters", table_id=table_id)),
            comment,
            owner,
            created_s,
            FileFormat(stored_as),
            field_delimiter,
            constraints=tuple(map(constraint_of, self._sql.rows("constraints", table_id=table_id))),
        )

    def _bucketing(self, table_id: int) -> Bucketing | None:
        rows = self._sql.rows("bucketing", table_id=table_id)
        if not rows:
            return None
        _, count, version = rows[0]
        return Bucketing(tuple(name for name, _, _ in rows), count, version)

    @reading()
    def tables(self, database: str) -> list[str]:
        home = self.database(database).name
        return [name for (name,) in self._sql.rows("tables", database=home)]

    @reading()
    def partitions(self, name: TableName) -> list[Partition]:
        rows = self._sql.rows("partitions", table_id=self._require_table(name))
        return [Partition(PartitionName.parse(text), location) for text, location in rows]

    def partition_names(self, name: TableName) -> list[PartitionName]:
        return [p.name for p in self.partitions(name)]

    def partitions_for(self, table: Table, predicates: Sequence[Predicate]) -> list[Partition]:
        return prune_partitions(table, self.partitions(table.name), predicates)

    @writing()
    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        table_id = self._require_table(name)
        if partitions:
            self._sql.run("delete_statistics", table_id=table_id)
        # Every session adds partitions in this order, so two sessions that add the same partitions
        # do not wait in a circle.
        for partition in sorted(partitions, key=lambda p: str(p.name)):
            self._sql.run(
                "add_partition",
                table_id=table_id,
                name=str(partition.name),
                location=partition.location,
            )

    @alone(repeatable=False)
    def drop_partitions(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        name = TableName.of(name.database, name.table)
        table_id = self._require_table(name)
        self._sql.run("delete_statistics", table_id=table_id)
        for partition in map(str, partitions):
            self._sql.run("delete_partition", table_id=table_id, name=partition)
            for query in _FORGET_PARTITION:
                self._sql.run(query, database=name.database, table=name.table, partition=partition)

    @alone(repeatable=False)
    def rename_partition(
        self, name: TableName, partition: PartitionName, renamed: Partition
    ) -> None:
        name = TableName.of(name.database, name.table)
        table_id = self._require_table(name)
        old, new = str(partition), str(renamed.name)
        if self._sql.row("partition", table_id=table_id, name=old) is None:
            raise partition_not_found(name, partition)
        if new != old and self._sql.row("partition", table_id=table_id, name=new) is not None:
            raise partition_exists(name, renamed.name)
        self._sql.run("delete_statistics", table_id=table_id)
        self._sql.run(
            "rename_partition",
            table_id=table_id,
            name=old,
            new_name=new,
            location=renamed.location,
        )
        for query in _RENAME_PARTITION:
            self._sql.run(
                query,
                database=name.database,
                table=name.table,
                partition=old,
                new_partition=new,
            )

    def places(self, location: str) -> Iterator[Place]:
        return all_places(self)

    keeps_spelling = False
    keeps_statistics = True

    @writing()
    def keep_statistics(
        self, name: TableName, kept: Mapping[PartitionName | None, Statistics]
    ) -> None:
        table_id = self._require_table(name)
        for partition, found in sorted(kept.items(), key=lambda item: str(item[0] or "")):
            self._sql.run(
                "keep_statistics",
                table_id=table_id,
                partition=str(partition or ""),
                statistics=found.text,
            )

    @reading()
    def statistics(
        self, name: TableName, partition: PartitionName | None = None
    ) -> Statistics | None:
        table_id = self._require_table(name)
        row = self._sql.row("statistics", table_id=table_id, partition=str(partition or ""))
        return None if row is None else Statistics.of_text(row[0])

    def forget_statistics(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Do nothing: its statistics say of which write ids they are true."""

    def _table_id(self, name: TableName) -> int | None:
        row = self._sql.row("table", database=name.database.lower(), table=name.table.lower())
        return int(row[0]) if row is not None else None

    def _require_table(self, name: TableName) -> int:
        table_id = self._table_id(name)
        if table_id is None:
            raise table_not_found(name)
        return table_id
