"""INSERT INTO and INSERT OVERWRITE, … VALUES and … SELECT."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """One item of PARTITION (…): ``value`` None makes it dynamic."""

    column: Identifier
    value: Fragment | None


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO ``target`` [PARTITION (…)] [(columns)] source, or INSERT ``overwrite``.

    ``rows`` holds the values when the source is a bare VALUES list, else None; ``source`` is the
    whole source as a query in both cases. The text of ``WITH … INSERT INTO … SELECT …`` has spaces
    in the place of ``INSERT INTO …``.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    columns: tuple[Identifier, ...] | None
    source: Fragment
    rows: tuple[tuple[Fragment, ...], ...] | None
    overwrite: bool = False
