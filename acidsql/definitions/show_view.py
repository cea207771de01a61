"""SHOW CREATE TABLE and DESCRIBE of a view, and what they share with those of a table."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from acidsql.execution.result import Result, text_rows
from acidsql.model.names import quote_identifier, quoted_table, string_literal
from acidsql.model.table import Column
from acidsql.model.view import View

_PLAIN = re.compile(r"[^\W\d]\w*")
DESCRIBE_COLUMNS = ("col_name", "data_type", "comment")
COLUMN_HEAD = ("# col_name", "data_type", "comment")


def show_create_view(view: View, text: str) -> Result:
    """The CREATE VIEW that makes a view like this one of the ``text`` of its query.

    As in Hive, the query says how columns are called. They are listed if one has a comment, or a
    name that the query may not say.
    """
    kind = "TEMPORARY VIEW" if view.name.is_temporary else "VIEW"
    head = f"CREATE {kind} {quoted_table(view.name)}"
    is_plain = all(not c.comment and _PLAIN.fullmatch(c.name) for c in view.columns)
    if not is_plain or text != view.expanded_text:
        head += f" ({', '.join(map(_listed, view.columns))})"
    lines = [head]
    if view.comment is not None:
        lines.append(f"COMMENT {string_literal(view.comment)}")
    lines += property_lines(view.parameters)
    separator = " " if len(lines) == 1 else "\n"
    made = f"{chr(10).join(lines)}{separator}AS {text}"
    return text_rows("show", ["createtab_stmt"], [(line,) for line in made.split("\n")])


def _listed(column: Column) -> str:
    comment = f" COMMENT {string_literal(column.comment)}" if column.comment else ""
    return quote_identifier(column.name) + comment


def property_lines(parameters: Mapping[str, str], clause: str = "TBLPROPERTIES") -> list[str]:
    """The clause with the properties, a line for each of them; [] without any."""
    pairs = [f"  {string_literal(k)}={string_literal(v)}" for k, v in sorted(parameters.items())]
    if not pairs:
        return []
    return [f"{clause} (", *[f"{pair}," for pair in pairs[:-1]], f"{pairs[-1]})"]


def describe_view(view: View, *, formatted: bool) -> Result:
    """The columns of a view; with FORMATTED all that is known, in the sections of Hive 4."""
    columns = [column_row(column) for column in view.columns]
    if not formatted:
        return text_rows("describe", DESCRIBE_COLUMNS, columns)
    rows = [
        COLUMN_HEAD,
        *columns,
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Database:", view.name.database, ""),
        ("OwnerType:", "USER", ""),
        ("Owner:", view.owner, ""),
        ("CreateTime:", created_text(view.created_s), ""),
        ("Table Type:", "VIRTUAL_VIEW", ""),
        *([("Comment:", view.comment, "")] if view.comment else []),
        ("Table Parameters:", "", ""),
        *parameter_rows(view.parameters),
        ("", "", ""),
        ("# View Information", "", ""),
        ("Original Query:", view.original_text, ""),
        ("Expanded Query:", view.expanded_text, ""),
    ]
    return text_rows("describe", DESCRIBE_COLUMNS, rows)


def column_row(column: Column) -> tuple[str, str, str]:
    """The row of DESCRIBE for a column."""
    return column.name, str(column.type), column.comment or ""


def parameter_rows(parameters: Mapping[str, str]) -> Sequence[tuple[str, str, str]]:
    """The rows of DESCRIBE FORMATTED for properties."""
    return [("", key, value) for key, value in sorted(parameters.items())]


def created_text(created_s: int) -> str:
    """A time in the form of DESCRIBE FORMATTED."""
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(created_s))
