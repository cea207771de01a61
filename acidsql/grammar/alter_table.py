"""ALTER TABLE: the words after the table's name tell which statement it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from acidsql.errors import UnsupportedStatementError
from acidsql.grammar.alter_column import changed_column, parse_alter_column
from acidsql.grammar.alter_constraint import parse_constraint_change, sees_constraint_change
from acidsql.grammar.compact import parse_compact
from acidsql.grammar.create_table import column_definition, column_definitions, parse_skew
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_partition
from acidsql.grammar.lexer import Kind
from acidsql.grammar.near import near_hint
from acidsql.grammar.partition import (
    fixed_partition,
    parse_add_partitions,
    parse_drop_partitions,
    parse_recover_partitions,
    parse_rename_partition,
)
from acidsql.grammar.properties import properties, properties_change
from acidsql.grammar.storage_format import (
    parse_file_format,
    parse_serde,
    parse_serde_properties,
)
from acidsql.model.table import FileFormat
from acidsql.statements import AlterTable, Compact
from acidsql.statements.alter_table import (
    AddColumns,
    ChangeColumn,
    ChangeNothing,
    DropColumns,
    ExchangePartition,
    RenameTable,
    ReplaceColumns,
    SetFormat,
    SetLocation,
    SetProperties,
    UnsetProperties,
)
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue
from acidsql.statements.partition import RenamePartition, RepairTable

_REFUSED = {
    "SET OWNER": "The permissions of the files control access.",
    "CLUSTERED BY": "Old files keep their buckets; create a new table and INSERT INTO it.",
    "PARTITION COLUMN": "Directories are named after its values; create a new table and INSERT INTO"
    " it.",
    "EXECUTE": "Write ALTER TABLE t COMPACT 'major', or VACUUM t.",
    "WRITE": "ALTER TABLE t COMPACT 'rebalance' ORDER BY … sorts the rows that are there.",
}
_FORMS = ("ADD", "CHANGE", "COMPACT", "DROP", "RENAME", "REPLACE", "SET", "UNSET")
_KNOWN = "See docs/statements.md for the forms of ALTER TABLE."


def parse_alter_table(cursor: Cursor) -> AlterTable | ExchangePartition | RepairTable | Compact:
    """Parse an ALTER TABLE from the cursor."""
    start = cursor.offset
    cursor.expect("ALTER", "TABLE")
    target = cursor.table()
    _refuse_iceberg(cursor, start)
    place = cursor.offset
    if cursor.sees("PARTITION"):
        return _of_partition(cursor, target, start)
    if cursor.sees("EXCHANGE", "PARTITION"):
        return _exchange(cursor, target)
    if cursor.sees("ALTER"):
        return parse_alter_column(cursor, target)
    if sees_constraint_change(cursor):
        return parse_constraint_change(cursor, target)
    if cursor.sees_any("COMPACT", "CONCATENATE"):
        return parse_compact(cursor, target, (), place)
    return _of_table(cursor, target) or _refuse(cursor, start)


def _of_table(cursor: Cursor, target: TableRef) -> AlterTable | RepairTable | None:
    """Parse a change of the table's definition or partitions; None if it is none of them."""
    by_word = _BY_WORD.get(cursor.peek().word)
    if by_word is not None:
        return by_word(cursor, target)
    match cursor.peek().word, cursor.peek(1).word:
        case "UPDATE", "STATISTICS":
            return _update_statistics(cursor, target)
        case "SKEWED", "BY":
            return _skew(cursor, target)
        case "RECOVER", "PARTITIONS":
            return parse_recover_partitions(cursor, target)
        case "ADD", "PARTITION" | "IF":
            return parse_add_partitions(cursor, target)
        case "DROP", "PARTITION" | "IF":
            return parse_drop_partitions(cursor, target)
        case "ADD" | "REPLACE" | "DROP", "COLUMN" | "COLUMNS":
            return _columns(cursor, target)
        case "SET" | "UNSET", _:
            return _set(cursor, target)
    return None


def _set(cursor: Cursor, target: TableRef) -> AlterTable | None:
    match cursor.peek().word, cursor.peek(1).word:
        case "SET", "LOCATION":
            return _set_location(cursor, target)
        case "SET", "FILEFORMAT" | "SERDE" | "SERDEPROPERTIES":
            return _set_format(cursor, target)
        case _, "TBLPROPERTIES":
            return properties_change(cursor, target, SetProperties, UnsetProperties)
    return None


def _refuse_iceberg(cursor: Cursor, start: int) -> None:
    if cursor.peek(1).word == "PARTITION" and cursor.peek(2).word == "FIELD":
        cursor.source.refuse(
            "PARTITION FIELD is a clause of Iceberg",
            start,
            hint="Partitions are directories named after the values of columns.",
        )


