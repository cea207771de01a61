"""The scans of a table's ORC files: small files by the driver, others by Spark or by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.events import Events, EventScan
from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.groups import FileGroup, group_files, own_schema
from acidsql.engines.spark.row_numbers import NumberedRows
from acidsql.engines.spark.small_files import read_small_files
from acidsql.model.table import Table, TableKind
from acidsql.orc.statistics import may_hold_skipped_days


@dataclass(frozen=True, slots=True)
class Scans:
    """Which reader reads which file of a table.

    ``misread`` says that Spark's reader would change values of any file, and ``by_case`` that it
    would not find event columns with names in small letters, by the session's own rules.
    """

    scan: EventScan
    reader: NumberedRows
    misread: bool
    by_case: bool = False

    def of_small(
        self, files: Sequence[SelectedFile], contents: FileContents | None
    ) -> tuple[list[Events], list[SelectedFile]]:
        """The rows of small files, and the other files. Without ``contents``, no file is small."""
        small = None
        if contents is not None:
            small = read_small_files(files, self._table, self.reader, contents)
        if small is None:
            return [], list(files)
        return [small.scan(self.scan.spark)], [f for f in files if f.path not in small.paths]

    def of_others(self, files: Sequence[SelectedFile]) -> list[Events]:
        """The rows of files that are not small. Spark's reader reads them where it can."""
        groups, others = ([], list(files)) if self.misread else self._groups(files)
        scans = [self.scan.read(group) for group in groups]
        return [*scans, self.reader.scan(self.scan.spark, others)] if others else scans

    def _groups(self, files: Sequence[SelectedFile]) -> tuple[list[FileGroup], list[SelectedFile]]:
        """The groups that Spark's reader reads, and the files that it cannot read."""
        misread: list[SelectedFile] = []
        found: list[SelectedFile] = []
        for file in files:
            (misread if self._is_misread(file) else found).append(file)
        if not found:
            return [], misread
        if self._have_own_schema(found):
            schema = own_schema(self._table, plain=self._table.kind is not TableKind.FULL_ACID)
            return [FileGroup(schema, tuple(found))], misread
        groups, rest = group_files(
            self._table, found, by_position=self.reader.by_position, row_ids=self.scan.row_ids
        )
        return groups, [*rest, *misread]

    def _is_misread(self, file: SelectedFile) -> bool:
        """Whether Spark's reader would change values of the file, or find no row ids in it."""
        if file.tail is None:
            return False
        return (self.by_case and file.tail.by_query) or may_hold_skipped_days(file.tail, file.path)

    def _have_own_schema(self, files: Sequence[SelectedFile]) -> bool:
        """Whether Spark finds the table's columns in the files by their names."""
        if self._table.kind is not TableKind.FULL_ACID:
            return not self.reader.by_position
        return self._table.is_unchanged and all(f.first is None and f.length is None for f in files)

    @property
    def _table(self) -> Table:
        return self.scan.snapshot.table
