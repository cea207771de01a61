"""FROM … INSERT INTO a SELECT … INSERT OVERWRITE TABLE b SELECT …."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from acidsql.grammar.cursor import Cursor, unquote
from acidsql.grammar.fragment import Edit, refuse_inner_insert, starts_query, stitched_query
from acidsql.grammar.insert import parse_insert_head
from acidsql.grammar.lexer import Kind
from acidsql.grammar.with_clause import WithClause
from acidsql.statements.fragment import Fragment
from acidsql.statements.insert import Insert
from acidsql.statements.multi_insert import MultiInsert, Relation

_NO_ALIAS = ("LATERAL", "PIVOT", "UNPIVOT", "SEMI", "ANTI", "INSERT")


@dataclass(frozen=True, slots=True)
class _Place:
    """A subquery or common table expression in the FROM, from token ``at`` up to ``end``.

    ``name`` is the token that stands for it in the legs.
    """

    at: int
    end: int
    name: int


def sees_multi_insert(cursor: Cursor) -> bool:
    """Whether a FROM is next that an INSERT INTO or INSERT OVERWRITE follows."""
    return cursor.sees("FROM") and bool(_inserts(cursor))


def parse_multi_insert(cursor: Cursor, with_: WithClause | None = None) -> Insert | MultiInsert:
    """Parse ``FROM … INSERT …`` from the cursor; one INSERT alone is an ordinary one.

    ``with_`` is a WITH in front of the FROM.
    """
    source, from_at = cursor.source, cursor.at
    inserts = _inserts(cursor)
    if inserts[0] == from_at + 1:
        cursor.step()
        cursor.unexpected("expected a table or a subquery")
    spans = list(pairwise([*inserts, cursor.end]))
    cursor.at = cursor.end
    if len(spans) == 1:
        start = from_at if with_ is None else with_.at
        return _leg(Cursor(source, start, cursor.end), inserts[0], [])
    clause = Cursor(source, from_at, inserts[0])
    places = list(_places(clause, with_))
    _refuse_common(clause, places, with_)
    begin = source.tokens[from_at].start
    edits = [edit for place in places for edit in _alone(clause, place)]
    first = source.tokens[inserts[0]].start
    legs = []
    for at, end in spans:
        before = source.tokens[at].start
        skipped = [(first, before, "")] if before > first else []
        legs.append(_leg(Cursor(source, from_at, end), at, [*edits, *skipped]))
    starts = [source.tokens[place.name].start - begin for place in places]
    for leg in legs:
        _refuse_evolution(clause, leg)
        _require_select(clause, leg)
        _refuse_expressions(clause, leg, starts, with_)
    relations = [
        Relation(start, _rows(clause, place, with_))
        for start, place in zip(starts, places, strict=True)
    ]
    return MultiInsert(_rest(clause, edits), tuple(relations), tuple(legs))


def _inserts(cursor: Cursor) -> list[int]:
    """The tokens INSERT of the INSERT clauses outside of parentheses."""
    ahead, found = Cursor(cursor.source, cursor.at, cursor.end), []
    while not ahead.done:
        is_insert = ahead.sees("INSERT") and ahead.peek(1).word in ("INTO", "OVERWRITE")
        if is_insert or ahead.sees("INSERT", "WITH", "SCHEMA", "EVOLUTION"):
            found.append(ahead.at)
        ahead.skip()
    return found


def _leg(whole: Cursor, at: int, edits: Sequence[Edit]) -> Insert:
    """The INSERT at a token. Its source is ``whole``, without the INSERT clause and the edits."""
    source = whole.source
    cursor = Cursor(source, at, whole.end)
    head = parse_insert_head(cursor)
    if not cursor.sees("SELECT"):
        cursor.unexpected("expected SELECT")
    refuse_inner_insert(Cursor(source, cursor.at, cursor.end))
    clause = (source.tokens[at].start, cursor.offset, "")
    return head(source=stitched_query(whole, [*edits, clause]))


def _places(clause: Cursor, with_: WithClause | None) -> Iterator[_Place]:
    """The subqueries and common table expressions that stand directly in the FROM clause."""
    cursor = Cursor(clause.source, clause.at, clause.end)
    cursor.expect("FROM")
    while True:
        at = cursor.at
        if cursor.sees("(") and _is_subquery(cursor):
            yield _subquery(cursor)
        elif with_ is not None and _sees_expression(cursor, with_):
            cursor.step()
            yield _Place(at, at + 1, at)
        cursor.until(",", "JOIN")
        if cursor.done:
            return
        cursor.step()


def _is_subquery(cursor: Cursor) -> bool:
    return starts_query(Cursor(cursor.source, cursor.at, cursor.end).parenthesised())


def _subquery(cursor: Cursor) -> _Place:
    """Step over a subquery and its alias, ``(q) [AS] alias [(column, …)]``."""
    at, start = cursor.at, cursor.offset
    cursor.parenthesised()
    cursor.accept("AS")
    if not cursor.sees_name() or cursor.sees_any(*_NO_ALIAS):
        cursor.source.refuse(
            "a subquery in the FROM of several INSERTs needs an alias",
            start,
            hint="Write FROM (SELECT …) s.",
        )
    name = cursor.at
    cursor.step()
    if cursor.sees("("):
        cursor.parenthesised()
    return _Place(at, cursor.at, name)


def _sees_expression(cursor: Cursor, with_: WithClause) -> bool:
    token = cursor.peek()
    is_name = token.kind in (Kind.WORD, Kind.QUOTED) and cursor.peek(1).text not in (".", "(")
    return is_name and unquote(token).lower() in with_.names


def _alone(clause: Cursor, place: _Place) -> Iterator[Edit]:
    """The edits that leave nothing of a relation but its name."""
    tokens = clause.source.tokens
    if place.name > place.at:
        yield tokens[place.at].start, tokens[place.name].start, ""
    if place.end > place.name + 1:
        yield tokens[place.name].end, tokens[place.end - 1].end, ""


def _rest(clause: Cursor, edits: Sequence[Edit]) -> Fragment:
    """The query ``FROM … SELECT *``, with the edits of the FROM."""
    return stitched_query(Cursor(clause.source, clause.at, clause.end + 2), [*edits, _star(clause)])


def _star(clause: Cursor) -> Edit:
    """The first INSERT INTO becomes a SELECT of all columns."""
    tokens = clause.source.tokens
    return tokens[clause.end].start, tokens[clause.end + 1].end, "SELECT *"


def _rows(clause: Cursor, place: _Place, with_: WithClause | None) -> Fragment:
    """The query ``[WITH …] FROM relation SELECT *``."""
    tokens = clause.source.tokens
    edits: list[Edit] = [
        (tokens[clause.at].end, tokens[place.at].start, ""),
        (tokens[place.end - 1].end, tokens[clause.end].start, ""),
        _star(clause),
    ]
    start = clause.at if with_ is None else with_.at
    return stitched_query(Cursor(clause.source, start, clause.end + 2), edits)


def _refuse_evolution(clause: Cursor, leg: Insert) -> None:
    if leg.evolves:
        clause.source.refuse(
            "WITH SCHEMA EVOLUTION is not supported in one of several INSERTs",
            clause.offset,
            hint="Add the columns before: ALTER TABLE t ADD COLUMNS (name type).",
        )


def _require_select(clause: Cursor, leg: Insert) -> None:
    assert isinstance(leg.source, Fragment)
    if not isinstance(leg.source.tree, exp.Select):
        clause.source.refuse(
            "UNION, INTERSECT and EXCEPT are not supported behind one of several INSERTs",
            clause.offset,
            hint="Put them into the FROM: FROM (SELECT … UNION ALL SELECT …) s.",
        )


def _refuse_expressions(
    clause: Cursor, leg: Insert, starts: Sequence[int], with_: WithClause | None
) -> None:
    """Refuse a common table expression that a leg itself reads: its rows might be others there."""
    assert isinstance(leg.source, Fragment)
    names = with_.names if with_ is not None else ()
    for ref in leg.source.tables:
        if ref.database is None and ref.table.lower() in names and ref.start not in starts:
            clause.source.refuse(
                f'"{ref.table}" of the WITH can only stand in the FROM of several INSERTs',
                clause.source.tokens[clause.at].start + ref.start,
                hint="Join it in the FROM, or write it as a subquery of the INSERT.",
            )


def _refuse_common(clause: Cursor, places: Sequence[_Place], with_: WithClause | None) -> None:
    """Refuse two relations of one common table expression: each is computed by itself."""
    seen: set[str] = set()
    for place in places if with_ is not None else ():
        assert with_ is not None
        mentioned = with_.mentioned(Cursor(clause.source, place.at, place.end))
        common = sorted(seen & mentioned)
        if common:
            clause.source.refuse(
                f'"{common[0]}" of the WITH is used twice in the FROM of several INSERTs',
                clause.source.tokens[place.at].start,
                hint="Put the whole FROM into one subquery: FROM (SELECT … FROM …) s.",
            )
        seen |= mentioned
