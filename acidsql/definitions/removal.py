"""Directories of what is dropped: removed where all in them is surely its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acidsql.execution.places import Neighbours, reason_to_keep
from acidsql.execution.scope import Scope
from acidsql.layout.foreign import foreign_files, without
from acidsql.model.names import TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind

_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A directory of a table or partition. ``is_chosen``: a user said where it lies.

    ``levels`` are the partition columns whose directories lie in it.
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
    """The places that may be removed with the doomed tables, or as partitions of a table; and why
    the others are not.
    """
    own, notes = [], []
    for place in places:
        reason = reason_to_keep(place.location, neighbours, doomed, partition_of=partition_of)
        if reason is None:
            own.append(place)
        else:
            notes.append(f"{place.location} stays: {reason}.")
    return own, notes


def remove_place(place: OwnPlace, table: Table, scope: Scope) -> list[str]:
    """Remove a directory; what stays of it. Where a user said to put it, files that no writer of
    tables makes stay, and all files of a plain table that may have been there before it.
    """
    storage = scope.storage
    files = storage.list_files(place.location) if place.is_chosen else []
    if files and table.kind is TableKind.PLAIN and not table.is_made_empty:
        # Any file is one of a plain table, so it does not show whose it was.
        return [f"{place.location} stays: its files may have been there before the table."]
    foreign = foreign_files(files, table.kind, place.levels)
    if not foreign:
        storage.remove_location(place.location)
        return []
    for path in without([f.path for f in files], foreign):
        storage.remove(OwnPath(place.location, path))
    more = ", …" if len(foreign) > _SHOWN_MAX else ""
    shown = ", ".join(foreign[:_SHOWN_MAX])
    return [f"{place.location} stays with {len(foreign)} files of others: {shown}{more}"]
