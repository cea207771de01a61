"""A bare directory as a table. The caller gives the snapshot in Hive's text forms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from acidsql.errors import AnalysisError, ConfigError, MissingFileError, StorageError
from acidsql.grammar.create_table import parse_columns
from acidsql.layout.dir_names import is_hidden, lies_hidden, parse_directory
from acidsql.layout.listing import ListedFile
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.snapshot import NONE_OPEN, ValidTxnList, ValidWriteIdList
from acidsql.model.table import FIELD_DELIMITER, Column, FileFormat, Table
from acidsql.model.types import parse_type
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage, local_path_of

_NAME = TableName("acidsql", "read_acid")
_ROW_ID = HiddenColumn.ROW_ID.value
_List = TypeVar("_List", ValidTxnList, ValidWriteIdList)


def directory_snapshot(
    path: str | os.PathLike[str],
    schema: str,
    partitioned_by: str | None,
    write_ids: str | None,
    storage: Storage,
    *,
    row_id: bool,
    stored_as: str | None = None,
    field_delimiter: str = FIELD_DELIMITER,
) -> TableSnapshot:
    """The directory as a table with the columns of ``schema``, under a valid write id list.

    ``write_ids`` None stands for a list that sees everything. Partitions are found by the names of
    directories. Without ``row_id`` the directory may belong to an insert-only table; the names of
    its files show that. With ``stored_as`` None the first bytes of the files show their format.

    Raises AnalysisError for columns that do not fit together; ConfigError for an invalid list,
    format or delimiter; StorageError for a directory that is missing, or that does not match the
    partition columns or the format.
    """
    given = _format(stored_as, field_delimiter, row_id=row_id)
    location = directory_path(path, storage)
    columns = _columns(_text("schema", schema), "column")
    named = _text("partitioned_by", partitioned_by or "")
    keys = _columns(named, "partition column") if named.strip() else ()
    _refuse_same_names((*columns, *keys))
    table = Table(_NAME, columns, location, keys, parameters={"transactional": "true"})
    everything = ValidWriteIdList(str(_NAME), WriteId(NONE_OPEN))
    seen = everything if write_ids is None else _parsed(ValidWriteIdList.parse, write_ids, 5)
    if not storage.exists(location):
        raise MissingFileError(f"the directory {path} does not exist")
    partitions = tuple(_partitions(location, [k.name for k in keys], (), storage))
    if not row_id:
        files = [f for f in storage.list_files(location) if not lies_hidden(f.path)]
        if _is_insert_only(files) or given not in (None, FileFormat.ORC):
            table = _insert_only(table, files, given, storage)
            table = replace(table, field_delimiter=field_delimiter)
    return TableSnapshot(table, partitions, seen)


def directory_path(path: str | os.PathLike[str], storage: Storage) -> str:
    """The directory as it begins the paths that Spark reports: a local one is an absolute path.

    ConfigError for a path that is not a string.
    """
    location = _text("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
    local = storage.local_path(location) if local_path_of(location) is not None else None
    return location.rstrip("/") if local is None else os.path.abspath(local)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        if isinstance(value, str):
            raise ConfigError(f"{name} of read_acid must not contain a NUL character")
        kind = type(value).__name__
        raise ConfigError(f"{name} of read_acid must be a string, not a {kind}")
    return value


def _format(stored_as: str | None, field_delimiter: str, *, row_id: bool) -> FileFormat | None:
    _text("field_delimiter", field_delimiter)
    if len(field_delimiter) != 1 or not field_delimiter.isascii() or field_delimiter in "\r\n":
        raise ConfigError("field_delimiter must be one ASCII character other than a line break")
    if stored_as is None:
        return None
    _text("stored_as", stored_as)
    given = next((f for f in FileFormat if f.value == stored_as.upper()), None)
    if given is None:
        names = ", ".join(f.value for f in FileFormat)
        raise ConfigError(f"stored_as must be one of {names}, not {stored_as[:100]!r}")
    if row_id and given is not FileFormat.ORC:
        raise ConfigError(
            f"rows stored as {given.value} have no row ids",
            hint="Leave out row_id=True.",
        )
    return given


def _is_insert_only(files: Sequence[ListedFile]) -> bool:
    """Whether all files lie in deltas and bases, and none has the name of an event file.

    A full-ACID table that holds only files of LOAD DATA looks the same. Reading it as insert-only
    gives the same rows.
    """
    data = [f.path.split("/") for f in files]
    return bool(data) and all(
        any(map(parse_directory, parts[:-1])) and not parts[-1].startswith("bucket_")
        for parts in data
    )


def _insert_only(
    table: Table, files: Sequence[ListedFile], given: FileFormat | None, storage: Storage
) -> Table:
    if files and not _is_insert_only(files):
        raise StorageError(
            f"{table.location} is not the directory of an insert-only table",
            detail="Some of its files lie outside of bases and deltas, or have names of event"
            " files (bucket_N).",
        )
    properties = {**table.parameters, "transactional_properties": "insert_only"}
    paths = [f"{table.location}/{f.path}" for f in files if f.size]
    # Every file is looked at: any bytes at all can be read as lines of text.
    found = {} if given else {_file_format(path, storage): path for path in paths}
    if len(found) > 1:
        raise StorageError(
            f"files in {table.location} differ in their format",
            detail=" ".join(f"{path} is {f.value}." for f, path in found.items()),
            hint="Read the partitions of each format separately. Text files whose first bytes look"
            " like another format need stored_as.",
        )
    return replace(table, parameters=properties, format=given or next(iter(found), FileFormat.ORC))


def _file_format(path: str, storage: Storage) -> FileFormat:
    """The format by the first bytes: all but text have magic numbers."""
    with storage.open_input(path) as source:
        start = source.read(4)
    if start == b"PAR1":
        return FileFormat.PARQUET
    if start == b"Obj\x01":
        return FileFormat.AVRO
    return FileFormat.ORC if start.startswith(b"ORC") else FileFormat.TEXT


def directory_txns(txns: str | None) -> ValidTxnList:
    """The valid txn list; None gives one that sees everything. ConfigError for an invalid text."""
    if txns is None:
        return ValidTxnList(TxnId(NONE_OPEN))
    return _parsed(ValidTxnList.parse, txns, 4)


def _columns(text: str, what: str) -> tuple[Column, ...]:
    definitions = parse_columns(text, what)
    return tuple(Column(d.name.name.lower(), parse_type(d.type)) for d in definitions)


def _refuse_same_names(columns: Sequence[Column]) -> None:
    seen = {_ROW_ID}
    for column in columns:
        if column.name in seen:
            what = "is reserved" if column.name == _ROW_ID else "is given twice"
            raise AnalysisError(f'column "{column.name}" {what}')
        seen.add(column.name)


def _parsed(parse: Callable[[str], _List], text: str, parts: int) -> _List:
    """A list from Hive's text form of ``parts`` parts with colons between them."""
    _text("a snapshot", text)
    try:
        if text.count(":") != parts - 1:
            raise ValueError(f"the text has {text.count(':') + 1} parts, not {parts}")
        return parse(text)
    except ValueError as error:
        what, form = {
            4: ("txn list", "watermark:min open:open:aborted"),
            5: ("write id list", "db.table:watermark:min open:open:aborted"),
        }[parts]
        raise ConfigError(
            f"{text[:100]!r} is not a valid {what}",
            detail=f"{str(error).capitalize()}.",
            hint=f"Hive's form is {form}.",
        ) from None


def _partitions(
    location: str, keys: Sequence[str], above: tuple[tuple[str, str | None], ...], storage: Storage
) -> Iterator[PartitionLocation]:
    """The partition directories: one level ``key=value`` for each key, in the order of the keys."""
    if not keys:
        yield PartitionLocation(PartitionName(above) if above else None, location)
        return
    for name in storage.list_directories(location):
        if is_hidden(name):
            continue
        found = PartitionName.parse(name).items if "=" in name else ()
        if parse_directory(name) is not None or [key for key, _ in found] != [keys[0]]:
            raise StorageError(
                f'"{name}" is not a directory of partition column "{keys[0]}"',
                detail=f"It lies in {location}.",
                hint=f"Directories of this level must be named {keys[0]}=value. List the partition"
                " columns in partitioned_by, in the order of the levels.",
            )
        yield from _partitions(f"{location}/{name}", keys[1:], (*above, *found), storage)
