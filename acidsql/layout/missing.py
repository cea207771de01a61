"""Committed writes whose directories are gone: a listing goes in, write ids come out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from acidsql.layout.dir_names import (
    BaseDir,
    DeltaDir,
    highest_write_id,
    is_hidden,
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
    overwrite that is not aborted and whose range has the id. A delta of the write itself has at
    least one file that readers see; an empty one has lost its files. The store must have been asked
    for ``committed`` before the listing was made.
    """
    below = [f.path.split("/") for f in files if "/" in f.path]
    filled = {first for first, *rest in below if not any(map(is_hidden, rest))}
    parsed = {n: parse_directory(n) for n in {*directories, *(first for first, *_ in below)}}
    there = sorted(
        (lowest_write_id(d), highest_write_id(d))
        for name, d in parsed.items()
        if d is not None
        and not _is_aborted(d, write_ids, txns)
        and not (_is_of_one_write(d) and name not in filled)
    )
    starts = [lowest for lowest, _ in there]
    ends = list(accumulate((highest for _, highest in there), max, initial=0))
    # Of the ranges that begin up to an id, one has the id if the highest end of them reaches it.
    return sorted(w for w in committed if ends[bisect_right(starts, w)] < w)


def _is_of_one_write(directory: BaseDir | DeltaDir) -> bool:
    is_delta = isinstance(directory, DeltaDir) and directory.visibility_id == NO_TXN
    return is_delta and lowest_write_id(directory) == highest_write_id(directory)


def _is_aborted(
    directory: BaseDir | DeltaDir, write_ids: ValidWriteIdList, txns: ValidTxnList
) -> bool:
    """Whether the directory was left behind by an aborted compaction or overwrite."""
    if directory.visibility_id != NO_TXN:
        return txns.is_aborted(directory.visibility_id)
    return isinstance(directory, BaseDir) and directory.write_id in write_ids.aborted
