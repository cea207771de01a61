"""MERGE → plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.grammar.walk import is_of_subquery
from acidsql.model.hidden_column import HiddenColumn, hidden_columns
from acidsql.model.ids import StatementId
from acidsql.model.names import quote_identifier
from acidsql.model.table import Column, Table
from acidsql.planner.defaults import default_value
from acidsql.planner.names import Names, find_acid_target, find_column
from acidsql.planner.predicates import Arguments, conjunct_predicates, conjuncts, says_only
from acidsql.planner.rules import Rules
from acidsql.planner.text import Lowering, mentioned_hidden, refuse_stars
from acidsql.planner.update import placing_columns, plan_assignments
from acidsql.planner.with_clause import plan_common
from acidsql.plans.insert import wrong_count
from acidsql.plans.merge import DeleteLeg, InsertLeg, KeyPair, MergePlan, UpdateLeg
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn
from acidsql.statements.fragment import Fragment, Value
from acidsql.statements.merge import Merge, MergeClause, MergeDelete, MergeInsert, MergeUpdate

_LEG_ORDER = (MergeDelete, MergeInsert, MergeUpdate)
"""The order of the legs' statement ids. It is Hive 3's, whose multi-insert sorts sinks by name.

Legs of one kind, which Hive does not have, follow one another as in the text.
"""

_OF_VALUES = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Paren),
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.Between),
    *(exp.In, exp.Like, exp.Not, exp.And, exp.Or, exp.Case, exp.If, exp.Coalesce),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Lower, exp.Upper, exp.Trim),
)
"""What a condition may consist of that says the same of equal values.

