"""Tables: columns, partition keys, bucketing, location and kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from acidsql.model.names import TableName
from acidsql.model.types import ColumnType

POSITIONAL_EVOLUTION = "orc.force.positional.evolution"
"""ORC's property that decides how columns of older files are matched."""

CREATED_COLUMNS = "acidsql.columns"
"""A parameter of our own that tells of the files: it ends when others come, or columns change."""

HIVE4_NAMES = "acidsql.hive4.names"
"""The parameter of a table whose new files and compacted directories get Hive 4's names."""


class TableKind(Enum):
    """Whether and how a table is transactional."""

    FULL_ACID = "full-ACID"
    INSERT_ONLY = "insert-only"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; ``name`` is in lower case."""

    name: str
    type: ColumnType
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Bucketing:
    """CLUSTERED BY ``columns`` INTO ``count`` BUCKETS, with the version of Hive's hash."""

    columns: tuple[str, ...]
    count: int
    version: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """What the catalog knows of a table.

    ``columns`` leaves the partition columns out. ``location`` is a URI or an absolute path.
    """

    name: TableName
    columns: tuple[Column, ...]
    location: str
    partition_columns: tuple[Column, ...] = ()
    bucketing: Bucketing | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    owner: str = ""
    created_s: int = 0

    @property
    def kind(self) -> TableKind:
        """Full-ACID, insert-only or plain, by the parameters Hive goes by."""
        if self.parameters.get("transactional", "").lower() != "true":
            return TableKind.PLAIN
        if self.parameters.get("transactional_properties", "").lower() == "insert_only":
            return TableKind.INSERT_ONLY
        return TableKind.FULL_ACID

    @property
    def noted(self) -> dict[str, str]:
        """The parameters but for what tells of the files, for a table whose files are to change."""
        return {k: v for k, v in self.parameters.items() if k != CREATED_COLUMNS}

    @property
    def hive4_names(self) -> bool:
        """Whether new names are Hive 4's: only it reads all of them right (docs/interop.md)."""
        return self.parameters.get(HIVE4_NAMES, "").lower() == "true"

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """The columns as a query sees them: partition columns last."""
        return self.columns + self.partition_columns

    def column(self, name: str) -> Column | None:
        """The column of that name, in any case, or None."""
        wanted = name.lower()
        return next((c for c in self.all_columns if c.name == wanted), None)
