"""ALTER TABLE … ADD, CHANGE, RENAME and REPLACE COLUMNS.

Files keep the columns that they were written with. So new columns come last, columns get other
names, and columns take types that hold every value of the old type; columns do not move. Only
tables of Parquet and text can lose columns, as in Hive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import assert_never

from acidsql.definitions.constraints import constrained, refuse_misfits, remaining, renamed
from acidsql.definitions.create_table import column_of, refuse_bad_columns
from acidsql.definitions.partition import altered_meanwhile, altering
from acidsql.definitions.table_kind import refuse_columns
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.table import POSITIONAL_EVOLUTION, Column, FileFormat, Table, TableKind
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType
from acidsql.planner.names import ViewRefusal, find_column, find_target
from acidsql.statements.alter_table import AddColumns, ChangeColumn, DropColumns, ReplaceColumns
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Identifier, TableRef

_FLOATS = (PrimitiveType("float"), PrimitiveType("double"))
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def add_columns(statement: AddColumns, scope: Scope) -> Result:
    """Add columns after the others. Rows written before have NULL there."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    spelled = scope.store.keeps_spelling
    added = with_columns(table, statement.columns, spelled=spelled)
    return _alter(statement.target, table, added.columns, scope)


def with_columns(
    table: Table, definitions: Sequence[ColumnDefinition], *, spelled: bool = False
) -> Table:
    """The table with further columns after its own. Raises for columns that it cannot have.

    ``spelled`` is that of `parse_type`.
    """
    new = [column_of(definition, spelled=spelled) for definition in definitions]
    refuse_bad_columns(definitions, new, table.all_columns)
    return replace(table, columns=(*table.columns, *new))


def change_column(statement: ChangeColumn, scope: Scope) -> Result:
    """Give a column another name, a wider type or a comment."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    old = find_column(table, statement.column)
    if old in table.partition_columns:
        raise _refusal_at(
            statement.column, f'"{old.name}" is a partition column and stays as it is'
        )
    _refuse_moving(statement, table, old)
    comment = old.comment if statement.comment is None else statement.comment
    new = replace(old, name=statement.name.name.lower(), comment=comment)
    if statement.type is not None:
        new = _defined(ColumnDefinition(statement.name, statement.type, comment), scope, old)
    if new.name != old.name:
        definition = ColumnDefinition(statement.name, str(new.type), new.comment)
        refuse_bad_columns([definition], [new], table.all_columns)
    _refuse_change(table, old, new, statement.name)
    _refuse_bucket_column(table, old, new, statement.column)
    columns = tuple(new if c == old else c for c in table.columns)
    renames = (old.name, new.name) if new.name != old.name else None
    return _alter(
        statement.target, table, columns, scope, renames=renames, added=statement.constraints
    )


def replace_columns(statement: ReplaceColumns, scope: Scope) -> Result:
    """Replace the column list: the same columns, some perhaps wider, and new ones after them.

    Columns of Parquet and text files may be left out.
    """
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    new = [
        _defined(definition, scope, table.column(definition.name.name))
        for definition in statement.columns
    ]
    refuse_bad_columns(statement.columns, new, table.partition_columns)
    kept = _kept(table, new, statement)
    for old, column, definition in zip(kept, new, statement.columns, strict=False):
        if column.name != old.name:
            raise _refusal_at(
                definition.name,
                f'REPLACE COLUMNS puts "{column.name}" in the place of "{old.name}"',
                hint="Write RENAME COLUMN a TO b to give a column another name.",
            )
        _refuse_change(table, old, column, definition.name)
        _refuse_bucket_column(table, old, column, definition.name)
    return _alter(statement.target, table, tuple(new), scope)


def _defined(definition: ColumnDefinition, scope: Scope, old: Column | None) -> Column:
    """The column of a definition. If it has the type of an old one, the same names of fields, too:
    by their capital letters Hive finds the values in files.
    """
    new = column_of(definition, spelled=scope.store.keeps_spelling)
    if old is None or old.type != new.type:
        return new
    return replace(new, type=old.type)


def drop_columns(statement: DropColumns, scope: Scope) -> Result:
    """Drop columns of a table whose files allow it, by the rules of REPLACE COLUMNS."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    dropped = set()
    for identifier in statement.columns:
        if statement.if_exists and table.column(identifier.name) is None:
            continue
        column = find_column(table, identifier)
        if column in table.partition_columns:
            raise _refusal_at(
                identifier, f'"{column.name}" is a partition column and stays as it is'
            )
        dropped.add(column)
    left = tuple(c for c in table.columns if c not in dropped)
    if not left:
        raise AnalysisError(
            f"table {table.name} needs at least one column",
            line=statement.target.line,
            column=statement.target.column,
        )
    if [c.name for c in _kept(table, left, statement)] != [c.name for c in left]:
        raise _refusal_at(
            statement.columns[0],
            f"only the last columns of {table.name} can be dropped",
            hint="In text files columns are found by position.",
        )
    return _alter(statement.target, table, left, scope)