def _of_partition(
    cursor: Cursor, target: TableRef, start: int
) -> RenamePartition | SetLocation | Compact | ChangeNothing:
    place = cursor.offset
    if cursor.sees("PARTITION", "COLUMN"):
        _refuse(cursor, start)
    partition = parse_partition(cursor)
    if cursor.sees_any("COMPACT", "CONCATENATE"):
        return parse_compact(cursor, target, partition, place)
    is_update = cursor.sees("UPDATE", "STATISTICS")
    if not (is_update or cursor.sees("RENAME") or cursor.sees("SET", "LOCATION")):
        _refuse(cursor, start, " PARTITION (…)")
    if any(item.value is None for item in partition):
        cursor.source.syntax_error(
            f"every partition column needs a value in {cursor.peek().word}", place
        )
    if is_update:
        return _update_statistics(cursor, target, partition)
    if cursor.sees("SET"):
        return _set_location(cursor, target, partition)
    return parse_rename_partition(cursor, target, partition)


def _exchange(cursor: Cursor, target: TableRef) -> ExchangePartition:
    """Parse ``EXCHANGE PARTITION (…) WITH TABLE t``."""
    cursor.expect("EXCHANGE")
    partition = fixed_partition(cursor, "EXCHANGE PARTITION")
    cursor.expect("WITH", "TABLE")
    return ExchangePartition(target, partition, cursor.table())


def _set_format(cursor: Cursor, target: TableRef) -> SetFormat:
    """Parse ``SET FILEFORMAT f``, ``SET SERDE s`` or ``SET SERDEPROPERTIES (…)``."""
    cursor.expect("SET")
    if cursor.accept("FILEFORMAT"):
        return SetFormat(target, parse_file_format(cursor))
    if cursor.sees("SERDE"):
        serde = parse_serde(cursor)
        is_text = serde.format is FileFormat.TEXT
        return SetFormat(target, serde.format.value, serde.delimiter if is_text else None)
    cursor.expect("SERDEPROPERTIES")
    return SetFormat(target, None, *parse_serde_properties(cursor))


def _set_location(
    cursor: Cursor, target: TableRef, partition: tuple[PartitionValue, ...] = ()
) -> SetLocation:
    """Parse ``SET LOCATION s``."""
    cursor.expect("SET", "LOCATION")
    return SetLocation(target, cursor.string("a location in quotes"), partition)


def _refuse(cursor: Cursor, start: int, where: str = "") -> NoReturn:
    words = [w for w in (cursor.peek(0).word, cursor.peek(1).word) if w]
    form = " ".join(words)
    form = form if form in _REFUSED else (words[0] if words else "this form")
    cursor.source.refuse(
        f"ALTER TABLE …{where} {form} is not supported",
        start,
        hint=_REFUSED.get(form) or near_hint(form, _FORMS) or _KNOWN,
    )


def _touch(cursor: Cursor, target: TableRef) -> ChangeNothing:
    """Parse ``TOUCH [PARTITION (…)]``."""
    cursor.expect("TOUCH")
    partitions = []
    while cursor.sees("PARTITION"):
        partitions.append(fixed_partition(cursor, "TOUCH"))
    return ChangeNothing(
        target, "OK: there are no hooks that TOUCH could call", partitions=tuple(partitions)
    )


def _update_statistics(
    cursor: Cursor, target: TableRef, partition: tuple[PartitionValue, ...] = ()
) -> ChangeNothing:
    """Parse ``UPDATE STATISTICS [FOR COLUMN c] SET (key = value, …)``."""
    cursor.expect("UPDATE", "STATISTICS")
    columns = []
    if cursor.accept("FOR"):
        cursor.accept("COLUMN")
        columns.append(cursor.name("a column"))
    cursor.expect("SET")
    properties(cursor.parenthesised())
    return ChangeNothing(
        target,
        "OK, but the numbers are not kept: ANALYZE TABLE … COMPUTE STATISTICS counts",
        tuple(columns),
        (partition,) if partition else (),
    )


def _skew(cursor: Cursor, target: TableRef) -> ChangeNothing:
    """Parse ``SKEWED BY (…) ON (…) [STORED AS DIRECTORIES]``."""
    cursor.expect("SKEWED", "BY")
    columns = parse_skew(cursor)
    return ChangeNothing(
        target,
        "OK, but frequent values have no directories of their own, as in CREATE TABLE",
        columns,
    )


