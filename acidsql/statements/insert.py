"""INSERT INTO and INSERT OVERWRITE, with VALUES, a query, or rows that the caller gives."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef, Value


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """One item of PARTITION (…). ``value`` None: each row gives the value (dynamic partition)."""

    column: Identifier
    value: Fragment | None


@dataclass(frozen=True, slots=True)
class GivenSource:
    """Rows that the caller gives beside the statement, as the value of a parameter.

    No text has such a source: `Session.insert` makes it.
    """

    parameter: str


@dataclass(frozen=True, slots=True)
class ValueList:
    """A bare VALUES list. Its ``rows`` have the same number of values."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO ``target`` [PARTITION (…)] [(columns)] source, or INSERT ``overwrite``.

    ``partition`` and ``columns`` name no column twice. ``source`` is a VALUES list, or another
    query, or rows that the caller gives, whose columns are ``columns``. In the source of ``WITH …
    INSERT INTO … SELECT …``, spaces stand in the place of ``INSERT INTO …``.

    ``by_name`` takes the columns of a query by their names. ``unless_exists`` leaves a partition
    alone that is there. With ``evolves``, WITH SCHEMA EVOLUTION, columns that the query has and the
    target lacks are to be added to the target before.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    columns: tuple[Identifier, ...] | None
    source: Fragment | ValueList | GivenSource
    overwrite: bool = False
    by_name: bool = False
    unless_exists: bool = False
    evolves: bool = False
