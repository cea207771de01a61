"""Which columns of a query have a name that a user gave.

Spark makes a name of an expression that has none: that of ``'a'`` is a. A star shows the names that
its sources have, which may be any text: a table may have a column ``a-b``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp

from acidsql.grammar.walk import direct_sources, merges_columns
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.planner.names import Names, find_relation
from acidsql.statements.fragment import Fragment

_NAMED = (exp.Alias, exp.Column, exp.Dot)
"""Items of a select list that have a name in the text."""
SEVERAL = (exp.Aliases, exp.UDTF, exp.Inline)
"""Items of a select list that may stand for several columns."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """One column, or ``several`` whose number is unknown. ``told`` as by `names_columns`."""

    told: bool | None
    several: bool = False


_UNKNOWN = (_Columns(None, several=True),)
_NAMED_ALL = (_Columns(True, several=True),)
_NO_WIDTHS: Mapping[int, int] = MappingProxyType({})


def names_columns(
    source: Fragment, count: int, widths: Mapping[int, int] = _NO_WIDTHS
) -> tuple[bool | None, ...]:
    """For each of the query's ``count`` columns, whether its text names it; None if not sure.

    A column of a table, a view or a frame has a name there. ``widths`` are the numbers of columns
    of those that are known, by the offsets of their names, as `widths_of` finds them.
    """
    found = _Query(source, widths).columns_of(source.tree)
    places = [at for at, columns in enumerate(found) if columns.several]
    if not places:
        told = tuple(columns.told for columns in found)
        return told if len(told) == count else (None,) * count
    before, after = found[: places[0]], found[places[-1] + 1 :]
    middle = _joined(found[places[0] : places[-1] + 1])
    number = count - len(before) - len(after)
    if number < 0:
        return (None,) * count
    return (*(c.told for c in before), *(middle.told,) * number, *(c.told for c in after))


def widths_of(source: Fragment, names: Names) -> dict[int, int]:
    """How many columns the query's tables and views have, by the offsets of their names."""
    widths = {}
    for ref in source.tables:
        if ref.is_common or (ref.database is None and names.is_frame(ref.table)):
            continue
        match find_relation(ref, names):
            case Table() as table:
                widths[ref.start] = len(table.all_columns)
            case View() as view:
                widths[ref.start] = len(view.columns)
    return widths


def _joined(found: Sequence[_Columns]) -> _Columns:
    """What holds for all of the columns."""
    told = {columns.told for columns in found}
    return _Columns(told.pop() if len(told) == 1 else None, several=True)


class _Query:
    """The columns of the queries in a fragment."""

    def __init__(self, source: Fragment, widths: Mapping[int, int]) -> None:
        self._widths = widths
        self._tables = {ref.start for ref in source.tables if not ref.is_common}
        self._entered: set[int] = set()
        """The common table expressions, by their nodes' ids, whose columns are looked for."""

    def columns_of(self, tree: exp.Expr) -> Sequence[_Columns]:
        """The columns of a query, or of a table that stands for one."""
        while isinstance(tree, exp.Subquery | exp.SetOperation):
            tree = tree.this
        if isinstance(tree, exp.Table):
            return self._of_source(tree)
        if not isinstance(tree, exp.Select):
            return _UNKNOWN
        items = tree.expressions
        if any(isinstance(item, SEVERAL) for item in items):
            return _UNKNOWN
        found: list[_Columns] = []
        for item in items:
            if not item.is_star:
                found.append(_Columns(isinstance(item, _NAMED)))
            elif isinstance(item, exp.Star | exp.Column):
                found += self._of_star(item, tree)
            else:
                return _UNKNOWN
        return found

    def _of_star(self, item: exp.Star | exp.Column, select: exp.Select) -> Sequence[_Columns]:
        direct = direct_sources(select)
        if isinstance(item, exp.Star):
            star: exp.Expr = item
            sources = [source for source, is_shown in direct if is_shown]
        else:
            star, qualifier = item.this, item.parts[-2].name.lower()
            sources = [s for s, _ in direct if s.alias_or_name.lower() == qualifier]
            if len(sources) != 1:
                return _UNKNOWN  # the fields of a struct
        found = [columns for source in sources for columns in self._of_source(source)]
        may_be_struct = isinstance(item, exp.Column) and len(item.parts) > 2
        is_whole = not any(star.args.values()) and not may_be_struct
        return found if is_whole and not merges_columns(select) else [_joined(found)]

    def _of_source(self, node: exp.Expr) -> Sequence[_Columns]:
        """The columns of a table, a query or a function in FROM."""
        found = _NAMED_ALL if node.alias_column_names else self._of_relation(node)
        pivots = node.args.get("pivots")
        if not pivots:
            return found
        are_named = _joined(found).told and all(map(_names_all, pivots))
        return _NAMED_ALL if are_named else _UNKNOWN

    def _of_relation(self, node: exp.Expr) -> Sequence[_Columns]:
        """The columns of a relation, whatever stands behind it."""
        if isinstance(node, exp.Subquery):
            return self.columns_of(node)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self.columns_of(node.this)
        if not isinstance(node, exp.Table) or isinstance(node.this, exp.Func):
            return _UNKNOWN
        first = node.args.get("db") or node.this
        if (start := first.meta.get("start")) in self._tables:
            width = self._widths.get(start)
            return _NAMED_ALL if width is None else (_Columns(True),) * width
        return self._of_common(node)

    def _of_common(self, node: exp.Table) -> Sequence[_Columns]:
        """The columns of a common table expression that is read here."""
        common = _common_of(node)
        if common is None or id(common) in self._entered:
            return _UNKNOWN
        if common.alias_column_names:
            return _NAMED_ALL
        self._entered.add(id(common))
        found = self.columns_of(common.this)
        self._entered.remove(id(common))
        return found


def _common_of(node: exp.Table) -> exp.Expr | None:
    """The common table expression that a name stands for: of the nearest WITH that has it."""
    name, around = node.name.lower(), node.parent
    while around is not None:
        with_ = around.args.get("with_")
        for common in with_.expressions if with_ is not None else ():
            if common.alias.lower() == name:
                found: exp.Expr = common
                return found
        around = around.parent
    return None


def _names_all(pivot: exp.Pivot) -> bool:
    """Whether a PIVOT names all columns that it adds: by its values, and by each aggregate's name.

    The name of a single aggregate is no part of them.
    """
    if pivot.args.get("unpivot") or pivot.alias_column_names:
        return True
    values = [value for field in pivot.args["fields"] for value in field.expressions]
    made = pivot.expressions
    are_values = all(isinstance(value, exp.PivotAlias | exp.Literal) for value in values)
    return are_values and (len(made) == 1 or all(isinstance(e, exp.Alias) for e in made))
