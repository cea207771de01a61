"""Names of tables and partitions: parse, quote, escape, compare."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEFAULT_DATABASE = "default"
DEFAULT_PARTITION_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""NULL and the empty string in a partition name (hive.exec.default.partition.name)."""

TEMPORARY_DATABASE = "acidsql_temporary_"
"""The databases of temporary tables are called so, with a random number behind it."""

# Hive's FileUtils.escapePathName escapes control characters, DEL and these. It does not escape NUL,
# which no file system accepts in a name; we do, and Hive reads the escaped NUL as NUL.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^" + "".join(map(chr, range(32))) + "\x7f")


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table's database and name, both in lower case.

    >>> str(TableName.of("Sales", "Orders"))
    'sales.orders'

    A temporary view has no database: it belongs to a session.

    >>> str(TableName.temporary("Late"))
    'late'
    """

    database: str
    table: str

    @classmethod
    def of(cls, database: str, table: str) -> TableName:
        """The name in the case in which Hive stores it."""
        return cls(database.lower(), table.lower())

    @classmethod
    def temporary(cls, name: str) -> TableName:
        """The name of a temporary view."""
        return cls("", name.lower())

    @property
    def is_temporary(self) -> bool:
        """Whether this is the name of a temporary view."""
        return not self.database

    @classmethod
    def parse(cls, text: str, database: str = DEFAULT_DATABASE) -> TableName:
        """``table`` or ``database.table``, without quotes.

        >>> TableName.parse("orders")
        TableName(database='default', table='orders')
        """
        first, dot, rest = text.rpartition(".")
        return cls.of(first, rest) if dot else cls.of(database, text)

    def __str__(self) -> str:
        return self.table if self.is_temporary else f"{self.database}.{self.table}"


def is_temporary_database(name: str) -> bool:
    """Whether a database is one for the temporary tables of a session."""
    return name.lower().startswith(TEMPORARY_DATABASE)


def escape_path(value: str) -> str:
    """A partition column or value as Hive writes it into a path (FileUtils.escapePathName).

    >>> escape_path("a/b c%")
    'a%2Fb c%25'
    """
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in value)


def unescape_path(text: str) -> str:
    """The inverse of `escape_path`.

    >>> unescape_path("a%2Fb c%25")
    'a/b c%'
    """
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), text)


@dataclass(frozen=True, slots=True, order=True)
class PartitionName:
    """The values of a table's partition columns, in their order; None is NULL.

    >>> str(PartitionName.of({"d": "2026-01-01", "k": None}))
    'd=2026-01-01/k=__HIVE_DEFAULT_PARTITION__'
    """

    items: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(
        cls, values: Mapping[str, str | None] | Sequence[tuple[str, str | None]]
    ) -> PartitionName:
        """The name with these value texts by column. Column names become lower case.

        An empty value is NULL, and so is `DEFAULT_PARTITION_VALUE`: Hive cannot tell them apart.
        """
        pairs = values.items() if isinstance(values, Mapping) else values
        nulls = ("", DEFAULT_PARTITION_VALUE)
        return cls(tuple((k.lower(), None if v in nulls else v) for k, v in pairs))

    @classmethod
    def parse(cls, text: str) -> PartitionName:
        """From Hive's text form, which is also the path below the table.

        >>> PartitionName.parse("d=a%2Fb").items
        (('d', 'a/b'),)
        """
        items = []
        for part in text.strip("/").split("/"):
            key, eq, value = part.partition("=")
            if not eq:
                raise ValueError(f"not a partition name: {text!r}")
            value = unescape_path(value)
            items.append(
                (unescape_path(key).lower(), None if value == DEFAULT_PARTITION_VALUE else value)
            )
        return cls(tuple(items))

    @property
    def values(self) -> tuple[str | None, ...]:
        """The values alone, in the order of the partition columns."""
        return tuple(value for _, value in self.items)

    def __str__(self) -> str:
        return "/".join(
            f"{escape_path(k)}={DEFAULT_PARTITION_VALUE if v is None else escape_path(v)}"
            for k, v in self.items
        )


def quote_identifier(name: str) -> str:
    """A name in Spark's and Hive's back quotes.

    >>> quote_identifier("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def quoted_table(name: TableName) -> str:
    """A table's full name in back quotes.

    >>> quoted_table(TableName("sales", "orders"))
    '`sales`.`orders`'
    """
    if name.is_temporary:
        return quote_identifier(name.table)
    return f"{quote_identifier(name.database)}.{quote_identifier(name.table)}"


def string_literal(text: str) -> str:
    r"""A text as a string literal of Spark and Hive.

    >>> print(string_literal("it's a \\"))
    'it\'s a \\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
