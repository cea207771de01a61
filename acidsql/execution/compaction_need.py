"""Which compaction one directory needs: its files, measured by Hive's thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import MissingFileError
from acidsql.layout.acid_state import AcidState, SelectedDir, acid_state
from acidsql.layout.dir_names import BaseDir, parse_directory
from acidsql.model.table import Table, TableKind
from acidsql.ports.engine import PartitionLocation
from acidsql.ports.storage import Storage, list_marked_files
from acidsql.txn.compaction_need import Need, Sizes, Thresholds, need_by_aborted, need_by_sizes
from acidsql.txn.entities import ChangedPlace
from acidsql.txn.manager import TxnManager


def needed_compaction(
    table: Table,
    directory: PartitionLocation | None,
    place: ChangedPlace | None,
    thresholds: Thresholds,
    txns: TxnManager,
    storage: Storage,
) -> Need | None:
    """The compaction that the directory needs, or None.

    ``place`` tells of aborted writes there. If these decide, the directory is not looked at, and
    may be None. MissingFileError if it does not exist.
    """
    if place is not None:
        need = need_by_aborted(place.aborted, place.aborted_age_ms / 1000, thresholds)
        if need is not None:
            return need
    if directory is None:
        return None
    return need_by_sizes(_sizes(table, directory, txns, storage), thresholds)


def _sizes(
    table: Table, directory: PartitionLocation, manager: TxnManager, storage: Storage
) -> Sizes:
    txns = manager.valid_txns()
    write_ids = manager.valid_write_ids([table.name], txns)[table.name].for_compactor()
    if storage.is_missing(directory.location):
        raise MissingFileError(f"the directory {directory.location} of {table.name} does not exist")
    files, markers = list_marked_files(directory.location, storage)
    return sizes_of(acid_state(files, write_ids, txns, markers, table.kind), table.kind)


def sizes_of(state: AcidState, kind: TableKind) -> Sizes:
    """What a compactor's snapshot of one directory holds."""
    deltas = (*state.deltas, *state.delete_deltas)
    base = _bytes(() if state.base is None else (state.base,))
    is_raw = bool(state.originals) or any(d.raw for d in deltas)
    return Sizes(
        base_bytes=base + sum(f.size for f in state.originals),
        delta_bytes=_bytes(deltas),
        deltas=len(deltas),
        obsolete=len(state.obsolete),
        has_obsolete_base=any(isinstance(parse_directory(p), BaseDir) for p in state.obsolete),
        has_raw=is_raw and kind is TableKind.FULL_ACID,
    )


def _bytes(directories: Sequence[SelectedDir]) -> int:
    return sum(file.size for directory in directories for file in directory.files)
