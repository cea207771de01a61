"""LOAD DATA."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.load import Load


def parse_load(cursor: Cursor) -> Load:
    """Parse a LOAD DATA from the cursor."""
    cursor.expect("LOAD", "DATA")
    local = cursor.accept("LOCAL")
    cursor.expect("INPATH")
    line, column = cursor.source.place(cursor.offset)
    path = cursor.string("a path in quotes")
    overwrite = cursor.accept("OVERWRITE")
    cursor.expect("INTO", "TABLE")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "LOAD DATA")
    hint = "The files must be in the format of the table."
    cursor.refuse_words("LOAD DATA", ("INPUTFORMAT", "SERDE"), hint)
    return Load(target, path, local, overwrite, partition, line, column)
