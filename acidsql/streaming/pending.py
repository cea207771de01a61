"""The rows of a streaming transaction that are in no file yet."""

from __future__ import annotations

import pyarrow as pa

from acidsql.streaming.options import StreamOptions
from acidsql.streaming.single_records import SingleRecords


class PendingRows:
    """Rows in the order in which they were written, and the partitions that have rows in files.

    ``singles`` are the last rows: records that came one by one. ``size`` is the size of all others
    in bytes, ``touched`` the texts of the partitions.
    """

    def __init__(self, options: StreamOptions) -> None:
        partitioned = len(options.table.partition_columns) if options.is_dynamic else 0
        self.singles = SingleRecords(
            options.record_writer, options.columns, partitioned, options.required
        )
        self._tables: list[pa.Table] = []
        self.size = 0
        self.touched: set[str] = set()

    def gather_singles(self) -> pa.Table | None:
        """Make a table of the single records, and give it; None if there are none.

        It goes before all rows that are added later.
        """
        rows = self.singles.drain()
        if rows is not None:
            self.add(rows)
        return rows

    def add(self, rows: pa.Table) -> None:
        """Add rows. Single records that came before them must be gathered already."""
        self._tables.append(rows)
        self.size += rows.nbytes

    def rows(self) -> pa.Table | None:
        """All rows, as one table; None if there are none."""
        rows = pa.concat_tables(self._tables) if self._tables else None
        return rows if rows is not None and rows.num_rows else None

    def written(self) -> None:
        """The rows are in files."""
        self._tables, self.size = [], 0

    def clear(self) -> None:
        """Forget everything: the transaction has ended."""
        self.written()
        self.singles.clear()
        self.touched = set()
