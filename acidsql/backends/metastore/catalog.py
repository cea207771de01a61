"""Tables and partitions of a Hive Metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.constraints import (
    ConstraintCalls,
    constraint_fields,
    refuse_own_key,
)
from acidsql.backends.metastore.errors import made_elsewhere
from acidsql.backends.metastore.locations import location_of, place_of
from acidsql.backends.metastore.lost_answers import looked_at
from acidsql.backends.metastore.noted_constraints import forget_note, note, noted
from acidsql.backends.metastore.partition_filters import filter_text
from acidsql.backends.metastore.partitions import PartitionCalls, batches
from acidsql.backends.metastore.statistics import WithoutStatistics
from acidsql.backends.metastore.tables import (
    TRANSLATED,
    Struct,
    change_table,
    copied,
    name_of,
    partition_from,
    partition_name_from,
    partition_to,
    table_from,
    table_to,
    values_of,
)
from acidsql.backends.metastore.view_catalog import MetastoreViews
from acidsql.backends.metastore.views import is_view
from acidsql.errors import DatabaseNotFoundError, UnsupportedStatementError
from acidsql.model.constraint import Constraint
from acidsql.model.metastore_parameters import STATISTICS
from acidsql.model.names import PartitionName, TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.model.predicate import Predicate
from acidsql.model.prune import partition_test, prune_partitions
from acidsql.model.table import Table, kind_of
from acidsql.ports.catalog import (
    Partition,
    Place,
    all_databases,
    partition_exists,
    partition_not_found,
    table_exists,
    table_not_found,
)


class MetastoreCatalog(MetastoreViews, WithoutStatistics):
    """The verbs of `Catalog`.

    Each call is a transaction of the metastore's own database, and so is the commit. Our core
    makes, moves and removes files and directories itself, so the metastore is told not to.
    """

    keeps_spelling = True

    def __init__(
        self,
        client: MetastoreClient,
        definition_locked: Callable[[TableName], AbstractContextManager[None]],
    ) -> None:
        """``definition_locked`` keeps other acidsql clients from changing a table's definition."""
        super().__init__(client, definition_locked)
        self._partitions = PartitionCalls(client)
        self._constraints = ConstraintCalls(client)

    # -- tables ---------------------------------------------------------------------------------

    def create_table(self, table: Table) -> None:
        self._create(table.name, table_to(table), constraint_fields(table))
        self._undo.by(self.drop_table, table.name)

    def alter_table(self, table: Table) -> None:
        with self._definition_locked(table.name):
            struct = self._require(table.name)
            before = copied(struct)
            change_table(struct, table)
            changes_columns = struct.sd.cols != before.sd.cols
            cascade = bool(struct.partitionKeys) and changes_columns
            # Others may commit rows before the old definition is put back, so its statistics go.
            _remove_statistics(before)
            if table.external:
                # Noted first: a server may fail after it has changed the table, in a listener.
                self._undo.by(self._put_back, table.name, before, cascade)
                self._alter(table.name, struct, cascade)
            else:
                self._alter_constrained(table, struct, before, cascade, anew=changes_columns)

    def _alter_constrained(
        self, table: Table, struct: Struct, before: Struct, cascade: bool, *, anew: bool
    ) -> None:
        """Replace a table; it has the constraints of ``table`` afterwards.

        When a column changes, Hive 4 forgets constraints of the column, and Hive 3.1 the columns of
        all constraints. So they are dropped before, and made ``anew``. Meanwhile a note in the
        table says what they are, in case this process dies.
        """
        name, set_constraints = table.name, self._constraints.set
        there = self._constraints_of(name, before)
        is_left = noted(before) is not None
        kept = () if anew or is_left else there
        refuse_own_key(name, table.constraints, kept)
        takes_note = is_left or (anew and bool(there or table.constraints))
        if takes_note:
            note(before, there)
            note(struct, table.constraints)

        def of_now(current: Struct) -> Sequence[Constraint]:
            return there if current.sd.cols == before.sd.cols else table.constraints

        def put_back_with_constraints() -> None:
            if takes_note:
                with self._definition_locked(name):
                    current = self._require(name)
                    note(current, of_now(current))
                    self._alter(name, current)
            set_constraints(name, kept)
            try:
                self._put_back(name, before, cascade)
            finally:  # a server makes no type narrower
                set_constraints(name, of_now(self._require(name)))
                if takes_note:
                    with self._definition_locked(name):
                        self._alter_without_note(name, self._require(name))

        self._undo.by(put_back_with_constraints)
        if takes_note:
            self._alter(name, before)
        set_constraints(name, kept)
        self._alter(name, struct, cascade)
        set_constraints(name, table.constraints)
        self._alter_without_note(name, struct)

    def _alter_without_note(self, name: TableName, struct: Struct) -> None:
        if forget_note(struct):
            self._alter(name, struct)

    def _add_noted_constraints(self, name: TableName) -> None:
        """Do what a process has left undone that died while it changed a column."""
        with self._definition_locked(name):
            struct = self._require(name)
            if noted(struct) is not None:
                self._constraints.set(name, self._constraints_of(name, struct))
                self._alter_without_note(name, struct)

    def rename_table(self, name: TableName, table: Table, partitions: Sequence[Partition]) -> None:
        refuse_name(table.name.table, Named.TABLE)
        struct = self._require(name)
        if self._find(table.name) is not None:
            raise table_exists(table.name)
        self.database(table.name.database)
        places = {tuple(values_of(p.name)): p.location for p in partitions}
        before = copied(struct)
        moving = [
            p
            for p in self._partitions.every(struct)
            if place_of(p.sd.location) != places.get(tuple(p.values), place_of(p.sd.location))
        ]
        there = copied(moving)
        for partition in moving:
            partition.sd.location = location_of(places[tuple(partition.values)])
        # From here on, partitions whose location is not changed yet lie where nothing is any more.
        self._undo.by(self._partitions.alter, before, there)
        self._partitions.alter(before, moving)
        change_table(struct, table)
        if TRANSLATED in struct.parameters:
            self._rename_translated(name, struct, before)
            return
        self._alter(name, struct)
        self._undo.by(self._alter, table.name, before)

    def _rename_translated(self, name: TableName, struct: Struct, before: Struct) -> None:
        """Rename a table that the server has made external ("translated").

        The server would move the directory of such a table. It does not if the parameter that marks
        the table is missing, so the parameter is taken away for the renaming.
        """
        renamed = TableName(struct.dbName, struct.tableName)
        plain, moved = copied(before), copied(struct)
        for changed in (plain, moved):
            changed.parameters.pop(TRANSLATED, None)
        self._undo.by(self._alter, name, before)
        self._alter(name, plain)
        self._alter(name, moved)
        self._undo.by(self._alter, renamed, plain)
        self._alter(renamed, struct)

    def table(self, name: TableName) -> Table:
        table = self.find_table(name)
        if table is None:
            raise table_not_found(name)
        return table

    def find_table(self, name: TableName) -> Table | None:
        struct = self._find(TableName.of(name.database, name.table))
        if struct is None or is_view(struct):
            return None
        table = table_from(struct)
        return table if table.external else self._constrained(table, struct)

    def _constrained(self, table: Table, struct: Struct) -> Table:
        """The table with its constraints, or, if we do not understand them, for reading only."""
        try:
            return replace(table, constraints=self._constraints_of(table.name, struct))
        except UnsupportedStatementError as error:
            reason = f"{error.message}. {error.detail or ''}".rstrip()
            return replace(table, read_only=table.read_only or reason)

    def _constraints_of(self, name: TableName, struct: Struct) -> tuple[Constraint, ...]:
        """The constraints of a table: those noted in it, and further ones of the metastore.

        The metastore has no others than the noted ones, unless a Hive has added some since.
        """
        there, left = self._constraints.of(name), noted(struct) or ()
        known = {constraint.name for constraint in left}
        return (*left, *(c for c in there if c.name not in known))

    def tables(self, database: str) -> list[str]:
        names = self._names(database)
        views = self.views(database) if names else ()
        return sorted(set(names).difference(views))

    def places(self, location: str) -> Iterator[Place]:
        """As in the port, but of tables only: there may be too many partitions.

        If the directory's parent is that of a database, only this database is looked through.
        """
        parent = location.rpartition("/")[0]
        databases = list(all_databases(self))
        near = [d for d in databases if parent in (d.location, d.managed_location)]
        for database in near or databases:
            with suppress(DatabaseNotFoundError):  # dropped meanwhile
                yield from self._places_in(database.name)

    def _places_in(self, database: str) -> Iterator[Place]:
        for some in batches(self._names(database)):
            for struct in self._tables(database, some):
                if struct.sd is not None and struct.sd.location:
                    kind = kind_of(struct.parameters or {})
                    yield Place(name_of(struct), kind, place_of(struct.sd.location))

    # -- partitions -----------------------------------------------------------------------------

    def partitions(self, name: TableName) -> list[Partition]:
        struct = self._read(name)
        return _sorted(self._partitions.every(struct, keep_unknown=False), struct)

    def partition_names(self, name: TableName) -> list[PartitionName]:
        struct = self._read(name)
        texts = self._partitions.names(struct)
        return sorted((partition_name_from(text, struct) for text in texts), key=str)

    def partitions_for(self, table: Table, predicates: Sequence[Predicate]) -> list[Partition]:
        struct = self._read(table.name)
        text = filter_text(table, predicates)
        found = self._partitions.filtered(struct, text) if text else None
        if found is None:
            wanted = partition_test(table, predicates)
            every = self._partitions.every(struct, wanted, keep_unknown=False)
            return _sorted(every, struct)
        return prune_partitions(table, _sorted(found, struct), predicates)

    def _read(self, name: TableName) -> Struct:
        """The table as a struct for reading only."""
        struct = self._find(TableName.of(name.database, name.table))
        if struct is None:
            raise table_not_found(name)
        return struct

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        table = self._require(name)
        for some in batches(sorted(partitions, key=lambda p: str(p.name))):
            there = self._partitions.add(table, [partition_to(p, table) for p in some])
            for found in (partition_from(p, table) for p in there):
                if found not in some:
                    raise made_elsewhere(name, found)

    def drop_partitions(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        table = self._require(name)
        for some in batches([str(p) for p in partitions]):
            dropped = self._partitions.named(table, some, keep_unknown=True)
            self._undo.by(self._partitions.add, table, dropped)
            self._partitions.drop(table, some)

    def rename_partition(
        self, name: TableName, partition: PartitionName, renamed: Partition
    ) -> None:
        table = self._require(name)
        keeps_name = str(renamed.name) == str(partition)
        if not keeps_name and self._partitions.named(
            table, [str(renamed.name)], keep_unknown=False
        ):
            raise partition_exists(name, renamed.name)
        found = self._partitions.named(table, [str(partition)], keep_unknown=True)
        if not found:
            raise partition_not_found(name, partition)
        struct = found[0]
        before = copied(struct)
        struct.values = values_of(renamed.name)
        struct.sd.location = location_of(renamed.location)
        _remove_statistics(struct)
        if keeps_name:
            self._undo.by(self._partitions.alter, table, [before])
            self._partitions.alter(table, [struct])
            return
        with looked_at(lambda: self._is_moved(table, partition, renamed)):
            self._partitions.rename(before.values, struct)
        self._undo.by(self._partitions.rename, struct.values, before)

    def _is_moved(self, table: Struct, old: PartitionName, renamed: Partition) -> bool:
        names = [str(old), str(renamed.name)]
        found = self._partitions.named(table, names, keep_unknown=False)
        return [partition_from(p, table) for p in found] == [renamed]

    # -- statistics -----------------------------------------------------------------------------

    def forget_statistics(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        struct = self._require(name)
        if noted(struct) is not None:
            self._add_noted_constraints(name)
        for some in batches([str(p) for p in partitions]):
            found = self._partitions.named(struct, some, keep_unknown=True)
            self._partitions.alter(struct, [p for p in found if _remove_statistics(p)])
        if not _remove_statistics(struct):
            return
        with self._definition_locked(name):
            struct = self._require(name)
            if _remove_statistics(struct):
                self._alter(name, struct)


def _remove_statistics(struct: Struct) -> bool:
    """Remove the statistics of rows from a Table or Partition. Returns whether it had some."""
    parameters = struct.parameters or {}
    said = [key for key in STATISTICS if key in parameters]
    for key in said:
        del parameters[key]
    return bool(said)


def _sorted(structs: Iterable[Struct], table: Struct) -> list[Partition]:
    return sorted((partition_from(p, table) for p in structs), key=lambda p: str(p.name))
