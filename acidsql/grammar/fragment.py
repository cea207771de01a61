"""A piece of a statement's text → Fragment: its tree, its tables, and the places to fill in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.bucket_sample import refuse_length
from acidsql.grammar.cursor import Cursor, unquote
from acidsql.grammar.dialect import (
    PlacedParseError,
    parse_expression_tree,
    parse_query_tree,
    parse_relation_tree,
)
from acidsql.grammar.instants import instant_words
from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.grammar.missing import refuse_missing, refuse_unbalanced
from acidsql.grammar.near import name_hint, near_clause
from acidsql.grammar.nesting import on_deep_stack
from acidsql.grammar.runs import values_of
from acidsql.grammar.simple import simple_tree
from acidsql.grammar.text_casts import text_casts, with_names
from acidsql.grammar.walk import TreeWalk
from acidsql.model.hidden_column import HiddenColumn
from acidsql.statements.fragment import Default, Fragment, TableRef, TextCast, Value

_HIDDEN = {column.value: column for column in HiddenColumn}
_SIMPLE_TOKENS = 64
"""Longer expressions are rarely simple."""
_PAST = (["FOR", "SYSTEM_VERSION"], ["FOR", "SYSTEM_TIME"])
"""Hive's words for an earlier version of a table."""
_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_INSERT_WORDS = ("INTO", "OVERWRITE")

Edit = tuple[int, int, str]
"""A stretch ``start:end`` of the statement's text, and what is to stand in its place.

It is no longer than the stretch, and filled up with spaces.
"""


def starts_query(cursor: Cursor) -> bool:
    """Whether the next words start a query, perhaps in parentheses."""
    ahead = 0
    while cursor.peek(ahead).text == "(":
        ahead += 1
    after = cursor.peek(ahead + 1).text
    return cursor.peek(ahead).word in _QUERY_WORDS and after not in (",", ")", ".", "")


def query(cursor: Cursor) -> Fragment:
    """The rest of the cursor as a query."""
    if cursor.done:
        cursor.unexpected("expected a query")
    if not starts_query(cursor):
        if cursor.sees_any(*_QUERY_WORDS):
            cursor.step()
            cursor.unexpected("expected the rest of a query")
        cursor.unexpected("expected SELECT, WITH, VALUES, FROM or TABLE")
    refuse_inner_insert(cursor)
    fragment = _fragment(cursor, parse_query_tree)
    if not isinstance(fragment.tree, (exp.Query, exp.Values)):
        cursor.source.syntax_error("expected a query", cursor.offset)
    return fragment


def refuse_inner_insert(cursor: Cursor) -> None:
    """Raise UnsupportedStatementError for an INSERT in what is left of a query."""
    for ahead in range(cursor.end - cursor.at):
        if cursor.peek(ahead).word == "INSERT" and cursor.peek(ahead + 1).word in _INSERT_WORDS:
            cursor.source.refuse(
                "an INSERT inside a query is not supported",
                cursor.peek(ahead).start,
                hint="Write INSERT INTO … SELECT …, or FROM … INSERT INTO … SELECT ….",
            )


def relation(cursor: Cursor) -> Fragment:
    """The rest of the cursor as an item of a FROM clause: a table or a query, perhaps with joins.

    Its tree is that of ``SELECT NULL FROM`` the item.
    """
    return _fragment(cursor, parse_relation_tree)


def expression(cursor: Cursor, outer: Sequence[TableRef] = ()) -> Fragment:
    """The rest of the cursor as one expression. ``outer`` are the tables it may name."""
    if cursor.done:
        cursor.missing("a value")
    if _is_default(cursor):
        cursor.unexpected("expected an expression", hint="DEFAULT stands for a column's value.")
    simple = _simple(cursor)
    if simple is not None:
        return simple
    fragment = _fragment(cursor, parse_expression_tree, outer=outer)
    tree = fragment.tree
    if isinstance(tree, (exp.Star, exp.Tuple)) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    ):
        cursor.source.syntax_error("expected one value", cursor.offset)
    return fragment


def _simple(cursor: Cursor) -> Fragment | None:
    """The rest of the cursor as a column or a constant; None for any other expression."""
    source, tokens = cursor.source, cursor.source.tokens[cursor.at : cursor.end]
    start, end = tokens[0].start, tokens[-1].end
    tree = simple_tree(tokens, start) if len(tokens) <= _SIMPLE_TOKENS else None
    if tree is None:
        return None
    line, column = source.place(start)
    return Fragment(source.text[start:end], tree, line, column, hidden=_hidden(tokens))


