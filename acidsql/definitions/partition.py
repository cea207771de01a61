"""ALTER TABLE … ADD, DROP and RENAME PARTITION."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acidsql.definitions.adoption import Adoption, adopt
from acidsql.definitions.leftovers import clear_default_places
from acidsql.definitions.removal import OwnPlace, divide, remove_free_places
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    CommitStateUnknownError,
    PartitionNotFoundError,
    UnsupportedStatementError,
)
from acidsql.execution.places import Neighbours, chosen_path, refuse_files_outside, refuse_place
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory, partition_directory
from acidsql.layout.dir_names import own_name_in
from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName
from acidsql.model.naming import partition_path, refuse_partition
from acidsql.model.own_path import OwnPath
from acidsql.model.predicate import membership
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import ViewRefusal, find_target, refuse_read_only
from acidsql.planner.partition import (
    matching_partitions,
    require_partitioned,
    whole_partition,
)
from acidsql.ports.catalog import Partition, Place, partition_exists
from acidsql.ports.storage import Storage, require_present
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.partition import (
    AddPartitions,
    DropPartitions,
    RenamePartition,
)
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn

_log = logging.getLogger(__name__)


def add_partitions(statement: AddPartitions, scope: Scope) -> Result:
    """Add partitions. Their directories are made, or adopted if they are there."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    named = []
    for new in statement.partitions:
        name = whole_partition(new.values, table, statement.target, scope.arguments)
        chosen = chosen_path(new.location, scope) if new.location is not None else None
        refuse_partition(name)
        named.append((name, chosen))
    with altering(table, scope) as (txn, table):
        # The table may lie elsewhere since the statement began to wait.
        home = table.location
        wanted = [(Partition(n, c or partition_path(home, n)), c) for n, c in named]
        known = set(scope.store.partition_names(table.name))
        there = [p.name for p, _ in wanted if p.name in known]
        if there and not statement.if_not_exists:
            raise partition_exists(table.name, there[0])
        added = [p for p, _ in wanted if p.name not in known]
        placed = [p for p, chosen in wanted if chosen is not None and p.name not in known]
        own = [*scope.store.partitions(table.name), *added] if placed else []
        for partition in placed:
            refuse_place_of_another(table, partition)
            beside = [_place(p, table) for p in own if p.name != partition.name]
            database = table.name.database
            refuse_place(partition.location, scope, database, table.name, beside)
        own_places = [p for p in added if p not in placed]
        refuse_linked(table, own_places, scope.store.partitions(table.name), scope)
        _add(table, added, scope, txn)
    return Result("alter", message="OK")


def drop_partitions(statement: DropPartitions, scope: Scope) -> Result:
    """Drop the partitions that meet the conditions, with their files."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    doomed, missed = matched_partitions(statement, table, scope)
    if not doomed:
        return Result("alter", message="no partition was dropped")
    with altering(table, scope, partition_drop_locks(table, doomed)) as (txn, table):
        found = scope.store.partitions_for(table, membership(doomed))
        dropped = [p for p in found if p.name in doomed]
        notes = drop_together(table, dropped, scope, scope.committing(txn))
    lines = [f"Dropped the partition {p.name}" for p in dropped]
    lines += [f"No partition meets PARTITION (…) number {number}" for number in missed]
    return Result("alter", message="\n".join([*lines, *notes]))


def partition_drop_locks(table: Table, doomed: Sequence[PartitionName]) -> list[LockComponent]:
    """The locks of DROP PARTITION."""
    return lock_components([Access.of(table.name, Operation.DROP, name) for name in doomed])


def matched_partitions(
    statement: DropPartitions, table: Table, scope: Scope
) -> tuple[list[PartitionName], list[int]]:
    """The partitions that DROP PARTITION would drop, and the numbers of its parts that meet none.

    PartitionNotFoundError for such a part, unless IF EXISTS is there or
    hive.exec.drop.ignorenonexistent is true.
    """
    require_partitioned(table, statement.target)
    names = scope.store.partition_names(table.name)
    ignored = statement.if_exists or scope.settings.drop_ignores_missing
    doomed: dict[PartitionName, None] = {}
    missed = []
    for number, conditions in enumerate(statement.partitions, 1):
        found = matching_partitions(names, conditions, table, scope.arguments)
        if not found:
            missed.append(number)
        if not found and not ignored:
            error = no_partition_meets(table, conditions[0].column)
            error.hint = f"{error.hint} With DROP IF EXISTS this is no error."
            raise error
        doomed |= dict.fromkeys(found)
    return list(doomed), missed


def no_partition_meets(table: Table, place: Identifier | TableRef) -> PartitionNotFoundError:
    """The error of a statement whose PARTITION (…) names no partition."""
    return PartitionNotFoundError(
        f"no partition of {table.name} meets PARTITION (…)",
        hint="SHOW PARTITIONS lists the partitions.",
        code=10006,
        line=place.line,
        column=place.column,
    )


def rename_partition(statement: RenamePartition, scope: Scope) -> Result:
    """Give a partition other values. A directory at the default place is renamed as well."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    old = whole_partition(statement.partition, table, statement.target, scope.arguments)
    new = whole_partition(statement.renamed, table, statement.target, scope.arguments)
    refuse_partition(new)
    with altering(table, scope) as (txn, table):
        there = named_directory(scope.store, table, old)
        if partition_directory(scope.store, table, new) is not None:
            raise partition_exists(table.name, new)
        source, target = there.location, partition_path(table.location, new)
        moves = source == partition_path(table.location, old)
        if moves and not table.owns_files:
            # The files of an external table stay, and the next partition of the old name would get
            # the same directory.
            raise UnsupportedStatementError(
                f"partition {old} of the external table {table.name} cannot be renamed",
                detail=f"Its directory {source} is named after it and would stay.",
                hint="Move the directory yourself, then ADD PARTITION … LOCATION and DROP the old"
                " partition.",
                line=statement.target.line,
                column=statement.target.column,
            )
        location = target if moves else source
        clear_default_places(table, [Partition(new, location)], scope)

        def is_renamed() -> bool:
            names = scope.store.partition_names(table.name)
            return new in names and old not in names

        with undoing(lambda: keeps(scope, is_renamed)) as undo:
            if location != source:
                require_present(source, table.name, scope.storage)
                move(source, target, scope.storage, undo)
            with scope.committing(txn):
                scope.store.rename_partition(table.name, old, Partition(new, location))
    return Result("alter", message="OK")


