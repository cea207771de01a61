"""A plain or insert-only table as a DataFrame, without event columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from acidsql.engines.block_codecs import require_blocks
from acidsql.engines.parquet_times import OURS, ParquetTimes, times_of
from acidsql.engines.row_selection import select_row_files
from acidsql.engines.selection import SelectedFile, opened_files
from acidsql.engines.spark.columns import (
    has_back_quote,
    remembering_types,
    seen_columns,
    unpushed,
)
from acidsql.engines.spark.conditions import conditions
from acidsql.engines.spark.event_files import WHOLE
from acidsql.engines.spark.events import Events, EventScan, all_rows
from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.kept import Kept
from acidsql.engines.spark.places import FILE, with_places
from acidsql.engines.spark.read import (
    ROW_ID_TYPE,
    Scan,
    ScanRequest,
    empty_scan,
    partition_values,
    row_places,
    seen_value,
)
from acidsql.engines.spark.relation import read_files
from acidsql.engines.spark.row_numbers import NumberedRows
from acidsql.engines.spark.sarg import widened
from acidsql.engines.spark.scans import Scans
from acidsql.engines.spark.select import select
from acidsql.engines.spark.text_fields import field_value
from acidsql.engines.spark.timestamps import has_days, shifts_times, storage_type
from acidsql.engines.spark.whole_files import WholeFiles
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.ids import NO_WRITE_ID, WriteId
from acidsql.model.names import quote_identifier as quote
from acidsql.model.predicate import Predicate
from acidsql.model.prune import prune_partitions
from acidsql.model.row_id import CODEC_V1, RowId
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import FileFormat, Table, TableKind
from acidsql.model.types import VOID, PrimitiveType
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS, in_threads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIELDS = "__acidsql_fields"
_FIRST = RowId(WriteId(0), CODEC_V1, 0)
"""The row id that numbering begins with. Rows of these tables have none, and no row shows it."""
_NO_WRITES = ValidWriteIdList("null", NO_WRITE_ID)

_PARQUET = {**WHOLE, "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Under these options old days are those that we write, whatever the session says of calendars.
Those of files that say otherwise are converted (`acidsql.engines.parquet_times`)."""


def scan_rows(
    spark: SparkSession,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    kept: Kept,
    request: ScanRequest,
    *,
    by_position: bool = True,
) -> Scan:
    """The rows that the snapshot sees; of a plain table, the rows of all files that are there.

    ``by_position`` is as in `scan_table`.
    """
    table = snapshot.table
    partitions = prune_partitions(table, snapshot.partitions, request.predicates)
    selection = select_row_files(snapshot, partitions, txns, storage)
    files = selection.inserts
    frames = [*_frames(spark, snapshot, files, storage, kept, request, by_position)]
    if not frames:
        return Scan(empty_scan(spark, table, request), selection)
    rows = all_rows(frames)
    columns = [quote(c.name) for c in table.columns] + partition_values(table, partitions)
    if request.row_id:
        columns.append(f"cast(null as {ROW_ID_TYPE}) as {HiddenColumn.ROW_ID.value}")
    if request.file_name:
        columns.append(f"{FILE} as {HiddenColumn.FILE_NAME.value}")
    if request.is_deleted:
        columns.append(f"false as {HiddenColumn.IS_DELETED.value}")
    return Scan(remembering_types(select(rows, columns), table.all_columns), selection)


def rows_of_files(
    spark: SparkSession, table: Table, files: Sequence[SelectedFile], storage: Storage
) -> DataFrame:
    """The rows of files as a frame of the columns of the table, which has no partition columns.

    Spark reads them, but for values that it would misread. StorageError for a file whose name Spark
    passes over (HadoopFSUtils shouldFilterOutPathName).
    """
    reader = NumberedRows(table.columns, _NO_WRITES, storage, by_position=False)
    snapshot = TableSnapshot(table, (), _NO_WRITES)
    frames = [*_file_frames(spark, snapshot, files, reader)]
    return all_rows(frames) if frames else empty_scan(spark, table, ScanRequest())


def _frames(
    spark: SparkSession,
    snapshot: TableSnapshot,
    files: Sequence[SelectedFile],
    storage: Storage,
    kept: Kept,
    request: ScanRequest,
    by_position: bool,
) -> Iterator[DataFrame]:
    """The rows of the files as frames of their places and the table's columns.

    There is no frame if there are no files, and there may be none if no file has rows.
    """
    if not files:
        return
    table = snapshot.table
    reader = NumberedRows(
        table.columns,
        snapshot.write_ids,
        storage,
        by_position=_is_by_position(table, by_position),
        names_files=request.file_name,
    )
    places = row_places(request, partitioned=bool(table.partition_columns))
    contents = kept.contents if request.small_files else None
    yield from _file_frames(spark, snapshot, files, reader, request.predicates, places, contents)


def _is_by_position(table: Table, default: bool) -> bool:
    """Whether columns of the files may have to be matched by position.

    Files that agree with the columns of their ACID table need not be looked at.
    """
    if table.format is not FileFormat.ORC or not table.matches_by_position(default):
        return False
    return table.kind is TableKind.PLAIN or not table.is_unchanged


