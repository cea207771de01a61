"""MERGE INTO … USING … WHEN …."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef, Value
from acidsql.statements.update import Assignment
from acidsql.statements.with_clause import CommonTable


@dataclass(frozen=True, slots=True)
class MergeUpdate:
    """WHEN MATCHED [AND condition] THEN UPDATE SET …; ``assignments`` None is ``UPDATE SET *``.

    ``by_source`` is WHEN NOT MATCHED BY SOURCE, which has no ``UPDATE SET *``. ``assignments`` set
    no column twice.
    """

    condition: Fragment | None
    assignments: tuple[Assignment, ...] | None
    line: int
    column: int
    by_source: bool = False


@dataclass(frozen=True, slots=True)
class MergeDelete:
    """WHEN MATCHED [AND condition] THEN DELETE; ``by_source``: WHEN NOT MATCHED BY SOURCE."""

    condition: Fragment | None
    line: int
    column: int
    by_source: bool = False


@dataclass(frozen=True, slots=True)
class MergeInsert:
    """WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT [(columns)] VALUES (…).

    ``values`` None is ``INSERT *``. ``columns`` None stands for all columns of the target in order.
    No column is named twice.
    """

    condition: Fragment | None
    columns: tuple[Identifier, ...] | None
    values: tuple[Value, ...] | None
    line: int
    column: int


MergeClause = MergeUpdate | MergeDelete | MergeInsert


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO ``target`` USING ``source`` AS ``alias`` ON ``on`` clauses.

    ``source`` is a table name, whose one TableRef covers the whole text, or a query in parentheses;
    its alias is not part of it. ``alias`` is the name that qualifies the source's columns, and
    ``names`` are the columns' names if the alias gives them others: ``AS s (a, b)``. Of several
    clauses for the same rows, only the last one may have no condition. ``common`` is the WITH in
    front. ``written_as`` is UPDATE or DELETE if the text is UPDATE … FROM or DELETE … USING.

    With ``evolves``, WITH SCHEMA EVOLUTION, columns that the source has and the target lacks are to
    be added to the target before. Once that is done, ``source_columns`` are the names of the
    source's columns, in lower case: the stars stand for these. Without them, the stars stand for
    all columns of the target.
    """

    target: TableRef
    source: Fragment
    alias: str
    on: Fragment
    clauses: tuple[MergeClause, ...]
    names: tuple[Identifier, ...] = ()
    common: tuple[CommonTable, ...] = ()
    written_as: str | None = None
    evolves: bool = False
    source_columns: tuple[str, ...] | None = None
