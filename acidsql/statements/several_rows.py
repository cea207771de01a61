"""What an expression may have that a single row does not tell."""

from __future__ import annotations

from sqlglot import exp

_KINDS: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.AggFunc, exp.Window), "an aggregate or window function"),
    ((exp.UDTF,), "a function that makes rows"),
)


def of_several_rows(tree: exp.Expr) -> str | None:
    """What an expression has, outside of its subqueries, that takes or makes several rows.

    None if that is nothing. sqlglot does not know every aggregate of Spark by its name, nor those
    that users wrote.
    """
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)):
        for kinds, name in _KINDS:
            if isinstance(node, kinds):
                return name
    return None
