"""The schema, options and conditions by which Spark's ORC reader reads event files."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.engines.spark.value_errors import NO_EVENT_COLUMN
from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.schema import (
    BUCKET,
    CURRENT_TRANSACTION,
    KEY_COLUMNS,
    OPERATION,
    ORIGINAL_TRANSACTION,
    ROW,
    ROW_ID,
    ROW_ID_COLUMNS,
)

TYPES = {
    OPERATION: "int",
    ORIGINAL_TRANSACTION: "bigint",
    BUCKET: "int",
    ROW_ID: "bigint",
    CURRENT_TRANSACTION: "bigint",
}
"""The types of the event columns beside ``row``."""

_DOTLESS_I = "\u0131"
"""A letter that Java's equalsIgnoreCase takes for an i, and no conversion to lower case does."""

WHOLE = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "orc.skip.corrupt.data": "false",
    "orc.sarg.to.filter": "false",
    "orc.filter.plugin": "false",
    "orc.filter.use.selected": "false",
}
"""Reader options under which a read has all rows or fails, whatever the session says.

A skipped file would lose its rows, or bring back those that it deletes. ORC's reader can leave
single rows out. Then Spark takes others for them, and nulls in fields of structs are forgotten.
"""


def is_visible(write_ids: ValidWriteIdList) -> str:
    """A condition for the events that a snapshot sees.

    Wrapped, so that Spark does not push it down.
    """
    current = required(CURRENT_TRANSACTION)
    seen = f"{current} <= {write_ids.high_watermark}"
    hidden = ", ".join(map(str, write_ids.exceptions))
    return f"{seen} and {current} not in ({hidden})" if hidden else seen


def event_columns(*, operations: bool, row_ids: bool, write_ids: bool) -> dict[str, str]:
    """The names by which a scan reads the columns of an event beside its row.

    ``operations`` says whether operation is needed, ``row_ids`` whether the row ids are, and
    ``write_ids`` whether currentTransaction is.

    ORC reads an ACID file in the right way only if the schema asked for has all six event columns.
    It compares their names by equalsIgnoreCase (SchemaEvolution.checkAcidSchema). Spark decides
    which columns a file has by the names in lower case (OrcUtils.requestedColumnIds), and gives
    NULL for a column that it does not find, without decoding anything. So a column that is not
    needed is asked for by a name that only ORC takes for its own: four columns cost a scan 9 % of
    its time. The name of bucket has no letter for this.
    """
    needed = {BUCKET}
    needed.update((OPERATION,) if operations else ())
    needed.update(ROW_ID_COLUMNS if row_ids else ())
    needed.update((CURRENT_TRANSACTION,) if write_ids else ())
    return {name: name if name in needed else _unread(name) for name in KEY_COLUMNS}


EVERY_COLUMN = event_columns(operations=True, row_ids=True, write_ids=True)


def _unread(name: str) -> str:
    return name.replace("i", _DOTLESS_I).replace("I", _DOTLESS_I)


def event_schema(row: str, columns: Mapping[str, str]) -> str:
    """The schema of a scan of event files; ``row`` is the fields of that struct."""
    found = [f"{quote(columns[name])} {kind}" for name, kind in TYPES.items()]
    return ", ".join([*found, f"{ROW} struct<{row}>"])


def operation_is(operation: int, leaf: str, columns: Mapping[str, str]) -> str:
    """A condition for the events of an operation, in a form that does two things more.

    Spark's reader can read ACID files only if the scan needs all six columns. So the condition
    mentions each of them, and one leaf of ``row``, in a part that no event reaches. Spark must not
    push the condition down, because that would overwrite the search argument. So its first part is
    wrapped. It holds for each event if operation is not among the columns that are read. It is an
    error if Spark does not find the columns of row ids that it is to read.
    """
    found, *others = (quote(columns[name]) for name in KEY_COLUMNS)
    is_read = columns[OPERATION] == OPERATION
    value = required(OPERATION) if is_read else f"coalesce({found}, {operation})"
    has_ids = columns[ORIGINAL_TRANSACTION] == ORIGINAL_TRANSACTION
    numbered = f" and {required(ORIGINAL_TRANSACTION)} >= 0" if has_ids else ""
    return (
        f"({value} = {operation}{numbered}"
        f" or {found} < -1 and ({' | '.join(others)}) > 0 and {leaf} is null)"
    )


def required(name: str) -> str:
    """The value of an event column. It is an error where Spark reads NULL.

    Spark does so if a file has no such column, and events would be left out or seen too early.
    """
    return f"coalesce({name}, cast(raise_error({literal(NO_EVENT_COLUMN)}) as {TYPES[name]}))"
