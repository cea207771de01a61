"""The schema, options and conditions by which Spark's ORC reader reads event files."""

from __future__ import annotations

from acidsql.model.snapshot import ValidWriteIdList

EVENTS = (
    "operation int, originalTransaction bigint, bucket int, rowId bigint,"
    " currentTransaction bigint, row struct<{row}>"
)
"""The schema of a file, with the fields of ``row`` to be filled in."""

WHOLE = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""Reader options under which a read fails rather than skip a file, whatever the session says.

A skipped file would lose its rows, or bring back those that it deletes.
"""


def is_visible(write_ids: ValidWriteIdList) -> str:
    """A condition for the events that a snapshot sees.

    Wrapped, so that Spark does not push it down.
    """
    current = "coalesce(currentTransaction, -1)"
    seen = f"{current} <= {write_ids.high_watermark}"
    hidden = ", ".join(map(str, write_ids.exceptions))
    return f"{seen} and {current} not in ({hidden})" if hidden else seen


def operation_is(operation: int, leaf: str) -> str:
    """A condition for the events of an operation, in a form that does two things more.

    Spark's reader can read ACID files only if the scan needs all six columns. So the condition
    mentions each of them, and one leaf of ``row``, in a part that no event reaches. Spark must not
    push the condition down, because that would overwrite the search argument. So its first part is
    wrapped.
    """
    others = "(originalTransaction | bucket | rowId | currentTransaction) > 0"
    return (
        f"(coalesce(operation, -1) = {operation} or operation < -1 and {others} and {leaf} is null)"
    )
