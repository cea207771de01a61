"""The common table expressions in front of an UPDATE, a DELETE or a MERGE → shared sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from acidsql.model.names import quote_identifier
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.shared_source import is_row_by_row
from acidsql.planner.text import Lowering, common_input
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText
from acidsql.statements.fragment import Fragment, Value
from acidsql.statements.with_clause import CommonTable


def plan_common(
    tables: Sequence[CommonTable],
    readers: Iterable[Value],
    names: Names,
    arguments: Arguments,
    *,
    repeated: Iterable[Fragment] = (),
) -> tuple[SharedSource, ...]:
    """The expressions in their order. All readers of one see the same rows.

    ``readers`` are the other texts of the statement, and ``repeated`` those of them that may be
    evaluated several times.
    """
    fragments = [reader for reader in readers if isinstance(reader, Fragment)]
    read = _mentions([*fragments, *repeated])
    for table in tables:
        found = _mentions([table.query])
        del found[table.name.name.lower()]
        read += found
        if table.recursive:  # Each step computes what the query names.
            read += found
    sources: list[SharedSource] = []
    alike: set[str] = set()
    for table in tables:
        rows = _rows(table, names, arguments)
        name = common_input(table.name.name).name
        is_alike = not table.recursive and is_row_by_row(table.query, rows, alike)
        once = read[table.name.name.lower()] > 1 and not is_alike
        if once or is_alike:
            alike.add(name)
        sources.append(SharedSource(name=name, rows=rows, once=once))
    return tuple(sources)


def _mentions(fragments: Iterable[Fragment]) -> Counter[str]:
    """How often the fragments name each expression, in lower case."""
    refs = (ref for fragment in fragments for ref in fragment.tables)
    return Counter(ref.table.lower() for ref in refs if ref.is_common)


def _rows(table: CommonTable, names: Names, arguments: Arguments) -> SqlText:
    itself = table.name.name.lower() if table.recursive else None
    lowering = Lowering(names, arguments, recursive=itself)
    text = lowering.text(table.query)
    columns = ", ".join(quote_identifier(column.name) for column in table.columns)
    name = quote_identifier(table.name.name)
    named = f"{name}({columns})" if columns else name
    if table.recursive:
        return SqlText.of(f"WITH RECURSIVE {named} AS (", text, "\n) SELECT * FROM ", name)
    return SqlText.of("SELECT * FROM (", text, f"\n) AS {named}") if columns else text
