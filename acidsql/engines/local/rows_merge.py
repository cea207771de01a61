"""The merge of one bucket's files of an insert-only table. These files hold no events."""

from __future__ import annotations

import os
import shutil
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acidsql.engines.row_files import RowFormat, RowWriter, read_rows
from acidsql.engines.selection import source_of
from acidsql.layout.dir_names import OriginalFile
from acidsql.model.ids import BucketId
from acidsql.model.table import FileFormat
from acidsql.ports.storage import Storage, local_draft


@dataclass(frozen=True, slots=True)
class RowsMerge:
    """One bucket to be merged: the rows of the files, in the order of the files.

    ``directory`` is where the new file goes. ``paths`` are the paths of the old files, and
    ``bytes`` is the size of all of them.
    """

    directory: str
    bucket: BucketId
    format: RowFormat
    paths: tuple[str, ...]
    bytes: int

    @property
    def name(self) -> str:
        """The name that the file must have in the end."""
        return OriginalFile(self.bucket).name

    def for_task(self) -> RowsMerge:
        """This merge, which is small."""
        return self

    def run(self, storage: Storage, name: str) -> bool:
        """Write the file under this name, durably. A bucket without files gets an empty one.

        StorageError or CorruptFileError if files cannot be read or written.
        """
        path = f"{self.directory}/{name}"
        local = local_draft(path, storage)
        if self.format.format is FileFormat.TEXT:
            _join_lines(self.paths, local, storage)
        else:
            self._copy_rows(local, storage)
        storage.put_file(local, path)
        return True

    def _copy_rows(self, path: str, storage: Storage) -> None:
        writer = RowWriter(path, self.format)
        try:
            for source in self.paths:
                for batch in read_rows(source_of(source, storage), source, self.format):
                    writer.write_rows(batch)
        except BaseException:
            writer.discard()
            raise
        writer.close()


def _join_lines(paths: Sequence[str], output: str, storage: Storage) -> None:
    """Write the lines of the files one after another; a last line without a line feed gets one.

    Behind a carriage return, too: the next file may begin with a line feed, which ends a line of
    its own. Readers pass over a byte order mark only where a file begins (Hadoop LineRecordReader).
    """
    with Path(output).open("wb") as target:
        for path in paths:
            with storage.open_input(path) as source:
                mark = len(BOM_UTF8) if source.read(len(BOM_UTF8)) == BOM_UTF8 else 0
                if source.seek(0, os.SEEK_END) == mark:
                    continue  # no line
                source.seek(mark if target.tell() else 0)
                shutil.copyfileobj(source, target, 1 << 20)
                source.seek(-1, os.SEEK_END)
                if source.read(1) != b"\n":
                    target.write(b"\n")
