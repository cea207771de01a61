"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from sqlglot import exp

from acidsql.errors import AnalysisError
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import (
    expression,
    query,
    starts_query,
    stitched_query,
)
from acidsql.grammar.insert_directory import sees_directory
from acidsql.grammar.value_list import parse_value_list
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.insert import Insert, PartitionValue

_CONSTANT_NODES = (
    exp.Literal,
    exp.Neg,
    exp.Null,
    exp.Boolean,
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Placeholder,
)
InsertHead = partial[Insert]
"""An INSERT that still lacks its ``source``."""


def parse_insert(cursor: Cursor, with_at: int | None = None) -> Insert:
    """Parse an INSERT from the cursor. ``with_at`` is the index of a WITH before it, if any."""
    start = cursor.offset
    head = parse_insert_head(cursor)
    if with_at is not None:
        hole = (start, cursor.offset, "")
        cursor.refuse_words("WITH … INSERT", ("VALUES",), "Write SELECT … UNION ALL SELECT ….")
        if not starts_query(cursor) or cursor.sees("WITH"):
            cursor.unexpected("expected SELECT, FROM or TABLE")
        whole = Cursor(cursor.source, with_at, cursor.end)
        cursor.at = cursor.end
        return head(source=stitched_query(whole, [hole]))
    # The columns of a VALUES list that are taken by name are col1, col2 and so on.
    by_name = head.keywords["by_name"]
    values = None if by_name else parse_value_list(Cursor(cursor.source, cursor.at, cursor.end))
    source = query(cursor) if values is None else values
    cursor.at = cursor.end
    return head(source=source)


def parse_insert_head(cursor: Cursor) -> InsertHead:
    """Step over ``INSERT INTO | OVERWRITE [TABLE] t [PARTITION (…)] [(column, …) | BY NAME]``.

    WITH SCHEMA EVOLUTION may stand behind INSERT.
    """
    cursor.expect("INSERT")
    cursor.skip_hint()
    evolves = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    overwrite = cursor.accept("OVERWRITE")
    if overwrite:
        _refuse_directory(cursor, evolves=evolves)
    else:
        cursor.expect("INTO")
    cursor.accept("TABLE")
    target = cursor.table()
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    unless_exists = _accept_unless_exists(cursor, partition, overwrite=overwrite)
    by_name = cursor.accept("BY", "NAME")
    columns = None if by_name else _columns(cursor, target)
    cursor.refuse_words(
        "INSERT",
        ("REPLACE",),
        "Write BEGIN, DELETE FROM t WHERE …, INSERT INTO t … and COMMIT.",
    )
    return partial(
        Insert,
        target=target,
        partition=partition,
        columns=columns,
        overwrite=overwrite,
        by_name=by_name,
        unless_exists=unless_exists,
        evolves=evolves,
    )


def _accept_unless_exists(
    cursor: Cursor, partition: Sequence[PartitionValue], *, overwrite: bool
) -> bool:
    """Step over ``IF NOT EXISTS`` behind the PARTITION of an INSERT OVERWRITE."""
    at = cursor.offset
    if not cursor.accept("IF"):
        return False
    cursor.expect("NOT", "EXISTS")
    if not overwrite:
        cursor.source.refuse(
            "IF NOT EXISTS is not supported in INSERT INTO",
            at,
            hint="Write INSERT OVERWRITE TABLE t PARTITION (…) IF NOT EXISTS, or MERGE.",
        )
    if not partition:
        cursor.source.refuse(
            "INSERT OVERWRITE … IF NOT EXISTS without PARTITION is not supported",
            at,
            hint="Leave IF NOT EXISTS out. Hive takes it, and replaces the rows all the same.",
        )
    if any(item.value is None for item in partition):
        cursor.source.syntax_error("IF NOT EXISTS needs a value for each partition column", at)
    return True


def _refuse_directory(cursor: Cursor, *, evolves: bool) -> None:
    if not sees_directory(cursor):
        return
    if evolves:
        cursor.source.refuse(
            "INSERT WITH SCHEMA EVOLUTION takes no DIRECTORY",
            cursor.offset,
            hint="A directory has no columns to add: leave out WITH SCHEMA EVOLUTION.",
        )
    else:
        cursor.source.refuse(
            "FROM … INSERT OVERWRITE DIRECTORY is not supported",
            cursor.offset,
            hint="Write INSERT OVERWRITE DIRECTORY … SELECT … as a statement of its own.",
        )


