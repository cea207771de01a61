"""Whether a file can belong to its table and its directory, judged by its footer."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.table import Column
from acidsql.model.types import (
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.evolution import is_convertible, matched
from acidsql.orc.footer import STATS, FileTail
from acidsql.orc.types import file_columns


def require_kind(tail: FileTail, path: str, *, is_delete: bool) -> None:
    """CorruptFileError for a file of inserts where deletes should be, or the other way round.

    ``hive.acid.stats`` counts inserts, updates and deletes (Hive OrcRecordUpdater). A file without
    these counts is accepted.
    """
    counts = tail.metadata.get(STATS, "").split(",")
    if len(counts) != 3 or not all(c.isascii() and c.isdigit() for c in counts):
        return
    inserts, deletes = int(counts[0]), int(counts[2])
    if (inserts if is_delete else deletes) > 0:
        here, there = ("inserts", "deletes") if is_delete else ("deletes", "inserts")
        raise CorruptFileError(
            f'file "{path}" holds {here} where {there} belong',
            detail=f"Its {STATS} is {tail.metadata[STATS]}: inserts, updates, deletes.",
            hint="Was it exchanged with another file?",
        )


def require_plain(tail: FileTail, path: str) -> None:
    """StorageError for a file of events where plain rows should be."""
    if tail.is_acid:
        raise StorageError(
            f'file "{path}" is an ACID file outside of any base or delta',
            hint="Is the table partitioned?",
        )


def require_columns(tail: FileTail, path: str, columns: Sequence[Column]) -> None:
    """CorruptFileError unless the file has these columns; the table never had any others."""
    reason = misfit(tail, path, columns, unchanged=True)
    if reason is not None:
        raise CorruptFileError(
            f'file "{path}" does not belong to this table',
            detail=f"{reason[0].upper()}{reason[1:]}.",
        )


def misfit(
    tail: FileTail,
    path: str,
    columns: Sequence[Column],
    *,
    unchanged: bool,
    by_position: bool = True,
) -> str | None:
    """How the file's columns show that it belongs to another table; None if they do not.

    If the table's columns are ``unchanged``, any other name or type shows it. Otherwise the file
    may be older than the columns, and only a type shows it that cannot be converted to the
    column's. CorruptFileError if the footer's types make no sense.
    """
    if not tail.rows:
        return None  # no row of it can be taken for another table's
    found = file_columns(tail, path)
    if unchanged and VOID not in [c.type for c in columns]:
        return _difference(found, columns)
    places = matched([c.name for c in found], columns, by_position=by_position)
    for column, at in zip(columns, places, strict=True):
        if at is not None and not is_convertible(found[at].type, column.type):
            return f"its column {found[at].name} is {found[at].type}, not {column.type}"
    return None


def _difference(found: Sequence[Column], columns: Sequence[Column]) -> str | None:
    names = [c.name.lower() for c in found]
    wanted = [c.name for c in columns]
    if names != wanted and not all(n == f"_col{at}" for at, n in enumerate(names)):
        return f"its columns are {', '.join(names)}, not {', '.join(wanted)}"
    if len(names) != len(wanted):
        return f"it has {len(names)} columns, not {len(wanted)}"
    for there, column in zip(found, columns, strict=True):
        if not is_stored_alike(there.type, column.type):
            return f"its column {there.name} is {there.type}, not {column.type}"
    return None


def is_stored_alike(kind: ColumnType, other: ColumnType) -> bool:
    """Whether two types differ at most in lengths of texts and upper case in names of fields.

    Writers lose both.
    """
    return _plain(kind) == _plain(other)


def _plain(kind: ColumnType) -> ColumnType:
    match kind:
        case CharType():
            return PrimitiveType("string")
        case ArrayType(element):
            return ArrayType(_plain(element))
        case MapType(key, value):
            return MapType(_plain(key), _plain(value))
        case StructType(fields):
            return StructType(tuple((name.lower(), _plain(field)) for name, field in fields))
    return kind
