"""Pieces of a statement's own text, with the places in them that a plan must fill in.

A query or expression reaches Spark as the user wrote it, byte for byte, but for the names of the
tables it reads, its parameters, and stars that must not show ``row__id``. Nothing is generated
from a syntax tree, so nothing can change its meaning on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as the user wrote it, without quotes; ``line`` and ``column`` count from 1."""

    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table that a statement names.

    ``start`` and ``end`` (exclusive) are the place of the possibly qualified name, without its
    alias, in the text of the fragment it belongs to; for a statement's target, in the statement.
    ``alias`` is None if the user gave none.
    """

    database: str | None
    table: str
    alias: str | None
    start: int
    end: int
    line: int
    column: int

    @property
    def visible_name(self) -> str:
        """What columns of the table may be qualified with."""
        return self.alias or self.table


@dataclass(frozen=True, slots=True)
class Parameter:
    """A ``:name`` or ``?`` at ``start:end`` of the fragment; the n-th ``?`` is called ``_n``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Star:
    """A ``*`` or ``x.*`` in a select list, at ``start:end`` of the fragment.

    ``sources`` are the indexes in ``Fragment.tables`` of the tables it stands for, directly in the
    FROM clause of its SELECT; ``qualifier`` is the x, or None. The star may also stand for
    subqueries and functions beside them, and joins with USING merge columns: leave columns out
    with EXCEPT, never list those of the sources instead.
    """

    start: int
    end: int
    qualifier: str | None
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A query or an expression: its text, its tree, and what is to be filled in, in text order.

    ``tables`` holds neither names of common table expressions nor table functions. ``stars`` holds
    neither ``count(*)`` nor stars inside expressions or before EXCEPT; where these could show
    ``row__id``, a fragment that mentions it is refused.
    ``line`` and ``column`` are those of its first character in the statement.
    """

    text: str
    tree: exp.Expr
    line: int
    column: int
    tables: tuple[TableRef, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    stars: tuple[Star, ...] = ()
    mentions_row_id: bool = False
    qualifiers: tuple[tuple[int, int], ...] = ()
    """Places of the ``db.`` in ``db.t.column``: what stands for the table knows no database."""

    def fill(
        self,
        table: Callable[[int, TableRef], str],
        parameter: Callable[[str], str],
        star: Callable[[Star], str | None],
        other: Callable[[str], str] = str,
    ) -> str:
        """The text with each place replaced; ``star`` may answer None to leave it as it is.

        ``other`` is applied to the stretches between the places.
        """
        edits = [(start, end, "") for start, end in self.qualifiers]
        for index, ref in enumerate(self.tables):
            edits.append((ref.start, ref.end, table(index, ref)))
        for place in self.parameters:
            edits.append((place.start, place.end, parameter(place.name)))
        for place_star in self.stars:
            text = star(place_star)
            if text is not None:
                edits.append((place_star.start, place_star.end, text))
        out, at = [], 0
        for start, end, text in sorted(edits):
            out += [other(self.text[at:start]), text]
            at = end
        return "".join([*out, other(self.text[at:])])
