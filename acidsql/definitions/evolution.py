"""WITH SCHEMA EVOLUTION: columns that an INSERT or MERGE brings are added to its target before.

To add them is a statement of its own, as ALTER TABLE … ADD COLUMNS: it commits by itself, and the
columns stay if the INSERT or MERGE fails afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from acidsql.definitions.columns import add_columns, with_columns
from acidsql.definitions.query_types import definition_of, new_field, stored_types
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import unread_context
from acidsql.model.table import Column, Table
from acidsql.planner.evolution import (
    brings_columns,
    has_star,
    named_columns,
    plan_source,
    trial_queries,
)
from acidsql.planner.names import SeenNames, ViewRefusal, find_acid_target, find_target
from acidsql.planner.query_names import names_columns, widths_of
from acidsql.plans.insert import wrong_count
from acidsql.plans.plan import WritePlan
from acidsql.ports.engine import Engine, Frame
from acidsql.ports.store import Store
from acidsql.statements.alter_table import AddColumns
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Fragment, Identifier
from acidsql.statements.insert import Insert
from acidsql.statements.merge import Merge
from acidsql.statements.query import Query

_TRIES = 5
"""How often others may alter the target while a statement is about to do so."""

Evolving = Insert | Merge
Planning = Callable[[Evolving, Scope], WritePlan]
"""Gives the plan of a write, and raises what is known to be wrong before it is carried out."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """A statement, and the columns that its target lacks.

    ``statement`` is what to run once they are there. ``table`` is the target as it will be.
    ``found`` are the names of the source's columns.
    """

    statement: Evolving
    table: Table
    missing: tuple[ColumnDefinition, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Column, ...]:
        """The columns that are missing."""
        return self.table.columns[self._present :]

    def is_outdated(self, store: Store) -> bool:
        """Whether the target has other columns by now than it had when it was looked at."""
        now = store.find_table(self.table.name)
        return now is None or now.columns != self.table.columns[: self._present]

    @property
    def _present(self) -> int:
        return len(self.table.columns) - len(self.missing)

    def names(self, scope: Scope) -> SeenNames:
        """The names of the scope, among which the target has its new columns."""
        return SeenNames(scope.names, tables={self.table.name: self.table})


@dataclass(frozen=True, slots=True)
class _Source:
    """The columns of a statement's source: names as they are spelled, and types of Spark.

    ``named`` is what `names_columns` says of each.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    place: Fragment
    named: tuple[bool | None, ...]

    def definition(self, index: int) -> ColumnDefinition:
        """The definition of a column of the target that is to take one of these."""
        name = self.names[index]
        identifier = Identifier(name.lower(), self.place.line, self.place.column)
        return definition_of(
            index + 1, name, self.kinds[index], identifier, is_named=self.named[index]
        )


def evolve(
    statement: Evolving, scope: Scope, engine: Engine, planned: Planning, *, in_block: bool
) -> Evolution:
    """Add the columns that the target lacks, and say which.

    If another session alters the table meanwhile, what it lacks is looked up again.
    """
    for attempt in count(1):
        evolution = evolution_of(statement, scope, engine)
        if not evolution.missing:
            return evolution
        _refuse_in_block(evolution, in_block=in_block)
        _try(evolution, scope, engine, planned)
        try:
            add_columns(AddColumns(statement.target, evolution.missing), scope)
        except AnalysisError:
            if attempt == _TRIES or not evolution.is_outdated(scope.store):
                raise
        else:
            return evolution
    raise AssertionError("the loop ends by returning or raising")


def evolution_of(statement: Evolving, scope: Scope, engine: Engine) -> Evolution:
    """What the statement needs its target to have. Nothing is changed.

    A VALUES list has no names of columns, so it needs no more than the target has.
    """
    table = _target(statement, scope)
    if not isinstance(statement.source, Fragment) or not brings_columns(statement):
        return Evolution(statement, table)
    frame = _source_frame(statement, scope, engine)
    kinds = stored_types(frame, Query(statement.source), *_common(statement))
    number = len(frame.columns)
    listed = isinstance(statement, Merge) and bool(statement.names)
    widths = widths_of(statement.source, scope.names)
    named = (True,) * number if listed else names_columns(statement.source, number, widths)
    source = _Source(tuple(frame.columns), tuple(kinds), statement.source, named)
    if isinstance(statement, Merge):
        return _merge(statement, table, source)
    return _insert(statement, table, source)


def _source_frame(statement: Evolving, scope: Scope, engine: Engine) -> Frame:
    """The source, to be asked for its columns only."""
    plan = plan_source(statement, scope.names, scope.arguments)
    return engine.query(plan, unread_context(plan, scope.names, scope))


def _target(statement: Evolving, scope: Scope) -> Table:
    if isinstance(statement, Merge):
        return find_acid_target(statement.target, scope.names)
    return find_target(statement.target, scope.names, ViewRefusal.INSERT)