def value(cursor: Cursor, outer: Sequence[TableRef] = ()) -> Value:
    """The rest of the cursor as the value of a column: an `expression`, or DEFAULT."""
    if not _is_default(cursor):
        return expression(cursor, outer)
    line, column = cursor.source.place(cursor.offset)
    cursor.step()
    return Default(line, column)


def _is_default(cursor: Cursor) -> bool:
    return cursor.end - cursor.at == 1 and cursor.sees("DEFAULT")


def stitched_query(cursor: Cursor, edits: Sequence[Edit]) -> Fragment:
    """The query of the cursor with some stretches replaced, so that all places stay the same."""
    return _fragment(cursor, parse_query_tree, edits=edits)


def table_fragment(source: Source, ref: TableRef) -> Fragment:
    """A table name as a fragment: its one TableRef covers the whole text."""
    text = source.text[ref.start : ref.end]
    is_common = ref.database is None and ref.table.lower() in source.common_tables
    database = exp.to_identifier(ref.database) if ref.database else None
    return Fragment(
        text=text,
        tree=exp.Table(this=exp.to_identifier(ref.table), db=database),
        line=ref.line,
        column=ref.column,
        tables=(replace(ref, start=0, end=len(text), is_common=is_common),),
    )


def sampled_table(cursor: Cursor) -> Fragment | None:
    """A table with a sample of its buckets and perhaps an alias, as `table_fragment`.

    The text has the sample, but not the alias. None, and no step, if no such table is next.
    """
    ahead = Cursor(cursor.source, cursor.at, cursor.end)
    ahead.table()
    if not ahead.sees("TABLESAMPLE", "(", "BUCKET"):
        return None
    ahead.step()
    ahead.skip()
    fragment = relation(Cursor(cursor.source, cursor.at, ahead.at))
    cursor.at = ahead.at
    named = cursor.accept("AS") or cursor.sees_name()
    alias = cursor.name("an alias").name if named else None
    return replace(
        fragment,
        tree=fragment.tree.args["from_"].this,
        tables=tuple(replace(ref, alias=alias) for ref in fragment.tables),
    )


def _fragment(
    cursor: Cursor,
    parse: Callable[[str], exp.Expr],
    *,
    edits: Sequence[Edit] = (),
    outer: Sequence[TableRef] = (),
) -> Fragment:
    source = cursor.source
    tokens = source.tokens[cursor.at : cursor.end]
    start, end = tokens[0].start, tokens[-1].end
    text, code = source.text[start:end], source.code[start:end]
    text, code, tokens = _edited(text, code, tokens, start, edits)
    words = instant_words(source, tokens, text)
    text, code, tokens = _edited(text, code, tokens, start, words)
    _check_symbols(source, tokens)
    runs = [t for t in tokens if t.kind is Kind.RUN]
    try:
        tree = _tree_with_runs(code, runs, start, parse)
    except PlacedParseError as error:
        _refuse_place(cursor, start + error.offset, of_arguments=error.of_arguments)
    except RecursionError:
        source.syntax_error("the expression is nested too deeply", start)
    walk = TreeWalk(source, start, code, outer)
    walk.run(tree)
    if walk.lacks_something:
        refuse_missing(source, cursor.at, cursor.end)
    hidden = _hidden(tokens)
    if hidden:
        walk.refuse_leaks(hidden)
    walk.check_parameters([(t.kind, t.text, t.start - start) for t in tokens])
    tables = walk.sorted_tables()
    casts = with_names(list(text_casts(source, tokens, start)), tree)
    _refuse_in_samples(source, start, tables, casts)
    line, column = source.place(start)
    return Fragment(
        text=text,
        tree=tree,
        line=line,
        column=column,
        tables=tuple(tables),
        parameters=tuple(sorted(walk.parameters, key=lambda p: p.start)),
        stars=tuple(walk.sorted_stars()),
        hidden=hidden,
        shows_columns=bool(walk.leaks),
        qualifiers=tuple(walk.qualifiers),
        long_names=tuple(walk.long_names),
        casts=casts,
    )


def _refuse_in_samples(
    source: Source, start: int, tables: Sequence[TableRef], casts: Sequence[TextCast]
) -> None:
    """Refuse CASTs in TABLESAMPLE (BUCKET … ON …), whose expressions are taken as they are."""
    samples = [ref.sample for ref in tables if ref.sample is not None]
    for cast in casts:
        if any(sample.start <= cast.start < sample.end for sample in samples):
            source.refuse(
                f"ON in TABLESAMPLE takes no CAST to {cast.kind}",
                start + cast.start,
                hint="Write substr(CAST(… AS string), 1, n).",
            )


