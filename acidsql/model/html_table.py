"""Rows as an HTML table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from acidsql.model.value_text import cell_text


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table in which every name and value is escaped.

    >>> html_table(["a<b"], [(None,)])
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td><i>NULL</i></td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_html_cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: object) -> str:
    return "<i>NULL</i>" if value is None else escape(cell_text(value))
