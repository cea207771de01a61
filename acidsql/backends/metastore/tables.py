"""Converts tables and partitions between the metastore's structs and our own values."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.backends.metastore.capabilities import write_refusal
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.locations import location_of, place_of
from acidsql.backends.metastore.sense import NonsenseError, given
from acidsql.errors import UnsupportedStatementError
from acidsql.layout.bucketing import is_bucketable
from acidsql.model.avro import avro_obstacle
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.hive_types import hive_type, type_of_hive
from acidsql.model.metastore_parameters import KEPT_BY_METASTORE, STATISTICS
from acidsql.model.names import DEFAULT_PARTITION_VALUE, PartitionName, TableName
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.stored_as import (
    AVRO_SCHEMA,
    READ_BY,
    StoredAs,
    serde_properties,
    stored_as,
    unread_property,
)
from acidsql.model.table import (
    CREATED_COLUMNS,
    MATERIALIZED_QUERY,
    MATERIALIZED_TEXT,
    NOTED_CONSTRAINTS,
    REMADE_BY,
    Bucketing,
    Column,
    FileFormat,
    Table,
    TableKind,
)
from acidsql.model.types import (
    ArrayType,
    MapType,
    StructType,
)
from acidsql.ports.catalog import Partition

Struct = Any
"""A struct of the IDL: thriftpy2 makes its class when it loads the IDL."""

TRANSLATED = "TRANSLATED_TO_EXTERNAL"
"""The parameter that marks plain tables which the metastore has made external."""

MATERIALIZED_VIEW = "MATERIALIZED_VIEW"
"""The type of a Table that is a materialized view (Hive TableType)."""


# -- tables -------------------------------------------------------------------------------------


def table_from(struct: Struct) -> Table:
    """Our Table of the metastore's struct.

    UnsupportedStatementError, with the reason, for a table that we cannot use.
    """
    name = name_of(struct)
    parameters = {k: v for k, v in (struct.parameters or {}).items() if v is not None}
    _refuse_unusable(struct, name, parameters)
    stored = _stored_as(struct.sd, f"table {name}")
    kept = (*KEPT_BY_METASTORE, CREATED_COLUMNS, NOTED_CONSTRAINTS)
    noted = {k: v for k, v in parameters.items() if k not in kept}
    noted, comment = split_comment(noted)
    if struct.tableType == MATERIALIZED_VIEW:
        noted[MATERIALIZED_QUERY] = struct.viewExpandedText or ""
        noted[MATERIALIZED_TEXT] = struct.viewOriginalText or ""
    if struct.tableType == "EXTERNAL_TABLE" and not _is_true(noted, "external"):
        noted["EXTERNAL"] = "TRUE"
    columns = columns_from(given(struct.sd.cols, f"the columns of {name}"), name)
    obstacle = _write_obstacle(struct, parameters)
    table = Table(
        name=name,
        columns=columns,
        location=place_of(struct.sd.location),
        partition_columns=columns_from(struct.partitionKeys or (), name),
        bucketing=_bucketing(struct.sd, parameters),
        parameters=noted,
        comment=comment,
        owner=struct.owner or "",
        created_s=struct.createTime or 0,
        format=stored.format,
        field_delimiter=stored.field_delimiter,
        read_only=write_refusal(struct, str(name)) or obstacle,
    )
    _refuse_mismatch(table)
    return table


def name_of(struct: Struct) -> TableName:
    """The name of a Table."""
    database = given(struct.dbName, "the database of a table")
    return TableName.of(database, given(struct.tableName, "the name of a table"))


def require_whole(struct: Struct) -> None:
    """NonsenseError for a Table without the parts that are needed to write it back."""
    descriptor = given(struct.sd, "how a table is stored")
    for field in given(descriptor.cols, "the columns of a table"):
        given(field.name, "the name of a column")
        given(field.type, "the type of a column")


def _refuse_unusable(struct: Struct, name: TableName, parameters: Mapping[str, str]) -> None:
    """Refuse entries of a metastore that are no tables with files of Hive's formats."""
    reason = None
    handler = parameters.get("storage_handler")
    buckets = parameters.get("spark.sql.sources.schema.numBuckets", "0")
    if reason is None and handler:
        reason = f"kept elsewhere: its storage handler is {handler}"
    if reason is None and parameters.get("table_type", "").upper() == "ICEBERG":
        reason = "an Iceberg table"
    if reason is None and _is_sparks_own(parameters) and buckets != "0":
        reason = f"bucketed in Spark's own way ({buckets} buckets), which Hive does not know"
    if reason is None and (struct.sd is None or not struct.sd.location):
        reason = "without a directory"
    if reason is None and struct.sd.storedAsSubDirectories:
        reason = "a skewed table with a subdirectory for each value"
    if reason is not None:
        raise UnsupportedStatementError(f"{name} is {reason}: acidsql cannot use it")


def _is_sparks_own(parameters: Mapping[str, str]) -> bool:
    return parameters.get("spark.sql.sources.provider", "hive").lower() != "hive"


