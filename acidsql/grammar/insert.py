"""INSERT INTO and INSERT OVERWRITE. A VALUES list is read row by row."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import chain

from sqlglot import exp

from acidsql.errors import AnalysisError
from acidsql.grammar.cursor import Cursor, string_value
from acidsql.grammar.dialect import parse_expression_tree
from acidsql.grammar.fragment import (
    expression,
    query,
    starts_query,
    stitched_query,
)
from acidsql.grammar.lexer import Kind, Source
from acidsql.grammar.runs import rows_of
from acidsql.statements.fragment import Constant, Fragment, Identifier, Parameter, Star, TableRef
from acidsql.statements.insert import Insert, PartitionValue

_CONSTANT_NODES = (
    exp.Literal,
    exp.Neg,
    exp.Null,
    exp.Boolean,
    exp.Cast,
    exp.DataType,
    exp.Placeholder,
)
_PLAIN_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")

_LITERAL_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")

_Row = list[tuple[int, Fragment | Constant]]
"""The values of one row, each with its place in the statement."""


def parse_insert(cursor: Cursor, with_at: int | None = None) -> Insert:
    """Parse an INSERT from the cursor. ``with_at`` is the index of a WITH before it, if any."""
    header = cursor.offset
    cursor.expect("INSERT")
    overwrite = cursor.accept("OVERWRITE")
    if overwrite:
        _refuse_directory(cursor)
    else:
        cursor.expect("INTO")
    cursor.accept("TABLE")
    target = cursor.table()
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if cursor.sees("IF"):
        cursor.source.refuse(
            "IF NOT EXISTS is not supported in INSERT", cursor.offset, hint="Use MERGE."
        )
    if cursor.sees("BY", "NAME"):
        cursor.source.refuse(
            "INSERT BY NAME is not supported yet",
            cursor.offset,
            hint="List the columns after the table: INSERT INTO t (a, b) SELECT a, b ….",
        )
    columns = _columns(cursor, target)
    if with_at is not None:
        hole = (header, cursor.offset)
        if not starts_query(cursor) or cursor.sees("WITH"):
            cursor.unexpected("expected SELECT, FROM or TABLE")
        whole = Cursor(cursor.source, with_at, cursor.end)
        cursor.at = cursor.end
        return Insert(target, partition, columns, stitched_query(whole, hole), None, overwrite)
    rows = _values(Cursor(cursor.source, cursor.at, cursor.end))
    if rows is None:
        source, values = query(cursor), None
    else:
        source = _values_source(cursor, rows)
        values = tuple(tuple(value for _, value in row) for row in rows)
    cursor.at = cursor.end
    return Insert(target, partition, columns, source, values, overwrite)


def _refuse_directory(cursor: Cursor) -> None:
    if cursor.sees("DIRECTORY") or cursor.sees("LOCAL", "DIRECTORY"):
        cursor.source.refuse(
            "INSERT OVERWRITE DIRECTORY is not supported",
            cursor.offset,
            hint="Query the rows and write them with Spark.",
        )


def parse_partition(cursor: Cursor) -> tuple[PartitionValue, ...]:
    """Parse ``PARTITION (a = 1, b)``. Values are constants or parameters."""
    cursor.expect("PARTITION")
    items = cursor.parenthesised().listed(_partition_value)
    refuse_duplicates([item.column for item in items], "PARTITION")
    return tuple(items)


def _partition_value(inside: Cursor) -> PartitionValue:
    column = inside.name("a partition column")
    value = constant(inside.until(",")) if inside.accept("=") else None
    return PartitionValue(column, value)


def constant(part: Cursor) -> Fragment:
    """The rest of the cursor as a constant or parameter for a partition column."""
    value = expression(part)
    if not all(isinstance(node, _CONSTANT_NODES) for node in value.tree.walk()):
        part.source.syntax_error(
            "a partition value must be a constant",
            part.source.tokens[part.at].start,
            hint="Write text in single quotes.",
        )
    return value


def parse_fixed_partition(cursor: Cursor, statement: str) -> tuple[PartitionValue, ...]:
    """Parse ``PARTITION (a = 1, …)``, in which every item needs a value; () if it is not there."""
    at = cursor.offset
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if any(item.value is None for item in partition):
        cursor.source.syntax_error(f"every partition column needs a value in {statement}", at)
    return partition


def refuse_duplicates(names: list[Identifier], where: str) -> None:
    """Raise AnalysisError for a column that is listed twice."""
    seen: set[str] = set()
    for name in names:
        if name.name.lower() in seen:
            raise AnalysisError(
                f'column "{name.name}" appears twice in {where}', line=name.line, column=name.column
            )
        seen.add(name.name.lower())


def column_list(cursor: Cursor, target: TableRef) -> tuple[Identifier, ...]:
    """Parse ``(a, t.b, …)``: columns of the target."""
    cursor.expect("(")
    names = [column_of(cursor, target)]
    while cursor.accept(","):
        names.append(column_of(cursor, target))
    cursor.expect(")")
    refuse_duplicates(names, "the column list")
    return tuple(names)


def column_of(cursor: Cursor, target: TableRef, hidden_by: str | None = None) -> Identifier:
    """Parse a column of the target, perhaps qualified with the target's name or alias.

    ``hidden_by`` is the alias of a second table. If it equals the target's name, then that name as
    a qualifier means the second table.
    """
    start = cursor.offset
    parts = [cursor.name("a column")]
    while cursor.accept("."):
        parts.append(cursor.name("a column"))
    if len(parts) == 1:
        return parts[0]
    qualifier = [part.name.lower() for part in parts[:-1]]
    allowed = [[target.visible_name.lower()]]
    if hidden_by is None or hidden_by.lower() != target.table.lower():
        allowed.append([target.table.lower()])
    if target.database is not None:
        allowed.append([target.database.lower(), target.table.lower()])
    if qualifier not in allowed:
        cursor.source.refuse(
            f'"{".".join(part.name for part in parts)}" is not a column of the target',
            start,
            hint="Fields of a struct cannot be set one by one; set the whole column.",
        )
    return parts[-1]


def _columns(cursor: Cursor, target: TableRef) -> tuple[Identifier, ...] | None:
    if not cursor.sees("(") or starts_query(cursor):
        return None
    return column_list(cursor, target)


def _values(cursor: Cursor) -> list[_Row] | None:
    """The rows of a bare VALUES list, each in parentheses; None for any other query."""
    if not cursor.accept("VALUES"):
        return None
    rows = _run(cursor) if cursor.peek().kind is Kind.RUN else []
    while not rows or cursor.accept(","):
        start = cursor.offset
        row = _row(cursor) if cursor.sees("(") else None
        if row is None:
            return None
        _require_width(cursor.source, row, rows, start)
        rows.append(row)
    return rows if cursor.done else None


def _run(cursor: Cursor) -> list[_Row]:
    """Step over a run of rows of constants."""
    source, token = cursor.source, cursor.step()
    rows: list[_Row] = []
    for at, values in rows_of(token.text):
        row: _Row = [
            (token.start + offset, Constant(value, token.start + offset, source.place))
            for offset, value in values
        ]
        _require_width(source, row, rows, token.start + at)
        rows.append(row)
    return rows


def _require_width(source: Source, row: _Row, before: list[_Row], start: int) -> None:
    """AnalysisError for a row that has not as many values as the first one."""
    if before and len(row) != len(before[0]):
        source.analysis_error(
            f"row {len(before) + 1} of VALUES has {len(row)} values, row 1 has {len(before[0])}",
            start,
        )


def _row(cursor: Cursor) -> _Row | None:
    """Parse ``(value, …)``. None if a value is itself a row: Spark may take such a row apart."""
    inside = cursor.parenthesised()
    values: _Row = []
    while not values or inside.accept(","):
        start = inside.offset
        constant = _constant(inside)
        if constant is None:
            part = inside.until(",")
            if part.sees("(") and _is_row(part):
                return None
            constant = expression(part)
        values.append((start, constant))
    if not inside.done:
        inside.unexpected('expected "," or ")"')
    return values


def _is_row(part: Cursor) -> bool:
    inside = Cursor(part.source, part.at, part.end).parenthesised()
    return len(inside.items()) > 1


def _constant(cursor: Cursor) -> Fragment | None:
    """A plain constant as a fragment, made without sqlglot because VALUES lists are long.

    None for anything else.
    """
    first = cursor.peek()
    prefix = first.word in _LITERAL_TYPES or (first.kind is Kind.SYMBOL and first.text == "-")
    token = cursor.peek(1) if prefix else first
    if cursor.peek(2 if prefix else 1).text not in (",", ""):
        return None
    tree: exp.Expr
    if token.kind is Kind.NUMBER and _PLAIN_NUMBER.fullmatch(token.text):
        tree = exp.Literal(this=token.text, is_string=False)
    elif token.kind is Kind.STRING:
        tree = exp.Literal(this=string_value(token.text), is_string=True)
    elif token.word == "NULL":
        tree = exp.Null()
    elif token.word in ("TRUE", "FALSE"):
        tree = exp.Boolean(this=token.word == "TRUE")
    else:
        return None
    if first.text == "-" and token.kind is Kind.NUMBER:
        tree = exp.Neg(this=tree)
    elif prefix and first.word and token.kind is Kind.STRING:
        tree = exp.Cast(this=tree, to=_literal_type(first.word))
    elif prefix:
        return None
    cursor.at += 1 + prefix
    line, column = cursor.source.place(first.start)
    return Fragment(cursor.source.text[first.start : token.end], tree, line, column)


def _literal_type(word: str) -> exp.Expr:
    """The node of sqlglot for the type of a literal like ``DATE '…'``."""
    return _literal_cast(word).to.copy()


@cache
def _literal_cast(word: str) -> exp.Cast:
    tree = parse_expression_tree(f"{word} ''")
    assert isinstance(tree, exp.Cast)
    return tree


def _values_source(cursor: Cursor, rows: list[_Row]) -> Fragment:
    """The VALUES list as one query fragment, put together from the fragments of its values."""
    start, end = cursor.offset, cursor.source.tokens[cursor.end - 1].end
    line, column = cursor.source.place(start)
    fragments = [(at, v) for at, v in chain.from_iterable(rows) if isinstance(v, Fragment)]
    tables: list[TableRef] = []
    parameters: list[Parameter] = []
    stars: list[Star] = []
    for at, value in fragments:
        by, before = at - start, len(tables)
        tables += [replace(t, start=t.start + by, end=t.end + by) for t in value.tables]
        parameters += [replace(p, start=p.start + by, end=p.end + by) for p in value.parameters]
        stars += [
            replace(
                star,
                start=star.start + by,
                end=star.end + by,
                sources=tuple(index + before for index in star.sources),
            )
            for star in value.stars
        ]
    return Fragment(
        text=cursor.source.text[start:end],
        tree=exp.Values(expressions=[exp.Tuple(expressions=[v.tree for _, v in fragments])]),
        line=line,
        column=column,
        tables=tuple(tables),
        parameters=tuple(parameters),
        stars=tuple(stars),
        mentions_row_id=any(value.mentions_row_id for _, value in fragments),
    )
