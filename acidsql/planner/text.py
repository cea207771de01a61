"""Fragments of a statement → SQL text with open sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot import exp

from acidsql.errors import AnalysisError, SqlError, UnsupportedStatementError
from acidsql.model.hidden_column import HiddenColumn, hidden_columns
from acidsql.model.names import quote_identifier
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table, TableKind
from acidsql.model.view import View
from acidsql.planner.bucket_sample import planned_sample, refuse_sample
from acidsql.planner.defaults import default_value
from acidsql.planner.names import Names, find_relation, unknown_table, with_short_names
from acidsql.planner.predicates import Arguments, scan_predicates
from acidsql.planner.view_path import NO_VIEW, ViewPath
from acidsql.planner.view_predicates import NOTHING_GIVEN, Given, handed_down
from acidsql.plans.sql_text import (
    AnySource,
    FrameSource,
    InputSource,
    SqlText,
    TableSource,
    ViewSource,
)
from acidsql.statements.fragment import Constant, Default, Fragment, Star, TableRef, Value

_TABLE_QUERY = re.compile(r"\bTABLE\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lowering:
    """Turns fragments into SQL text: resolves table names and keeps hidden columns out of stars.

    ``stand_ins`` maps offsets of table names to inputs of the job that stand for the tables. A
    table that is a whole fragment shows the columns ``hidden``. In any other fragment, tables show
    a hidden column only if that fragment mentions it: NATURAL JOIN would join by it, for example.
    ``recursive`` is the common table expression, in lower case, whose own query is lowered.
    ``path`` has the views whose text the fragment is. ``changes_rows`` says that the fragment is
    part of a statement whose target has row ids, which the fragment may ask for.
    """

    names: Names
    arguments: Arguments
    stand_ins: Mapping[int, InputSource] = field(default_factory=dict)
    hidden: frozenset[HiddenColumn] = frozenset()
    recursive: str | None = None
    path: ViewPath = NO_VIEW
    changes_rows: bool = False

    def value(self, value: Value, table: Table, column: Column) -> SqlText:
        """The text of what a column is set to."""
        match value:
            case Default():
                return default_value(table, column)
            case Constant():
                return SqlText.of(value.text)
            case Fragment():
                return self.text(value)

    def text(self, fragment: Fragment, given: Given = NOTHING_GIVEN) -> SqlText:
        """The fragment's own text with its tables as open sources.

        ``given`` has further predicates that hold for a table, by its index in the fragment.
        """
        if fragment.is_plain:
            return SqlText.of(fragment.text)
        # The mark of a source's place must be a character that the text does not contain.
        fragment = with_short_names(fragment, self.names)
        mark = next(c for c in map(chr, range(0x110000)) if c not in fragment.text)
        sources: list[AnySource] = []
        found = self._sources(fragment, given)

        def table(index: int, ref: TableRef) -> tuple[str, str]:
            source = found[index]
            if source is None:
                return fragment.text[ref.start : ref.end], ""
            sources.append(source)
            return mark, alias_of(fragment, ref)

        filled = fragment.fill(
            table,
            lambda name: f":{name}",
            lambda s: self._star(s, fragment, found),
            keep_samples=False,
        )
        parts: list[str | AnySource] = []
        for index, stretch in enumerate(filled.split(mark)):
            parts += [sources[index - 1], stretch] if index else [stretch]
        return SqlText.of(*(p for p in parts if p != ""))

    def _sources(self, fragment: Fragment, given: Given) -> list[AnySource | None]:
        """The source that stands for each table of the fragment; None for a name of Spark's.

        A bare ``row__id`` means the one that has a value, so tables whose row ids are NULL show
        theirs only where no other source could be meant, or where the table's name is before it.
        """
        found = [
            self._resolve(fragment, ref, given.get(index, ()))
            for index, ref in enumerate(fragment.tables)
        ]
        if HiddenColumn.ROW_ID not in fragment.hidden | self.hidden:
            return found
        lacks = [self._lacks_row_ids(source) for source in found]
        if all(lacks) and not self.changes_rows:
            return found
        qualified = set() if self.changes_rows else _qualifiers_of_row_id(fragment)
        return [
            _without_row_ids(source)
            if lacking and ref.visible_name.lower() not in qualified
            else source
            for source, lacking, ref in zip(found, lacks, fragment.tables, strict=True)
        ]

    def _lacks_row_ids(self, source: AnySource | None) -> bool:
        """Whether the source is a table that is not full-ACID."""
        if not isinstance(source, TableSource):
            return False
        table = self.names.find_table(source.table)
        return table is not None and table.kind is not TableKind.FULL_ACID

    def _resolve(
        self, fragment: Fragment, ref: TableRef, given: tuple[Predicate, ...]
    ) -> AnySource | None:
        if ref.start in self.stand_ins:
            _refuse_extras(ref)
            return self.stand_ins[ref.start]
        if ref.is_common:
            _refuse_extras(ref)
            is_itself = ref.table.lower() == self.recursive
            return None if is_itself else common_input(ref.table)
        if ref.database is None and self.names.is_frame(ref.table):
            _refuse_extras(ref)
            return FrameSource(name=ref.table.lower())
        relation = find_relation(ref, self.names)
        if relation is not None:
            own = scan_predicates(fragment, ref, relation, self.arguments)
            predicates = tuple(dict.fromkeys([*own, *given]))
            if isinstance(relation, View):
                _refuse_extras(ref)
                return self.view_source(ref, relation, predicates)
            return self._table_source(fragment, ref, relation, predicates)
        if ref.database is None and self.names.is_temporary_view(ref.table):
            _refuse_extras(ref)
            return None
        raise self.path.explained(unknown_table(ref, self.names))

    def view_source(
        self, ref: TableRef, view: View, predicates: tuple[Predicate, ...]
    ) -> ViewSource:
        """A view that ``ref`` names. ``predicates`` hold for every row of it that counts."""
        try:
            rows = view_text(view, self.names, self.path, predicates)
        except SqlError as error:
            # The place in the view's text says nothing to the user of the statement.
            error.line, error.column = ref.line, ref.column
            raise
        return ViewSource(view=view.name, columns=tuple(c.name for c in view.columns), rows=rows)

    def _table_source(
        self, fragment: Fragment, ref: TableRef, table: Table, predicates: tuple[Predicate, ...]
    ) -> TableSource:
        mentioned = mentioned_columns(fragment)
        return TableSource(
            table=table.name,
            hidden=hidden_columns(table, self._hidden(fragment)),
            predicates=predicates,
            columns=tuple(c.name for c in table.columns if c.name in mentioned),
            sample=planned_sample(fragment, ref, table),
            with_deleted=ref.with_deleted,
        )

    def _hidden(self, fragment: Fragment) -> frozenset[HiddenColumn]:
        """The hidden columns that tables show in the fragment."""
        is_table = isinstance(fragment.tree, exp.Table)
        return fragment.hidden | self.hidden if is_table else fragment.hidden

    def _star(self, star: Star, fragment: Fragment, found: list[AnySource | None]) -> str | None:
        """A star with EXCEPT for hidden columns, as it does not show them. None to keep it."""
        hidden = [
            f"{quote_identifier(fragment.tables[index].visible_name)}.{column.value}"
            for index in star.sources
            if isinstance(source := found[index], TableSource)
            for column in source.hidden
        ]
        if not hidden:
            return None
        prefix = f"{quote_identifier(star.qualifier)}.*" if star.qualifier else "*"
        return f"{prefix} EXCEPT ({', '.join(hidden)})"


def view_text(
    view: View,
    names: Names,
    path: ViewPath = NO_VIEW,
    predicates: tuple[Predicate, ...] = (),
) -> SqlText:
    """The text of a view's query, with its tables as open sources.

    ``path`` leads to the text in which the view stands. ``predicates`` hold for every row of the
    view that counts there. AnalysisError for a view that contains itself, TableNotFoundError for a
    table that is gone.
    """
    within = path.into(view)
    source = names.query_of(view).source
    inner = Lowering(within.names(names), {}, path=within)
    relations = [find_relation(ref, inner.names) for ref in source.tables] if predicates else ()
    return inner.text(source, handed_down(view, source, relations, predicates))


def refuse_stars(*texts: Value | None) -> None:
    """UnsupportedStatementError for a star that stands for the columns of a row to be changed.

    In Spark, such a row has further columns, which tell where it lies.
    """
    for text in texts:
        if not isinstance(text, Fragment) or "*" not in text.text:
            continue
        if any(_is_of_outer_row(star) for star in text.tree.find_all(exp.Star)):
            raise UnsupportedStatementError(
                "a star cannot stand for the columns of a row that is changed",
                hint="List the columns by name.",
                line=text.line,
                column=text.column,
            )


def _is_of_outer_row(star: exp.Star) -> bool:
    """Whether the star stands for columns of the row for which an expression is computed.

    In a subquery with a FROM, it stands for columns of that FROM alone.
    """
    select = star.find_ancestor(exp.Select)
    counts = isinstance(star.parent, exp.Count)
    return not counts and (select is None or select.args.get("from_") is None)


def common_input(name: str) -> InputSource:
    """The input that stands for a common table expression in front of the statement."""
    return InputSource(name=f"with {name.lower()}")


def mentioned_hidden(texts: Iterable[Value]) -> frozenset[HiddenColumn]:
    """The hidden columns that any of the texts mentions."""
    return frozenset(c for text in texts if isinstance(text, Fragment) for c in text.hidden)


def mentioned_columns(fragment: Fragment) -> frozenset[str]:
    """Every name in the fragment that may be a column, in lower case."""
    return frozenset(column.name.lower() for column in fragment.tree.find_all(exp.Column))


def _qualifiers_of_row_id(fragment: Fragment) -> set[str]:
    """The names, in lower case, that stand before ``row__id`` in the fragment."""
    found = set()
    for column in fragment.tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        pairs = pairwise(parts)
        found |= {before for before, name in pairs if name == HiddenColumn.ROW_ID.value}
    return found


def _refuse_extras(ref: TableRef) -> None:
    """AnalysisError if something behind a name is for tables only, and the name is of no table."""
    refuse_sample(ref)
    if ref.with_deleted:
        raise AnalysisError(
            f'"{ref.table}" is no table, and only a table has deleted rows',
            hint="Write the property behind the table inside of the query.",
            line=ref.line,
            column=ref.column,
        )


def _without_row_ids(source: AnySource | None) -> AnySource | None:
    if not isinstance(source, TableSource):
        return source
    hidden = tuple(column for column in source.hidden if column is not HiddenColumn.ROW_ID)
    return source.model_copy(update={"hidden": hidden})


def alias_of(fragment: Fragment, ref: TableRef) -> str:
    """An ``AS`` alias that keeps the table's own name usable as a qualifier.

    Empty after TABLE, where Spark's grammar allows no alias.
    """
    if ref.alias is not None or _TABLE_QUERY.search(fragment.text[: ref.start]):
        return ""
    return f" AS {quote_identifier(ref.table)}"
