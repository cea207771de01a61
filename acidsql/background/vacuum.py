"""VACUUM: shows or removes, now, what the cleaner would remove of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acidsql.background.aborted_writes import forget, left_behind
from acidsql.background.cleaner import cleaned, due
from acidsql.background.removal import Doomed, Why, doomed, remove_all
from acidsql.background.rounds import Rounds
from acidsql.background.scope import BackgroundScope, may_be_cleaned
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.result import Result, count_text, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory, table_directories
from acidsql.layout.obsolete import overwritten
from acidsql.model.access import Access, Operation
from acidsql.model.ids import NO_TXN, TxnId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.own_path import lies_in
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import find_target
from acidsql.planner.partition import partition_of
from acidsql.ports.engine import PartitionLocation
from acidsql.ports.storage import list_marked_files
from acidsql.statements import Vacuum
from acidsql.txn.entities import Compaction, CompactionState, LockComponent, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn, transaction

_COLUMNS = ("path", "bytes", "why")


def run_vacuum(statement: Vacuum, scope: Scope, rounds: Rounds) -> Result:
    """One row for each directory or file that is removed, or with DRY RUN would be.

    Waits for the lock that keeps the table's directories in place.
    """
    name = _named(statement, scope).table.name
    rounds.settle()
    work = rounds.scope
    locks = _locks(name)
    with transaction(work.open_txn(TxnType.READ_ONLY, components=locks)) as txn:
        txn.lock(locks)
        # Asked again: another table may have got the name while the lock was waited for. Write ids
        # of one table say nothing of the directories of another.
        named = _named(statement, scope)
        vacuum = _Vacuum(work, named, txn)
        found = vacuum.run(dry_run=statement.dry_run)
        waiting = vacuum.waiting()
    rows = [(str(one.path), one.bytes, one.why.value) for one in found]
    result = text_rows("vacuum", _COLUMNS, sorted(rows))
    size = count_text(sum(one.bytes for one in found), "byte")
    verb = "would be removed" if statement.dry_run else "removed"
    result.message = f"{count_text(len(found), 'path')} {verb}, {size}"
    if not may_be_cleaned(named.table):
        result.message += f"\n{name} has NO_CLEANUP"
    elif waiting:
        result.message += (
            f"\nwhat {count_text(waiting, 'compaction')} replaced stays: an open transaction may"
            " still read it (SHOW TRANSACTIONS), or the cleaner's retention time has not passed"
        )
    if vacuum.kept:
        result.message += (
            f"\nwhat an overwrite replaced stays, {count_text(vacuum.kept, 'path')}: an open"
            " transaction may still read it (SHOW TRANSACTIONS)"
        )
    return result


def vacuum_locks(statement: Vacuum, scope: Scope) -> list[LockComponent]:
    """The locks of the statement. AnalysisError as from `run_vacuum`."""
    return _locks(_named(statement, scope).table.name)


def _locks(name: TableName) -> list[LockComponent]:
    return lock_components([Access.of(name, Operation.SELECT)])


@dataclass(frozen=True, slots=True)
class _Named:
    """What a VACUUM names: a table, perhaps one partition of it, and the directories of that."""

    table: Table
    partition: PartitionName | None
    directories: Sequence[PartitionLocation]


def _named(statement: Vacuum, scope: Scope) -> _Named:
    """What the statement names now. AnalysisError if it is not there, or not ACID."""
    target = statement.target
    table = find_target(target, scope.names)
    place: dict[str, Any] = {"line": target.line, "column": target.column}
    if table.kind is TableKind.PLAIN:
        raise AnalysisError(f"VACUUM is not allowed on non-ACID table {table.name}", **place)
    partition = partition_of(statement.partition, table, target, scope.arguments)
    if partition is None:
        return _Named(table, None, table_directories(scope.store, table))
    found = named_directory(scope.store, table, partition, **place)
    return _Named(table, partition, (found,))


class _Vacuum:
    """One VACUUM, under the lock of a transaction.

    ``kept`` counts the paths that overwrites have replaced, and open transactions may still read.
    """

    def __init__(self, scope: BackgroundScope, named: _Named, txn: OpenTxn) -> None:
        self.kept = 0
        self._scope, self._txn = scope, txn
        self._table, self._partition = named.table, named.partition
        self._directories = named.directories

    def run(self, *, dry_run: bool) -> list[Doomed]:
        """What was found. UnsupportedStatementError over a Hive Metastore."""
        oldest = self._scope.txns.oldest_needed()
        if oldest == NO_TXN:
            raise UnsupportedStatementError(
                "VACUUM is not supported over a Hive Metastore",
                hint="Its own cleaner removes old directories.",
            )
        if not may_be_cleaned(self._table):
            return []
        found = self._after_compactions(dry_run=dry_run)
        found += self._aborted(dry_run=dry_run)
        replaced = self._overwritten(oldest)
        if not dry_run:
            self._remove(replaced)
        return list({one.path: one for one in reversed(found + replaced)}.values())

    def waiting(self) -> int:
        """How many compactions of the place must not be cleaned up after yet."""
        due_ids = {entry.compaction_id for entry in self._scope.txns.ready_to_clean()}
        return sum(
            entry.state is CompactionState.READY_FOR_CLEANING
            and self._is_meant(entry)
            and entry.compaction_id not in due_ids
            for entry in self._scope.txns.show_compactions()
        )

    def _after_compactions(self, *, dry_run: bool) -> list[Doomed]:
        found: list[Doomed] = []
        for entry in self._scope.txns.ready_to_clean():
            if not self._is_meant(entry):
                continue
            started_s = self._scope.clock()
            of_entry = due(entry, self._table.name, self._scope)
            if of_entry is None:
                continue
            found += of_entry
            if not dry_run:
                self._remove(of_entry)
                cleaned(entry, of_entry, self._txn, self._scope, started_s)
        return found

    def _remove(self, found: Sequence[Doomed]) -> None:
        remove_all(found, self._scope.storage, self._txn.require_open)

    def _is_meant(self, entry: Compaction) -> bool:
        same = (entry.database, entry.table) == (self._table.name.database, self._table.name.table)
        return same and self._partition in (None, entry.partition_name)

    def _aborted(self, *, dry_run: bool) -> list[Doomed]:
        left = left_behind(self._table.name, self._scope)
        if self._partition is None:
            if not dry_run:
                self._remove(left.files)
                forget(left, self._table.name, self._txn, self._scope)
            return list(left.files)
        # The store remembers the writes, whose files may lie in other partitions, too.
        [directory] = self._directories
        found = [one for one in left.files if lies_in(str(one.path), directory.location)]
        if not dry_run:
            self._remove(found)
        return found

    def _overwritten(self, oldest: TxnId) -> list[Doomed]:
        """What overwrites have replaced that every open transaction sees. Sets ``kept``."""
        if self._txn.policy.cleanup_delay_ms:
            # When an overwrite was committed is not known.
            return []
        name, storage = self._table.name, self._scope.storage
        valid = self._scope.txns.valid_txns()
        settled = ValidTxnList(
            TxnId(oldest - 1), aborted=frozenset(t for t in valid.aborted if t < oldest)
        )
        write_ids = self._scope.txns.valid_write_ids([name], settled)[name]
        committed = self._scope.txns.valid_write_ids([name], valid)[name]
        found: list[Doomed] = []
        for directory in self._directories:
            if storage.exists(directory.location):
                files, markers = list_marked_files(directory.location, storage)
                paths = overwritten(files, write_ids, markers, self._table.kind)
                later = overwritten(files, committed, markers, self._table.kind)
                self.kept += len(set(later) - set(paths))
                found += doomed(directory.location, paths, files, Why.OVERWRITTEN)
        return found
