"""Compaction of an insert-only table: the files of a bucket become one. They hold no events."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from acidsql.engines.local.attempt import Attempt
from acidsql.engines.output import compression_of
from acidsql.engines.row_files import RowFormat, RowWriter, read_rows
from acidsql.engines.row_selection import data_files
from acidsql.engines.selection import source_of
from acidsql.errors import UnsupportedStatementError
from acidsql.layout.acid_state import AcidState
from acidsql.layout.dir_names import (
    METADATA_FILE,
    BaseDir,
    DeltaDir,
    OriginalFile,
    highest_write_id,
    lowest_write_id,
)
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId, TxnId, WriteId
from acidsql.model.table import FileFormat
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage, local_draft

COMPACTED = json.dumps({"thisFileVersion": "0", "dataFormat": "compacted"}, separators=(",", ":"))
_COMPRESSED_TEXT = ("gz", "bz2", "deflate", "snappy", "lz4", "zst")


def compact_rows(
    plan: CompactPlan,
    snapshot: TableSnapshot,
    state: AcidState,
    storage: Storage,
    visibility_id: TxnId,
    attempt: Attempt,
) -> None:
    """Merge everything into a base, or the deltas into one delta.

    The new name goes up to the highest write id that was read, so that the directory covers nothing
    else. A visibility id other than NO_TXN is added to it. The directory is written under a hidden
    name and renamed when it is complete.
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
    hidden, written = attempt.hidden(name), []
    try:
        storage.make_directory(hidden)
        for bucket in sorted({f.bucket_id or BucketId(0) for f in files}) or [BucketId(0)]:
            inputs = [f for f in files if (f.bucket_id or BucketId(0)) == bucket]
            written.append(OriginalFile(bucket).name)
            _merge(inputs, location, f"{hidden}/{written[-1]}", snapshot, storage)
        if major and not visibility_id:
            # By this file Hive 3 tells a compacted base from a base of INSERT OVERWRITE.
            storage.write_file(f"{hidden}/{METADATA_FILE}", COMPACTED.encode())
            written.append(METADATA_FILE)
        attempt.publish({name: written})
    finally:
        attempt.discard([name])


def _merge(
    files: Sequence[DataFile],
    location: str,
    output: str,
    snapshot: TableSnapshot,
    storage: Storage,
) -> None:
    """Write the rows of several files into one, in the order of the files."""
    path = local_draft(output, storage)
    table = snapshot.table
    if table.format is FileFormat.TEXT:
        _join_lines([f"{location}/{f.path}" for f in files], path, storage)
    else:
        row_format = RowFormat.of(table, compression_of(table))
        writer = RowWriter(path, row_format)
        try:
            for file in files:
                source = f"{location}/{file.path}"
                for batch in read_rows(source_of(source, storage), source, row_format):
                    writer.write_rows(batch)
        except BaseException:
            writer.discard()
            raise
        writer.close()
    storage.put_file(path, output)


def _join_lines(paths: Sequence[str], output: str, storage: Storage) -> None:
    """Write the lines of the files one after another, and a line feed where the last lacks it."""
    for path in paths:
        if path.rpartition(".")[2] in _COMPRESSED_TEXT:
            raise UnsupportedStatementError(f"compressed text cannot be compacted: {path}")
    with Path(output).open("wb") as target:
        for path in paths:
            with storage.open_input(path) as source:
                shutil.copyfileobj(source, target, 1 << 20)
                source.seek(-1, os.SEEK_END)
                if source.read(1) not in (b"\n", b"\r"):
                    target.write(b"\n")