def _edited(
    text: str, code: str, tokens: list[Token], start: int, edits: Iterable[Edit]
) -> tuple[str, str, list[Token]]:
    """Text, code and tokens, which begin at ``start`` of the statement, after some edits."""
    for low, high, new in edits:
        blank = "".join(c if c == "\n" else " " for c in text[low - start : high - start])
        filled = new + blank[len(new) :]
        text = text[: low - start] + filled + text[high - start :]
        code = code[: low - start] + filled + code[high - start :]
        tokens = [t for t in tokens if not low <= t.start < high]
    return text, code, tokens


def _hidden(tokens: Sequence[Token]) -> frozenset[HiddenColumn]:
    """The hidden columns that the tokens mention."""
    names = (unquote(t).lower() for t in tokens if t.kind in (Kind.WORD, Kind.QUOTED))
    return frozenset(_HIDDEN[name] for name in names if name in _HIDDEN)


def _tree_with_runs(
    code: str, runs: Sequence[Token], start: int, parse: Callable[[str], exp.Expr]
) -> exp.Expr:
    """The tree of the code, which begins at ``start`` of the statement.

    A run of an ``IN (…)`` has no nodes: its values are in the meta of the In, as "run". sqlglot is
    shown a name of one letter in its place.
    """
    listed = [t for t in runs if not t.text.startswith("(")]
    if not listed:
        return _tree(code, parse)
    parts, at = [], 0
    for run in listed:
        blank = "".join(c if c == "\n" else " " for c in run.text[1:])
        parts += [code[at : run.start - start], "r", blank]
        at = run.end - start
    tree = _tree("".join([*parts, code[at:]]), parse)
    texts = {run.start - start: run.text for run in listed}
    for node in tree.find_all(exp.In):
        only = node.expressions[0] if len(node.expressions) == 1 else None
        if isinstance(only, exp.Column) and only.this.meta.get("start") in texts:
            node.set("expressions", [exp.Null()])
            text = texts.pop(only.this.meta["start"])
            node.meta["run"] = tuple(value for *_, value in values_of(text))
    # What is left stands in another place than IN.
    return _tree(code, parse) if texts else tree


def _tree(code: str, parse: Callable[[str], exp.Expr]) -> exp.Expr:
    try:
        return parse(code)
    except RecursionError:
        return on_deep_stack(lambda: parse(code))


def _refuse_place(cursor: Cursor, offset: int, *, of_arguments: bool) -> NoReturn:
    """Raise SqlSyntaxError for the rest of a cursor; ``offset`` is where the parser stopped."""
    source = cursor.source
    refuse_unbalanced(source, source.tokens[cursor.at : cursor.end])
    refuse_missing(source, cursor.at, cursor.end)
    index = source.index_at(offset)
    for at in range(cursor.at, cursor.end):
        Cursor(source, at).refuse_identifier_clause()
    refuse_length(source, index)
    if [t.word for t in source.tokens[index : index + 2]] in _PAST:
        source.refuse(
            "FOR SYSTEM_VERSION and SYSTEM_TIME AS OF are not supported",
            offset,
            hint="Tables keep no earlier versions. A transaction reads one snapshot.",
        )
    _refuse_partitioned_function(source, index)
    word = source.tokens[index].text if index < len(source.tokens) else ""
    near = f' near "{word[:20]}"' if word else ""
    hint = near_clause(source.tokens, index, expected=False) or name_hint(source.tokens, index)
    what = "wrong number of arguments" if of_arguments else "syntax error"
    source.syntax_error(f"{what}{near}", offset, hint=hint)


def _refuse_partitioned_function(source: Source, index: int) -> None:
    """Refuse Hive's ``noop(ON …)``, where the parser stops at ON."""
    words = [token.word or token.text for token in source.tokens[max(index - 2, 0) : index + 1]]
    match words:
        case [name, "(", "ON"] if name != "JOIN":
            start = source.tokens[index - 2].start
            source.refuse(
                f"the partitioned table function {name}(ON …) is not supported",
                start,
                hint="Use window functions: e OVER (PARTITION BY … ORDER BY …).",
            )


def _check_symbols(source: Source, tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.kind is not Kind.SYMBOL:
            continue
        if token.text == "|" and source.text.startswith("|>", token.start):
            source.refuse(
                "pipe syntax is not supported",
                token.start,
                hint="Write the steps as subqueries or common table expressions.",
            )
        if token.text in "{}$@#;":
            source.syntax_error(f'unexpected "{token.text}"', token.start)
