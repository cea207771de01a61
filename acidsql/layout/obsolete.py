"""What the cleaner may remove."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acidsql.layout.acid_state import acid_state_and_history
from acidsql.layout.listing import ListedFile
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind


def obsolete(
    files: Iterable[ListedFile],
    valid_write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList | None = None,
    markers: Mapping[str, str] | None = None,
    kind: TableKind = TableKind.FULL_ACID,
) -> list[str]:
    """The directories and original files no snapshot at or above these lists reads, sorted.

    The caller caps the lists: the write ids at what the compaction covered, the transactions below
    the least open one. What lies above the cap is never named. A base that is newer than the cap
    is no error here, other than for readers: it only makes nothing obsolete.
    """
    state, _ = acid_state_and_history(files, valid_write_ids, valid_txns, markers, kind)
    return sorted({*state.obsolete, *state.aborted})
