"""A table under a snapshot as a DataFrame: native ORC scans, less the deleted rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from acidsql.engines.changes import PARTITION
from acidsql.engines.rows import CHANGED_ROW_ID, ROW_ID_COLUMNS
from acidsql.engines.selection import Selection, select_files
from acidsql.engines.spark.deletes import WHOLE, KeyFrames, without_deleted
from acidsql.engines.spark.paths import literal_paths
from acidsql.engines.spark.prune import prune_partitions
from acidsql.engines.spark.sarg import search_argument
from acidsql.engines.spark.sql import literal
from acidsql.engines.spark.timestamps import storage_type, wall_clock
from acidsql.errors import StorageError
from acidsql.model.names import quote_identifier as quote
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, PrimitiveType, spark_type
from acidsql.plans.engine import PartitionLocation, TableSnapshot
from acidsql.plans.predicate import Predicate
from acidsql.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAP_FILES_MAX = 100
"""Up to here a literal map turns a file's path into its partition, beyond it a broadcast join."""

_PATH = "__path"
_EVENTS = (
    "operation int, originalTransaction bigint, bucket int, rowId bigint,"
    " currentTransaction bigint, row struct<{row}>"
)


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What a scan should yield beside the table's columns.

    ``row_id`` adds ``row__id``; ``key`` adds PARTITION and the row id columns, for a writer.
    ``columns`` are the columns likely to be used.
    """

    row_id: bool = False
    key: bool = False
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """A table's rows, and the directories its PARTITION column counts."""

    frame: DataFrame
    selection: Selection


def scan_table(
    spark: SparkSession,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    keys: KeyFrames,
    request: ScanRequest,
) -> Scan:
    """The rows that the snapshot sees."""
    partitions = prune_partitions(snapshot.table, snapshot.partitions, request.predicates)
    selection = select_files(snapshot, partitions, txns, storage)
    if not selection.inserts:
        return Scan(_empty(spark, snapshot.table, request), selection)
    events = _events(spark, snapshot, selection, request)
    partitioned = bool(snapshot.table.partition_columns) or len(partitions) > 1
    if partitioned:
        events = _with_partition(spark, events, selection)
    events = without_deleted(
        spark, keys, events, selection, snapshot, storage, partitioned=partitioned
    )
    columns = _columns(
        spark, snapshot.table, selection.partitions, request, partitioned=partitioned
    )
    return Scan(events.selectExpr(*columns), selection)


def _events(
    spark: SparkSession, snapshot: TableSnapshot, selection: Selection, request: ScanRequest
) -> DataFrame:
    """The insert events as the files hold them, those of hidden write ids left out."""
    table = snapshot.table
    row = ", ".join(f"{quote(c.name)}: {storage_type(c.type)}" for c in table.columns)
    options = {
        **WHOLE,
        "orc.proleptic.gregorian.default": "true",  # Hive 3 writes such days and does not say so
        **search_argument(spark, table, request.predicates),
    }
    reader = spark.read.schema(_EVENTS.format(row=row)).options(**options)
    frame = reader.orc(literal_paths(f.path for f in selection.inserts))
    return frame.where(f"{_is_insert(table, request)} and {_is_visible(snapshot, selection)}")


def _is_insert(table: Table, request: ScanRequest) -> str:
    """True of every insert event, and so written that it is worth its price.

    Spark's reader can read ACID files only if the scan needs all six columns: so each is
    mentioned, with one leaf of ``row``. And Spark must not be able to push it down, because that
    would overwrite the search argument: so each mention is wrapped.
    """
    leaf = f"row.{quote(_leaf(table, request))}"
    return (
        "coalesce(operation, -1) = 0"
        " and (coalesce(originalTransaction, -1) | coalesce(bucket, -1)"
        " | coalesce(rowId, -1) | coalesce(currentTransaction, -1)) >= 0"
        f" and ({leaf} is null or coalesce(operation, -1) >= 0)"
    )


def _leaf(table: Table, request: ScanRequest) -> str:
    """A column that is read anyway, or a cheap one."""
    names = [c.name for c in table.columns]
    used = [name for name in names if name in request.columns]
    cheap = [
        c.name
        for c in table.columns
        if isinstance(c.type, PrimitiveType)
        and (c.type.name in INTEGER_BITS or c.type.name == "date")
    ]
    return next(iter([n for n in used if n in cheap] or used or cheap or names))


def _is_visible(snapshot: TableSnapshot, selection: Selection) -> str:
    """Row by row where a file may hold what the snapshot does not see."""
    if not any(f.row_filter for f in selection.inserts):
        return "true"
    hidden = ", ".join(map(str, snapshot.write_ids.exceptions))
    mark = f"coalesce(currentTransaction, -1) <= {snapshot.write_ids.high_watermark}"
    return f"{mark} and coalesce(currentTransaction, -1) not in ({hidden})" if hidden else mark


