"""LOAD DATA: files are copied under hidden names; after the commit moved originals are removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from acidsql.engines.avro_reader import field_names, row_count, spelled_otherwise
from acidsql.engines.target import OutputFile, Target, partition_text
from acidsql.errors import AnalysisError, InvalidValueError, MissingFileError, StorageError
from acidsql.layout.dir_names import OriginalFile, is_hidden, lies_hidden, parse_directory
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import BUCKET_ID_MAX
from acidsql.model.table import Column, FileFormat, Table, TableKind
from acidsql.model.types import fields_inside
from acidsql.orc.evolution import check_convertible
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import row_schema
from acidsql.orc.types import file_columns
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import fixed_partition
from acidsql.ports.storage import Storage, local_draft

_COMPRESSED = frozenset({".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst"})
"""The endings of Hadoop's codecs."""


def load(plan: LoadPlan, table: Table, target: Target, statement: StatementId) -> list[OutputFile]:
    """Copies of the files, not yet published, in the order of their names."""
    place = partition_text(fixed_partition(plan, table))
    directory = target.directory_written(place, statement, is_delete=False)
    storage = target.storage
    found: list[OutputFile] = []
    try:
        for number, (path, rows, _) in enumerate(checked_files(plan, table, storage)):
            # Hive, too, gives files of an unbucketed table new numbers.
            name = OriginalFile(BucketId(number)).name
            attempt = target.attempt_name(name)
            file = OutputFile(
                place,
                directory,
                attempt,
                name,
                int(statement),
                is_delete=False,
                rows=rows,
                source=path,
            )
            found.append(file)
            target.make_directory(place, directory)
            with _opened(plan, path, storage) as stream:
                _copy(stream, f"{directory}/{file.attempt}", storage)
    except BaseException:
        for file in found:
            target.remove_attempt(file)
        raise
    return found


def _refuse_compressed(path: str, table: Table) -> None:
    """InvalidValueError for a compressed text.

    Hadoop and Spark know a compressed text by the end of its name, which it would lose.
    """
    if table.format is FileFormat.TEXT and Path(path).suffix.lower() in _COMPRESSED:
        raise InvalidValueError(
            f"{path} is a compressed text",
            detail="The files of a table have names of their own, without an ending that says so.",
            hint="Decompress it, or make it the LOCATION of an external table, then INSERT INTO …"
            " SELECT.",
        )


def checked_files(plan: LoadPlan, table: Table, storage: Storage) -> Iterator[tuple[str, int, int]]:
    """Path, rows (0 for text) and bytes of each file to load, in the order of their names.

    AnalysisError or InvalidValueError for what cannot be loaded into the table.
    """
    if not plan.local and any(map(parse_directory, plan.path.split("/"))):
        raise AnalysisError(
            f"Invalid path '{plan.path}': it lies in a directory of a transactional table",
            hint="INSERT … SELECT copies rows from one table to another.",
            code=10028,
        )
    paths = input_files(plan, storage)
    if not plan.by_rows:
        _refuse_many(paths, plan, table)
    for path in paths:
        if not plan.by_rows:
            _refuse_compressed(path, table)
        with _opened(plan, path, storage) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            rows = _checked(stream, path, table, spelled=plan.spelled and not plan.by_rows)
        yield path, rows, size


def _refuse_many(paths: Sequence[str], plan: LoadPlan, table: Table) -> None:
    """AnalysisError for more files than row ids have buckets: each file becomes one of its own."""
    most = BUCKET_ID_MAX + 1
    if table.kind is TableKind.FULL_ACID and len(paths) > most:
        raise AnalysisError(
            f"{plan.path} has {len(paths)} files, and a full-ACID table takes {most} at a time",
            detail="In its row ids the number of a file has 12 bits.",
            hint="Load them in several statements, or INSERT INTO … SELECT from an external table.",
        )


def input_files(plan: LoadPlan, storage: Storage) -> list[str]:
    """The files that the path names: the file itself, or the files directly below a directory.

    Hidden files are left out. AnalysisError if there is no file, or if there are directories among
    them.
    """
    if plan.local:
        with _clear_errors(plan.path):
            names = _local_names(Path(plan.path))
    else:
        names = _names(plan.path, storage)
    nested = [n for n in names if "/" in n]
    if nested:
        raise AnalysisError(f"source contains directory: {plan.path}/{nested[0]}", code=10028)
    if not names:
        raise AnalysisError(f"Invalid path '{plan.path}': No files matching path", code=10028)
    home = plan.path.rstrip("/")
    return [f"{home}/{name}" if name else plan.path for name in sorted(names)]


def _local_names(path: Path) -> list[str]:
    """The names in a local directory, with a slash behind those of directories; "" for a file."""
    if not path.is_dir():
        return [""] if path.exists() else []
    shown = [entry for entry in path.iterdir() if not is_hidden(entry.name)]
    return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in shown]


