"""Removing the directories of dropped tables and partitions, but no file that may be another's."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from acidsql.errors import StorageError
from acidsql.execution.places import Neighbours, reason_to_keep
from acidsql.execution.result import count_text
from acidsql.execution.scope import Scope
from acidsql.layout.foreign import foreign_files, without
from acidsql.model.names import TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind
from acidsql.ports.storage import Storage
from acidsql.txn.cleanup import error_line

_log = logging.getLogger(__name__)
_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A directory of a table or partition that is dropped.

    ``is_chosen``: a user named the directory with LOCATION. ``levels`` are the partition columns
    whose directories lie in it.
    """

    location: str
    is_chosen: bool
    levels: tuple[str, ...] = ()


def divide(
    places: Sequence[OwnPlace],
    neighbours: Neighbours,
    doomed: Collection[TableName] = (),
    partition_of: TableName | None = None,
) -> tuple[list[OwnPlace], list[str]]:
    """The directories that may be removed, and a line for each other one with the reason.

    ``doomed`` are the tables that are dropped; ``partition_of`` is the table that loses partitions.
    """
    own, notes = [], []
    for place in places:
        reason = reason_to_keep(place.location, neighbours, doomed, partition_of=partition_of)
        if reason is None:
            own.append(place)
        else:
            notes.append(f"{place.location} stays: {reason}.")
    return own, notes


def remove_free_places(
    places: Sequence[OwnPlace], table: Table, scope: Scope, partition_of: TableName | None = None
) -> list[str]:
    """Remove directories after the commit that freed them; a line for each one that stays.

    The commit has released the locks. So each directory is looked for in the catalog once more:
    another session may have given it to a table or partition by now. It stays if the catalog does
    not answer, which is no failure of the statement any more.
    """

    def remove(place: OwnPlace) -> list[str]:
        free, reasons = divide([place], Neighbours(scope), partition_of=partition_of)
        return reasons + [line for each in free for line in remove_place(each, table, scope)]

    return [line for p in places for line in or_stays(p.location, partial(remove, p))]


def remove_place(place: OwnPlace, table: Table, scope: Scope) -> list[str]:
    """Remove a directory that the catalog has forgotten; a line if something of it stays.

    It may stay because of an error: what it belonged to is dropped nevertheless. In a directory
    that a user named, files that no writer of tables makes stay. All files of a plain table stay
    there if they may have been there before the table.
    """
    return or_stays(place.location, lambda: _remove_place(place, table, scope.storage))


def or_stays(location: str, remove: Callable[[], list[str]]) -> list[str]:
    """What ``remove`` says of a directory; a line with the error if it cannot be removed."""
    try:
        return remove()
    except StorageError as error:
        _log.warning("could not remove %s", location, exc_info=True)
        return [f"{location} stays: {error_line(error)}"]


def _remove_place(place: OwnPlace, table: Table, storage: Storage) -> list[str]:
    files = storage.list_files(place.location) if place.is_chosen else []
    if files and table.kind is TableKind.PLAIN and not table.is_made_empty:
        # A plain table may hold files of any name, so the names do not tell whose files they are.
        return [f"{place.location} stays: its files may have been there before the table."]
    foreign = foreign_files(files, table.kind, place.levels)
    if not foreign:
        storage.remove_location(place.location)
        return []
    for path in without([f.path for f in files], foreign):
        storage.remove(OwnPath(place.location, path))
    more = ", …" if len(foreign) > _SHOWN_MAX else ""
    shown = ", ".join(foreign[:_SHOWN_MAX])
    count = count_text(len(foreign), "file")
    return [f"{place.location} stays with {count} of others: {shown}{more}"]
