"""INSERT OVERWRITE DIRECTORY."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment


@dataclass(frozen=True, slots=True)
class InsertDirectory:
    """INSERT OVERWRITE [LOCAL] DIRECTORY ``path`` [ROW FORMAT DELIMITED] [STORED AS …] ``source``.

    ``field_delimiter`` is None if none is given, ``stored_as`` the word behind STORED AS.
    ``source`` is a query, with the WITH in front of the statement. ``line`` and ``column`` are the
    place of the path.
    """

    path: str
    local: bool
    field_delimiter: str | None
    stored_as: str
    source: Fragment
    line: int
    column: int
