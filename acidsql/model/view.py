"""The View entity: a query under a name, as a catalog keeps it, or a session for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acidsql.model.names import TableName
from acidsql.model.table import Column


@dataclass(frozen=True, slots=True)
class View:
    """A view. Its columns have the names and types that the query had when the view was made.

    ``original_text`` is the query as the user wrote it. ``expanded_text`` is the query that is
    read: every table in it has its database, and no star depends on the columns that a table gets
    later (Hive: viewOriginalText, viewExpandedText). Its columns are those of the view by their
    positions. ``created_s`` is in seconds since the epoch.

    A temporary view may read frames and temporary views of its session. In its expanded text they
    are the names without a database.
    """

    name: TableName
    columns: tuple[Column, ...]
    original_text: str
    expanded_text: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    owner: str = ""
    created_s: int = 0

    def column(self, name: str) -> Column | None:
        """The column of that name, in any case, or None."""
        wanted = name.lower()
        return next((c for c in self.columns if c.name == wanted), None)

    @property
    def has_comments(self) -> bool:
        """Whether a column has a comment."""
        return any(column.comment for column in self.columns)