def _with_partition(spark: SparkSession, events: DataFrame, selection: Selection) -> DataFrame:
    """PARTITION added: Spark's own partition columns would break the six-column schema."""
    paths = _scanned_paths(events, selection)
    frame = events.selectExpr("*", f"_metadata.file_path as {_PATH}")
    if len(paths) <= MAP_FILES_MAX:
        pairs = ", ".join(f"{literal(path)}, {index}" for path, index in paths.items())
        return _numbered(frame, f"element_at(map({pairs}), {_PATH})")
    return _joined_with_paths(spark, frame, paths)


def _numbered(frame: DataFrame, number: str) -> DataFrame:
    """PARTITION added; a row of no known file is an error, never a row of no partition."""
    unknown = f"cast(raise_error(concat('a file of no partition: ', {_PATH})) as int)"
    numbered = frame.selectExpr("*", f"coalesce({number}, {unknown}) as {PARTITION}")
    return numbered.drop(_PATH, "__hash", "__known")


def _joined_with_paths(spark: SparkSession, frame: DataFrame, paths: dict[str, int]) -> DataFrame:
    """Joined on a hash of the path, or on the path itself should two hashes be equal."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    numbers = pa.array(list(paths.values()), pa.int32())
    known = spark.createDataFrame(pa.table({_PATH: pa.array(list(paths)), "__known": numbers}))
    hashed = known.selectExpr(f"xxhash64({_PATH}) as __hash", "__known")
    if len(set(hashed.toArrow().column(0).to_pylist())) == len(paths):
        frame = frame.selectExpr("*", f"xxhash64({_PATH}) as __hash")
        return _numbered(frame.join(F.broadcast(hashed), "__hash", "left"), "__known")
    return _numbered(frame.join(F.broadcast(known), _PATH, "left"), "__known")


def _scanned_paths(events: DataFrame, selection: Selection) -> dict[str, int]:
    """Each file's path as Spark writes it → the index of its partition."""
    known = {_plain(f.path): f.partition for f in selection.inserts}
    # The listing says file:///, the metadata column file:/ for the same file.
    uris = [re.sub(r"^(\w+):///", r"\1:/", uri) for uri in events.inputFiles()]
    found = {uri: known.get(_plain(uri)) for uri in uris}
    if None in found.values() or len(found) != len(known):
        raise StorageError(
            f"Spark lists {len(found)} files where the snapshot has {len(known)}",
            detail=", ".join(uri for uri, index in found.items() if index is None)[:500] or None,
        )
    return {uri: index for uri, index in found.items() if index is not None}


def _plain(path: str) -> str:
    """A path without scheme and URL encoding, to compare by."""
    parts = urlsplit(path)
    if parts.scheme:
        return parts.netloc + unquote(parts.path)
    return path


def _columns(
    spark: SparkSession,
    table: Table,
    partitions: Sequence[PartitionLocation],
    request: ScanRequest,
    *,
    partitioned: bool,
) -> list[str]:
    zone = wall_clock(spark, [c.type for c in table.columns])
    columns = [f"{zone(f'row.{quote(c.name)}', c.type)} as {quote(c.name)}" for c in table.columns]
    for index, column in enumerate(table.partition_columns):
        values = [p.name.values[index] if p.name else None for p in partitions]
        kind = spark_type(column.type)
        array = ", ".join(f"cast({'null' if v is None else literal(v)} as {kind})" for v in values)
        columns.append(f"element_at(array({array}), {PARTITION} + 1) as {quote(column.name)}")
    if request.row_id:
        columns.append(
            "named_struct('writeid', originalTransaction, 'bucketid', bucket, 'rowid', rowId)"
            " as row__id"
        )
    if request.key:
        columns.append(PARTITION if partitioned else f"0 as {PARTITION}")
        pairs = zip(ROW_ID_COLUMNS, CHANGED_ROW_ID, strict=True)
        columns += [f"{inside} as {outside}" for inside, outside in pairs]
    return columns


def _empty(spark: SparkSession, table: Table, request: ScanRequest) -> DataFrame:
    columns = [f"{quote(c.name)} {spark_type(c.type)}" for c in table.all_columns]
    if request.row_id:
        columns.append("row__id struct<writeid: bigint, bucketid: int, rowid: bigint>")
    if request.key:
        types = ("bigint", "int", "bigint")
        columns.append(f"{PARTITION} int")
        columns += [f"{name} {kind}" for name, kind in zip(CHANGED_ROW_ID, types, strict=True)]
    return spark.createDataFrame([], ", ".join(columns))
