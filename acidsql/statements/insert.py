"""INSERT INTO and INSERT OVERWRITE, with VALUES, a query, or rows that the caller gives."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Constant, Fragment, Identifier, TableRef


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
class Insert:
    """INSERT INTO ``target`` [PARTITION (…)] [(columns)] source, or INSERT ``overwrite``.

    ``partition`` and ``columns`` name no column twice. ``source`` is the whole source as a query,
    or rows that the caller gives, whose columns are ``columns``. If it is a bare VALUES list,
    ``rows`` has its values, else None. In the source of ``WITH … INSERT INTO … SELECT …``, spaces
    stand in the place of ``INSERT INTO …``.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    columns: tuple[Identifier, ...] | None
    source: Fragment | GivenSource
    rows: tuple[tuple[Fragment | Constant, ...], ...] | None
    overwrite: bool = False
