"""Removes the files of aborted writes, wherever they lie; then the store may forget the writes.

The cleaning after a compaction does this for one partition. That does not reach every aborted
write: one may have died before its partitions were recorded, and its table may never be compacted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from acidsql.background.events import Action, Event
from acidsql.background.removal import Doomed, Why, bytes_of, remove_all
from acidsql.background.scope import BackgroundScope, may_be_cleaned
from acidsql.execution.snapshots import table_directories
from acidsql.layout.dir_names import (
    DeltaDir,
    is_hidden,
    own_name_in,
    parse_compaction_attempt,
)
from acidsql.layout.history import history
from acidsql.layout.listing import ListedFile
from acidsql.layout.obsolete import aborted, aborted_without_files
from acidsql.model.ids import NO_TXN, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.own_path import OwnPath, lies_in
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Table, TableKind
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import WriteOperation
from acidsql.txn.transaction import OpenTxn


def forget_aborted_writes(scope: BackgroundScope) -> int:
    """Clean up after every aborted write that is due. Returns the number of cleaned tables.

    A table is tried again in the next round if its cleaning fails or a definition is at work in it.
    """
    done = 0
    for name in dict.fromkeys(TableName(c.database, c.table) for c in scope.txns.aborted_writes()):
        forget = partial(_forget, name, scope)
        done += scope.supervisor.attempt("cleaner", forget, otherwise=0, about=str(name))
    return done


def _forget(name: TableName, scope: BackgroundScope) -> int:
    with scope.kept_in_place(name) as txn:
        if txn is None:
            return 0
        left = left_behind(name, scope)
        remove_all(left.files, scope.storage, txn.require_open)
        return forget(left, name, txn, scope)


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """``files`` of aborted transactions, and the transactions to forget once these are gone."""

    files: Sequence[Doomed]
    gone: Collection[TxnId]


def forget(left: LeftBehind, name: TableName, txn: OpenTxn, scope: BackgroundScope) -> int:
    """Have the store forget the writes whose files are removed. Returns 1 if there are any."""
    if not left.gone:
        return 0
    txn.require_open()
    scope.txns.forget_aborted(name, sorted(left.gone))
    count = f"{len(left.gone)} aborted transactions"
    scope.told(Event(Action.FORGOTTEN, str(name), reason=count))
    return 1


def left_behind(name: TableName, scope: BackgroundScope) -> LeftBehind:
    """What the aborted writes that are due have left. The caller keeps the table in place."""
    place = (name.database, name.table)
    written = [c for c in scope.txns.aborted_writes() if (c.database, c.table) == place]
    all_txns = {c.txn_id for c in written}
    table = scope.catalog.find_table(name)
    if table is None or table.kind is TableKind.PLAIN:
        return LeftBehind((), all_txns)
    if not may_be_cleaned(table):
        return LeftBehind((), ())
    found, kept = _files(table, written, scope)
    return LeftBehind(found, all_txns - kept)


def _files(
    table: Table, written: Sequence[TxnComponent], scope: BackgroundScope
) -> tuple[list[Doomed], set[TxnId]]:
    """The directories of aborted writes; the transactions of which something has to stay."""
    # A compaction has recorded the highest write id that it covers, which is that of another one.
    owners = {
        c.write_id: c.txn_id
        for c in written
        if c.write_id is not None and c.operation is not WriteOperation.COMPACT
    }
    all_txns = {c.txn_id for c in written}
    txns, storage = scope.txns, scope.storage
    known_txns = txns.valid_txns()
    known_ids = txns.valid_write_ids([table.name], known_txns)[table.name]
    # Only the writes that are due: a writer that was aborted just now may still remove its own.
    seen = replace(known_txns, aborted=known_txns.aborted & all_txns)
    write_ids = replace(known_ids, aborted=known_ids.aborted & frozenset(owners))
    found: list[Doomed] = []
    kept: set[TxnId] = set()
    places = {p.location for p in table_directories(scope.catalog, table)}
    for location, depth in _locations(table, places):
        if not storage.exists(location):
            # A missing directory may come back with its files, as when a disk is mounted again.
            return found, all_txns
        files, markers = list_marked_files(location, storage)
        paths = aborted(files, write_ids, seen, markers, table.kind)
        paths += _without_files(location, depth, files, write_ids, seen, storage)
        # A directory that the catalog names is removed by the statements that drop it.
        paths = [p for p in paths if not any(lies_in(at, f"{location}/{p}") for at in places)]
        for path in paths:
            own = _own_path(f"{location}/{path}", places, location)
            found.append(Doomed(own, bytes_of(path, files), Why.ABORTED))
        kept |= {owners[w] for w in _covered(files, paths, write_ids)}
    return found, kept


def _own_path(full: str, places: Collection[str], location: str) -> OwnPath:
    """The path as one below the innermost directory that the catalog names.

    A directory that the catalog names may be a symbolic link; below it no link is followed.
    """
    return OwnPath.of(next((p for p in _parents(full) if p in places), location), full)


def _locations(table: Table, places: Collection[str]) -> list[tuple[str, int]]:
    """The table's directory and those of partitions not found in it, with the levels below each.

    The table's directory has a level for each partition column; partitions that the catalog does
    not know are found in it, too. `history` passes over hidden directories there, and over what
    lies in a delta: a partition column may be called ``_p``.
    """
    elsewhere = [p for p in sorted(places) if p != table.location and not _is_found(p, table)]
    return [(table.location, len(table.partition_columns)), *((p, 0) for p in elsewhere)]


def _is_found(place: str, table: Table) -> bool:
    """Whether a partition's files are found in the listing of the table's directory."""
    inside = place.removeprefix(f"{table.location}/")
    return table.encloses(place) and own_name_in(inside) is None


def _covered(
    files: Sequence[ListedFile], removed: Sequence[str], write_ids: ValidWriteIdList
) -> set[WriteId]:
    """Aborted write ids within the deltas that stay.

    Such a delta spans several write ids. It may hold rows of aborted ones, which readers leave out.
    A delta that is surely a compactor's holds none: it is a delete delta, because streams only
    insert, or has a visibility id.
    """
    deltas = [
        delta
        for path, delta in history(files).directories
        if path not in set(removed) and isinstance(delta, DeltaDir)
    ]
    return {
        w
        for w in write_ids.aborted
        if any(d.min_write_id <= w <= d.max_write_id and _may_be_streamed(d) for d in deltas)
    }


def _may_be_streamed(delta: DeltaDir) -> bool:
    is_compacted = delta.is_delete and delta.min_write_id < delta.max_write_id
    return not is_compacted and delta.visibility_id == NO_TXN


def _without_files(
    location: str,
    depth: int,
    files: Sequence[ListedFile],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
    storage: Storage,
) -> list[str]:
    """Directories of aborted writers without a file, and hidden directories of dead compactors."""
    filled = {parent for f in files for parent in _parents(f.path)}
    found = []
    for place in _places(location, depth, storage):
        names = storage.list_directories(f"{location}/{place}")
        hidden = [n for n in names if txns.is_aborted(parse_compaction_attempt(n) or NO_TXN)]
        empty = [n for n in names if f"{place}{n}" not in filled]
        found += [f"{place}{n}" for n in (*hidden, *aborted_without_files(empty, write_ids))]
    return found


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _places(location: str, depth: int, storage: Storage, inside: str = "") -> Iterator[str]:
    """The paths of all partition directories below a location, known or not, ending in a slash."""
    if not depth:
        yield inside
        return
    for name in storage.list_directories(f"{location}/{inside}"):
        if not is_hidden(name):
            yield from _places(location, depth - 1, storage, f"{inside}{name}/")
