"""Hidden columns: what a query may ask of each row of a table beside the table's own columns."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from acidsql.model.table import Table

INTERNAL_PREFIX = "__acidsql_"
"""Columns that a row carries on its way to the writer begin with this. No table has such a one."""


class HiddenColumn(str, Enum):
    """The hidden columns by name, as Hive calls them (VirtualColumn). A star shows none of them."""

    ROW_ID = "row__id"
    FILE_NAME = "input__file__name"
    IS_DELETED = "row__is__deleted"


def hidden_columns(table: Table, mentioned: Collection[HiddenColumn]) -> tuple[HiddenColumn, ...]:
    """Those of the mentioned columns that the table has.

    A column of the table's own hides a hidden column of the same name. In a table that is not
    full-ACID, the row ids are NULL.
    """
    own = {column.name for column in table.all_columns}
    return tuple(c for c in HiddenColumn if c in mentioned and c.value not in own)