def refuse_linked(
    table: Table, found: Sequence[Partition], known: Sequence[Partition], scope: Scope
) -> None:
    """Check partitions whose directory is a symbolic link, as a LOCATION is checked.

    The link may lead into a directory of somebody else.
    """
    storage = scope.storage
    home = storage.resolve(table.location)
    everything = [*known, *found]
    for partition in found:
        refuse_files_outside(partition.location, storage, scope.bounds)
        inside = partition.location.removeprefix(table.location)
        place = storage.resolve(partition.location)
        if place == home + inside:
            continue
        beside = [_place(p, table) for p in everything if p.name != partition.name]
        refuse_place(place, scope, table.name.database, table.name, beside)


@contextlib.contextmanager
def altering(
    table: Table, scope: Scope, locks: Sequence[LockComponent] = ()
) -> Iterator[tuple[OpenTxn, Table]]:
    """A transaction that holds ``locks``, and the table as it is once they are granted.

    Without ``locks`` it is the exclusive lock of ALTER TABLE. AnalysisError if the table's columns
    changed meanwhile: the statement was planned for the old ones.
    """
    refuse_read_only(table)
    with scope.transaction() as txn:
        scope.release(lambda held: held == table.name)
        txn.lock(locks or alter_locks(table))
        now = scope.store.table(table.name)
        if (now.columns, now.partition_columns) != (table.columns, table.partition_columns):
            raise altered_meanwhile(table)
        yield txn, now


def altered_meanwhile(table: Table) -> AnalysisError:
    """The error of a statement that was planned for a table that is another one by now."""
    return AnalysisError(
        f"table {table.name} was altered by another statement meanwhile",
        hint="Run the statement again.",
    )


def alter_locks(table: Table) -> list[LockComponent]:
    """The locks of most forms of ALTER TABLE."""
    return lock_components([Access.of(table.name, Operation.ALTER)])


@contextlib.contextmanager
def undoing(is_kept: Callable[[], bool] = lambda: False) -> Iterator[contextlib.ExitStack]:
    """The steps that undo what the block has done if it fails.

    They are left out where the block's commit may have been carried out, or where the store's
    change ``is_kept``.
    """
    with contextlib.ExitStack() as undo:
        try:
            yield undo
        except CommitStateUnknownError:
            undo.pop_all()
            raise
        except BaseException:
            if is_kept():
                undo.pop_all()
            raise
        undo.pop_all()


def keeps(scope: Scope, is_changed: Callable[[], bool], *, unless_told: bool = False) -> bool:
    """Whether the store has kept a change whose block has failed.

    A Hive Metastore may fail to take it back. ``unless_told`` is the answer if it says nothing.
    """
    if scope.store.commits_in_one_step:
        return False
    try:
        return is_changed()
    except AcidSqlError:
        return unless_told


