"""Text → statement, or a refusal with line, column and hint."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from acidsql.grammar.alter_table import parse_alter_table
from acidsql.grammar.analyze import parse_analyze
from acidsql.grammar.cache import (
    parse_cache,
    parse_clear_cache,
    parse_refresh,
    parse_uncache,
)
from acidsql.grammar.check import parse_check
from acidsql.grammar.comment import parse_comment
from acidsql.grammar.configuration import parse_reset, parse_set
from acidsql.grammar.create_table import creates_table, parse_create_table, parse_drop_table
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.database import (
    DATABASE_WORDS,
    parse_alter_database,
    parse_create_database,
    parse_drop_database,
    parse_use,
)
from acidsql.grammar.delete import parse_delete
from acidsql.grammar.escapes import refuse_no_characters
from acidsql.grammar.explain import parse_explain_words
from acidsql.grammar.export_table import parse_export, parse_import
from acidsql.grammar.fragment import starts_query
from acidsql.grammar.insert import parse_insert
from acidsql.grammar.insert_directory import parse_insert_directory, sees_insert_directory
from acidsql.grammar.lexer import Source
from acidsql.grammar.load import parse_load
from acidsql.grammar.materialized_view import (
    parse_alter_materialized_view,
    parse_create_materialized_view,
    parse_drop_materialized_view,
)
from acidsql.grammar.merge import parse_merge
from acidsql.grammar.multi_insert import parse_multi_insert, sees_multi_insert
from acidsql.grammar.nesting import refuse_deep
from acidsql.grammar.parameters import check_arguments
from acidsql.grammar.partition import parse_repair
from acidsql.grammar.query import parse_query
from acidsql.grammar.refusal import refuse
from acidsql.grammar.replaced import Replaced
from acidsql.grammar.show import parse_describe, parse_show
from acidsql.grammar.transaction import (
    parse_abort,
    parse_begin,
    parse_commit,
    parse_rollback,
    refuse_compound,
)
from acidsql.grammar.truncate import parse_truncate
from acidsql.grammar.update import parse_update
from acidsql.grammar.vacuum import parse_vacuum
from acidsql.grammar.view import (
    creates_view,
    parse_alter_view,
    parse_create_view,
    parse_drop_view,
)
from acidsql.grammar.with_clause import parse_common_tables, parse_with, refuse_common_target
from acidsql.statements import Statement
from acidsql.statements.delete import Delete
from acidsql.statements.explain import Explain
from acidsql.statements.insert import Insert
from acidsql.statements.insert_directory import InsertDirectory
from acidsql.statements.merge import Merge
from acidsql.statements.update import Update


def _insert(cursor: Cursor, with_at: int | None = None) -> Insert | InsertDirectory:
    if sees_insert_directory(cursor):
        return parse_insert_directory(cursor, with_at)
    return parse_insert(cursor, with_at)


_CHANGES: dict[str, Callable[[Cursor], Update | Delete | Merge]] = {
    "UPDATE": parse_update,
    "DELETE": parse_delete,
    "MERGE": parse_merge,
}
_PARSERS: dict[str, Callable[[Cursor], Statement]] = {
    "INSERT": _insert,
    **_CHANGES,
    "TRUNCATE": parse_truncate,
    "LOAD": parse_load,
    "EXPORT": parse_export,
    "IMPORT": parse_import,
    "CHECK": parse_check,
    "ANALYZE": parse_analyze,
    "VACUUM": parse_vacuum,
    "USE": parse_use,
    "SHOW": parse_show,
    "DESCRIBE": parse_describe,
    "DESC": parse_describe,
    "MSCK": parse_repair,
    "REPAIR": parse_repair,
    "BEGIN": parse_begin,
    "START": parse_begin,
    "COMMIT": parse_commit,
    "ROLLBACK": parse_rollback,
    "SET": parse_set,
    "RESET": parse_reset,
    "ABORT": parse_abort,
    "COMMENT": parse_comment,
    "REFRESH": parse_refresh,
    "CACHE": parse_cache,
    "UNCACHE": parse_uncache,
    "CLEAR": parse_clear_cache,
}
_DEFINITIONS: dict[tuple[str, str], Callable[[Cursor], Statement]] = {
    ("DROP", "TABLE"): parse_drop_table,
    ("ALTER", "TABLE"): parse_alter_table,
    ("DROP", "VIEW"): parse_drop_view,
    ("CREATE", "MATERIALIZED"): parse_create_materialized_view,
    ("ALTER", "MATERIALIZED"): parse_alter_materialized_view,
    ("DROP", "MATERIALIZED"): parse_drop_materialized_view,
    ("ALTER", "VIEW"): parse_alter_view,
    **{("CREATE", word): parse_create_database for word in DATABASE_WORDS},
    **{("DROP", word): parse_drop_database for word in DATABASE_WORDS},
    **{("ALTER", word): parse_alter_database for word in DATABASE_WORDS},
}


def parse(
    text: str | Replaced,
    line: int = 1,
    column: int = 1,
    *,
    reflection: bool = False,
    arguments: Collection[str] | None = None,
) -> Statement:
    """Parse the one statement in a text. The text may end in a semicolon.

    In a statement of a script, variables are `Replaced` before.

    ``line`` and ``column`` are the place of the text in its script; all places in the statement and
    in errors count from there. ``reflection`` allows functions that call any method of Java.
    ``arguments`` are the names of the parameters that have a value; None if that is not to be
    checked. The n-th ``?`` is called ``_n``.

    Raises SqlSyntaxError for a text that does not parse, UnsupportedStatementError for a refused
    statement, and AnalysisError for clauses that do not fit together.

    >>> parse("DROP TABLE IF EXISTS db.t").if_exists
    True
    """
    source = Source(text, line, column, reflection=reflection)
    end = len(source.tokens)
    while end and source.tokens[end - 1].text == ";":
        end -= 1
    cursor = Cursor(source, 0, end)
    if cursor.done:
        source.syntax_error("no statement", 0)
    refuse_compound(cursor)
    for token in source.tokens[:end]:
        if token.text == ";":
            source.syntax_error(
                "expected one statement, found a second one",
                token.start,
                hint="execute_script and acidsql run take several statements.",
            )
    refuse_deep(source)
    refuse_no_characters(source)
    statement = _statement(cursor)
    cursor.expect_end()
    if arguments is not None and not isinstance(statement, Explain):
        check_arguments(source, arguments)
    return statement


def _statement(cursor: Cursor) -> Statement:
    word, second = cursor.peek().word, cursor.peek(1).word
    if word == "EXPLAIN":
        return _explain(cursor)
    if word == "WITH":
        return _with(cursor)
    if starts_query(cursor) or word in ("SELECT", "VALUES", "FROM", "TABLE"):
        return parse_multi_insert(cursor) if sees_multi_insert(cursor) else parse_query(cursor)
    if creates_view(cursor):
        return parse_create_view(cursor)
    if creates_table(cursor):
        return parse_create_table(cursor)
    definition = _DEFINITIONS.get((word, second))
    return (definition or _PARSERS.get(word, refuse))(cursor)


def _explain(cursor: Cursor) -> Explain:
    locks, ignored = parse_explain_words(cursor)
    if cursor.done:
        cursor.unexpected("expected a statement")
    if cursor.sees("EXPLAIN"):
        cursor.unexpected("expected a statement to explain")
    statement = _statement(cursor)
    assert not isinstance(statement, Explain)
    return Explain(statement, locks, ignored)


def _with(cursor: Cursor) -> Statement:
    """Parse a WITH and what follows it: a query, a multi-insert, or another statement of DML."""
    ahead = Cursor(cursor.source, cursor.at, cursor.end)
    with_ = parse_with(ahead)
    word = ahead.peek().word
    if sees_multi_insert(ahead):
        cursor.at = ahead.at
        return parse_multi_insert(cursor, with_)
    if word == "INSERT":
        cursor.at = ahead.at
        return _insert(cursor, with_.at)
    if word not in _CHANGES:
        _refuse_other(ahead)
        return parse_query(cursor)
    common = parse_common_tables(cursor)
    statement = _CHANGES[word](cursor)
    refuse_common_target(cursor, statement.target)
    return replace(statement, common=common)


def _refuse_other(cursor: Cursor) -> None:
    """Refuse a statement behind a WITH that cannot have one in front."""
    token = cursor.peek()
    if token.word in ("EXPLAIN", *_PARSERS) or any(
        token.word == first for first, _ in _DEFINITIONS
    ):
        cursor.source.refuse(
            f"WITH in front of {token.word} is not supported",
            token.start,
            hint="It can stand in front of a query, INSERT, UPDATE, DELETE or MERGE.",
        )
