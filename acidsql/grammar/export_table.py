"""EXPORT TABLE and IMPORT TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.export_table import ExportTable, ImportTable
from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


def parse_export(cursor: Cursor) -> ExportTable:
    """Parse an EXPORT TABLE from the cursor."""
    cursor.expect("EXPORT", "TABLE")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "EXPORT")
    cursor.expect("TO")
    line, column = cursor.source.place(cursor.offset)
    path = cursor.string("a path in quotes")
    cursor.refuse_words("EXPORT", ("FOR",), "Replication is Hive's own.")
    return ExportTable(target, partition, path, line, column)


def parse_import(cursor: Cursor) -> ImportTable:
    """Parse an IMPORT from the cursor."""
    cursor.expect("IMPORT")
    external = cursor.accept("EXTERNAL")
    target: TableRef | None = None
    partition: tuple[PartitionValue, ...] = ()
    if external or cursor.sees("TABLE"):
        cursor.expect("TABLE")
        target = cursor.table()
        partition = parse_fixed_partition(cursor, "IMPORT")
    cursor.expect("FROM")
    line, column = cursor.source.place(cursor.offset)
    path = cursor.string("a path in quotes")
    location = cursor.string("a location in quotes") if cursor.accept("LOCATION") else None
    return ImportTable(target, partition, path, line, column, external, location)
