"""WHERE conditions → predicates that prune a scan, such as ``id = 7``.

Pruning must never change an answer. So only conjuncts that compare a column with literals are
taken, and only from the WHERE of the very SELECT that names the table. Such a comparison is false
or null if the column is null. That makes it safe to apply it to the scan, whatever joins come in
between: the WHERE would drop the rows afterwards anyway, also the null rows of an outer join.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from acidsql.model.predicate import Operator, Predicate
from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType
from acidsql.model.value_text import timestamp_text
from acidsql.model.view import View
from acidsql.planner.times import clock_text, day_text
from acidsql.statements.fragment import Fragment, TableRef

Arguments = Mapping[str, Any]

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BEHIND_TABLE = ("sample", "pivots", "joins", "laterals")
"""What may stand behind a table in FROM, and give other rows or columns."""

_DATE, _TIMESTAMP = PrimitiveType("date"), PrimitiveType("timestamp")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?", re.ASCII)
_TIMES = (exp.DType.DATE, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ)
"""The types of typed literals, as sqlglot calls them: a timestamp without a zone is the second."""


def scan_predicates(
    fragment: Fragment, ref: TableRef, table: Table | View, arguments: Arguments
) -> tuple[Predicate, ...]:
    """The predicates on the columns of ``ref`` in the WHERE of the SELECT that reads it."""
    for select in fragment.tree.find_all(exp.Select):
        reads = tables_of(select)
        node = next((n for n in reads if is_node_of(n, ref)), None)
        if node is None:
            continue
        if _bends(node.args.get("sample")) or node.args.get("pivots") or node.alias_column_names:
            return ()  # WHERE does not see the table's own rows, or not under the table's names
        where = select.args.get("where")
        alone = len(reads) == 1 and not _joins(select) and not select.args.get("laterals")
        if where is None:
            return ()
        qualifiers, shown = {node.alias_or_name.lower()}, _listed(node)
        found = conjunct_predicates(where.this, table, qualifiers, arguments, bare=alone)
        return tuple(p for p in found if shown is None or p.column in shown)
    return ()


def _bends(sample: exp.Expr | None) -> bool:
    """Whether it matters if a sample is taken before or after WHERE; not if each row decides."""
    return sample is not None and not sample.args.get("bucket_numerator")


def conjunct_predicates(
    condition: exp.Expr,
    table: Table | View,
    qualifiers: set[str],
    arguments: Arguments,
    *,
    bare: bool,
) -> Iterator[Predicate]:
    """The predicates among the conjuncts of a condition. ``bare`` allows unqualified columns."""
    for conjunct in conjuncts(condition):
        yield from _predicates(conjunct, table, qualifiers, arguments, bare=bare)


def says_only(
    condition: exp.Expr,
    table: Table,
    qualifiers: set[str],
    arguments: Arguments,
    columns: Collection[str],
    *,
    bare: bool = True,
) -> bool:
    """Whether a condition is a conjunction of predicates on these columns, and nothing else.

    Then it is true of exactly those rows of which all its `conjunct_predicates` are true.
    """
    for conjunct in conjuncts(condition):
        found = [*_predicates(conjunct, table, qualifiers, arguments, bare=bare)]
        if not found or any(p.column not in columns for p in found):
            return False
    return True


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a condition that AND joins, without parentheses around them."""
    stack = [condition]
    while stack:
        node = stack.pop().unnest()
        if isinstance(node, exp.And):
            stack += [node.right, node.left]
        else:
            yield node


def _predicates(
    node: exp.Expr, table: Table | View, qualifiers: set[str], arguments: Arguments, *, bare: bool
) -> Iterator[Predicate]:
    for side, operators, items in _comparisons(node):
        name = _column(side, table, qualifiers, bare=bare)
        found = table.column(name) if name else None
        if found is None:
            continue
        texts = _texts(node, items, found.type, arguments)
        if not texts or not _is_exact(found.type, texts):
            continue
        if operators == ("in",):
            yield Predicate(column=found.name, operator="in", values=tuple(texts))
            continue
        for operator, text in zip(operators, texts, strict=True):
            yield Predicate(column=found.name, operator=operator, values=(text,))