def _file_frames(
    spark: SparkSession,
    snapshot: TableSnapshot,
    files: Sequence[SelectedFile],
    reader: NumberedRows,
    predicates: tuple[Predicate, ...] = (),
    places: tuple[str, ...] = (),
    contents: FileContents | None = None,
) -> Iterator[DataFrame]:
    """The rows of the files as frames of these places and the table's columns.

    Spark reads them, but for values that it would misread. Without ``contents``, the driver reads
    no small files.
    """
    table, storage = snapshot.table, reader.storage
    whole = WholeFiles(reader, table.format)
    if table.format is FileFormat.AVRO:
        yield _of_columns(whole.scan(spark, files), table, places)
        return
    if table.format is FileFormat.ORC:
        kinds = [c.type for c in table.columns]
        convert = seen_columns(spark, kinds, cut=True, pushed=False)
        scan = EventScan(spark, snapshot, predicates, (), convert, places, row_ids=False)
        for events in _orc_scans(scan, files, reader, contents):
            yield _of_columns(events, table, places)
        return
    for times, some in _by_times(table, files, storage).items():
        if not times.is_read_by_spark:
            yield _of_columns(whole.scan(spark, some), table, places)
            continue
        rows = _rows(spark, table, some, storage, predicates)
        placed = with_places(spark, rows, places, rows, some)
        yield select(placed, [*places, *_columns(spark, table, times)])


def _orc_scans(
    scan: EventScan,
    files: Sequence[SelectedFile],
    reader: NumberedRows,
    contents: FileContents | None,
) -> Iterator[Events]:
    """The rows of ORC files, which hold no events."""
    columns = scan.snapshot.table.columns
    kinds = [c.type for c in columns]
    scans = Scans(scan, reader, misread=shifts_times(scan.spark, kinds) or has_back_quote(columns))
    small, others = scans.of_small([replace(f, first=_FIRST) for f in files], contents)
    tails = scans.misread or has_days(kinds) or reader.by_position
    yield from small
    yield from scans.of_others(
        opened_files(others, reader.storage, tails=True) if tails else others
    )


def _by_times(
    table: Table, files: Sequence[SelectedFile], storage: Storage
) -> Mapping[ParquetTimes, Sequence[SelectedFile]]:
    """The files by how they tell days and timestamps. Only footers of Parquet may say so."""
    if table.format is not FileFormat.PARQUET or not has_days([c.type for c in table.columns]):
        return {OURS: files}
    filled = [file for file in files if file.size]  # Hive leaves empty ones, and Spark skips them
    every = in_threads(lambda file: times_of(file.path, storage), filled, STORAGE_THREADS)
    found: dict[ParquetTimes, list[SelectedFile]] = defaultdict(list)
    for times, file in zip(every, filled, strict=True):
        found[times].append(file)
    return found or {OURS: files}


def _of_columns(rows: Events, table: Table, places: Sequence[str]) -> DataFrame:
    """Rows as a frame of the table's columns."""
    pairs = zip(rows.values, table.columns, strict=True)
    return rows.select([*places, *(f"{seen_value(v, c)} as {quote(c.name)}" for v, c in pairs)])


def _rows(
    spark: SparkSession,
    table: Table,
    files: Sequence[SelectedFile],
    storage: Storage,
    predicates: Sequence[Predicate] = (),
) -> DataFrame:
    """The rows as the files hold them, before types are settled."""
    paths = [f.path for f in files]
    schema = ", ".join(
        f"{quote(c.name)} {storage_type(c.type)}" for c in table.columns if c.type != VOID
    )
    match table.format:
        case FileFormat.PARQUET:
            rows = read_files(spark, "parquet", schema, _PARQUET, paths)
            return _near_days(rows, table, predicates)
        case FileFormat.ORC | FileFormat.AVRO:
            raise AssertionError("these files are read elsewhere")
        case FileFormat.TEXT:
            from pyspark.sql import functions as F  # noqa: N812, PLC0415

            require_blocks(((f.path, f.size) for f in files), storage)
            # Spark's CSV reader would not do: it knows quotes and escapes, and drops empty lines.
            delimiter = f"\\x{ord(table.field_delimiter):02x}"
            fields = F.split("value", delimiter, -1).alias(_FIELDS)
            return read_files(spark, "text", "value string", WHOLE, paths).select("*", fields)
        case _:
            assert_never(table.format)


def _near_days(rows: DataFrame, table: Table, predicates: Sequence[Predicate]) -> DataFrame:
    """The rows whose dates are near those of the predicates: Spark skips the other row groups.

    It is not to push conditions on the days themselves (`unpushed`).
    """
    days = {c.name: quote(c.name) for c in table.columns if c.type == PrimitiveType("date")}
    near = [wide for p in predicates if p.column in days and (wide := widened(p)) is not None]
    wanted = " and ".join(conditions(near, table.columns, days))
    return rows.where(wanted) if wanted else rows


def _columns(spark: SparkSession, table: Table, times: ParquetTimes) -> list[str]:
    if table.format is FileFormat.TEXT:
        return [
            f"{field_value(f'get({_FIELDS}, {index})', column.type)} as {quote(column.name)}"
            for index, column in enumerate(table.columns)
        ]
    # Files of others, or of LOAD DATA, may hold longer texts.
    seen = seen_columns(spark, [c.type for c in table.columns], cut=True, times=times)
    pairs = [(seen(quote(c.name), c.type), c) for c in table.columns]
    pairs = [(unpushed(value, c.type, texts=False), c) for value, c in pairs]
    return [f"{seen_value(value, c)} as {quote(c.name)}" for value, c in pairs]
