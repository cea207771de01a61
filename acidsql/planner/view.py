"""The text of a view: its query with all names spelled out, so that later changes do not matter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.grammar.hive_words import hive_words
from acidsql.model.hidden_column import HiddenColumn, hidden_columns
from acidsql.model.names import quote_identifier, quoted_table
from acidsql.model.table import Table, TableKind
from acidsql.model.view import View
from acidsql.planner.captured_names import capturing_tables
from acidsql.planner.names import (
    Names,
    find_relation,
    find_temporary,
    is_temporary_table,
    unknown_table,
    with_short_names,
)
from acidsql.planner.text import alias_of, view_text
from acidsql.plans.query import QueryPlan
from acidsql.statements.fragment import Fragment, Star, TableRef
from acidsql.statements.query import Query

_TABLE_QUERY = re.compile(r"\bTABLE\s+$", re.IGNORECASE)


def expanded_text(query: Query, names: Names, *, is_temporary: bool = False) -> str:
    """The query's text as a view keeps it for its readers (Hive: viewExpandedText).

    Each table gets its database. A star becomes the columns that its tables have now. Where a star
    or a NATURAL JOIN stands for more than that, its tables are read as if they had no others. So
    are tables of which a further column could take the meaning of a name in the query.

    Raises TableNotFoundError, and AnalysisError for a registered frame or a temporary view. If the
    view ``is_temporary``, these keep their names, and so does a star over them.
    """
    source = with_short_names(query.source, names)
    found = [_relation(ref, names, is_temporary=is_temporary) for ref in source.tables]
    frozen = {i for star in source.stars if not star.is_plain for i in star.sources}
    if source.shows_columns:
        frozen = set(range(len(found)))
    known = [None if relation is None else _names(relation, source) for relation in found]
    narrowed = capturing_tables(source, known) - frozen

    def table(index: int, ref: TableRef) -> tuple[str, str]:
        relation = found[index]
        if relation is None:
            return source.text[ref.start : ref.end], ""
        name = quoted_table(relation.name)
        alias = alias_of(source, ref)
        if index in frozen:
            _refuse_hidden(relation, source, ref)
            _refuse_sample(ref)
        if index in frozen | narrowed:
            columns = ", ".join([*_columns(relation), *_hidden(relation, source)])
            # What samples the table stands between its name and the alias.
            name, alias = " ".join(["(SELECT", columns, "FROM", name]), f"){alias}"
        return name, alias

    for ref in source.tables:
        _refuse_deleted(ref)
        if _TABLE_QUERY.search(source.text[: ref.start]):
            raise UnsupportedStatementError(
                "TABLE in the query of a view is not supported",
                hint="Write SELECT * FROM and the table.",
                **_place(ref),
            )
    text = source.fill(
        table,
        lambda name: f":{name}",
        lambda star: _listed(star, source, found),
        keep_casts=True,
    )
    return hive_words(text)


def _listed(star: Star, source: Fragment, found: Sequence[Table | View | None]) -> str | None:
    """The columns of the star's sources, which are among those ``found``. None to keep the star."""
    if not star.is_plain:
        return None
    listed = []
    for index in star.sources:
        relation = found[index]
        if relation is None:
            return None
        alias = quote_identifier(source.tables[index].visible_name)
        listed += [f"{alias}.{column}" for column in _columns(relation)]
    return ", ".join(listed)


def plan_view(view: View, names: Names) -> QueryPlan:
    """The plan to read the view's own text. AnalysisError if the view would contain itself."""
    return QueryPlan(rows=view_text(view, names))


def _relation(ref: TableRef, names: Names, *, is_temporary: bool) -> Table | View | None:
    """The table or view that a reference names; None for a frame or a temporary view of Spark."""
    if ref.database is None and names.is_frame(ref.table):
        _require_temporary("the registered frame", ref, names, is_temporary=is_temporary)
        return None
    if find_temporary(ref, names) is not None:
        _require_temporary("the temporary view", ref, names, is_temporary=is_temporary)
    elif is_temporary_table(ref, names):
        _require_temporary("the temporary table", ref, names, is_temporary=is_temporary)
    found = find_relation(ref, names)
    if found is not None:
        return found
    if ref.database is None and names.is_temporary_view(ref.table):
        _require_temporary("the temporary view", ref, names, is_temporary=is_temporary)
        return None
    raise unknown_table(ref, names)


def _require_temporary(what: str, ref: TableRef, names: Names, *, is_temporary: bool) -> None:
    """AnalysisError unless the view ``is_temporary``: ``what`` it uses is of this session alone."""
    if is_temporary:
        return
    hint = "Make a temporary view of it"
    if not is_temporary_table(ref, names):
        hint += ", or write the database before the name of a table"
    raise AnalysisError(
        f'a view cannot use {what} "{ref.table}", which other sessions do not have',
        hint=f"{hint}.",
        **_place(ref),
    )


def _refuse_hidden(relation: Table | View, source: Fragment, ref: TableRef) -> None:
    if isinstance(relation, View):
        return
    for column in hidden_columns(relation, source.hidden):
        if column is HiddenColumn.ROW_ID and relation.kind is not TableKind.FULL_ACID:
            continue  # These are NULL.
        raise UnsupportedStatementError(
            f"this star over {relation.name} cannot be used together with {column.value} in a view",
            hint="List the columns by name.",
            **_place(ref),
        )


def _refuse_deleted(ref: TableRef) -> None:
    if ref.with_deleted:
        raise UnsupportedStatementError(
            f"a view cannot show the deleted rows of {ref.table}",
            hint="CREATE TABLE … AS keeps the rows of a query.",
            **_place(ref),
        )


def _refuse_sample(ref: TableRef) -> None:
    if ref.sample_end is not None:
        raise UnsupportedStatementError(
            f"this star over {ref.table} with TABLESAMPLE cannot be used in a view",
            hint="List the columns by name.",
            **_place(ref),
        )


def _names(relation: Table | View, source: Fragment) -> list[str]:
    """The names of all columns, and of the hidden ones that the query mentions."""
    columns = relation.columns if isinstance(relation, View) else relation.all_columns
    hidden = () if isinstance(relation, View) else hidden_columns(relation, source.hidden)
    return [*(column.name for column in columns), *(column.value for column in hidden)]


def _hidden(relation: Table | View, source: Fragment) -> list[str]:
    """The hidden columns that the query mentions and the relation has. Others have no row ids."""
    if isinstance(relation, View):
        return []
    has_row_ids = relation.kind is TableKind.FULL_ACID
    found = hidden_columns(relation, source.hidden)
    return [c.value for c in found if has_row_ids or c is not HiddenColumn.ROW_ID]


def _columns(relation: Table | View) -> list[str]:
    columns = relation.columns if isinstance(relation, View) else relation.all_columns
    return [quote_identifier(column.name) for column in columns]


def _place(ref: TableRef) -> dict[str, Any]:
    return {"line": ref.line, "column": ref.column}
