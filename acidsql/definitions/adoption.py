"""Directories that were written elsewhere become tables and partitions.

Their names hold the write ids of another numbering. All of them count as committed here; what the
store gives out later has to lie above. So a directory may be adopted only if none of its ids is
that of an open or aborted transaction of ours, and only while nobody reads or writes the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.errors import TxnError, UnsupportedStatementError
from acidsql.execution.scope import Scope
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
from acidsql.txn.entities import TxnState
from acidsql.txn.transaction import OpenTxn


@dataclass(frozen=True, slots=True)
class Adoption:
    """The ids that a store has to pass over for the directories it takes in."""

    table: TableName
    highest_write_id: WriteId
    is_empty: bool

    def seed(self, scope: Scope, txn: OpenTxn) -> None:
        """Pass over them, in the store transaction that adds the directories to the catalog.

        Where the table has write ids of its own, a snapshot ends at the highest that is given out:
        ours is given out above those adopted, and commits with the transaction.
        """
        if not self.highest_write_id:
            return
        store, name = scope.store, self.table
        store.seed_write_id(name, self.highest_write_id)
        mark = store.valid_write_ids([name], store.valid_txns())[name].high_watermark
        if mark < self.highest_write_id:
            store.allocate_write_id(txn.txn_id, name)


def adopt(table: Table, locations: Sequence[str], scope: Scope, txn: OpenTxn) -> Adoption:
    """Look at directories, under an exclusive lock on the table, and check that they may be taken.

    UnsupportedStatementError for what cannot be read as part of this table. TxnError while a
    transaction is open that is older than a compactor's directory: it would not see its rows.
    """
    found = [(place, _history_at(place, scope)) for place in locations]
    if table.kind is TableKind.PLAIN:
        # Its files are whatever they are, and nobody gives it write ids.
        return Adoption(table.name, WriteId(0), all(past.is_empty for _, past in found))
    for place, past in found:
        _check_numbers(place, past)
        _check_files(table, place, past)
    _pass_over_compactors([past for _, past in found], scope, txn)
    write_ids = scope.store.valid_write_ids([table.name], scope.store.valid_txns())[table.name]
    for place, past in found:
        outside = not place.startswith(f"{table.location}/")
        for path, directory in past.directories:
            if _is_hidden(directory, write_ids, keep_aborted=outside):
                raise UnsupportedStatementError(
                    f"{place}/{path} bears a write id that is open or aborted in {table.name}",
                    detail="Its rows would not be seen, since the numbers mean other writes here.",
                    hint="Make a table of its own of the directory, then INSERT INTO … SELECT.",
                )
    highest = max([past.highest_write_id for _, past in found], default=WriteId(0))
    return Adoption(table.name, highest, all(past.is_empty for _, past in found))


def _history_at(location: str, scope: Scope) -> History:
    """UnsupportedStatementError if a CREATE TABLE AS that did not come to its end left the rows."""
    files = scope.storage.list_files(location)
    past = history(files)
    if not past.is_empty and any(file.path == UNFINISHED_FILE for file in files):
        raise UnsupportedStatementError(
            f"the directory {location} holds what a CREATE TABLE AS that did not finish has left",
            hint=f"If none is running there, remove it. {UNFINISHED_FILE} marks it.",
        )
    return past


def _check_numbers(location: str, past: History) -> None:
    """No store could go on from ids that nobody can have given out, nor could rows have row ids."""
    for path, directory in past.directories:
        impossible = impossible_number(directory)
        if impossible is not None:
            raise UnsupportedStatementError(
                f"{location}/{path} bears {impossible}, which no writer can have had",
                detail=f"Ids end at {HIGHEST_ID}, statement ids at {STATEMENT_ID_MAX}.",
                hint="Move it elsewhere.",
            )
    if any(bucket > BUCKET_ID_MAX for bucket in past.buckets):
        raise UnsupportedStatementError(
            f"{location} holds bucket {max(past.buckets)}, and rows of buckets above"
            f" {BUCKET_ID_MAX} have no row ids",
            hint="Read such files with Spark, then INSERT INTO a table of its own.",
        )


def _check_files(table: Table, location: str, past: History) -> None:
    if past.strange or (past.originals and table.kind is TableKind.INSERT_ONLY):
        name = (past.strange or past.originals)[0]
        raise UnsupportedStatementError(
            f"{location} holds {name}, which is no file of a {table.kind.value} table",
            detail="Beside bases and deltas there may only be files named like 000000_0.",
            hint="Read such files with Spark, then INSERT INTO a table of its own.",
        )
    if table.bucketing is not None:
        count = table.bucketing.count
        if any(bucket >= count for bucket in past.buckets):
            raise UnsupportedStatementError(
                f"{location} holds bucket {max(past.buckets)}, but {table.name} has {count} buckets"
            )


def _pass_over_compactors(found: Sequence[History], scope: Scope, txn: OpenTxn) -> None:
    """Raise the store's txn ids above those of the compactors (Hive seed_txn_id)."""
    ids = {i for past in found for i in past.visibility_ids}
    if not ids:
        return
    txns = scope.store.valid_txns()
    for visibility_id in sorted(ids):
        if visibility_id != txn.txn_id and visibility_id in (*txns.open, *txns.aborted):
            raise TxnError(
                f"a compactor's directory ends in _v{visibility_id}, and transaction"
                f" {visibility_id} is open or aborted here",
                hint="SHOW TRANSACTIONS tells; the housekeeper forgets aborted ones.",
            )
    highest = TxnId(max(ids))
    scope.store.seed_txn_id(highest)
    # Asked afterwards: whoever opens from now on is above.
    older = [
        t.txn_id
        for t in scope.store.show_txns()
        if t.state is TxnState.OPEN and t.txn_id < highest and t.txn_id != txn.txn_id
    ]
    if older:
        raise TxnError(
            f"transaction {older[0]} is open and older than the compaction of the directory",
            detail=f"It would not see what ends in _v{highest}.",
            hint="Run the statement again when it has ended; SHOW TRANSACTIONS lists it.",
        )


def _is_hidden(
    directory: BaseDir | DeltaDir, write_ids: ValidWriteIdList, *, keep_aborted: bool
) -> bool:
    """Whether readers would pass over rows of the directory for our own numbers' sake.

    What an aborted write of ours left in the table's own directory is passed over rightly; with
    ``keep_aborted`` the directory cannot be ours.
    """
    match directory:
        case BaseDir(write_id):
            hidden = any(w <= write_id for w in write_ids.open)
            return hidden or (keep_aborted and write_id in write_ids.aborted)
        case DeltaDir(low, high):
            if not keep_aborted and write_ids.range_aborted(low, high) is Range.ALL:
                return False
            return any(low <= w <= high for w in (*write_ids.open, *write_ids.aborted))
