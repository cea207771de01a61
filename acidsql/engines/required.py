"""NOT NULL: the columns in which no new row may have a null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from acidsql.errors import ConstraintViolationError
from acidsql.model.constraint import requirements
from acidsql.model.table import Table


@dataclass(frozen=True, slots=True)
class Required:
    """The columns that may not be null, each with the fact if it is."""

    columns: Mapping[str, str]

    @classmethod
    def of(cls, table: Table) -> Required:
        """Those of a table, by its constraints."""
        found = requirements(table.constraints)
        return cls({name: c.violated(table.name) for name, c in found.items()})

    def check(self, rows: pa.RecordBatch) -> None:
        """ConstraintViolationError if a row, which has the table's columns, has a null there."""
        for name, fact in self.columns.items():
            if rows.column(name).null_count:
                raise ConstraintViolationError(fact)
