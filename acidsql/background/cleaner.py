"""The cleaner: removes directories that no reader can need any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from acidsql.background.events import Action, Event
from acidsql.background.removal import Doomed, Why, doomed, remove_all
from acidsql.background.scope import BackgroundScope, may_be_cleaned
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.dir_names import parse_compaction_attempt
from acidsql.layout.obsolete import obsolete
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.txn.entities import Compaction, CompactionType
from acidsql.txn.transaction import OpenTxn


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
        found = due(compaction, name, scope)
        if found is None:
            return 0
        remove_all(found, scope.storage, txn.require_open)
        cleaned(compaction, found, txn, scope, started_s)
    return 1


def cleaned(
    compaction: Compaction,
    found: Sequence[Doomed],
    txn: OpenTxn,
    scope: BackgroundScope,
    started_s: float,
) -> None:
    """Tell the store that everything that was due after a compaction is gone."""
    # mark_cleaned makes a Hive Metastore forget the aborted writes of the place. None of their
    # files may be left then, so our lock must still hold.
    txn.require_open()
    scope.txns.mark_cleaned(compaction.compaction_id)
    event = Event.of(
        Action.CLEANED,
        compaction,
        directories=len(found),
        bytes=sum(one.bytes for one in found),
        seconds=scope.clock() - started_s,
    )
    scope.told(event)


def due(compaction: Compaction, name: TableName, scope: BackgroundScope) -> list[Doomed] | None:
    """What is to be removed after a compaction that is ready for cleaning.

    None if it has to wait: NO_CLEANUP is set, or the directory is missing, so nothing is known.
    """
    table = scope.catalog.find_table(name)
    if table is None:
        return []
    if not may_be_cleaned(table):
        return None
    valid_txns = scope.txns.valid_txns()
    write_ids = _covered_write_ids(scope.txns.valid_write_ids([name], valid_txns)[name], compaction)
    directory = partition_directory(scope.catalog, table, compaction.partition_name)
    if directory is None:
        return []
    if not scope.storage.exists(directory.location):
        # A missing directory may come back with its files, as when a disk is mounted again.
        return None
    settled = _settled_txns(valid_txns, compaction)
    minor = compaction.type is CompactionType.MINOR
    found = _obsolete(directory.location, write_ids, settled, scope.storage, minor=minor)
    return found + _unfinished(directory.location, valid_txns, scope.storage)


def _obsolete(
    location: str,
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
    storage: Storage,
    *,
    minor: bool,
) -> list[Doomed]:
    # In this order a directory that comes meanwhile does not look empty.
    directories = storage.list_directories(location)
    files, markers = list_marked_files(location, storage)
    paths = obsolete(files, write_ids, txns, markers, directories=directories, minor=minor)
    return doomed(location, paths, files, Why.COMPACTED)


def _unfinished(location: str, txns: ValidTxnList, storage: Storage) -> list[Doomed]:
    """The hidden directories of compactors whose transactions ended before the listing."""
    names = storage.list_directories(location)
    ids = {name: parse_compaction_attempt(name) for name in names}
    ended = [n for n, i in ids.items() if i and (txns.is_valid(i) or txns.is_aborted(i))]
    return doomed(location, ended, storage.list_files(location) if ended else (), Why.UNFINISHED)


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
