"""Committed writes whose directories are gone: a listing goes in, write ids come out."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.layout.dir_names import (
    BaseDir,
    DeltaDir,
    highest_write_id,
    lowest_write_id,
    parse_directory,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import NO_TXN, WriteId
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList


def missing_writes(
    files: Iterable[ListedFile],
    directories: Iterable[str],
    committed: Iterable[WriteId],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
) -> list[WriteId]:
    """The committed write ids that no directory covers, in ascending order.

    A write id is covered by the directory of the write itself, and by one of a compaction or
    overwrite that is not aborted and whose range has the id. The store must have been asked for
    ``committed`` before the listing was made.
    """
    names = {*directories, *(f.path.partition("/")[0] for f in files if "/" in f.path)}
    found = [d for d in map(parse_directory, names) if d is not None]
    there = [d for d in found if not _is_aborted(d, write_ids, txns)]
    return sorted(w for w in committed if not any(_covers(d, w) for d in there))


def _is_aborted(
    directory: BaseDir | DeltaDir, write_ids: ValidWriteIdList, txns: ValidTxnList
) -> bool:
    """Whether the directory was left behind by an aborted compaction or overwrite."""
    if directory.visibility_id != NO_TXN:
        return txns.is_aborted(directory.visibility_id)
    return isinstance(directory, BaseDir) and directory.write_id in write_ids.aborted


def _covers(directory: BaseDir | DeltaDir, write_id: WriteId) -> bool:
    return lowest_write_id(directory) <= write_id <= highest_write_id(directory)
