"""Parquet files as Hive reads them, written with pyarrow."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from acidsql.engines.parquet_times import WRITER


class ParquetSink:
    """Writes each table of rows as one row group, with timestamps as INT96, as Hive does.

    The file says in which calendar its days are, and in which time zone its timestamps were written
    (`acidsql.engines.parquet_times`).
    A column that is all null in a row group gets no dictionary there: Hive 3's vectorised reader
    would look the nulls up in it (VectorizedPrimitiveColumnReader.decodeDictionaryIds). pyarrow
    chooses dictionaries once for a file, so for a later row group of that kind the file is written
    again. Columns inside of lists, maps and structs never get a dictionary.
    """

    def __init__(self, path: str, schema: pa.Schema, compression: str) -> None:
        self._path = path
        self._schema = schema.with_metadata(WRITER)
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
        """Write the rows as a row group.

        No rows make no row group, since Hive 3 reads none that is empty.
        """
        if not rows.num_rows:
            return
        empty = {n for n in rows.column_names if rows.column(n).null_count == rows.num_rows}
        if empty.intersection(self._with_dictionary):
            self._with_dictionary = [n for n in self._with_dictionary if n not in empty]
            self._rewrite()
        self._open.write_table(rows, row_group_size=rows.num_rows)

    def _rewrite(self) -> None:
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
