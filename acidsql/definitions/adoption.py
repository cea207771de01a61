"""Adoption: directories that another store's writers made become tables and partitions here.

The names of such directories hold write ids that the other store gave out. Here all of these ids
count as committed, and our store must give out higher ids from then on. So a directory may be
adopted only if none of its ids belongs to an open or aborted transaction of ours, and only while
no other session reads or writes the table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from acidsql.errors import TxnError, UnsupportedStatementError
from acidsql.execution.scope import Scope
from acidsql.layout.acid_state import acid_state_and_history
from acidsql.layout.dir_names import (
    HIGHEST_ID,
    UNFINISHED_FILE,
    BaseDir,
    DeltaDir,
    impossible_number,
)
from acidsql.layout.history import History, history
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.row_id import BUCKET_ID_MAX, STATEMENT_ID_MAX
from acidsql.model.snapshot import Range, ValidWriteIdList
from acidsql.model.table import Table, TableKind
from acidsql.ports.storage import list_marked_files
from acidsql.txn.entities import TxnState
from acidsql.txn.transaction import OpenTxn


@dataclass(frozen=True, slots=True)
class Adoption:
    """The highest write id of adopted directories: the store must give out ids above it.

    ``skipped`` are paths of directories whose rows no reader sees, since the store counts their
    write ids as aborted. Those in places where the table's own writers have written are left out.
    """

    table: TableName
    highest_write_id: WriteId
    is_empty: bool
    skipped: tuple[str, ...] = ()

    def seed(self, scope: Scope, txn: OpenTxn) -> None:
        """Raise the table's write ids above the adopted ones.

        Call this in the store transaction that adds the directories to the catalog. A snapshot ends
        at the highest write id that the store has given out. Where that is below the adopted ids,
        this transaction takes a write id above them, which commits with the transaction.
        """
        if not self.highest_write_id:
            return
        store, name = scope.store, self.table
        store.seed_write_id(name, self.highest_write_id)
        mark = store.valid_write_ids([name], store.valid_txns())[name].high_watermark
        if mark < self.highest_write_id:
            store.allocate_write_id(txn.txn_id, name)


def adopt(
    table: Table,
    locations: Sequence[str],
    scope: Scope,
    txn: OpenTxn,
    *,
    own: Collection[str] = (),
) -> Adoption:
    """Check that directories may be adopted. The caller holds an exclusive lock on the table.

    ``own`` are those of the locations where the table's own writers have written before.

    Raises UnsupportedStatementError for files or ids that cannot be read as part of this table.
    Raises TxnError while a transaction is open that is older than a compactor's directory: that
    transaction would not see the rows of the directory.
    """
    found = [(place, _history_at(place, scope)) for place in locations]
    if table.kind is TableKind.PLAIN:
        # A plain table may hold any files, and it has no write ids.
        return Adoption(table.name, WriteId(0), all(past.is_empty for _, past in found))
    for place, past in found:
        _check_numbers(place, past)
        _check_files(table, place, past)
    _seed_above_compactors([past for _, past in found], scope, txn)
    write_ids = scope.store.valid_write_ids([table.name], scope.store.valid_txns())[table.name]
    for place, past in found:
        outside = place not in own and not table.encloses(place)
        for path, directory in past.directories:
            if _is_hidden(directory, write_ids, keep_aborted=outside):
                raise UnsupportedStatementError(
                    f"{place}/{path} has a write id that is open or aborted in {table.name}",
                    detail="Its rows would not be seen: here the id belongs to another write.",
                    hint="CREATE TABLE … LOCATION makes a table of the directory alone. Then INSERT"
                    " INTO … SELECT from that table.",
                )
    highest = max([past.highest_write_id for _, past in found], default=WriteId(0))
    is_empty = all(past.is_empty for _, past in found)
    new = [(place, past) for place, past in found if place not in own]
    skipped = chain.from_iterable(_skipped(*each, write_ids, table, scope) for each in new)
    return Adoption(table.name, highest, is_empty, tuple(skipped))


def _history_at(location: str, scope: Scope) -> History:
    """What the names in a directory tell.

    UnsupportedStatementError for the rows of a CREATE TABLE AS that did not finish.
    """
    files = scope.storage.list_files(location)
    past = history(files)
    if not past.is_empty and any(file.path == UNFINISHED_FILE for file in files):
        raise UnsupportedStatementError(
            f"the directory {location} holds the files of a CREATE TABLE AS that did not finish",
            detail=f"The file {UNFINISHED_FILE} in it says so.",
            hint="Remove the directory, unless that CREATE TABLE AS is still running.",
        )
    return past


def _check_numbers(location: str, past: History) -> None:
    """UnsupportedStatementError for ids that no store can have given out, and for buckets whose
    rows cannot have row ids.
    """
    for path, directory in past.directories:
        impossible = impossible_number(directory)
        if impossible is not None:
            raise UnsupportedStatementError(
                f"{location}/{path} has {impossible}, which no writer can have had",
                detail=f"The highest id is {HIGHEST_ID}, the highest statement id"
                f" {STATEMENT_ID_MAX}.",
                hint="Move the directory elsewhere.",
            )
    if any(bucket > BUCKET_ID_MAX for bucket in past.buckets):
        raise UnsupportedStatementError(
            f"{location} holds bucket {max(past.buckets)}, and rows of buckets above"
            f" {BUCKET_ID_MAX} have no row ids",
            hint="Read such files with Spark, then INSERT INTO another table.",
        )


def _check_files(table: Table, location: str, past: History) -> None:
    if past.strange or (past.originals and table.kind is TableKind.INSERT_ONLY):
        name = (past.strange or past.originals)[0]
        kind = table.kind.value
        article = "an" if table.kind is TableKind.INSERT_ONLY else "a"
        raise UnsupportedStatementError(
            f"{location} holds {name}, which is not a file of {article} {kind} table",
            detail="Beside bases and deltas only files named like 000000_0 are known.",
            hint="Read such files with Spark, then INSERT INTO another table.",
        )
    if table.bucketing is not None:
        count = table.bucketing.count
        if any(bucket >= count for bucket in past.buckets):
            raise UnsupportedStatementError(
                f"{location} holds bucket {max(past.buckets)}, but {table.name} has {count} buckets"
            )


def _seed_above_compactors(found: Sequence[History], scope: Scope, txn: OpenTxn) -> None:
    """Raise the store's txn ids above those of the compactors (Hive's seed_txn_id).

    TxnError if a compactor's txn id belongs to an open or aborted transaction here, or if an open
    transaction is older than a compactor.
    """
    ids = {i for past in found for i in past.visibility_ids}
    if not ids:
        return
    txns = scope.store.valid_txns()
    for visibility_id in sorted(ids):
        if visibility_id != txn.txn_id and visibility_id in (*txns.open, *txns.aborted):
            raise TxnError(
                f"a compactor's directory ends in _v{visibility_id}, and transaction"
                f" {visibility_id} is open or aborted here",
                hint="SHOW TRANSACTIONS lists it. Run the statement again when it has ended and the"
                " housekeeper has removed its record.",
            )
    highest = TxnId(max(ids))
    scope.store.seed_txn_id(highest)
    # Asked after seeding: a transaction that opens from now on has a higher id.
    older = [
        t.txn_id
        for t in scope.store.show_txns()
        if t.state is TxnState.OPEN and t.txn_id < highest and t.txn_id != txn.txn_id
    ]
    if older:
        raise TxnError(
            f"transaction {older[0]} is open and older than the compaction of the directory",
            detail=f"It would not see the rows of the directory that ends in _v{highest}.",
            hint="Run the statement again when the transaction has ended; SHOW TRANSACTIONS lists"
            " it.",
        )


def _is_hidden(
    directory: BaseDir | DeltaDir, write_ids: ValidWriteIdList, *, keep_aborted: bool
) -> bool:
    """Whether readers would skip rows of the directory because of our own open or aborted ids.

    An aborted write of ours may have left its directory where the table's writers write; skipping
    that one is right. With ``keep_aborted`` the directory cannot be ours.
    """
    match directory:
        case BaseDir(write_id):
            hidden = any(w <= write_id for w in write_ids.open)
            return hidden or (keep_aborted and write_id in write_ids.aborted)
        case DeltaDir(low, high):
            if not keep_aborted and _is_aborted(directory, write_ids):
                return False
            return any(low <= w <= high for w in (*write_ids.open, *write_ids.aborted))


def _skipped(
    location: str, past: History, write_ids: ValidWriteIdList, table: Table, scope: Scope
) -> Sequence[str]:
    """The paths of a location's directories that readers leave out, since they are aborted here.

    A compactor's base is read all the same: it has older rows than those of its write id.
    """
    if not any(_is_aborted(directory, write_ids) for _, directory in past.directories):
        return ()
    files, markers = list_marked_files(location, scope.storage)
    state, _ = acid_state_and_history(files, write_ids, None, markers, table.kind)
    return [f"{location}/{path}" for path in state.aborted]


def _is_aborted(directory: BaseDir | DeltaDir, write_ids: ValidWriteIdList) -> bool:
    """Whether all of the directory was written by writes that are aborted here."""
    match directory:
        case BaseDir(write_id):
            return write_id in write_ids.aborted
        case DeltaDir(low, high):
            return write_ids.range_aborted(low, high) is Range.ALL
