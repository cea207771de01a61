"""Constraints of columns and tables: NOT NULL, DEFAULT, CHECK, and keys that are only shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import expression
from acidsql.grammar.lexer import Source
from acidsql.model.constraint import ConstraintKind
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.nondeterministic import first_nondeterministic
from acidsql.statements.several_rows import of_several_rows

_STATES = (
    "ENABLE", "ENFORCED", "DISABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY",
)  # fmt: skip
_BEGINNINGS = ("CONSTRAINT", "NOT", "DEFAULT", "CHECK", "PRIMARY", "UNIQUE", "REFERENCES")
COLUMN_WORDS = (*_BEGINNINGS, *_STATES, "COMMENT", "NULL", "FOREIGN", "GENERATED", "COLLATE")
"""Words after which the type of a column has ended."""
_REFUSED = {
    "NULL": "Leave it out: a column without NOT NULL takes NULL.",
    "GENERATED": "Compute the value in the query that fills the table.",
    "COLLATE": "Texts are compared by their bytes.",
}
_TABLE_KEYS = (("PRIMARY", "KEY"), ("UNIQUE", "("), ("FOREIGN", "KEY"), ("CHECK", "("))
_KEYS = (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE, ConstraintKind.FOREIGN_KEY)
_INVALID = 10326
"""Hive's error for a constraint that it does not support (INVALID_CONSTRAINT)."""
_DEFAULT_LENGTH = 255


@dataclass(slots=True)
class _State:
    """ENABLE or DISABLE, VALIDATE or NOVALIDATE, RELY or NORELY; None if it is not said."""

    enabled: bool | None = None
    validated: bool = False
    rely: bool | None = None


def constraint_expression(kind: ConstraintKind, text: str) -> Fragment:
    """The expression of a CHECK or DEFAULT that a table has, from its text.

    Raises SqlError for what no CREATE TABLE accepts: another program may have written the text.
    """
    cursor = Cursor(Source(text))
    if kind is ConstraintKind.DEFAULT:
        value = _default(cursor)
        cursor.expect_end()
        return value
    return _condition(cursor)


def sees_table_constraint(cursor: Cursor) -> bool:
    """Whether a constraint of the table is next, not a column."""
    named = cursor.sees("CONSTRAINT")
    ahead = 2 if named else 0
    if named and cursor.peek(ahead).word == "CHECK":
        return True
    words = cursor.peek(ahead).word, cursor.peek(ahead + 1).word or cursor.peek(ahead + 1).text
    return words in _TABLE_KEYS


def parse_table_constraint(cursor: Cursor) -> ConstraintDefinition:
    """Parse ``[CONSTRAINT n] PRIMARY KEY (a) | UNIQUE (a) | FOREIGN KEY (a) … | CHECK (e)``."""
    start = cursor.offset
    name = cursor.name("a constraint") if cursor.accept("CONSTRAINT") else None
    if cursor.sees("CHECK"):
        return _check(cursor, name, start)
    parent: TableRef | None = None
    parent_columns: tuple[Identifier, ...] = ()
    kind = _key(cursor, "CHECK, PRIMARY KEY, UNIQUE or FOREIGN KEY")
    columns = cursor.names_in_parentheses()
    if kind is ConstraintKind.FOREIGN_KEY:
        parent, parent_columns = _references(cursor)
        if len(parent_columns) != len(columns):
            cursor.source.analysis_error(
                "a FOREIGN KEY has as many columns as it refers to", start, code=_INVALID
            )
    return _made(cursor, kind, name, columns, start, parent=parent, parent_columns=parent_columns)


def parse_column_constraint(cursor: Cursor, column: Identifier) -> ConstraintDefinition | None:
    """Parse a constraint of ``column`` if one is next."""
    word = cursor.peek().word
    if word in _REFUSED:
        cursor.source.refuse(
            f"a column with {word} is not supported", cursor.offset, hint=_REFUSED[word]
        )
    if word not in _BEGINNINGS:
        return None
    start = cursor.offset
    name = cursor.name("a constraint") if cursor.accept("CONSTRAINT") else None
    if cursor.sees("CHECK"):
        return _check(cursor, name, start)
    value: Fragment | None = None
    parent: TableRef | None = None
    parent_columns: tuple[Identifier, ...] = ()
    if cursor.accept("NOT", "NULL"):
        kind = ConstraintKind.NOT_NULL
    elif cursor.accept("DEFAULT"):
        kind, value = ConstraintKind.DEFAULT, _default(cursor)
    elif cursor.sees("REFERENCES"):
        kind = ConstraintKind.FOREIGN_KEY
        parent, parent_columns = _references(cursor)
    else:
        kind = _key(cursor, "NOT NULL, DEFAULT, CHECK, PRIMARY KEY, UNIQUE or REFERENCES")
    return _made(
        cursor, kind, name, (column,), start,
        value=value, parent=parent, parent_columns=parent_columns,
    )  # fmt: skip


