"""Parquet files as Hive reads them, written with pyarrow."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class ParquetSink:
    """Writes tables of rows, each a row group, as Hive does: timestamps are INT96.

    A row group in which a column is nothing but null has no dictionary for it: Hive 3's vectorised
    reader looks the nulls up there (VectorizedPrimitiveColumnReader.decodeDictionaryIds). pyarrow
    settles on dictionaries once per file, so a later such row group has the file written anew. What
    is inside of lists, maps and structs never has a dictionary.
    """

    def __init__(self, path: str, schema: pa.Schema, compression: str) -> None:
        self._path = path
        self._schema = schema
        self._compression: Any = compression
        self._with_dictionary = [f.name for f in schema if not pa.types.is_nested(f.type)]
        self._open = self._create()

    def _create(self) -> pq.ParquetWriter:
        dictionaries: Any = self._with_dictionary
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression=self._compression,
            use_dictionary=dictionaries or False,
            use_deprecated_int96_timestamps=True,
        )

    def write(self, rows: pa.Table) -> None:
        """One row group more, or none: Hive 3 reads no row group without rows."""
        if not rows.num_rows:
            return
        empty = {n for n in rows.column_names if rows.column(n).null_count == rows.num_rows}
        if empty.intersection(self._with_dictionary):
            self._with_dictionary = [n for n in self._with_dictionary if n not in empty]
            self._write_anew()
        self._open.write_table(rows, row_group_size=rows.num_rows)

    def _write_anew(self) -> None:
        self._open.close()
        before = f"{self._path}.before"
        os.rename(self._path, before)
        try:
            self._open = self._create()
            with pq.ParquetFile(before, coerce_int96_timestamp_unit="us") as groups:
                for number in range(groups.num_row_groups):
                    self._open.write_table(groups.read_row_group(number).cast(self._schema))
        finally:
            os.unlink(before)

    def close(self) -> None:
        """Finish the file."""
        self._open.close()
