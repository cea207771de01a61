"""Compaction of an insert-only table, whose files hold no events: those of a bucket become one."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.engines.local.attempt import Attempt
from acidsql.engines.local.merge import Run
from acidsql.engines.local.rows_merge import RowsMerge
from acidsql.engines.row_files import RowFormat
from acidsql.engines.row_selection import data_files
from acidsql.engines.target import compression_of
from acidsql.errors import UnsupportedStatementError
from acidsql.layout.acid_state import AcidState
from acidsql.layout.dir_names import (
    BaseDir,
    DeltaDir,
    highest_write_id,
    lowest_write_id,
)
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId, TxnId, WriteId
from acidsql.model.table import FileFormat
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage

_COMPRESSED_TEXT = ("gz", "bz2", "deflate", "snappy", "lz4", "zst")


def compact_rows(
    plan: CompactPlan,
    snapshot: TableSnapshot,
    state: AcidState,
    storage: Storage,
    visibility_id: TxnId,
    attempt: Attempt,
    run: Run,
    *,
    by_position: bool,
) -> None:
    """Merge everything into a base, or the deltas into one delta.

    The new name goes up to the highest write id that was read, so that the directory covers nothing
    else. A visibility id other than NO_TXN is added to it. ``run`` carries out the merges of the
    buckets; ``by_position`` is that of `RowFormat`. The directory is written under a hidden name
    and renamed when it is complete.
    UnsupportedStatementError for compressed text.
    """
    major = plan.type == "major"
    bases = (state.base,) if major and state.base is not None else ()
    merged = [d.directory for d in (*bases, *state.deltas)]
    low = min(map(lowest_write_id, merged), default=WriteId(0))
    high = max(map(highest_write_id, merged), default=WriteId(0))
    files = data_files(state) if major else [f for d in state.deltas for f in d.files]
    delta = DeltaDir(low, high, visibility_id=visibility_id)
    name = BaseDir(high, visibility_id).name if major else delta.name
    location = snapshot.partitions[0].location
    if snapshot.table.format is FileFormat.TEXT:
        _require_plain_text(files, location)
    codec = compression_of(snapshot.table)
    row_format = RowFormat.of(snapshot.table, codec, by_position=by_position)
    hidden = attempt.hidden(name)
    merges = []
    for bucket in sorted({_bucket(f) for f in files}) or [BucketId(0)]:
        merged_files = [f for f in files if _bucket(f) == bucket]
        paths = tuple(f"{location}/{f.path}" for f in merged_files)
        size = sum(f.size for f in merged_files)
        merges.append(RowsMerge(hidden, bucket, row_format, paths, size))
    try:
        storage.make_directory(hidden)
        run(merges)
        written = [merge.name for merge in merges]
        if major and not visibility_id:
            written.append(attempt.mark_compacted(name))
        attempt.publish({name: written})
    finally:
        attempt.discard([name])


def _bucket(file: DataFile) -> BucketId:
    return file.bucket_id or BucketId(0)


def _require_plain_text(files: Sequence[DataFile], location: str) -> None:
    for file in files:
        if file.path.rpartition(".")[2] in _COMPRESSED_TEXT:
            raise UnsupportedStatementError(
                f'compressed text file "{location}/{file.path}" cannot be compacted',
                hint="INSERT OVERWRITE writes rows of text without compression.",
            )