def _names(path: str, storage: Storage) -> list[str]:
    parent, _, name = path.rpartition("/")
    if name and name not in storage.list_directories(parent or "/"):
        return [""] if storage.exists(path) else []
    directories = [f"{d}/" for d in storage.list_directories(path) if not is_hidden(d)]
    # Directories are refused, so what lies in them does not matter.
    return directories or [f.path for f in storage.list_files(path) if not lies_hidden(f.path)]


@contextmanager
def _opened(plan: LoadPlan, path: str, storage: Storage) -> Iterator[BinaryIO]:
    if not plan.local:
        with storage.open_input(path) as stream:
            yield stream
        return
    with _clear_errors(path):
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below, other errors than its own
    with stream:
        yield stream


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    """Errors of the operating system over a local file as ours, with its path in them."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {path}: it does not exist") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"cannot read {path!r}: {reason}") from error


def _checked(stream: BinaryIO, path: str, table: Table, *, spelled: bool) -> int:
    """How many rows a file has; 0 for text. InvalidValueError if it does not fit the table.

    With ``spelled``, names of fields must have the capital letters that they have in the table.
    Hive checks the format only: it reads columns and fields that do not fit as nulls.
    """
    match table.format:
        case FileFormat.ORC:
            with open_orc(stream, path) as orc:
                if orc.tail.is_acid:
                    raise AnalysisError(
                        f"LOAD DATA of a file with event columns: {path} was written by an ACID"
                        " table",
                        code=10413,
                    )
                _refuse_other_columns(orc.schema, path, table)
                for column, found in zip(table.columns, file_columns(orc.tail, path), strict=True):
                    check_convertible(column, found.type, path)
                    if spelled and fields_inside(found.type) != fields_inside(column.type):
                        raise _other_spelling(column, path)
                return orc.tail.rows
        case FileFormat.PARQUET:
            try:
                with pq.ParquetFile(stream, coerce_int96_timestamp_unit="us") as parquet:
                    _refuse_other_columns(parquet.schema_arrow, path, table)
                    _refuse_nanoseconds(parquet.schema_arrow.types, path)
                    return int(parquet.metadata.num_rows)
            except pa.ArrowException as error:
                raise InvalidValueError(f"{path} is not a Parquet file") from error
        case FileFormat.AVRO:
            _refuse_other_names(field_names(stream, path), path, table)
            stream.seek(0)
            other = spelled_otherwise(stream, path, table.columns) if spelled else None
            if other is not None:
                raise _other_spelling(other, path)
            stream.seek(0)
            return row_count(stream, path, table.columns)
        case FileFormat.TEXT:
            return 0


def _refuse_other_columns(found: pa.Schema, path: str, table: Table) -> None:
    wanted = row_schema(table.columns)
    same_names = [n.lower() for n in found.names] == wanted.names
    if same_names and all(map(_same_type, found.types, wanted.types)):
        return
    raise InvalidValueError(
        f"the columns of {path} are not those of table {table.name}",
        detail=f"It has {_columns(found)}; the table has {_columns(wanted)}.",
        hint="Read the file with Spark, then INSERT INTO … SELECT.",
    )


def _other_spelling(column: Column, path: str) -> InvalidValueError:
    """The error for a file in which Hive would not find the fields of a column."""
    return InvalidValueError(
        f'the fields of column "{column.name}" of {path} have other capital letters than those'
        " of the table",
        detail=f"The table has {column.type}.",
        hint="Make a table with the columns of the file, then INSERT INTO … SELECT.",
    )


def _refuse_other_names(found: Sequence[str], path: str, table: Table) -> None:
    wanted = [c.name for c in table.columns]
    if found != wanted:
        raise InvalidValueError(
            f"the columns of {path} are not those of table {table.name}",
            detail=f"It has {', '.join(found)}; the table has {', '.join(wanted)}.",
            hint="Make a table with the columns of the file, then INSERT INTO … SELECT.",
        )


def _refuse_nanoseconds(kinds: Iterable[pa.DataType], path: str) -> None:
    """InvalidValueError for whole numbers of nanoseconds, which neither Spark nor Hive can read.

    Those of INT96 have become microseconds.
    """
    for kind in kinds:
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            raise InvalidValueError(
                f"{path} has timestamps in nanoseconds",
                hint="Write them in microseconds, or as INT96.",
            )
        _refuse_nanoseconds((kind.field(i).type for i in range(kind.num_fields)), path)


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found))
    if found.num_fields and found.num_fields == wanted.num_fields and found.id == wanted.id:
        pairs = [(found.field(i), wanted.field(i)) for i in range(found.num_fields)]
        named = pa.types.is_struct(wanted)
        return all(
            _same_type(f.type, w.type) and (not named or f.name.lower() == w.name) for f, w in pairs
        )
    return bool(found.equals(wanted))


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _copy(stream: BinaryIO, path: str, storage: Storage) -> None:
    target = local_draft(path, storage)
    try:
        with Path(target).open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    storage.put_file(target, path)
