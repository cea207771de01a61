"""The cleaner: removes directories that no reader can need any more."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from functools import partial

from acidsql.background.events import Action, Event
from acidsql.background.scope import BackgroundScope
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.dir_names import compaction_attempt, parse_compaction_attempt
from acidsql.layout.obsolete import obsolete
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.txn.entities import Compaction, CompactionType


def run_cleaner(scope: BackgroundScope) -> int:
    """Clean up after every compaction that is due. Returns the number of cleaned compactions.

    A compaction stays ready for cleaning, and is tried again in the next round, if its cleaning
    fails in any way, if a definition is at work in the table, or if the directory is missing.
    """
    cleaned = 0
    for compaction in scope.txns.ready_to_clean():
        clean = partial(_clean, compaction, scope)
        cleaned += scope.supervisor.attempt("cleaner", clean, otherwise=0, about=compaction.label)
    return cleaned


def _clean(compaction: Compaction, scope: BackgroundScope) -> int:
    name = TableName(compaction.database, compaction.table)
    started_s = scope.clock()
    with scope.kept_in_place(name) as txn:
        # Asked again: the table may have been renamed or dropped before our lock was granted.
        if txn is None or compaction not in scope.txns.ready_to_clean():
            return 0
        removed = _remove_due(compaction, name, scope)
        if removed is None:
            return 0
        # mark_cleaned makes a Hive Metastore forget the aborted writes of the place. None of their
        # files may be left then, so our lock must still hold.
        txn.require_open()
        scope.txns.mark_cleaned(compaction.compaction_id)
    event = Event.of(
        Action.CLEANED,
        compaction,
        directories=removed.directories,
        bytes=removed.bytes,
        seconds=scope.clock() - started_s,
    )
    scope.told(event)
    return 1


@dataclass(frozen=True, slots=True)
class _Removed:
    """How many directories and original files were removed, and the bytes of their files."""

    directories: int = 0
    bytes: int = 0


def _remove_due(compaction: Compaction, name: TableName, scope: BackgroundScope) -> _Removed | None:
    """Remove the obsolete directories; None if the directory is missing, so nothing is known."""
    table = scope.catalog.find_table(name)
    if table is None:
        return _Removed()
    valid_txns = scope.txns.valid_txns()
    write_ids = _covered_write_ids(scope.txns.valid_write_ids([name], valid_txns)[name], compaction)
    directory = partition_directory(scope.catalog, table, compaction.partition_name)
    if directory is None:
        return _Removed()
    if not scope.storage.exists(directory.location):
        # A missing directory may come back with its files, as when a disk is mounted again.
        return None
    settled = _settled_txns(valid_txns, compaction)
    minor = compaction.type is CompactionType.MINOR
    removed = _remove_obsolete(directory.location, write_ids, settled, scope.storage, minor=minor)
    _remove_unfinished(directory.location, valid_txns, scope.storage)
    return removed


def _remove_obsolete(
    location: str,
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
    storage: Storage,
    *,
    minor: bool,
) -> _Removed:
    files, markers = list_marked_files(location, storage)
    directories = storage.list_directories(location)
    doomed = obsolete(files, write_ids, txns, markers, directories=directories, minor=minor)
    for path in doomed:
        storage.remove(OwnPath(location, path))
    gone = set(doomed)
    return _Removed(
        len(doomed), sum(f.size for f in files if gone & {f.path, f.path.partition("/")[0]})
    )


def _remove_unfinished(location: str, txns: ValidTxnList, storage: Storage) -> None:
    """Remove the hidden directories of compactors whose transactions ended before the listing.

    Each is renamed first, in one step: a compactor that still runs then finds nothing to publish.
    """
    for name in storage.list_directories(location):
        txn_id = parse_compaction_attempt(name)
        if txn_id and (txns.is_valid(txn_id) or txns.is_aborted(txn_id)):
            doomed = OwnPath(location, compaction_attempt(txn_id, uuid.uuid4().hex))
            storage.rename(f"{location}/{name}", str(doomed))
            storage.remove(doomed)


def _covered_write_ids(write_ids: ValidWriteIdList, compaction: Compaction) -> ValidWriteIdList:
    """The write ids that the compaction covered and that lie below every open write id."""
    highest = compaction.highest_write_id
    mark = min(write_ids.high_watermark, write_ids.min_open - 1)
    if highest is not None:
        mark = min(mark, highest)
    return replace(
        write_ids,
        high_watermark=WriteId(mark),
        open=frozenset(w for w in write_ids.open if w <= mark),
        aborted=frozenset(w for w in write_ids.aborted if w <= mark),
    )


def _settled_txns(txns: ValidTxnList, compaction: Compaction) -> ValidTxnList:
    """The transactions that began before the compaction's commit, below every open transaction.

    Directories with a higher visibility id come from a later compaction. A reader that opened
    before the commit of that one still reads the directories from before.
    """
    mark = min(txns.high_watermark, txns.min_open - 1, (compaction.next_txn_id or 0) - 1)
    return ValidTxnList(
        TxnId(mark),
        aborted=frozenset(t for t in txns.aborted if t <= mark),
    )
