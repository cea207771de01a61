"""Fragments: pieces of a statement's own text, with the places that a plan must fill in.

A query or expression reaches Spark byte for byte as the user wrote it. Only five things in the
text are replaced: the names of tables, samples of buckets, parameters, stars that must not show
hidden columns, and CASTs to char(n) and varchar(n), which Spark would take for casts to string.
An engine whose timestamps are not wall-clock times also replaces the type of constants of that
type (`grammar.wall_clocks`). Nothing is generated from a syntax tree, so nothing can change the
meaning on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol

from sqlglot import exp

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import quote_identifier
from acidsql.model.types import CharType


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as the user wrote it, without quotes; ``line`` and ``column`` count from 1."""

    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SampleKey:
    """An expression behind the ON of a sample, at ``start:end`` of the fragment.

    ``column`` has the parts of its name, in lower case, if the expression is a column or a field.
    ``mentioned`` are the parts of the names of all columns in it.
    """

    start: int
    end: int
    column: tuple[str, ...] = ()
    mentioned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BucketSample:
    """``TABLESAMPLE (BUCKET number OUT OF count ON …)`` at ``start:end`` of the fragment.

    ``keys`` are the expressions behind ON.
    """

    number: int
    count: int
    start: int
    end: int
    keys: tuple[SampleKey, ...] = ()


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table that a statement names.

    ``start`` and ``end`` (exclusive) are the offsets of the name in the fragment's text; for a
    statement's target, in the text of the statement. They take in a qualifier, but no alias.
    ``alias`` is None if the user gave none. ``is_common`` says that the name is that of a common
    table expression in front of the statement. ``sample_end`` is the offset behind a TABLESAMPLE
    of the table, or None. ``with_deleted`` says that its deleted rows are asked for, by a property
    behind the name, which ``end`` takes in.
    """

    database: str | None
    table: str
    alias: str | None
    start: int
    end: int
    line: int
    column: int
    is_common: bool = False
    sample: BucketSample | None = None
    sample_end: int | None = None
    with_deleted: bool = False

    @property
    def alias_at(self) -> int:
        """The offset at which an alias of the table stands."""
        return self.end if self.sample_end is None else self.sample_end

    @property
    def visible_name(self) -> str:
        """The name that may qualify the table's columns: the alias, or else the table's name."""
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

    ``qualifier`` is the x, or None. ``sources`` are indexes in ``Fragment.tables``: the tables that
    the star stands for, directly in the FROM clause of its SELECT. The star may also stand for
    subqueries and functions, and joins with USING merge columns. So leave columns out with EXCEPT;
    do not list the columns of the sources instead of the star, unless ``is_plain``: then the star
    stands for all columns of these tables, one table after the other, and for nothing else.
    """

    start: int
    end: int
    qualifier: str | None
    sources: tuple[int, ...]
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class TextCast:
    """A CAST to char(n) or varchar(n), ``kind``, at ``start:end`` of the fragment.

    The type is at ``type_start:type_end``. ``name`` is that of the column that the CAST is in a
    select list, or None.
    """

    start: int
    type_start: int
    type_end: int
    end: int
    kind: CharType
    name: str | None = None

    def edits(self, text: str) -> tuple[tuple[int, int, str], ...]:
        """What makes Spark cut the text, which takes the type for string.

        A char loses its trailing spaces, as in Hive wherever it meets a string. Spark gives them
        back to a constant that it compares with a char, and knows no ``left(…)`` for a constant.
        """
        is_char = self.kind.name == "char"
        alias = "" if self.name is None else f" AS {quote_identifier(self.name)}"
        breaks = "\n" * text.count("\n", self.type_start, self.type_end)
        return (
            (self.start, self.start, "rtrim(substr(" if is_char else "substr("),
            (self.type_start, self.type_end, f"string{breaks}"),
            (self.end, self.end, f", 1, {self.kind.length}{')' * (1 + is_char)}{alias}"),
        )


class LongName(NamedTuple):
    """The ``db.`` of a ``db.t.column`` at ``start:end`` of the fragment, where FROM has only ``t``.

    It is to be removed if that is the table ``db.t``, and has the ``column``, which may be ``*``.
    """

    start: int
    end: int
    database: str
    table: str
    column: str


