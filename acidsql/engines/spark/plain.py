"""A plain or insert-only table as a DataFrame: ORC, Parquet or text, without event columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from acidsql.engines.row_selection import select_row_files
from acidsql.engines.selection import SelectedFile, Selection, opened_files
from acidsql.engines.spark.columns import has_back_quote, padded, remembering_char, seen_columns
from acidsql.engines.spark.event_files import WHOLE
from acidsql.engines.spark.partitions import scanned_paths, with_partition
from acidsql.engines.spark.paths import read_paths
from acidsql.engines.spark.read import (
    Scan,
    ScanRequest,
    empty_scan,
    partition_values,
    seen_value,
)
from acidsql.engines.spark.row_numbers import NumberedRows
from acidsql.engines.spark.timestamps import has_days, shifts_times, storage_type
from acidsql.engines.text_rows import NULL
from acidsql.model.ids import WriteId
from acidsql.model.names import quote_identifier as quote
from acidsql.model.prune import prune_partitions
from acidsql.model.row_id import CODEC_V1, RowId
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import VOID, CharType, PrimitiveType, spark_type
from acidsql.orc.statistics import may_hold_skipped_days
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIELDS = "__acidsql_fields"
_FIRST = RowId(WriteId(0), CODEC_V1, 0)
"""The row id that numbering begins with. Rows of these tables have none, and no row shows it."""


def scan_rows(
    spark: SparkSession,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    request: ScanRequest,
) -> Scan:
    """The rows that the snapshot sees; of a plain table, the rows of all files that are there."""
    table = snapshot.table
    partitions = prune_partitions(table, snapshot.partitions, request.predicates)
    selection = select_row_files(snapshot, partitions, txns, storage)
    if not selection.inserts:
        return Scan(empty_scan(spark, table, request), selection)
    if table.format is FileFormat.ORC and _is_misread(spark, table, selection, storage):
        rows, columns = _rows_by_pyarrow(spark, snapshot, selection, storage)
    else:
        rows, columns = _rows(spark, table, selection), _columns(spark, table)
        if table.partition_columns:
            rows = with_partition(spark, rows, scanned_paths(rows, selection.inserts))
    columns += partition_values(table, partitions)
    return Scan(remembering_char(rows.selectExpr(*columns), table.all_columns), selection)


def _is_misread(spark: SparkSession, table: Table, selection: Selection, storage: Storage) -> bool:
    """Whether Spark's ORC reader would misread a value."""
    kinds = [c.type for c in table.columns]
    if shifts_times(spark, kinds) or has_back_quote(table.columns):
        return True
    if not has_days(kinds):
        return False
    files = _opened(selection, storage)
    return any(f.tail is not None and may_hold_skipped_days(f.tail, f.path) for f in files)


def _opened(selection: Selection, storage: Storage) -> tuple[SelectedFile, ...]:
    """The files with their tails, as files that hold rows and no events."""
    plain = [replace(f, first=_FIRST) for f in selection.inserts]
    return opened_files(plain, storage, tails=True)


def _rows_by_pyarrow(
    spark: SparkSession, snapshot: TableSnapshot, selection: Selection, storage: Storage
) -> tuple[DataFrame, list[str]]:
    """The rows of ORC files read with pyarrow, and the table's columns in them."""
    table = snapshot.table
    files = _opened(selection, storage)
    events = NumberedRows(table.columns, snapshot.write_ids, storage, by_position=False).scan(
        spark, files
    )
    pairs = zip(events.values, table.columns, strict=True)
    return events.frame, [f"{seen_value(value, c)} as {quote(c.name)}" for value, c in pairs]


def _rows(spark: SparkSession, table: Table, selection: Selection) -> DataFrame:
    """The rows as the files hold them, before types are settled."""
    paths = [f.path for f in selection.inserts]
    schema = ", ".join(
        f"{quote(c.name)} {storage_type(c.type)}" for c in table.columns if c.type != VOID
    )
    reader = spark.read.options(**WHOLE)
    match table.format:
        case FileFormat.ORC:
            calendar = {"orc.proleptic.gregorian.default": "true"}
            return read_paths(spark, reader.schema(schema).options(**calendar).orc, paths)
        case FileFormat.PARQUET:
            typed = reader.schema(schema)
            return read_paths(spark, lambda found: typed.parquet(*found), paths)
        case FileFormat.TEXT:
            from pyspark.sql import functions as F  # noqa: N812, PLC0415

            # Spark's CSV reader would not do: it knows quotes and escapes, and drops empty lines.
            delimiter = f"\\x{ord(table.field_delimiter):02x}"
            fields = F.split("value", delimiter, -1).alias(_FIELDS)
            return read_paths(spark, reader.text, paths).select("*", fields)
        case _:
            assert_never(table.format)


def _columns(spark: SparkSession, table: Table) -> list[str]:
    if table.format is FileFormat.TEXT:
        return [
            f"{_parsed(index, column)} as {quote(column.name)}"
            for index, column in enumerate(table.columns)
        ]
    # Hive writes Parquet's INT96 timestamps in UTC, whatever the JVM's zone is.
    seen = seen_columns(spark, [c.type for c in table.columns])
    return [f"{seen(_cut(c), c.type)} as {quote(c.name)}" for c in table.columns]


def _cut(column: Column) -> str:
    """The column, cut to its type's length: files of others, or of LOAD DATA, may hold more."""
    if column.type == VOID:
        return "cast(null as void)"
    name = quote(column.name)
    return f"left({name}, {column.type.length})" if isinstance(column.type, CharType) else name


def _parsed(index: int, column: Column) -> str:
    r"""A field of a line, as LazySimpleSerDe reads it: null if it is missing or not of the type."""
    sign = "".join(f"{ord(c):02X}" for c in NULL)
    text = f"nullif(get({_FIELDS}, {index}), cast(X'{sign}' as string))"
    match column.type:
        case PrimitiveType("string"):
            return text
        case CharType(_, length):
            return padded(f"left({text}, {length})", column.type)
        case PrimitiveType("void"):
            return "cast(null as void)"
        case PrimitiveType("binary"):
            return f"coalesce(try_to_binary({text}, 'base64'), cast({text} as binary))"
        case kind:
            return f"try_cast({text} as {spark_type(kind)})"