def _key(cursor: Cursor, words: str) -> ConstraintKind:
    if cursor.accept("PRIMARY", "KEY"):
        return ConstraintKind.PRIMARY_KEY
    if cursor.accept("FOREIGN", "KEY"):
        return ConstraintKind.FOREIGN_KEY
    if not cursor.accept("UNIQUE"):
        cursor.unexpected(f"expected {words}")
    return ConstraintKind.UNIQUE


def _references(cursor: Cursor) -> tuple[TableRef, tuple[Identifier, ...]]:
    cursor.expect("REFERENCES")
    return cursor.table(), cursor.names_in_parentheses()


def _check(cursor: Cursor, name: Identifier | None, start: int) -> ConstraintDefinition:
    cursor.expect("CHECK")
    if not cursor.sees("("):
        cursor.unexpected("expected (", hint="The condition stands in parentheses: CHECK (…).")
    value = _condition(cursor.parenthesised())
    columns = tuple(Identifier(n, value.line, value.column) for n in mentioned_columns(value))
    return _made(cursor, ConstraintKind.CHECK, name, columns, start, value=value)


def _condition(cursor: Cursor) -> Fragment:
    """Parse the rest of the cursor as the expression of a CHECK."""
    at = cursor.offset
    value = expression(cursor)
    _refuse_outside_of_row(cursor.source, value, at, "CHECK")
    return value


def _default(cursor: Cursor) -> Fragment:
    """Parse the value of DEFAULT: it ends at a comma, or where the next clause begins."""
    at = cursor.offset
    first = cursor.at
    if cursor.done or cursor.sees(","):
        cursor.unexpected("expected a value")
    cursor.skip()
    rest = cursor.until(",", *COLUMN_WORDS)
    value = expression(Cursor(cursor.source, first, rest.end))
    _refuse_outside_of_row(cursor.source, value, at, "DEFAULT")
    if next(value.tree.find_all(exp.Column), None) is not None:
        _invalid(cursor.source, at, "DEFAULT names a column", "It is a constant, or a call.")
    if len(value.text) > _DEFAULT_LENGTH:
        _invalid(cursor.source, at, f"DEFAULT has more than {_DEFAULT_LENGTH} characters", None)
    return value


def _refuse_outside_of_row(source: Source, value: Fragment, at: int, what: str) -> None:
    """Refuse what a single row does not tell, or what is not the same at each call."""
    tree = value.tree
    if tree.find(exp.Query) is not None:
        _invalid(source, at, f"{what} has a subquery", None)
    several = of_several_rows(tree) or ("a star" if tree.find(exp.Star) is not None else None)
    if several is not None:
        _invalid(source, at, f"{what} has {several}", None)
    if value.parameters:
        _invalid(source, at, f"{what} has a parameter", "Write the value itself.")
    for column in sorted(value.hidden):
        _invalid(source, at, f"{what} mentions {column.value}", None)
    changing = first_nondeterministic(value, [tree])
    if changing is not None:
        _invalid(source, at, f'{what} calls "{changing[0]}"', "Each call gives another value.")


def mentioned_columns(value: Fragment) -> tuple[str, ...]:
    """The columns that an expression mentions, each once. Of ``s.f``, a field, that is ``s``."""
    columns = value.tree.find_all(exp.Column)
    return tuple(dict.fromkeys(column.parts[0].name.lower() for column in columns))


def _made(
    cursor: Cursor,
    kind: ConstraintKind,
    name: Identifier | None,
    columns: tuple[Identifier, ...],
    start: int,
    *,
    value: Fragment | None = None,
    parent: TableRef | None = None,
    parent_columns: tuple[Identifier, ...] = (),
) -> ConstraintDefinition:
    at = cursor.offset
    state = _state(cursor)
    enabled = state.enabled is not False
    if kind in _KEYS and enabled:
        _invalid(
            cursor.source,
            start,
            f"{kind.value} is not enforced",
            "Write DISABLE NOVALIDATE behind it: then it is kept and shown, but not checked.",
        )
    if state.validated:
        _invalid(cursor.source, at, "VALIDATE is not supported", "Write NOVALIDATE.")
    line, column = cursor.source.place(start)
    return ConstraintDefinition(
        kind, name, columns, line, column, value, parent, parent_columns, enabled,
        rely=enabled if state.rely is None else state.rely,
    )  # fmt: skip


def _state(cursor: Cursor) -> _State:
    state = _State()
    while cursor.sees_any(*_STATES) or cursor.sees("NOT", "ENFORCED"):
        if cursor.accept("NOT", "ENFORCED"):
            state.enabled = False
            continue
        word = cursor.step().word
        match word:
            case "ENABLE" | "ENFORCED" | "DISABLE":
                state.enabled = word != "DISABLE"
            case "VALIDATE" | "NOVALIDATE":
                state.validated = word == "VALIDATE"
            case _:
                state.rely = word == "RELY"
    return state


def _invalid(source: Source, at: int, fact: str, hint: str | None) -> NoReturn:
    source.analysis_error(f"Invalid Constraint syntax: {fact}", at, hint=hint, code=_INVALID)
