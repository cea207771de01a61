"""Rows that a transaction inserted and deleted again leave its files before the commit.

The transaction's statements wrote `delta_W_W_S` and `delete_delta_W_W_S`. They are merged into
`delta_W_W` and `delete_delta_W_W`, the names that a minor compaction of one write id gives. While
both kinds are there, every reader prefers these to names with statement ids
(AcidUtils.getAcidState).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from acidsql.engines.local.attempt import Attempt
from acidsql.engines.local.compact import Compaction
from acidsql.engines.publish import discard
from acidsql.engines.selection import directory_state
from acidsql.errors import AcidSqlError
from acidsql.layout.acid_state import AcidState, SelectedDir
from acidsql.layout.dir_names import DeltaDir
from acidsql.model.ids import NO_TXN, TxnId, WriteId
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage

_log = logging.getLogger(__name__)


def fold(
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    write_id: WriteId,
    storage: Storage,
    txn_id: TxnId,
    *,
    keep: bool,
    by_position: bool = True,
) -> list[OwnPath]:
    """`Engine.fold`; ``by_position`` as for `compact`.

    StorageError or CorruptFileError if files cannot be read or written; what ``require_open`` of
    the snapshot raises.
    """
    by_position = snapshot.table.matches_by_position(by_position)
    made: list[OwnPath] = []
    replaced: list[OwnPath] = []
    try:
        for place in snapshot.partitions:
            state = _own(directory_state(snapshot, place, txns, storage), write_id)
            if not state.delete_deltas:
                continue  # an overwrite has replaced these rows since
            made += [OwnPath(place.location, n) for n in _names(write_id)]
            attempt = Attempt(place.location, storage, txn_id, snapshot.require_open)
            work = Compaction(
                snapshot, place, state, storage, NO_TXN, attempt, by_position=by_position
            )
            work.fold()
            old = (*state.deltas, *state.delete_deltas)
            replaced += [OwnPath(place.location, directory.path) for directory in old]
    except BaseException:
        _discard(made, snapshot, storage)
        raise
    if not keep:
        discard(replaced, storage)
    return made


def _own(state: AcidState, write_id: WriteId) -> AcidState:
    """The directories of this write id's statements; none if one of them overwrote the place."""
    return AcidState(
        deltas=tuple(d for d in state.deltas if _is_of(d, write_id)),
        delete_deltas=tuple(d for d in state.delete_deltas if _is_of(d, write_id)),
    )


def _is_of(selected: SelectedDir, write_id: WriteId) -> bool:
    delta = selected.directory
    return isinstance(delta, DeltaDir) and delta.min_write_id == delta.max_write_id == write_id


def _names(write_id: WriteId) -> list[str]:
    return [DeltaDir(write_id, write_id, is_delete=kind).name for kind in (False, True)]


def _discard(paths: Sequence[OwnPath], snapshot: TableSnapshot, storage: Storage) -> None:
    """Remove the paths if the transaction is still open: then they are its own. Never raises."""
    try:
        if snapshot.require_open is not None:
            snapshot.require_open()
    except AcidSqlError:
        _log.warning("the transaction has ended: what it wrote is left to the cleaner")
        return
    discard(paths, storage)