def _comparisons(
    node: exp.Expr,
) -> Iterator[tuple[exp.Expr, tuple[Operator, ...], Sequence[exp.Expr]]]:
    """What may be a column, and what a node compares it with, in all ways to see it.

    There is an operator for each item, or "in" for all.
    """
    operator = _OPERATORS.get(type(node))
    if operator is not None and isinstance(node, exp.Binary):
        yield node.left, (operator,), [node.right]
        yield node.right, (_MIRRORED[operator],), [node.left]
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        yield node.this, (">=", "<="), [node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        yield node.this, ("in",), node.expressions


def _texts(
    node: exp.Expr, items: Sequence[exp.Expr], kind: ColumnType, arguments: Arguments
) -> list[str]:
    """The canonical texts of the items; none if one of them is no literal of the type."""
    run = node.meta.get("run") if isinstance(node, exp.In) else None
    if run is None:
        texts = [literal_text(item, kind, arguments) for item in items]
    elif kind in (_DATE, _TIMESTAMP):
        texts = [_time_text(value, kind) if isinstance(value, str) else None for value in run]
    else:
        texts = [_argument_text(value, kind) for value in run]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else []


def _column(node: exp.Expr, table: Table | View, qualifiers: set[str], *, bare: bool) -> str | None:
    node = node.unnest()
    if not isinstance(node, exp.Column) or len(node.parts) > 2:
        return None
    if node.table.lower() not in qualifiers if node.table else not bare:
        return None
    found = table.column(node.name)
    return found.name if found else None


def literal_text(node: exp.Expr, kind: ColumnType, arguments: Arguments) -> str | None:
    """The canonical text of a literal; None unless it compares exactly with the column's type."""
    node = node.unnest()
    if isinstance(node, exp.Placeholder):
        return _argument_text(arguments.get(node.name), kind)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        text = _number_text(node.this.name, kind)
        return f"-{text}" if text is not None and text.strip("0.") else text
    if isinstance(node, exp.Cast) and node.to.this in _TIMES and node.this.is_string:
        # A day is compared with a timestamp as its midnight; a timestamp is compared with no day.
        own = _DATE if node.is_type(exp.DType.DATE) else _TIMESTAMP
        text = _time_text(node.this.name, own)
        if text is None or kind == own:
            return text
        return _time_text(text, kind) if kind == _TIMESTAMP else None
    if not isinstance(node, exp.Literal):
        return None
    if not node.is_string:
        return _number_text(node.name, kind)
    if kind in (_DATE, _TIMESTAMP):
        return _time_text(node.name, kind)
    is_text = _is_text(kind)
    return node.name if is_text else None


def _is_text(kind: ColumnType) -> bool:
    """Whether a type compares texts as they are. A char(n) ignores trailing spaces."""
    is_varchar = isinstance(kind, CharType) and kind.name == "varchar"
    return kind == PrimitiveType("string") or is_varchar


def _number_text(text: str, kind: ColumnType) -> str | None:
    if not text.isascii():
        return None
    if isinstance(kind, PrimitiveType) and kind.name in INTEGER_BITS:
        return text.lstrip("0") or "0" if text.isdigit() and len(text) < 19 else None
    if isinstance(kind, DecimalType):
        is_short = re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) and len(text) < 38
        return f"{Decimal(text):f}" if is_short else None
    return None


def _is_exact(kind: ColumnType, texts: Sequence[str]) -> bool:
    """Whether Spark compares a column with these values without rounding any.

    It gives decimals and whole numbers a common type before it compares them.
    """
    if not isinstance(kind, DecimalType):
        return True
    parts = [text.lstrip("-").partition(".") for text in texts]
    # Spark may take a whole number for one of ten digits, or of twenty.
    whole = [len(w.lstrip("0")) if point else 10 if len(w) < 10 else 20 for w, point, _ in parts]
    whole += [len(w) for w, _, _ in parts if len(w) > 20]
    return kind.is_exact_beside(max(whole), max(len(fraction) for *_, fraction in parts))


def _time_text(text: str, kind: ColumnType) -> str | None:
    """The day or the wall-clock time that a text names, which names no zone."""
    form, read = (_ISO_DATE, day_text) if kind == _DATE else (_ISO_TIME, clock_text)
    try:
        return read(text) if form.fullmatch(text) else None
    except ValueError:
        return None


def _argument_text(value: Any, kind: ColumnType) -> str | None:
    is_text = _is_text(kind)
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        # Not with abs(): it would round a decimal to 28 digits.
        written = f"{value:f}" if isinstance(value, Decimal) else str(value)
        text = _number_text(written.removeprefix("-"), kind)
        return f"-{text}" if text is not None and value < 0 else text
    if isinstance(value, datetime.datetime):
        return timestamp_text(value) if kind == _TIMESTAMP and value.tzinfo is None else None
    if isinstance(value, datetime.date):
        return _time_text(value.isoformat(), kind) if kind in (_DATE, _TIMESTAMP) else None
    return value if isinstance(value, str) and is_text else None


def tables_of(select: exp.Select) -> list[exp.Expr]:
    """The nodes in FROM and in JOIN that WHERE sees: tables, subqueries and functions.

    It does not see the right sides of LEFT SEMI and LEFT ANTI joins: a name of theirs in WHERE is
    that of another relation.
    """
    source = select.args.get("from_")
    nodes = [source.this] if source is not None else []
    joins = _joins(select)
    return nodes + [join.this for join in joins if join.kind not in ("SEMI", "ANTI")]


def _joins(select: exp.Select) -> list[exp.Join]:
    """The joins of the FROM clause. Its first relation has them if it stands before SELECT."""
    source = select.args.get("from_")
    holders = [select] if source is None else [source.this, select]
    return [join for holder in holders for join in holder.args.get("joins") or ()]


def is_node_of(node: exp.Expr, ref: TableRef) -> bool:
    """Whether the reference was made of this node, or of the table of which it shows columns.

    Such a node is a subquery ``(SELECT a, b FROM t)``, which views are made of (`planner/view.py`).
    Places are compared, since names may repeat.
    """
    if _listed(node) is not None:
        node = node.this.args["from_"].this
    if not isinstance(node, exp.Table):
        return False
    first = node.args.get("db") or node.this
    return bool(first.meta.get("start") == ref.start)


def _listed(node: exp.Expr) -> frozenset[str] | None:
    """The columns of a table that a subquery shows, under their own names; None for other nodes."""
    select = node.this if isinstance(node, exp.Subquery) else None
    if not isinstance(select, exp.Select) or node.alias_column_names:
        return None
    if {key for key, value in select.args.items() if value} != {"expressions", "from_"}:
        return None
    table, items = select.args["from_"].this, select.expressions
    if not isinstance(table, exp.Table) or table.alias_column_names:
        return None
    if any(table.args.get(key) for key in _BEHIND_TABLE):
        return None
    are_bare = all(isinstance(i, exp.Column) and len(i.parts) == 1 for i in items)
    return frozenset(i.name.lower() for i in items) if are_bare else None
