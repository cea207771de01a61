"""Files of plain rows: ORC, Parquet, Avro or text, without event columns.

Plain and insert-only tables hold such files, as Hive reads and writes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from typing_extensions import assert_never

from acidsql.engines.avro_reader import read_avro
from acidsql.engines.avro_sink import AvroSink
from acidsql.engines.parquet_sink import ParquetSink
from acidsql.engines.parquet_times import ParquetTimes, is_hybrid_of_spark, refuse_old_times
from acidsql.engines.text_rows import encode_lines
from acidsql.errors import ConfigError, StorageError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import FIELD_DELIMITER, Column, FileFormat, Table
from acidsql.model.types import (
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    MapType,
    StructType,
)
from acidsql.orc.evolution import current_rows
from acidsql.orc.footer import NANOSECONDS, FileTail
from acidsql.orc.nested import with_children
from acidsql.orc.nulls import settled
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import arrow_type, file_schema, row_schema
from acidsql.orc.timestamps import MendedSink
from acidsql.orc.types import file_columns
from acidsql.orc.values import fitting, storable
from acidsql.orc.writer import orc_codec

_PARQUET_CODECS = ("none", "snappy", "gzip", "zstd", "lz4")
_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How a table's files hold rows; cheap to send to a task.

    ``by_position`` says how columns of ORC files are matched (`Table.matches_by_position`).
    """

    columns: tuple[Column, ...]
    format: FileFormat
    compression: str
    field_delimiter: str = FIELD_DELIMITER
    by_position: bool = False

    @classmethod
    def of(cls, table: Table, orc_compression: str, *, by_position: bool = False) -> RowFormat:
        """The format of a table's files. ConfigError for an unknown ``parquet.compression``."""
        compression = orc_compression
        if table.format is FileFormat.PARQUET:
            parameters: Mapping[str, str] = table.parameters
            given = parameters.get("parquet.compression", "snappy").lower()
            compression = "none" if given == "uncompressed" else given
            if compression not in _PARQUET_CODECS:
                raise ConfigError(
                    f'parquet.compression "{given}" is not supported',
                    hint=f"Use one of {', '.join(_PARQUET_CODECS)}.",
                )
        return cls(table.columns, table.format, compression, table.field_delimiter, by_position)


class RowWriter:
    """Writes one file of rows to a local path.

    With ``stripe_bytes`` it is a part of an ACID file: of ORC, with stripes of this size, and with
    what `orc.joined` must know of it.

    InvalidValueError for values that the columns, or text, cannot hold; StorageError if the file
    cannot be written; ConfigError for a codec of ORC that pyarrow does not have.
    """

    def __init__(self, path: str, format: RowFormat, *, stripe_bytes: int | None = None) -> None:
        self.path = path
        self._stripe_bytes = stripe_bytes
        self.rows = 0
        self._format = format
        self._schema = row_schema(format.columns)
        with self._clear_errors("written"):
            self._open: Any = self._create()
            if format.format is FileFormat.PARQUET:
                self._open.write(self._schema.empty_table())

    def _create(self) -> Any:
        match self._format.format:
            case FileFormat.ORC:
                options: dict[str, Any] = {"compression": orc_codec(self._format.compression)}
                if self._stripe_bytes is not None:
                    options["stripe_size"] = self._stripe_bytes
                return MendedSink(self.path, file_schema(self._format.columns), **options)
            case FileFormat.PARQUET:
                return ParquetSink(self.path, self._schema, self._format.compression)
            case FileFormat.AVRO:
                return AvroSink(self.path, self._format.columns)
            case FileFormat.TEXT:
                return open(self.path, "wb")
            case _:
                assert_never(self._format.format)

    def write_rows(self, rows: pa.RecordBatch) -> None:
        """Write rows whose columns are found by name."""
        fit = storable if self._format.format is FileFormat.ORC else fitting
        arrays = [fit(rows.column(c.name), c) for c in self._format.columns]
        with self._clear_errors("written"):
            self._write(arrays)
        self.rows += rows.num_rows

    def _write(self, arrays: Sequence[Array]) -> None:
        match self._format.format:
            case FileFormat.ORC | FileFormat.AVRO:
                self._open.write(arrays)
            case FileFormat.PARQUET:
                self._open.write(self._table(arrays))
            case FileFormat.TEXT:
                columns, delimiter = self._format.columns, self._format.field_delimiter
                self._open.write(encode_lines(self._table(arrays), columns, delimiter))
            case _:
                assert_never(self._format.format)

    def _table(self, arrays: Sequence[Array]) -> pa.Table:
        return pa.Table.from_arrays(list(arrays), schema=self._schema)

    def close(self) -> RowWriter:
        """Finish the file; removes it when that fails."""
        with self._clear_errors("finished"):
            if self._format.format is FileFormat.ORC:
                self._open.finish(self._metadata)
            else:
                self._open.close()
        return self

    def _metadata(self, tail: FileTail) -> Mapping[str, str]:
        is_fine_part = self._stripe_bytes is not None and self._open.has_nanoseconds
        return {NANOSECONDS: "true"} if is_fine_part else {}

    def discard(self) -> None:
        """Stop writing and remove the file."""
        with suppress(OSError, pa.ArrowException, AttributeError):
            self._open.close()
        with suppress(OSError):
            os.unlink(self.path)

    def _clear_errors(self, done: str) -> _ClearErrors:
        return _ClearErrors(self, done)