def _refuse_mismatch(table: Table) -> None:
    if table.kind is TableKind.FULL_ACID and table.format is not FileFormat.ORC:
        raise UnsupportedStatementError(f"{table.name} is full-ACID, but not stored as ORC")
    nested = (ArrayType, MapType, StructType)
    for column in table.columns:
        if table.format is FileFormat.TEXT and isinstance(column.type, nested):
            raise UnsupportedStatementError(
                f'column "{column.name}" of table {table.name}: {column.type} is not supported in'
                " text files"
            )
    if table.format is FileFormat.AVRO:
        _refuse_avro(table)
    unread = unread_property(table)
    if unread is not None:
        raise UnsupportedStatementError(
            f"Hive reads the files of table {table.name} by the property '{unread}'",
            detail=READ_BY[table.format],
        )


def _refuse_avro(table: Table) -> None:
    """UnsupportedStatementError for files whose columns acidsql cannot read as Hive does."""
    for column in table.columns:
        obstacle = avro_obstacle(column)
        if obstacle is not None:
            raise UnsupportedStatementError(
                f'column "{column.name}" of table {table.name} {obstacle}'
            )
    if any(key.lower().startswith(AVRO_SCHEMA) for key in table.parameters):
        raise UnsupportedStatementError(
            f"the columns of table {table.name} are those of a schema of its own (avro.schema…)"
        )


def _write_obstacle(struct: Struct, parameters: Mapping[str, str]) -> str | None:
    """Why we cannot write the table as Hive expects it; None if we can."""
    if struct.tableType == MATERIALIZED_VIEW:
        return "It is a materialized view that Hive rebuilds."
    if struct.sd.sortCols:
        return "Its files are sorted (SORTED BY), and acidsql does not write sorted files."
    for key in struct.partitionKeys or ():
        if (key.type or "").lower().startswith("char"):
            return (
                f'Its partition column "{key.name}" is of type {key.type}: Hive pads the names of'
                " such partitions with blanks."
            )
    bucketing = _bucketing(struct.sd, parameters)
    if bucketing is None:
        return None
    types = {f.name.lower(): f.type for f in struct.sd.cols}
    for column in bucketing.columns:
        kind = types.get(column)
        if kind is None or not is_bucketable(type_of_hive(kind), bucketing.version):
            return f'It is bucketed by "{column}" of type {kind}, which Hive hashes in its own way.'
    return None


def columns_from(fields: Sequence[Struct], name: TableName) -> tuple[Column, ...]:
    """Our columns of FieldSchemas. UnsupportedStatementError for a type that we do not know."""
    columns = []
    for field in fields:
        column = given(field.name, f"the name of a column of {name}")
        text = given(field.type, f'the type of column "{column}" of {name}')
        try:
            kind = type_of_hive(text)
        except ValueError as error:
            raise UnsupportedStatementError(f'column "{column}" of table {name}: {error}') from None
        columns.append(Column(column.lower(), kind, field.comment))
    return tuple(columns)


def _stored_as(descriptor: Struct, what: str) -> StoredAs:
    """The format of a StorageDescriptor. UnsupportedStatementError for another one."""
    serde = descriptor.serdeInfo
    if serde is None:
        return stored_as(descriptor.inputFormat, "", {}, what)
    return stored_as(descriptor.inputFormat, serde.serializationLib, serde.parameters or {}, what)


def _bucketing(descriptor: Struct, parameters: Mapping[str, str]) -> Bucketing | None:
    if not descriptor.bucketCols or (descriptor.numBuckets or 0) <= 0:
        return None
    # Absent: made by Hive 2, or by a client that does not know version 2 (Hive Utilities).
    version = 2 if parameters.get("bucketing_version", "1") == "2" else 1
    columns = tuple(c.lower() for c in descriptor.bucketCols)
    return Bucketing(columns, descriptor.numBuckets, version)


def table_to(table: Table) -> Struct:
    """The metastore's struct for a new table.

    UnsupportedStatementError for a parameter that only the metastore may set.
    """
    classes = STORAGE_CLASSES[table.format]
    bucketing = table.bucketing
    return hms.Table(
        tableName=table.name.table,
        dbName=table.name.database,
        owner=table.owner,
        ownerType=hms.PrincipalType.USER,
        createTime=table.created_s,
        lastAccessTime=0,
        retention=0,
        sd=hms.StorageDescriptor(
            cols=[field_of(c) for c in table.columns],
            location=location_of(table.location),
            inputFormat=classes.reader,
            outputFormat=classes.writer,
            compressed=False,
            numBuckets=bucketing.count if bucketing else -1,
            serdeInfo=hms.SerDeInfo(
                serializationLib=classes.serde,
                parameters=serde_properties(StoredAs(table.format, table.field_delimiter)),
            ),
            bucketCols=list(bucketing.columns) if bucketing else [],
            sortCols=[],
            parameters={},
            storedAsSubDirectories=False,
        ),
        partitionKeys=[field_of(c) for c in table.partition_columns],
        parameters=_parameters(table),
        tableType=_table_type(table),
    )