def parse_partition(cursor: Cursor) -> tuple[PartitionValue, ...]:
    """Parse ``PARTITION (a = 1, b)``, or Hive's ``a == 1``. Values are constants or parameters."""
    cursor.expect("PARTITION")
    items = cursor.parenthesised().listed(_partition_value)
    refuse_duplicates([item.column for item in items], "PARTITION")
    return tuple(items)


def _partition_value(inside: Cursor) -> PartitionValue:
    column = inside.name("a partition column")
    is_fixed = inside.accept("=", "=") or inside.accept("=")
    value = constant(inside.until(",")) if is_fixed else None
    return PartitionValue(column, value)


def constant(part: Cursor) -> Fragment:
    """The rest of the cursor as a constant or parameter for a partition column."""
    value = expression(part)
    if not all(isinstance(node, _CONSTANT_NODES) for node in value.tree.walk()):
        part.source.syntax_error(
            "a partition value must be a constant",
            part.source.tokens[part.at].start,
            hint="Write text in single quotes.",
        )
    return value


def parse_fixed_partition(cursor: Cursor, statement: str) -> tuple[PartitionValue, ...]:
    """Parse ``PARTITION (a = 1, …)``, in which every item needs a value; () if it is not there."""
    at = cursor.offset
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if any(item.value is None for item in partition):
        cursor.source.syntax_error(f"every partition column needs a value in {statement}", at)
    return partition


def refuse_duplicates(names: list[Identifier], where: str) -> None:
    """Raise AnalysisError for a column that is listed twice."""
    seen: set[str] = set()
    for name in names:
        if name.name.lower() in seen:
            raise AnalysisError(
                f'column "{name.name}" appears twice in {where}', line=name.line, column=name.column
            )
        seen.add(name.name.lower())


def column_list(cursor: Cursor, target: TableRef) -> tuple[Identifier, ...]:
    """Parse ``(a, t.b, …)``: columns of the target."""
    cursor.expect("(")
    names = [column_of(cursor, target)]
    while cursor.accept(","):
        names.append(column_of(cursor, target))
    cursor.expect(")")
    refuse_duplicates(names, "the column list")
    return tuple(names)


def column_of(cursor: Cursor, target: TableRef, sources: Collection[str] = ()) -> Identifier:
    """Parse a column of the target, perhaps qualified with the target's name or alias.

    ``sources`` are the aliases of other tables, in lower case. If one of them equals the target's
    name, then that name as a qualifier means the other table.
    """
    start = cursor.offset
    parts = dotted(cursor)
    if len(parts) > 1 and qualifier_length(parts, target, sources) != len(parts) - 1:
        cursor.source.refuse(
            f'"{".".join(part.name for part in parts)}" is not a column of the target',
            start,
            hint="Name columns of the target. A field of a struct has no value of its own there.",
        )
    return parts[-1]


def dotted(cursor: Cursor) -> list[Identifier]:
    """Parse ``a.b.c``: a column, perhaps with its table in front or a field behind."""
    parts = [cursor.name("a column")]
    while cursor.accept("."):
        parts.append(cursor.name("a column"))
    return parts


def qualifier_length(
    parts: Sequence[Identifier], target: TableRef, sources: Collection[str]
) -> int:
    """How many of the first parts name the target; at least one part is left."""
    allowed = [[target.visible_name.lower()]]
    if target.table.lower() not in sources:
        allowed.append([target.table.lower()])
    if target.database is not None:
        allowed.append([target.database.lower(), target.table.lower()])
    names = [part.name.lower() for part in parts[:-1]]
    return max((len(name) for name in allowed if names[: len(name)] == name), default=0)


def _columns(cursor: Cursor, target: TableRef) -> tuple[Identifier, ...] | None:
    if not cursor.sees("(") or starts_query(cursor):
        return None
    return column_list(cursor, target)