class _ClearErrors:
    def __init__(self, writer: RowWriter, done: str) -> None:
        self._writer, self._done = writer, done

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            return
        self._writer.discard()
        if isinstance(error, (OSError, pa.ArrowException)):
            fact = f'file "{self._writer.path}" cannot be {self._done}'
            raise StorageError(fact, detail=str(error)) from error


def read_rows(source: BinaryIO | str, path: str, format: RowFormat) -> Iterator[pa.RecordBatch]:
    """The rows of an ORC, Parquet or Avro file in the table's columns.

    Columns are found by name, those of ORC as the format says. A column that the file lacks is
    null. An ORC file with no other names than ``_col0`` and so on has its columns by position, as
    older Hives wrote it. StorageError for an ORC column whose values cannot become the table's
    type.
    """
    match format.format:
        case FileFormat.ORC:
            with open_orc(source, path, exact=True) as orc:
                found = file_columns(orc.tail, path)
                for stripe in orc.stripes():
                    rows = pa.StructArray.from_arrays(stripe.columns, fields=list(stripe.schema))
                    now = current_rows(
                        rows, found, format.columns, path, by_position=format.by_position
                    )
                    names = [c.name for c in format.columns]
                    yield pa.RecordBatch.from_arrays(now.flatten(), names=names)
        case FileFormat.PARQUET:
            with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet:
                is_hybrid = is_hybrid_of_spark(parquet.metadata)
                times = ParquetTimes.of(parquet.metadata, path)
                for batch in parquet.iter_batches(_BATCH_ROWS):
                    named = _named(batch, format.columns)
                    if is_hybrid:
                        refuse_old_times(named, path)
                    shown = [times.shown(column) for column in named.columns]
                    yield pa.RecordBatch.from_arrays(shown, names=named.schema.names)
        case FileFormat.AVRO:
            yield from read_avro(source, path, format.columns)
        case FileFormat.TEXT:
            raise AssertionError("lines of text are copied, not read")
        case _:
            assert_never(format.format)


def _named(batch: pa.RecordBatch, columns: Sequence[Column]) -> pa.RecordBatch:
    found = {name.lower(): index for index, name in enumerate(batch.schema.names)}
    schema = row_schema(columns)
    arrays = [
        _seen(settled(_stored(batch.column(found[c.name]))), c.type)
        if c.name in found and c.type != VOID
        else pa.nulls(batch.num_rows, schema.field(c.name).type)
        for c in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[c.name for c in columns])


def _stored(array: Array) -> Array:
    """The values in the types of Parquet, if the file's writer has noted other forms of Arrow's.

    pandas notes dictionaries for its categories, and polars long offsets and views.
    """
    kind = _stored_type(array.type)
    return array if kind == array.type else array.cast(kind)


def _stored_type(kind: DataType) -> DataType:
    if pa.types.is_dictionary(kind):
        return _stored_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([_stored_field(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_stored_field(kind.key_field), _stored_field(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_stored_field(kind.value_field))
    return kind


def _stored_field(field: Any) -> Any:
    return field.with_type(_stored_type(field.type))


def _seen(array: Array, kind: ColumnType) -> Array:
    """A `settled` array as readers see it in a column of the type; types of numbers stay.

    Fields of structs are found in upper and lower case, and one that is not there is null. Texts
    are cut to the length of a char or varchar, as Hive cuts longer ones in files.
    """
    match kind:
        case CharType():
            cut: Array = pc.utf8_slice_codeunits(array, 0, kind.length)
            return cut
        case StructType(fields) if pa.types.is_struct(array.type):
            return _seen_struct(array, fields)
        case MapType(key, value) if pa.types.is_map(array.type):
            return with_children(array, [_seen(array.keys, key), _seen(array.items, value)])
        case ArrayType(element) if pa.types.is_list(array.type):
            return with_children(array, [_seen(array.values, element)])
    return array


def _seen_struct(array: Array, fields: Sequence[tuple[str, ColumnType]]) -> Array:
    there = dict(zip((f.name.lower() for f in array.type), array.flatten(), strict=True))
    parts = [
        _seen(there[name.lower()], kind)
        if name.lower() in there
        else pa.nulls(len(array), arrow_type(kind))
        for name, kind in fields
    ]
    named = [pa.field(name, part.type) for (name, _), part in zip(fields, parts, strict=True)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(parts, fields=named, mask=mask)