def _convert(cursor: Cursor, target: TableRef) -> SetProperties:
    """Parse ``CONVERT TO ACID [TBLPROPERTIES (…)]``, Hive 4's words for transactional = true.

    The table becomes full-ACID unless the properties say otherwise.
    """
    cursor.expect("CONVERT", "TO", "ACID")
    given = properties(cursor.parenthesised()) if cursor.accept("TBLPROPERTIES") else ()
    kind = "transactional_properties"
    full = () if any(key.lower() == kind for key, _ in given) else ((kind, "default"),)
    return SetProperties(target, (("transactional", "true"), *full, *given))


def _columns(cursor: Cursor, target: TableRef) -> AddColumns | ReplaceColumns | DropColumns:
    if cursor.sees("DROP"):
        return _drop_columns(cursor, target)
    replaces = cursor.step().word == "REPLACE"
    one = cursor.step().word == "COLUMN" and not cursor.sees("(")
    columns = (
        (_one_column(cursor),) if one else column_definitions(cursor.parenthesised(), "column")
    )
    constrained = next((c for column in columns for c in column.constraints), None)
    if constrained is not None:
        form = "REPLACE COLUMNS" if replaces else "ADD COLUMNS"
        raise UnsupportedStatementError(
            f"{form} with {constrained.kind.value} is not supported",
            hint="Write ALTER TABLE … ALTER COLUMN c SET … or ADD CONSTRAINT … afterwards.",
            line=constrained.line,
            column=constrained.column,
        )
    _skip_reach(cursor)
    return ReplaceColumns(target, columns) if replaces else AddColumns(target, columns)


def _one_column(cursor: Cursor) -> ColumnDefinition:
    """Parse a column and its type. FIRST and AFTER are refused."""
    # The words end the statement. Before that they may be names.
    for back, word in ((1, "FIRST"), (2, "AFTER")):
        at = cursor.end - back
        if at >= cursor.at + 2 and cursor.source.tokens[at].word == word:
            cursor.source.refuse(
                f"ADD COLUMN … {word} is not supported",
                cursor.source.tokens[at].start,
                hint="Leave it out: a new column is the last one, because rows of older files end"
                " before it.",
            )
    return column_definition(cursor, "column")


def _drop_columns(cursor: Cursor, target: TableRef) -> DropColumns:
    cursor.expect("DROP")
    cursor.step()
    if_exists = cursor.accept("IF", "EXISTS")
    listed = cursor.sees("(")
    columns = cursor.names_in_parentheses() if listed else (cursor.name("a column"),)
    _skip_reach(cursor)
    return DropColumns(target, columns, if_exists)


def _change(cursor: Cursor, target: TableRef) -> ChangeColumn:
    cursor.expect("CHANGE")
    cursor.accept("COLUMN")
    column = cursor.name("a column")
    if cursor.sees("COMMENT") and cursor.peek(1).kind is Kind.STRING:
        return changed_column(cursor, target, column)
    _refuse_type_word(cursor, column)
    head = cursor.until("FIRST", "AFTER", "CASCADE", "RESTRICT")
    if head.end - head.at < 2:
        head.at = head.end
        head.unexpected("expected the new name and its type")
    new = column_definition(head, "column")
    head.expect_end()
    first = cursor.accept("FIRST")
    after = cursor.name("a column") if cursor.accept("AFTER") else None
    _skip_reach(cursor)
    return ChangeColumn(
        target, column, new.name, new.type, new.comment, first, after, new.constraints
    )


def _refuse_type_word(cursor: Cursor, column: Identifier) -> None:
    """Refuse ``CHANGE c TYPE t``: Hive renames the column to ``type``, Spark keeps its name."""
    if cursor.sees("TYPE") and column.name.lower() != "type":
        cursor.source.refuse(
            "TYPE stands where CHANGE has the column's new name",
            cursor.offset,
            hint="To change the type, write ALTER COLUMN and the column before TYPE. To rename the"
            " column, write `type`.",
        )


def _rename(cursor: Cursor, target: TableRef) -> ChangeColumn | RenameTable:
    cursor.expect("RENAME")
    if cursor.accept("TO"):
        return RenameTable(target, cursor.table())
    cursor.expect("COLUMN")
    column = cursor.name("a column")
    cursor.expect("TO")
    return ChangeColumn(target, column, cursor.name("a column"))


def _skip_reach(cursor: Cursor) -> None:
    """Step over CASCADE or RESTRICT, which mean the same: partitions have no own columns."""
    if not cursor.accept("CASCADE"):
        cursor.accept("RESTRICT")


_BY_WORD: dict[str, Callable[[Cursor, TableRef], AlterTable]] = {
    "CHANGE": _change,
    "RENAME": _rename,
    "CONVERT": _convert,
    "TOUCH": _touch,
}