def _kept(
    table: Table, new: Sequence[Column], statement: ReplaceColumns | DropColumns
) -> Sequence[Column]:
    """The columns that are not dropped.

    Parquet and Avro find columns by name, so any column may be dropped. Text finds them by
    position, so only the last ones may. UnsupportedStatementError for a dropped column of an ORC
    table.
    """
    names = {c.name for c in new}
    match table.format:
        case FileFormat.ORC:
            kept = table.columns
        case FileFormat.PARQUET | FileFormat.AVRO:
            kept = tuple(c for c in table.columns if c.name in names)
        case FileFormat.TEXT:
            kept = table.columns[: len(new)]
        case _:
            assert_never(table.format)
    place = statement.target
    if len(new) < len(kept):
        raise UnsupportedStatementError(
            f"Replacing columns cannot drop columns for table {table.name}. "
            "SerDe may be incompatible",
            detail="Its ORC files keep the old values: a later column of the same name or position"
            " would show them.",
            hint="CREATE TABLE … AS SELECT leaves columns out.",
            code=10313,
            line=place.line,
            column=place.column,
        )
    for column in table.columns:
        if column.name in table.bucket_columns and column not in kept:
            raise _bucket_column_refusal(column, place)
    return kept


def _alter(
    target: TableRef,
    table: Table,
    columns: Sequence[Column],
    scope: Scope,
    *,
    renames: tuple[str, str] | None = None,
    added: Sequence[ConstraintDefinition] = (),
) -> Result:
    """Give the table these columns. ``renames`` is the old and the new name of one of them."""
    with altering(table, scope) as (txn, now):
        if (now.kind, now.format) != (table.kind, table.format):
            raise altered_meanwhile(table)  # they say which changes are allowed
        parameters = now.noted
        if renames is not None:
            _refuse_by_name(now)
            parameters[POSITIONAL_EVOLUTION] = "true"
        kept = remaining(now, columns) if renames is None else renamed(now, *renames)
        altered = replace(now, columns=tuple(columns), parameters=parameters, constraints=kept)
        refuse_columns(altered, {"line": target.line, "column": target.column})
        refuse_misfits(altered, _retyped(now.columns, altered.columns), scope)
        altered = replace(altered, constraints=constrained(altered, added, scope))
        with scope.committing(txn):
            scope.store.alter_table(altered)
    return Result("alter", message="OK")


def _retyped(before: Sequence[Column], after: Sequence[Column]) -> set[str]:
    """The columns of another type than before."""
    old = {c.name: c.type for c in before}
    return {c.name for c in after if c.name in old and old[c.name] != c.type}


def _refuse_by_name(table: Table) -> None:
    if table.kind is not TableKind.FULL_ACID and table.format is not FileFormat.TEXT:
        raise UnsupportedStatementError(
            f"a column of {table.name}, which is {table.kind.value}, cannot be renamed",
            detail="In its files columns are found by name.",
            hint="CREATE TABLE … AS SELECT gives columns other names.",
        )
    if table.parameters.get(POSITIONAL_EVOLUTION, "true").lower() != "true":
        raise UnsupportedStatementError(
            f"table {table.name} matches columns by name, so a renamed column would lose values",
            detail=f"Its property '{POSITIONAL_EVOLUTION}' is not true.",
            hint="CREATE TABLE … AS SELECT gives columns other names.",
        )


