"""Which names databases, tables, columns and partitions may have, and how directories are named.

A name is one part of a path, never a path. Code that creates something with a name calls
`refuse_name` first. Code that needs the directory of a name calls one of the ``…_path`` functions,
which add one part of a path for each name.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from acidsql.errors import AnalysisError
from acidsql.model.names import PartitionName


class Named(Enum):
    """The kinds of things that have names, in the words of errors."""

    DATABASE = "database"
    TABLE = "table"
    COLUMN = "column"
    PARTITION_COLUMN = "partition column"


LENGTHS_MAX = {
    Named.DATABASE: 128,
    Named.TABLE: 128,
    Named.COLUMN: 767,
    Named.PARTITION_COLUMN: 128,
}
"""In characters: DBS.NAME, TC_TABLE of TXN_COMPONENTS in 3.1, COLUMNS_V2.COLUMN_NAME and
PARTITION_KEYS.PKEY_NAME (Hive's package.jdo and hive-schema-3.1.0)."""

PARTITION_LENGTH_MAX = 767
"""PARTITIONS.PART_NAME and TXN_COMPONENTS.TC_PARTITION, in characters."""

_WORD = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_ -]*[A-Za-z0-9_])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NO_PART = re.compile(r"\.{0,2}|.*[/\\\x00-\x1f\x7f].*", re.DOTALL)


def fault_of_name(name: str, what: Named) -> str | None:
    """Why the name is refused, as the end of a sentence about the name; None if it is allowed.

    Databases and tables have ASCII letters, digits and underscores (Hive MetaStoreUtils
    .validateName); between them spaces and hyphens may stand, which only Hive 4 accepts. Columns
    have any characters that every store can keep.

    >>> fault_of_name("order_lines", Named.TABLE), fault_of_name("größe", Named.COLUMN)
    (None, None)
    >>> fault_of_name("../x", Named.TABLE)
    'has characters other than letters, digits and _'
    >>> fault_of_name(chr(0xD800), Named.COLUMN)
    'is not Unicode text'
    """
    length_max = LENGTHS_MAX[what]
    if not name:
        return "is empty"
    if len(name) > length_max:
        return f"has {len(name)} characters, {length_max} are allowed"
    if what in (Named.DATABASE, Named.TABLE):
        fits = _WORD.fullmatch(name)
        return None if fits else "has characters other than letters, digits and _"
    if _CONTROL.search(name):
        return "has a control character"
    if not is_text(name):
        return "is not Unicode text"
    if what is Named.PARTITION_COLUMN and name.startswith(("_", ".")):
        return f'begins with "{name[0]}", and readers skip directories with such names'
    return None


def refuse_name(name: str, what: Named, **place: Any) -> None:
    """Raise AnalysisError if `fault_of_name` finds a fault; ``place`` may give line and column.

    To be called for new names only: what has a refused name already must stay readable.
    """
    fault = fault_of_name(name, what)
    if fault is not None:
        shown = name if len(name) <= 100 else f"{name[:100]}…"
        words = what in (Named.DATABASE, Named.TABLE)
        hint = "A name is not a path. LOCATION says where the directory is." if words else None
        text = shown.encode("unicode_escape").decode() if _CONTROL.search(shown) else shown
        text = text.encode("utf-8", "backslashreplace").decode()
        raise AnalysisError(f'the {what.value} name "{text}" {fault}', hint=hint, **place)


def refuse_partition(name: PartitionName) -> None:
    """Raise AnalysisError for a partition whose name Hive's tables cannot store."""
    text = str(name)
    if len(text) > PARTITION_LENGTH_MAX or not is_text(text):
        shown = text[:100].encode("utf-8", "backslashreplace").decode()
        raise AnalysisError(
            f'no partition can be called "{shown}…"',
            detail=f"Its name has {len(text)} characters, {PARTITION_LENGTH_MAX} are allowed."
            if is_text(text)
            else "Its value is not Unicode text.",
        )


def database_path(parent: str, name: str) -> str:
    """The directory of a database below a warehouse (Hive Warehouse.getDatabasePath).

    >>> database_path("/w", "sales")
    '/w/sales.db'
    """
    return f"{parent}/{_part(f'{name}.db')}"


def table_path(parent: str, name: str) -> str:
    """The directory of a table below its database's.

    AnalysisError for a name that leads to another directory; an older catalog may hold such names.

    >>> table_path("/w/sales.db", "orders")
    '/w/sales.db/orders'
    """
    return f"{parent}/{_part(name)}"


def partition_path(location: str, name: PartitionName) -> str:
    """The directory of a partition below its table's: one level for each partition column.

    >>> partition_path("/w/t", PartitionName.of({"p": ".."}))
    '/w/t/p=..'
    """
    # Escaped, and with an equals sign inside, each level is one part of a path, whatever the value.
    return "/".join([location, *map(_part, str(name).split("/"))])


def is_path_part(text: str) -> bool:
    """Whether the text names one directory below the one it is joined to.

    >>> is_path_part("a b"), is_path_part(".."), is_path_part("a/b")
    (True, False, False)
    """
    return _NO_PART.fullmatch(text) is None


def is_text(text: str) -> bool:
    """Whether a text has no lone surrogates, which no file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _part(text: str) -> str:
    if not is_path_part(text):
        raise AnalysisError(f"{text!r} cannot be the name of a directory")
    return text
