"""ALTER TABLE … [PARTITION (…)] SET LOCATION: a table or partition gets another directory.

The rows of a plain table are whatever files lie in its directory. Those of an ACID table have write
ids, which its store has given out. So the new directory of an ACID table must hold a copy of the
files in the old one. A copy of another day would not do: the store does not remember for ever
which writes there were. Nothing is copied here. The old directory stays as it is, but for a
partition's in the directory of its table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from acidsql.definitions.adoption import Adoption, adopt
from acidsql.definitions.leftovers import remove_leftovers
from acidsql.definitions.partition import (
    altering,
    refuse_place_of_another,
    remove_directories,
)
from acidsql.definitions.removal import OwnPlace, divide
from acidsql.errors import UnsupportedStatementError
from acidsql.execution.places import Neighbours, chosen_path, refuse_files_outside, refuse_place
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory
from acidsql.layout.foreign import is_unpublished
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.names import PartitionName, is_temporary_database
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import ViewRefusal, find_target
from acidsql.planner.partition import whole_partition
from acidsql.ports.catalog import Partition
from acidsql.ports.storage import without_login
from acidsql.statements.alter_table import SetLocation
from acidsql.txn.transaction import OpenTxn

_TAIL = 64 << 10
"""The bytes at the end of a file that are compared. The footer of an ORC file is among them."""


def set_location(statement: SetLocation, scope: Scope) -> Result:
    """Give a table, or one of its partitions, another directory.

    The partitions in the directory of an ACID table go with it if their files are in the new one.
    Otherwise partitions stay where they are.
    """
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    if is_temporary_database(table.name.database):
        raise UnsupportedStatementError(
            "SET LOCATION of a temporary table is not supported",
            hint="CREATE TEMPORARY TABLE … LOCATION names a directory.",
            line=statement.target.line,
            column=statement.target.column,
        )
    new = chosen_path(statement.location, scope)
    name = None
    if statement.partition:
        name = whole_partition(statement.partition, table, statement.target, scope.arguments)
    with altering(table, scope) as (txn, table):
        change = _Change(table, name, _directory(table, name, scope), new, scope)
        if new == change.old:
            return Result("alter", message=f"OK\n{without_login(new)} is its directory already.")
        change.refuse_place()
        adoption = change.verified(txn)
        remove_leftovers(table, [change.old], scope)
        scope.storage.make_directory(new)
        with scope.committing(txn):
            adoption.seed(scope, txn)
            if name is None:
                scope.store.alter_table(replace(table, location=new, parameters=table.noted))
            for partition in change.moved():
                scope.store.rename_partition(table.name, partition.name, partition)
        # If we die before that, an INSERT that makes the partition anew refuses the directory.
        free, _ = divide(change.replaced(), Neighbours(scope), partition_of=table.name)
        remove_directories(table, [place.location for place in free], scope.storage)
    stays = scope.storage.exists(change.old)
    note = f"\n{without_login(change.old)} stays as it is." if stays else ""
    return Result("alter", message=f"OK{note}")


def _directory(table: Table, name: PartitionName | None, scope: Scope) -> str:
    return table.location if name is None else named_directory(scope.store, table, name).location


@dataclass(frozen=True, slots=True)
class _Change:
    """The table or partition (None: the table), its directory, and the new one."""

    table: Table
    partition: PartitionName | None
    old: str
    new: str
    scope: Scope

    def refuse_place(self) -> None:
        """AnalysisError for a directory of another owner, or one in or around the old one."""
        table, scope = self.table, self.scope
        refuse_files_outside(self.new, scope.storage, scope.bounds)
        if self.partition is None:
            refuse_place(self.new, scope, table.name.database, with_plain=table.external)
        else:
            refuse_place_of_another(table, Partition(self.partition, self.new))
            refuse_place(self.new, scope, table.name.database, table.name)

    def moved(self) -> list[Partition]:
        """The partitions with new directories."""
        if self.partition is not None:
            return [Partition(self.partition, self.new)]
        if self.table.kind is TableKind.PLAIN or not self._files(self.new):
            return []
        return [
            Partition(p.name, self.new + p.location.removeprefix(self.old))
            for p in self.scope.store.partitions(self.table.name)
            if self.table.encloses(p.location)
        ]

    def replaced(self) -> list[OwnPlace]:
        """The old directory of a partition, if it is one where a new partition would find its rows.

        That is in the directory of an ACID table. The rows would be there twice.
        """
        table = self.table
        is_acid = table.kind is not TableKind.PLAIN and table.owns_files
        is_due = self.partition and is_acid and table.encloses(self.old)
        return [OwnPlace(self.old, is_chosen=False)] if is_due else []

    def verified(self, txn: OpenTxn) -> Adoption:
        """What the store has to adopt, which is nothing unless the table was never written.

        UnsupportedStatementError if the new directory does not hold what the old one does.
        """
        table, nothing = self.table, Adoption(self.table.name, NO_WRITE_ID, is_empty=True)
        if table.kind is TableKind.PLAIN:
            return nothing
        files, copies = self._files(self.old), self._files(self.new)
        if not copies and self.partition is None and table.partition_columns:
            return nothing
        self._refuse_links(copies)
        if not files and self.partition is None and self._is_unwritten():
            return adopt(table, [self.new], self.scope, txn)
        if not files:
            raise self._error(f"{without_login(self.old)} has no files that could be compared")
        self._refuse_difference(files, copies)
        return nothing

    def _is_unwritten(self) -> bool:
        """Whether no transaction has ever had a write id of the table."""
        store, name = self.scope.store, self.table.name
        return store.valid_write_ids([name], store.valid_txns())[name].high_watermark == NO_WRITE_ID

    def _refuse_links(self, copies: Mapping[str, int]) -> None:
        """The files of a link would be those of the old directory, or of somebody else."""
        storage = self.scope.storage
        home = storage.resolve(self.new)
        for path in copies:
            if storage.resolve(f"{self.new}/{path}") != f"{home}/{path}":
                raise self._error(f"{without_login(self.new)}/{path} is a link")

    def _files(self, location: str) -> dict[str, int]:
        """The sizes of the files, by path, but for those that no writer has published."""
        listed = self.scope.storage.list_files(location)
        return {f.path: f.size for f in listed if not is_unpublished(f.path)}

    def _refuse_difference(self, files: Mapping[str, int], copies: Mapping[str, int]) -> None:
        """Compare the two directories: names and sizes, and the end of each file."""
        for path in sorted({*files, *copies}):
            if files.get(path) == copies.get(path) and self._tail(self.old, path) == self._tail(
                self.new, path
            ):
                continue
            words = (
                "does not have"
                if path not in copies
                else "has another"
                if path in files
                else "also has"
            )
            raise self._error(f"{without_login(self.new)} {words} {path}")

    def _tail(self, location: str, path: str) -> bytes:
        with self.scope.storage.open_input(f"{location}/{path}") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return file.read()

    def _error(self, detail: str) -> UnsupportedStatementError:
        return UnsupportedStatementError(
            f"{without_login(self.new)} does not hold the files of {self.table.name}",
            detail=f"{detail}.",
            hint=f"Copy {without_login(self.old)} there as it is. Then run the statement again.",
        )
