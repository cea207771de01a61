"""CREATE OR REPLACE TABLE: a table takes the place of another one in one commit.

The new table has another directory and begins at write id 1. So readers see the old table up to the
commit and the new one from then on, and a crash at any moment leaves one of the two. The old files
are removed after the commit.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from acidsql.definitions.leftovers import remove_leftovers
from acidsql.definitions.removal import OwnPlace, divide, remove_free_places
from acidsql.definitions.table_places import places_of
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.places import Neighbours
from acidsql.execution.scope import Scope
from acidsql.model.names import TableName
from acidsql.model.table import Table
from acidsql.planner.names import refuse_read_only
from acidsql.statements.fragment import TableRef


@dataclass(frozen=True, slots=True)
class ReplacedTable:
    """The old table, its directories that are removed, and a line for each one that stays."""

    table: Table
    places: tuple[OwnPlace, ...]
    notes: tuple[str, ...]
    scope: Scope

    @classmethod
    def of(cls, table: Table, scope: Scope) -> ReplacedTable:
        """The table as it is, under the caller's exclusive lock."""
        refuse_read_only(table)
        own, notes = divide(places_of(table, scope), Neighbours(scope), [table.name])
        # If we die before the end, a later table may be made over the files that stay.
        remove_leftovers(table, [place.location for place in own], scope)
        return cls(table, tuple(own), tuple(notes), scope)

    def forget(self) -> None:
        """Drop it from the catalog. Call this in the step of the store that makes the new one."""
        self.scope.store.drop_table(self.table.name)

    def remove_files(self) -> list[str]:
        """Remove the files, after the commit; a line for each directory that stays."""
        if not self.table.owns_files:
            return list(self.notes)
        return [*self.notes, *remove_free_places(self.places, self.table, self.scope)]


def find_replaced(name: TableName, scope: Scope, target: TableRef) -> ReplacedTable | None:
    """The table of this name, or None. AnalysisError for a view."""
    place: dict[str, Any] = {"line": target.line, "column": target.column}
    if scope.store.find_view(name) is not None:
        raise AnalysisError(
            "Existing view is not a table",
            detail=f"{name} is a view.",
            hint="Write CREATE OR REPLACE VIEW, or DROP VIEW before.",
            **place,
        )
    table = scope.store.find_table(name)
    if table is not None and table.is_materialized_view:
        raise AnalysisError(
            "Existing materialized view is not a table",
            detail=f"{name} is a materialized view.",
            hint="Write DROP MATERIALIZED VIEW before.",
            **place,
        )
    if table is not None and not scope.store.commits_in_one_step:
        raise UnsupportedStatementError(
            f"a table in a Hive Metastore cannot be replaced: {name}",
            detail="The metastore cannot drop a table and make another one in one step.",
            hint="INSERT OVERWRITE replaces the rows; or DROP the table, then CREATE it.",
            **place,
        )
    return None if table is None else ReplacedTable.of(table, scope)


def placed_beside(new: Table, old: Table, scope: Scope, *, chosen: bool) -> Table:
    """The new table in a directory of its own.

    That is the one of its name if it is free, unless a user has ``chosen`` another one.
    """
    if chosen or not (new.location == old.location or scope.storage.exists(new.location)):
        return new
    return replace(new, location=f"{new.location}_{uuid.uuid4().hex[:8]}")
