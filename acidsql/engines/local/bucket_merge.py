"""The merge of one bucket's files into one, which a thread or a Spark task carries out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acidsql.engines.selection import SelectedFile, source_of
from acidsql.engines.target import compression_of
from acidsql.layout.dir_names import BucketFile
from acidsql.model.ids import BucketId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.orc.merge import (
    merge_major,
    merge_minor_deletes,
    merge_minor_inserts,
    merge_others_deletes,
    write_no_events,
)
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.writer import WrittenFile
from acidsql.ports.storage import Storage, local_draft

MergeKind = Literal["major", "inserts", "deletes", "others' deletes", "nothing"]
"""What is written: a base, a delta, a delete delta, the same when a transaction's own rows are
folded, or no event."""


@dataclass(frozen=True, slots=True)
class BucketMerge:
    """One bucket to be merged.

    ``directory`` is where the file goes. ``inserts`` and ``deletes`` are the files of this bucket.
    """

    directory: str
    bucket: BucketId
    kind: MergeKind
    table: Table
    write_ids: ValidWriteIdList
    inserts: tuple[SelectedFile, ...]
    deletes: tuple[SelectedFile, ...]
    by_position: bool

    @property
    def name(self) -> str:
        """The name that the file must have in the end."""
        return BucketFile(self.bucket).name

    @property
    def bytes(self) -> int:
        """The size of the files that are merged."""
        return sum(file.size for file in (*self.inserts, *self.deletes))

    def for_task(self) -> BucketMerge:
        """This merge without the tails of files, which a task reads itself."""
        return replace(self, inserts=tuple(replace(file, tail=None) for file in self.inserts))

    def run(self, storage: Storage, name: str) -> bool:
        """Write the file under this name, durably. False, and no file, if no event is left.

        StorageError or CorruptFileError if files cannot be read or written.
        """
        path = f"{self.directory}/{name}"
        local = local_draft(path, storage)
        output = merge_output(local, self.table, self.bucket, by_position=self.by_position)
        inserts, deletes = (merge_inputs(files, storage) for files in (self.inserts, self.deletes))
        if self._merge(inserts, deletes, output) is None:
            return False
        storage.put_file(local, path)
        return True

    def _merge(
        self, inserts: list[MergeInput], deletes: list[MergeInput], output: MergeOutput
    ) -> WrittenFile | None:
        match self.kind:
            case "major":
                return merge_major(inserts, deletes, self.write_ids, output)
            case "inserts":
                return merge_minor_inserts(inserts, deletes, self.write_ids, output)
            case "deletes":
                return merge_minor_deletes(deletes, self.write_ids, output)
            case "others' deletes":
                return merge_others_deletes(deletes, self.write_ids, output)
            case "nothing":
                return write_no_events(output)


def merge_output(
    path: str, table: Table, bucket: BucketId | None = None, *, by_position: bool
) -> MergeOutput:
    """A local file of the table, for files to be merged into: those of one bucket, or of all."""
    return MergeOutput(
        path,
        table.columns,
        compression_of(table),
        by_position=by_position,
        unchanged=table.is_unchanged,
        bucket=bucket,
    )


def merge_inputs(files: Sequence[SelectedFile], storage: Storage) -> list[MergeInput]:
    """The selected files, to be merged."""
    return [MergeInput(source_of(f.path, storage), f.path, f.length, f.first) for f in files]
