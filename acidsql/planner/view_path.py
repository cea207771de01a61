"""The way from a statement into its views, and the meaning of names in a view's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from acidsql.errors import AnalysisError, SqlError
from acidsql.model.names import TableName
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.planner.names import Names
from acidsql.statements.query import Query

DEPTH_MAX = 100
"""How many views may stand inside each other. Spark has the same limit for its own views."""

COUNT_MAX = 1000
"""How often one name of a statement may lead to a view. Views of views could be billions."""

_Error = TypeVar("_Error", bound=SqlError)


@dataclass(frozen=True, slots=True)
class ViewPath:
    """The views that lead to a text, outermost first; none for a statement's own text."""

    views: tuple[View, ...] = ()
    counter: count[int] = field(default_factory=lambda: count(1), compare=False)

    def into(self, view: View) -> ViewPath:
        """The path to the text of a view. AnalysisError if the view contains itself."""
        names = [v.name for v in self.views]
        if view.name in names:
            cycle = " -> ".join(map(str, [*names[names.index(view.name) :], view.name]))
            raise recursive_view(view.name, cycle)
        path = replace(self, views=(*self.views, view)) if self.views else ViewPath((view,))
        if len(path.views) > DEPTH_MAX or next(path.counter) > COUNT_MAX:
            raise AnalysisError(
                f"view {path.views[0].name} consists of too many views",
                detail=f"{DEPTH_MAX} may stand inside each other, {COUNT_MAX} in all.",
                hint="Write the rows of some of them into a table.",
            )
        return path

    def explained(self, error: _Error) -> _Error:
        """The error, which says in which view it was found."""
        if self.views:
            error.message += f" in the definition of view {self.views[-1].name}"
        return error

    def names(self, names: Names) -> Names:
        """The meaning of names in the text of the last view."""
        name = self.views[-1].name
        return NamesInView(names, name.database, is_temporary=name.is_temporary)


NO_VIEW = ViewPath()
"""The path to the text of a statement."""


def recursive_view(name: TableName, cycle: str) -> AnalysisError:
    """The error for a view that contains itself, in Hive's words."""
    return AnalysisError(f"Recursive view {name} detected (cycle: {cycle}).")


@dataclass(frozen=True, slots=True)
class NamesInView:
    """The Names of a view's text: whoever reads it, a name means what it meant in its database.

    Registered frames and temporary views of the reader mean something in a temporary view only.
    There, each name without a database is one of them, or of nothing.
    """

    outer: Names
    database: str
    is_temporary: bool

    def find_table(self, name: TableName) -> Table | None:
        return None if name.is_temporary else self.outer.find_table(name)

    def find_view(self, name: TableName) -> View | None:
        if name.is_temporary and not self.is_temporary:
            return None
        return self.outer.find_view(name)

    def query_of(self, view: View) -> Query:
        return self.outer.query_of(view)

    def is_frame(self, name: str) -> bool:
        return self.is_temporary and self.outer.is_frame(name)

    def is_temporary_view(self, name: str) -> bool:
        return self.is_temporary and self.outer.is_temporary_view(name)

    @property
    def temporary_names(self) -> list[str]:
        return self.outer.temporary_names if self.is_temporary else []

    @property
    def temporary_tables(self) -> Mapping[TableName, TableName]:
        """None: the text of a temporary view has the names in the catalog."""
        return {}

    @property
    def keeps_spelling(self) -> bool:
        return self.outer.keeps_spelling

    def table_names(self, database: str) -> list[str]:
        return self.outer.table_names(database)