def change_table(struct: Struct, table: Table) -> None:
    """Change a Table that the metastore sent so that it describes our table.

    Parts that we do not know stay. Statistics of rows and columns are marked as out of date.
    """
    kept = {
        k: v
        for k, v in (struct.parameters or {}).items()
        if k == NOTED_CONSTRAINTS or (k in KEPT_BY_METASTORE and k not in STATISTICS)
    }
    struct.parameters = {**kept, **_parameters(table)}
    struct.tableType = _table_type(table)
    struct.tableName, struct.dbName = table.name.table, table.name.database
    struct.owner = table.owner
    struct.sd.cols = change_fields(struct.sd.cols, table.columns)
    if place_of(struct.sd.location) != table.location:
        struct.sd.location = location_of(table.location)


def copied(struct: Any) -> Any:
    """A deep copy, with fields that our IDL does not have."""
    return copy.deepcopy(struct)


def forget_access(struct: Struct) -> None:
    """Remove the fields that say what the asking client may do. They are no part of the table."""
    struct.accessType = struct.isStatsCompliant = None
    struct.requiredReadCapabilities = struct.requiredWriteCapabilities = None


def change_fields(fields: Sequence[Struct], columns: Sequence[Column]) -> list[Struct]:
    """FieldSchemas of columns. A column that does not change keeps its FieldSchema."""
    same = {}
    for field in fields:
        try:
            same[Column(field.name.lower(), type_of_hive(field.type), field.comment)] = field
        except ValueError:
            continue
    return [same.get(column) or field_of(column) for column in columns]


def field_of(column: Column) -> Struct:
    """The FieldSchema of a column."""
    return hms.FieldSchema(name=column.name, type=hive_type(column.type), comment=column.comment)


def _parameters(table: Table) -> dict[str, str]:
    noted = {k: v for k, v in table.parameters.items() if k == REMADE_BY}
    return own_parameters({**table.shown, **noted}, table.comment)


def own_parameters(noted: Mapping[str, str], comment: str | None) -> dict[str, str]:
    """The parameters that a table or view has of its own.

    UnsupportedStatementError for one that only the metastore may set.
    """
    taken = [key for key in noted if key in KEPT_BY_METASTORE]
    if taken:
        raise UnsupportedStatementError(f"only the metastore may set the property '{taken[0]}'")
    return with_comment(noted, comment)


def _table_type(table: Table) -> str:
    if table.is_materialized_view:
        return MATERIALIZED_VIEW
    return "EXTERNAL_TABLE" if table.external else "MANAGED_TABLE"


def _is_true(parameters: Mapping[str, str], key: str) -> bool:
    return any(k.lower() == key and v.lower() == "true" for k, v in parameters.items())


# -- partitions ---------------------------------------------------------------------------------


def whole_partitions(structs: list[Struct]) -> list[Struct]:
    """The Partitions. NonsenseError for one without values or storage descriptor."""
    for struct in structs:
        given(struct.values, "the values of a partition")
        given(struct.sd, "how a partition is stored")
    return structs


def partition_from(struct: Struct, table: Struct) -> Partition:
    """Our Partition of a Partition struct.

    UnsupportedStatementError if its files are not stored in the way of its table.
    """
    keys = [given(f.name, "the name of a partition column") for f in table.partitionKeys or ()]
    _require_as_many(struct.values, keys, "A partition")
    name = PartitionName.of(list(zip(keys, struct.values, strict=True)))
    what = f"partition {name} of table {table.dbName}.{table.tableName}"
    stored = given(table.sd, f"how table {table.dbName}.{table.tableName} is stored")
    if _stored_as(struct.sd, what) != _stored_as(stored, "the table"):
        raise UnsupportedStatementError(f"{what} is stored in another way than its table")
    if (stored.numBuckets or 0) > 0 and struct.sd.numBuckets != stored.numBuckets:
        raise UnsupportedStatementError(
            f"{what} has {struct.sd.numBuckets} buckets, its table {stored.numBuckets}"
        )
    return Partition(name, place_of(struct.sd.location))


def partition_name_from(text: str, table: Struct) -> PartitionName:
    """The name of a partition, from the metastore's text like ``k=1/l=a``."""
    try:
        name = PartitionName.parse(text)
    except ValueError as error:
        raise NonsenseError(f"It has a text that is {error}.") from error
    _require_as_many(name.items, table.partitionKeys, f"The partition name {text!r}")
    return name


def _require_as_many(values: Sequence[Any], keys: Sequence[Any], what: str) -> None:
    if len(values) != len(keys):
        raise NonsenseError(
            f"{what} has {len(values)} values, its table {len(keys)} partition columns."
        )


def partition_to(partition: Partition, table: Struct) -> Struct:
    """The metastore's struct for a new partition, stored in the way of its table."""
    descriptor = copied(table.sd)
    descriptor.location = location_of(partition.location)
    return hms.Partition(
        values=values_of(partition.name),
        dbName=table.dbName,
        tableName=table.tableName,
        createTime=0,
        lastAccessTime=0,
        sd=descriptor,
        parameters={},
    )


def values_of(name: PartitionName) -> list[str]:
    """The values of a partition in the form of a Partition struct."""
    return [DEFAULT_PARTITION_VALUE if value is None else value for value in name.values]