class Text(Protocol):
    """The text of a statement, with line and column of each offset."""

    text: str

    def place(self, offset: int) -> tuple[int, int]: ...


class Constant(NamedTuple):
    """A value of a VALUES list that is known without a tree, at ``start:end`` of the ``source``.

    Few values are ever asked for their text or their place.
    """

    value: bool | int | str | Decimal | None
    start: int
    end: int
    source: Text

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A query or an expression: its text, its tree, and the places to fill in, in text order.

    ``tables`` leaves out table functions, and the names of the fragment's own common table
    expressions. ``stars`` leaves
    out ``count(*)``, stars inside expressions and stars before EXCEPT. Some of the stars that are
    left out could show a hidden column; then a fragment that mentions one is refused. ``line``
    and ``column`` are the place of the first character in the script.

    In the tree, the constants of a long ``IN (…)`` are not nodes: their values are ``meta["run"]``
    of the In, which has a NULL as its only item.
    """

    text: str
    tree: exp.Expr
    line: int
    column: int
    tables: tuple[TableRef, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    stars: tuple[Star, ...] = ()
    hidden: frozenset[HiddenColumn] = frozenset()
    """The hidden columns that the text mentions."""
    shows_columns: bool = False
    """Whether more than ``stars`` depends on which columns the tables have: NATURAL JOIN, PIVOT,
    stars in expressions or before EXCEPT, or a SELECT without a list.
    """
    qualifiers: tuple[tuple[int, int], ...] = ()
    """Offsets of each ``db.`` in ``db.t.column``, to be removed: the frame that stands for the
    table in Spark belongs to no database.
    """
    long_names: tuple[LongName, ...] = ()
    casts: tuple[TextCast, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the text is complete: there is no place to fill in."""
        return not (
            self.tables
            or self.parameters
            or self.stars
            or self.qualifiers
            or self.long_names
            or self.casts
        )

    @classmethod
    def of_parameter(cls, name: str) -> Fragment:
        """An expression that is nothing but a parameter, for a value that no text has."""
        tree = exp.Placeholder(this=name)
        return cls("?", tree, 1, 1, parameters=(Parameter(name, 0, 1),))

    @property
    def row_text(self) -> str:
        """The text of an expression over one row, for Spark: it has no tables and no parameters."""
        return self.fill(lambda _, ref: (ref.table, ""), lambda name: f":{name}", lambda _: None)

    def fill(
        self,
        table: Callable[[int, TableRef], tuple[str, str]],
        parameter: Callable[[str], str],
        star: Callable[[Star], str | None],
        other: Callable[[str], str] = str,
        *,
        keep_samples: bool = True,
        keep_casts: bool = False,
    ) -> str:
        """The text with each place replaced by what ``table``, ``parameter`` and ``star`` return.

        ``table`` returns what stands for the name, and what is added where an alias stands: behind
        a sample. ``star`` may return None to keep a star. ``other`` is applied to the text between
        places. Without ``keep_samples``, samples of buckets are left out: the sources apply them.
        With ``keep_casts``, CASTs stay as Hive reads them.
        """
        edits = [(start, end, "") for start, end in self.qualifiers]
        if not keep_casts:
            edits += [edit for cast in self.casts for edit in cast.edits(self.text)]
        if not keep_samples:
            edits += [(r.sample.start, r.sample.end, " ") for r in self.tables if r.sample]
        for index, ref in enumerate(self.tables):
            name, alias = table(index, ref)
            edits += [(ref.start, ref.end, name), (ref.alias_at, ref.alias_at, alias)]
        for place in self.parameters:
            edits.append((place.start, place.end, parameter(place.name)))
        for place_star in self.stars:
            text = star(place_star)
            if text is not None:
                edits.append((place_star.start, place_star.end, text))
        out, at = [], 0
        for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
            if start < at:
                continue  # in a sample that is left out
            out += [other(self.text[at:start]), text]
            at = end
        return "".join([*out, other(self.text[at:])])


@dataclass(frozen=True, slots=True)
class Default:
    """The word DEFAULT as a value: what the column has where no value is given."""

    line: int
    column: int


Value = Fragment | Constant | Default
"""What a column is set to."""
