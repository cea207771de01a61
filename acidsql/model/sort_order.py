"""ORDER BY over the columns of a table, as a value and as the text that a queue keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.model.names import quote_identifier

_ITEM = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^\W\d]\w*))"
    r"(?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\s*ORDER\s+BY\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """One column of an ORDER BY. The name is in lower case."""

    column: str
    descending: bool
    nulls_first: bool

    @classmethod
    def of(cls, column: str, *, descending: bool, nulls_first: bool | None) -> SortColumn:
        """With Hive's rule where ``nulls_first`` is None: nulls are greater than all values.

        Hive 4 sorts so as long as hive.default.nulls.last is true, its default.
        """
        return cls(column.lower(), descending, descending if nulls_first is None else nulls_first)


def sort_order_text(order: Sequence[SortColumn]) -> str:
    """The ORDER BY as text that `parse_sort_order` and Hive read.

    >>> sort_order_text([SortColumn("qty", True, True)])
    'ORDER BY `qty` DESC NULLS FIRST'
    """
    items = [
        f"{quote_identifier(s.column)} {'DESC' if s.descending else 'ASC'}"
        f" NULLS {'FIRST' if s.nulls_first else 'LAST'}"
        for s in order
    ]
    return f"ORDER BY {', '.join(items)}"


def parse_sort_order(text: str) -> tuple[SortColumn, ...]:
    """The columns of an ORDER BY that a queue keeps, which Hive may have written.

    ValueError for anything but columns.

    >>> parse_sort_order("order by b desc, `a``b`")[1]
    SortColumn(column='a`b', descending=False, nulls_first=False)
    """
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f'"{text}" is not an ORDER BY of columns')
    found, at = [], head.end()
    while True:
        item = _ITEM.match(text, at)
        if item is None or (item.end() < len(text) and text[item.end()] != ","):
            raise ValueError(f'"{text}" is not an ORDER BY of columns')
        name = item["plain"] or item["quoted"].replace("``", "`")
        nulls = None if item["nulls"] is None else item["nulls"].upper() == "FIRST"
        descending = (item["direction"] or "ASC").upper() == "DESC"
        found.append(SortColumn.of(name, descending=descending, nulls_first=nulls))
        if item.end() == len(text):
            return tuple(found)
        at = item.end() + 1
