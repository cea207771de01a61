"""Predicates on partition columns in the metastore's own filter language (Filter.g)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidsql.model.predicate import Predicate
from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, ColumnType, PrimitiveType

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_WORDS = frozenset({"and", "between", "const", "date", "in", "like", "not", "or", "struct"})
"""Reserved words of the language. No way of quoting names is known to all servers."""
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.,:;/+-]*")
"""Texts that are safe in a filter: servers remove the quotes but do not unescape, and their
database may know only ASCII.
"""
_VALUES_MAX = 100


def filter_text(table: Table, predicates: Sequence[Predicate]) -> str:
    """A filter that lets all partitions pass that may hold such rows; "" if none can be made.

    Texts are compared by = only: the order of texts depends on the collation of the server's
    database. Integers are compared as numbers.
    """
    kinds = {c.name: c.type for c in table.partition_columns}
    known = (p for p in predicates if p.column in kinds)
    return " and ".join(text for p in known for text in _texts(p, kinds[p.column]))


def _texts(predicate: Predicate, kind: ColumnType) -> Iterator[str]:
    name, operator = predicate.column, predicate.operator
    if not _NAME.fullmatch(name) or name in _WORDS or len(predicate.values) > _VALUES_MAX:
        return
    values = [_literal(value, kind) for value in predicate.values]
    if None in values or (kind == PrimitiveType("string") and operator not in ("=", "in")):
        return
    sign = "=" if operator == "in" else operator
    alternatives = " or ".join(f"{name} {sign} {value}" for value in values)
    yield f"({alternatives})" if len(values) > 1 else alternatives


def _literal(value: str, kind: ColumnType) -> str | None:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return value if re.fullmatch(r"-?\d+", value) else None
        case PrimitiveType("string"):
            return f'"{value}"' if _PLAIN_TEXT.fullmatch(value) else None
    return None
