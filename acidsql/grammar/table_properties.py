"""Hive's properties behind the name of a table: ``t('acid.fetch.deleted.rows' = 'true')``."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from acidsql.grammar.lexer import Source

_WITH_DELETED = "acid.fetch.deleted.rows"


@dataclass(frozen=True, slots=True)
class TableProperties:
    """The table's name, the offset behind the properties, and what they say."""

    name: exp.Identifier
    end: int
    with_deleted: bool


def table_properties(
    call: exp.Func, code: str, source: Source, base: int
) -> TableProperties | None:
    """The properties of what looks like the call of a table function; None if it is one.

    ``code`` is the fragment's text without comments, which begins at ``base`` of the ``source``.
    UnsupportedStatementError for a property that is not known.
    """
    given = call.expressions
    if not given or not all(isinstance(e, exp.EQ) and e.this.is_string for e in given):
        return None
    with_deleted = False
    for item in given:
        value = item.expression.name.lower() if item.expression.is_string else ""
        is_known = isinstance(call, exp.Anonymous) and item.this.name.lower() == _WITH_DELETED
        if not is_known or value not in ("true", "false"):
            source.refuse(
                "this property behind the name of a table is not supported",
                base + item.this.meta["start"],
                hint=f"'{_WITH_DELETED}' = 'true' or 'false' may stand there.",
            )
        with_deleted = value == "true"
    end = code.index(")", given[-1].expression.meta["end"]) + 1
    named = call.this if isinstance(call.this, exp.Identifier) else None
    name = exp.to_identifier(call.name, quoted=named is not None and named.quoted)
    name.meta.update(call.meta)
    return TableProperties(name, end, with_deleted)
