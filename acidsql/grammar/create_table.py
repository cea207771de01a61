"""CREATE TABLE and DROP TABLE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from acidsql.errors import AnalysisError
from acidsql.grammar.constraint import (
    COLUMN_WORDS,
    parse_column_constraint,
    parse_table_constraint,
    sees_table_constraint,
)
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.lexer import Kind, Source
from acidsql.grammar.properties import properties
from acidsql.grammar.query import parse_query
from acidsql.grammar.storage_format import (
    Serde,
    parse_delimited,
    parse_format,
    parse_serde,
    parse_source,
    require_serde,
)
from acidsql.model.near import near_name
from acidsql.model.table import FileFormat
from acidsql.model.types import parse_type
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import (
    ColumnDefinition,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    DropTable,
)
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.query import Query

_COPY = "Write CREATE TABLE t AS SELECT * FROM …, which copies the rows."
_REFUSED_CLAUSES = {
    "OPTIONS": ("OPTIONS", "Use TBLPROPERTIES."),
    "WITH": ("WITH", "Use TBLPROPERTIES, or write AS before a query."),
    "SELECT": ("SELECT here", "Write AS before the query."),
    "CLONE": ("CLONE", _COPY),
    "SHALLOW": ("SHALLOW CLONE", _COPY),
    "DEEP": ("DEEP CLONE", _COPY),
    "CLUSTER": ("CLUSTER BY", "Write CLUSTERED BY (c, …) INTO n BUCKETS, or leave it out."),
}


_TABLE_WORDS = ("TABLE", "TRANSACTIONAL", "EXTERNAL", "TEMPORARY", "TEMP", "GLOBAL", "MANAGED")


def parse_create_table(cursor: Cursor) -> CreateTable | CreateTableAs | CreateTableLike:
    """Parse a CREATE TABLE: OR REPLACE, TEMPORARY and its kind may stand before TABLE."""
    cursor.expect("CREATE")
    replaces = cursor.accept("OR", "REPLACE")
    is_temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    kind = _kind(cursor)
    if replaces and cursor.sees("TABLE", "IF", "NOT", "EXISTS"):
        place = cursor.peek(1).start
        cursor.source.syntax_error("Can't combine IF NOT EXISTS and OR REPLACE.", place)
    table = _table(cursor, kind)
    if isinstance(table, CreateTableAs):
        inner = replace(table.table, is_temporary=is_temporary, replaces=replaces)
        return replace(table, table=inner)
    return replace(table, is_temporary=is_temporary, replaces=replaces)


def creates_table(cursor: Cursor) -> bool:
    """Whether the next words are CREATE [OR REPLACE] and one that may stand before a table."""
    after = 3 if cursor.sees("CREATE", "OR", "REPLACE") else 1
    words = [cursor.peek(n).word for n in range(after, after + 3)]
    is_other = any(word in ("VIEW", "FUNCTION", "MACRO") for word in words[1:])
    return cursor.sees("CREATE") and words[0] in _TABLE_WORDS and not is_other


def _table(cursor: Cursor, kind: str) -> CreateTable | CreateTableAs | CreateTableLike:
    external, transactional = kind == "EXTERNAL", kind == "TRANSACTIONAL"
    cursor.expect("TABLE")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    target = cursor.table()
    if cursor.sees("LIKE"):
        return _like(cursor, target, if_not_exists, kind)
    columns: tuple[ColumnDefinition, ...] = ()
    clauses: dict[str, Any] = {}
    if cursor.sees("("):
        columns, clauses["constraints"] = _columns(cursor.parenthesised())
    while not cursor.done and not cursor.sees("AS"):
        parse_clause(cursor, clauses, has_columns=bool(columns))
    take_row_format(cursor, clauses)
    clauses["transactional"] = transactional and _lets_be_transactional(cursor, clauses)
    clauses["external"], clauses["managed"] = external, kind == "MANAGED"
    partition_by = clauses.pop("partition_by", ())
    has_columns = bool(columns)
    if has_columns and partition_by:
        columns, clauses["partition_columns"] = _divided(columns, partition_by)
    table = CreateTable(target, columns, if_not_exists, **clauses)
    if has_columns and cursor.done:
        return table
    return CreateTableAs(table, partition_by, _query(cursor, has_columns=has_columns))


def _divided(
    columns: Sequence[ColumnDefinition], names: Sequence[Identifier]
) -> tuple[tuple[ColumnDefinition, ...], tuple[ColumnDefinition, ...]]:
    """The columns without those of these names, and the others, which are partition columns.

    As in Spark, PARTITIONED BY may name columns that the list has.
    """
    listed = {column.name.name.lower(): column for column in columns}
    chosen: dict[str, ColumnDefinition] = {}
    for identifier in names:
        name = identifier.name.lower()
        if name in chosen:
            raise AnalysisError(
                f'partition column "{identifier.name}" appears twice', **_place(identifier)
            )
        if name not in listed:
            near = near_name(name, list(listed))
            raise AnalysisError(
                f'partition column "{identifier.name}" is not among the columns',
                hint=f'Did you mean "{near}"?' if near else "Write its type behind it.",
                **_place(identifier),
            )
        chosen[name] = listed[name]
    return tuple(c for n, c in listed.items() if n not in chosen), tuple(chosen.values())


def _place(identifier: Identifier) -> dict[str, Any]:
    return {"line": identifier.line, "column": identifier.column}


def _kind(cursor: Cursor) -> str:
    """Parse [EXTERNAL | TRANSACTIONAL | MANAGED]. Returns the word, or ""."""
    kind = cursor.step().word if cursor.sees_any("EXTERNAL", "TRANSACTIONAL", "MANAGED") else ""
    word = cursor.peek().word
    before = f"{kind} ".lstrip()
    if word in ("GLOBAL", "TEMPORARY", "TEMP"):
        cursor.source.refuse(
            f"CREATE {before}{word} TABLE is not supported",
            cursor.offset,
            hint="Write CREATE TEMPORARY TABLE; the table is one of the session.",
        )
    if kind == "TRANSACTIONAL" and word in ("EXTERNAL", "MANAGED"):
        instead = "write CREATE TABLE … LOCATION" if word == "EXTERNAL" else "leave MANAGED out"
        cursor.source.refuse(
            f"CREATE TRANSACTIONAL {word} TABLE is not supported",
            cursor.offset,
            hint=f"An ACID table is a managed table: {instead}.",
        )
    return kind


def _query(cursor: Cursor, *, has_columns: bool) -> Query:
    """Parse AS and its query."""
    if has_columns:
        cursor.source.refuse(
            "CREATE TABLE AS SELECT command cannot specify the list of columns for the target"
            " table",
            cursor.offset,
            hint="Name the columns in the query: SELECT e AS name.",
            code=10065,
        )
    if not cursor.accept("AS"):
        cursor.unexpected("expected the columns in parentheses, or AS and a query")
    return parse_query(cursor)


def _like(cursor: Cursor, target: TableRef, if_not_exists: bool, kind: str) -> CreateTableLike:
    cursor.expect("LIKE")
    source = cursor.table()
    clauses: dict[str, Any] = {}
    while not cursor.done:
        if not cursor.sees_any("STORED", "LOCATION", "TBLPROPERTIES"):
            cursor.source.refuse(
                f"CREATE TABLE LIKE … {cursor.peek().text.upper()} is not supported",
                cursor.offset,
                hint="STORED AS, LOCATION and TBLPROPERTIES may follow.",
            )
        parse_clause(cursor, clauses, has_columns=True)
    clauses["transactional"] = kind == "TRANSACTIONAL" and _lets_be_transactional(cursor, clauses)
    clauses["external"], clauses["managed"] = kind == "EXTERNAL", kind == "MANAGED"
    return CreateTableLike(target, source, if_not_exists, **clauses)


def parse_drop_table(cursor: Cursor) -> DropTable:
    """Parse a DROP TABLE from the cursor."""
    cursor.expect("DROP", "TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    target = cursor.table()
    cursor.accept("PURGE")
    return DropTable(target, if_exists)


def _lets_be_transactional(cursor: Cursor, clauses: dict[str, Any]) -> bool:
    """Whether the properties leave the kind to the word TRANSACTIONAL.

    AnalysisError if they contradict it.
    """
    pairs: tuple[tuple[str, str], ...] = clauses.get("properties", ())
    given = {key.lower(): value.lower() for key, value in pairs}
    if given.get("transactional", "true") != "true":
        cursor.source.analysis_error(
            "CREATE TRANSACTIONAL TABLE contradicts transactional=false",
            cursor.source.tokens[0].start,
        )
    return "transactional" not in given


def parse_columns(text: str, what: str = "column") -> tuple[ColumnDefinition, ...]:
    """The columns of a text like ``id int, v string``, as between the parentheses of CREATE TABLE.

    Raises the errors of `parse_create_table`, with places in this text.

    >>> [c.type for c in parse_columns("id int, m map<string, int>")]
    ['int', 'map<string, int>']
    """
    source = Source(text)
    cursor = Cursor(source)
    if cursor.done:
        source.syntax_error(f"no {what}", 0)
    return column_definitions(cursor, what)


def _columns(
    inside: Cursor,
) -> tuple[tuple[ColumnDefinition, ...], tuple[ConstraintDefinition, ...]]:
    """Parse ``a int, b string COMMENT s, PRIMARY KEY (a) …, …`` up to the end of the cursor."""
    columns: list[ColumnDefinition] = []
    constraints: list[ConstraintDefinition] = []
    while not columns or inside.accept(","):
        if columns and sees_table_constraint(inside):
            constraints.append(parse_table_constraint(inside))
        else:
            _add_column(inside, "column", columns)
    if not inside.done:
        inside.unexpected('expected "," or ")"')
    return tuple(columns), tuple(constraints)


def column_definitions(inside: Cursor, what: str) -> tuple[ColumnDefinition, ...]:
    """Parse ``a int, b string COMMENT s, …`` up to the end of the cursor."""
    columns: list[ColumnDefinition] = []
    while not columns or inside.accept(","):
        _add_column(inside, what, columns)
    if not inside.done:
        inside.unexpected('expected "," or ")"')
    return tuple(columns)


def _add_column(inside: Cursor, what: str, columns: list[ColumnDefinition]) -> None:
    column = column_definition(inside, what)
    if any(column.name.name.lower() == other.name.name.lower() for other in columns):
        inside.source.analysis_error(
            f'{what} "{column.name.name}" appears twice',
            inside.source.tokens[inside.at - 1].start,
        )
    columns.append(column)


def column_definition(inside: Cursor, what: str) -> ColumnDefinition:
    """Parse ``a int [constraint …] [COMMENT s]``."""
    name = inside.name(f"a {what}")
    if inside.sees("("):
        inside.source.refuse(
            "partition transforms are not supported",
            inside.source.tokens[inside.at - 1].start,
            hint="Partition by a column of its own, such as d string.",
        )
    if inside.done or inside.sees(","):
        inside.source.refuse(
            f'{what} "{name.name}" needs a type',
            inside.source.tokens[inside.at - 1].start,
            hint="PARTITIONED BY has either columns with their types or names of listed columns."
            if what == "partition column"
            else "Write its type behind it.",
        )
    if inside.sees(":"):
        inside.step()
    kind = parse_type_text(inside)
    comment = None
    constraints: list[ConstraintDefinition] = []
    while True:
        if comment is None and inside.accept("COMMENT"):
            comment = inside.string("a comment in quotes")
        elif (constraint := parse_column_constraint(inside, name)) is not None:
            constraints.append(constraint)
        else:
            return ColumnDefinition(name, kind, comment, tuple(constraints))


def parse_type_text(inside: Cursor) -> str:
    """Parse a type, up to a comma or a word that may follow the type of a column. Its text."""
    start, depth = inside.at, 0
    while not inside.done:
        token = inside.peek()
        if depth == 0 and (token.text == "," or token.word in COLUMN_WORDS):
            break
        if token.kind is Kind.SYMBOL:
            depth += {"<": 1, ">": -1}.get(token.text, 0)
        inside.skip()
    tokens = inside.source.tokens[start : inside.at]
    if not tokens:
        inside.unexpected("expected a type")
    first, last = tokens[0], tokens[-1]
    text = inside.source.code[first.start : last.end]
    try:
        parse_type(text)
    except ValueError as error:
        inside.source.refuse(str(error), first.start, hint="See docs/statements.md for the types.")
    return text


def parse_clause(cursor: Cursor, clauses: dict[str, Any], *, has_columns: bool) -> None:
    """Parse the next clause into the arguments of CreateTable."""
    _refuse_clause(cursor)
    start, word = cursor.offset, cursor.peek().word
    before = len(clauses)
    if cursor.accept("PARTITIONED", "BY"):
        _partitioned_by(cursor, clauses, has_columns=has_columns)
    elif cursor.accept("CLUSTERED", "BY"):
        buckets = _buckets(cursor)
        if "bucket_columns" not in clauses:
            clauses |= buckets
    else:
        for words, argument, read in _OTHER_CLAUSES:
            if cursor.accept(*words):
                clauses.setdefault(argument, read(cursor))
                break
        else:
            cursor.unexpected("expected a clause of CREATE TABLE")
    if len(clauses) == before:
        cursor.source.syntax_error(f"{word} is given twice", start)


def _row_format(cursor: Cursor) -> Serde | str | None:
    return parse_serde(cursor) if cursor.sees("SERDE") else parse_delimited(cursor)


def _partitioned_by(cursor: Cursor, clauses: dict[str, Any], *, has_columns: bool) -> None:
    """Parse ``(a type, …)`` or, of columns that are listed or those of a query, ``(a, …)``."""
    start, inside = cursor.at, cursor.parenthesised()
    if clauses.keys() & {"partition_by", "partition_columns"}:
        return  # which the caller refuses: the clause is given twice
    between = cursor.source.tokens[inside.at + 1 : inside.end : 2]
    if has_columns and any(token.text != "," for token in between):
        given = column_definitions(inside, "partition column")
        clauses.setdefault("partition_columns", given)
        return
    cursor.at = start
    clauses.setdefault("partition_by", cursor.names_in_parentheses())


def take_row_format(cursor: Cursor, clauses: dict[str, Any]) -> None:
    """Put what ROW FORMAT says, if it is there, into the arguments of CreateTable."""
    if "row_format" not in clauses:
        return
    row_format: Serde | str | None = clauses.pop("row_format")
    if not isinstance(row_format, Serde):
        clauses["delimited"], clauses["field_delimiter"] = True, row_format
        return
    require_serde(cursor, row_format, clauses.get("stored_as"))
    if row_format.format is FileFormat.TEXT:
        clauses["delimited"], clauses["field_delimiter"] = True, row_format.delimiter


def _refuse_clause(cursor: Cursor) -> None:
    refused = _REFUSED_CLAUSES.get(cursor.peek().word)
    if refused is not None:
        cursor.source.refuse(f"{refused[0]} is not supported", cursor.offset, hint=refused[1])


def _buckets(cursor: Cursor) -> dict[str, Any]:
    """Parse ``(a, …) [SORTED BY (b [ASC | DESC] [NULLS FIRST | LAST], …)] INTO n BUCKETS``."""
    columns = cursor.names_in_parentheses()
    sort_columns: tuple[Identifier, ...] = ()
    if cursor.accept("SORTED", "BY"):
        sort_columns = tuple(cursor.parenthesised().listed(_sort_column))
    cursor.expect("INTO")
    offset = cursor.offset
    count = cursor.integer("the number of buckets")
    if count < 1:
        cursor.source.syntax_error("a table has at least one bucket", offset)
    cursor.expect("BUCKETS")
    return {"bucket_columns": columns, "bucket_count": count, "sort_columns": sort_columns}


def _sort_column(inside: Cursor) -> Identifier:
    name = inside.name("a column")
    if not inside.accept("ASC"):
        inside.accept("DESC")
    if inside.accept("NULLS") and not (inside.accept("FIRST") or inside.accept("LAST")):
        inside.unexpected("expected FIRST or LAST")
    return name


def parse_skew(cursor: Cursor) -> tuple[Identifier, ...]:
    """Parse ``(a, …) ON (…) [STORED AS DIRECTORIES]``. Returns the columns."""
    columns = cursor.names_in_parentheses()
    cursor.expect("ON")
    values = cursor.parenthesised()
    if values.done:
        values.unexpected("expected a value")
    cursor.accept("STORED", "AS", "DIRECTORIES")
    return columns


_OTHER_CLAUSES: tuple[tuple[tuple[str, ...], str, Callable[[Cursor], Any]], ...] = (
    (("COMMENT",), "comment", lambda cursor: cursor.string("a comment in quotes")),
    (("SKEWED", "BY"), "skew_columns", parse_skew),
    (("ROW", "FORMAT"), "row_format", _row_format),
    (("STORED",), "stored_as", parse_format),
    (("USING",), "stored_as", parse_source),
    (("LOCATION",), "location", lambda cursor: cursor.string("a location in quotes")),
    (("TBLPROPERTIES",), "properties", lambda cursor: properties(cursor.parenthesised())),
)
"""The first words of a clause, the argument of CreateTable, and what parses the rest."""