def _refuse_moving(statement: ChangeColumn, table: Table, old: Column) -> None:
    names = [c.name for c in table.columns]
    at = names.index(old.name)
    after = statement.after
    if after is not None:
        find_column(replace(table, partition_columns=()), after)
    moved = statement.first and at != 0
    if after is not None:
        moved = at == 0 or names[at - 1] != after.name.lower()
    if moved:
        raise _refusal_at(
            statement.column,
            f"Reordering columns is not supported for table {table.name}. "
            "SerDe may be incompatible",
            code=10311,
        )


def _refuse_bucket_column(table: Table, old: Column, new: Column, place: Identifier) -> None:
    """A bucket column keeps name and type: each row lies in the bucket of its old value's hash."""
    if old.name in table.bucket_columns and (old.name, old.type) != (new.name, new.type):
        raise _bucket_column_refusal(old, place)


def _bucket_column_refusal(
    column: Column, place: Identifier | TableRef
) -> UnsupportedStatementError:
    return _refusal_at(
        place,
        f'"{column.name}" is a bucket column and stays as it is',
        hint="Its rows lie in buckets by its values: create a new table and INSERT INTO it.",
    )


def _refuse_change(table: Table, old: Column, new: Column, place: Identifier) -> None:
    converted = table.kind is TableKind.FULL_ACID and converts(old.type, new.type)
    if not converted and not widens(old.type, new.type):
        detail = f"{new.type} does not hold all values of {old.type} in {table.name}."
        if converts(old.type, new.type):
            detail = (
                f"{old.type} becomes {new.type} in full-ACID tables alone, and {table.name} is"
                f" {table.kind.value}."
            )
        raise AnalysisError(
            "The following columns have types incompatible with the existing columns in their "
            f"respective positions : {new.name}",
            detail=detail,
            line=place.line,
            column=place.column,
        )


def widens(old: ColumnType, new: ColumnType) -> bool:
    """Whether every value of the old type is a value of the new one, for every reader of the file.

    This allows less than Hive's implicit conversions (`converts`), some of which lose digits.

    >>> widens(PrimitiveType("int"), PrimitiveType("bigint"))
    True
    >>> widens(DecimalType(10, 2), DecimalType(12, 3))
    True
    """
    if old == new:
        return True
    match old, new:
        case PrimitiveType(a), PrimitiveType(b) if a in INTEGER_BITS and b in INTEGER_BITS:
            return INTEGER_BITS[a] < INTEGER_BITS[b]
        case PrimitiveType(a), DecimalType(precision, scale) if a in _DIGITS:
            return precision - scale >= _DIGITS[a]
        case PrimitiveType("float"), PrimitiveType("double"):
            return True
        case DecimalType(), DecimalType():
            whole = new.precision - new.scale >= old.precision - old.scale
            return whole and new.scale >= old.scale
        case CharType("varchar", length), CharType("varchar", longer):
            return length <= longer
        case CharType("varchar"), PrimitiveType("string"):
            return True
    return False


def converts(old: ColumnType, new: ColumnType) -> bool:
    """Whether Hive allows the change of type, and all readers convert old values in the same way.

    Some values may lose digits or characters, or become null. Hive also allows float, double and
    timestamp to become text. That is left out here: the text differs between versions of Java and
    ORC, and with the JVM's time zone. `orc.evolution` says what values become.

    >>> converts(PrimitiveType("int"), CharType("varchar", 5))
    True
    >>> converts(PrimitiveType("double"), PrimitiveType("string"))
    False
    """
    is_text = isinstance(new, CharType) or new == PrimitiveType("string")
    match old:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return is_text or isinstance(new, DecimalType) or new in _FLOATS
        case DecimalType():
            return is_text or isinstance(new, DecimalType) or new in _FLOATS
        case PrimitiveType("string" | "date") | CharType():
            return is_text
    return False


def _refusal_at(
    place: Identifier | TableRef, message: str, **more: Any
) -> UnsupportedStatementError:
    return UnsupportedStatementError(message, line=place.line, column=place.column, **more)
