"""WITH in front of a statement that changes rows."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A common table expression: ``name [(columns)] AS (query)``.

    The query may name the expressions before it, and itself if ``recursive``. ``columns`` are the
    names that it gives to the columns of its query, or ().
    """

    name: Identifier
    columns: tuple[Identifier, ...]
    query: Fragment
    recursive: bool = False