def move(source: str, target: str, storage: Storage, undo: contextlib.ExitStack) -> None:
    """Rename a directory, if it is there. Closing ``undo`` renames it back."""
    if storage.exists(source):
        storage.rename(source, target)
        undo.callback(_move_back, target, source, storage)


def _move_back(source: str, target: str, storage: Storage) -> None:
    """Rename a directory to its old name, after the store has undone its changes.

    A Hive Metastore may have moved the directory itself, with the partition that it renamed. It
    makes an empty directory for a partition that it adds again.
    """
    if not storage.exists(source):
        return
    storage.remove_empty(target)
    storage.rename(source, target)


def hide(directory: str, storage: Storage, undo: contextlib.ExitStack) -> str:
    """Give a directory a hidden name, if it is there. Closing ``undo`` gives it back its own."""
    hidden = f"{directory.rpartition('/')[0]}/.dropped_{uuid.uuid4().hex}"
    move(directory, hidden, storage, undo)
    return hidden


def remove_directories(table: Table, directories: Sequence[str], storage: Storage) -> None:
    """Remove directories of partitions that the catalog does not name. One may stay, with a log."""
    for directory in directories:
        try:
            storage.remove(OwnPath.of(table.location, directory))
        except AcidSqlError:
            _log.warning("could not remove %s of a partition", directory, exc_info=True)


def note_adoption(table: Table, adoption: Adoption, scope: Scope) -> None:
    """Drop the noted facts about the table's files: adopted files need not agree with them."""
    if not adoption.is_empty and table.noted != table.parameters:
        scope.store.alter_table(replace(table, parameters=table.noted))


def _place(partition: Partition, table: Table) -> Place:
    return Place(table.name, table.kind, partition.location, is_partition=True)


def refuse_place_of_another(table: Table, partition: Partition) -> None:
    """AnalysisError for a directory that is the default place of another partition.

    Nor may it lie in a hidden directory of the table, or in one that is named as a writer's is:
    those are cleaned.
    """
    inside = partition.location.removeprefix(f"{table.location}/")
    taken = own_name_in(inside) if table.encloses(partition.location) else None
    if taken is not None and inside != str(partition.name):
        raise AnalysisError(
            f"the directory {partition.location} lies in {taken}, a name for acidsql's own files",
            hint=f"Choose a directory outside of {table.location} for partition {partition.name}.",
        )
    if inside not in (partition.location, str(partition.name)) and "=" in inside:
        raise AnalysisError(
            f"the directory {partition.location} has the name of another partition",
            hint=f"Choose a directory outside of {table.location} for partition {partition.name}.",
        )


def _add(table: Table, added: Sequence[Partition], scope: Scope, txn: OpenTxn) -> None:
    if any(table.encloses(p.location) for p in added):
        require_present(table.location, table.name, scope.storage)
    adoption = adopt(table, [p.location for p in added], scope, txn)
    for partition in added:
        scope.storage.make_directory(partition.location)
    clear_default_places(table, added, scope)
    with scope.committing(txn):
        adoption.seed(scope, txn)
        note_adoption(table, adoption, scope)
        scope.store.add_partitions(table.name, added)


def drop_together(
    table: Table,
    dropped: Sequence[Partition],
    scope: Scope,
    committing: contextlib.AbstractContextManager[object],
    *,
    keeps_rows: bool = False,
) -> list[str]:
    """Hide the directories, forget the partitions, then remove the hidden directories.

    The partitions are forgotten in the step of the store that is ``committing``. If that
    ``keeps_rows``, which are in another table from then on, directories of an ACID table are not
    hidden before: a crash must leave the rows in one of the two.

    A directory that cannot be removed stays hidden, so that its rows do not come back with a new
    partition of the same name. The files of an external table stay as they are. In a directory that
    a user named with LOCATION, files that may belong to others stay. Returns a line for each
    directory that stays.
    """
    removed = dropped if table.owns_files else ()
    placed = [p for p in removed if p.location != partition_path(table.location, p.name)]
    chosen = [OwnPlace(p.location, is_chosen=True) for p in placed]
    own, notes = divide(chosen, Neighbours(scope, placed), partition_of=table.name)
    doomed = [p.location for p in removed if p not in placed]
    with undoing() as undo:
        if not keeps_rows or table.kind is TableKind.PLAIN:
            doomed = [hide(directory, scope.storage, undo) for directory in doomed]
        with committing:
            scope.store.drop_partitions(table.name, [p.name for p in dropped])
    remove_directories(table, doomed, scope.storage)
    return [*notes, *remove_free_places(own, table, scope, partition_of=table.name)]