No word that is a column's name to Spark is among them: it may take current_date for a column.
"""


def plan_merge(statement: Merge, names: Names, arguments: Arguments, rules: Rules) -> MergePlan:
    """The plan of a MERGE. Each leg writes under a statement id of its own.

    Raises AnalysisError and UnsupportedStatementError.
    """
    table = find_acid_target(statement.target, names)
    alias = statement.target.visible_name
    hidden = mentioned_hidden(merge_fragments(statement))
    _refuse_names(statement, hidden)
    refuse_stars(statement.on)
    keys = tuple(_key_pairs(statement.on.tree, table, alias, statement.alias))
    lowering = Lowering(names, arguments, hidden=hidden, changes_rows=True)
    planner = _MergePlanner(
        table, (alias, statement.alias), keys, lowering, rules, statement.source_columns
    )
    matched: list[UpdateLeg | DeleteLeg] = []
    by_source: list[UpdateLeg | DeleteLeg] = []
    not_matched: list[InsertLeg] = []
    for clause, number in zip(statement.clauses, _statement_ids(statement.clauses), strict=True):
        if isinstance(clause, MergeInsert):
            not_matched.append(planner.not_matched(clause, number))
        else:
            (by_source if clause.by_source else matched).append(planner.changing(clause, number))
    predicates = conjunct_predicates(
        statement.on.tree, table, {alias.lower()}, arguments, bare=False
    )
    return MergePlan(
        table=table.name,
        alias=alias,
        source=merge_source(statement, planner.lowering),
        source_alias=statement.alias,
        on=planner.lowering.text(statement.on),
        matched=tuple(matched),
        not_matched=tuple(not_matched),
        by_source=tuple(by_source),
        keys=keys,
        on_is_keys=len(keys) == len([*conjuncts(statement.on.tree)]),
        # A row for which the condition is false is not matched by the source.
        predicates=() if by_source else tuple(predicates),
        hidden=hidden_columns(table, hidden),
        common=plan_common(
            statement.common, merge_fragments(statement), names, arguments, repeated=[statement.on]
        ),
        written_as=statement.written_as,
        source_columns=statement.source_columns,
    )


def _refuse_names(statement: Merge, hidden: Collection[HiddenColumn]) -> None:
    """AnalysisError for names of target and source that could not be told apart."""
    target = statement.target
    if target.visible_name.lower() == statement.alias.lower():
        raise AnalysisError(
            f'target and source of a MERGE are both called "{target.visible_name}"',
            hint="Give one of them an alias.",
            line=target.line,
            column=target.column,
        )
    if hidden and statement.names and _is_table(statement.source):
        name = min(column.value for column in hidden)
        raise AnalysisError(
            f'{name} cannot be used beside the column names of "{statement.alias}"',
            detail=f"The source has {name} as a further column then.",
            hint="Write (SELECT …) AS s, and name the columns there.",
            line=statement.names[0].line,
            column=statement.names[0].column,
        )


class _MergePlanner:
    def __init__(
        self,
        table: Table,
        aliases: tuple[str, str],
        keys: tuple[KeyPair, ...],
        lowering: Lowering,
        rules: Rules,
        source_columns: Collection[str] | None = None,
    ) -> None:
        self.table = table
        self.source_columns = source_columns
        self.alias, self.source_alias = aliases
        self.equal = {k.target for k in keys if k.source.lower() == k.target}
        self.lowering = lowering
        self.rules = rules

    def changing(
        self, clause: MergeUpdate | MergeDelete, statement_id: StatementId
    ) -> UpdateLeg | DeleteLeg:
        """The leg of a WHEN MATCHED or WHEN NOT MATCHED BY SOURCE clause."""
        refuse_stars(*_fragments_of(clause))
        if clause.by_source:
            self._refuse_columns(self.source_alias, "the source", clause)
        condition = self._condition(clause.condition)
        asks_target = self._asks_target(clause.condition)
        asks_source = self._asks_source(clause.condition, bare=False)
        if isinstance(clause, MergeDelete):
            return DeleteLeg(
                statement_id=statement_id,
                condition=condition,
                asks_target=asks_target,
                asks_source=asks_source,
            )
        if clause.assignments is None:
            assignments = self._update_star(clause)
        else:
            assignments = plan_assignments(
                clause.assignments, self.table, self.lowering, self.rules
            )
        return UpdateLeg(
            statement_id=statement_id,
            condition=condition,
            asks_target=asks_target,
            asks_source=asks_source,
            assignments=assignments,
            moves=any(a.column in placing_columns(self.table) for a in assignments),
        )

    def not_matched(self, clause: MergeInsert, statement_id: StatementId) -> InsertLeg:
        """The leg of a WHEN NOT MATCHED clause: a value for every column of the table."""
        self._refuse_columns(self.alias, "the target", clause)
        condition = self._condition(clause.condition)
        if clause.values is None:
            values = self._insert_star(clause)
        else:
            columns = self._insert_columns(clause)
            if len(clause.values) != len(columns):
                names = [c.name for c in columns]
                raise wrong_count(len(clause.values), names, clause.line, clause.column)
            given = {
                c.name: self.lowering.value(v, self.table, c)
                for c, v in zip(columns, clause.values, strict=True)
            }
            values = tuple(
                SetColumn(column=c.name, value=given.get(c.name) or default_value(self.table, c))
                for c in self.table.all_columns
            )
        return InsertLeg(
            statement_id=statement_id,
            condition=condition,
            asks_source=self._asks_source(clause.condition, bare=True),
            values=values,
        )

    def _refuse_columns(self, alias: str, side: str, clause: MergeClause) -> None:
        """AnalysisError for a column of the side that a row without a match does not have."""
        is_target = alias == self.alias
        when = "WHEN NOT MATCHED" if is_target else "WHEN NOT MATCHED BY SOURCE"
        there = self.source_alias if is_target else self.alias
        for fragment in _fragments_of(clause):
            for column in fragment.tree.find_all(exp.Column):
                if _qualifier(column) == alias.lower() and not is_of_subquery(column):
                    raise AnalysisError(
                        f'{when} cannot use "{column.sql()}" of {side}',
                        hint=f'Only columns of "{there}" have a value there.',
                        line=fragment.line,
                        column=fragment.column,
                    )

    def _condition(self, fragment: Fragment | None) -> SqlText | None:
        return None if fragment is None else self.lowering.text(fragment)

    def _asks_target(self, fragment: Fragment | None) -> bool:
        if fragment is None:
            return False
        columns = {c.name for c in self.table.all_columns}
        qualifiers = {self.alias.lower()}
        arguments = self.lowering.arguments
        return says_only(fragment.tree, self.table, qualifiers, arguments, columns, bare=False)

    def _asks_source(self, fragment: Fragment | None, *, bare: bool) -> tuple[str, ...] | None:
        """The columns of the source for which the condition asks; None if it asks for others.

        ``bare`` names are the source's. Where both rows are there, they may be columns of either.
        """
        if fragment is None:
            return None
        alias, found = self.source_alias.lower(), []
        for node in fragment.tree.walk():
            if not isinstance(node, _OF_VALUES):
                return None
            if not isinstance(node, exp.Column):
                continue
            names = [part.name.lower() for part in node.parts]
            is_qualified = len(names) > 1 and names[0] == alias
            if not is_qualified and not bare:
                return None
            found.append(names[1] if is_qualified else names[0])
        return tuple(dict.fromkeys(found))

    def _insert_columns(self, clause: MergeInsert) -> tuple[Column, ...]:
        if clause.columns is None:
            return self.table.all_columns
        return tuple(find_column(self.table, identifier) for identifier in clause.columns)

    def _update_star(self, clause: MergeUpdate) -> tuple[SetColumn, ...]:
        """The assignments of ``UPDATE SET *``: every column that the source has and may change.

        A partition or bucket column decides where a row lies. It is left out if the ON condition
        makes it equal. Otherwise the row moves, or UnsupportedStatementError if rows may not.
        """
        columns = self._in_source(clause)
        placing = placing_columns(self.table)
        for name in sorted(placing.intersection(c.name for c in columns) - self.equal):
            if self.rules.row_movement:
                break
            raise UnsupportedStatementError(
                f'UPDATE SET * would change the partition or bucket column "{name}"',
                hint=f"Name the columns to set, or compare {name} in the ON condition.",
                line=clause.line,
                column=clause.column,
            )
        left_out = placing & self.equal
        return tuple(self._from_source(c) for c in columns if c.name not in left_out)

    def _insert_star(self, clause: MergeInsert) -> tuple[SetColumn, ...]:
        """The values of ``INSERT *``. Columns that the source lacks get their default."""
        found = self._in_source(clause)
        return tuple(
            self._from_source(c)
            if c in found
            else SetColumn(column=c.name, value=default_value(self.table, c))
            for c in self.table.all_columns
        )

    def _in_source(self, clause: MergeClause) -> tuple[Column, ...]:
        """The columns of the target for which a star stands.

        AnalysisError if the target lacks one that has just been added to it.
        """
        columns = self.table.all_columns
        if self.source_columns is None:
            return columns
        missing = set(self.source_columns).difference(c.name for c in columns)
        if missing:
            raise AnalysisError(
                f"table {self.table.name} was altered by another statement meanwhile",
                detail=f"It has no column {', '.join(sorted(missing))} any more.",
                hint="Run the statement again.",
                line=clause.line,
                column=clause.column,
            )
        return tuple(c for c in columns if c.name in self.source_columns)

    def _from_source(self, column: Column) -> SetColumn:
        name = f"{quote_identifier(self.source_alias)}.{quote_identifier(column.name)}"
        return SetColumn(column=column.name, value=SqlText.of(name))


def _statement_ids(clauses: Sequence[MergeClause]) -> list[StatementId]:
    """The statement id of each clause."""
    places = range(len(clauses))
    order = sorted(places, key=lambda place: _LEG_ORDER.index(type(clauses[place])))
    return [StatementId(order.index(place)) for place in places]


def merge_source(statement: Merge, lowering: Lowering) -> SqlText:
    """The query of the source, whose columns have the names that the alias gives them."""
    text = lowering.text(statement.source)
    if not statement.names:
        return SqlText.of("SELECT * FROM ", text)
    names = ", ".join(quote_identifier(name.name) for name in statement.names)
    alias = quote_identifier(statement.alias)
    return SqlText.of("SELECT * FROM (SELECT * FROM ", text, f") AS {alias}({names})")


def _key_pairs(
    condition: exp.Expr, table: Table, alias: str, source_alias: str
) -> Iterator[KeyPair]:
    for node in conjuncts(condition):
        if not isinstance(node, exp.EQ):
            continue
        for left, right in ((node.left, node.right), (node.right, node.left)):
            if _qualified(left, alias) and _qualified(right, source_alias):
                column = table.column(left.name)
                if column is not None:
                    yield KeyPair(target=column.name, source=right.name)


def _qualified(node: exp.Expr, alias: str) -> bool:
    return (
        isinstance(node, exp.Column)
        and len(node.parts) == 2
        and node.table.lower() == alias.lower()
    )


def _qualifier(column: exp.Column) -> str | None:
    """What stands first before a column's name, in lower case; None for a bare name."""
    return column.parts[0].name.lower() if len(column.parts) > 1 else None


def _is_table(source: Fragment) -> bool:
    return isinstance(source.tree, exp.Table) and not source.tables[0].is_common


def merge_fragments(statement: Merge) -> Iterator[Fragment]:
    """The source, the ON condition, and the texts of the clauses."""
    yield from (statement.source, statement.on)
    for clause in statement.clauses:
        yield from _fragments_of(clause)


def _fragments_of(clause: MergeClause) -> Iterator[Fragment]:
    values: list[Value] = [] if clause.condition is None else [clause.condition]
    if isinstance(clause, MergeUpdate):
        values += [a.value for a in clause.assignments or ()]
    elif isinstance(clause, MergeInsert):
        values += clause.values or ()
    return (value for value in values if isinstance(value, Fragment))