def _common(statement: Evolving) -> list[Query]:
    common = statement.common if isinstance(statement, Merge) else ()
    return [Query(one.query) for one in common]


def _merge(statement: Merge, table: Table, source: _Source) -> Evolution:
    lower = [name.lower() for name in source.names]
    lacking = [n for n, name in enumerate(lower) if table.column(name) is None]
    if has_star(statement):
        _refuse_twice(lower, source.place)
        _refuse_fields(table, dict(zip(lower, source.kinds, strict=True)), source)
        statement = replace(statement, source_columns=tuple(lower))
    else:
        named = {identifier.name.lower() for identifier in named_columns(statement)}
        lacking = [n for n in lacking if lower[n] in named]
    missing = tuple(map(source.definition, lacking))
    return _evolution(statement, table, missing, source)


def _insert(statement: Insert, table: Table, source: _Source) -> Evolution:
    lower = [name.lower() for name in source.names]
    if statement.by_name:
        _refuse_twice(lower, source.place)
        lacking = [n for n, name in enumerate(lower) if table.column(name) is None]
        missing = tuple(map(source.definition, lacking))
        filled = lower
    elif statement.columns is None:
        fixed = {i.column.name.lower() for i in statement.partition if i.value is not None}
        own = [c.name for c in table.all_columns if c.name not in fixed]
        missing = tuple(source.definition(n) for n in range(len(own), len(lower)))
        filled = [*own, *(d.name.name for d in missing)]
        place = source.place
        if missing:
            listed = tuple(Identifier(name, place.line, place.column) for name in filled)
            statement = replace(statement, columns=listed)
    else:
        missing = tuple(_listed(statement.columns, table, source))
        filled = [identifier.name.lower() for identifier in statement.columns]
    _refuse_fields(table, dict(zip(filled, source.kinds, strict=False)), source)
    return _evolution(statement, table, missing, source)


def _listed(
    columns: Sequence[Identifier], table: Table, source: _Source
) -> Sequence[ColumnDefinition]:
    """The columns of a column list that the table lacks, with the types of the query's columns."""
    lacking = [n for n, identifier in enumerate(columns) if table.column(identifier.name) is None]
    if lacking and len(columns) != len(source.names):
        names = [identifier.name.lower() for identifier in columns]
        raise wrong_count(len(source.names), names, source.place.line, source.place.column)
    return [
        definition_of(n + 1, columns[n].name, source.kinds[n], columns[n], is_named=True)
        for n in lacking
    ]


def _evolution(
    statement: Evolving, table: Table, missing: tuple[ColumnDefinition, ...], source: _Source
) -> Evolution:
    return Evolution(statement, with_columns(table, missing), missing, source.names)


def _refuse_twice(names: Sequence[str], place: Fragment) -> None:
    """AnalysisError for two columns of the source that have one name."""
    twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
    if twice is not None:
        raise AnalysisError(
            f'the source has two columns "{twice}"',
            hint="Columns go by name, in any case: give one of them another name.",
            line=place.line,
            column=place.column,
        )


def _refuse_fields(table: Table, kinds: Mapping[str, str], source: _Source) -> None:
    """UnsupportedStatementError for a field of a struct that a column of the table lacks."""
    for name, kind in kinds.items():
        column = table.column(name)
        field = None if column is None else new_field(column.type, kind)
        if field is not None:
            raise UnsupportedStatementError(
                f'column "{name}" of {table.name} has no field "{field}"',
                detail="WITH SCHEMA EVOLUTION adds columns, and no fields of structs.",
                hint=f"Give the fields that the column has: named_struct('a', s.a) AS {name}.",
                line=source.place.line,
                column=source.place.column,
            )


def _refuse_in_block(evolution: Evolution, *, in_block: bool) -> None:
    if in_block:
        target = evolution.statement.target
        raise UnsupportedStatementError(
            f"columns cannot be added to {evolution.table.name} in a transaction:"
            f" {', '.join(c.name for c in evolution.new)}",
            detail="It cannot be rolled back.",
            hint="COMMIT or ROLLBACK first.",
            code=20007,
            line=target.line,
            column=target.column,
        )


def _try(evolution: Evolution, scope: Scope, engine: Engine, planned: Planning) -> None:
    """Raise what is known to be wrong with the statement, before its columns are added."""
    statement, names = evolution.statement, evolution.names(scope)
    later = replace(scope, names=names)
    plan = planned(statement, later)
    if tuple(_source_frame(statement, later, engine).columns) != evolution.found:
        raise AnalysisError(
            f"the source reads {evolution.table.name}, and would have the new columns itself",
            hint="Name the columns of the source: do not write a star for them.",
            line=statement.target.line,
            column=statement.target.column,
        )
    for query in trial_queries(plan, evolution.table, evolution.found):
        engine.query(query, unread_context(query, names, later))
